"""Records that cannot be delivered from a buffer, or come after one: looked for once, however many there are."""

from __future__ import annotations

import numpy as np

from splitscan.formats.framing.contract import RecordFormat
from splitscan.formats.framing.frames import NO_OFFSETS, Buffer, Frames


class OpenRecords:
    """Records that would not end in a buffer, or would be too long, wherever in it reading goes on.

    Where one is given up and the next one begins inside of it, that one does not end either. Who looked for its end
    again would take quadratic time for a file of opening tags.
    """

    def __init__(self, format: RecordFormat, longest_bytes: int) -> None:
        self._unit_bytes = format.unit_bytes
        self._open_starts = getattr(format, "open_starts", None)  # a format may have it, whose records hold others
        self._longest_bytes = longest_bytes
        self._starts = NO_OFFSETS  # in the file
        self._read_to = -1  # where the buffer ended that they are known of
        self._hidden = 1  # how many were forgotten last, and where reading was
        self._position = -1

    def note(self, buffer: Buffer, position: int) -> None:
        """Look for them, if that was not yet done, in all that was read from the start of a record that is given up."""
        read_to = position + len(buffer)
        if read_to == self._read_to or self._open_starts is None:
            return
        starts = self._open_starts(buffer, self._longest_bytes)
        if starts is not None:
            self._starts, self._read_to = starts + position, read_to

    def bytes_before(self, position: int, read_to: int) -> int:
        """How many bytes from *position* on, of those up to *read_to*, tell all records before the next of them.

        Its first code unit, too, may end the record before it. 0 if it begins at *position*.
        """
        if read_to == self._read_to and (at := int(self._starts.searchsorted(position))) < len(self._starts):
            distance = int(self._starts[at]) - position
            return min(distance + self._unit_bytes, read_to - position) if distance else 0
        return read_to - position

    def forget(self, position: int) -> None:
        """Bytes from *position* on hide the next of them: a record goes on there. Each time it does, twice as many."""
        self._hidden = 2 * self._hidden if position == self._position else 1
        self._position = position
        at = int(self._starts.searchsorted(position))
        self._starts = self._starts[at + self._hidden :]


class FramesAhead:
    """Records that were found together with one that is too long: each of them is found once."""

    def __init__(self, longest_bytes: int) -> None:
        self._longest_bytes = longest_bytes
        self._frames: Frames | None = None
        self._long = NO_OFFSETS  # by their numbers
        self._position = 0  # in the file, of the buffer in which they were found

    def first_of(self, frames: Frames, position: int) -> Frames:
        """The records before the first one that is too long, or only that one; the others can be had later."""
        is_long = frames.stops - frames.starts > self._longest_bytes
        if not is_long.any():
            return frames
        self._frames, self._position, self._long = frames, position, np.flatnonzero(is_long)
        return self._part(frames, 0, 0)

    def take(self, position: int) -> Frames | None:
        """Records from *position* on likewise; ``None`` if none of those that are known begins there."""
        frames, moved = self._frames, position - self._position
        if frames is None or not (first := int(frames.starts.searchsorted(moved))) < len(frames):
            return None
        return self._part(frames, first, moved) if int(frames.starts[first]) == moved else None

    def _part(self, frames: Frames, first: int, moved: int) -> Frames:
        long = int(self._long.searchsorted(first))
        stop = max(int(self._long[long]), first + 1) if long < len(self._long) else len(frames)
        return frames.part(first, stop, moved)
