"""Data that does not fit its columns is kept in a column of its own, and is no fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.testing.scan_laws import check_block_law, check_projection_law

from ..results import rejects_of

Write = Callable[..., str]
RESCUE = {"rescuedDataColumn": "_rescued"}
DEFAULTS = {"b": {"default": "7"}, "c": {"default": "8"}}


def rows_of(scan: ss.Scan) -> list[tuple[Any, ...]]:
    """Rows, with the rescued data parsed and without the path that it names."""
    rows = []
    for row in scan.to_arrow().to_pylist():
        kept = row.get("_rescued")
        if kept is not None:
            row["_rescued"] = json.loads(kept)
            assert row["_rescued"].pop("_file_path")
        rows.append(tuple(row.values()))
    return rows


def test_csv_keeps_values_and_fields_that_do_not_fit(write: Write) -> None:
    path = write('1,a\nx,b,"c ""\\",,é\n3\n2,\n4,\t,5\n')
    scan = ss.scan_csv(path, "n int, t string", escape='"', **RESCUE)
    assert scan.schema.names == ["n", "t", "_rescued"]
    assert rows_of(scan) == [
        (1, "a", None),
        (None, "b", {"n": "x", "_c2": 'c "\\', "_c4": "é"}),
        (3, None, None),
        (2, None, None),
        (4, "\t", {"_c2": "5"}),
    ]
    assert [reject.code for reject in rejects_of(scan)] == ["field-count"]  # nothing can be kept of what is not there
    assert check_block_law(scan, range(1, 24)) > 0
    assert check_projection_law(scan) > 0


def test_what_is_kept_names_its_file(write: Write) -> None:
    path = write("x\n", 'a "b"')
    (row,) = ss.scan_csv(path, "n int", **RESCUE).to_arrow().to_pylist()
    assert json.loads(row["_rescued"]) == {"n": "x", "_file_path": path}


def test_columns_that_the_schema_does_not_have_are_kept_by_name(write: Write) -> None:
    path = write('n,"e ""x""",t\n1,2,a\ny,,b\n3,"q""\n,\x01",\n')
    options = {"header": True, "headerMapping": "byName", "escape": '"', "multiLine": True}
    scan = ss.scan_csv(path, "t string, n int", **options, **RESCUE)
    assert rows_of(scan) == [
        ("a", 1, {'e "x"': "2"}),
        ("b", None, {"n": "y"}),
        (None, 3, {'e "x"': 'q"\n,\x01'}),
    ]
    assert rows_of(scan.select("t")) == [("a",), ("b",), (None,)]
    assert check_block_law(scan, range(1, 24)) > 0


def test_a_header_may_go_on_behind_the_schema(write: Write) -> None:
    path = write("a,b,c\n1,2,3\n")
    assert rows_of(ss.scan_csv(path, "a int, b int", header=True, **RESCUE)) == [(1, 2, {"c": "3"})]


def test_a_strict_schema_keeps_the_other_columns(write: Write) -> None:
    path = write("a,b\n1,2\n")
    options = {"providedSchema": "b long", "schemaMode": "strict"}
    assert rows_of(ss.scan_csv(path, header=True, **options, **RESCUE)) == [(2, {"a": "1"})]


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_what_is_rescued_is_no_fault_in_any_mode_and_any_projection(write: Write, mode: str) -> None:
    path = write("1,2\nx,2\n3,4,5\n")
    scan = ss.scan_csv(path, "a int, b int", mode=mode, **RESCUE)
    assert scan.count() == scan.to_arrow().num_rows == scan.select("a").to_arrow().num_rows == 3
    assert rows_of(scan.select("_rescued")) == [(None,), ({"a": "x"},), ({"_c2": "5"},)]
    assert not rejects_of(scan)
    assert not rejects_of(scan.select("a"))


def test_a_broken_record_is_still_broken(write: Write) -> None:
    scan = ss.scan_csv(write('1,"a\n2,b\n'), "n int, t string", **RESCUE)
    assert [reject.code for reject in rejects_of(scan)] == ["unclosed-quote"]
    wide = ss.scan_csv(write("1,2,3,4\n1,2,3\n"), "a int", maxColumns=3, **RESCUE)
    assert [reject.code for reject in rejects_of(wide)] == ["field-count"]


def test_the_corrupt_column_holds_broken_records_only(write: Write) -> None:
    scan = ss.scan_csv(write("x,1\n2\n"), "a int, b int, _corrupt_record string", **RESCUE)
    assert rows_of(scan) == [(None, 1, None, {"a": "x"}), (2, None, "2", None)]


