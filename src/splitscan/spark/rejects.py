"""The rejects of a scan as a DataFrame, found by Spark's tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from splitscan.blocks import UNKNOWN_END, BlockMetadata, Reject
from splitscan.content.storage import ByteSource
from splitscan.errors import UsageError
from splitscan.read.line_ends import CountingSource
from splitscan.scan import ScanPlanner, ScanSpec, scan_blocks
from splitscan.scan.rejects import REJECTED, counted_source, has_lines, reject_rows
from splitscan.spark.frames import plan_payloads, unpack_payload
from splitscan.spark.indexing import spark_workers
from splitscan.spark.interpreter import check_interpreter
from splitscan.spark.jobs import task_frame
from splitscan.spark.schemas import spark_schema
from splitscan.spark.time_zones import in_session_zone

_OF_PARTS = pa.schema([("_file", pa.string()), ("_start", pa.int64()), ("_is_part", pa.bool_()), ("_ends", pa.int64())])
_FOUND = pa.schema([*(field.with_nullable(True) for field in REJECTED), *_OF_PARTS])
"""Rows of rejects, whose lines count from a part of their file, and a row for each part that says how many it has."""


def rejects_frame(scan: ScanPlanner, spark: SparkSession) -> DataFrame:
    """The records of a scan that break a rule, in no order; columns and meaning as of ``scan.rejects()``.

    A task counts the line ends of what it reads; what it takes to number the lines of a whole file is added up by a
    shuffle of the rejects. ``line`` is null where conditions leave out blocks of a file, or a reader of the user's own
    opens its files itself.

    Raises:
        UsageError: ``[bad-limit]`` for a scan with a limit: which records count then depends on who reads first.
    """
    if scan.options.reading.limit is not None:
        raise UsageError(
            "rejects that Spark finds are those of all records", seen=f"limit={scan.options.reading.limit}",
            fix="leave the limit out; or call rejects() without a session", code="bad-limit",
        )  # fmt: skip
    check_interpreter(spark)
    scan = in_session_zone(scan, spark).found_by(spark_workers(spark))
    payloads, spec = plan_payloads(scan, spark), scan.spec
    counts_lines = has_lines(scan.options) and not scan.chooses_blocks
    if not payloads:
        return spark.createDataFrame([], spark_schema(REJECTED))

    def read(payload: bytes) -> Iterator[pa.RecordBatch]:
        return _TaskRejects(spec, counts_lines).read(unpack_payload(payload))

    found = task_frame(spark, payloads, read, spark_schema(_FOUND))
    before = Window.partitionBy("_file").orderBy("_start", "_is_part").rowsBetween(Window.unboundedPreceding, -1)
    line = f.col("line") + f.coalesce(f.sum("_ends").over(before), f.lit(0))
    numbered = found.withColumn("line", line) if counts_lines else found
    return numbered.where(~f.col("_is_part")).select(*REJECTED.names)


class _TaskRejects:
    """Finds the rejects of the blocks of one task, and counts line ends."""

    def __init__(self, spec: ScanSpec, counts_lines: bool) -> None:
        self._spec, self._counts_lines = spec, counts_lines
        self._path = ""
        self._part: CountingSource | None = None
        self._ready: list[pa.RecordBatch] = []
        self._stops: dict[tuple[str, int], int] = {}  # of blocks, where the last of those stops that follow each other

    def read(self, blocks: Sequence[BlockMetadata]) -> Iterator[pa.RecordBatch]:
        for block in reversed(blocks):
            path = block.file.path
            self._stops[path, block.start] = self._stops.get((path, block.stop), block.stop)
        watch = self._watch if self._counts_lines else None
        for _ in scan_blocks(self._spec, blocks, on_reject=self._take, watch=watch):
            yield from self._taken()
        self._end_part()
        yield from self._taken()

    def _taken(self) -> Iterator[pa.RecordBatch]:
        ready, self._ready = self._ready, []
        yield from ready

    def _watch(self, block: BlockMetadata, source: ByteSource) -> ByteSource:
        self._end_part()
        self._path = block.file.path
        if block.stop == UNKNOWN_END:  # it stays open for the blocks that follow
            block = replace(block, stop=self._stops[self._path, block.start])
        self._part = counted_source(block, source, is_whole=True)
        return self._part

    def _end_part(self) -> None:
        part, self._part = self._part, None
        if part is not None:
            place = _name(self._path), part.start, True, part.ends
            self._ready.append(_beside(reject_rows([]), place, 1))

    def _take(self, rejects: Sequence[Reject]) -> None:
        for some in _by_file(rejects):
            part = self._part if some[0].path == self._path else None
            lines = [None if part is None else 1 + part.before(reject.offset) for reject in some]
            rows = reject_rows(zip(some, lines, strict=True))
            start, count = 0 if part is None else part.start, len(some)
            place = _name(some[0].path), start, False, 0
            self._ready.append(_beside(rows, place, count))


def _beside(rows: pa.RecordBatch, place: tuple[str, int, bool, int], count: int) -> pa.RecordBatch:
    """Rows of rejects, or as many of nulls, with what says to which part of which file they belong."""
    own = rows.columns if rows.num_rows else [pa.nulls(count, field.type) for field in REJECTED]
    return pa.RecordBatch.from_arrays(
        [*own, *(pa.repeat(pa.scalar(each, field.type), count) for each, field in zip(place, _OF_PARTS, strict=True))],
        schema=_FOUND,
    )


def _by_file(rejects: Sequence[Reject]) -> Iterator[list[Reject]]:
    """Rejects, those of each file together."""
    found = list(rejects)
    edges = [index for index in range(1, len(found)) if found[index].path != found[index - 1].path]
    for start, stop in pairwise([0, *edges, len(found)]):
        if stop > start:
            yield found[start:stop]


def _name(path: str) -> str:
    """A name that tells files apart, and says nothing of their paths, which may hold secrets."""
    return hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
