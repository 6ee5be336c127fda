"""CSV as a record format: newlines inside quotes belong to the record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from splitscan.errors import RecordError, quote_bytes
from splitscan.framing.contract import Need, Preamble, Splittability
from splitscan.framing.delimited import DelimitedFormat
from splitscan.framing.encodings import CR, LF, MAX_BOM_BYTES, Encoding, bom_matters, detect_bom
from splitscan.framing.frames import Buffer, Counted, Frames, Offsets, Units, as_units
from splitscan.framing.lines import LineFormat
from splitscan.framing.quoted.bits import applies, counts_lines, is_edge, scan_bits, scan_lines
from splitscan.framing.quoted.dialect import Dialect
from splitscan.framing.quoted.exact import ends_inside_quotes, frame_exactly, split_fields
from splitscan.framing.quoted.fast import Scan, find_terminators, scan
from splitscan.framing.quoted.native import native_framing
from splitscan.framing.quoted.reference import QuotedReferenceFramer
from splitscan.framing.quoted.split_points import last_split_point
from splitscan.framing.summaries import Run, Summary

OUTSIDE, INSIDE, COMMENT = range(3)  # the states that a summary knows
_NEAR_UNITS = 64  # a safe cut is nearly always within these
_COMMENT_UNITS = 1 << 12  # most comments end within these
_MOST_BLANK_UNITS = 1 << 20  # blank lines are looked at in stretches that grow up to this
_BLANKS = bytes(range(0x21))
_EXACT_BYTES = 64 * 1024  # how far the exact framer goes before parity is tried again


@dataclass(frozen=True)
class QuotedFormat:
    """Records are CSV rows.

    With ``dialect.multi_line`` a file is split through a boundary index (it implements ``ContextFormat``); without it,
    or without a quote character, every terminator ends a record and blocks find their start by themselves.

    Args:
        dialect: The grammar.
        header: Whether the first record names the columns.
        skip_lines: How many physical lines to skip at the head of each file, before the header.
        trim_trailing: Whether white space behind unquoted names of the header is dropped; before them it is with
            ``dialect.trim_leading``.

    Thread safety: immutable.
    Pickling: plain values only.
    """

    dialect: Dialect
    header: bool = False
    skip_lines: int = 0
    trim_trailing: bool = False

    @property
    def name(self) -> str:
        """Short name for messages."""
        return "csv"

    @property
    def splittability(self) -> Splittability:
        """Context when quotes may hide terminators, else local."""
        hides = self.dialect.multi_line and self.dialect.quote is not None
        return Splittability.CONTEXT if hides else Splittability.LOCAL

    @property
    def unit_bytes(self) -> int:
        """Bytes per code unit."""
        return self.dialect.encoding.unit_bytes

    def needs_head(self, start: int) -> bool:
        """Whether header, skipped lines or a byte order mark matter to a block that starts at *start*."""
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
        frames = self.frame(head[start:], at_end=at_end)
        if not len(frames):
            if at_end and frames.next_start < len(head) - start:
                raise RecordError("the header's quotes never close", seen=quote_bytes(head[start:]), code="bad-header")
            return Preamble(len(head), self, ()) if at_end else Need.AFTER
        content = head[start + int(frames.starts[0]) : start + int(frames.stops[0])]
        text = self.dialect.encoding.text(bytes(content)).encode("utf-8")
        names = tuple(self._column_name(*field) for field in split_fields(text, self.dialect.in_utf8))
        following = int(frames.starts[1]) if len(frames) > 1 else frames.next_start
        return Preamble(start + following, self, names)

    def _column_name(self, value: bytes, quoted: bool) -> str:
        if not quoted:
            value = value.lstrip(_BLANKS) if self.dialect.trim_leading else value
            value = value.rstrip(_BLANKS) if self.trim_trailing else value
        return value.decode("utf-8")

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Find complete records: all in the kernel; else up to the first stray quote, and from there one by one."""
        native = native_framing(self.dialect)
        if native is not None:
            return native.frame(data, at_end=at_end)
        if not len(data):
            return Frames(np.empty(0, np.int64), np.empty(0, np.int64), 0)
        units = self._units(data)
        found = scan(units, 0, len(units), self.dialect, inside=False, at_start=True, at_end=at_end)
        stops, nexts = found.stops, found.nexts
        if found.bad is not None:
            good = int(np.searchsorted(nexts, found.bad, side="right"))
            if good == 0:
                return frame_exactly(data, self.dialect, at_end=at_end, enough_bytes=_EXACT_BYTES)
            stops, nexts = stops[:good], nexts[:good]
        next_start = int(nexts[-1]) if len(nexts) else 0
        starts = np.empty(len(nexts), dtype=np.int64)
        if len(nexts):
            starts[0] = 0
            starts[1:] = nexts[:-1]
        if at_end and found.bad is None and not found.inside and next_start < len(units):
            starts = np.append(starts, next_start)
            stops = np.append(stops, len(units))
            next_start = len(units)
        starts, stops = self._drop_gaps(units, starts, stops)
        width = self.unit_bytes
        at_tail = at_end and next_start == len(units)
        return Frames(starts * width, stops * width, len(data) if at_tail else next_start * width)

    def count(self, data: Buffer) -> Counted | None:
        """Count complete records: in the kernel; else lines, or where quotes may hide terminators, by quote parity."""
        native = native_framing(self.dialect)
        if native is not None:
            return native.count(data)
        if self.splittability is Splittability.CONTEXT:
            return self.count_regular(data)
        if not len(data) or not counts_lines(self.dialect):
            return None
        return scan_lines(self._units(data), self.dialect, at_end=False).count()

    def count_regular(self, data: Buffer) -> Counted | None:
        """Count complete records by quote parity, if all quotes are structural; the kernel needs no such help."""
        if native_framing(self.dialect) is not None or not len(data) or not applies(self.dialect):
            return None
        bits = scan_bits(self._units(data), self.dialect, first_opens=True, last_closes=True, at_end=False)
        if bits is None or not (self.dialect.multi_line or not bits.hides_terminators):
            return None
        return bits.count()

    def _drop_gaps(self, units: Units, starts: Offsets, stops: Offsets) -> tuple[Offsets, Offsets]:
        keep = stops > starts
        comment = self.dialect.comment_unit
        if comment is not None and len(starts):
            keep &= units[np.minimum(starts, len(units) - 1)] != comment
        return (starts, stops) if keep.all() else (starts[keep], stops[keep])

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        """Length of the blank lines and comments at the front of *data*."""
        units = self._units(data)
        position = 0
        while True:
            position += self._blank_units(units[position:])
            rest = units[position:]
            if not len(rest):
                return len(data) if at_end else Need.AFTER
            if rest[0] != self.dialect.comment_unit:
                cut = (
                    not at_end
                    and 0 < len(rest) < len(self._line_sep)
                    and bool((rest == self._line_sep[: len(rest)]).all())
                )
                return Need.AFTER if cut else position * self.unit_bytes
            line = self._line(rest[:_COMMENT_UNITS], at_end=at_end and len(rest) <= _COMMENT_UNITS)
            if line is None:
                line = self._line(rest, at_end=at_end)
            if line is None:
                return len(data) if at_end else Need.AFTER
            position += line[1]

    def _blank_units(self, units: Units) -> int:
        """How many units at the front are terminators."""
        width = len(self._line_sep)
        position, step = 0, width
        while room := min(step, (len(units) - position) // width * width):
            lines = units[position : position + room]
            if self.dialect.line_sep_units is None:
                blank = (lines == LF) | (lines == CR)
            else:
                blank = (lines.reshape(-1, width) == self._line_sep).all(axis=1)
            if not blank.all():
                return position + int(np.argmin(blank)) * width
            position += room
            step = min(2 * step, _MOST_BLANK_UNITS // width * width)
        return position

    @cached_property
    def _line_sep(self) -> Units:
        return np.array(self.dialect.line_sep_units or (LF,), dtype=np.int64)

    def _line(self, units: Units, *, at_end: bool) -> tuple[int, int] | None:
        begins, nexts = find_terminators(units, self.dialect, at_end)
        return (int(begins[0]), int(nexts[0])) if len(begins) else None

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        """Find the first line start; only without ``multi_line`` is that a record start."""
        return self._lines.first_start(before, after, at_start=at_start, at_end=at_end)

    @cached_property
    def _lines(self) -> LineFormat | DelimitedFormat:
        if self.dialect.line_sep is None:
            return LineFormat(self.dialect.encoding)
        return DelimitedFormat(self.dialect.encoding.encode(self.dialect.line_sep), self.dialect.encoding)

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """Behind the first physical line: whatever its quotes say, the next line gets a chance."""
        return self._lines.resume_after(data, at_end=at_end)

    def droppable(self, data: Buffer) -> int:
        """All that cannot be part of the terminator."""
        return self._lines.droppable(data)

    def reference_framer(self) -> QuotedReferenceFramer:
        """A new byte-at-a-time framer for the same records."""
        return QuotedReferenceFramer(self.dialect)

    # ---------------------------------------------------------------- context

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        """The first position whose preceding unit is an ordinary one."""
        units = self._units(before[len(before) % self.unit_bytes :] + after)
        here = len(before) // self.unit_bytes
        candidates = units[here - 1 :] if here else units
        skipped = 0 if here else 1
        for near, unit in enumerate(candidates[:_NEAR_UNITS].tolist()):
            if unit not in self._unsafe_units:
                return (near + skipped) * self.unit_bytes
        safe = np.flatnonzero(~np.isin(candidates[_NEAR_UNITS:], list(self._unsafe_units)))
        if len(safe):
            return (_NEAR_UNITS + int(safe[0]) + skipped) * self.unit_bytes
        return Need.AFTER

    @cached_property
    def _unsafe_units(self) -> frozenset[int]:
        dialect = self.dialect
        unsafe = {CR, dialect.quote_unit, dialect.escape_unit}
        line_sep = dialect.line_sep_units or (LF,)
        for symbols in (dialect.sep_units, line_sep):
            if len(symbols) > 1:
                unsafe.update(symbols)
        if dialect.comment_unit is not None:
            unsafe.update(line_sep)  # right behind a terminator a comment may begin
        return frozenset(u for u in unsafe if u is not None)

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Count quotes under each assumption about the state at the start."""
        native = native_framing(self.dialect)
        if native is not None:
            return native.summarise(data, before, after, mark)
        if self.dialect.multi_line and applies(self.dialect):
            bits = scan_bits(
                self._units(data),
                self.dialect,
                first_opens=not before or is_edge(before[-1], self.dialect),
                last_closes=not after or is_edge(after[0], self.dialect),
                at_end=False,
            )
            if bits is not None:
                begins_line = not before or before[-1] == LF
                runs = [bits.run(mark, inside=inside, begins_line=begins_line) for inside in (False, True)]
                return Summary(len(data), tuple(runs))
        width = self.unit_bytes
        context = self.dialect.lookaround_units * width
        before, after = bytes(before[-context:]), bytes(after[:context])
        units = self._units(b"".join([before, bytes(data), after]))
        low = len(before) // width
        high = low + len(data) // width
        runs = [self._run(units, low, high, mark, inside=inside) for inside in (False, True)]
        if self.dialect.comment_unit is not None:
            runs.append(self._comment_run(units, low, high, mark))
        return Summary(len(data), tuple(runs))

    def _run(self, units: Units, low: int, high: int, mark: int, *, inside: bool) -> Run | None:
        at_start = low == 0 and not inside  # nothing before it: records begin here
        found = scan(units, low, high, self.dialect, inside=inside, at_start=at_start, at_end=False)
        if found.bad is not None:
            return None
        if at_start and not len(found.nexts) and low < high and units[low] == self.dialect.comment_unit:
            return Run(COMMENT, None, None, None, 0)
        begins_line = not inside and (low == 0 or int(units[low - 1]) == int(self._line_sep[-1]))
        return self._run_of(found, units, low, high, mark, begins_line=begins_line)

    def _run_of(self, found: Scan, units: Units, low: int, high: int, mark: int, *, begins_line: bool) -> Run:
        nexts, width = found.nexts, self.unit_bytes
        state = INSIDE if found.inside else OUTSIDE
        records = self._count_records(found, units[low:high], begins_line=begins_line)
        if not len(nexts):
            return Run(state, None, None, None, records)
        last = int(nexts[-1])
        comment = self.dialect.comment_unit
        if comment is not None and low + last < high and units[low + last] == comment:
            state = COMMENT
        marked = int(np.searchsorted(nexts, -(-mark // width)))
        at_mark = int(nexts[marked]) * width if marked < len(nexts) else None
        return Run(state, int(nexts[0]) * width, last * width, at_mark, records)

    def _count_records(self, found: Scan, units: Units, *, begins_line: bool) -> int:
        """How many lines begin in *units* that are records: neither blank nor comments."""
        starts = np.concatenate([np.zeros(int(begins_line), dtype=np.int64), found.nexts])
        stops = np.append(found.stops if begins_line else found.stops[1:], len(units))[: len(starts)]
        stops, starts = stops[starts < len(units)], starts[starts < len(units)]
        first = units[starts]
        is_record = stops > starts
        if self.dialect.line_sep is None:
            is_record &= first != CR  # at the end of the file, where the scan still waits for a line feed
        if self.dialect.comment_unit is not None:
            is_record &= first != self.dialect.comment_unit
        return int(np.count_nonzero(is_record))

    def _comment_run(self, units: Units, low: int, high: int, mark: int) -> Run | None:
        """A comment lasts until the first terminator; behind it a record may start."""
        line = self._line(units[low:high], at_end=False)
        if line is None:
            return Run(COMMENT, None, None, None, 0)
        width = self.unit_bytes
        skipped = line[1]
        found = scan(units, low + skipped, high, self.dialect, inside=False, at_start=True, at_end=False)
        if found.bad is not None:
            return None
        rest = self._run_of(found, units, low + skipped, high, max(mark - skipped * width, 0), begins_line=True)
        first = skipped * width
        if rest.first is None:
            is_comment = low + skipped < high and units[low + skipped] == self.dialect.comment_unit
            marked = first if first >= mark else None
            return Run(COMMENT if is_comment else rest.state, first, first, marked, rest.records)
        marked = first if first >= mark else (None if rest.marked is None else rest.marked + first)
        return Run(rest.state, first, (rest.last or 0) + first, marked, rest.records)

    def last_split_point(self, data: bytes) -> int | None:
        """The end of the last line that ends outside quotes, however it begins."""
        native = native_framing(self.dialect)
        return last_split_point(data, self.dialect) if native is None else native.last_split_point(data)

    def state_after(self, data: Buffer) -> int:
        """Read *data* from its record start to its end."""
        rest = memoryview(data)
        while step := self.frame(rest, at_end=False).next_start:
            rest = rest[step:]
        units = self._units(rest)
        if len(units) and units[0] == self.dialect.comment_unit:
            return COMMENT
        return INSIDE if ends_inside_quotes(rest, self.dialect) else OUTSIDE

    def _units(self, data: Buffer) -> Units:
        return as_units(data, self.unit_bytes, self.dialect.encoding.big_endian)
