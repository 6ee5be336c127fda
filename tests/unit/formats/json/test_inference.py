"""The columns of JSON are found in all of its records: no value and no member that comes late is lost."""

from __future__ import annotations

import gzip
import json
import logging

import numpy as np
import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import Frames
from splitscan.formats.json.inference import KernelSummary, Members, members_of_frames
from splitscan.formats.json.options import JsonOptions

EARLY = [{"id": i, "v": i, "m": {"x": i}} for i in range(4000)]
LATE = [
    {"id": 2**40, "v": "text", "extra": 1.5},
    {"id": 1, "v": 1, "m": {"x": 1, "y": [True]}},
]
SMALL = {"sampleBytes": 1000}


def written(path, records, *, as_array=False, codec=None):
    lines = [json.dumps(record) for record in records]
    data = ("[" + ",\n".join(lines) + "]" if as_array else "\n".join(lines)).encode()
    path.write_bytes(gzip.compress(data) if codec else data)
    return path


@pytest.mark.parametrize("block_size", [1000, 1 << 20])
@pytest.mark.parametrize("form", ["lines", "gzip", "array", "values"])
def test_what_comes_late_is_found(tmp_path, form, block_size):
    path = written(
        tmp_path / ("a.json.gz" if form == "gzip" else "a.json"),
        [*EARLY, *LATE],
        as_array=form == "array",
        codec=form == "gzip" or None,
    )
    scan = ss.scan_json(path, multi_line=form in {"array", "values"}, block_size=block_size)
    assert scan.schema == pa.schema(
        {
            "id": pa.int64(),
            "v": pa.string(),
            "m": pa.struct({"x": pa.int64(), "y": pa.list_(pa.bool_())}),
            "extra": pa.float64(),
        }
    )
    rows = scan.to_arrow().to_pylist()
    assert len(rows) == 4002
    assert rows[-2] == {"id": 2**40, "v": "text", "m": None, "extra": 1.5}
    assert rows[-1]["m"] == {"x": 1, "y": [True]}


def test_a_later_file_has_a_say_too(tmp_path):
    for number in range(40):
        written(tmp_path / f"{number:02}.json", [LATE[0] if number == 20 else EARLY[0]])
    assert ss.scan_json(tmp_path).schema.names == ["id", "v", "m", "extra"]


@pytest.mark.parametrize("sample", [SMALL, {"sampleFiles": 1}])
def test_a_sample_is_looked_at_where_one_is_asked_for(tmp_path, sample):
    written(tmp_path / "a.json", EARLY)
    written(tmp_path / "b.json", [*EARLY, *LATE])
    assert ss.scan_json(tmp_path, **sample).schema.names == ["id", "v", "m"]


def test_of_more_data_than_infer_bytes_a_sample_is_looked_at_and_that_is_said(tmp_path, caplog):
    records = [*EARLY * 10, *LATE]
    path = written(tmp_path / "a.json", records)
    with caplog.at_level(logging.WARNING, "splitscan"):
        assert ss.scan_json(path, infer_bytes="1m").schema.names == ["id", "v", "m"]
    assert "the schema is found in a sample" in caplog.text


def test_names_that_are_data_are_refused_with_what_to_do(tmp_path):
    path = written(
        tmp_path / "a.json", [{"id": 1, "counts": {f"k{i}_{j}": 1 for j in range(1000)}} for i in range(101)]
    )
    with pytest.raises(ss.SchemaError, match="more than 100,000 different members") as caught:
        _ = ss.scan_json(path).schema
    assert "counts map<string, long>" in str(caught.value)
    assert ss.scan_json(path, "id long, counts map<string, long>").to_arrow().num_rows == 101


def test_records_that_only_the_reference_reads_count_too():
    data = b'{"a": 1}\n{"a": 2, "\xc3\xa4": tru\xc3\xa9}\n{"\xc3\xa4": true, b\xc3\xa4: 0.5}\n{"c": 1}'
    own = JsonOptions(allow_unquoted_field_names=True)
    bounds, at = [], 0
    for line in data.split(b"\n"):
        bounds.append((at, at + len(line)))
        at += len(line) + 1
    frames = Frames(np.array([a for a, _ in bounds]), np.array([b for _, b in bounds]), len(data))
    encoding = resolve_encoding("UTF-8")
    summary = KernelSummary.of(own)
    if summary is None:
        pytest.skip("there is no kernel")
    summary.take(memoryview(data), frames, encoding)
    wanted = members_of_frames(own, memoryview(data), frames, encoding)
    assert set(summary.members.schema) == set(wanted.schema)
    assert (summary.members.records, summary.members.has_other) == (4, True)
    assert {"a", "ä", "bä", "c"} == set(wanted.schema.names)


def test_both_values_of_a_name_that_comes_twice_count():
    assert Members.of(JsonOptions(), b'{"a": 1, "a": 0.5}').kind == pa.struct({"a": pa.float64()})
