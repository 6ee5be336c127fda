"""CSV framing: whatever the dialect, parity, the exact framer and the byte-at-a-time machine find the same records."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.csv.reference import QuotedReferenceFramer
from splitscan.testing import laws, strategies
from splitscan.testing.memory_reader import UNFINISHED, read_range
from splitscan.testing.scan_laws import check_summary_law

from .csv_strategies import csv_texts, dialects

FEW = settings(max_examples=settings().max_examples // 8)  # --hypothesis-profile=long: many more


def framed_by_reference(dialect: CsvGrammar, data: bytes) -> QuotedReferenceFramer:
    framer = QuotedReferenceFramer(dialect)
    for byte in data:
        framer.push(byte)
    framer.finish()
    return framer


@given(dialect=dialects(), draw=st.data())
def test_parity_finds_what_the_machine_finds(dialect: CsvGrammar, draw: st.DataObject) -> None:
    data = dialect.encoding.encode(draw.draw(csv_texts(dialect)))
    laws.check_fast_path_law(QuotedFormat(dialect), data)


@given(dialect=dialects(), draw=st.data())
def test_records_that_end_inside_quotes_are_the_ones_that_the_machine_marks(
    dialect: CsvGrammar, draw: st.DataObject
) -> None:
    data = dialect.encoding.encode(draw.draw(csv_texts(dialect)))
    reference = framed_by_reference(dialect, data)
    records = read_range(QuotedFormat(dialect), data, 0, len(data), 7)
    broken = [i for i, record in enumerate(records) if record.code not in (None, UNFINISHED)]
    assert broken == reference.malformed


@given(dialect=dialects(), draw=st.data())
def test_records_do_not_depend_on_the_delivery(dialect: CsvGrammar, draw: st.DataObject) -> None:
    data = dialect.encoding.encode(draw.draw(csv_texts(dialect)))
    laws.check_chunking_law(QuotedFormat(dialect), data, draw.draw(strategies.deliveries()))


@FEW
@given(dialect=dialects(), draw=st.data())
def test_all_laws_of_framing_hold_for_small_files(dialect: CsvGrammar, draw: st.DataObject) -> None:
    data = dialect.encoding.encode(draw.draw(csv_texts(dialect, max_fields=4)))[:60]
    laws.check_format_laws(QuotedFormat(dialect), data)


@given(dialect=dialects(multi_line=True), draw=st.data())
def test_summaries_compose_and_agree_with_reading(dialect: CsvGrammar, draw: st.DataObject) -> None:
    texts = csv_texts(dialect, max_fields=8)
    first, second = (dialect.encoding.encode(draw.draw(texts)) for _ in range(2))
    check_summary_law(QuotedFormat(dialect), first, second)
