"""JSON below a path: whatever the documents, the records are those that Python's json finds, at every cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from splitscan.formats.framing.contract import Need, Preamble
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.paths import RecordPath, parse_record_path
from splitscan.formats.json.reference import JsonReferenceFramer, JsonReferenceFraming, JsonShape
from splitscan.testing import laws, strategies
from splitscan.testing.memory_reader import read_range
from splitscan.testing.scan_laws import check_summary_law


class Members(list[tuple[str, Any]]):
    """The members of an object; names may come again."""


NAMES = st.sampled_from(["a", "b", "a", "b", "", 'a"', "a.b", "é", "😀", "a\\", "[", "x:"])
TEXTS = st.sampled_from(["", "}", "{", '"a":[{', '"', "\\", '\\"', "]}", "a,b", "é☃", "\n", ": [{", "\\\\", "null"])
VALUES = st.recursive(
    st.one_of(st.none(), st.integers(-9, 9), st.booleans(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.lists(st.tuples(NAMES, inner), max_size=3).map(Members)),
    max_leaves=12,
)
PATHS = st.one_of(
    st.builds(lambda name: (name, None), NAMES),
    st.builds(lambda one, two: (one, two, None), NAMES, NAMES),
    st.builds(lambda one, two: (one, None, two, None), NAMES, NAMES),
    st.builds(lambda name: (None, name, None), NAMES),
).map(RecordPath)


class Writer:
    """Writes documents with any layout and escapes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def text(self, text: str) -> str:
        written = json.dumps(text, ensure_ascii=self._draw(st.booleans()))
        if text[:1].isalpha() and text[:1].isascii() and self._draw(st.integers(0, 3)) == 0:
            written = f'"\\u{ord(text[0]):04x}{written[2:]}'
        return written

    def blank(self) -> str:
        return self._draw(st.sampled_from(["", "", "", " ", "\n", "\r\n\t"]))

    def value(self, value: Any) -> str:
        if isinstance(value, Members):
            pairs = (f"{self.text(name)}{self.blank()}:{self.blank()}{self.value(item)}" for name, item in value)
            return "{" + self.blank() + f"{self.blank()},{self.blank()}".join(pairs) + self.blank() + "}"
        if isinstance(value, list):
            return (
                "[" + self.blank() + f"{self.blank()},{self.blank()}".join(map(self.value, value)) + self.blank() + "]"
            )
        return self.text(value) if isinstance(value, str) else json.dumps(value)


def around(path: RecordPath, inner: list[Any], others: list[tuple[str, Any]], at: int) -> Any:
    """A value that has *inner* at the path, and other members beside it."""
    value: Any = inner
    for step in reversed(path.steps[:-1]):
        value = [value] if step is None else Members([*others[:at], (step, value), *others[at:]])
    return value


@st.composite
def files(draw: st.DrawFn) -> tuple[RecordPath, str]:
    path, writer = draw(PATHS), Writer(draw)
    parts = [draw(st.sampled_from(["", "", "\ufeff"])), writer.blank()]
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.integers(0, 3)):
            others = draw(st.lists(st.tuples(NAMES, VALUES), max_size=3))
            value = around(path, draw(st.lists(VALUES, max_size=4)), others, draw(st.integers(0, 3)))
        else:
            value = draw(VALUES.filter(lambda each: isinstance(each, list)))
        parts += [writer.value(value), draw(st.sampled_from(["\n", "", " \n", ","]))]
    return path, "".join(parts)


def expected(path: RecordPath, text: str) -> tuple[list[str], list[str]]:
    """Elements at the path as JSON, and kinds of what is at it but is no array, by Python's json."""
    elements: list[str] = []
    kinds: list[str] = []
    decoder = json.JSONDecoder(object_pairs_hook=Members)
    at, rest = 0, text.lstrip("\ufeff")
    while (at := at + len(rest[at:]) - len(rest[at:].lstrip(" \t\r\n,"))) < len(rest):
        value, at = decoder.raw_decode(rest, at)
        for found in values_at(value, path.steps[:-1]):
            if isinstance(found, list) and not isinstance(found, Members):
                elements += map(plain, found)
            elif found is not None:
                kinds.append(type(found).__name__)
    return elements, kinds


def values_at(value: Any, steps: tuple[str | None, ...]) -> Iterator[Any]:
    if not steps:
        yield value
    elif isinstance(value, Members):
        for name, item in value:
            if steps[0] is not None and name == steps[0]:
                yield from values_at(item, steps[1:])
    elif isinstance(value, list) and steps[0] is None:
        for item in value:
            yield from values_at(item, steps[1:])


def plain(value: Any) -> str:
    """A value as one text, members in their order."""
    return repr(value)


