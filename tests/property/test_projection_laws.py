"""The projection law: projecting in the reader is projecting afterwards, and rows never depend on it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import splitscan as ss

DDL = (
    "a int, m struct<x: int, y: string, n: struct<p: double, q: string>>, l array<struct<u: int, v: string>>, "
    "`a.b` string"
)
PATHS = (
    "a", "m", "m.x", "m.y", "m.n", "m.n.p", "m.n.q", "m.*", "l", "l.u", "l[0].v", "a.b", "`a.b`", "*", "filename",
    "dir0", "k", "record_offset", "record_length", "file_size",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


scalars = st.sampled_from([None, 0, 7, 1.5, "x", "é", "12", True, 2**40])
structs = st.dictionaries(st.sampled_from(["p", "q", "x", "y", "u", "v", "other"]), scalars, max_size=4)
objects = st.fixed_dictionaries(
    {},
    optional={
        "a": scalars,
        "m": st.one_of(scalars, structs, structs.map(lambda n: {"x": 1, "n": n})),
        "l": st.one_of(scalars, st.lists(st.one_of(st.none(), structs), max_size=3)),
        "a.b": scalars,
        "other": structs,
    },
)
lines = st.one_of(objects.map(json.dumps), st.sampled_from(["{", "[1]", '{"a":1}}', "7", " "]))


def narrowed(row: dict[str, Any], path: str) -> tuple[str, Any]:
    """What a path delivers of a row that was read whole."""
    steps = {
        "m.x": ("m", ["x"]), "m.y": ("m", ["y"]), "m.n": ("m", ["n"]), "l.u": ("l", ["u"]), "l[0].v": ("l", ["v"]),
        "m.n.p": ("m", ["n", "p"]), "m.n.q": ("m", ["n", "q"]), "m.*": ("m", []), "`a.b`": ("a.b", []),
    }  # fmt: skip
    name, members = steps.get(path, (path, []))
    return name, only(row[name], members)


def only(value: Any, members: list[str]) -> Any:
    if value is None or not members:
        return value
    if isinstance(value, list):
        return [only(element, members) for element in value]
    return {members[0]: only(value[members[0]], members[1:])}


def union(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {k: union(one.get(k, other.get(k)), other.get(k, one.get(k))) for k in {**one, **other}}
    if isinstance(one, list) and isinstance(other, list):
        return [union(a, b) for a, b in zip(one, other, strict=True)]
    return one


def in_order(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


@given(
    st.lists(lines, max_size=12),
    st.lists(st.sampled_from(PATHS), max_size=5),
    st.sampled_from(["PERMISSIVE", "DROPMALFORMED"]),
    st.booleans(),
)
def test_projecting_json_in_the_reader_is_projecting_afterwards(
    folder: Path, records: list[str], paths: list[str], mode: str, corrupt: bool
) -> None:
    file = folder / "k=3" / "a.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(records))
    ddl = DDL + ", _corrupt_record string" if corrupt else DDL
    scan = ss.scan_json(str(folder), ddl, mode=mode)
    extra = ("filename", "dir0", "record_offset", "record_length", "file_size")
    whole = scan.select("*", *extra).to_arrow().to_pylist()
    narrow = scan.select(*paths)
    assert narrow.to_arrow().num_rows == narrow.count() == scan.count() == len(whole)
    rows = narrow.to_arrow().to_pylist()
    for row, found in zip(whole, rows or [{}] * len(whole), strict=True):
        expected: dict[str, Any] = {}
        for path in paths:
            pairs = [(n, row[n]) for n in scan.schema.names] if path == "*" else [narrowed(row, path)]
            for name, value in pairs:
                expected[name] = union(expected[name], value) if name in expected else value
        assert in_order(found) == in_order(expected)
