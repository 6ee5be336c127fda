"""The kernel's loop over a block beside the reference's, in Python: what both give, compared."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from splitscan.blocks import BlockMetadata, Reject
from splitscan.errors import SplitscanError
from splitscan.reading.block_documents import scan_document
from splitscan.reading.block_request import BlockReader, BlockRequest
from splitscan.reading.given_up import RejectCounter
from splitscan.reading.kernel_reader import KernelBlockReader
from splitscan.reading.record_reader import RecordBlockReader
from splitscan.reading.spec import ScanSpec


def read(reader: BlockReader, rejects: list[Reject]) -> Any:
    """What a reader gives, all of it, or how it fails."""
    try:
        rows = [row for batch in reader for row in batch.to_pylist()]
    except SplitscanError as error:
        return type(error), error.rule, error.where, error.seen, error.fix, error.reason_code
    return rows, reader.result, list(rejects)


def count(reader: BlockReader) -> Any:
    try:
        return reader.count()
    except SplitscanError as error:
        return type(error), error.rule, error.where, error.seen, error.fix, error.reason_code


def both(spec: ScanSpec, block: BlockMetadata, limit: int | None = None, told: bool = True) -> Any:
    """Read a block by both loops; the rows, the report and the rejects, or the error, that both give."""
    found = []
    for open_one in (RecordBlockReader, by_kernel):
        rejects: list[Reject] = []
        losses = RejectCounter(spec.options)
        wanted = {"on_reject": rejects.extend} if told else {"losses": losses}
        reader = open_one(BlockRequest(spec, block, with_digest=True, limit=limit, **wanted))
        answer = read(reader, rejects)
        found.append((answer, warnings_of(losses), count(open_one(BlockRequest(spec.select(()), block)))))
    assert repr(found[1]) == repr(found[0])  # a NaN is itself here, and minus zero is no zero
    return found[0][0]


def warnings_of(losses: RejectCounter) -> list[str]:
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.Logger, "handle", lambda _, record: said.append(record.getMessage()))
        losses.report()
    return said


def by_kernel(request: BlockRequest) -> KernelBlockReader:
    document = scan_document(request.spec)
    assert document is not None
    return KernelBlockReader(request, document)
