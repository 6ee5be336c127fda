"""Specification of a task that reads messages: options, the columns of the values, the columns beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from splitscan.errors import SchemaError, UsageError, Where
from splitscan.formats.contract import VALUE
from splitscan.formats.decoding.contract import type_name
from splitscan.formats.registry import record_format
from splitscan.messages.options import parse_message_options
from splitscan.options.kafka import KafkaOptions
from splitscan.scan.spec import ScanSpec, make_spec

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
            raise UsageError(
                "values of messages are read in UTF-8 and in encodings that extend ASCII",
                seen=f"encoding={options.format.text_encoding}", fix="write them in UTF-8", code="bad-option",
            )  # fmt: skip
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
            f"the schema gives column {wanted.name!r} of messages another type than it has",
            Where(column=wanted.name),
            seen=f"{schema.field(number).type}; it is {wanted.type}",
            fix=f"declare it as: {wanted.name} {type_name(wanted.type)}",
            code="bad-schema",
        )
