"""One run of ``splitscan ingest``: the scan, the session that starts only when it is needed, what is said."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from splitscan.api import Scan
from splitscan.cli.arguments import ScanArguments
from splitscan.cli.output import write_json
from splitscan.cli.progress import ShowsProgress, choose_progress
from splitscan.cli.session import Session, local_slots, parse_conf, start_session, under_spark_submit
from splitscan.cli.summary import Ingested, write_ingest, write_plan
from splitscan.ingest.settings import IngestSettings, on_changed_from
from splitscan.ingest.steps import Request, plan_ingest, run_ingest
from splitscan.redaction import redact
from splitscan.scan.planning import index_in_threads
from splitscan.sizes import MIB

if TYPE_CHECKING:
    from splitscan.ingest.job import SparkRunner
    from splitscan.ingest.part_task import TaskContext
    from splitscan.ingest.parts import Part
    from splitscan.ingest.staging import PartReport
    from splitscan.scan.planning import IndexTask
    from splitscan.scan.spec import ScanSpec
    from splitscan.splitting.boundaries import Piece

_BLOCK_BYTES = (8 * MIB, 128 * MIB)  # smaller ones cost more than they bring; larger ones are the library's default
_BLOCKS_PER_SLOT = 4  # a few rounds even out blocks that are slower than others
_INDEX_HERE_BYTES = 256 * MIB
_UNEXPLAINED = {None, "task-failed", "error", "ingest", "invariant"}


class LateRunner:
    """Runs tasks on Spark, and starts Spark for the first of them: where nothing is to be done it never starts.

    Args:
        master: Spark master.
        conf: Spark settings of the user.
        progress: Told that Spark starts.

    Attributes:
        start_seconds: How long that took.
    """

    def __init__(self, master: str | None, conf: Mapping[str, str], progress: ShowsProgress) -> None:
        self._master, self._conf, self._progress = master, conf, progress
        self._session: Session | None = None
        self._started: SparkRunner | None = None
        self.start_seconds = 0.0

    def _runner(self) -> SparkRunner:
        if self._started is None:
            self._progress.announce("starting Spark")
            started = time.perf_counter()
            self._session = start_session(self._master, self._conf)
            self.start_seconds = time.perf_counter() - started
            from splitscan.ingest.job import SparkRunner  # noqa: PLC0415 -- imports PySpark

            self._started = SparkRunner(self._session.spark)
        return self._started

    @property
    def min_tasks(self) -> int:
        """Number of tasks that run at a time."""
        return self._runner().min_tasks

    def index(self, tasks: Sequence[IndexTask]) -> Iterable[list[Piece]]:
        """Summarise blocks in parallel: a few of them here, sooner than Spark would have started."""
        if sum(task.block.length_bytes for task in tasks) <= _INDEX_HERE_BYTES:
            return index_in_threads(tasks)
        return self._runner().index(tasks)

    def run(self, spec: ScanSpec, context: TaskContext, parts: Sequence[Part]) -> Iterable[PartReport]:
        """Read each part and write what it holds."""
        return self._runner().run(spec, context, parts)

    def cancel(self) -> None:
        """End running tasks."""
        if self._started is not None:
            self._started.cancel()

    def stop(self, error: BaseException | None = None) -> None:
        """End the session. After an error that does not explain itself, say where Spark's own messages are."""
        if self._session is None:
            return
        keep_log = isinstance(error, Exception) and getattr(error, "reason_code", None) in _UNEXPLAINED
        self._session.close(keep_log=keep_log)
        if keep_log and self._session.log is not None:
            sys.stderr.write(f"splitscan: Spark's own messages are in {self._session.log}\n")


class IngestRun:
    """What the command line asked for, ready to be done.

    Args:
        arguments: What is read.
        destination: Where it goes.
        settings: How it is written: keywords of ``IngestSettings``.
        master: Spark master.
        spark_conf: Texts ``key=value``.

    Raises:
        UsageError: If anything has no meaning.
    """

    def __init__(
        self,
        arguments: ScanArguments,
        destination: str,
        settings: Mapping[str, Any],
        master: str | None,
        spark_conf: Sequence[str],
    ) -> None:
        self._destination = destination
        self._settings = IngestSettings(**{**settings, "on_changed": on_changed_from(settings["on_changed"])})
        self._master, self._conf = master, parse_conf(spark_conf)
        self._arguments = arguments
        self._scan = arguments.build_scan()

    def write_plan(self, *, as_json: bool) -> None:
        """Say what would be done."""
        request = self._request(self._sized_scan())
        plan = plan_ingest(request)
        paths = set(plan.paths)
        blocks = sum(redact(block.file.path) in paths for block in request.scan.blocks())
        if as_json:
            write_json({**asdict(plan), "files": plan.files, "blocks": blocks})
        else:
            write_plan(plan, blocks)

    def execute(self, *, quiet: bool, as_json: bool) -> None:
        """Do it, and say what was done."""
        with choose_progress(quiet=quiet) as progress:
            request = self._request(self._sized_scan(), progress)
            runner = LateRunner(self._master, self._conf, progress)
            try:
                report = run_ingest(request, runner)
            except BaseException as error:
                runner.stop(error)
                raise
            runner.stop()
        done = Ingested(report, runner.start_seconds)
        if as_json:
            write_json(done.to_json(), indent=2)
        elif not quiet:
            write_ingest(done)

    def _request(self, scan: Scan, progress: ShowsProgress | None = None) -> Request:
        on_progress = None if progress is None else progress.show
        return Request(scan, self._destination, self._settings, None, on_progress)

    def _sized_scan(self) -> Scan:
        """The scan, with blocks small enough for all cores of this machine where the user did not say how large."""
        slots = self._slots()
        if self._arguments.has_block_size or slots is None:
            return self._scan
        size_bytes = choose_block_bytes(sum(file.size_bytes for file in self._scan.files()), slots)
        return ScanArguments(**{**vars(self._arguments), "block_size": str(size_bytes)}).build_scan()

    def _slots(self) -> int | None:
        if under_spark_submit():
            return None
        return local_slots(self._master or self._conf.get("spark.master", "local[*]"))


def choose_block_bytes(total_bytes: int, slots: int) -> int:
    """A block size that keeps *slots* cores busy: whole MiB, from 8 to 128.

    Example:
        >>> choose_block_bytes(60 * MIB, slots=2) // MIB, choose_block_bytes(10_000 * MIB, slots=2) // MIB
        (8, 128)
    """
    least, most = _BLOCK_BYTES
    wanted = -(-total_bytes // (slots * _BLOCKS_PER_SLOT))
    return max(least, min(most, -(-wanted // MIB) * MIB))
