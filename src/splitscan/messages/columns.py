"""Columns that a message has beside its value: their types, as Spark's Kafka source has them, and their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

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
