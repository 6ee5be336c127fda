"""Where rows come from, and where a reader is at work: what errors and rejects say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from splitscan.blocks import BlockMetadata
from splitscan.errors import SplitscanError, UsageError, Where

Positions: TypeAlias = int | Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows of one append begin in the file.

    Attributes:
        offset: Byte offset of the first row, or of each row.
        line: Line of the first row, from 1, or of each row.
        base: What is added to an offset, where offsets are counted from a point in the file.
        first: Rows of the append that come before the row 0 that is asked for.

    Example:
        >>> Origin(offset=[0, 12], line=7).of(1)
        (12, None)
        >>> Origin(offset=100).of(0), Origin(offset=100).near(3)
        ((100, None), (100, None))
    """

    offset: Positions | None = None
    line: Positions | None = None
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


def _exact(positions: Positions | None, row: int) -> int | None:
    if positions is None:
        return None
    if isinstance(positions, int | np.integer):
        return int(positions) if row == 0 else None
    return int(positions[row]) if row < len(positions) else None


class Location:
    """A reader, what it reads, and how far it came.

    Args:
        split: The file or block.
        reader: Name of the reader; ``None`` if messages need not name it.
    """

    def __init__(self, split: BlockMetadata | None, reader: str | None) -> None:
        self.split = split
        self.reader = reader
        self._notes: dict[str, str] = {}
        self._last: tuple[Origin, int] = (Origin(), 0)

    @property
    def path(self) -> str:
        """The file; empty if there is none."""
        return "" if self.split is None else self.split.file.path

    def note(self, **values: object) -> None:
        """What every later message about the reader says."""
        self._notes |= {name: str(value) for name, value in values.items()}

    def pass_by(self, origin: Origin, rows: int) -> None:
        """Remember the location of the last rows that were taken."""
        if rows:
            self._last = origin, rows - 1

    def where(
        self, row: int | None = None, offset: int | None = None, line: int | None = None, column: str | None = None
    ) -> Where:
        """A location for a message."""
        split = self.split
        return Where(
            None if split is None else split.file.path,
            offset,
            None if split is None else (split.start, split.stop),
            column,
            line,
            row,
            self.reader,
            tuple(self._notes.items()),
        )

    def where_now(self) -> Where:
        """The location of the last rows that were taken."""
        origin, row = self._last
        offset, line = origin.near(row)
        return self.where(offset=offset, line=line)

    def misused(self, rule: str, seen: str | None = None) -> UsageError:
        """The error for a reader that breaks the protocol."""
        return UsageError(
            f"{rule}: the reader is wrong",
            self.where_now(),
            seen=seen,
            fix="correct the reader; docs/scan-framework.md says what may be called when",
            code="reader-broken",
        )

    def locate(self, error: SplitscanError) -> None:
        """Complete an error that a reader raised."""
        error.locate(self.where_now())
