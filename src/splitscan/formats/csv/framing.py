"""CSV as a record format: newlines inside quotes belong to the record."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from splitscan.engine import kernel
from splitscan.errors import InvariantError, RecordError
from splitscan.formats.csv.grammar import CsvGrammar, native_settings, split_fields
from splitscan.formats.csv.reference import UNCLOSED_QUOTE, CsvReferenceFraming, QuotedReferenceFramer
from splitscan.formats.framing.contract import Need, Preamble, Splittability
from splitscan.formats.framing.encodings import CR, LF, MAX_BOM_BYTES, Encoding, bom_matters, detect_bom
from splitscan.formats.framing.frames import (
    Buffer,
    CountedRecords,
    Frames,
    NativeFraming,
    Offsets,
    Summary,
    native,
)
from splitscan.formats.text.lines import DelimitedFormat, LineFormat

_HEADER_BYTES = 1 << 12  # most headers, and the record after, end within these; a multiple of every unit
_BLANKS = bytes(range(0x21))


@dataclass(frozen=True)
class QuotedFormat:
    """Records are CSV rows.

    With ``dialect.multi_line`` a file is split through a boundary index (it is a context format); without it,
    or without a quote character, every terminator ends a record and blocks find their start by themselves.

    Args:
        dialect: The grammar.
        header: Whether the first record names the columns.
        skip_lines: How many physical lines to skip at the head of each file, before the header.
        trim_trailing: Whether white space after unquoted names of the header is dropped; before them it is with
            ``dialect.trim_leading``.

    Thread safety: immutable.
    Pickling: plain values only.
    """

    name = "csv"

    dialect: CsvGrammar
    header: bool = False
    skip_lines: int = 0
    trim_trailing: bool = False

    @property
    def encoding(self) -> Encoding:
        return self.dialect.encoding

    @property
    def splittability(self) -> Splittability:
        """Context when quotes may hide terminators, else local."""
        hides = self.dialect.multi_line and self.dialect.quote is not None
        return Splittability.CONTEXT if hides else Splittability.LOCAL

    @property
    def unit_bytes(self) -> int:
        return self.dialect.encoding.unit_bytes

    def needs_head(self, start: int) -> bool:
        return self.header or self.skip_lines > 0 or bom_matters(self.dialect.encoding, start)

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Skip byte order mark and lines, read the header.

        Raises:
            RecordError: If the header's quotes never close.
        """
        if len(head) < MAX_BOM_BYTES and not at_end:
            return Need.AFTER
        encoding, start = detect_bom(head, self.dialect.encoding)
        resolved = self.in_encoding(encoding)
        for _ in range(self.skip_lines):
            step = resolved.resume_after(head[start:], at_end=at_end)
            if step is None:
                return Need.AFTER
            start += step
        if not self.header:
            return Preamble(start, resolved)
        return resolved._read_header(head, start, at_end=at_end)  # noqa: SLF001 - another instance of this class

    def in_encoding(self, encoding: Encoding) -> QuotedFormat:
        """This format for a file in *encoding*; itself, with all that it remembers, where that is its own."""
        if encoding is self.dialect.encoding:
            return self
        return replace(self, dialect=replace(self.dialect, encoding=encoding))

    def _read_header(self, head: bytes, start: int, *, at_end: bool) -> Preamble | Need:
        frames = self.frame(head[start : start + _HEADER_BYTES], at_end=False)
        if len(frames) < 2:  # the header, and the record that ends the gap after it
            frames = self.frame(head[start:], at_end=at_end)
        if not len(frames):
            if at_end and frames.next_start < len(head) - start:
                fix = "check options quote and escape, or set header=false"
                raise RecordError("the header's quotes never close", fix=fix, code="bad-header")
            return Preamble(len(head), self, ()) if at_end else Need.AFTER
        content = head[start + int(frames.starts[0]) : start + int(frames.stops[0])]
        following = int(frames.starts[1]) if len(frames) > 1 else frames.next_start
        return Preamble(start + following, self, self.names(bytes(content)), bytes(content))

    def names(self, record: bytes) -> tuple[str, ...]:
        """The fields of a record as names of columns."""
        text = self.dialect.encoding.text(record).encode("utf-8")
        return tuple(self._column_name(*field) for field in split_fields(text, self.dialect.in_utf8))

    def _column_name(self, value: bytes, quoted: bool) -> str:
        if not quoted:
            value = value.lstrip(_BLANKS) if self.dialect.trim_leading else value
            value = value.rstrip(_BLANKS) if self.trim_trailing else value
        return value.decode("utf-8")

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        return framing_of(self.dialect).frame(data, at_end=at_end)

    def count(self, data: Buffer) -> CountedRecords:
        return framing_of(self.dialect).count(data)

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        """Length of the blank lines and comments at the front of *data*."""
        lines, blanks, comment, marks = self._gaps
        text = self._lines.text_of(data)
        stop = lines.match(text).end()
        rest = blanks.match(text, stop).end()
        if rest == len(text) or comment.match(text, rest):
            return len(data) if at_end else Need.AFTER
        if not at_end and any(mark.startswith(_as_text(text[rest:])) for mark in marks if len(text) - rest < len(mark)):
            return Need.AFTER
        return int(stop) * self.unit_bytes

    @cached_property
    def _gaps(self) -> tuple[Any, Any, Any, list[Any]]:
        """Patterns of lines that are no records, of blanks before a record, and of a comment; what may be cut off."""
        dialect = self.dialect
        as_written: Any = str.encode if self.unit_bytes == 1 else str
        encode, written = self.encoding.encode, self._lines.text_of
        marks = [written(encode(mark)) for mark in (dialect.line_sep, dialect.comment) if mark is not None]
        end = as_written(r"(?:\r\n|\r|\n)") if dialect.line_sep is None else re.escape(marks[0])
        comment = as_written("(?!)") if dialect.comment is None else re.escape(marks[-1])
        blanks = as_written(r"[ \t]*+" if dialect.runs else "")
        other = as_written("(?:(?!") + end + as_written(r")[\s\S])*+")
        line = blanks + as_written("(?:") + comment + other + as_written(")?+") + end
        patterns = (as_written("(?:") + line + as_written(")*+"), blanks, comment)
        found, before, begins = map(re.compile, patterns)
        return found, before, begins, marks

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        return self._lines.first_start(before, after, at_start=at_start, at_end=at_end)

    @cached_property
    def _lines(self) -> LineFormat | DelimitedFormat:
        if self.dialect.line_sep is None:
            return LineFormat(self.dialect.encoding)
        return DelimitedFormat(self.dialect.encoding.encode(self.dialect.line_sep), self.dialect.encoding)

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets | None:
        """At every line whose quotes do not close in *data*, or too late; only with ``multi_line``."""
        return framing_of(self.dialect).open_starts(data, longest_bytes)

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """After the first physical line: whatever its quotes say, the next line gets a chance."""
        return self._lines.resume_after(data, at_end=at_end)

    def droppable(self, data: Buffer) -> int:
        """All that cannot be part of the terminator."""
        return self._lines.droppable(data)

    def reference_framer(self) -> QuotedReferenceFramer:
        return QuotedReferenceFramer(self.dialect)

    # ---------------------------------------------------------------- context

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        """The first position whose preceding unit is an ordinary one."""
        here = len(before) // self.unit_bytes
        text = self._lines.text_of(before[len(before) % self.unit_bytes :] + after)
        found = self._safe_unit.search(text, max(here - 1, 0))
        return Need.AFTER if found is None else (int(found.start()) - here + 1) * self.unit_bytes

    @cached_property
    def _safe_unit(self) -> re.Pattern[Any]:
        """Pattern of a unit that no mark has a part of, nor anything that hides one."""
        dialect = self.dialect
        unsafe = {CR, dialect.quote_unit, dialect.escape_unit, dialect.escape_escape_unit}
        line_sep = dialect.line_sep_units or (LF,)
        for symbols in (dialect.sep_units, line_sep, *map(self.encoding.units, dialect.long_marks)):
            if len(symbols) > 1:
                unsafe.update(symbols)
        if dialect.comment_unit is not None:
            unsafe.update(line_sep)  # right after a terminator a comment may begin
        most = 0xFF if self.unit_bytes == 1 else sys.maxunicode  # a mark of several units is more than any is
        marks = "".join(chr(unit) for unit in unsafe if unit is not None and unit <= most)
        pattern = rf"[^{re.escape(marks)}]"
        return re.compile(pattern.encode("latin-1") if self.unit_bytes == 1 else pattern)

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        return framing_of(self.dialect).summarise(data, before, after, mark)

    def last_split_point(self, data: bytes) -> int | None:
        """The end of the last line that ends outside quotes, however it begins."""
        return framing_of(self.dialect).last_split_point(data)

    def state_after(self, data: Buffer) -> int:
        run = self.summarise(data, b"", b"", 0).run(0)
        if run is None:
            raise InvariantError("the state after bytes that begin at a record start is known", seen=self.name)
        return run.state


def _as_text(rest: Any) -> Any:
    return rest if isinstance(rest, str) else bytes(rest)


def framing_of(dialect: CsvGrammar) -> NativeFraming | CsvReferenceFraming:
    """Finder of the records of a dialect: the kernel where it is installed and knows it, else the reference."""
    return CsvReferenceFraming(dialect) if kernel() is None else _native_framing(dialect)


@lru_cache(maxsize=64)
def _native_framing(dialect: CsvGrammar) -> NativeFraming | CsvReferenceFraming:
    csv = native("Csv", **native_settings(dialect))
    return CsvReferenceFraming(dialect) if csv is None else NativeFraming(csv, UNCLOSED_QUOTE)
