"""JSON decoding: Arrow's parser and the readers of single records give the same rows, whatever the bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
from hypothesis import event, given
from hypothesis import strategies as st

from splitscan.decoding.json import JsonDecoder
from splitscan.decoding.json_text import JsonDialect, JsonKind, NotJsonError, parse_json
from splitscan.decoding.rescue import Rescue
from splitscan.framing.contract import counted_frames
from splitscan.framing.encodings import UTF_8
from splitscan.framing.frames import Frames
from splitscan.framing.json import JsonFormat, Shape, json_lines
from splitscan.scan import parse_ddl

KINDS = ("int", "bigint", "tinyint", "float", "double", "boolean", "string", "date", "timestamp", "timestamp_ntz",
         "decimal(5,2)", "binary", "array<int>", "array<timestamp>", "struct<a: double, b: array<date>>",
         "map<string, int>", "array<array<struct<a: string>>>", "array<decimal(3,1)>")  # fmt: skip
SCALARS = ("null", "true", "1", "-0", "0.5", "1e3", "1e400", "127", "128", "99999999999", "1.555", '"x"', '""', '"1"',
           '"1.5"', "NaN", "-Infinity", '"NaN"', '"2020-01-02"', '"2020-01-02T03:04:05Z"', '"2020-1-2 3:4:5.5"',
           '"aGk="', r'"\u00e9\n"', r'"\ud800"', r'"\ud83d\ude00"', r'"\\ud83d\ude00"', r'"\uD83D\uDE00\uDE00"',
           r'"\uDFFF\\"', '"\t"', "01", "tru", "Inf", "1.", '"é"', "'x'", "-1e-400",
           "+1")  # fmt: skip
VALUES = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]"),
        st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), inner), max_size=3).map(
            lambda pairs: "{" + ", ".join(f'"{name}": {value}' for name, value in pairs) + "}"
        ),
    ),
    max_leaves=5,
)
OBJECTS = st.lists(st.tuples(st.sampled_from(["a", "a", "b", "c"]), VALUES), max_size=3).map(
    lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
)
LINES = st.one_of(OBJECTS, OBJECTS, OBJECTS, VALUES, st.text('{}[]",:ab1 \\', max_size=8))
MOSTLY_OBJECTS = st.one_of(
    st.lists(OBJECTS, min_size=1, max_size=6), st.lists(OBJECTS, min_size=1, max_size=6), st.lists(LINES, max_size=6)
)


def columns(ddl: str) -> tuple[pa.Field, ...]:
    return tuple(parse_ddl(ddl))


def named(names: str, kinds: list[str]) -> tuple[pa.Field, ...]:
    """A column for each type; none where there is no type."""
    return columns(", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=False))) if kinds else ()


def all_roads(decoder: JsonDecoder, data: bytes, frames: Frames) -> None:
    for rescue in (None, Rescue("f.json"), Rescue("f.json", wanted=False)):
        both_roads(replace(decoder, rescue=rescue), data, frames)


def both_roads(decoder: JsonDecoder, data: bytes, frames: Frames) -> None:
    slow = Frames(frames.starts, frames.stops, frames.next_start, regular=False)
    exact = decoder.decode_exactly(memoryview(data), frames)
    for found in (decoder.decode(memoryview(data), road) for road in (frames, slow)):
        assert repr([column.to_pylist() for column in found.columns]) == repr([c.to_pylist() for c in exact.columns])
        assert found.faults == exact.faults
        assert (found.rescued and found.rescued.to_pylist()) == (exact.rescued and exact.rescued.to_pylist())
        assert all(json.loads(kept) for kept in (found.rescued or pa.array([])).to_pylist() if kept is not None)
        assert found.rows == exact.rows == len(frames)
        for column in found.columns:
            column.validate(full=True)


@given(lines=st.lists(LINES, max_size=6), kinds=st.lists(st.sampled_from(KINDS), max_size=2))
def test_lines_are_read_alike_on_all_roads(lines: list[str], kinds: list[str]) -> None:
    data = "\n".join(lines).encode()
    decoder = JsonDecoder(UTF_8, columns(", ".join(f"{n} {k}" for n, k in zip("ab", kinds, strict=False)) or "z int"))
    all_roads(decoder, data, json_lines(None, "UTF-8").frame(data, at_end=True))


@given(
    values=st.lists(LINES, max_size=6), kind=st.sampled_from(KINDS), between=st.sampled_from(["", ",", "\n", " ,\n"])
)
def test_values_over_lines_are_read_alike_on_all_roads(values: list[str], kind: str, between: str) -> None:
    data = between.join(values).replace(",", ",\n").encode()
    decoder = JsonDecoder(UTF_8, columns(f"a {kind}"))
    frames = JsonFormat(shape=Shape.VALUES).frame(data, at_end=True)
    all_roads(decoder, data, Frames(frames.starts, frames.stops, frames.next_start))


@given(
    lines=MOSTLY_OBJECTS,
    kinds=st.lists(st.sampled_from(KINDS), max_size=2),
    end=st.sampled_from(["\n", "\n", "", "\n{"]),
)
def test_counted_lines_are_read_alike_on_all_roads(lines: list[str], kinds: list[str], end: str) -> None:
    data = ("\n".join(lines) + end).encode()
    format = json_lines(None, "UTF-8")
    counted = format.count_regular(data)
    event(f"counted: {counted is not None}")
    if counted is not None:
        whole = data[: counted.next_start]
        all_roads(JsonDecoder(UTF_8, named("ab", kinds)), whole, counted_frames(format, whole, counted.records))


@given(
    values=MOSTLY_OBJECTS,
    kinds=st.lists(st.sampled_from(KINDS), max_size=2),
    head=st.sampled_from(["", "", "\n ", ",", "]"]),
    between=st.sampled_from([",", ",", ",\n ", "\n", "", ",,", "],[", "\x1e"]),
    end=st.sampled_from(["", ",", ",\n  ", "\n]\n", "\n", "]]", " " * 5000]),
    shape=st.sampled_from([Shape.ARRAY, Shape.VALUES]),
)
def test_counted_values_are_read_alike_on_all_roads(
    values: list[str], kinds: list[str], head: str, between: str, end: str, shape: Shape
) -> None:
    data = (head + between.join(values) + end).encode()
    format = JsonFormat(shape=shape)
    run = format.summarise(data, b"", b"", 0).run(0)
    is_certain = run is not None and run.state == 0 and bool(run.records)
    event(f"counted: {is_certain}")
    if run is not None and is_certain:
        frames, found = counted_frames(format, data, run.records or 0), format.frame(data, at_end=True)
        assert [len(frames), frames.first, frames.next_start] == [len(found), found.first, found.next_start]
        assert [frames.starts.tolist(), frames.stops.tolist()] == [found.starts.tolist(), found.stops.tolist()]
        all_roads(JsonDecoder(UTF_8, named("ab", kinds), is_array=shape is Shape.ARRAY), data, frames)


@given(
    text=st.one_of(LINES, st.recursive(st.none(), lambda v: st.dictionaries(st.text(), v | st.text())).map(json.dumps))
)
def test_the_parser_accepts_what_pythons_does_and_reads_the_same(text: str) -> None:
    strict = JsonDialect(allow_single_quotes=False)
    try:
        expected = json.loads(text)
    except ValueError:
        expected = NotJsonError
    try:
        found = parse_json(text, strict)
    except NotJsonError:
        assert expected is NotJsonError
        return
    if expected is NotJsonError:
        assert "Inf" in text or "NaN" in text  # which Python spells in fewer ways
    elif found.kind is JsonKind.STRING and "\\u" not in text:
        assert found.value == expected
    elif found.kind is JsonKind.OBJECT:
        assert list(dict(found.value)) == list(expected) or "\\u" in text