def test_json_keeps_members_and_values_that_do_not_fit(write: Write) -> None:
    path = write(
        '{"a": 1, "m": {"x": 1}}\n'
        '{"a": "one", "z": [1, {"q": "é\\u0041"}], "m": {"x": 1.5, "y": null, "w": {"deep": true}}}\n'
        '{"a": null, "l": [1, "two"], "k": null}\n'
        "rubbish\n"
        "{'a': 2, 'b': 'it''s'}\n"
        "{'a': 2, 'b': 'x', 'c': NaN}\n"
    )
    scan = ss.scan_json(path, "a int, m struct<x: int, y: int>, l array<int>", **RESCUE)
    nothing = {"x": None, "y": None}
    assert rows_of(scan) == [
        (1, {"x": 1, "y": None}, None, None),
        (None, nothing, None, {"a": "one", "z": [1, {"q": "éA"}], "m": {"x": 1.5, "w": {"deep": True}}}),
        (None, None, None, {"l": [1, "two"], "k": None}),
        (None, None, None, None),
        (None, None, None, None),
        (2, None, None, {"b": "x", "c": "NaN"}),
    ]
    assert [reject.code for reject in rejects_of(scan)] == ["bad-json", "bad-json"]
    assert check_block_law(scan, [1, 7, 50]) > 0
    assert check_projection_law(scan) > 0


def test_many_records_with_something_to_keep(write: Write) -> None:
    lines = [f'{{"a": {i}, "b": {i}}}' if i % 3 == 0 else f'{{"a": {i}}}' for i in range(2000)]
    rows = rows_of(ss.scan_json(write("\n".join(lines)), "a int", **RESCUE))
    assert rows == [(i, {"b": i} if i % 3 == 0 else None) for i in range(2000)]
    fields = [f"{i},x" if i % 3 == 0 else f"{i}" for i in range(20000)]
    rows = rows_of(ss.scan_csv(write("\n".join(fields)), "a int", **RESCUE))
    assert rows == [(i, {"_c1": "x"} if i % 3 == 0 else None) for i in range(20000)]


def test_inference_adds_the_column(write: Write) -> None:
    path = write("a\n1\n" + "2\n" * 100 + "x\n")
    scan = ss.scan_csv(path, header=True, inferSchema=True, sampleBytes=20, metadataColumns="file_name", **RESCUE)
    assert scan.schema.names == ["a", "_rescued", "file_name"]
    assert scan.explain_schema().columns[1].source.value == "option"
    assert rows_of(scan)[-1][1] == {"a": "x"}


@pytest.mark.parametrize(
    ("schema", "text", "rule"),
    [
        ("a int, _rescued int", "1\n", "must name a nullable string column"),
        ("a int, _rescued string not null", "1\n", "must name a nullable string column"),
        (None, "_rescued\n1\n", "found in a file"),
    ],
)
def test_the_column_must_be_free(write: Write, schema: str | None, text: str, rule: str) -> None:
    with pytest.raises(UsageError, match=rule):
        ss.scan_csv(write(text), schema, header=schema is None, **RESCUE).to_arrow()
    with pytest.raises(UsageError, match="name one column"):
        ss.scan_csv(write(text), "a int", rescuedDataColumn="_corrupt_record").to_arrow()


def test_records_that_all_have_other_fields(write: Write) -> None:
    lines = [f"{i},{'x' if i == 9000 else i},é{i},z" for i in range(10_000)]
    scan = ss.scan_csv(write("\n".join(lines)), "a int, b int", **RESCUE)
    short = ss.scan_csv(write("1\n" * 10_000, "b"), "a int, b int, c int", columnOptions=DEFAULTS)
    rows = rows_of(scan)
    assert rows[5] == (5, 5, {"_c2": "é5", "_c3": "z"})
    assert rows[9000] == (9000, None, {"b": "x", "_c2": "é9000", "_c3": "z"})
    assert short.to_arrow().group_by(["a", "b", "c"]).aggregate([]).to_pylist() == [{"a": 1, "b": 7, "c": 8}]
    assert short.select("c").to_arrow().num_rows == 10_000


@pytest.mark.slow
@pytest.mark.parametrize("first", ["1", "1,2", "1,2,3", "1,2,3,4,5"])
def test_records_of_any_width_beside_each_other(write: Write, first: str) -> None:
    lines = [first, "x,2", "1,2", "3", "1,2,3,4", ",,,y", "7,8,9"]
    scan = ss.scan_csv(write("\n".join(lines)), "a int, b int", columnOptions={"b": {"default": 7}}, **RESCUE)
    fields = [line.split(",") for line in lines]
    assert [row[:2] for row in rows_of(scan)] == [
        (int(f[0]) if f[0].isdigit() else None, 7 if len(f) < 2 else int(f[1]) if f[1] else None) for f in fields
    ]
    kept = [{f"_c{i}": text for i, text in enumerate(f) if i > 1 and text} for f in fields]
    kept[1] = {"a": "x"}
    assert [row[2] for row in rows_of(scan)] == [each or None for each in kept]
    assert check_block_law(scan, range(1, 30)) > 0


@pytest.mark.parametrize("read_bytes", [1, 3, 1 << 22])
def test_only_fields_of_the_schema_can_be_too_long_whatever_is_read_at_a_time(tmp_path: Path, read_bytes: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,ok\nb,longer\nlonger\n")
    said = {"max_chars_per_column": 3, "rescued_data_column": "_r", "mode": "DROPMALFORMED", "read_bytes": read_bytes}
    scan = ss.scan_csv(str(path), "c0 string", **said)
    assert scan.to_arrow()["c0"].to_pylist() == ["a", "b"]
    assert scan.count() == 2
