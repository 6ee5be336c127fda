"""Streams on a cluster whose executors are killed, whose workers are lost, and whose size follows the backlog."""

import pytest

from ..clusters.driver import Driver
from ..clusters.faults import happened
from ..clusters.processes import wait_until
from ..clusters.records import Content, write_records
from ..clusters.standalone import DRIVER_SETTINGS, StandaloneCluster
from ..clusters.streamed import PHASE, drain, keep_following

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.slow]

FAULTS = {100: "kill executor", 1500: "kill worker", 2800: "raise"}
ELASTIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.initialExecutors": "1",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "5s",
    "spark.speculation": "false",
}


def add_files(folder, files, records_of_each, first=0):
    """Several files of records, complete when they appear, and what they hold together."""
    parts = []
    for number in range(first, first + files * records_of_each, records_of_each):
        written = folder.parent / "writing" / f"{number:07d}.csv"
        parts.append(write_records(written, records_of_each, number))
        folder.mkdir(exist_ok=True)
        written.rename(folder / written.name)
    return total(parts)


def total(parts):
    return Content(
        sum(part.records for part in parts),
        sum(part.distinct for part in parts),
        sum(part.hash for part in parts) % (1 << 64),
    )


def test_executors_that_are_killed_in_the_middle_of_a_batch_cost_and_double_no_record(cluster_driver, tmp_path):
    known = add_files(tmp_path / "in", 6, 500)
    options = {"blockSize": "8 KiB", "maxFilesPerTrigger": 3, "minReaders": 4}
    found = cluster_driver.call(drain, tmp_path / "in", tmp_path, FAULTS, **options)
    assert found.content == known
    assert all(happened(tmp_path, f"{what} at {number}") == 1 for number, what in FAULTS.items())


@pytest.mark.large
def test_executors_follow_the_backlog_and_a_worker_may_be_lost(tmp_path):
    """Tasks wait until the test has seen what it waits for, so there is a backlog for as long as there must be one."""
    cluster = StandaloneCluster(tmp_path / "cluster")
    try:
        (cluster.folder / "driver").mkdir()
        driver = Driver(cluster.folder / "driver", cluster.master, {**DRIVER_SETTINGS, **ELASTIC})
        try:
            assert len(cluster.executors()) <= 1
            source = tmp_path / "in"
            (tmp_path / "go-0").touch()
            known = [add_files(source, 1, 10)]
            query = driver.begin(keep_following, source, tmp_path, minReaders=8, maxFilesPerTrigger=8)
            known.append(add_files(source, 16, 50, first=PHASE))
            wait_until("more executors for a backlog", lambda: len(cluster.executors()) == 2)
            (tmp_path / "go-1").touch()
            wait_until("fewer executors without one", lambda: len(cluster.executors()) == 1)
            known.append(add_files(source, 16, 50, first=2 * PHASE))
            wait_until("tasks on both workers", lambda: all(cluster.tasks_run_on(number) for number in (1, 2)))
            cluster.lose_worker()
            (tmp_path / "go-2").touch()
            (tmp_path / "stop").touch()
            found = query.result(480)
        finally:
            driver.close()
    finally:
        cluster.close()
    assert found.content == total(known)
