"""JSON decoding: the kernel and the reference give the same rows, whatever the bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from splitscan.formats.decoding.rescue import Rescue
from splitscan.formats.framing.encodings import UTF_8
from splitscan.formats.json.decoder import JsonDecoder
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.kernel import json_with_kernel
from splitscan.formats.json.lines import JsonLinesFormat, json_lines
from splitscan.formats.json.reference import JsonShape
from splitscan.formats.json.text import JsonDialect, JsonKind, NotJsonError, parse_json
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


def columns(ddl: str) -> tuple[pa.Field, ...]:
    return tuple(parse_ddl(ddl))


def check_engines(decoder: JsonDecoder, format: JsonFormat | JsonLinesFormat, data: bytes) -> None:
    """Both engines find the same records, values, faults and rescued texts."""
    frames = format.frame(data, at_end=True)
    for rescue in (None, Rescue("f.json"), Rescue("f.json", wanted=False)):
        reference = replace(decoder, rescue=rescue)
        exact = reference.decode(memoryview(data), frames)
        native = json_with_kernel(reference, format)
        found = native.decode(memoryview(data), frames)
        assert repr([column.to_pylist() for column in found.columns]) == repr([c.to_pylist() for c in exact.columns])
        assert found.faults == exact.faults
        assert (found.rescued and found.rescued.to_pylist()) == (exact.rescued and exact.rescued.to_pylist())
        assert all(json.loads(kept) for kept in (found.rescued or pa.array([])).to_pylist() if kept is not None)
        assert found.rows == exact.rows == len(frames)
        for column in found.columns:
            column.validate(full=True)


@given(lines=st.lists(LINES, max_size=6), kinds=st.lists(st.sampled_from(KINDS), max_size=2))
def test_lines_are_read_alike_by_both_engines(lines: list[str], kinds: list[str]) -> None:
    data = "\n".join(lines).encode()
    decoder = JsonDecoder(UTF_8, columns(", ".join(f"{n} {k}" for n, k in zip("ab", kinds, strict=False)) or "z int"))
    check_engines(decoder, json_lines(None, "UTF-8"), data)


@given(
    values=st.lists(LINES, max_size=6), kind=st.sampled_from(KINDS), between=st.sampled_from(["", ",", "\n", " ,\n"])
)
def test_values_over_lines_are_read_alike_by_both_engines(values: list[str], kind: str, between: str) -> None:
    data = between.join(values).replace(",", ",\n").encode()
    decoder = JsonDecoder(UTF_8, columns(f"a {kind}"))
    check_engines(decoder, JsonFormat(shape=JsonShape.VALUES), data)


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


def test_names_with_a_null_character_are_read_by_the_reference() -> None:
    fields = (pa.field("\0a", pa.int64()), pa.field("s", pa.struct([("b\0c", pa.int64())])))
    for field in fields:
        data = json.dumps({field.name: 1 if pa.types.is_integer(field.type) else {"b\0c": 1}}).encode()
        check_engines(JsonDecoder(UTF_8, (field,)), json_lines(None, "UTF-8"), data)
