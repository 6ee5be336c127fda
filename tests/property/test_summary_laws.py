"""Summaries of pieces of a file: they compose, in any grouping, and agree with reading from the beginning."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st

from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.framing.contract import Need
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import Run, Summary
from splitscan.testing import check_summary_law

from .csv_strategies import csv_texts, dialects

UTF_8 = resolve_encoding("UTF-8")
RFC = QuotedFormat(CsvGrammar(UTF_8, escape='"', multi_line=True))


def runs() -> st.SearchStrategy[Run | None]:
    positions = st.none() | st.integers(0, 9)
    return st.none() | st.builds(
        lambda state, first, length: Run(state, first, None if first is None else first + length, first),
        st.integers(0, 1),
        positions,
        st.integers(0, 3),
    )


SUMMARIES = st.builds(lambda one, other: Summary(13, (one, other)), runs(), runs())


@given(first=SUMMARIES, second=SUMMARIES, third=SUMMARIES)
def test_composition_is_associative(first: Summary, second: Summary, third: Summary) -> None:
    assert first.then(second).then(third) == first.then(second.then(third))


@given(dialect=dialects(multi_line=True), draw=st.data())
def test_any_cut_of_random_csv_composes_and_agrees_with_reading(dialect: CsvGrammar, draw: st.DataObject) -> None:
    texts = csv_texts(dialect, max_fields=8)
    first, second = (dialect.encoding.encode(draw.draw(texts)) for _ in range(2))
    event("checked" if check_summary_law(QuotedFormat(dialect), first, second) else "open")


@given(values=st.lists(st.text('a,"\n\r', max_size=6), min_size=2, max_size=8), draw=st.data())
def test_clean_csv_is_always_settled_by_summaries(values: list[str], draw: st.DataObject) -> None:
    data = "\n".join('"' + value.replace('"', '""') + '",end' for value in values).encode()
    cut = draw.draw(st.integers(1, len(data) - 4))
    head, tail = data[:cut], data[cut:]
    answer = RFC.safe_cut(head, tail)
    settled = not isinstance(answer, Need) and 0 < cut + answer < len(data) - 1
    assert check_summary_law(RFC, head, tail) or not settled


def test_the_law_notices_a_summary_that_does_not_compose() -> None:
    assert check_summary_law(RFC, b'a,"b', b"\nc\nd")
    assert check_summary_law(RFC, b"a\n", b"b\nc\nd")
    assert not check_summary_law(RFC, b'"', b'"')


def test_the_mark_of_a_composed_summary_is_the_first_boundary_that_either_found() -> None:
    before, behind = Run(0, 1, 4, 4), Run(0, 2, 6, 2)
    assert Summary(5, (before,)).then(Summary(9, (behind,))).runs == (Run(0, 1, 11, 4),)
    assert Summary(5, (Run(0, 1, 4, None),)).then(Summary(9, (behind,))).runs == (Run(0, 1, 11, 7),)
    assert Summary(5, (Run(0, None, None, None),)).then(Summary(9, (behind,))).runs == (Run(0, 7, 11, 7),)
    assert Summary(5, (before,)).then(Summary(9, (Run(1, None, None, None),))).runs == (Run(1, 1, 4, 4),)
    assert Summary(5, (before,)).then(Summary(9, (None,))).runs == (None,)
