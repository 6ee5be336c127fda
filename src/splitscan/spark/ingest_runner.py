"""Tasks of an ingest on Spark: workers decode and write Parquet themselves; only small reports cross to the JVM."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import IngestError, RebalanceError, SplitscanError
from splitscan.jobs.division import Division
from splitscan.jobs.part_writing import WritePart, run_part
from splitscan.jobs.staging import OutputPart, PartReport, PartTarget
from splitscan.reading.block_documents import for_tasks
from splitscan.reading.spec import ScanSpec
from splitscan.rebalance.client import Claims
from splitscan.rebalance.ingest import ClaimedDivision, ClaimedRun, ClaimRunner, run_partition
from splitscan.rebalance.messages import CoordinatorAddress
from splitscan.rebalance.planning import RebalancePlan
from splitscan.rebalance.report import RebalanceReport
from splitscan.scans import ScanPlanner
from splitscan.scans.index import IndexTask, Summarised, index_here

T = TypeVar("T")


if TYPE_CHECKING:  # the session comes from the caller, so verifying and planning never load Spark
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


class _Tagging(NamedTuple):
    """How the jobs of a thread get a tag and lose it, and how those that have it are cancelled."""

    add: Callable[[str], object]
    remove: Callable[[str], object]
    cancel: Callable[[str], object]


class SparkRunner(ClaimRunner):
    """Runs parts on Spark: one Spark task per part.

    Args:
        spark: The session, or what starts one: for the first task, so that it never starts where nothing is to be done.
        index_here_bytes: Blocks of up to so many bytes are summarised in this process, sooner than Spark would start.
    """

    def __init__(self, spark: SparkSession | Callable[[], SparkSession], index_here_bytes: int = 0) -> None:
        self._given, self._index_here_bytes = spark, index_here_bytes
        self._started: SparkSession | None = None
        self._tag = f"splitscan-ingest-{os.urandom(8).hex()}"
        self._coordinators: dict[str, CoordinatorAddress] = {}

    @property
    def _spark(self) -> SparkSession:
        if self._started is None:
            self._started = self._given() if callable(self._given) else self._given
        return self._started

    @property
    def min_tasks(self) -> int:
        from splitscan.spark.jobs import default_parallelism  # noqa: PLC0415 -- Spark is optional

        return default_parallelism(self._spark)

    def index(self, tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        if sum(task.block.length_bytes for task in tasks) <= self._index_here_bytes:
            return index_here(tasks)
        from splitscan.spark.indexing import spark_indexer  # noqa: PLC0415 -- Spark is optional

        indexer = spark_indexer(self._spark)
        return self._run(lambda: indexer(tasks))

    def run(self, write_part: WritePart, target: PartTarget, parts: Sequence[OutputPart]) -> Iterable[PartReport]:
        from splitscan.spark.jobs import run_tasks  # noqa: PLC0415 -- Spark is optional

        payloads = [part.to_json() for part in parts]
        work = partial(_ingest, write_part, target)
        return [PartReport.from_json(text) for text in self._run(lambda: run_tasks(self._spark, payloads, work))]

    def divide_claimed(
        self, scan: ScanPlanner, files: Sequence[FileMetadata], blocks: Sequence[BlockMetadata] | None
    ) -> Division | None:
        from splitscan.spark.coordination import has_coordinator  # noqa: PLC0415 -- Spark is optional

        return ClaimedDivision(scan, files, blocks, self) if has_coordinator(self._spark) else None

    def register(self, plan: RebalancePlan) -> str:
        """Tell the coordinator what there is to claim.

        Raises:
            RebalanceError: ``[coordinator-lost]`` if there is none any more.
        """
        from splitscan.spark.coordination import register_scan  # noqa: PLC0415 -- Spark is optional

        registered = register_scan(self._spark, plan.segments, plan.ranges)
        if registered is None:
            raise RebalanceError(
                "the coordinator of a rebalanced ingest was there a moment ago", seen="it cannot be reached any more",
                fix="run again, with or without rebalancing", code="coordinator-lost",
            )  # fmt: skip
        self._coordinators[registered.scan] = registered.address
        return registered.scan

    def run_claimed(self, spec: ScanSpec, target: PartTarget, run: ClaimedRun) -> Iterable[PartReport]:
        from splitscan.spark.jobs import run_tasks  # noqa: PLC0415 -- Spark is optional

        payloads = [str(partition).encode() for partition in range(run.partitions)]
        work = partial(_ingest_claimed, for_tasks(spec), target, run, self._coordinators[run.scan])
        answers = self._run(lambda: run_tasks(self._spark, payloads, work))
        return [PartReport.from_json(text) for texts in answers for text in texts]

    def describe_claims(self, scan: str) -> RebalanceReport | None:
        from splitscan.spark.coordination import session_coordinator  # noqa: PLC0415 -- Spark is optional

        if self._context() is None:
            return None
        return RebalanceReport(session_coordinator(self._spark).record(scan))

    def cancel(self) -> None:
        if self._started is not None:
            self._tagging().cancel(self._tag)

    def _context(self) -> SparkContext | None:
        from splitscan.spark.contexts import classic_context  # noqa: PLC0415 -- Spark is optional

        return classic_context(self._spark)

    def _tagging(self) -> _Tagging:
        # measured: a classic session does not find the jobs that another thread tagged through it; the context does
        context = self._context()
        if context is None:
            return _Tagging(self._spark.addTag, self._spark.removeTag, self._spark.interruptTag)
        return _Tagging(context.addJobTag, context.removeJobTag, context.cancelJobsWithTag)

    def _run(self, job: Callable[[], T]) -> T:
        """Run a Spark job that :meth:`cancel` can find; its errors become ours."""
        from splitscan.spark.session import check_interpreter  # noqa: PLC0415 -- Spark is optional

        check_interpreter(self._spark)
        tagging = self._tagging()
        tagging.add(self._tag)
        try:
            return job()
        except SplitscanError as error:
            if error.reason_code != "task-failed":
                raise
            raise IngestError(
                f"{error.rule}, so nothing was published", error.where, error.seen,
                f"{error.fix}: finished tasks are kept", error.reason_code,
            ) from error  # fmt: skip
        finally:
            tagging.remove(self._tag)


def _ingest(write_part: WritePart, target: PartTarget, payload: bytes) -> str:
    """The work of one task. All arguments were made by this module and travelled inside Spark's own function.

    Spark pickles the first two, so a format may be a class of the user's script or notebook.
    """
    return run_part(target, OutputPart.from_json(payload), write_part).to_json()


def _ingest_claimed(
    spec: ScanSpec, target: PartTarget, run: ClaimedRun, coordinator: CoordinatorAddress, payload: bytes
) -> list[str]:
    """The work of one task under rebalancing. The address, with its token, travels as the other arguments do."""
    from splitscan.spark.coordination import reachable  # noqa: PLC0415 -- Spark is optional

    partition = int(payload)
    with Claims(reachable(coordinator), run.scan, partition) as claims:
        return [report.to_json() for report in run_partition(target, spec, run, partition, claims.next)]
