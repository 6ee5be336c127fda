"""Columns from around the arrays below a path, through whole scans, at every cut."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import splitscan as ss
from splitscan.errors import RecordError, SchemaError, SplitscanError, UsageError
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.json import envelope
from splitscan.options.stream import StreamOptions
from splitscan.reading import envelopes
from splitscan.reading.block_scan import open_reader
from splitscan.streaming.growing import GrowingFiles
from splitscan.testing.scan_laws import check_block_law, check_projection_law

SCHEMA = "a int, n int, _corrupt_record string"
META = {"metadata_columns": ["record_offset", "record_length"]}
SIZES = [1, 2, 3, 4, 5, 7, 11, 16, 25, 50]


def write(folder: Path, text: str | bytes, name: str = "a.json") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def read(path: str, record_path: str = "$.data[*]", columns: str = "$.n", schema: str = SCHEMA, **options: Any) -> Any:
    scan = ss.scan_json(path, schema, record_path=record_path, record_path_columns=columns, **options)
    return [(row["a"], row["n"]) for row in scan.to_arrow().to_pylist()]


SCENARIOS = {  # text, path, column n, values of a and n
    "before the array": ('{"n":2,"data":[{"a":1},{"a":2}]}', "$.data[*]", "$.n", [(1, 2), (2, 2)]),
    "after the array": ('{"data":[{"a":1},{"a":2}],"n":2}', "$.data[*]", "$.n", [(1, 2), (2, 2)]),
    "absent": ('{"data":[{"a":1}]}{"data":[{"a":2}],"n":3}', "$.data[*]", "$.n", [(1, None), (2, 3)]),
    "null": ('{"n":null,"data":[{"a":1}]}', "$.data[*]", "$.n", [(1, None)]),
    "inside another member": ('{"data":[{"a":1}],"m":{"n":[8],"x":{"n":4}}}', "$.data[*]", "$.m.x.n", [(1, 4)]),
    "no object on the way": ('{"m":[{"n":1}],"data":[{"a":1}]}', "$.data[*]", "$.m.n", [(1, None)]),
    "twice": ('{"n":1,"data":[{"a":1}],"n":2}', "$.data[*]", "$.n", [(1, 2)]),
    "twice, the last without it": ('{"m":{"n":1},"data":[{"a":1}],"m":{}}', "$.data[*]", "$.m.n", [(1, None)]),
    "two arrays": ('{"data":[{"a":1}],"n":1,"data":[{"a":2}]}', "$.data[*]", "$.n", [(1, 1), (2, 1)]),
    "lines": ('{"n":1,"data":[{"a":1}]}\n{"data":[],"n":2}\n{"data":[{"a":3}],"n":3}\n', "$.data[*]", "$.n",
              [(1, 1), (3, 3)]),
    "in an element": ('{"data":[{"a":1,"m":{"n":9}}],"m":{"n":1}}', "$.data[*]", "$.m.n", [(1, 1)]),
    "of each page": (
        '{"n":9,"pages":[{"n":1,"data":[{"a":1},{"a":2}]},{"data":[{"a":3}],"n":2},{"data":[{"a":4}]}]}',
        "$.pages[*].data[*]", "$.pages[*].n", [(1, 1), (2, 1), (3, 2), (4, None)],
    ),
    "around all pages": (
        '{"pages":[{"n":1,"data":[{"a":1}]},{"data":[{"a":3}]}],"n":9}', "$.pages[*].data[*]", "$.n", [(1, 9), (3, 9)],
    ),
    "of each object at the top": (
        '[{"x":[{"a":1}],"n":1},{"n":2,"x":[{"a":2}]},5]', "$[*].x[*]", "$[*].n", [(1, 1), (2, 2)],
    ),
    "objects on the way": (
        '{"n":1,"o":{"n":2,"data":[{"a":1}]},"o":{"data":[{"a":2}]}}', "$.o.data[*]", "$.o.n", [(1, 2), (2, None)],
    ),
    "escaped": (r'{"\u006e":1,"data":[{"a":1}],"t":"\"n\":5"}', "$.data[*]", "$.n", [(1, 1)]),
    "brackets in strings": (
        r'{"s":"]}[{\\","data":[{"a":1,"b":"]},{\\\""}],"t":"\"n\":[{","n":7}', "$.data[*]", "$.n", [(1, 7)],
    ),
    "mark and blanks": ('\ufeff \n{ "n"\t:\n 2 , "data" : [\n {"a":1} ]\r\n}\n', "$.data[*]", "$.n", [(1, 2)]),
    "no array": ('{"data":{"a":1},"n":2,"data":[{"a":1}]}', "$.data[*]", "$.n", [(None, 2), (1, 2)]),
    "no arrays": ('{"data":5,"n":1,"data":6,"data":[{"a":1}]}', "$.data[*]", "$.n", [(None, 1), (None, 1), (1, 1)]),
    "no element is an object": ('{"data":[5],"n":2}', "$.data[*]", "$.n", [(None, 2)]),
    "not found": ('{"x":[1],"n":2}', "$.data[*]", "$.n", [(None, None)]),
    "cut off in the value": ('{"data":[{"a":1}],"n":12', "$.data[*]", "$.n", [(1, None), (None, None)]),
    "cut off after the value": ('{"data":[{"a":1}],"n":12,', "$.data[*]", "$.n", [(1, 12), (None, 12)]),
    "a document that does not end": (
        '{"n":1,"data":[{"a":1}],"x":{"y":0}\n{"data":[{"a":2}],"n":2}', "$.data[*]", "$.n",
        [(1, 1), (None, 2), (2, 2)],
    ),
    "empty": ("", "$.data[*]", "$.n", []),
}  # fmt: skip


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", SCENARIOS)
def test_columns_around_the_arrays_are_those_of_their_document(tmp_path: Path, name: str) -> None:
    text, record_path, column, rows = SCENARIOS[name]
    path, columns = write(tmp_path, text), f"{column} as n int"
    assert read(path, record_path, columns) == rows
    for size in (1, 7):
        assert read(path, record_path, columns, read_bytes=size) == rows
    for name_, packed in (("a.json.gz", gzip.compress(text.encode())), ("a.json.bz2", bz2.compress(text.encode()))):
        assert read(write(tmp_path, packed, name_), record_path, columns, block_size=8) == rows
    scan = ss.scan_json(path, SCHEMA, record_path=record_path, record_path_columns=columns, read_bytes=16, **META)
    assert check_block_law(scan, SIZES) == len(rows)
    assert scan.count() == len(rows)
    if rows:
        check_projection_law(scan)
        assert [row["n"] for row in scan.select("n").to_arrow().to_pylist()] == [n for _, n in rows]
        assert scan.limit(1).to_arrow().num_rows == 1


def test_types_are_those_that_are_declared_and_text_without_one(tmp_path: Path) -> None:
    around = '"d":"2024-02-29","t":"2024-01-01T00:00:00Z","x":1.50,"b":true,"f":1e3,"o":{"k": [1, "é"]},"s":"a\\n\\"b"'
    path = write(tmp_path, f'{{{around},"data":[{{"id":1}}]}}')
    columns = (
        "$.d as day date, $.t as at timestamp, $.x as `x,y` decimal(10,2), $.b as b boolean, $.f as f double, $.o, "
        '$["s"], $.x as text, $.s as `as` string'
    )
    scan = ss.scan_json(path, record_path="$.data[*]", record_path_columns=columns)
    assert format_ddl(scan.schema) == (
        "id bigint, day date, at timestamp, `x,y` decimal(10,2), b boolean, f double, o string, s string, text string, "
        "as string"
    )
    [row] = scan.to_arrow().to_pylist()
    assert str(row["day"]) == "2024-02-29"
    assert row["at"].isoformat() == "2024-01-01T00:00:00+00:00"
    assert (str(row["x,y"]), row["b"], row["f"]) == ("1.50", True, 1000.0)
    assert (row["o"], row["s"], row["text"], row["as"]) == ('{"k": [1, "é"]}', 'a\n"b', "1.50", 'a\n"b')
    given = ss.scan_json(path, "X double, id int", record_path="$.data[*]", record_path_columns="$.x")
    assert given.to_arrow().to_pylist() == [{"X": 1.5, "id": 1}]


def test_names_and_values_are_found_in_other_encodings(tmp_path: Path) -> None:
    path = write(tmp_path, '{"é":"ü","data":[{"a":1}]}'.encode("latin-1"))
    options = {"encoding": "ISO-8859-1", "schema": "a int, n string"}
    assert read(path, columns="$.é as n", **options) == [(1, "ü")]


def test_values_that_do_not_fit_are_an_error_in_every_mode(tmp_path: Path) -> None:
    path = write(tmp_path, '{"n":"x","data":[{"a":1}]}')
    for mode in ("PERMISSIVE", "DROPMALFORMED", "FAILFAST"):
        with pytest.raises(RecordError, match="fits the type of its column") as caught:
            read(path, columns="$.n as n int", mode=mode)
        assert caught.value.reason_code == "bad-envelope"
        assert "declare the column as string" in str(caught.value)
        assert caught.value.where is not None
        assert caught.value.where.path == path
    assert read(path, columns="$.n", schema="a int, n string") == [(1, "x")]
    with pytest.raises(RecordError, match="is a JSON value"):
        read(write(tmp_path, '{"n":tru,"data":[{"a":1}]}'), columns="$.n as n string")


def test_values_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * (envelope.LONGEST_VALUE_BYTES - 2)
    path = write(tmp_path, json.dumps({"n": long, "m": {"n": 1, "x": long * 3}, "data": [{"a": 1}]}))
    assert read(path, schema="a int, n string") == [(1, long)]
    assert read(path, columns="$.m.n as n int") == [(1, 1)]
    with pytest.raises(RecordError, match="at most 65,536 bytes") as caught:
        read(path, columns="$.m as n", schema="a int, n string")
    assert caught.value.reason_code == "bad-envelope"
    text = "\n".join(f'{{"n":{i},"data":[{{"a":{i}}}]}}' for i in range(9))
    for number, (name, most) in enumerate((("MOST_ARRAYS", 8), ("MOST_VALUES_BYTES", 8))):
        with monkeypatch.context() as patch:
            patch.setattr(envelope, name, most)
            with pytest.raises(RecordError, match="divide the file"):
                read(write(tmp_path, text, f"{number}.json"))
    assert read(write(tmp_path, text)) == [(i, i) for i in range(9)]


@pytest.mark.parametrize(
    ("columns", "path", "message"),
    [
        ("n", "$.data[*]", "correct what begins with 'n'"), ("$.n as", "$.data[*]", "correct what begins with"),
        ("$.n,,", "$.data[*]", "correct what begins with"), ("$", "$.data[*]", "with the name of a member"),
        ("$.n as n tiny", "$.data[*]", "leave it out for string"), ("$.n as n array<int>", "$.data[*]", "of one value"),
        ("$.n as n int, $.m as k x", "$.data[*]", "k 'x': "),
        ("$.pages[*]", "$.data[*]", "with the name of a member"), ("", "$.data[*]", "members around the arrays"),
        ("$.data", "$.data[*]", "stand beside the arrays"), ("$.data.x", "$.data[*]", "stand beside the arrays"),
        ("$.a", "$.a.b[*]", "stand beside the arrays"), ("$.p[*].n", "$.data[*]", "stand beside the arrays"),
        ("$.n, $.m.N", "$.data[*]", "have one name"), ("$.n", None, "recordPath, which is not given"),
    ],
)  # fmt: skip
def test_other_columns_are_refused_with_what_to_write(
    tmp_path: Path, columns: str, path: str | None, message: str
) -> None:
    options = {} if path is None else {"recordPath": path}
    with pytest.raises(UsageError) as caught:
        _ = ss.scan(write(tmp_path, '{"data":[{"a":1}]}'), "json", recordPathColumns=columns, **options).schema
    assert caught.value.reason_code == "bad-option"
    assert message in str(caught.value)


def test_names_of_other_columns_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, '{"A":2,"data":[{"a":1}]}')
    options = {"record_path": "$.data[*]"}
    with pytest.raises(UsageError, match="the name of a column of the records"):
        _ = ss.scan_json(path, record_path_columns="$.A", **options).schema
    for other in ("_corrupt_record", "filename"):
        with pytest.raises(UsageError, match="the name of another column"):
            _ = ss.scan_json(
                path, "a int", record_path_columns=f"$.A as {other}", metadata_columns=["filename"], **options
            ).schema
    with pytest.raises(SchemaError, match="declare it as: n string"):
        _ = ss.scan_json(path, "a int, n struct<x: int>", record_path_columns="$.A as n", **options).schema
    assert ss.scan_json(path, record_path_columns="$.A as b", **options).to_arrow().to_pylist() == [{"a": 1, "b": "2"}]


def test_files_and_their_directories_have_values_of_their_own(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"y={year}").mkdir()
        write(tmp_path / f"y={year}", f'{{"data":[{{"a":{year}}}],"n":{year % 10}}}')
    scan = ss.scan_json(str(tmp_path), record_path="$.data[*]", record_path_columns="$.n as n int")
    assert scan.to_arrow().to_pylist() == [{"a": y, "y": y, "n": y % 10} for y in (2023, 2024)]


def test_planned_blocks_bring_their_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f'{{"n":{i},"data":[{{"a":{i}}},{{"a":{-i}}}]}}' for i in range(40))
    options = {"record_path": "$.data[*]", "record_path_columns": "$.n as n int"}
    scan = ss.scan_json(write(tmp_path, text), SCHEMA, block_size=64, **options)
    blocks = scan.plan()
    assert len(blocks) > 10
    assert all(block.around is not None and len(block.around.starts) < 6 for block in blocks)
    assert all(block.around is None for block in scan.select("a").plan())
    with monkeypatch.context() as patch:
        patch.setattr(envelopes, "find_around", None)
        found = [row for block in blocks for batch in open_reader(scan.spec, block) for row in batch.to_pylist()]
    assert [(row["a"], row["n"]) for row in found] == [(a, i) for i in range(40) for a in (i, -i)]


def test_a_file_that_is_gone_is_a_reject_where_it_may_be(tmp_path: Path) -> None:
    path = write(tmp_path, '{"n":1,"data":[{"a":1},{"a":2}]}')
    options = {"record_path": "$.data[*]", "record_path_columns": "$.n", "ignore_missing_files": True, "block_size": 8}
    scan = ss.scan_json(path, SCHEMA, **options)
    scan.files()
    Path(path).unlink()
    assert scan.to_arrow().num_rows == 0
    assert sum(batch.num_rows for block in scan.plan() for batch in open_reader(scan.spec, block)) == 0


def test_a_file_that_grows_has_no_columns_around_its_records(tmp_path: Path) -> None:
    scan = ss.scan_json(str(tmp_path), SCHEMA, record_path="$.data[*]", record_path_columns="$.n")
    with pytest.raises(UsageError, match="may stand after the records") as caught:
        GrowingFiles(scan, StreamOptions())
    assert caught.value.reason_code == "bad-option"


def test_a_limit_stops_early_unless_values_may_come_later(tmp_path: Path) -> None:
    text = '{"data":[' + ",".join(f'{{"a":{i},"b":"{i * 7919 % 10007}"}}' for i in range(60_000)) + '],"n":1}'
    path = write(tmp_path, gzip.compress(text.encode())[:-30], "a.json.gz")
    options = {"record_path": "$.data[*]", "read_bytes": 4096}
    assert ss.scan_json(path, "a int", **options).limit(1).to_arrow().to_pylist() == [{"a": 0}]
    around = ss.scan_json(path, "a int", record_path_columns="$.n", **options)
    with pytest.raises(SplitscanError):
        around.limit(1).to_arrow()
    assert around.select("a").limit(1).to_arrow().to_pylist() == [{"a": 0}]
