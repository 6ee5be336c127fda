"""Columns from around arrays below a path: whatever the documents, they are what Python's json finds, at every cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.property.test_json_path_laws import NAMES, PATHS, Members, Writer, damaged_files, files, plain

from splitscan.blocks import FileMetadata
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.paths import EnvelopeColumn, RecordPath, parse_envelope_columns
from splitscan.formats.json.reference import JsonShape
from splitscan.reading.envelopes import Envelopes, read_envelopes
from splitscan.testing.faults import MemorySource
from splitscan.testing.memory_reader import read_range

DECODER = json.JSONDecoder(object_pairs_hook=Members)
BLANKS = " \t\r\n,"


@st.composite
def columns_beside(draw: st.DrawFn, path: RecordPath) -> tuple[EnvelopeColumn, ...]:
    levels = [level for level, step in enumerate(path.steps) if step is not None]
    columns = []
    for number in range(draw(st.integers(1, 3))):
        level = draw(st.sampled_from(levels))
        first = draw(NAMES.filter(lambda name, step=path.steps[level]: name != step))
        steps = (*path.steps[:level], first, *draw(st.lists(NAMES, max_size=1)))
        columns.append(EnvelopeColumn(steps, f"c{number}", "string"))
    return tuple(columns)


def found_in(format: JsonFormat, data: bytes, **limits: int) -> Envelopes:
    file = FileMetadata("a.json", len(data), 0, "", "a.json")
    return read_envelopes(partial(MemorySource, data), file, format, **{"max_record_bytes": 1 << 20, **limits})


def values_for(found: Envelopes, offset: int) -> tuple[str | None, ...]:
    return next(
        values for start, values in reversed(list(zip(found.starts, found.values, strict=True))) if start <= offset
    )


def rows_at(value: Any, steps: tuple[str | None, ...], around: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """What is at the end of a path, with the containers on the way."""
    if not steps:
        yield value, around
    elif isinstance(value, Members):
        for name, item in value:
            if steps[0] is not None and name == steps[0]:
                yield from rows_at(item, steps[1:], (*around, value))
    elif isinstance(value, list) and steps[0] is None:
        for item in value:
            yield from rows_at(item, steps[1:], (*around, value))


def value_of(column: EnvelopeColumn, path: RecordPath, around: tuple[Any, ...]) -> Any:
    level = next(at for at, step in enumerate(column.steps) if step != path.steps[at])
    value = around[level]
    for step in column.steps[level:]:
        value = dict(value).get(step) if isinstance(value, Members) else None
    return value


def expected(path: RecordPath, columns: tuple[EnvelopeColumn, ...], text: str) -> list[tuple[str, list[str]]]:
    """Elements at the path, and other values there, each with those of the columns."""
    rows = []
    at, rest = 0, text.lstrip("\ufeff")
    while (at := at + len(rest[at:]) - len(rest[at:].lstrip(BLANKS))) < len(rest):
        value, at = DECODER.raw_decode(rest, at)
        for found, around in rows_at(value, path.steps[:-1]):
            values = [plain(value_of(column, path, around)) for column in columns]
            if isinstance(found, list) and not isinstance(found, Members):
                rows += [(plain(element), values) for element in found]
            elif found is not None:
                rows.append((":", values))
    return rows


def repeating(path: RecordPath) -> st.SearchStrategy[Any]:
    """Documents whose members, those of the path too, come again and again, as values of any kind."""
    inner: st.SearchStrategy[Any] = st.lists(st.integers(0, 9), max_size=3)
    for step in reversed(path.steps[:-1]):
        if step is None:
            inner = st.lists(inner, max_size=3)
            continue
        other = st.tuples(
            NAMES, st.one_of(st.integers(0, 9), st.lists(st.tuples(NAMES, st.integers(0, 9)), max_size=2).map(Members))
        )
        inner = st.lists(
            st.one_of(other, st.tuples(st.just(step), st.one_of(inner, inner, st.integers(0, 9)))), max_size=6
        ).map(Members)
    return inner


@st.composite
def repeating_files(draw: st.DrawFn) -> tuple[RecordPath, str]:
    path = draw(PATHS)
    documents = draw(st.lists(repeating(path), min_size=1, max_size=3))
    return path, draw(st.sampled_from(["\n", ""])).join(map(Writer(draw).value, documents))


@given(file=st.one_of(files(), repeating_files()), draw=st.data())
def test_columns_are_what_a_walk_through_the_documents_finds(file: tuple[RecordPath, str], draw: st.DataObject) -> None:
    path, text = file
    columns = draw.draw(columns_beside(path))
    assert parse_envelope_columns(", ".join(map(str, columns))) == columns
    data, format = text.encode(), JsonFormat(path=path, envelope=columns)
    preamble = format.preamble(data, at_end=True)
    assert isinstance(preamble, Preamble)
    if isinstance(preamble.format, JsonFormat) and preamble.format.shape is JsonShape.NOWHERE:
        return
    found = found_in(format, data, read_bytes=draw.draw(st.integers(1, 80)))
    rows = []
    for record in read_range(format, data, 0, len(data)):
        texts = values_for(found, record.start)
        is_around = record.content.startswith(b":")
        element = ":" if is_around else plain(DECODER.decode(record.content.decode()))
        rows.append((element, [plain(None if each is None else DECODER.decode(each)) for each in texts]))
    assert rows == expected(path, columns, text)


@given(file=damaged_files(), draw=st.data())
def test_columns_do_not_depend_on_the_delivery(file: tuple[RecordPath, bytes], draw: st.DataObject) -> None:
    path, data = file
    format = JsonFormat(path=path, envelope=draw.draw(columns_beside(path)))
    for longest in (1 << 20, draw.draw(st.integers(1, 30))):
        whole = found_in(format, data, read_bytes=1 << 20, max_record_bytes=longest)
        assert found_in(format, data, read_bytes=draw.draw(st.integers(1, 20)), max_record_bytes=longest) == whole
        reader = format.envelope_reader()
        assert reader is not None
        bytewise = format.envelope_reader()
        assert bytewise is not None
        reader.feed(data)
        for byte in data:
            bytewise.feed(bytes([byte]))
        for each in (reader, bytewise):
            each.begin_records(len(data))
            each.finish()
        assert (reader.starts, reader.values) == (bytewise.starts, bytewise.values)
