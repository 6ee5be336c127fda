"""Base of formats whose records are ended by a terminator, in any encoding, and perhaps with an escape before it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import EncodedRecords, Splittability
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import (
    NO_OFFSETS,
    Buffer,
    CountedRecords,
    Frames,
    NativeFraming,
    Offsets,
    Units,
    as_units,
    native_lines,
)


def keep_unescaped(units: Units, positions: Offsets, escape: int | None) -> Offsets:
    """Of *positions*, those that no odd run of escape units precedes.

    Args:
        units: Code units, from a record start on.
        positions: Sorted indices into *units*.
        escape: The escape unit, or ``None`` when the format has none.
    """
    if escape is None or not len(positions):
        return positions
    if not (units[np.maximum(positions - 1, 0)] == escape).any():
        return positions
    return positions[~behind_odd_run(positions, np.flatnonzero(units == escape))]


def behind_odd_run(positions: Offsets, escapes: Offsets) -> npt.NDArray[np.bool_]:
    """Which positions have an odd number of escapes right before them; *escapes* holds at least one, all sorted."""
    index = np.searchsorted(escapes, positions) - 1
    touching = (index >= 0) & (escapes[np.maximum(index, 0)] == positions - 1)
    rank = np.arange(len(escapes))
    run_begins = np.ones(len(escapes), dtype=bool)
    run_begins[1:] = np.diff(escapes) != 1
    run_start = np.maximum.accumulate(np.where(run_begins, rank, 0))
    run_length = rank - run_start + 1
    odd: npt.NDArray[np.bool_] = touching & ((run_length[np.maximum(index, 0)] & 1) == 1)
    return odd


def run_before(units: Units, position: int, escape: int | None) -> int:
    """Length of the run of escape units that ends right before *position*.

    Example:
        >>> run_before(np.frombuffer(b"a////n", dtype=np.uint8), 5, ord("/"))
        4
    """
    if escape is None:
        return 0
    first = position
    while first > 0 and units[first - 1] == escape:
        window = units[max(0, first - _RUN_WINDOW) : first][::-1] != escape
        first -= int(window.argmax()) if window.any() else len(window)
    return position - first


def droppable_before(units: Units, position: int, escape: int | None) -> int:
    """The largest number of leading units, at most *position*, that can go without changing what is escaped after it.

    An escape that is still open at *position* is kept; any number of closed ones goes.
    """
    return position - run_before(units, position, escape) % 2


_RUN_WINDOW = 4096  # units compared at once; runs are short, adversarial ones are long


class TerminatedRecords(EncodedRecords, ABC):
    """A format of nothing but records and terminators.

    Attributes:
        encoding: Encoding of the file.
        escape: The escape character in *encoding*, or ``None``.
        delimiter: The delimiter in *encoding*; ``None`` for any of the usual line ends.
    """

    __slots__ = ()

    escape: bytes | None
    delimiter: bytes | None

    splittability = Splittability.LOCAL  # the terminators and escapes right before a position tell

    @property
    def _native(self) -> NativeFraming | None:
        return native_lines(self.delimiter, self.escape, self.encoding)

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        r"""Find the complete records at the front of *data*; a ``\r`` at its very end is undecided until *at_end*."""
        native = self._native
        if native is not None:
            return native.frame(data, at_end=at_end)
        units = as_units(data, self.unit_bytes, self.encoding.big_endian)
        stops, resumes = self._terminators(units, at_end=at_end)
        return frames_between(stops, resumes, len(data), self.unit_bytes, at_end=at_end)

    def count(self, data: Buffer) -> CountedRecords:
        """Count the complete records at the front of *data*."""
        native = self._native
        if native is not None:
            return native.count(data)
        frames = self.frame(data, at_end=False)
        return CountedRecords(len(frames), frames.next_start)

    @abstractmethod
    def _terminators(self, units: Units, *, at_end: bool) -> tuple[Offsets, Offsets]:
        """Starts of each terminator and of the record after it, in units."""

    def rest_of_terminator(self, around: bytes) -> int:
        """How many bytes, from the second code unit of *around* on, only end the record of the first."""
        return 0

    @property
    def _escape_unit(self) -> int | None:
        return None if self.escape is None else self.encoding.units(self.escape)[0]


def frames_between(stops: Offsets, resumes: Offsets, size_bytes: int, unit_bytes: int, *, at_end: bool) -> Frames:
    """Build the frames of a buffer from its terminators.

    Args:
        stops: Where each terminator begins, in units.
        resumes: Where each terminator ends, in units.
        size_bytes: Length of the buffer.
        unit_bytes: Bytes per unit.
        at_end: Whether bytes after the last terminator are a record.
    """
    if unit_bytes > 1:
        stops, resumes = stops * unit_bytes, resumes * unit_bytes
    next_start = int(resumes[-1]) if len(resumes) else 0
    has_tail = at_end and next_start < size_bytes
    if not len(stops) and not has_tail:
        return Frames(NO_OFFSETS, NO_OFFSETS, next_start)
    starts = np.empty(len(stops) + has_tail, dtype=np.int64)
    starts[0] = 0
    starts[1:] = resumes if has_tail else resumes[:-1]
    if has_tail:
        stops = np.append(stops, size_bytes)
    return Frames(starts, stops, size_bytes if has_tail else next_start)


def rewrite(text: bytes | None, old: Encoding, new: Encoding) -> bytes | None:
    """Rewrite code units in the byte order of another encoding."""
    return None if text is None else new.write_units(old.units(text))


def check_escape(escape: bytes | None, encoding: Encoding) -> int | None:
    """The escape as one code unit.

    Raises:
        UsageError: If it is not a character of ASCII.
    """
    if escape is None:
        return None
    if len(escape) != encoding.unit_bytes or encoding.units(escape)[0] >= 0x80:
        raise UsageError(
            "option escape must be one ASCII character", seen=repr(escape),
            fix="choose an ASCII character, usually a backslash", code="bad-option",
        )  # fmt: skip
    encoding.check_mark("escape", escape)
    return encoding.units(escape)[0]
