"""Blocks of messages as record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.messages.kafka import MessageRange, MessageReading
from splitscan.messages.reader import MessageReader
from splitscan.messages.spec import MessageSpec
from splitscan.scan.framework import OnReject, ReaderPlan, ScanOperator
from splitscan.scan.record_reader import output_plan


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
        plan = replace(output_plan(spec.values), schema=spec.schema)
        yield from ScanOperator(plan, plans, on_reject)


def _as_block(wanted: MessageRange) -> BlockMetadata:
    """What messages to people say of a range."""
    file = FileMetadata(str(wanted.source), wanted.stop, 0, "", str(wanted.source))
    return BlockMetadata(file, wanted.start, wanted.stop, 0)
