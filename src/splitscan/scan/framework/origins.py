"""Where rows come from: so that an error about a row can name its place in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Places: TypeAlias = int | Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows of one append begin in the file.

    Attributes:
        offset: Byte offset of the first row, or of each row.
        line: Line of the first row, from 1, or of each row.
        base: What is added to an offset, where offsets are counted from a place in the file.
        first: Rows of the append that come before the row 0 that is asked for.

    Example:
        >>> Origin(offset=[0, 12], line=7).of(1)
        (12, None)
        >>> Origin(offset=100).of(0), Origin(offset=100).near(3)
        ((100, None), (100, None))
    """

    offset: Places | None = None
    line: Places | None = None
    base: int = 0
    first: int = 0

    def of(self, row: int) -> tuple[int | None, int | None]:
        """Offset and line of a row, where they are known exactly."""
        offset, line = _exact(self.offset, self.first + row), _exact(self.line, self.first + row)
        return None if offset is None else self.base + offset, line

    def near(self, row: int) -> tuple[int | None, int | None]:
        """Offset and line of a row, or of the first row of its append."""
        offset, line = self.of(row)
        if offset is None and line is None:
            return self.of(-self.first)
        return offset, line

    def part(self, start: int) -> Origin:
        """The origin of the rows from one on."""
        return replace(self, first=self.first + start) if start else self


def as_origin(given: Origin | int | None) -> Origin:
    """An origin, or a byte offset as one."""
    if isinstance(given, Origin):
        return given
    return Origin() if given is None else Origin(offset=given)


def _exact(places: Places | None, row: int) -> int | None:
    if places is None:
        return None
    if isinstance(places, int | np.integer):
        return int(places) if row == 0 else None
    return int(places[row]) if row < len(places) else None
