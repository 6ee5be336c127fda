"""Values of JSON of any depth: one record that is nested deeply fails no scan."""

import json

import pytest

import splitscan as ss

DEPTHS = [1, 40, 62, 63, 64, 65, 100, 500, 900]


def objects(depth):
    return '{"a":' * depth + "1" + "}" * depth


def lists(depth):
    return '{"a":' + "[" * (depth - 1) + "1" + "]" * (depth - 1) + "}"


def both(depth):
    half = max(1, depth // 2)
    return '{"a":[' * half + "1" + "]}" * half


@pytest.fixture(params=["kernel", "reference"])
def engine(request, monkeypatch):
    monkeypatch.setenv("SPLITSCAN_ENGINE", request.param)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("shape", [objects, lists, both])
def test_a_record_of_any_depth_is_a_row_or_one_reject_and_its_neighbours_are_rows(tmp_path, shape, depth):
    text = shape(depth)
    path = tmp_path / "a.json"
    path.write_text(f'{{"id":1}}\n{text}\n{{"id":3}}\n')
    scan = ss.scan_json(path)
    rows = scan.to_arrow().to_pylist()
    assert [row["id"] for row in rows] == [1, None, 3]
    assert scan.count() == 3
    assert scan.rejects().to_arrow().num_rows == 0
    kept, meant = rows[1]["a"], json.loads(text)["a"]
    while not isinstance(kept, str) and kept != 1:
        kept, meant = (kept[0], meant[0]) if isinstance(kept, list) else (kept["a"], meant["a"])
    assert meant == (json.loads(kept) if isinstance(kept, str) else kept)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("text", [objects(200)[:-1], lists(200)[:-150], '{"a":' * 99, "[" * 500])
def test_one_that_is_deep_and_cut_is_one_reject(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(f'{{"id":1}}\n{text}\n{{"id":3}}\n')
    scan = ss.scan_json(path, "id long")
    assert [row["id"] for row in scan.to_arrow().to_pylist()] == [1, None, 3]
    assert scan.rejects().to_arrow().num_rows == 1
