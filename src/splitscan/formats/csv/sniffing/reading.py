"""Samples read with one candidate, by the grammar: records, fields, faults, and where the table begins."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar as Grammar
from splitscan.formats.csv.grammar import split_fields
from splitscan.formats.csv.sniffing.found import Setting
from splitscan.formats.csv.sniffing.header import find_header
from splitscan.formats.csv.sniffing.values import BLANKS, Record, looks
from splitscan.formats.framing.encodings import UTF_8
from splitscan.formats.framing.frames import Frames

_MOST_RECORDS = 3000  # of one sample
_MOST_CELLS = 4000  # that are looked at for their type
_MOST_PREAMBLE = 30  # records before the first one of the table
_LEAST_TABLE = 3  # records after a preamble: fewer are no reason to pass over lines
_RARE = 20  # one in so many
_OF_ONE_COLUMN = 0.35
_MOST_BELOW = 500  # records in which lines like a filled up one are looked for


@dataclass(frozen=True, slots=True)
class Sample:
    """A part of a file, in UTF-8.

    Attributes:
        text: Its bytes; a part from the middle begins with a line.
        is_start: Whether the file begins with it.
        is_end: Whether the file ends with it.
    """

    text: bytes
    is_start: bool
    is_end: bool


LINE_END = re.compile(rb"\r\n|\n|\r")


def after_lines(sample: Sample, lines: int) -> Sample:
    """A sample without its first lines."""
    ends = [match.end() for match in islice(LINE_END.finditer(sample.text), lines)]
    return sample if not lines else Sample(sample.text[ends[-1] :] if len(ends) == lines else b"", True, sample.is_end)


@dataclass(frozen=True, eq=False)
class Reading:
    """The beginning of a file, read with one candidate.

    Attributes:
        sample: The beginning.
        sep: Separator.
        quote: Quote, or ``None``.
        escape: Escape in quotes, or ``None``.
        comment: What comments begin with.
        trims: Whether blanks before values are no part of them.
        skipped: Lines of the file before the sample.
        finds_table: Whether lines before the table are looked for; else it begins with the sample.
        marks: Whether lines that begin with a mark may be comments.
        doubt: Why it must not be used unseen.
    """

    sample: Sample
    sep: str
    quote: str | None
    escape: str | None
    comment: str | None = None
    trims: bool = False
    skipped: int = 0
    finds_table: bool = True
    marks: bool = True
    doubt: str | None = None

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of the candidate."""
        return Grammar(UTF_8, self.sep, self.quote, self.escape, self.comment, multi_line=self.quote is not None,
                       trim_leading=self.trims)  # fmt: skip

    @cached_property
    def _frames(self) -> Frames:
        return QuotedFormat(self.grammar).frame(self.sample.text, at_end=self.sample.is_end)

    @cached_property
    def contents(self) -> list[bytes]:
        """The bytes of every record."""
        text, frames = self.sample.text, self._frames
        spans = zip(frames.starts[:_MOST_RECORDS].tolist(), frames.stops[:_MOST_RECORDS].tolist(), strict=True)
        return [text[start:stop] for start, stop in spans]

    @cached_property
    def all_records(self) -> list[Record]:
        """The fields of every record, comments and preamble among them."""
        records = [split_fields(content, self.grammar) for content in self.contents]
        if not self.trims:
            return records
        return [[(value if quoted else value.lstrip(BLANKS), quoted) for value, quoted in each] for each in records]

    def but(self, **others: Any) -> Reading:
        """Read with other arguments."""
        return replace(self, **others)

    def in_doubt(self, doubt: str) -> Reading:
        """Add a doubt to those there are."""
        return self.but(doubt=doubt if self.doubt is None else f"{self.doubt} {doubt}")

    @cached_property
    def columns(self) -> int:
        """Fields of most records, without the first ones, where a preamble has a say."""
        before = min(len(self.all_records) // 4, _MOST_PREAMBLE)
        widths = Counter(len(record) for record in self.all_records[before:])
        return max(widths, key=lambda width: (widths[width], width)) if widths else 0

    @cached_property
    def _first(self) -> int:
        """The number of the first record of the table."""
        if not self.finds_table:
            return 0
        widths = [len(record) for record in self.all_records]
        first = next((n for n, width in enumerate(widths[:_MOST_PREAMBLE]) if width == self.columns), 0)
        is_preamble = all(self._is_short(width) for width in widths[:first])  # and no record with fields missing
        first = self._after_padded(first) if is_preamble else 0
        return first if len(widths) - first >= max(_LEAST_TABLE, first) else 0

    def _is_short(self, width: int) -> bool:
        return 2 * width <= self.columns

    def _after_padded(self, first: int) -> int:
        """The place of the table where its program filled the lines before it up to the table's width.

        Such a line has values in the first half of its columns only. It is taken for one where a header follows that
        names all columns, and records like it are rare in the table.
        """
        records = self.all_records[first : first + _MOST_BELOW]
        short = [self._is_short(_filled(record)) for record in records]
        padded = short.index(False) if False in short else 0
        if not padded or padded > _MOST_PREAMBLE or sum(short[padded:]) * _RARE > len(records):
            return first
        names = [value for value, _ in records[padded]]
        return first + padded if all(names) and find_header(records[padded:]).value else first

    @property
    def records(self) -> list[Record]:
        """The records of the table."""
        return self.all_records[self._first :]

    @cached_property
    def header(self) -> Setting:
        """The setting of a first record that names the columns, or does not."""
        return find_header(self.records)

    @property
    def lines(self) -> list[bytes]:
        """The bytes of the records of the table."""
        return self.contents[self._first :]

    @property
    def preamble(self) -> list[bytes]:
        """The records before the table, as they stand in the sample."""
        return self.contents[: self._first]

    @property
    def skip_rows(self) -> int:
        """Lines of the file before the table."""
        if not self._first:
            return self.skipped
        return self.lines_before(0)

    def lines_before(self, record: int) -> int:
        """Lines of the file before a record of the table, comments among them."""
        start = int(self._frames.starts[self._first + record])
        return self.skipped + len(LINE_END.findall(self.sample.text, 0, start))

    def is_after_gap(self, record: int) -> bool:
        """True if empty lines, comments, or a record without a value stand before a record of the table."""
        number = self._first + record
        start, stop = (int(each) for each in (self._frames.stops[number - 1], self._frames.starts[number]))
        is_empty = not any(value for value, _ in self.all_records[number - 1])
        return is_empty or len(LINE_END.findall(self.sample.text, start, stop)) > 1

    @cached_property
    def consistency(self) -> float:
        """Share of the table's records that have that many fields."""
        records = self.records
        return sum(len(record) == self.columns for record in records) / len(records) if records else 0.0

    @cached_property
    def score(self) -> float:
        """From 0 to 1: how much this looks like a table, read right."""
        records = self.records
        if not records:
            return 0.0
        cells = [cell for record in records for cell in record]
        stray = sum(_has_stray_quote(cell) for cell in cells) / len(cells)
        typed = [looks(value) for value, _ in cells[:: max(1, len(cells) // _MOST_CELLS)]]
        width = _OF_ONE_COLUMN if self.columns < 2 else 1 - _OF_ONE_COLUMN / self.columns
        damage = self.damaged / len(records)
        return float(
            self.consistency**2 * width * (sum(typed) / len(typed)) * (1 - stray)
            * math.exp(-2 * damage) * math.exp(-0.15 * self._first) * self._reach
        )  # fmt: skip

    @cached_property
    def damaged(self) -> int:
        """Fields that begin with a quote and are no quoted ones: more follows the closing quote, or none closes."""
        if self.quote is None:
            return 0
        quote = self.quote.encode()
        return sum(value.startswith(quote) and not quoted for record in self.records for value, quoted in record)

    def share_elsewhere(self, part: Sample, inside: bool) -> float | None:
        """Share of the records in another part of the file that have as many fields as most; ``None`` without any.

        Args:
            part: The part; its first and its last record may be cut.
            inside: Whether to take it to begin in quotes.
        """
        if inside and self.quote is None:
            return None
        text = (self.quote or "").encode() + part.text if inside else part.text
        read = self.but(sample=Sample(text, is_start=False, is_end=part.is_end), finds_table=False)
        records = read.all_records[1 : None if part.is_end else -1]
        return sum(len(record) == self.columns for record in records) / len(records) if records else None

    @property
    def is_cut(self) -> bool:
        """True if the sample ends in a long record: it may be in quotes, whose end nobody saw."""
        return not self.sample.is_end and len(self.sample.text) - self._frames.next_start > _LONGEST_RECORD

    @property
    def may_be_quoted(self) -> bool:
        """True if a quote stands in what no record holds yet, or nothing but that is there."""
        quote, rest = (self.quote or "").encode(), self.sample.text[self._frames.next_start :]
        return bool(quote) and (quote in rest or not self.records)

    @property
    def is_whole(self) -> bool:
        """True if the records are all that the file has."""
        return self.sample.is_start and self.sample.is_end and len(self._frames.starts) <= _MOST_RECORDS

    @property
    def line_count(self) -> int:
        """How many lines the file has up to the end of the sample, empty ones among them."""
        text = self.sample.text
        return self.skipped + len(LINE_END.findall(text)) + (not text.endswith((b"\n", b"\r")))

    @property
    def last_line(self) -> int:
        """How many lines of the sample are read."""
        return len(LINE_END.findall(self.sample.text, 0, self._frames.next_start))

    @property
    def _reach(self) -> float:
        """Share of the text that records cover: a quote that the file never closes swallows the rest.

        A quote that is open where a sample ends may close after it. Only of one that nobody expects is that evidence.
        """
        if len(self.contents) == _MOST_RECORDS or not self.sample.text:
            return 1.0
        left = len(self.sample.text) - self._frames.next_start
        may_close = not self.sample.is_end and (self.quote == '"' or self.quoted_values > self.damaged)
        return 1.0 if left <= _LONGEST_RECORD or may_close else 1 - left / len(self.sample.text)

    @cached_property
    def quoted_values(self) -> int:
        """How many values are quoted."""
        return sum(quoted for record in self.records for _, quoted in record)

    @cached_property
    def quoted_after_blanks(self) -> int:
        """How many values are quoted and have blanks before the quote."""
        if not self.trims:
            return 0
        plain = self.but(trims=False)
        return max(0, self.quoted_values - plain.quoted_values)

    @cached_property
    def values_over_lines(self) -> int:
        """How many values hold a line end."""
        return sum(b"\n" in value or b"\r" in value for record in self.records for value, quoted in record if quoted)


def end_of(chosen: Reading, part: Sample) -> Reading:
    """The last lines of a file, read with the same candidate: in quotes at first, where more records then fit."""
    cut = part.text[-_END_BYTES:]
    text = part.text if len(cut) == len(part.text) else cut[cut.find(b"\n") + 1 :]
    end = Sample(text, is_start=False, is_end=True)
    shares = [chosen.share_elsewhere(end, inside) or 0.0 for inside in (False, True)]
    if chosen.quote is not None and shares[1] > shares[0]:
        end = Sample(chosen.quote.encode() + text, is_start=False, is_end=True)
    return chosen.but(sample=end, skipped=0, finds_table=False)


def _filled(record: Record) -> int:
    """How many fields there are up to the last one with a value."""
    return max((number for number, (value, _) in enumerate(record, 1) if value.strip()), default=0)


_END_BYTES = 16 * 1024  # of a file, in which lines are looked for that end it
_LONGEST_RECORD = 4096  # a record that is cut at the end of a sample


def _has_stray_quote(cell: tuple[bytes, bool]) -> bool:
    value, quoted = cell
    return not quoted and len(value) > 1 and (value[:1] in b"\"'" or value[-1:] in b"\"'")


def quotes_in_quotes(samples: Sequence[Sample], sep: str, quote: str, *, trims: bool = False) -> tuple[int, int]:
    r"""How often a quote in quotes is doubled, and how often it stands after a backslash.

    Example:
        >>> quotes_in_quotes([Sample(b'a,"b ""c"" d",""\n"e \\"f\\" g",1\n', True, True)], ",", '"')
        (2, 2)
    """
    mark, edge = re.escape(quote.encode()), rb"(?:" + re.escape(sep.encode()) + rb"|[\r\n]|\Z)"
    opened = rb"(?:\A|(?<=[\r\n])|(?<=" + re.escape(sep.encode()) + rb"))"
    empty = re.compile(opened + mark + mark + rb"(?=" + edge + rb")")
    doubled = re.compile(rb"(?<!\\)" + mark + mark)
    escaped = re.compile(rb"\\" + mark + rb"(?!" + edge + rb")")
    blanks = re.compile(rb"(?<=" + re.escape(sep.encode()) + rb")[ \t]+(?=" + mark + rb")")
    texts = [blanks.sub(b"", sample.text) if trims else sample.text for sample in samples]
    texts = [empty.sub(b"", text) for text in texts]
    return sum(len(doubled.findall(text)) for text in texts), sum(len(escaped.findall(text)) for text in texts)
