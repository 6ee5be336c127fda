"""The records that a format found in a buffer: where they are, or how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Offsets: TypeAlias = npt.NDArray[np.int64]
Buffer: TypeAlias = bytes | bytearray | memoryview
Units: TypeAlias = npt.NDArray[Any]  # code units of any width
Flags: TypeAlias = npt.NDArray[np.bool_]

NO_OFFSETS: Offsets = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Frames:
    """The complete records at the front of a buffer. All positions are relative to the buffer.

    Records may be separated by bytes that belong to no record (terminators, blank lines, comments).

    Attributes:
        starts: First byte of each record, strictly increasing.
        stops: First byte behind each record's content; the terminator is not included.
        next_start: Where the next record starts: everything before it is dealt with. The bytes from here on are
            an unfinished record (or nothing).
        malformed: Records (by index into ``starts``) whose *structure* is broken, with the reject code.
    """

    starts: Offsets
    stops: Offsets
    next_start: int
    malformed: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def first(self) -> int:
        """First byte of the first record."""
        return int(self.starts[0])

    def head(self, count: int, next_start: int) -> Frames:
        """The first *count* records, with what follows them beginning at *next_start*."""
        malformed = {i: code for i, code in self.malformed.items() if i < count}
        return Frames(self.starts[:count], self.stops[:count], next_start, malformed)


class Counted(NamedTuple):
    """The complete records at the front of a buffer, by number.

    Attributes:
        records: How many there are.
        next_start: Where the next record starts, as :class:`Frames` has it.
    """

    records: int
    next_start: int


def as_units(data: Buffer, unit_bytes: int, big_endian: bool) -> npt.NDArray[Any]:
    """View bytes as an array of code units without copying; a partial unit at the end is left out."""
    if unit_bytes == 1:
        return np.frombuffer(data, dtype=np.uint8)
    whole = len(data) // unit_bytes
    return np.frombuffer(data, dtype=f"{'>' if big_endian else '<'}u{unit_bytes}", count=whole)
