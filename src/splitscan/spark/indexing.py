"""The boundary index on Spark: blocks are summarised in parallel, composed in the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from splitscan.formats.framing.frames import Run, Summary
from splitscan.read.pieces import Piece
from splitscan.scan import Indexer, IndexTask
from splitscan.scan.planning import Summarised, index_here
from splitscan.sizes import MIB
from splitscan.spark.jobs import default_parallelism, is_local, run_tasks

MIN_JOB_BYTES = 64 * MIB
"""Below this the driver is done before a Spark job has started."""

_TASKS_PER_SLOT = 4  # a few rounds even out blocks that are slower than others


def spark_indexer(spark: SparkSession, *, min_job_bytes: int | None = None) -> Indexer:
    """An indexer that runs summaries as one Spark job, or on the driver's cores where a job gains nothing.

    Args:
        spark: The session.
        min_job_bytes: Below this many bytes there is no job. By default :data:`MIN_JOB_BYTES`; and with a local master,
            whose tasks would run on the very cores of the driver, there is never one.
    """

    def run(tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        least_bytes = MIN_JOB_BYTES if min_job_bytes is None else min_job_bytes
        is_small = sum(task.block.length_bytes for task in tasks) < least_bytes
        if is_small or (min_job_bytes is None and is_local(spark)):
            return index_here(tasks)
        count = min(len(tasks), _TASKS_PER_SLOT * default_parallelism(spark))
        bounds = [len(tasks) * number // count for number in range(count + 1)]
        payloads = [cloudpickle.dumps(list(tasks[start:stop])) for start, stop in pairwise(bounds)]  # type: ignore[no-untyped-call]
        answers = run_tasks(spark, payloads, _summarise)
        return (read_answer(plain) for answer in answers for plain in answer)

    return run


def _summarise(payload: bytes) -> list[list[list[Any]] | None]:
    tasks: list[IndexTask] = pickle.loads(payload)
    return [plain_answer(task.run()) for task in tasks]


def plain_answer(pieces: Summarised) -> list[list[Any]] | None:
    """What an index task answers, as JSON values."""
    return None if pieces is None else [_plain_piece(piece) for piece in pieces]


def read_answer(plain: list[list[Any]] | None) -> Summarised:
    """The inverse of :func:`plain_answer`."""
    return None if plain is None else [_read_piece(piece) for piece in plain]


def _plain_piece(piece: Piece) -> list[Any]:
    runs = [
        None if run is None else [run.state, run.first, run.last, run.marked, run.records] for run in piece.summary.runs
    ]
    return [piece.start, piece.stop, piece.mark, piece.summary.length_bytes, runs]


def _read_piece(plain: list[Any]) -> Piece:
    start, stop, mark, length_bytes, runs = plain
    summary = Summary(length_bytes, tuple(None if run is None else Run(*run) for run in runs))
    return Piece(start, stop, mark, summary)
