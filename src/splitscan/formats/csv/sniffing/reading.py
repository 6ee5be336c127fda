"""Samples read with one candidate, by the grammar: records, fields, faults, and whether the first names columns."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import Dialect as Grammar
from splitscan.formats.csv.grammar import split_fields
from splitscan.formats.csv.sniffing.found import Confidence, Setting
from splitscan.formats.framing.encodings import UTF_8

Record = list[tuple[bytes, bool]]
"""The fields of a record: value, and whether it was quoted."""

_MOST_RECORDS = 3000  # of one sample
_MOST_CELLS = 4000  # that are looked at for their type
_MOST_PREAMBLE = 30  # records before the first one of the table
_LEAST_TABLE = 3  # records after a preamble: fewer are no reason to pass over lines
_RARE = 20  # one in so many
_BLANKS = b" \t"
_OF_ONE_COLUMN = 0.35
_TYPED, _WORD, _EMPTY, _OTHER = 1.0, 0.75, 0.6, 0.35

_NUMBER = rb"[+-]?(?:[$\xc2\xa3\xe2\x82\xac]{0,3} ?)?(?:\d+|\d{1,3}(?:[,.' ]\d{3})+)(?:[.,]\d+)?(?:[eE][+-]?\d+)? ?%?"
_DATE = rb"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[-/ ][A-Za-z]{3}[-/ ]\d{2,4}"
_TIME = rb"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?:Z| ?[+-]\d{2}:?\d{2})?"
_VALUE = re.compile(
    rb"\s*(?:" + _NUMBER + rb"|(?:" + _DATE + rb")(?:[T ]+" + _TIME + rb")?|" + _TIME +
    rb"|(?i:true|false|yes|no|nan|inf|-inf|null|none|n/a|na)|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    rb"|[\w.+-]+@[\w-]+\.[\w.-]+|https?://\S+|\d{1,3}(?:\.\d{1,3}){3})\s*"
)  # fmt: skip
_CLEAN = re.compile(rb"[\w\x80-\xff][\w\x80-\xff .\-'/()&+:#]*")


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


class Reading:
    """The beginning of a file, read with one candidate.

    Args:
        sample: The beginning.
        sep: Separator.
        quote: Quote, or ``None``.
        escape: Escape in quotes, or ``None``.
        comment: What comments begin with, where the user says so.
        trims: Whether blanks before values are no part of them.
    """

    def __init__(
        self,
        sample: Sample,
        sep: str,
        quote: str | None,
        escape: str | None,
        comment: str | None = None,
        *,
        trims: bool = False,
    ) -> None:
        self.sample, self.sep, self.quote, self.escape, self.trims = sample, sep, quote, escape, trims
        self.grammar = Grammar(UTF_8, sep, quote, escape, comment, multi_line=quote is not None, trim_leading=trims)
        self._frames = QuotedFormat(self.grammar).frame(sample.text, at_end=sample.is_end)

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
        return [[(value if quoted else value.lstrip(_BLANKS), quoted) for value, quoted in each] for each in records]

    def of(self, sample: Sample) -> Reading:
        """Another sample, read with the same candidate."""
        return Reading(sample, self.sep, self.quote, self.escape, self.grammar.comment, trims=self.trims)

    @cached_property
    def comment(self) -> str | None:
        """``#`` where lines that begin with it lie among records of another width; what the user said."""
        if self.grammar.comment is not None:
            return self.grammar.comment
        odd = [number for number, record in enumerate(self.all_records) if len(record) != self._common_width]
        marked = [number for number in odd if self.contents[number].startswith(b"#")]
        return "#" if marked and not any(self._is_hash_data(number) for number in range(len(self.contents))) else None

    def _is_hash_data(self, number: int) -> bool:
        return self.contents[number].startswith(b"#") and len(self.all_records[number]) == self._common_width

    @cached_property
    def _common_width(self) -> int:
        """The number of fields that most records have; of the second half, where a preamble has no say."""
        widths = Counter(len(record) for record in self.all_records[len(self.all_records) // 2 :])
        return max(widths, key=lambda width: (widths[width], width)) if widths else 0

    @cached_property
    def _kept(self) -> list[int]:
        """Numbers of the records that are no comments."""
        mark = None if self.comment is None else self.comment.encode()
        return [n for n, content in enumerate(self.contents) if mark is None or not content.startswith(mark)]

    @cached_property
    def _first(self) -> int:
        """The place in ``_kept`` of the first record of the table."""
        widths = [len(self.all_records[number]) for number in self._kept]
        first = next((n for n, width in enumerate(widths[:_MOST_PREAMBLE]) if width == self._common_width), 0)
        is_preamble = all(self._is_short(width) for width in widths[:first])  # and no record with fields missing
        first = self._after_padded(first) if is_preamble else 0
        return first if len(widths) - first >= max(_LEAST_TABLE, first) else 0

    def _is_short(self, width: int) -> bool:
        return 2 * width <= self._common_width

    def _after_padded(self, first: int) -> int:
        """The place of the table where its program filled the lines before it up to the table's width.

        Such a line has values in the first half of its columns only. It is taken for one where a header follows that
        names all columns, and records like it are rare in the table.
        """
        records = [self.all_records[number] for number in self._kept[first : first + _MOST_BELOW]]
        short = [self._is_short(_filled(record)) for record in records]
        padded = short.index(False) if False in short else 0
        if not padded or padded > _MOST_PREAMBLE or sum(short[padded:]) * _RARE > len(records):
            return first
        names = [value for value, _ in records[padded]]
        return first + padded if all(names) and find_header(records[padded:]).value else first

    @property
    def records(self) -> list[Record]:
        """The records of the table."""
        return [self.all_records[number] for number in self._kept[self._first :]]

    @property
    def skip_rows(self) -> int:
        """Lines before the table."""
        if not self._first:
            return 0
        start = int(self._frames.starts[self._kept[self._first]])
        return len(re.findall(rb"\r\n|\n|\r", self.sample.text[:start]))

    @property
    def columns(self) -> int:
        """Fields of most records."""
        return self._common_width

    @cached_property
    def consistency(self) -> float:
        """Share of the table's records that have that many fields."""
        records = self.records
        return sum(len(record) == self._common_width for record in records) / len(records) if records else 0.0

    @cached_property
    def score(self) -> float:
        """From 0 to 1: how much this looks like a table, read right."""
        records = self.records
        if not records:
            return 0.0
        cells = [cell for record in records for cell in record]
        stray = sum(_has_stray_quote(cell) for cell in cells) / len(cells)
        typed = [_looks(value) for value, _ in cells[:: max(1, len(cells) // _MOST_CELLS)]]
        width = _OF_ONE_COLUMN if self._common_width < 2 else 1 - _OF_ONE_COLUMN / self._common_width
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
        read = self.of(Sample(text, is_start=False, is_end=part.is_end))
        records = read.all_records[1 : None if part.is_end else -1]
        return sum(len(record) == self.columns for record in records) / len(records) if records else None

    @property
    def _reach(self) -> float:
        """Share of the sample that records cover: a quote that never closes swallows the rest."""
        if len(self.contents) == _MOST_RECORDS or not self.sample.text:
            return 1.0
        left = len(self.sample.text) - self._frames.next_start
        return 1.0 if left <= _LONGEST_RECORD else 1 - left / len(self.sample.text)

    @cached_property
    def quoted_values(self) -> int:
        """How many values are quoted."""
        return sum(quoted for record in self.records for _, quoted in record)

    @cached_property
    def quoted_after_blanks(self) -> int:
        """How many values are quoted and have blanks before the quote."""
        if not self.trims:
            return 0
        plain = Reading(self.sample, self.sep, self.quote, self.escape, self.grammar.comment)
        return max(0, self.quoted_values - plain.quoted_values)

    @cached_property
    def values_over_lines(self) -> int:
        """How many values hold a line end."""
        return sum(b"\n" in value or b"\r" in value for record in self.records for value, quoted in record if quoted)


def _filled(record: Record) -> int:
    """How many fields there are up to the last one with a value."""
    return max((number for number, (value, _) in enumerate(record, 1) if value.strip()), default=0)


_LONGEST_RECORD = 4096  # a record that is cut at the end of a sample


def _has_stray_quote(cell: tuple[bytes, bool]) -> bool:
    value, quoted = cell
    return not quoted and len(value) > 1 and (value[:1] in b"\"'" or value[-1:] in b"\"'")


def _looks(value: bytes) -> float:
    """How much a value looks like a value: a number or date, a word, nothing, or a heap of characters."""
    if not value:
        return _EMPTY
    if _VALUE.fullmatch(value):
        return _TYPED
    return _WORD if _CLEAN.fullmatch(value) else _OTHER


def is_typed(value: bytes) -> bool:
    """Whether a value is a number, a date, a time, or another one that no header has."""
    return _VALUE.fullmatch(value) is not None


def quotes_in_quotes(samples: Sequence[Sample], sep: str, quote: str, *, trims: bool = False) -> tuple[int, int]:
    r"""How often a quote in quotes is doubled, and how often it stands after a backslash.

    Args:
        samples: Parts of a file.
        sep: Separator.
        quote: Quote.
        trims: Whether a quote that begins a value may stand after blanks.

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


_MOST_BELOW = 500
_TYPED_SHARE = 0.9
_NAME = re.compile(rb"[A-Za-z_\x80-\xff#][\w\x80-\xff .\-/()%#$&:?]*")
_LEAST_RECORDS = 3  # below a header, for values to repeat in


def find_header(records: Sequence[Record]) -> Setting:
    """Whether the first of the records is a header.

    Args:
        records: Of a table, from its first one on.
    """
    if not records:
        return Setting(False, Confidence.ASSUMED, "there is no record")
    first, body = [value for value, _ in records[0]], records[1 : _MOST_BELOW + 1]
    if not body:
        return _of_one_record(first)
    columns = [[record[i][0] for record in body if i < len(record) and record[i][0]] for i in range(len(first))]
    typed = [i for i, values in enumerate(columns) if values and _typed_share(values) >= _TYPED_SHARE]
    contrast = [i for i in typed if first[i].strip() and not is_typed(first[i])]
    same = [i for i in typed if is_typed(first[i])]
    if contrast and not same:
        return Setting(
            True, Confidence.CERTAIN, f"{_columns(contrast)} of typed values begin{_s(contrast)} with a text"
        )
    if contrast:
        doubt = f"{_columns(contrast)} of typed values begin{_s(contrast)} with a text, {_columns(same)} with a value"
        return Setting(len(contrast) > len(same), Confidence.UNSURE, doubt)
    if same:
        return Setting(False, Confidence.CERTAIN, f"the first record is like those below it in {_columns(same)}")
    return _of_texts(first, columns)


def _typed_share(values: Sequence[bytes]) -> float:
    return sum(map(is_typed, values)) / len(values)


def _of_one_record(first: Sequence[bytes]) -> Setting:
    if any(is_typed(value) for value in first if value):
        return Setting(False, Confidence.LIKELY, "the only record has typed values")
    return Setting(False, Confidence.UNSURE, "there is one record, and all of it is text")


def _of_texts(first: Sequence[bytes], columns: Sequence[Sequence[bytes]]) -> Setting:
    """Nothing is typed: values that repeat below, but never as in the first record, speak for a header."""
    if any(is_typed(value) for value in first if value):
        return Setting(False, Confidence.LIKELY, "the first record has a typed value, and no column is of typed values")
    if len({value.lower() for value in first}) < len(first) or not all(_NAME.fullmatch(value) for value in first):
        return Setting(False, Confidence.LIKELY, "the first record is no list of different names")
    met = [i for i, values in enumerate(columns) if first[i] in values]
    if met:
        return Setting(False, Confidence.LIKELY, f"the first value of {_columns(met)} comes again below")
    full = [i for i, values in enumerate(columns) if len(values) >= _LEAST_RECORDS]
    repeats = [i for i in full if len(set(columns[i])) < len(columns[i])]
    if repeats:
        return Setting(True, Confidence.LIKELY, f"values repeat in {_columns(repeats)}, but never the first one")
    even = [i for i in full if len({*map(len, columns[i])}) == 1 and len(columns[i][0]) != len(first[i])]
    if even:
        return Setting(True, Confidence.LIKELY, f"values of {_columns(even)} are of one length, the first is not")
    return Setting(False, Confidence.UNSURE, "all values are texts, and none tells the first record from the others")


def _columns(indexes: Sequence[int]) -> str:
    shown = ", ".join(str(i + 1) for i in indexes[:3]) + (", ..." if len(indexes) > 3 else "")
    return f"column{'s' if len(indexes) > 1 else ''} {shown}"


def _s(indexes: Sequence[int]) -> str:
    return "" if len(indexes) > 1 else "s"
