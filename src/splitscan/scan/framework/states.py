"""The life cycles of the framework: states, events, and the tables that say what may follow what.

The figures of ``docs/scan-framework.md`` are drawn from these tables by :func:`draw`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Generic, TypeVar

from splitscan.errors import InvariantError, Where


class _Named(enum.Enum):
    """Members that are looked up for every file: they hash as fast as any object, without Python's own method."""

    __hash__ = object.__hash__


class ScanState(_Named):
    """Where a scan stands."""

    START = "nothing was read"
    READER = "readers are read, one at a time"
    EMPTY = "one empty batch shows the schema"
    END = "everything was read"
    FAILED = "an error was raised"
    CLOSED = "all is released"


class ScanEvent(_Named):
    """What happens to a scan."""

    BEGIN = "the first batch is asked for"
    BATCH = "a batch is delivered"
    NO_ROWS = "no row was found, but a schema"
    EXHAUSTED = "no reader or row is left"
    FAILURE = "a reader fails"
    CLOSE = "close()"


class ReaderState(_Named):
    """Where one reader stands."""

    NEW = "made, not opened"
    OPEN = "next() is called"
    DRAINING = "its last rows are delivered"
    DONE = "nothing is left"
    SKIPPED = "it has nothing to read"
    FAILED = "it raised an error"
    CLOSED = "closed, exactly once"


class ReaderEvent(_Named):
    """What happens to a reader."""

    OPENED = "open() returns True"
    NOTHING = "open() returns False"
    MORE = "next() returns True"
    LAST = "next() returns False, or the limit is reached"
    DRAINED = "the last batch is taken"
    FAILURE = "an error is raised"
    CLOSE = "close()"


class LoaderState(_Named):
    """Where a loader stands."""

    IDLE = "between two calls of next()"
    LOADING = "inside next(): rows are taken"
    LIMITED = "the limit is reached: rows are dropped"
    CLOSED = "all is released"


class LoaderEvent(_Named):
    """What happens to a loader."""

    BEGIN = "next() is called"
    FINISH = "next() returns"
    LIMIT = "as many rows as wanted were taken"
    CLOSE = "close()"


SCAN_TABLE: Mapping[tuple[ScanState, ScanEvent], ScanState] = {
    (ScanState.START, ScanEvent.BEGIN): ScanState.READER,
    (ScanState.READER, ScanEvent.BATCH): ScanState.READER,
    (ScanState.READER, ScanEvent.NO_ROWS): ScanState.EMPTY,
    (ScanState.READER, ScanEvent.EXHAUSTED): ScanState.END,
    (ScanState.READER, ScanEvent.FAILURE): ScanState.FAILED,
    (ScanState.EMPTY, ScanEvent.EXHAUSTED): ScanState.END,
    (ScanState.START, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.READER, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.EMPTY, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.END, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.FAILED, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.CLOSED, ScanEvent.CLOSE): ScanState.CLOSED,
}
"""What a scan does next."""

READER_TABLE: Mapping[tuple[ReaderState, ReaderEvent], ReaderState] = {
    (ReaderState.NEW, ReaderEvent.OPENED): ReaderState.OPEN,
    (ReaderState.NEW, ReaderEvent.NOTHING): ReaderState.SKIPPED,
    (ReaderState.NEW, ReaderEvent.FAILURE): ReaderState.FAILED,
    (ReaderState.OPEN, ReaderEvent.MORE): ReaderState.OPEN,
    (ReaderState.OPEN, ReaderEvent.LAST): ReaderState.DRAINING,
    (ReaderState.OPEN, ReaderEvent.FAILURE): ReaderState.FAILED,
    (ReaderState.DRAINING, ReaderEvent.DRAINED): ReaderState.DONE,
    (ReaderState.OPEN, ReaderEvent.CLOSE): ReaderState.CLOSED,
    (ReaderState.DRAINING, ReaderEvent.CLOSE): ReaderState.CLOSED,
    (ReaderState.DONE, ReaderEvent.CLOSE): ReaderState.CLOSED,
    (ReaderState.SKIPPED, ReaderEvent.CLOSE): ReaderState.CLOSED,
    (ReaderState.FAILED, ReaderEvent.CLOSE): ReaderState.CLOSED,
}
"""What a reader does next. There is no way out of CLOSED: nothing is closed twice."""

LOADER_TABLE: Mapping[tuple[LoaderState, LoaderEvent], LoaderState] = {
    (LoaderState.IDLE, LoaderEvent.BEGIN): LoaderState.LOADING,
    (LoaderState.LOADING, LoaderEvent.FINISH): LoaderState.IDLE,
    (LoaderState.LOADING, LoaderEvent.LIMIT): LoaderState.LIMITED,
    (LoaderState.IDLE, LoaderEvent.LIMIT): LoaderState.LIMITED,
    (LoaderState.LIMITED, LoaderEvent.FINISH): LoaderState.LIMITED,
    (LoaderState.IDLE, LoaderEvent.CLOSE): LoaderState.CLOSED,
    (LoaderState.LOADING, LoaderEvent.CLOSE): LoaderState.CLOSED,
    (LoaderState.LIMITED, LoaderEvent.CLOSE): LoaderState.CLOSED,
    (LoaderState.CLOSED, LoaderEvent.CLOSE): LoaderState.CLOSED,
}
"""What a loader does next."""

S = TypeVar("S", bound=enum.Enum)
E = TypeVar("E", bound=enum.Enum)


class Machine(Generic[S, E]):
    """A state and the table that moves it.

    Args:
        table: What follows a state and an event.
        start: The first state.

    Example:
        >>> machine = Machine(SCAN_TABLE, ScanState.START)
        >>> machine.move(ScanEvent.BEGIN)
        >>> machine.state.name
        'READER'
    """

    def __init__(self, table: Mapping[tuple[S, E], S], start: S) -> None:
        self._table = table
        self.state = start

    def move(self, event: E, where: Where | None = None) -> None:
        """Go to the next state.

        Raises:
            InvariantError: If nothing follows: the framework itself is wrong.
        """
        following = self._table.get((self.state, event))
        if following is None:
            raise InvariantError(
                f"{event.name} must not happen in state {self.state.name} of a {type(self.state).__name__}", where
            )
        self.state = following


def draw(table: Mapping[tuple[S, E], S], start: S) -> str:
    """A table as a Mermaid state diagram.

    Args:
        table: What follows a state and an event.
        start: The first state.

    Returns:
        Lines: the states with what they mean, then the arrows with their events, in the order of the table.
    """
    lines = ["stateDiagram-v2"]
    lines += [f"    {state.name} : {state.name}: {state.value}" for state in type(start)]
    lines.append(f"    [*] --> {start.name}")
    lines += [f"    {state.name} --> {table[state, event].name} : {event.value}" for state, event in table]
    return "\n".join(lines)
