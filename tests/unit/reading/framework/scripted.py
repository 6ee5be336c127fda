"""A reader that does what a test tells it to, and writes down what was done to it."""

from __future__ import annotations

import copy
from typing import Any

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata, Reject
from splitscan.formats.registry import parse_options
from splitscan.reading.framework import OutputPlan, ReaderPlan, ScanOperator
from splitscan.reading.rejects import one_by_one
from splitscan.testing.faults import MemorySource

A = pa.schema([("a", pa.int64())])
AB = pa.schema([("a", pa.int64()), ("b", pa.string())])


class Scripted:
    """Gives one step of its script in every ``next``: data to append, an exception to raise, or a function.

    Args:
        steps: The script; after the last step ``next`` returns False.
        schema: Declared in ``open``.
        opens: What ``open`` returns, or raises.
        closes: What ``close`` raises.
        eof_with_data: Whether the last step comes with False.
        log: Where calls are written down.
        name: What messages call it.
    """

    def __init__(
        self,
        *steps: Any,
        schema: pa.Schema | None = None,
        opens: Any = True,
        closes: Exception | None = None,
        eof_with_data: bool = False,
        log: list[str] | None = None,
        name: str = "scripted",
        complete: bool = True,
    ) -> None:
        self.steps = list(steps)
        self.schema_ = schema
        self.opens, self.closes, self.eof_with_data = opens, closes, eof_with_data
        self.log = [] if log is None else log
        self.name = name
        self.complete = complete

    def open(self, negotiator: Any) -> Any:
        self.log.append(f"{self.name} open")
        self.negotiator = negotiator
        if self.schema_ is not None:
            negotiator.table_schema(self.schema_, complete=self.complete)
        if isinstance(self.opens, Exception):
            raise self.opens
        return self.opens(negotiator) if callable(self.opens) else self.opens

    def next(self, loader: Any) -> Any:
        self.log.append(f"{self.name} next")
        self.loader = loader
        if not self.steps:
            return False
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        if callable(step):
            answer = step(loader)
            return answer if isinstance(answer, bool) else True
        loader.append(step)
        return bool(self.steps) or not self.eof_with_data

    def close(self) -> None:
        self.log.append(f"{self.name} close")
        if self.closes is not None:
            raise self.closes


def operator(reader: Scripted, schema: pa.Schema | None = None, on_reject: Any = None, **plan: Any) -> ScanOperator:
    """A scan of a scripted reader; without a schema, of the columns that a copy of it shows."""
    take = None if on_reject is None else one_by_one(on_reject)
    known = shown_by(reader) if schema is None else schema
    return ScanOperator(OutputPlan(known, **plan), plan_of(reader), take)


def shown_by(reader: Scripted, **plan: Any) -> pa.Schema:
    """The columns that a copy of a reader shows."""
    again = copy.copy(reader)
    again.steps, again.log = list(reader.steps), []
    return ScanOperator(OutputPlan(None, **plan), plan_of(again)).find_schema()


def plan_of(reader: Scripted, **constants: pa.Scalar) -> ReaderPlan:
    """A plan to run a reader."""
    return ReaderPlan(reader, split(), lambda: MemorySource(b""), parse_options("text", {}), constants)


def split(path: str = "/data/x.log", start: int = 0, stop: int = 100) -> BlockMetadata:
    return BlockMetadata(FileMetadata(path, 100, 0, "v1", "x.log"), start, stop, 0)


def rows(scan: ScanOperator) -> list[dict[str, Any]]:
    """All rows, whatever batches they come in."""
    return [row for batch in scan for row in batch.to_pylist()]


def load(
    *steps: Any, schema: pa.Schema | None = None, declared: pa.Schema | None = None, **plan: Any
) -> tuple[list[dict[str, Any]], list[Reject]]:
    """What one reader with this script gives: its rows and its rejects."""
    rejects: list[Reject] = []
    return rows(operator(Scripted(*steps, schema=declared), schema, rejects.append, **plan)), rejects
