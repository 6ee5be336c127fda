"""JSON below a path: the elements of arrays inside documents, through whole scans, at every cut."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import splitscan as ss
from splitscan.blocks import Reject
from splitscan.errors import RecordError, UsageError
from splitscan.formats.decoding.contract import format_ddl
from splitscan.testing.scan_laws import check_block_law, check_projection_law

SCHEMA = "a int, _corrupt_record string"
META = {"metadata_columns": ["record_offset", "record_length"]}
SIZES = [1, 2, 3, 4, 5, 7, 11, 16, 25, 50]


def write(folder: Path, text: str | bytes, name: str = "a.json") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def read(
    path: str, record_path: str = "$.data[*]", schema: str = SCHEMA, **options: Any
) -> tuple[list[Any], list[str]]:
    """Values of ``a`` and codes of rejects."""
    rejects: list[Reject] = []
    scan = ss.scan_json(path, schema, record_path=record_path, **options)
    rows = [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
    return [row["a"] for row in rows], [reject.code for reject in rejects]


SCENARIOS = {  # text, path, values of a, codes
    "1 one object": ('{"meta":{"n":2},"data":[{"a":1},{"a":2}]}', "$.data[*]", [1, 2], []),
    "2 nested": ('{"a":{"x":[9],"b":[{"a":1}]},"b":[{"a":5}]}', "$.a.b[*]", [1], []),
    "3 empty array": ('{"data":[],"n":1}', "$.data[*]", [], []),
    "4 null": ('{"data":null}', "$.data[*]", [], []),
    "5 absent": ('{"x":{"data":[{"a":1}]}}\n', "$.data[*]", [None], ["record-path-not-found"]),
    "6 object": ('{"data":{"a":1},"z":[{"a":2}]}', "$.data[*]", [None], ["not-an-array"]),
    "7 in a string": (r'{"t":"\"data\":[1]","data":[{"a":1}]}', "$.data[*]", [1], []),
    "8 another branch": ('{"o":{"data":[9]},"data":[{"a":1}]}', "$.data[*]", [1], []),
    "9 in an element": ('{"data":[{"a":1,"data":[5]}]}', "$.data[*]", [1], []),
    "10 twice": ('{"data":[{"a":1}],"data":[{"a":2}]}', "$.data[*]", [1, 2], []),
    "11 object, then array": ('{"data":{},"data":[{"a":1}]}', "$.data[*]", [None, 1], ["not-an-array"]),
    "12 elements of all kinds": (
        '{"data":[1,"s",null,[2],{"a":1}]}', "$.data[*]", [None] * 4 + [1], ["not-an-object"] * 4,
    ),
    "13 concatenated": ('{"data":[{"a":1}]}{"data":[{"a":2}]}', "$.data[*]", [1, 2], []),
    "13 lines": ('{"data":[{"a":1}],"n":0}\n{"x":0}\n{"data":[{"a":2}]}\n', "$.data[*]", [1, 2], []),
    "14 arrays of arrays": (
        '{"pages":[{"data":[{"a":1}]},{},{"n":{"data":[8]},"data":[{"a":2},{"a":3}]}],"data":[{"a":9}]}',
        "$.pages[*].data[*]", [1, 2, 3], [],
    ),
    "15 array at the top": ('[{"x":[{"a":1}]},{"y":[7],"x":[{"a":2}]},5]', "$[*].x[*]", [1, 2], []),
    "16 escaped": (r'{"d\u0061ta":[{"a":1}],"\uD83D\uDE00":0}', "$.data[*]", [1], []),
    "17 dot": ('{"d.t":[{"a":1}],"d":{"t":[7]}}', '$["d.t"][*]', [1], []),
    "17 quote": (r'{"d\"t":[{"a":1}]}', r'$["d\"t"][*]', [1], []),
    "17 emoji": (r'{"\uD83D\uDE00":[{"a":1}],"😀":[{"a":2}]}', "$.😀[*]", [1, 2], []),
    "18 cut off in an element": ('{"data":[{"a":1},{"a":2},{"a', "$.data[*]", [1, 2, None], ["unfinished-record"]),
    "18 cut off after the array": ('{"data":[{"a":1}],"n":[', "$.data[*]", [1, None], ["unfinished-record"]),
    "19 broken element": ('{"data":[{"a":1},{bad},{"a":2}]}', "$.data[*]", [1, None, 2], ["bad-json"]),
    "22 brackets in strings": (
        r'{"s":"]}[{\\","data":[{"a":1,"b":"]},{\\\""},{"a":2}],"t":"\"data\":[{"}',
        "$.data[*]", [1, 2], [],
    ),
    "23 mark and blanks": ('\ufeff \n{ "data"\t: [\n  {\n "a" : 1\n} ,\n\n {"a":2} ]\r\n}\n ', "$.data[*]", [1, 2], []),
    "24 long element": ('{"data":[{"a":1,"b":"' + "x" * 90 + '"}],"n":0}', "$.data[*]", [1], []),
    "25 garbage after the document": ('{"data":[{"a":1}]} garbage', "$.data[*]", [1, None], ["bad-json"]),
    "25 garbage between documents": (
        '{"data":[{"a":1}]} x "y {"data":[{"a":2}]}\n{"data":[{"a":3}]}', "$.data[*]", [1, None, 3], ["bad-json"],
    ),
    "26 empty": ("", "$.data[*]", [], []),
    "26 blank": (" \n", "$.data[*]", [], []),
    "scalars at the path": (
        '{"data":5}{"data":"x"}{"data":true}{"data":nul}{"data":[{"a":1}]}{"data": -1}{"data":null}',
        "$.data[*]", [None] * 4 + [1, None], ["not-an-array"] * 5,
    ),
    "damage before the array": (
        '{"s":"x\n,"data":[{"a":1}],"data":[{"a":2}]}', "$.data[*]", [None, 1, 2], ["bad-json"],
    ),
    "missing bracket": ('{"data":[{"a":1}],"n":{"x":0}\n{"data":[{"a":2}]}', "$.data[*]", [1, None, 2], ["bad-json"]),
    "wrong bracket": ('{"data":[{"a":1}],"n":0]\n{"data":[{"a":2}]}', "$.data[*]", [1, None, 2], ["bad-json"]),
    "extra bracket": ('{"data":[{"a":1}]}}\n{"data":[{"a":2}]}', "$.data[*]", [1, None, 2], ["bad-json"]),
    "name without a value": ('{"data":}{"data":[{"a":1}]}', "$.data[*]", [None, 1], ["bad-json"]),
    "another kind on the way": ('{"a":[{"b":[{"a":1}]}]}{"a":{"b":[{"a":2}]}}{"a":5}', "$.a.b[*]", [2], []),
    "empty name": ('{"":[{"a":1}]}', '$[""][*]', [1], []),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
def test_elements_of_the_arrays_at_a_path_are_the_records(tmp_path: Path, name: str) -> None:
    text, record_path, values, codes = SCENARIOS[name]
    path = write(tmp_path, text)
    assert read(path, record_path) == (values, codes)
    good = [value for value in values if value is not None]
    assert read(path, record_path, mode="DROPMALFORMED") == (good, codes)
    delivered = len(values)
    assert ss.scan_json(path, SCHEMA, record_path=record_path).count() == delivered
    if codes:
        with pytest.raises(RecordError, match=codes[0]):
            read(path, record_path, mode="FAILFAST")


@pytest.mark.thin(6)
@pytest.mark.parametrize("name", SCENARIOS)
def test_files_are_cut_anywhere(tmp_path: Path, name: str) -> None:
    text, record_path, values, _ = SCENARIOS[name]
    options = {"read_bytes": 16, **META}
    scan = ss.scan_json(write(tmp_path, text), SCHEMA, record_path=record_path, **options)
    assert check_block_law(scan, SIZES) == len(values)


@pytest.mark.thin(6)
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("max_record_bytes", [8, 20])
def test_what_is_around_the_arrays_is_of_any_length(tmp_path: Path, name: str, max_record_bytes: int) -> None:
    text, record_path, _, _ = SCENARIOS[name]
    options = {"read_bytes": 16, "max_record_bytes": max_record_bytes, **META}
    check_block_law(ss.scan_json(write(tmp_path, text), SCHEMA, record_path=record_path, **options), [1, 2, 5, 25])


def test_the_longest_record_does_not_bound_what_is_around_it(tmp_path: Path) -> None:
    around = json.dumps({"m": [{"x": "]}" * 30}] * 300})
    text = f'{{"u":{around},"data":[{{"a":1}}],"v":{around}}}\n{{"w":{around},"data":[{{"a":2}}],"z":{around}}}'
    path = write(tmp_path, text)
    for block_size in (None, 1000, 20_000):
        options = {} if block_size is None else {"block_size": block_size}
        found = read(path, max_record_bytes=64, read_bytes=256, **options)
        assert found == ([1, 2], [])


def test_an_element_that_is_too_long_ends_where_its_brackets_close(tmp_path: Path) -> None:
    long = json.dumps({"a": 2, "b": [{"a": i} for i in range(900)]}, indent=1)
    text = f'{{"data": [\n{{"a": 1}},\n{long},\n{{"a": 3}}],\n"other": [\n{{"a": 4}}]}}\n{{"data": [{{"a": 5}}]}}'
    path = write(tmp_path, text)
    for block_size in (100, 4000, 1 << 20):
        found = read(path, max_record_bytes=512, read_bytes=64, block_size=block_size)
        assert found == ([1, None, 3, 5], ["record-too-long"])


def test_compressed_files_give_the_same_rows(tmp_path: Path) -> None:
    text = "\n".join(json.dumps({"n": i, "data": [{"a": i}, {"a": -i}], "x": {"data": []}}) for i in range(500))
    plain, packed = write(tmp_path, text), write(tmp_path, gzip.compress(text.encode()), "b.json.gz")
    expected = [value for i in range(500) for value in (i, -i)]
    for path in (plain, packed):
        assert read(path, block_size=2000) == (expected, [])
    broken = write(tmp_path, gzip.compress(text.encode())[:-30], "c.json.gz")
    with pytest.raises(ss.errors.SplitscanError):
        read(broken)


def test_columns_are_those_of_the_elements(tmp_path: Path) -> None:
    text = json.dumps({"meta": {"z": 1}, "data": [{"a": 1, "b": {"c": "x"}}, {"a": 2.5, "d": []}]}, indent=2)
    path = write(tmp_path, text)
    for options in ({}, {"infer_schema": True}):
        scan = ss.scan_json(path, record_path="$.data[*]", **options)
        assert format_ddl(scan.schema) == "a double, b struct<c: string>, d array<string>"
    assert check_projection_law(ss.scan_json(path, SCHEMA, record_path="$.data[*]")) > 0
    assert ss.scan_json(path, SCHEMA, record_path="$.data[*]").head(1).to_pylist()[0]["a"] == 1


def test_the_first_array_begins_near_the_beginning(tmp_path: Path) -> None:
    path = write(tmp_path, '{"m":"' + "x" * (17 << 20) + '","data":[{"a":1}]}')
    with pytest.raises(RecordError, match="the first array of recordPath begins within 16777216 bytes") as caught:
        read(path)
    assert caught.value.reason_code == "record-path-not-found"


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("data", "write $.data[*]"), ("$.data", "write $.data[*]"), ("data[*]", "write $.data[*]"),
        ("$[*]", "multiLine=true reads arrays"), ("$", "multiLine=true reads arrays"),
        ("$.a[*][*]", "write $.a[*]"), ("$..data[*]", "nothing else is a step"), ("$.a[0]", "nothing else is a step"),
        ("$.a[?(@.b)]", "nothing else is a step"), ("$.a[1:2]", "nothing else is a step"), ("", "a path such as"),
        (5, "a path such as"), ("$.a b[*]", "nothing else is a step"),
    ],
)  # fmt: skip
def test_other_paths_are_refused_with_what_to_write(written: object, hint: str) -> None:
    with pytest.raises(UsageError, match="option recordPath takes a path") as caught:
        ss.scan("x", "json", recordPath=written)
    assert caught.value.reason_code == "bad-option"
    assert hint in str(caught.value)


def test_paths_are_shown_as_they_may_be_written() -> None:
    for written in ("$.data[*]", '$["a b"].c[*]', "$[*].x[*]", "$.é[*].y[*]"):
        assert f"recordPath={written!r}" in repr(ss.scan("x", "json", recordPath=written))
    assert "recordPath='$.a[*]'" in repr(ss.scan("x", "json", recordPath="$['a'][*]"))


def test_other_options_of_where_records_are_contradict_a_path(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="recordPath and lineSep contradict each other"):
        ss.scan("x", "json", recordPath="$.a[*]", lineSep="\n")
    with pytest.raises(UsageError, match="beyond ASCII are found in UTF-8"):
        ss.scan_json(write(tmp_path, "{}"), "a int", record_path="$.é[*]", encoding="ISO-8859-1").to_arrow()


def test_names_in_ascii_are_found_in_other_encodings(tmp_path: Path) -> None:
    text = '{"é":[{"a":9}],"data":[{"a":1,"b":"é"}],"ü":"\\""}'
    path = write(tmp_path, text.encode("latin-1"))
    options = {"record_path": "$.data[*]", "encoding": "ISO-8859-1", "read_bytes": 16}
    scan = ss.scan_json(path, "a int, b string", **options)
    assert scan.to_arrow().to_pylist() == [{"a": 1, "b": "é"}]
    check_block_law(scan, SIZES)
