"""The plan of a table: which task reads which ranges of keys, and of which version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from splitscan.ranges import ByteKeyRange
from splitscan.sizes import MIB, format_size
from splitscan.tables.cutting import TableStatistics, cut_keys
from splitscan.tables.spec import EVERYTHING, NULLS, KeyPiece, TableSpec, show_key
from splitscan.tables.versions import TableVersion

_LEAST_TASK_BYTES = 1 * MIB  # less is not worth a task and a connection, unless it is asked for

Task = tuple[KeyPiece, ...]


@dataclass(frozen=True)
class TablePlan:
    """What the tasks of a scan read. Together they read every row once.

    Attributes:
        spec: What each of them knows.
        tasks: The pieces of each.
        version: Names the version of the table that all of them read; ``None`` if each reads its own.
        statistics: What was known of the table; nothing but the evenness of the tasks depends on it.

    Pickling: with the password; neither ``str`` nor ``repr`` shows it.
    """

    spec: TableSpec
    tasks: tuple[Task, ...]
    version: TableVersion | None
    statistics: TableStatistics

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        known = self.statistics
        yield f"{self.spec.relation} of {self.spec.address}: about {known.rows} rows, {format_size(known.size_bytes)}"
        yield "all tasks read one version" if self.version is not None else "each task reads the version it finds"
        if self.spec.key is None:
            yield "task 0: everything, as no keyColumn is given"
            return
        for number, task in enumerate(self.tasks):
            yield f"task {number}: {', '.join(self._show(piece) for piece in task)}"

    def _show(self, piece: KeyPiece) -> str:
        key = self.spec.key
        assert key is not None
        assert key.key_kind is not None
        if piece.only_nulls:
            return f"{key.name} is null"
        return f"{key.name} in [{show_key(key.key_kind, piece.keys.start)}, {show_key(key.key_kind, piece.keys.stop)})"


def plan_tasks(
    spec: TableSpec, statistics: TableStatistics, slots: int, task_bytes: int, min_tasks: int | None
) -> tuple[Task, ...]:
    """Share a table out.

    The first range is open below and the last one above, and rows without a key have a piece of their own: whatever
    the statistics say, and whatever is inserted meanwhile, each row belongs to exactly one task.

    Args:
        spec: What is read.
        statistics: What is known of it.
        slots: How many tasks run at a time.
        task_bytes: Most bytes of a task, by estimate.
        min_tasks: How many there are at least, where keys allow it; ``None`` for one for each slot, as long as each
            has a megabyte.
    """
    key = spec.key
    if key is None or key.key_kind is None:
        return ((EVERYTHING,),)
    worth = min(slots, max(1, statistics.size_bytes // _LEAST_TASK_BYTES)) if min_tasks is None else min_tasks
    count = max(worth, -(-statistics.size_bytes // task_bytes), 1)
    bounds = [b"", *cut_keys(key.key_kind, statistics, count), b""]
    tasks = [(KeyPiece(ByteKeyRange(start, stop)),) for start, stop in pairwise(bounds)]
    if not key.nullable:
        return tuple(tasks)
    if statistics.null_share * count > 0.5:  # half a task of their own
        return (*tasks, (NULLS,))
    return (*tasks[:-1], (*tasks[-1], NULLS))
