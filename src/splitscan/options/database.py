"""How a table of a database is read: the options of ``scan_table`` and ``option("source", "table")``."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from splitscan.errors import UsageError
from splitscan.options.table import (
    FLAG,
    PATHS,
    TEXT,
    OptionDescription,
    OptionKind,
    ValueRefusedError,
    check_required,
    declared_options,
    describe,
    fields_given,
    option,
    parsed_values,
    refuse_contradictions,
    size,
    suggestion_for,
    whole,
)
from splitscan.sizes import MIB


class Snapshot(enum.Enum):
    """Which version of a table the tasks of a scan read."""

    SHARED = "shared"
    OWN = "own"


def _parse_secret(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueRefusedError("pass text")
    return value


_URL = OptionKind("url", "`postgresql://...` or `sqlite:///FILE`", _parse_secret, lambda _: "", secret=True)
_SECRET = OptionKind("text", "text that is never shown", _parse_secret, lambda _: "", secret=True)
_LARGEST_BATCH_BYTES = 512 * MIB  # a batch must fit into Arrow arrays, whose offsets have 31 bits


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Which table is read, over which connection, and how it is divided among tasks.

    Attributes carry the meaning given in ``docs/options.md``; sizes are in bytes, times in milliseconds.

    Pickling: plain values only. ``url`` and ``password`` travel, and ``repr`` does not show them.
    """

    url: str = option(
        _URL, "The database. Three slashes and a relative path, or four and an absolute one, name a file of SQLite."
    )
    dbtable: str | None = option(TEXT, 'The table or view: `events`, `sales.events`, `"Odd name"."T"`.', None)
    query: str | None = option(
        TEXT, "A SELECT to read in place of a table; it must give the same rows each time.", None
    )
    key_column: str | None = option(
        TEXT,
        "Column by whose ranges tasks share the table. Without one it is read by one task.",
        None,
        "partitionColumn",
    )
    user: str | None = option(TEXT, "User, where `url` names none.", None)
    password: str | None = option(_SECRET, "Password of the user. PostgreSQL's own files and variables work too.", None)
    columns: tuple[str, ...] | None = option(PATHS, "Only columns to read, in this order; all if not given.", None)
    snapshot: Snapshot = option(
        Snapshot,
        "`shared`: all tasks read one version of the table, or the scan fails. `own`: each reads the version that "
        "is there when it begins, so rows that change meanwhile may be seen twice or not at all.",
        Snapshot.SHARED,
    )
    snapshot_idle_ms: int = option(
        whole(1),
        "A shared snapshot is given up when no task has read with it for about this long. "
        "As long as it is held, the server keeps rows that were deleted.",
        600_000,
        name="snapshotIdleMillis",
    )
    batch_rows: int = option(whole(1), "Most rows in one batch.", 65_536)
    batch_bytes: int = option(
        size(1, _LARGEST_BATCH_BYTES), "About as many bytes are asked of the database at a time.", 4 * MIB
    )
    task_bytes: int = option(
        size(),
        "Bytes of the table that one task reads, by estimate.",
        128 * MIB,
        "taskBytes",
        "targetBytes",
        name="taskSize",
    )
    min_partitions: int | None = option(
        whole(1),
        "At least this many tasks, where there are keys enough; by default as many as run at a time.",
        None,
        "minPartitions",
        "numPartitions",
        name="minPartitionNum",
    )
    rebalance: bool = option(
        FLAG, "While a Spark job runs, idle tasks take over the ranges of keys that slow ones have not read yet.", False
    )

    def __repr__(self) -> str:
        return f"TableOptions(dbtable={self.dbtable!r}, query={self.query!r}, key_column={self.key_column!r})"


def parse_table_options(raw: Mapping[str, Any]) -> TableOptions:
    """Turn the options of a table as the user wrote them into typed, validated ones.

    No value of an option that is not known is shown: it may be a misspelt password.

    Raises:
        UsageError: ``[unknown-option]`` with a suggestion; ``[bad-option]`` for a value that is not allowed, and
            unless exactly one of ``dbtable`` and ``query`` is given.

    Example:
        >>> parse_table_options({"url": "sqlite:///a.db", "dbtable": "t", "partitionColumn": "id"}).key_column
        'id'
    """
    known = declared_options(TableOptions)

    def refuse(name: str, value: Any) -> None:
        valid = ", ".join(sorted((option.name for option in known), key=str.lower))
        raise UsageError(
            f"a table has no option {name}", seen="a value that is not shown",
            fix=f"{suggestion_for(name, known)}valid options: {valid}", code="unknown-option",
        )  # fmt: skip

    given = fields_given(TableOptions, parsed_values(known, raw, refuse))
    check_required("a table", TableOptions, given)
    options = TableOptions(**given)
    refuse_contradictions(
        ((options.dbtable is None) == (options.query is None),
         "a table is named by exactly one of the options dbtable and query",
         "neither" if options.dbtable is None else "both", "give dbtable for a table or a view, query for a SELECT"),
    )  # fmt: skip
    return options


def describe_table_options() -> list[OptionDescription]:
    """Describe the options of tables, for help and documentation.

    Example:
        >>> describe_table_options()[1].name
        'dbtable'
    """
    return [describe(option, ()) for option in declared_options(TableOptions)]
