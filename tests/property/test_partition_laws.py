"""Blocks of any size give every record once, whatever the format, and their spans tile the file."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from splitscan.errors import RecordError
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.fixed.framing import FixedFormat, SliceFormat
from splitscan.formats.framing.contract import RecordFormat, has
from splitscan.formats.framing.encodings import UTF_8, is_no_text
from splitscan.formats.text.lines import line_format
from splitscan.reading import boundaries, cursor
from splitscan.testing import strategies
from splitscan.testing.reader_laws import check_reader_law

from .csv_strategies import csv_texts, dialects

HALF = settings(max_examples=settings().max_examples // 2)


@st.composite
def csv_files(draw: st.DrawFn, dialect: CsvGrammar) -> bytes:
    text = draw(st.sampled_from(["", "", "\ufeff"])) + draw(csv_texts(dialect, max_fields=12))
    try:
        return dialect.encoding.encode(text)
    except ValueError:
        return dialect.encoding.encode(text.replace("\ufeff", ""))


@st.composite
def sizes(draw: st.DrawFn, data: bytes) -> list[int]:
    few = st.integers(1, max(len(data), 1))
    return sorted({draw(st.integers(1, 3)), draw(few), draw(few)})


@HALF
@given(
    dialect=dialects(encodings=["UTF-8", "UTF-8", "UTF-16", "UTF-32BE", "ISO-8859-1"]),
    header=st.booleans(),
    skip_lines=st.sampled_from([0, 0, 1, 2]),
    max_record_bytes=st.sampled_from([8, 20, 40, 1000, 1000]),
    draw=st.data(),
)
def test_csv_reads_the_same_in_any_blocks(
    dialect: CsvGrammar, header: bool, skip_lines: int, max_record_bytes: int, draw: st.DataObject
) -> None:
    data = draw.draw(csv_files(dialect))
    reads = [draw.draw(st.sampled_from([1, 3, 16, 1000]))]
    format = QuotedFormat(dialect, header, skip_lines)
    try:
        check_reader_law(format, data, draw.draw(sizes(data)), reads, max_record_bytes)
    except RecordError as error:
        event(error.reason_code)
        if error.reason_code != "bad-header":  # the random text has no header that ends
            raise


@HALF
@given(dialect=dialects(), max_record_bytes=st.sampled_from([8, 12, 20, 1000]), draw=st.data())
def test_csv_reads_the_same_when_a_few_bytes_are_all_there_is_to_look_at(
    dialect: CsvGrammar, max_record_bytes: int, draw: st.DataObject
) -> None:
    data = draw.draw(csv_files(dialect))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cursor, "SLACK_BYTES", 16)
        patch.setattr(cursor, "OVERRUN_BYTES", 8)
        patch.setattr(boundaries, "LOOK_BYTES", 16)
        patch.setattr(boundaries, "PIECE_BYTES", 16)
        check_reader_law(QuotedFormat(dialect), data, draw.draw(sizes(data)), [5, 1000], max_record_bytes)


TEXT_FORMATS: list[RecordFormat] = [
    line_format(), line_format(escape="\\"), line_format(line_sep="||", escape="\\"), line_format(line_sep="aba"),
    line_format(encoding="UTF-16", escape="/"), line_format(line_sep="☃☃"), FixedFormat(3),
    FixedFormat(1), SliceFormat(4),
]  # fmt: skip
WORDS = [b"a", b"b", b"\n", b"\r", b"\\", b"|", b"||", b"ab", b"\n\0", b"\0\n", b"\xff\xfe", "☃".encode()]


@HALF
@given(
    format=st.sampled_from(TEXT_FORMATS),
    data=strategies.files_of(WORDS),
    max_record_bytes=st.sampled_from([4, 8, 1000]),
    draw=st.data(),
)
def test_every_other_format_reads_the_same_in_any_blocks(
    format: RecordFormat, data: bytes, max_record_bytes: int, draw: st.DataObject
) -> None:
    assume(not (has(format, "encoding") and is_no_text(data, format.encoding)))  # It is refused: [not-text].
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cursor, "SLACK_BYTES", draw.draw(st.sampled_from([16, 4096])))
        check_reader_law(format, data, draw.draw(sizes(data)), [draw.draw(st.integers(1, 9)), 1000], max_record_bytes)


def test_records_that_summaries_counted_are_found_in_as_many_steps_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces end where an empty field begins, so that each of them is sure what its separators are."""
    monkeypatch.setattr(boundaries, "LOOK_BYTES", 16)
    monkeypatch.setattr(boundaries, "PIECE_BYTES", 16)
    format = QuotedFormat(CsvGrammar(UTF_8, sep="||", escape='"', multi_line=True))
    assert check_reader_law(format, '||éé\n\n""||éé||||\n'.encode(), [1]) == 2
