"""Generated JSON: what is written is what the generator says it is, in every layout."""

import json

import pytest
from bench.generated_json import JsonLayout, generated_json_batch, write_generated_json

CHUNK = 500


def write(path, layout, target_bytes=1):
    return write_generated_json(path, target_bytes, layout, chunk_records=CHUNK)


def read(path, layout):
    text = path.read_text(encoding="utf-8")
    if layout is JsonLayout.LINES:
        return [json.loads(line) for line in text.splitlines()]
    found = json.loads(text)
    return found["data"] if layout is JsonLayout.DOCUMENT else found


@pytest.mark.parametrize("layout", JsonLayout)
def test_the_file_holds_the_known_records(tmp_path, layout):
    path = tmp_path / "generated"
    records = write(path, layout, 300_000)
    assert records in range(2 * CHUNK, 5 * CHUNK, CHUNK)
    found = read(path, layout)
    for record, known in zip(found, generated_json_batch(0, records).to_pylist(), strict=True):
        known["at"] = known["at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        assert {"note": None, **record} == known


def test_the_layouts_hold_the_difficult_strings(tmp_path):
    texts = {}
    for layout in JsonLayout:
        write(tmp_path / layout.name, layout)
        texts[layout] = (tmp_path / layout.name).read_text(encoding="utf-8")
    for text in texts.values():
        for part in ("braces } ] and {", "\\u00e9", "\u00e9", "\\ud83d\\ude00", '\\\\\\" }, {', "temp\\\\"):
            assert part in text
    assert texts[JsonLayout.LINES].count("\n") == CHUNK
    assert '\n  },\n  {\n    "id": 1,' in texts[JsonLayout.ARRAY]


def test_a_batch_does_not_depend_on_where_it_starts():
    whole = generated_json_batch(0, 100)
    assert generated_json_batch(37, 20).to_pylist() == whole.slice(37, 20).to_pylist()
