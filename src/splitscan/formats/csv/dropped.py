"""Lines that options drop which were found in samples of the files, and records that no sample has shown to be any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import native_settings
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.framing.encodings import detect_bom
from splitscan.formats.framing.frames import Buffer, as_bytes, native

COMMENT_RECORD = "comment-record"
SKIPPED_RECORD = "skipped-record"
HEADER_RECORD = "header-record"

_LEAST_FIELDS = 2  # any line has one
_SOME_RECORDS = 32  # that are compared with the first one
_BLANKS = " \t"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DIGITS = frozenset("0123456789")
_OF_VALUES = _DIGITS.union("+-.,:/ %TZeE")
_NO_VALUES = frozenset(
    ["na", "n/a", "nan", "nil", "none", "null", "missing", "unknown", "inf", "infinity", "undefined"]
)  # words that stand for a value


@dataclass(frozen=True, slots=True)
class DroppedRows:
    """Tells which of the lines that are dropped look like records: these have as many fields, and values that fit.

    Args:
        format: Of the file.
        comment: Whether its comments are looked at.
        header: Whether a header is looked at that nobody compares with the schema.
        first: Whether first records are looked at, that samples have not shown to be headers.
        skipped: How many lines are skipped at the head of a file, if those are looked at.
        fits: Whether a line is one record whose values fit their columns.
    """

    format: QuotedFormat
    comment: bool
    header: bool
    first: bool
    skipped: int
    fits: Callable[[bytes], bool]

    def before(self, head: bytes, preamble: Preamble, *, at_end: bool) -> Iterator[tuple[str, int]]:
        """Code and place of lines before the first record, of the first bytes of a file."""
        _, position = detect_bom(head, self.format.encoding)
        before, rest = head[: preamble.data_start], head[preamble.data_start :]
        if preamble.header is None:
            frames = self.format.frame(rest, at_end=at_end)
            first = rest[int(frames.starts[0]) : int(frames.stops[0])] if len(frames) else None
            width = 0 if first is None else len(self.format.names(first))
        else:
            width = len(preamble.header)
        for _ in range(self.skipped or self.format.skip_lines):
            step = self.format.resume_after(before[position:], at_end=True)
            if not step:
                return
            line = before[position : position + step]
            is_record = self.skipped and (preamble.header is not None or self.fits(line))
            if is_record and self._has_fields(line, width):
                yield SKIPPED_RECORD, position
            position += step
        frames = self.format.frame(before[position:], at_end=True)
        if preamble.header is None or not len(frames):
            return
        start, stop = position + int(frames.starts[0]), position + int(frames.stops[0])
        if self.header and any(map(_is_value, preamble.header)) and self.fits(before[start:stop]):
            yield SKIPPED_RECORD, start
        if self.comment:
            yield from self._comments(before[stop:], stop, width)

    def begins_with_header(self, data: bytes, *, at_end: bool) -> str | None:
        """Code of the first record of a file, if it looks like a header; *data* begins with it."""
        if not self.first:
            return None
        frames = self.format.frame(data, at_end=at_end)
        ends = zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)
        records = [self.format.names(data[start:stop]) for start, stop in islice(ends, 1 + _SOME_RECORDS)]
        return HEADER_RECORD if records and _names_columns(records[0], records[1:]) else None

    def between(self, record: bytes, gap: bytes, offset: int) -> Iterator[tuple[str, int]]:
        """Code and place of lines after a record; *gap* begins at *offset* with what ends it."""
        if self.comment and len(gap) > 2 * self.format.unit_bytes:
            yield from self._comments(gap, offset, len(self.format.names(record)))

    def _comments(self, gap: bytes, offset: int, width: int) -> Iterator[tuple[str, int]]:
        unit, sign = self.format.unit_bytes, self.format.encoding.encode(self.format.dialect.comment or "")
        position = 0
        while position < len(gap):
            rest = gap[position:]
            step = self.format.resume_after(rest, at_end=True) or len(rest)
            mark = next((at for at in range(0, step, unit) if rest.startswith(sign, at, step)), -1)
            content = rest[mark + len(sign) : step]
            if mark >= 0 and self._has_fields(content, width) and self.fits(content):
                yield COMMENT_RECORD, offset + position + mark
            position += step

    def _has_fields(self, line: bytes, width: int) -> bool:
        frames = self.format.frame(line, at_end=True)
        if width < _LEAST_FIELDS or len(frames) != 1:
            return False
        return len(self.format.names(line[int(frames.starts[0]) : int(frames.stops[0])])) == width


@dataclass(frozen=True)
class CsvHeader:
    """The header of a file, which may come again with other quotes and blanks around its names.

    Args:
        format: Of the file.
        record: The header as it is written.
    """

    format: QuotedFormat
    record: bytes

    @cached_property
    def _around(self) -> bytes:
        """Bytes that names may stand between."""
        dialect = self.format.dialect
        marks = "".join(filter(None, (dialect.quote, dialect.escape, dialect.escape_escape)))
        return dialect.encoding.encode(marks) + b" \t\0"

    @cached_property
    def _bare(self) -> bytes:
        return self.record.translate(None, self._around)

    @cached_property
    def _names(self) -> list[str]:
        return [name.strip(_BLANKS) for name in self.format.names(self.record)]

    @property
    def least_bytes(self) -> int:
        return max(1, len(self._bare))

    @property
    def firsts(self) -> list[int]:
        return [*self._bare[:1], *self._around, _BYTE_ORDER_MARK[0]]

    @property
    def lasts(self) -> list[int]:
        return [*self._bare[-1:], *self._around]

    def is_again(self, record: bytes) -> bool:
        record = record.removeprefix(_BYTE_ORDER_MARK)
        if len(record) < self.least_bytes or record.translate(None, self._around) != self._bare:
            return False
        return record == self.record or [name.strip(_BLANKS) for name in self.format.names(record)] == self._names


@dataclass(frozen=True, slots=True)
class CsvSuspects:
    """Tells bytes that may hold what is odd; without the kernel, all may.

    Args:
        format: Of the file.
        header: The header as it is written, where there is one.
        comments: Whether comments are looked at.
    """

    format: QuotedFormat
    header: bytes | None
    comments: bool

    def may_be_in(self, data: Buffer) -> bool:
        csv = native("Csv", **native_settings(self.format.dialect))
        return csv is None or bool(csv.may_be_odd(*as_bytes(data), self.header, self.comments))


def _names_columns(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """True if each field of a first record is another name, and a column has numbers or dates below."""
    names = {_folded(name) for name in first}
    return (
        len(names) == len(first)
        and all(map(_is_name, first))
        and any(
            (below := [record[i] for record in others if i < len(record) and record[i].strip(_BLANKS)])
            and all(map(_is_value, below))
            for i in range(len(first))
        )
    )


def _folded(text: str) -> str:
    """The text without blanks around it, its ASCII letters small."""
    return "".join(c.lower() if c.isascii() else c for c in text.strip(_BLANKS))


def _is_name(text: str) -> bool:
    """True if a text may name a column: it has a letter, and is no number, date, or word for a value."""
    return any(c.isalpha() or not c.isascii() for c in text) and not _is_value(text) and _folded(text) not in _NO_VALUES


def _is_value(text: str) -> bool:
    """True if a text is written like a number, a date or a time."""
    text = text.strip(_BLANKS)
    return text[:1] in {*_DIGITS, *"+-."} and not _DIGITS.isdisjoint(text) and _OF_VALUES.issuperset(text)
