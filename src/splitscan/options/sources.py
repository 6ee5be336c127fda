"""Options of sources that are no files: tables of databases, and topics of Kafka."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from splitscan.errors import UsageError
from splitscan.options.table import (
    FLAG,
    PATHS,
    PATTERN,
    TEXT,
    OptionDescription,
    OptionKind,
    ValueRefusedError,
    check_required,
    declared_options,
    describe,
    fields_given,
    names,
    option,
    parse_paths,
    parsed_values,
    read_json,
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


EARLIEST, LATEST = -2, -1
"""What stands for the first and after the last message of a partition, as in Spark and Kafka."""

MESSAGE_COLUMNS = ("key", "headers", "topic", "partition", "offset", "timestamp", "timestampType")
"""Columns that a message has beside its value, by the names that Spark gives them."""

Assigned: TypeAlias = tuple[tuple[str, int], ...]
_WORDS = {"earliest": EARLIEST, "latest": LATEST}
_MOST_PARTITIONS = 1 << 31


@dataclass(frozen=True, slots=True)
class OffsetChoice:
    """Beginning or end of reading, as a user says it.

    Attributes:
        everywhere: ``EARLIEST`` or ``LATEST`` for all partitions; ``None`` if *named* says it for each.
        named: Topic, partition and offset, sorted.
    """

    everywhere: int | None = None
    named: tuple[tuple[str, int, int], ...] = ()

    def of(self, topic: str, partition: int) -> int | None:
        """The offset for one partition, perhaps ``EARLIEST`` or ``LATEST``; ``None`` if it is not named.

        Example:
            >>> OffsetChoice(named=(("t", 0, 7),)).of("t", 0), OffsetChoice(EARLIEST).of("t", 3)
            (7, -2)
        """
        if self.everywhere is not None:
            return self.everywhere
        return next((offset for name, number, offset in self.named if (name, number) == (topic, partition)), None)


def _offsets(*, start: bool) -> OptionKind:
    words = tuple(_WORDS) if start else ("latest",)
    least = EARLIEST if start else LATEST

    def parse(value: Any) -> OffsetChoice:
        if isinstance(value, OffsetChoice):
            return value
        if isinstance(value, str) and value.strip().lower() in words:
            return OffsetChoice(_WORDS[value.strip().lower()])
        topics = read_json(value)
        if not isinstance(topics, Mapping) or not topics:
            raise ValueRefusedError
        named = [
            (topic, _partition(number), _whole(offset, least))
            for topic, offsets in topics.items()
            for number, offset in (offsets.items() if isinstance(offsets, Mapping) else _refuse())
        ]
        return OffsetChoice(None, tuple(sorted(named)))

    meaning = "-2 for earliest and -1 for latest" if start else "-1 for latest"
    allowed = f"""{" or ".join(words)}, or JSON such as {{"topic": {{"0": 23, "1": -1}}}} ({meaning})"""
    return OptionKind("offsets", allowed, parse, lambda choice: "latest" if choice.everywhere == LATEST else "earliest")


def _assigned(value: Any) -> Assigned:
    topics = read_json(value)
    if not isinstance(topics, Mapping) or not topics:
        raise ValueRefusedError
    return tuple(
        sorted(
            (topic, _partition(number))
            for topic, numbers in topics.items()
            for number in (numbers if isinstance(numbers, list) else _refuse())
        )
    )


def _partition(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if _whole(number, 0) >= _MOST_PARTITIONS:
        raise ValueRefusedError
    return int(number)


def _whole(value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueRefusedError
    return value


def _refuse() -> Any:
    raise ValueRefusedError


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """Which messages are read, and how much of them at a time.

    Attributes carry the meaning given in ``docs/options.md``; offsets count messages, times are in milliseconds.
    ``client`` holds what is passed on to the client library as it is; it may hold secrets and is never shown.
    """

    bootstrap_servers: str = option(
        TEXT, "Brokers to ask first: `host:port`, by commas.", name="kafka.bootstrap.servers"
    )
    subscribe: tuple[str, ...] | None = option(
        OptionKind("names", "a comma-separated list of topics", parse_paths, ",".join), "Topics.", None
    )
    subscribe_pattern: str | None = option(PATTERN, "All topics whose whole name matches.", None)
    assign: Assigned | None = option(
        OptionKind("partitions", 'JSON such as {"topic": [0, 1]}', _assigned),
        "Partitions of topics; one of the three must be given.",
        None,
    )
    starting_offsets: OffsetChoice | None = option(
        _offsets(start=True),
        "Where a read, or a new stream, begins. When not given: `earliest` for reads, `latest` for streams.",
        None,
    )
    ending_offsets: OffsetChoice | None = option(
        _offsets(start=False), "Where a read ends; streams have no end. When not given: `latest`.", None
    )
    fail_on_data_loss: bool = option(
        FLAG, "Whether messages that are gone before they were read end the query; otherwise there is a warning.", True
    )
    max_offsets_per_trigger: int | None = option(
        whole(1), "Most offsets that one window reads, of all partitions together.", None
    )
    min_partitions: int | None = option(
        whole(1), "Tasks at least, where there are messages enough; long ranges are cut.", None
    )
    max_records_per_partition: int | None = option(whole(1), "Most offsets that one task reads.", None)
    poll_timeout_ms: int = option(
        whole(1), "How long brokers may be silent before that is an error.", 120_000, name="kafkaConsumer.pollTimeoutMs"
    )
    metadata_columns: tuple[str, ...] = option(
        names(MESSAGE_COLUMNS), "Columns to add that a message has beside its value.", ()
    )
    client: Mapping[str, str] = field(default_factory=dict, repr=False)
