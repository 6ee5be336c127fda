"""Records that do not end in what was read so far: their end is looked for once, however many there are."""

from __future__ import annotations

from splitscan.formats.framing.contract import NestingFormat, RecordFormat
from splitscan.formats.framing.frames import NO_OFFSETS, Buffer


class OpenRecords:
    """The records that are open at the end of a buffer.

    Where one is given up and the next one begins inside of it, that one does not end in the buffer either. Who looked
    for its end again would take quadratic time for a file of opening tags.

    Args:
        format: Of the file.
    """

    def __init__(self, format: RecordFormat) -> None:
        self._format = format
        self._starts = NO_OFFSETS  # in the file
        self._read_to = -1  # where the buffer ended in which they are open

    def note(self, buffer: Buffer, position: int) -> None:
        """Look for them, if that was not yet done.

        Args:
            buffer: What was read, from the start of a record on that does not end in it, or that is too long.
            position: Of its first byte.
        """
        read_to = position + len(buffer)
        if not isinstance(self._format, NestingFormat) or (read_to == self._read_to and position <= self._last):
            return
        starts = self._format.open_starts(buffer)
        is_open = bool(len(starts)) and not starts[0]  # else what is inside of the record is not known
        self._starts, self._read_to = (starts + position if is_open else NO_OFFSETS), read_to

    def bytes_before(self, position: int, read_to: int) -> int:
        """How many bytes from *position* on, of those up to *read_to*, are before the next one that is known."""
        if read_to != self._read_to or position > self._last:
            return read_to - position
        return int(self._starts[self._starts.searchsorted(position)]) - position

    @property
    def _last(self) -> int:
        return int(self._starts[-1]) if len(self._starts) else -1
