"""Blocks of messages as rows, and as record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata, Reject
from splitscan.formats.framing.encodings import UTF_8, resolve_encoding
from splitscan.messages.decoding import values_reader
from splitscan.messages.kafka.ranges import MessageRange
from splitscan.messages.kafka.reading import MessageReading
from splitscan.messages.spec import MessageSpec, message_column
from splitscan.scan.decoders import needs_no_value
from splitscan.scan.framework import Origin, OutputPlan, ReaderPlan, ResultSetLoader, ScanOperator, SchemaNegotiator
from splitscan.scan.framework.conform import rows_without_columns
from splitscan.scan.given_up import RejectCounter
from splitscan.scan.oddities import NOT_UTF8, OddRecords, is_utf8
from splitscan.scan.rejects import OnReject, OnRejects, one_by_one
from splitscan.scan.spec import ScanSpec


class MessageReader:
    """Reads the messages of one range: every one is a row, unless it is broken and the mode drops it.

    A value that is null is a row of nulls.

    Args:
        reading: The connection, which stays open for the next range.
        losses: Told of values with bytes that are no UTF-8.
    """

    def __init__(self, spec: MessageSpec, wanted: MessageRange, reading: MessageReading, losses: RejectCounter) -> None:
        self._spec = spec
        self._wanted = wanted
        self._reading = reading
        self._losses = losses
        encoding, values = spec.values.options.format.text_encoding, spec.values
        is_looked_at = values.are_texts and not needs_no_value(values, validate=False)
        self._are_utf8 = is_looked_at and encoding is not None and resolve_encoding(encoding) == UTF_8
        self._portions: Iterator[list[Any]] = iter(())

    def open(self, negotiator: SchemaNegotiator) -> bool:
        """Say which columns there are; the connection is made with the first message."""
        self._read_values = values_reader(self._spec.values, str(self._wanted.source))
        self._portions = self._reading.read(self._wanted)
        negotiator.table_schema(self._spec.schema)
        return True

    def next(self, loader: ResultSetLoader) -> bool:
        messages = next(self._portions, None)
        if messages is None:
            return False
        values = [message.value() for message in messages]
        if self._are_utf8:
            self._take_texts(messages, values)
        rows = self._read_values(values)
        if rows.rejects is not None:
            numbers = rows.rejects.offsets
            offsets = np.array([messages[number].offset() for number in numbers.tolist()], dtype=np.int64)
            loader.reject_records(rows.rejects.at(offsets))
            dropped = set(numbers[~rows.rejects.delivered].tolist())
            messages = [message for number, message in enumerate(messages) if number not in dropped]
        loader.append(self._with_columns_beside(rows.batch, messages), origin=Origin(offset=_Offsets(messages)))
        return True

    def close(self) -> None:
        self._portions = iter(())

    def _take_texts(self, messages: Sequence[Any], values: Sequence[bytes | None]) -> None:
        if is_utf8(b"\n".join(filter(None, values))):
            return
        odd = [
            message.offset() for message, value in zip(messages, values, strict=True) if value and not is_utf8(value)
        ]
        self._losses.take_oddities([OddRecords(NOT_UTF8, len(odd), str(self._wanted.source), odd[0], "offset")])

    def _with_columns_beside(self, values: pa.RecordBatch, messages: Sequence[Any]) -> pa.RecordBatch:
        schema, beside = self._spec.schema, self._spec.kafka.metadata_columns
        arrays = [message_column(name, messages) if name in beside else values.column(name) for name in schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=schema) if arrays else rows_without_columns(values.num_rows)


class _Offsets(Sequence[int]):
    """Offsets of messages, which are asked for when an error has to name a place."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, row: Any) -> Any:
        return self._messages[row].offset()


def scan_messages(
    spec: MessageSpec,
    ranges: Iterable[MessageRange],
    on_reject: OnReject | None = None,
    make_consumer: Callable[[], Any] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read blocks of messages, one after the other, in order.

    Args:
        on_reject: Called for every message that breaks a rule, in order; its ``offset`` is that of the message. Without
            one a warning says how many there are, and which is the first, as of those that are no UTF-8 in any case.

    Raises:
        SourceError: If messages cannot be read, or are gone.
        RecordError: In mode FAILFAST, for the first message that breaks a rule.
        SchemaError: If a column that must not be null is.
    """
    losses = RejectCounter(spec.values.options, of_messages=True)
    take = _counting(spec.values, losses) if on_reject is None else one_by_one(on_reject)
    try:
        with closing(MessageReading(spec.kafka, make_consumer)) as reading:
            plans = (
                ReaderPlan(
                    make=partial(MessageReader, spec, wanted, reading, losses),
                    split=_as_block(wanted),
                    name=None,
                    options=spec.values.options,
                )
                for wanted in ranges
            )
            bounds = spec.values.options.reading
            plan = OutputPlan(
                spec.schema,
                mode=bounds.mode,
                batch_rows=bounds.batch_rows,
                batch_bytes=bounds.batch_bytes,
                empty_result=False,
            )
            yield from ScanOperator(plan, plans, take)
    finally:
        losses.report()


def _counting(spec: ScanSpec, losses: RejectCounter) -> OnRejects:
    """Count those that are rows which do not show it: no others are lost in silence."""
    is_told = spec.shows_faults or spec.delivers_no_value

    def take(rejects: Sequence[Reject]) -> None:
        delivered = [reject for reject in rejects if reject.delivered]
        if delivered and not is_told:
            losses.take_delivered(len(delivered), lambda: delivered[0])

    return take


def _as_block(wanted: MessageRange) -> BlockMetadata:
    """A range as error messages show it."""
    file = FileMetadata(str(wanted.source), wanted.stop, 0, "", str(wanted.source))
    return BlockMetadata(file, wanted.start, wanted.stop, 0)