@given(file=files(), draw=st.data())
def test_records_are_what_a_walk_through_the_documents_finds(file: tuple[RecordPath, str], draw: st.DataObject) -> None:
    path, text = file
    data, format = text.encode(), JsonFormat(path=path)
    elements, kinds = expected(path, text)
    cut = draw.draw(st.integers(0, len(data)))
    found = [*read_range(format, data, 0, cut), *read_range(format, data, cut, len(data))]
    decoder = json.JSONDecoder(object_pairs_hook=Members)
    shape = format.preamble(data, at_end=True).format.shape  # type: ignore[union-attr]
    if shape is JsonShape.NOWHERE:
        assert (elements, kinds, len(found)) == ([], [], 1)
        return
    wrong = [each for each in found if each.content.startswith(b":")]
    good = [plain(decoder.decode(each.content.decode())) for each in found if each not in wrong]
    assert good == elements
    assert len(wrong) == len(kinds)
    assert all(each.code is None for each in found)


DAMAGE = st.sampled_from(['"', "{", "}", "[", "]", ":", ",", "\n", "\\", "x", "null", '{"a":[', "]}"])


@st.composite
def damaged_files(draw: st.DrawFn) -> tuple[RecordPath, bytes]:
    path, text = draw(files())
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(DAMAGE) + text[at + draw(st.integers(0, 2)) :]
    return path, text.encode()


class Settled(JsonFormat):
    """A format for bytes inside the first array: it does not look for it."""

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        return Preamble(0, self)


@settings(max_examples=settings().max_examples // 8)
@given(file=damaged_files())
def test_all_laws_of_framing_hold_for_small_files(file: tuple[RecordPath, bytes]) -> None:
    path, data = file
    laws.check_format_laws(JsonFormat(path=path), data[:48])


@given(file=damaged_files())
def test_the_engine_finds_what_the_machine_finds(file: tuple[RecordPath, bytes]) -> None:
    path, data = file
    laws.check_fast_path_law(Settled(shape=JsonShape.BELOW, path=path), data)


@given(file=damaged_files(), draw=st.data())
def test_records_do_not_depend_on_the_delivery(file: tuple[RecordPath, bytes], draw: st.DataObject) -> None:
    path, data = file
    laws.check_chunking_law(Settled(shape=JsonShape.BELOW, path=path), data, draw.draw(strategies.deliveries()))


@given(file=damaged_files(), draw=st.data())
def test_summaries_compose_and_agree_with_reading(file: tuple[RecordPath, bytes], draw: st.DataObject) -> None:
    path, data = file
    cut = draw.draw(st.integers(0, len(data)))
    check_summary_law(Settled(shape=JsonShape.BELOW, path=path), data[:cut], data[cut:])


@given(file=damaged_files())
def test_the_state_after_any_bytes_is_that_of_the_machine(file: tuple[RecordPath, bytes]) -> None:
    path, data = file
    framer = JsonReferenceFramer(JsonShape.BELOW, path)
    for byte in data:
        framer.push(byte)
    assert JsonFormat(shape=JsonShape.BELOW, path=path).state_after(data) == framer.summary_state


@given(file=damaged_files())
def test_a_file_begins_where_the_machine_says(file: tuple[RecordPath, bytes]) -> None:
    path, data = file
    format = JsonFormat(path=path)
    found = format.preamble(data, at_end=True)
    assert isinstance(found, Preamble)
    if isinstance(found.format, JsonFormat) and found.format.shape is JsonShape.BELOW and found.data_start < len(data):
        assert (
            data[found.data_start : found.data_start + 1] == b":"
            or data[found.data_start - 1 : found.data_start] == b"["
        )
    for end in range(len(data)):
        early = format.preamble(data[:end], at_end=False)
        assert early is Need.AFTER or early == found


@given(path=PATHS)
def test_a_path_is_read_as_it_is_shown(path: RecordPath) -> None:
    assert parse_record_path(str(path)) == path


@given(file=damaged_files(), draw=st.data())
def test_what_is_given_up_is_passed_in_any_pieces(file: tuple[RecordPath, bytes], draw: st.DataObject) -> None:
    path, data = file
    data = data.lstrip(b" \t\r\n,\x1e")
    format = JsonFormat(shape=JsonShape.BELOW, path=path)
    known = JsonReferenceFraming(JsonShape.BELOW, path).pass_over(data, None)
    skipping: Any = replace(format)
    done = shown = 0
    while True:
        resume = skipping.resume_after(data[done:shown], at_end=False)
        if resume is not None or shown == len(data):
            break
        dropped, skipping = skipping.drop(data[done:shown])
        done += dropped
        shown = min(len(data), shown + draw.draw(st.integers(1, 9)))
    assert (None if resume is None else done + resume) == known.resume
