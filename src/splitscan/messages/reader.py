"""Blocks of messages as rows, and as record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.formats.decoding.contract import Decoded
from splitscan.messages.decoding import values_decoder
from splitscan.messages.kafka import MessageRange, MessageReading
from splitscan.messages.spec import MessageSpec, message_column
from splitscan.options import Mode
from splitscan.read.cursor import RAW_BYTES
from splitscan.scan.framework import Origin, OutputPlan, ReaderPlan, ResultSetLoader, ScanOperator, SchemaNegotiator
from splitscan.scan.framework.columns import prune_array
from splitscan.scan.framework.conform import rows_without_columns
from splitscan.scan.rejects import OnReject, RejectBatch, one_by_one, reason_array


class MessageReader:
    """Reads the messages of one range: every one is a row, unless it is broken and the mode drops it.

    A value that is null is a row of nulls.

    Args:
        spec: What to deliver.
        wanted: What to read.
        reading: The connection, which stays open for the next range.
    """

    def __init__(self, spec: MessageSpec, wanted: MessageRange, reading: MessageReading) -> None:
        self._spec = spec
        self._wanted = wanted
        self._reading = reading
        self._portions: Iterator[list[Any]] = iter(())

    def open(self, negotiator: SchemaNegotiator) -> bool:
        """Say which columns there are; the connection is made with the first message."""
        self._decode = values_decoder(self._spec.values, str(self._wanted.source))
        self._portions = self._reading.read(self._wanted)
        negotiator.table_schema(self._spec.schema)
        return True

    def next(self, loader: ResultSetLoader) -> bool:
        messages = next(self._portions, None)
        if messages is None:
            return False
        values = [message.value() for message in messages]
        decoded = self._decode(values)
        keep = self._report_faults(messages, values, decoded, loader)
        batch = self._assemble(messages, values, decoded)
        if keep is not None:
            batch = batch.filter(pa.array(keep))
            messages = [messages[index] for index in np.flatnonzero(keep).tolist()]
        loader.append(batch, origin=Origin(offset=_Offsets(messages)))
        return True

    def close(self) -> None:
        self._portions = iter(())

    # ---------------------------------------------------------------- inside

    def _report_faults(
        self, messages: Sequence[Any], values: Sequence[bytes | None], decoded: Decoded, loader: ResultSetLoader
    ) -> npt.NDArray[np.bool_] | None:
        """Report faults; say which messages are delivered (None: all)."""
        drops = self._spec.values.options.reading.mode is Mode.DROPMALFORMED
        faults = decoded.faults
        if not faults:
            return None
        delivered = ~faults.structural if drops else np.ones(len(faults), dtype=np.bool_)
        records = faults.records.tolist()
        broken = [values[record] or b"" for record in records]
        offsets = np.array([messages[record].offset() for record in records], dtype=np.int64)
        lengths = np.array([len(value) for value in broken], dtype=np.int64)
        raw = pa.array([value[:RAW_BYTES] for value in broken], pa.binary())
        loader.reject_records(RejectBatch(str(self._wanted.source), offsets, lengths, faults, raw, delivered))
        keep = np.ones(decoded.rows, dtype=np.bool_)
        keep[faults.records] = delivered
        return None if keep.all() else keep

    def _assemble(self, messages: Sequence[Any], values: Sequence[bytes | None], decoded: Decoded) -> pa.RecordBatch:
        schema, spec = self._spec.schema, self._spec.values
        names = [spec.fields.field(index).name for index in spec.validated]
        data = dict(zip(names, decoded.columns, strict=True))
        beside = self._spec.kafka.metadata_columns
        arrays = []
        for field in schema:
            if field.name in beside:
                arrays.append(message_column(field.name, messages))
            elif field.name in data:
                arrays.append(prune_array(data[field.name], field.type))
            elif field.name == spec.corrupt_column:
                arrays.append(_broken_texts(values, decoded))
            elif field.name == spec.reason_column:
                arrays.append(reason_array(decoded.faults, decoded.rows))
            else:
                kept = decoded.rescued
                arrays.append(pa.nulls(decoded.rows, pa.string()) if kept is None else kept)
        return pa.RecordBatch.from_arrays(arrays, schema=schema) if arrays else rows_without_columns(decoded.rows)


class _Offsets(Sequence[int]):
    """Offsets of messages, which are asked for when an error has to name a place."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, row: Any) -> Any:
        return self._messages[row].offset()


def _broken_texts(values: Sequence[bytes | None], decoded: Decoded) -> pa.Array:
    texts: list[str | None] = [None] * decoded.rows
    for record in decoded.faults.records.tolist():
        texts[record] = (values[record] or b"").decode("utf-8", "replace")
    return pa.array(texts, pa.string())


def scan_messages(
    spec: MessageSpec,
    ranges: Iterable[MessageRange],
    on_reject: OnReject | None = None,
    make_consumer: Callable[[], Any] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read blocks of messages, one after the other, in order.

    Args:
        spec: What to deliver.
        ranges: What to read.
        on_reject: Called for every message that breaks a rule, in order; its ``offset`` is that of the message.
        make_consumer: Makes the consumer; the client library's by default.

    Raises:
        SourceError: If messages cannot be read, or are gone.
        RecordError: In mode FAILFAST, for the first message that breaks a rule.
        SchemaError: If a column that must not be null is.
    """
    with closing(MessageReading(spec.kafka, make_consumer)) as reading:
        plans = (
            ReaderPlan(
                make=partial(MessageReader, spec, wanted, reading),
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
        yield from ScanOperator(plan, plans, None if on_reject is None else one_by_one(on_reject))


def _as_block(wanted: MessageRange) -> BlockMetadata:
    """A range as error messages show it."""
    file = FileMetadata(str(wanted.source), wanted.stop, 0, "", str(wanted.source))
    return BlockMetadata(file, wanted.start, wanted.stop, 0)
