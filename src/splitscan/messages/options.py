"""The options of ``source=kafka`` out of what a user wrote: typed, checked, and the rest left for the record format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from splitscan.errors import UsageError, bad_option
from splitscan.formats.registry import formats_of_messages, parse_options
from splitscan.options.files import FileOptions
from splitscan.options.kafka import EARLIEST, LATEST, KafkaOptions, OffsetChoice
from splitscan.options.read import ReadOptions
from splitscan.options.spark_only import (
    KAFKA_ACCEPTED_UNUSED,
    KAFKA_REFUSED,
    KAFKA_REFUSED_IF_TRUE,
    check_refused,
    is_listed,
)
from splitscan.options.stream import StreamOptions
from splitscan.options.table import (
    OptionDescription,
    by_spellings,
    declared_options,
    describe,
    fields_given,
    parsed_values,
    show_value,
)

_RAW = "raw"  # what the value of a message is where nobody says it
_PREFIX = "kafka."
_OURS = ("enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset", "enable.partition.eof")
_CHOICES = ("subscribe", "subscribe_pattern", "assign")
_OF_FILES = ("columns", "limit", "readBytes", "inferSchema", "sampleBytes")


def parse_kafka_options(raw: Mapping[str, Any], *, streams: bool = False) -> tuple[KafkaOptions, dict[str, Any]]:
    """Take the options of Kafka out of what a user wrote.

    Args:
        streams: Whether a stream is asked for, which has other defaults and no end.

    Returns:
        The typed options, with what depends on *streams* filled in, and all others as they were.

    Raises:
        UsageError: ``[bad-option]`` for a value that is not allowed, options that contradict each other, options of
            files, and those of Spark's own source that there are not here.

    Example:
        >>> options, others = parse_kafka_options(
        ...     {"kafka.bootstrap.servers": "b:9092", "subscribe": "t", "kafka.client.id": "x", "sep": ";"}
        ... )
        >>> options.subscribe, options.client, others
        (('t',), {'client.id': 'x'}, {'sep': ';'})
    """
    known = declared_options(KafkaOptions)
    rest: dict[str, Any] = {}
    given = fields_given(KafkaOptions, parsed_values(known, raw, rest.__setitem__))
    of_client = {name for name in rest if name.lower().startswith(_PREFIX)}
    client = {name.lower().removeprefix(_PREFIX): str(rest[name]) for name in rest if name in of_client}
    others = {name: value for name, value in rest.items() if name not in of_client and not _is_of_spark(name, value)}
    if "bootstrap_servers" not in given:
        raise UsageError(
            "source=kafka needs option kafka.bootstrap.servers", seen="nothing",
            fix="give the brokers to ask first, as host:port", code="bad-option",
        )  # fmt: skip
    options = KafkaOptions(**given, client=client)
    _check(options, others, streams=streams)
    begin = options.starting_offsets or OffsetChoice(LATEST if streams else EARLIEST)
    return replace(
        options, starting_offsets=begin, ending_offsets=options.ending_offsets or OffsetChoice(LATEST)
    ), others


def parse_message_options(record_format: str | None, raw: Mapping[str, Any]) -> ReadOptions:
    """The options of what the values of messages hold.

    Raises:
        UsageError: ``[bad-option]`` for a format or an option that has no meaning for messages, else as
            ``parse_options`` does.
    """
    formats = formats_of_messages()
    name = _RAW if record_format is None else record_format.strip().lower()
    if name not in formats:
        allowed = f"one of {', '.join(formats)} with source=kafka"
        raise bad_option(f"option recordFormat takes {allowed}", show_value(record_format), "name one of them")
    asker = None if name == formats[name] else f"record format {name} of messages"
    options = parse_options(formats[name], raw, asker, cuts_files=False)
    if options.format.about_files is not None:
        raise _of_files(options.format.about_files)
    return options


def describe_kafka_options() -> list[OptionDescription]:
    """Describe the options of ``source=kafka``, for help and documentation."""
    return [describe(option, tuple(formats_of_messages())) for option in declared_options(KafkaOptions)]


def _check(options: KafkaOptions, others: Mapping[str, Any], *, streams: bool) -> None:
    given = [name for name in _CHOICES if getattr(options, name) is not None]
    ours = next((name for name in _OURS if name in options.client), None)
    begins = options.starting_offsets
    for is_wrong, rule, seen, fix in (
        (len(given) != 1, "source=kafka needs exactly one of the options subscribe, subscribePattern and assign",
         f"{len(given)} of them", "give one"),
        (ours is not None, f"option kafka.{ours} is set by splitscan, which knows by itself what was read",
         "a value of yours", "leave it out"),
        (streams and options.ending_offsets is not None, "option endingOffsets has no meaning for a stream",
         "a stream with an end", "leave it out; Trigger.AvailableNow ends with what is there when it starts"),
        (not streams and begins is not None and begins.everywhere == LATEST,
         "option startingOffsets=latest leaves nothing to a bounded read", "startingOffsets=latest",
         "begin at earliest or at given offsets, or use readStream"),
    ):  # fmt: skip
        if is_wrong:
            raise UsageError(rule, seen=seen, fix=fix, code="bad-option")
    of_files = {
        spelling: option.name
        for options_class in (FileOptions, StreamOptions)
        for spelling, option in by_spellings(declared_options(options_class)).items()
    } | {name.lower(): name for name in (*_OF_FILES, "path", "paths")}
    for name in others:
        if str(name).lower() in of_files:
            raise _of_files(of_files[str(name).lower()])


def _is_of_spark(name: str, value: Any) -> bool:
    """True if an option is one of Spark's own Kafka source that does no harm; refuses those that would."""
    return is_listed(name, KAFKA_ACCEPTED_UNUSED) or check_refused(name, value, KAFKA_REFUSED, KAFKA_REFUSED_IF_TRUE)


def _of_files(name: str) -> UsageError:
    return UsageError(
        f"option {name} is about files, and source=kafka reads none", seen=name, fix="leave it out", code="bad-option"
    )
