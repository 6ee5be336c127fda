"""How messages of Kafka are read: the options that only ``source=kafka`` has. Names and meaning are Spark's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from splitscan.options.table import FLAG, PATTERN, TEXT, OptionKind, ValueRefusedError, option, parse_paths, whole

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
        topics = _read_json(value)
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
    topics = _read_json(value)
    if not isinstance(topics, Mapping) or not topics:
        raise ValueRefusedError
    return tuple(
        sorted(
            (topic, _partition(number))
            for topic, numbers in topics.items()
            for number in (numbers if isinstance(numbers, list) else _refuse())
        )
    )


def _read_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueRefusedError from None


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


def _message_columns(value: Any) -> tuple[str, ...]:
    by_lower = {name.lower(): name for name in MESSAGE_COLUMNS}
    given = [item.lower() for item in parse_paths(value)]
    unknown = [repr(item) for item in given if item not in by_lower]
    if unknown:
        raise ValueRefusedError(f"leave out or correct {', '.join(unknown)}")
    if len(set(given)) != len(given):
        raise ValueRefusedError("give every name once")
    return tuple(by_lower[item] for item in given)


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
        OptionKind("names", f"a comma-separated list of {', '.join(MESSAGE_COLUMNS)}", _message_columns, ",".join),
        "Columns to add that a message has beside its value.",
        (),
    )
    client: Mapping[str, str] = field(default_factory=dict, repr=False)
