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


@pytest.mark.thin(18)
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


@pytest.mark.thin(6)
@pytest.mark.parametrize("depth", [1000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("schema", [None, "id int"])
@pytest.mark.parametrize("shape", [objects, lists, both])
def test_a_very_deep_record_is_the_same_wherever_it_stands(tmp_path, shape, schema, depth, engine):
    depth = min(depth, 20_000) if engine == "reference" else depth  # which takes long
    texts = {"first": [shape(depth), '{"id":1}'], "second": ['{"id":1}', shape(depth)], "only": [shape(depth)]}
    found = {}
    for place, lines in texts.items():
        path = tmp_path / f"{place}.json"
        path.write_text("".join(f"{line}\n" for line in lines))
        scan = ss.scan(str(path), format="json", **({} if schema is None else {"schema": schema}))
        assert scan.count() == scan.to_arrow().num_rows == len(lines)
        found[place] = scan.rejects().to_arrow().num_rows
    assert found["first"] == found["second"] == found["only"] <= 1


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_a_first_record_that_is_very_deep_fails_in_no_mode(tmp_path, mode):
    path = tmp_path / "a.json"
    path.write_text(both(1000) + '\n{"id":1}\n')
    assert ss.scan(str(path), format="json", schema="id int", mode=mode).to_arrow().num_rows == 2


@pytest.mark.parametrize("text", ['{"a":' * 5000, '{"a":[{' * 30_000])
def test_a_first_record_that_is_very_deep_and_cut_is_one_reject(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    scan = ss.scan(str(path), format="json", schema="id int")
    assert scan.to_arrow().num_rows == scan.rejects().to_arrow().num_rows == 1
