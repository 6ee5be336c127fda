"""Projection: paths with members and indexes, against the columns that there are."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import SchemaError, UsageError
from splitscan.formats.decoding.contract import type_name
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.reading.framework.columns import prune_array
from splitscan.reading.projection import Every, Index, Member, OutputColumns, parse_path, project

KNOWN = parse_ddl(
    "a int, b string, `a.b` double, m struct<x: int, Y: string, n: struct<p: int, q: int>, `x.z`: date>, "
    "l array<struct<p: int, q: string>>, g array<array<int>>, d map<string, int>, filename string"
)
EVERY = ("b", "a", "m")


def chosen(*paths: str) -> dict[str, str]:
    found: OutputColumns = project(paths, KNOWN, EVERY)
    return {
        name: type_name(found.narrowed.field(name).type) if name in found.narrowed.names else ""
        for name in found.columns
    }


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a", (Member("a", False),)),
        (" a b ", (Member("a b", False),)),
        ("m.x[2].y", (Member("m", False), Member("x", False), Index(2), Member("y", False))),
        ("`a.b`.`c``d`[0][1]", (Member("a.b", True), Member("c`d", True), Index(0), Index(1))),
        ("m.*", (Member("m", False), Every())),
        ("*", ()),
        ("`*`", (Member("*", True),)),
    ],
)
def test_a_path_is_names_members_and_indexes(text: str, steps: tuple[Any, ...]) -> None:
    assert parse_path(text).steps == steps


@pytest.mark.parametrize(
    "text", ["", " ", "a.", ".a", "a..b", "a[", "a[x]", "a[-1]", "a[0", "`a", "a`b`", "m.*.x", "``", "[0]"]
)
def test_what_is_no_path_is_refused_with_the_place(text: str) -> None:
    with pytest.raises(UsageError, match="at character") as caught:
        parse_path(text)
    assert caught.value.reason_code == "bad-column-path"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        pytest.param((), {}, id="parity 62 empty"),
        pytest.param(("*",), dict.fromkeys(EVERY, ""), id="parity 62 wildcard"),
        pytest.param(("*", "*"), dict.fromkeys(EVERY, ""), id="parity 62 two wildcards"),
        pytest.param(("B", "a", "b", "A"), {"b": "", "a": ""}, id="parity 62, 66 duplicates, other case, list order"),
        pytest.param(("a", "*"), dict.fromkeys(EVERY, ""), id="parity 46, 62 column and wildcard: its order"),
        pytest.param(
            ("dir0", "*", "file_size"), {"dir0": "", "b": "", "a": "", "m": "", "file_size": ""}, id="parity 47, 86"
        ),
        pytest.param(("m.x",), {"m": "struct<x: int>"}, id="parity 63 map subset"),
        pytest.param(("m.x", "m"), {"m": ""}, id="parity 63 member then whole"),
        pytest.param(("m", "m.x"), {"m": ""}, id="parity 63 whole then member"),
        pytest.param(("m.*", "m.x"), {"m": ""}, id="parity 63 m.*"),
        pytest.param(("m.x", "m.*"), {"m": ""}, id="parity 63 m.* after"),
        pytest.param(("m.Y", "a", "M.X", "m.y"), {"m": "struct<x: int, Y: string>", "a": ""}, id="parity 49, 63"),
        pytest.param(("m.n.q", "m.x"), {"m": "struct<x: int, n: struct<q: int>>"}, id="parity 49 two levels"),
        pytest.param(("m.n", "m.n.q"), {"m": "struct<n: struct<p: int, q: int>>"}, id="parity 49 generic and specific"),
        pytest.param(("m.x.z", "m.x"), {"m": "struct<x: int, `x.z`: date>"}, id="a member with a dot in its name"),
        pytest.param(("l[3]", "l[3]", "l"), {"l": ""}, id="parity 64 duplicate indexes, simple"),
        pytest.param(("l[0].q",), {"l": "array<struct<q: string>>"}, id="parity 64 map array"),
        pytest.param(("l.p", "l[2].q"), {"l": "array<struct<p: int, q: string>>"}, id="parity 64 array and map"),
        pytest.param(("g[0][1]",), {"g": ""}, id="parity 64, 65 two dimensions"),
        pytest.param(("d.k",), {"d": ""}, id="parity 65 dictionary"),
        pytest.param(("a.b", "a"), {"a.b": "", "a": ""}, id="a name with a dot comes before members"),
        pytest.param(("`A.B`",), {"a.b": ""}, id="quoted"),
        pytest.param(("filename", "FILEPATH", "Dir11"), {"filename": "", "filepath": "", "dir11": ""}, id="parity 87"),
    ],
)
def test_paths_choose_columns(paths: tuple[str, ...], expected: dict[str, str]) -> None:
    assert list(chosen(*paths).items()) == list(expected.items())


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        pytest.param("b.x", "projected b.x; column b string", id="parity 48, 65 scalar as struct"),
        pytest.param("b[0]", "projected b[0]; column b string", id="parity 65 scalar as array"),
        pytest.param("m[0]", "projected m[0]; column m struct<", id="parity 65, 67 struct as array"),
        pytest.param("m.x.p", "projected m.x.p; column x int", id="parity 48 inside a struct"),
        pytest.param("m.x.*", "projected m.x.*; column x int", id="parity 48 all members of no struct"),
        pytest.param("g[0][0][0]", "projected g[0][0][0]; column g int", id="parity 65 one dimension too many"),
        pytest.param("l.p.q", "projected l.p.q; column p int", id="parity 65 inside an array"),
        pytest.param("filename.x", "projected filename.x; column filename string", id="parity 88"),
    ],
)
def test_a_column_that_has_not_the_shape_is_an_error_naming_both(path: str, seen: str) -> None:
    with pytest.raises(SchemaError, match="the projection takes") as caught:
        project([path], KNOWN, EVERY)
    assert caught.value.reason_code == "projection-conflict"
    assert seen in str(caught.value)


SHAPES = parse_ddl(
    "s int, l array<int>, ll array<array<int>>, lll array<array<array<int>>>, m struct<x: int>, "
    "lm array<struct<x: int>>, llm array<array<struct<x: int>>>"
)
FITTING = {
    "s": "c", "l": "c c[0]", "ll": "c c[0] c[0][0]", "lll": "c c[0] c[0][0] c[0][0][0]", "m": "c c.x c.*",
    "lm": "c c[0] c.x c.* c[0].x c[0].*", "llm": "c c[0] c[0][0] c.x c.* c[0].x c[0].* c[0][0].x",
}  # fmt: skip
ALL_PATHS = ["c", "c[0]", "c[0][0]", "c[0][0][0]", "c.x", "c.*", "c[0].x", "c[0].*", "c[0][0].x"]


@pytest.mark.parametrize("path", ALL_PATHS)
@pytest.mark.parametrize("column", FITTING)
def test_every_form_of_path_against_every_shape_of_column(column: str, path: str) -> None:  # parity 64, 65, 67
    text = path.replace("c", column, 1)
    if path in FITTING[column].split():
        assert project([text], SHAPES, ()).columns == (column,)
        both = project([text, column], SHAPES, ())
        assert (both.columns, both.narrowed) == ((column,), pa.schema([]))
        assert project([column, text], SHAPES, ()) == both
        return
    with pytest.raises(SchemaError, match="the projection takes") as caught:
        project([text], SHAPES, ())
    assert caught.value.reason_code == "projection-conflict"
    assert f"projected {text}; column " in str(caught.value)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        pytest.param("fielname", "did you mean filename?", id="parity 66 missing"),
        pytest.param("m.yy", "did you mean Y? choose from: x, Y, n, x.z", id="parity 67 missing member"),
        pytest.param("l.r", "choose from: p, q", id="parity 67 missing member in an array"),
        pytest.param("nothing_like_it", "choose from: a, b, a.b, m", id="parity 66 disjoint"),
        pytest.param("dir0.x", "choose from", id="parity 88 a directory has no members"),
        pytest.param("`dir0`.`x`", "choose from", id="quoted"),
    ],
)
def test_what_does_not_exist_is_an_error_with_a_suggestion(path: str, advice: str) -> None:
    with pytest.raises(SchemaError, match="does not exist") as caught:
        project([path], KNOWN, EVERY)
    assert caught.value.reason_code == "unknown-column"
    assert advice in str(caught.value)


def test_a_column_of_the_records_hides_what_is_known_of_the_file_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:  # parity 88
    with caplog.at_level(logging.WARNING, "splitscan"):
        assert project(["filename"], KNOWN, EVERY).columns == ("filename",)
    assert "column 'filename' is the records' own" in caplog.text


def test_arrays_lose_the_members_that_nobody_wants() -> None:
    whole = pa.array(
        [None, [], [None, {"x": 1, "y": [{"p": 1, "q": "a"}, None]}], [{"x": None, "y": None}], None],
        pa.list_(pa.struct([("x", pa.int32()), ("y", pa.list_(pa.struct([("p", pa.int32()), ("q", pa.string())])))])),
    )
    kind = pa.list_(pa.struct([("y", pa.list_(pa.struct([("q", pa.string())])))]))
    expected = [None, [], [None, {"y": [{"q": "a"}, None]}], [{"y": None}], None]
    assert prune_array(whole, kind).to_pylist() == expected
    for start in range(5):
        assert prune_array(whole.slice(start, 2), kind).to_pylist() == expected[start : start + 2]
        prune_array(whole.slice(start, 2), kind).validate(full=True)


JSON = b'{"a":1,"m":{"x":1,"y":"z"},"l":[{"p":1,"q":2}]}\n{"a":2,"m":{"x":"bad","y":"w"},"l":[]}\n{"m":null}\n'


@pytest.fixture
def records(tmp_path: Path) -> str:
    path = tmp_path / "a.json"
    path.write_bytes(JSON)
    return str(path)


DDL = "a int, m struct<x: int, y: string>, l array<struct<p: int, q: int>>"


def test_members_of_json_are_delivered_alone_and_others_are_not_decoded(records: str) -> None:  # parity 109
    scan = ss.scan_json(records, DDL)
    rejects: list[Any] = []
    rows = [row for batch in scan.select("m.y", "l.q").to_batches(rejects.append) for row in batch.to_pylist()]
    assert rows == [
        {"m": {"y": "z"}, "l": [{"q": 2}]}, {"m": {"y": "w"}, "l": []}, {"m": None, "l": None},
    ]  # fmt: skip
    assert rejects == []  # m.x holds a text, and nobody asked for it
    assert [r.code for r in _rejects(scan.select("m.x"))] == ["bad-value"]
    assert ss.scan_json(records, DDL, columns="m.y").schema == parse_ddl("m struct<y: string>")


def _rejects(scan: ss.Scan) -> list[Any]:
    rejects: list[Any] = []
    for _ in scan.to_batches(rejects.append):
        pass
    return rejects


def test_what_the_corrupt_record_column_says_does_not_depend_on_the_members(records: str) -> None:
    scan = ss.scan_json(records, DDL + ", _corrupt_record string").select("m.y", "_corrupt_record")
    rows = scan.to_arrow().to_pylist()
    assert [row["m"] for row in rows] == [{"y": "z"}, {"y": "w"}, None]
    assert [row["_corrupt_record"] is None for row in rows] == [True, False, True]


def test_select_star_is_what_is_delivered_anyway(records: str) -> None:  # parity 85, 86
    scan = ss.scan_json(records, DDL, metadata_columns="file_name")
    assert scan.select("*").schema == scan.schema
    assert scan.select("filename", "*").schema.names == ["filename", "a", "m", "l", "file_name"]
    assert scan.select("*", "m.x").schema == scan.schema


def test_only_columns_of_the_file_read_no_value(records: str) -> None:  # parity 85, 88
    rows = ss.scan_json(records, DDL).select("filename", "record_offset").to_arrow().to_pylist()
    assert [row["record_offset"] for row in rows] == [0, 48, 87]
    assert {row["filename"] for row in rows} == {"a.json"}


def test_members_of_a_reader_of_one_s_own_are_delivered_alone(tmp_path: Path) -> None:
    kind = parse_ddl("m struct<x: int, y: string>").field("m").type

    class Pairs:
        def open(self, negotiator: Any) -> bool:
            self.left = 2
            negotiator.table_schema(pa.schema([("a", pa.int32()), ("m", kind)]))
            return True

        def next(self, loader: Any) -> bool:
            self.left -= 1
            if self.left:
                loader.append({"a": pa.array([1, 2], pa.int32()), "m": pa.array([{"x": 1, "y": "u"}, None], kind)})
            return bool(self.left)

        def close(self) -> None:
            pass

    folder = tmp_path / "p=7"
    folder.mkdir()
    (folder / "a.x").write_bytes(b"x")
    scan = ss.scan(str(tmp_path), format=Pairs, schema="a int, m struct<x: int, y: string>")
    assert scan.select("m.y", "p", "filename").to_arrow().to_pylist() == [
        {"m": {"y": "u"}, "p": 7, "filename": "a.x"}, {"m": None, "p": 7, "filename": "a.x"},
    ]  # fmt: skip
    assert scan.where("p > 7").count() == 0
