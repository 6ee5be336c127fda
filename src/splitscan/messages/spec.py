"""Specification of a task that reads messages: options, the columns of the values, the columns beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from splitscan.errors import SchemaError, UsageError, Where, bad_option
from splitscan.formats.contract import VALUE
from splitscan.formats.decoding.contract import type_name
from splitscan.formats.registry import formats_of_messages, parse_options, record_format
from splitscan.options.files import FileOptions
from splitscan.options.read import ReadOptions
from splitscan.options.sources import EARLIEST, LATEST, KafkaOptions, OffsetChoice
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
from splitscan.reading.spec import ScanSpec, make_spec

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
        raise bad_option(
            "source=kafka needs option kafka.bootstrap.servers",
            "nothing",
            "give the brokers to ask first, as host:port",
        )
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
            raise bad_option(rule, seen, fix)
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
    return bad_option(f"option {name} is about files, and source=kafka reads none", name, "leave it out")


_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])

MESSAGE_TYPES: dict[str, pa.DataType] = {
    "key": pa.binary(),
    "headers": pa.list_(pa.field("element", _HEADER)),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestampType": pa.int32(),
}
"""Type of every column that ``metadataColumns`` may name with ``source=kafka``."""

_NO_TIME = 0  # the library's type of a time that is not there
_MICROS = 1000  # in a millisecond


def message_column(name: str, messages: Sequence[Any]) -> pa.Array:
    """One column of messages, which are objects of the client library.

    Asking objects takes a step of Python for every message; that is the library's price, paid for wanted columns only.
    """
    return pa.array(_VALUES[name](messages), MESSAGE_TYPES[name])


def _times(messages: Sequence[Any]) -> list[int | None]:
    stamps = [message.timestamp() for message in messages]
    return [None if kind == _NO_TIME else millis * _MICROS for kind, millis in stamps]


def _time_types(messages: Sequence[Any]) -> list[int]:
    """Spark's numbers: -1 for no time, 0 for that of the producer, 1 for that of the log."""
    return [message.timestamp()[0] - 1 for message in messages]


def _headers(messages: Sequence[Any]) -> list[list[tuple[str, bytes | None]] | None]:
    return [message.headers() for message in messages]


_VALUES: dict[str, Callable[[Sequence[Any]], list[Any]]] = {
    "key": lambda messages: [message.key() for message in messages],
    "headers": _headers,
    "topic": lambda messages: [message.topic() for message in messages],
    "partition": lambda messages: [message.partition() for message in messages],
    "offset": lambda messages: [message.offset() for message in messages],
    "timestamp": _times,
    "timestampType": _time_types,
}


@dataclass(frozen=True)
class MessageSpec:
    """The immutable description of reading messages.

    Pickling: plain values only.
    """

    kafka: KafkaOptions
    values: ScanSpec
    schema: pa.Schema


def make_message_spec(
    kafka: KafkaOptions, format_name: str | None, raw: Mapping[str, Any], schema: pa.Schema | None = None
) -> MessageSpec:
    """Divide a schema into columns of the values and columns beside them.

    Args:
        kafka: Options of the source; their ``metadata_columns`` are recognised in *schema* by name, and added after it
            where it does not have them.
        format_name: Record format of the values; ``None`` for bytes as they are.
        raw: Options of the record format.
        schema: What is delivered. Values that are bytes or text need none: they are the column ``value``.

    Raises:
        UsageError: If an option has no meaning, or the schema does not fit the format.
        SchemaError: ``[no-schema]`` if there must be a schema; ``[bad-schema]`` if it gives a column another type
            than it has.
    """
    options = parse_message_options(format_name, raw)
    if options.format.has_columns:
        if schema is None and options.schema.provided_schema is None:
            raise SchemaError(
                "messages say nothing of their columns", seen=f"recordFormat={options.record_format}, and no schema",
                fix='declare them: .schema("id long, name string")', code="no-schema",
            )  # fmt: skip
        if record_format(options).unit_bytes > 1:
            raise bad_option(
                "values of messages are read in UTF-8 and in encodings that extend ASCII",
                f"encoding={options.format.text_encoding}",
                "write them in UTF-8",
            )
    else:
        kind = pa.binary() if options.format.text_encoding is None else pa.string()
        wanted = pa.field(VALUE, kind)
        _check_value(schema, kafka.metadata_columns, wanted)
        schema = pa.schema([wanted]) if schema is None else schema
    declared = pa.schema([]) if schema is None else schema
    beside = [pa.field(name, MESSAGE_TYPES[name]) for name in kafka.metadata_columns]
    for field in beside:
        _check_type(declared, field)
    values = make_spec(options, pa.schema([f for f in declared if f.name not in kafka.metadata_columns]))
    known = {field.name: field for field in (*values.schema, *beside)}
    names = dict.fromkeys([*declared.names, *values.columns, *kafka.metadata_columns])
    return MessageSpec(kafka, values, pa.schema([known[name] for name in names]))


def _check_value(schema: pa.Schema | None, beside: tuple[str, ...], wanted: pa.Field) -> None:
    """Bytes and text are one column, of one type, which may be left out."""
    for field in schema or ():
        if field.name not in beside and (field.name, field.type) != (wanted.name, wanted.type):
            raise SchemaError(
                "a value that is not taken apart is one column, and what is beside it must be named in metadataColumns",
                Where(column=field.name),
                seen=f"{field.name} {type_name(field.type)}; metadataColumns={','.join(beside)}",
                fix=f"declare {wanted.name} {type_name(wanted.type)}, or set recordFormat and metadataColumns",
                code="bad-schema",
            )


def _check_type(schema: pa.Schema, wanted: pa.Field) -> None:
    number = schema.get_field_index(wanted.name)
    if number >= 0 and schema.field(number).type != wanted.type:
        raise SchemaError(
            f"the schema gives column {wanted.name!r} of messages another type than it has", Where(column=wanted.name),
            seen=f"{schema.field(number).type}; it is {wanted.type}",
            fix=f"declare it as: {wanted.name} {type_name(wanted.type)}", code="bad-schema",
        )  # fmt: skip
