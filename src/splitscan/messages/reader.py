"""Blocks of messages as rows, and as record batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from splitscan.blocks import Reject
from splitscan.errors import SchemaError, SourceError, SplitscanError, Where
from splitscan.formats.framing.encodings import UTF_8, resolve_encoding
from splitscan.messages.decoding import ReadValues, values_reader
from splitscan.messages.kafka import (
    KafkaCluster,
    MessageRange,
    client_module,
    consumer_settings,
    failed,
    make_client,
    mask,
    report_loss,
)
from splitscan.messages.spec import MessageSpec, message_column
from splitscan.options import Mode
from splitscan.options.sources import KafkaOptions
from splitscan.reading.block_request import failed_to_read
from splitscan.reading.decoders import needs_no_value
from splitscan.reading.framework.batching import SMALL_ROWS, join_batches
from splitscan.reading.framework.columns import first_row, forbidden_null, has_forbidden_null, is_required_somewhere
from splitscan.reading.framework.conform import rows_without_columns
from splitscan.reading.given_up import RejectCounter
from splitscan.reading.oddities import NOT_UTF8, OddRecords, is_utf8
from splitscan.reading.rejects import OnReject, OnRejects, RejectBatch, failed_fast, one_by_one
from splitscan.reading.spec import ScanSpec
from splitscan.sizes import MIB

_POLL_SECONDS = 0.1  # the library waits so long for a full portion, so it is the price of a gap at the end of a range
_FIRST_PORTION = 100  # messages, before anything is known of their length
_LARGEST_PORTION = 10_000  # messages: more at a time are no faster
_PORTION_BYTES = 8 * MIB  # of values that are held as objects at a time

# What the library gets over by itself, with nothing skipped. After any other error it may go on with a later message.
_PASSING = (
    "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "_WAIT_CACHE", "_MAX_POLL_EXCEEDED",
    "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE",
    "REPLICA_NOT_AVAILABLE", "NETWORK_EXCEPTION", "KAFKA_STORAGE_ERROR", "OFFSET_NOT_AVAILABLE", "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
)  # fmt: skip


class MessageReading:
    """Reads blocks of messages, one after the other, through one connection.

    Thread safety: none.
    """

    def __init__(self, options: KafkaOptions, make_consumer: Callable[[], Any] | None = None) -> None:
        self._options = options
        settings = consumer_settings(options)
        self._make = make_consumer or partial(make_client, "Consumer", "confluent_kafka", options, settings)
        self._consumer: Any = None

    def read(self, wanted: MessageRange) -> Iterator[list[Any]]:
        """The messages of a range in portions, by offset: objects of the client library, none of which is an error.

        Guarantees: every message that the cluster still has and whose offset lies in the range, once. Where offsets of
        the range have no message (compaction, transactions), there is none. Brokers may come and go meanwhile.

        Raises:
            SourceError: ``[kafka-data-loss]`` if messages are gone and ``failOnDataLoss`` is on; ``[kafka-failed]`` if
                the brokers are silent for too long, or refuse.
        """
        library = client_module()
        self._consumer = consumer = self._consumer or self._make()
        position = wanted.start
        consumer.assign([library.TopicPartition(*wanted.source, position)])
        portion, heard = _FIRST_PORTION, time.monotonic()
        while position < wanted.stop:
            got = self._poll(consumer, min(portion, wanted.stop - position), wanted)
            messages = [message for message in got if message.error() is None and message.offset() >= position]
            if messages:
                heard = time.monotonic()
                position = messages[-1].offset() + 1
                if position > wanted.stop:
                    messages = [message for message in messages if message.offset() < wanted.stop]
                if messages:
                    yield messages
                    heard = time.monotonic()  # whoever takes messages may be slow, and that is no silence
                    portion = _next_portion(messages)
            for message in got:
                if message.error() is not None:
                    following = self._after_event(consumer, message, wanted, position)
                    heard = heard if following == position else time.monotonic()
                    position = following
            if position < wanted.stop and time.monotonic() - heard > self._options.poll_timeout_ms / 1000:
                raise self._silent(wanted, position)

    def close(self) -> None:
        """End the connection. Calling it again does nothing."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    # ---------------------------------------------------------------- inside

    def _poll(self, consumer: Any, most: int, wanted: MessageRange) -> list[Any]:
        try:
            got: list[Any] = consumer.consume(most, _POLL_SECONDS)
        except client_module().KafkaException as error:
            raise failed("messages", error, self._options, Where(str(wanted.source), wanted.start)) from None
        return got

    def _after_event(self, consumer: Any, event: Any, wanted: MessageRange, position: int) -> int:
        """Offset after an event that is no message."""
        error, codes = event.error(), client_module().KafkaError
        if error.code() == codes._PARTITION_EOF:  # noqa: SLF001 - the library's name for it
            return max(position, min(int(event.offset()), wanted.stop))
        if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):  # noqa: SLF001 - the same
            return self._after_loss(consumer, wanted, position)
        if error.fatal() or error.code() not in _passing(codes):
            raise failed("messages", error.str(), self._options, Where(str(wanted.source), position))
        return position

    def _after_loss(self, consumer: Any, wanted: MessageRange, position: int) -> int:
        """Offset *position* is not there: what is after it may be."""
        cluster = KafkaCluster(self._options)
        low, high = (ask([wanted.source])[wanted.source] for ask in (cluster.earliest, cluster.latest))
        seen = f"offsets [{low}, {high}) of the block's [{position}, {wanted.stop})"
        report_loss(self._options, wanted.source, position, seen)
        following = min(low, wanted.stop) if low > position else wanted.stop
        if following < wanted.stop:
            consumer.assign([client_module().TopicPartition(*wanted.source, following)])
        return following

    def _silent(self, wanted: MessageRange, position: int) -> SourceError:
        seconds = self._options.poll_timeout_ms / 1000
        return SourceError(
            f"no message came for {seconds:g} s (kafkaConsumer.pollTimeoutMs), and the block is not read to its end",
            Where(str(wanted.source), position, (wanted.start, wanted.stop)),
            mask(f"silence of {self._options.bootstrap_servers}", self._options),
            "see that the brokers can be reached from the workers, and still have these offsets; or raise the option",
            "kafka-failed",
        )


