"""Drivers of other kinds, and what is left of a coordinator when its driver has ended in any way: nothing."""

import json

import pytest
from tests.clusters import rebalanced
from tests.clusters.driver import Driver
from tests.clusters.faults import costly, suffering
from tests.clusters.processes import wait_until
from tests.clusters.records import run
from tests.clusters.standalone import linked_spark_home

from splitscan.rebalance import Coordinator, CoordinatorAddress, Segment
from splitscan.spark.coordination import register_scan

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.slow]

COORDINATOR = "splitscan.rebalance.coordinator"


def read(spark, path, folder):
    frame = costly(rebalanced.load(spark, path), 0.0001)
    return run(suffering(frame, folder, {3000: "kill worker"})), run(frame)


def read_scan(spark, path):
    return run(rebalanced.scan(spark, path))


def register(spark):
    found = register_scan(spark, [Segment(100, "a", False)], [(0, 60), (60, 100)])
    return found.scan, found.address.to_option()


def known_coordinators(folder):
    return list(folder.glob("splitscan-*/coordinator-*"))


def logs_in(folder):
    """What the coordinator of a driver says, asked by the way that planners find it."""
    (known,) = known_coordinators(folder)
    coordinator = Coordinator(CoordinatorAddress(**json.loads(known.read_text())["near"]))
    return rebalanced.logs_from(coordinator, coordinator.scans()[-1])


def check_gone(driver):
    wait_until("the end of the coordinator", lambda: not driver.process.find(COORDINATOR))
    wait_until("the end of its file", lambda: not known_coordinators(driver.folder))


def test_a_server_of_spark_connect_whose_client_goes_away(source, tmp_path):
    driver = Driver(tmp_path, "local[2,4]", connect=True)
    try:
        first, second = driver.call(read, source.path, tmp_path)
        logs = logs_in(tmp_path)
        rebalanced.check(first, logs, source.content, source.offsets)
        assert second == first
        scanned = driver.call(read_scan, source.path)
        rebalanced.check(scanned, logs_in(tmp_path), source.content, source.offsets)
        scan, address = driver.call(register)
        assert Coordinator(CoordinatorAddress.from_option(address)).scans()[-1] == scan
        assert len(driver.process.find(COORDINATOR)) == 1
        driver.finish()
        check_gone(driver)
    finally:
        driver.close()


def test_executors_that_spark_starts_on_the_machine_of_the_driver(source, tmp_path):
    home = linked_spark_home(tmp_path / "spark")
    driver = Driver(tmp_path, "local-cluster[2,1,1024]", {"spark.executor.memory": "700m"}, {"SPARK_HOME": str(home)})
    try:
        first, second = driver.call(read, source.path, tmp_path)
        rebalanced.check(first, logs_in(tmp_path), source.content, source.offsets)
        assert second == first
        driver.finish()
        check_gone(driver)
    finally:
        driver.close()


@pytest.mark.parametrize("victim", ["driver", "java"])
def test_a_driver_that_is_killed_leaves_no_coordinator(tmp_path, victim):
    driver = Driver(tmp_path, "local[2]")
    try:
        driver.call(register)
        assert len(driver.process.find(COORDINATOR)) == len(known_coordinators(tmp_path)) == 1
        for process in driver.process.processes():
            if (process.pid == driver.process.pid) if victim == "driver" else "java" in process.command.split(" ")[0]:
                process.kill()
        check_gone(driver)
    finally:
        driver.close()
