"""The reference reads of a text of JSON what Python's own parser does."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from splitscan.formats.json.text import JsonDialect, JsonKind, NotJsonError, parse_json

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
