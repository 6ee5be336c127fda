"""Records of a fixed length between a header and a trailer of the file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splitscan.formats.fixed.framing import SHORT_RECORD, FixedReferenceFramer
from splitscan.formats.framing.contract import Need, Preamble, Splittability
from splitscan.formats.framing.frames import Buffer, Frames


@dataclass(frozen=True, slots=True)
class FixedRecords:
    """Records of ``record_length`` bytes each.

    A shorter rest in front of the trailer is delivered as a record and flagged ``short-record``.

    Args:
        record_length: Length of each record in bytes.
        start: Bytes in front of the first one.
        trailer: Bytes after the last one.

    Thread safety: immutable.
    Pickling: plain values only.

    Example:
        >>> frames = FixedRecords(4, trailer=1).frame(b"aaaabbb!", at_end=True)
        >>> frames.stops.tolist(), frames.malformed, frames.next_start
        ([4, 7], {1: 'short-record'}, 8)
    """

    name = "cobol"
    splittability = Splittability.ARITHMETIC
    unit_bytes = 1
    may_be_packed = True

    record_length: int
    start: int = 0
    trailer: int = 0

    def needs_head(self, start: int) -> bool:
        """True if the file has a header."""
        return self.start > 0

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Records begin after the header; there are none in a file that is shorter."""
        if len(head) < self.start and not at_end:
            return Need.AFTER
        return Preamble(min(self.start, len(head)), self)

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Cut what is in front of the trailer; a rest that is too short is a record only *at_end*."""
        length = self.record_length
        shown = max(0, len(data) - self.trailer)
        whole, rest = divmod(shown, length)
        has_rest = at_end and rest > 0
        starts = np.arange(whole + has_rest, dtype=np.int64) * length
        stops = np.minimum(starts + length, shown)
        return Frames(starts, stops, len(data) if at_end else whole * length, {whole: SHORT_RECORD} if has_rest else {})

    def first_start_after(self, position: int, data_start: int) -> int:
        """Offset of the first record that starts at or after *position*."""
        return data_start + -(-max(0, position - data_start) // self.record_length) * self.record_length

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        """All of the trailer."""
        if len(data) > self.trailer or not self.trailer:
            return 0
        return len(data) if at_end else Need.AFTER

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        if at_end:
            return min(self.record_length, len(data))
        return self.record_length if len(data) >= self.record_length + self.trailer else None

    def droppable(self, data: Buffer) -> int:
        """Nothing: no record is longer than the length that was compared with the limit."""
        return 0

    def reference_framer(self) -> FixedReferenceFramer:
        return _ReferenceFramer(self)


class _ReferenceFramer(FixedReferenceFramer):
    """The definition: count bytes, and leave out the trailer at the end."""

    def __init__(self, format: FixedRecords) -> None:
        super().__init__(format.record_length)
        self._trailer = format.trailer

    def finish(self) -> None:
        """The stream has ended: its last bytes are of no record."""
        end = max(0, self._offset - self._trailer)
        self._start = self._start if self._start < end else end - end % self._piece_bytes
        self.records = [(start, min(stop, end)) for start, stop in self.records if start < end]
        if self._start < end and (not self.records or self.records[-1][1] <= self._start):
            self.records.append((self._start, end))
