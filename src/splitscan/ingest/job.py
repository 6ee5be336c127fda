"""Ingest on Spark: workers decode and write Parquet themselves; only small reports cross to the JVM."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from splitscan.blocks import BlockMetadata, Reject
from splitscan.errors import IngestError, SplitscanError
from splitscan.ingest.monitor import OnProgress
from splitscan.ingest.part_task import BlockRows, TaskContext, run_part
from splitscan.ingest.parts import Part
from splitscan.ingest.reports import IngestPlan, IngestReport
from splitscan.ingest.settings import IngestSettings, OnChanged, on_changed_from
from splitscan.ingest.staging import PartReport
from splitscan.ingest.steps import Plannable, Request, plan_ingest, run_ingest
from splitscan.scan.block_scan import BlockScan
from splitscan.scan.planning import IndexTask
from splitscan.scan.spec import ScanSpec
from splitscan.sizes import MIB
from splitscan.splitting.boundaries import Piece

if TYPE_CHECKING:  # the session comes from the caller, so verifying and planning never load Spark
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

T = TypeVar("T")


def plan_only(
    scan: Plannable, destination: str | os.PathLike[str], *, destination_options: Mapping[str, Any] | None = None
) -> IngestPlan:
    """Find out what an ingest would do: a dry run that lists files and reads ledgers, and writes nothing.

    Args:
        scan: What would be read.
        destination: Folder: a local path or a URI.
        destination_options: Settings of the destination's file system; those of the source when not given.

    Raises:
        UsageError: If the destination has no meaning.
        SchemaError: If the destination has other columns.
        IngestError: If it holds something else, or a ledger is damaged.
    """
    return plan_ingest(Request(scan, destination, destination_options=destination_options))


def ingest(  # noqa: PLR0913 -- each is a keyword that a user sets
    scan: Plannable,
    spark: SparkSession,
    destination: str | os.PathLike[str],
    *,
    max_rejects: int | None = None,
    max_reject_ratio: float | None = None,
    compression: str = "zstd",
    row_group_bytes: int = 64 * MIB,
    row_group_rows: int = 1_000_000,
    source_digests: bool = True,
    on_changed: OnChanged | str = OnChanged.FAIL,
    on_progress: OnProgress | None = None,
    destination_options: Mapping[str, Any] | None = None,
) -> IngestReport:
    """Read every record of a scan exactly once, in parallel, and write it to Parquet, with proof.

    The whole job becomes visible in one step. A job that is killed at any instant leaves the destination as before or
    as after, and running it again finishes the work: blocks that were finished are not read again. Files that were
    ingested before are skipped, so running it twice changes nothing. Every task writes one Parquet file, so option
    ``taskSize`` of the scan chooses how large they are. ``docs/ingest.md`` says what a reader can see when, and what
    the ledger holds.

    Args:
        scan: What is read.
        spark: Who runs the tasks. Executors on other machines need a destination that all share.
        destination: Folder: a local path or a URI. It may exist if it is empty or was written by splitscan.
        max_rejects: Most records that may break a rule; ``None`` for any number.
        max_reject_ratio: Largest share of records that may break a rule, 0 to 1.
        compression: Parquet codec: ``zstd``, ``snappy``, ``gzip``, ``lz4``, ``brotli`` or ``none``.
        row_group_bytes: A row group is closed when its rows, as Arrow, reach this size. Bounds a worker's memory.
        row_group_rows: Most rows in a row group.
        source_digests: Whether the ledger holds the SHA-256 of the source bytes of every block.
        on_changed: ``"fail"`` or ``"skip"``, for a file that was ingested before and has changed since. It is never
            read again.
        on_progress: Called about twice a second, in the calling thread. If it raises, the job is cancelled.
        destination_options: Settings of the destination's file system; those of the source when not given.

    Returns:
        What was done.

    Raises:
        UsageError: If an argument has no meaning.
        SourceError: If a file cannot be read, or has changed.
        RecordError: In mode FAILFAST, for a record that breaks a rule.
        SchemaError: If the destination has other columns.
        IngestError: If the destination is busy, not ours, or fails; if the budget of rejects is spent.
        InvariantError: If a byte is not accounted for. Nothing was published.
    """
    settings = IngestSettings(
        max_rejects=max_rejects,
        max_reject_ratio=max_reject_ratio,
        compression=compression,
        row_group_bytes=row_group_bytes,
        row_group_rows=row_group_rows,
        source_digests=source_digests,
        on_changed=on_changed_from(on_changed),
    )
    request = Request(scan, destination, settings, destination_options, on_progress)
    return run_ingest(request, SparkRunner(spark))


class SparkRunner:
    """Runs parts on Spark: one Spark task per part.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._tag = f"splitscan-ingest-{os.urandom(8).hex()}"

    @property
    def min_tasks(self) -> int:
        """Number of tasks that the session runs at a time."""
        from splitscan.spark.jobs import default_parallelism  # noqa: PLC0415 -- Spark is optional

        return default_parallelism(self._spark)

    def index(self, tasks: Sequence[IndexTask]) -> Iterable[list[Piece]]:
        """Summarise blocks in parallel."""
        from splitscan.spark.indexing import spark_indexer  # noqa: PLC0415 -- Spark is optional

        indexer = spark_indexer(self._spark)
        return self._run(lambda: indexer(tasks))

    def run(self, spec: ScanSpec, context: TaskContext, parts: Sequence[Part]) -> Iterable[PartReport]:
        """Read each part and write what it holds."""
        from splitscan.spark.jobs import run_tasks  # noqa: PLC0415 -- Spark is optional

        payloads = [pickle.dumps(part) for part in parts]
        answers = self._run(lambda: run_tasks(self._spark, payloads, partial(_ingest, spec, context)))
        return [PartReport.from_json(text) for text in answers]

    def cancel(self) -> None:
        """End all running tasks of this runner."""
        context = self._context()
        if context is None:
            self._spark.interruptTag(self._tag)
        else:
            context.cancelJobsWithTag(self._tag)

    def _context(self) -> SparkContext | None:
        from splitscan.spark.jobs import classic_context  # noqa: PLC0415 -- Spark is optional

        return classic_context(self._spark)

    def _add_tag(self) -> None:
        # measured: a classic session does not find the jobs that another thread tagged through it; the context does
        context = self._context()
        if context is None:
            self._spark.addTag(self._tag)
        else:
            context.addJobTag(self._tag)

    def _remove_tag(self) -> None:
        context = self._context()
        if context is None:
            self._spark.removeTag(self._tag)
        else:
            context.removeJobTag(self._tag)

    def _run(self, job: Callable[[], T]) -> T:
        """Run a Spark job that :meth:`cancel` can find; its errors become ours."""
        from splitscan.spark.interpreter import check_interpreter  # noqa: PLC0415 -- Spark is optional

        check_interpreter(self._spark)
        self._add_tag()
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
            self._remove_tag()


def _ingest(spec: ScanSpec, context: TaskContext, payload: bytes) -> str:
    """The work of one task. All arguments were made by this module and travelled inside Spark's own function.

    Spark pickles the first two, so a format may be a class of the user's script or notebook.
    """
    part: Part = pickle.loads(payload)

    def open_block(block: BlockMetadata, on_reject: Callable[[Reject], None], with_digest: bool) -> BlockRows:
        return BlockScan(spec, block, on_reject=on_reject, with_digest=with_digest)

    return run_part(context, part, open_block).to_json()
