"""Drivers of other kinds, planners that end, and coordinators whose driver has ended in any way: nothing is left."""

import os
import signal
from pathlib import Path

import pytest
from tests.clusters import rebalanced
from tests.clusters.driver import Driver
from tests.clusters.processes import wait_until
from tests.clusters.records import run
from tests.clusters.sabotage import are_held, load_sabotaged
from tests.clusters.standalone import linked_spark_home

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.slow]


def plan(spark, path):
    spark.planned = rebalanced.load(spark, path)
    spark.planned.select("id").limit(1).collect()


def run_planned(spark):
    return run(spark.planned), rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


def planners(driver):
    """Those of Spark's Python processes that plan queries, without their daemons."""
    daemons = driver.process.find("plan_data_source_read")
    return {child for daemon in daemons for child in daemon.tree()[1:]} & set(daemons)


@pytest.fixture
def idle(local_driver, source):
    """A driver that has planned a frame, and does nothing."""
    local_driver.call(plan, source.path)
    assert planners(local_driver)
    return local_driver


def check_gone(driver):
    wait_until("the end of the coordinator", lambda: not driver.process.find(rebalanced.COORDINATOR))
    wait_until("the end of its file", lambda: not rebalanced.known_coordinators(driver.folder))


@pytest.mark.large
def test_executors_that_spark_starts_on_the_machine_of_the_driver(source, tmp_path):
    home = linked_spark_home(tmp_path / "spark")
    driver = Driver(tmp_path, "local-cluster[2,1,1024]", {"spark.executor.memory": "700m"}, {"SPARK_HOME": str(home)})
    try:
        first, second = driver.call(rebalanced.read_twice, source.path, tmp_path)
        rebalanced.check(first, rebalanced.logs_in(tmp_path), source.content, source.offsets)
        assert second == first
        driver.finish()
        check_gone(driver)
    finally:
        driver.close()


def kill_driver(driver):
    os.kill(driver.process.pid, signal.SIGKILL)


def kill_java(driver):
    (java,) = (process for process in driver.process.processes() if "java" in process.command.split(" ")[0])
    java.kill()


@pytest.mark.large
@pytest.mark.parametrize("end", [kill_driver, kill_java])
def test_a_driver_that_is_killed_leaves_no_coordinator(tmp_path, end):
    driver = Driver(tmp_path, "local[2]")
    try:
        driver.call(rebalanced.register)
        assert len(driver.process.find(rebalanced.COORDINATOR)) == len(rebalanced.known_coordinators(tmp_path)) == 1
        end(driver)
        check_gone(driver)
    finally:
        driver.close()


def read_held(spark, path, folder):
    run(load_sabotaged(spark, path, "held", folder))


@pytest.mark.parametrize(
    "end", [*(pytest.param(end, marks=pytest.mark.large) for end in (Driver.finish, Driver.fail)), kill_driver]
)
def test_a_driver_of_a_cluster_that_ends_while_its_tasks_read_leaves_no_coordinator(
    cluster, small_cluster_driver, source, tmp_path, end
):
    driver = small_cluster_driver
    application = driver.call(lambda spark: spark.sparkContext.applicationId)
    driver.begin(read_held, source.path, tmp_path)
    wait_until("readers on both workers", lambda: are_held(tmp_path, 2))
    assert len(driver.process.find(rebalanced.COORDINATOR)) == len(rebalanced.known_coordinators(driver.folder)) == 1
    end(driver)
    check_gone(driver)
    wait_until("the end of its executors", lambda: not any(application in each.command for each in cluster.processes()))


@pytest.mark.large
def test_frames_outlive_the_process_that_planned_them(idle, source):
    """Spark ends a planner after a minute without work."""
    wait_until("the end of the planner", lambda: not planners(idle))
    found, logs = idle.call(run_planned)
    rebalanced.check(found, logs, source.content, source.offsets)


@pytest.mark.parametrize("where", ["local_driver", pytest.param("cluster_driver", marks=pytest.mark.large)])
def test_frames_outlive_killed_processes_that_planned_them(request, source, where):
    """As after a minute without work, and the next frame is planned by another process."""
    driver = request.getfixturevalue(where)
    for _ in range(2):
        driver.call(plan, source.path)
        ended = planners(driver)
        assert ended
        for planner in ended:
            planner.kill()
        wait_until("planners that are buried", lambda gone=ended: not any(map(is_known, gone)))
        found, logs = driver.call(run_planned)
        rebalanced.check(found, logs, source.content, source.offsets)


def is_known(process):
    return Path(f"/proc/{process.pid}").exists()