def _passing(codes: Any) -> frozenset[int]:
    return frozenset(getattr(codes, name) for name in _PASSING if hasattr(codes, name))


def _next_portion(messages: list[Any]) -> int:
    """How many messages of this length to ask for next."""
    average = max(1, sum(map(len, messages)) // len(messages))
    return max(1, min(_LARGEST_PORTION, _PORTION_BYTES // average))


class MessageReader:
    """Reads the messages of one range: every one is a row, unless it is broken and the mode drops it.

    A value that is null is a row of nulls.

    Args:
        reading: The connection, which stays open for the next range. It is made with the first message.
        on_rejects: Given the messages that break a rule.
        losses: Told of values with bytes that are no UTF-8.
    """

    def __init__(
        self,
        spec: MessageSpec,
        wanted: MessageRange,
        reading: MessageReading,
        on_rejects: OnRejects,
        losses: RejectCounter,
    ) -> None:
        self._spec = spec
        self._wanted = wanted
        self._reading = reading
        self._on_rejects = on_rejects
        self._losses = losses
        encoding, values = spec.values.options.format.text_encoding, spec.values
        is_looked_at = values.are_texts and not needs_no_value(values, validate=False)
        self._are_utf8 = is_looked_at and encoding is not None and resolve_encoding(encoding) == UTF_8
        self._required = [(i, field) for i, field in enumerate(spec.schema) if is_required_somewhere(field)]
        self._fails = values.options.reading.mode is Mode.FAILFAST
        self._rows = 0
        self._last: int | None = None  # offset of the message that was read last

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            read_values = values_reader(self._spec.values, str(self._wanted.source))
            for messages in self._reading.read(self._wanted):
                yield self._rows_of(messages, read_values)
        except SplitscanError as error:
            error.locate(self._where(self._last))
            raise
        except (pa.ArrowException, OSError) as error:
            raise failed_to_read(error, self._where(self._last)) from error

    def _rows_of(self, messages: Sequence[Any], read_values: ReadValues) -> pa.RecordBatch:
        values = [message.value() for message in messages]
        if self._are_utf8:
            self._take_texts(messages, values)
        rows = read_values(values)
        if rows.rejects is not None:
            numbers = rows.rejects.offsets
            offsets = np.array([messages[number].offset() for number in numbers.tolist()], dtype=np.int64)
            self._take_rejects(rows.rejects.at(offsets))
            dropped = set(numbers[~rows.rejects.delivered].tolist())
            messages = [message for number, message in enumerate(messages) if number not in dropped]
        batch = self._with_columns_beside(rows.batch, messages)
        for index, field in self._required:
            if has_forbidden_null(batch.column(index), field):
                raise self._null_in(batch.column(index), field, messages)
        self._rows += len(messages)
        self._last = messages[-1].offset() if messages else self._last
        return batch

    def _take_rejects(self, rejects: RejectBatch) -> None:
        if self._fails and len(rejects):
            raise failed_fast(rejects[0], self._where(rejects[0].offset))
        self._on_rejects(rejects)

    def _null_in(self, column: pa.Array, field: pa.Field, messages: Sequence[Any]) -> SchemaError:
        row = first_row(column, lambda some: has_forbidden_null(some, field))
        number = self._rows + row
        where = self._where(messages[row].offset(), field.name, number)
        return forbidden_null(field, where, f"{number} of what was read")

    def _where(self, offset: int | None, column: str | None = None, row: int | None = None) -> Where:
        wanted = self._wanted
        return Where(str(wanted.source), offset, (wanted.start, wanted.stop), column, row=row)

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
            readers = (MessageReader(spec, wanted, reading, take, losses) for wanted in ranges)
            bounds = spec.values.options.reading
            yield from join_batches(chain.from_iterable(readers), bounds.batch_rows, bounds.batch_bytes, SMALL_ROWS)
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
