"""Tasks on a Spark that starts only when it is needed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from splitscan.cli.progress import ShowsProgress
from splitscan.cli.session import Session, start_session
from splitscan.rebalance import RebalanceReport
from splitscan.scan.planning import index_here
from splitscan.sizes import MIB

if TYPE_CHECKING:
    from splitscan.ingest.contract import ClaimedRun
    from splitscan.ingest.spark_runner import SparkRunner
    from splitscan.rebalance.reading.planning import RebalancePlan
    from splitscan.scan.planning import IndexTask, Summarised
    from splitscan.scan.spec import ScanSpec
    from splitscan.sinks.part_writing import PartTarget
    from splitscan.sinks.parts import Part
    from splitscan.sinks.staging import PartReport

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
            from splitscan.ingest.spark_runner import SparkRunner  # noqa: PLC0415 -- imports PySpark

            self._started = SparkRunner(self._session.spark)
        return self._started

    @property
    def min_tasks(self) -> int:
        """Number of tasks that run at a time."""
        return self._runner().min_tasks

    def index(self, tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        """Summarise blocks in parallel: a few of them here, sooner than Spark would have started."""
        if sum(task.block.length_bytes for task in tasks) <= _INDEX_HERE_BYTES:
            return index_here(tasks)
        return self._runner().index(tasks)

    def run(self, spec: ScanSpec, target: PartTarget, parts: Sequence[Part]) -> Iterable[PartReport]:
        """Read each part and write what it holds."""
        return self._runner().run(spec, target, parts)

    @property
    def can_rebalance(self) -> bool:
        """Whether tasks can reach a coordinator."""
        return self._runner().can_rebalance

    def register(self, plan: RebalancePlan) -> str:
        """Tell the coordinator what there is to claim."""
        return self._runner().register(plan)

    def run_claimed(self, spec: ScanSpec, target: PartTarget, run: ClaimedRun) -> Iterable[PartReport]:
        """Read what its log says of each partition."""
        return self._runner().run_claimed(spec, target, run)

    def describe_claims(self, scan: str) -> RebalanceReport | None:
        """What happened in a scan."""
        return self._runner().describe_claims(scan)

    def cancel(self) -> None:
        """End running tasks."""
        if self._started is not None:
            self._started.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """End the session. After an error that does not explain itself, say where Spark's own messages are."""
        if self._session is None:
            return
        keep_log = isinstance(error, Exception) and getattr(error, "reason_code", None) in _UNEXPLAINED
        self._session.close(keep_log=keep_log)
        if keep_log and self._session.log is not None:
            sys.stderr.write(f"splitscan: Spark's own messages are in {self._session.log}\n")
