"""Where a reader is at work, for every message about it."""

from __future__ import annotations

from splitscan.blocks import BlockMetadata
from splitscan.errors import SplitscanError, UsageError, Where
from splitscan.scan.framework.origins import Origin


class Place:
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
        """Remember the place of the last rows that were taken."""
        if rows:
            self._last = origin, rows - 1

    def where(
        self, row: int | None = None, offset: int | None = None, line: int | None = None, column: str | None = None
    ) -> Where:
        """A place for a message."""
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
        """The place of the last rows that were taken."""
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
