"""A rebalanced ingest without Spark: the real claim log, and a thread for each partition."""

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from splitscan.errors import IngestError
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.rebalance import ingest
from splitscan.rebalance.claim_values import Sizing
from splitscan.rebalance.claims import ClaimLog
from splitscan.rebalance.ingest import ClaimedDivision, run_partition
from splitscan.rebalance.report import RebalanceReport

SMALL = Sizing(min_positions=64, first_positions=64, max_positions=700, min_seconds=0.0)


class ClaimRunner(ingest.ClaimRunner):
    """Runs partitions in threads, which claim from one log. May fail after some chunks, or run partitions twice."""

    def __init__(self, slots=3, stop_after=None, attempts=1):
        self.slots = slots
        self.log = ClaimLog(SMALL)
        self.lock = threading.Lock()
        self.claimed = 0
        self.asked = []
        self._stop_after, self._attempts = stop_after, attempts

    @property
    def min_tasks(self):
        return self.slots

    def divide_claimed(self, scan, files, blocks):
        return ClaimedDivision(scan, files, blocks, self)

    def register(self, plan):
        scan = uuid4().hex
        self.log.create(scan, plan.segments, plan.ranges)
        return scan

    def run_claimed(self, spec, context, run):
        def work(partition):
            for _ in range(self._attempts):
                reports = run_partition(context, spec, run, partition, PartitionLog(self, run.scan, partition).next)
            return reports

        with ThreadPoolExecutor(run.partitions) as pool:
            return [report for reports in pool.map(work, range(run.partitions)) for report in reports]

    def describe_claims(self, scan):
        return RebalanceReport(self.log.record(scan))


class PartitionLog:
    def __init__(self, runner, scan, partition):
        self._runner, self._scan, self._partition = runner, scan, partition

    def next(self, index, stats=None):
        runner = self._runner
        with runner.lock:
            if runner.claimed == runner._stop_after:
                raise IngestError("the power failed")
            runner.asked.append((self._partition, index))
            chunk = runner.log.next(self._scan, self._partition, index, stats)
            runner.claimed += chunk is not None
            return chunk


@pytest.fixture
def claim_runner():
    """The class of the runner."""
    return ClaimRunner


@pytest.fixture
def run_claimed():
    """Ingest under rebalancing in this process."""

    def call(scan, destination, runner=None, on_progress=None, **settings):
        target = IngestTarget(destination, IngestSettings(**settings), None, on_progress)
        return run_ingest(FileSource(scan, rebalance=True), target, runner or ClaimRunner())

    return call
