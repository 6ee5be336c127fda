"""Reads of planning: the boundary index and the columns, as Spark jobs or by the process that reads."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.archives.opening import open_listed
from splitscan.content.storage import check_unchanged
from splitscan.formats.framing.contract import RecordFormat, Splittability
from splitscan.formats.framing.frames import Run, Summary
from splitscan.options import OnFileChange, ReadOptions
from splitscan.reading.block_reader import FramedRecords
from splitscan.reading.boundaries import Piece
from splitscan.reading.contents import open_content
from splitscan.scans import Indexer, IndexTask, fill_index
from splitscan.scans.cutting import split_file
from splitscan.scans.index import Summarised, index_here
from splitscan.scans.inference import WORKERS_HERE, Workers
from splitscan.sizes import MIB
from splitscan.spark.contexts import is_local
from splitscan.spark.jobs import default_parallelism, run_tasks

MIN_JOB_BYTES = 64 * MIB
"""Below this the driver is done before a Spark job has started."""

T = TypeVar("T")
_TASKS_PER_SLOT = 4  # a few rounds even out blocks that are slower than others


def spark_indexer(spark: SparkSession, *, min_job_bytes: int | None = None) -> Indexer:
    """An indexer that runs summaries as one Spark job, or on the driver's cores where a job gains nothing.

    Args:
        spark: The session.
        min_job_bytes: Below this many bytes there is no job. By default :data:`MIN_JOB_BYTES`; and with a local master,
            whose tasks would run on the very cores of the driver, there is never one.
    """

    def run(tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        if not _is_worth_a_job(spark, [task.block for task in tasks], min_job_bytes):
            return index_here(tasks)
        return map(read_answer, _run_in_job(spark, _plain_summary, tasks))

    return run


def spark_workers(spark: SparkSession, *, min_job_bytes: int | None = None) -> Workers:
    """Those who look for columns: tasks of a Spark job, or the driver's cores where a job gains nothing.

    Args:
        spark: The session.
        min_job_bytes: As for :func:`spark_indexer`.
    """

    def run(work: Callable[[BlockMetadata], Any], blocks: Sequence[BlockMetadata]) -> Iterable[Any]:
        if not _is_worth_a_job(spark, blocks, min_job_bytes):
            return WORKERS_HERE.run(work, blocks)
        return _run_in_job(spark, work, blocks)

    return Workers(run, spark_indexer(spark, min_job_bytes=min_job_bytes))


def _is_worth_a_job(spark: SparkSession, blocks: Sequence[BlockMetadata], min_job_bytes: int | None) -> bool:
    if sum(block.cost_bytes for block in blocks) < (MIN_JOB_BYTES if min_job_bytes is None else min_job_bytes):
        return False
    return min_job_bytes is not None or not is_local(spark)


def _run_in_job(spark: SparkSession, work: Callable[[T], Any], items: Sequence[T]) -> Iterator[Any]:
    """Answers of *work* for each item, JSON values, in order; some items in each task."""
    count = min(len(items), _TASKS_PER_SLOT * default_parallelism(spark))
    bounds = [len(items) * number // count for number in range(count + 1)]
    payloads = [cloudpickle.dumps((work, items[start:stop])) for start, stop in pairwise(bounds)]  # type: ignore[no-untyped-call]
    return (answer for answers in run_tasks(spark, payloads, _work) for answer in answers)


def _work(payload: bytes) -> list[Any]:
    work, items = pickle.loads(payload)
    return [work(item) for item in items]


def _plain_summary(task: IndexTask) -> list[list[Any]] | None:
    return plain_answer(task.run())


def plain_answer(pieces: Summarised) -> list[list[Any]] | None:
    """Answer of an index task, as JSON values."""
    return None if pieces is None else [_plain_piece(piece) for piece in pieces]


def read_answer(plain: list[list[Any]] | None) -> Summarised:
    """The inverse of :func:`plain_answer`."""
    return None if plain is None else [_read_piece(piece) for piece in plain]


def _plain_piece(piece: Piece) -> list[Any]:
    runs = [
        None if run is None else [run.state, run.first, run.last, run.marked, run.records] for run in piece.summary.runs
    ]
    return [piece.start, piece.stop, piece.mark, piece.summary.length_bytes, runs, piece.suspect]


def _read_piece(plain: list[Any]) -> Piece:
    start, stop, mark, length_bytes, runs, suspect = plain
    summary = Summary(length_bytes, tuple(None if run is None else Run(*run) for run in runs))
    return Piece(start, stop, mark, summary, suspect)


CELL_BYTES = 16 * MIB
"""Distance between the offsets of a file whose first record starts are remembered."""

_CACHED_FILES = 64


def index_in_turn(tasks: Sequence[IndexTask]) -> Iterator[Summarised]:
    """Run index tasks one after the other: a Spark task has one core."""
    return map(IndexTask.run, tasks)


def find_first_start(
    block: BlockMetadata, format: RecordFormat, options: ReadOptions, cell_bytes: int = CELL_BYTES
) -> BlockMetadata:
    """Give a block of a context format its first record start, exactly.

    Other blocks, and those that have it, stay as they are. The first block of a file in a process costs one counting
    pass over the file, which is remembered; each block then costs framing of at most *cell_bytes*.

    Args:
        block: Any range of a file.
        format: How records are found.
        options: As for reading.
        cell_bytes: Distance between remembered offsets.

    Raises:
        SourceError: If the file cannot be read or has changed.
    """
    known = block.start == 0 or block.first_record_start is not None
    if known or format.splittability is not Splittability.CONTEXT:
        return block
    configuration: Any = format  # formats are hashable: part of their contract
    cell = _cells(block.file, configuration, options, cell_bytes)[block.start // cell_bytes]
    first = cell.first_record_start
    if first is not None and first >= block.start:
        return block.starting_at(first)
    source = open_content(block, options.files, format)
    try:
        reader = FramedRecords(
            source,
            BlockMetadata(block.file, cell.start, block.start, cell.index, first),
            format,
            max_record_bytes=options.reading.max_record_bytes,
            read_bytes=options.reading.read_bytes,
        )
        for _ in reader:
            pass
        return block.starting_at(reader.span.stop)
    finally:
        source.close()


@functools.lru_cache(maxsize=_CACHED_FILES)
def _cells(file: FileMetadata, format: Any, options: ReadOptions, cell_bytes: int) -> tuple[BlockMetadata, ...]:
    """The file in cells, each with its first record start; the key holds the fingerprint."""
    if options.files.on_file_change is OnFileChange.FAIL:
        source = open_listed(file, options.files.storage_options)
        try:
            check_unchanged(file, source)
        finally:
            source.close()
    return tuple(fill_index(list(split_file(file, cell_bytes)), format, options, index_in_turn))
