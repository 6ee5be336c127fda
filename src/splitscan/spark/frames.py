"""Lazy DataFrames of a scan: its rows, their number, and its rejects."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, starmap

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from splitscan.blocks import UNKNOWN_END, BlockMetadata, Reject, read_blocks, write_blocks
from splitscan.content.storage import ByteSource
from splitscan.errors import UsageError
from splitscan.formats.decoding.ddl import as_schema
from splitscan.reading.block_documents import TaskDocuments, for_tasks
from splitscan.reading.block_scan import scan_blocks
from splitscan.reading.given_up import RowCount
from splitscan.reading.oddities import OddRecords
from splitscan.reading.opened_file import CountingSource
from splitscan.reading.rejects import REJECTED, counted_source, has_lines, reject_rows
from splitscan.reading.spec import ScanSpec
from splitscan.scans import ScanPlanner, count_blocks
from splitscan.spark.choice import connector_frame, why_python
from splitscan.spark.contexts import is_local
from splitscan.spark.indexing import spark_indexer, spark_workers
from splitscan.spark.jobs import default_parallelism, run_tasks, task_frame
from splitscan.spark.operators import Applied, BatchFunction, as_applied
from splitscan.spark.session import check_interpreter, for_spark, in_session_zone, spark_schema

_FASTEST = 1  # zlib level: the numbers of neighbouring blocks shrink well at any


def to_spark(
    scan: ScanPlanner,
    spark: SparkSession,
    rebalance: bool | None = None,
    apply: BatchFunction | None = None,
    apply_schema: str | pa.Schema | None = None,
) -> DataFrame:
    """A DataFrame of the rows of a scan.

    Files are listed, cut and, where the format needs it, indexed in this call; Spark reads when it runs the
    DataFrame, every block in one task. Each run reads the same blocks: a file that has changed since is an error
    (``onFileChange``), one that was added is not seen.

    Rows come in file order within a partition, and partitions in file order, as long as nothing shuffles. With a limit
    it is Spark that chooses which rows those are.
    There are as many partitions as the session runs tasks at a time, or up to four times as many, where there are bytes
    enough: a task that takes longer than the others then matters less.

    With *rebalance* there are as many as tasks run at a time, and a task that has nothing left takes over what another
    one has not begun to read; see ``docs/rebalancing.md``. Rows come in file order within what a task reads in one go.

    Args:
        scan: What to read.
        spark: The session, of Spark Connect too.
        rebalance: Whether to rebalance; by default option ``rebalance`` says so.
        apply: A function over the batches of a task, as for ``mapInArrow``, that runs where they are read. What it
            costs is then seen by rebalancing at once; after a ``mapInArrow`` megabytes of rows are already under way.
        apply_schema: DDL text or an Arrow schema: what *apply* returns.

    Raises:
        UsageError: If Spark's Python workers cannot import what they need, or *apply* comes with a limit, or alone.
        SourceError: If a file cannot be listed or read.
        SchemaError: If Spark has no type for a column.
    """
    scan = in_session_zone(scan, spark).found_by(spark_workers(spark))
    spec, limit = scan.spec, scan.options.reading.limit
    applied = as_applied(apply, as_schema(apply_schema), limit)
    schema = spark_schema(spec.schema if applied is None else applied.schema)
    is_claimed = limit != 0 and (scan.options.files.rebalance if rebalance is None else rebalance)
    frame, documents = None, TaskDocuments(spec)
    if limit != 0 and why_python(scan, spark, documents, rebalance=is_claimed, applies=applied is not None) is None:
        frame = connector_frame(scan, spark, schema, documents)
    if frame is None:
        check_interpreter(spark)
        frame = _claimed_frame(scan, spark, schema, applied) if is_claimed else None
    if frame is None:
        payloads = [] if limit == 0 else plan_payloads(scan, spark)
        frame = _static_frame(for_tasks(spec), payloads, spark, schema, applied)
    return frame if limit is None else frame.limit(limit)


def _claimed_frame(
    scan: ScanPlanner, spark: SparkSession, schema: StructType, applied: Applied | None
) -> DataFrame | None:
    """A DataFrame whose tasks claim what they read; ``None`` if there is nothing to read, or no coordinator."""
    from splitscan.rebalance.planning import plan_rebalance  # noqa: PLC0415 - loaded by who rebalances
    from splitscan.spark.coordination import ClaimedPartition, read_claimed, register_scan  # noqa: PLC0415 - the same

    plan = plan_rebalance(scan, default_parallelism(spark), spark_indexer(spark))
    registered = None if plan is None else register_scan(spark, plan.segments, plan.ranges)
    if plan is None or registered is None:
        return None
    spec, secrets = for_tasks(scan.spec), plan.secrets

    def read(payload: bytes) -> Iterator[pa.RecordBatch]:
        batches = read_claimed(spec, ClaimedPartition(registered, int(payload), secrets))
        return for_spark(batches if applied is None else applied(batches))

    return task_frame(spark, [b"%d" % number for number in range(len(plan.ranges))], read, schema)


def _static_frame(
    spec: ScanSpec, payloads: list[bytes], spark: SparkSession, schema: StructType, applied: Applied | None
) -> DataFrame:
    if not payloads:
        return spark.createDataFrame([], schema)

    def read(payload: bytes) -> Iterator[pa.RecordBatch]:
        batches = read_payload(spec, payload)
        return for_spark(batches if applied is None else applied(batches))

    return task_frame(spark, payloads, read, schema)


def count_rows(scan: ScanPlanner, spark: SparkSession) -> int:
    """Number of rows, counted in parallel by framing: no value is decoded, a few numbers per task come back.

    With a local master, whose tasks would run on the cores of the driver, it counts without a job, where it can.
    Equal to ``scan.count()`` in every mode.

    Raises:
        UsageError: If Spark's Python workers cannot import what they need.
        SourceError: If a file cannot be listed or read.
    """
    check_interpreter(spark)
    limit = scan.options.reading.limit
    if limit == 0:
        return 0
    slots = default_parallelism(spark)
    if is_local(spark) and scan.counts_here:
        return scan.count_rows()
    scan = scan.found_by(spark_workers(spark))

    def count_on_spark(spec: ScanSpec, blocks: Sequence[BlockMetadata]) -> list[RowCount]:
        tasks = [pack_payload(task) for task in scan.tasks(blocks, slots)]
        answers = run_tasks(spark, tasks, partial(_count_payload, for_tasks(spec)))
        return [RowCount(*answer)._replace(odd=tuple(starmap(OddRecords, answer[-1]))) for answer in answers]

    rows = scan.count_with(slots, spark_indexer(spark), count_on_spark)
    return rows if limit is None else min(rows, limit)


def _count_payload(spec: ScanSpec, payload: bytes) -> RowCount:
    return count_blocks(spec, unpack_payload(payload))


def plan_payloads(scan: ScanPlanner, spark: SparkSession) -> list[bytes]:
    """List, cut, index and pack: the payload of every Spark task. Blocks are held for one task at a time."""
    return [pack_payload(task) for task in scan.plan_tasks(default_parallelism(spark), spark_indexer(spark))]


def read_payload(spec: ScanSpec, payload: bytes) -> Iterator[pa.RecordBatch]:
    """Read the blocks of one task, up to the limit of *spec*; every batch has its schema."""
    return scan_blocks(spec, unpack_payload(payload), spec.options.reading.limit)


def pack_payload(blocks: Sequence[BlockMetadata]) -> bytes:
    """Write the blocks of one task; :func:`unpack_payload` gives equal blocks in the same order."""
    return zlib.compress(write_blocks(blocks), _FASTEST)


def unpack_payload(payload: bytes) -> list[BlockMetadata]:
    """Read the blocks of one task."""
    return read_blocks(zlib.decompress(payload))


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
