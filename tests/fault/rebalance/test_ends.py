"""Drivers of other kinds, planners that end, and coordinators whose driver has ended in any way: nothing is left."""

import json
import os
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.clusters import rebalanced
from tests.clusters.connect import ConnectServer
from tests.clusters.driver import Driver
from tests.clusters.faults import costly, suffering
from tests.clusters.processes import wait_until
from tests.clusters.records import OPTIONS, SCHEMA, content, run
from tests.clusters.sabotage import are_held, load_sabotaged
from tests.clusters.standalone import linked_spark_home

import splitscan as ss
from splitscan.ingest import verify
from splitscan.rebalance import Coordinator, CoordinatorAddress, Segment
from splitscan.spark.coordination import register_scan

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.slow]

COORDINATOR = "splitscan.rebalance.coordinator"


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


def read_by_fixed_ranges(spark, path):
    return run(rebalanced.scan(spark, path)), run(rebalanced.scan(spark, path))


def ingest(spark, path, destination):
    scan = ss.scan_csv(path, SCHEMA, task_size="100k", min_partitions=rebalanced.PARTITIONS, **OPTIONS)
    report = scan.ingest(spark, destination, rebalance=True)
    return report.rows, report.rebalance


def test_a_remote_server_of_spark_connect_and_clients_that_go_away(source, tmp_path):
    server = ConnectServer(tmp_path / "server", "local[2,4]")
    clients = []
    try:
        (tmp_path / "first").mkdir()
        clients.append(Driver(tmp_path / "first", server.url, connect=True))
        first, second = clients[-1].call(read, source.path, tmp_path / "first")
        rebalanced.check(first, logs_in(server.folder), source.content, source.offsets)
        assert second == first
        clients[-1].close()
        assert len(server.process.find(COORDINATOR)) == 1
        assert len(known_coordinators(server.folder)) == 1
        (tmp_path / "second").mkdir()
        clients.append(Driver(tmp_path / "second", server.url, connect=True))
        scanned = clients[-1].call(read_scan, source.path)
        rebalanced.check(scanned, logs_in(server.folder), source.content, source.offsets)
        assert clients[-1].call(ingest, source.path, tmp_path / "out") == (source.content.records, None)
        scan, address = clients[-1].call(register)
        assert Coordinator(CoordinatorAddress.from_option(address)).scans()[-1] == scan
        assert content(pairs_in(tmp_path / "out")) == source.content
        assert verify(tmp_path / "out", deep=True).ok
        (folder,) = server.folder.glob("splitscan-*")
        folder.chmod(0o755)  # somebody else might have put something there
        for found in clients[-1].call(read_by_fixed_ranges, source.path):
            assert found.content == source.content
        told = clients[-1].process.log.read_text()
        assert told.count("the scan is read by fixed ranges") == 1
        assert "belongs to its user alone" in told
        folder.chmod(0o700)
        os.kill(server.process.pid, signal.SIGKILL)
        wait_until("the end of the coordinator", lambda: not server.process.find(COORDINATOR))
    finally:
        for started in (*clients, server):
            started.close()


def pairs_in(destination):
    for row in pq.read_table(destination).to_pylist():
        yield row["id"], row["text"]


@pytest.mark.large
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
        driver.call(register)
        assert len(driver.process.find(COORDINATOR)) == len(known_coordinators(tmp_path)) == 1
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
    assert len(driver.process.find(COORDINATOR)) == len(known_coordinators(driver.folder)) == 1
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
