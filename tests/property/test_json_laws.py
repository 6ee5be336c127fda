"""JSON framing: whatever the bytes, the fast scanner, the exact one and the byte-at-a-time machine agree."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from splitscan.formats.framing.contract import Need, Preamble
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.reference import JsonReferenceFramer, JsonShape
from splitscan.testing import laws, strategies
from splitscan.testing.memory_reader import read_range
from splitscan.testing.scan_laws import check_summary_law

SHAPES = st.sampled_from([JsonShape.VALUES, JsonShape.ARRAY])
SYMBOLS = ['"', '"', "\\", "{", "{", "}", "}", "[", "]", ",", ":", "\n", " ", "\r", "a", "1", "\x1e", "é", "\t"]
HARD_TEXTS = st.sampled_from(["", "}", "{", "[]{", '"', "\\", '\\"', "}]}", "a,b", '"}', "é☃", "\n", ": {", "\\\\"])

VALUES = st.recursive(
    st.one_of(st.none(), st.integers(-9, 9), HARD_TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(HARD_TEXTS, inner, max_size=3)),
    max_leaves=8,
)
RECORDS = st.dictionaries(st.sampled_from(["a", "b{", '"}']), VALUES, max_size=3)
BREAKS = ["", "", "", "\n", ",\n", ", ", "}", "{", '"', "]", " x ", "\n\n", '{"a": [1', '{"a": "b\n', "\ufeff"]


@st.composite
def json_texts(draw: st.DrawFn, max_records: int = 6) -> str:
    """Records in any layout, some with damage between them, some damaged themselves."""
    parts = []
    for record in draw(st.lists(RECORDS, max_size=max_records)):
        indent = draw(st.sampled_from([None, None, 0, 1]))
        text = json.dumps(record, indent=indent, ensure_ascii=draw(st.booleans()))
        if draw(st.integers(0, 9)) == 0:
            cut = draw(st.integers(0, len(text)))
            text = text[:cut] + draw(st.sampled_from(BREAKS)) + text[cut + draw(st.integers(0, 2)) :]
        parts.append(text + draw(st.sampled_from(BREAKS)))
    return "".join(parts)


TEXTS = st.one_of(json_texts(), st.lists(st.sampled_from(SYMBOLS), max_size=24).map("".join))


def framed_by_reference(shape: JsonShape, data: bytes) -> JsonReferenceFramer:
    framer = JsonReferenceFramer(shape)
    for byte in data:
        framer.push(byte)
    framer.finish()
    return framer


class Settled(JsonFormat):
    """A format for bytes after a head: it does not look for one again."""

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        return Preamble(0, self)


@given(shape=SHAPES, text=TEXTS)
def test_the_fast_scanner_finds_what_the_machine_finds(shape: JsonShape, text: str) -> None:
    laws.check_fast_path_law(Settled(shape=shape), text.encode())


@given(shape=SHAPES, text=TEXTS)
def test_the_state_behind_any_bytes_is_that_of_the_machine(shape: JsonShape, text: str) -> None:
    data = text.encode()
    framer = JsonReferenceFramer(shape)
    for byte in data:
        framer.push(byte)
    assert JsonFormat(shape=shape).state_after(data) == framer.summary_state


@given(shape=SHAPES, text=TEXTS, draw=st.data())
def test_records_do_not_depend_on_the_delivery(shape: JsonShape, text: str, draw: st.DataObject) -> None:
    deliveries = draw.draw(strategies.deliveries())
    laws.check_chunking_law(Settled(shape=shape), text.encode(), deliveries)


@settings(max_examples=settings().max_examples // 8)
@given(text=TEXTS, head=st.sampled_from(["", "[", "\ufeff[\n  ", "\n"]))
def test_all_laws_of_framing_hold_for_small_files(text: str, head: str) -> None:
    laws.check_format_laws(JsonFormat(), (head + text).encode()[:30])


@given(shape=SHAPES, first=TEXTS, second=TEXTS)
def test_summaries_compose_and_agree_with_reading(shape: JsonShape, first: str, second: str) -> None:
    check_summary_law(Settled(shape=shape), first.encode(), second.encode())


@given(records=st.lists(RECORDS, max_size=8), indent=st.sampled_from([None, 0, 2]), is_array=st.booleans())
def test_whatever_the_layout_the_values_are_those_of_json(
    records: list[object], indent: int | None, is_array: bool
) -> None:
    values = [json.dumps(record, indent=indent) for record in records]
    text = json.dumps(records, indent=indent) if is_array else "\n".join(values)
    found = read_range(JsonFormat(), text.encode(), 0, len(text), 7)
    assert [json.loads(record.content) for record in found] == records
