"""Coordinators that are killed, replaced, stopped for a while, spoken to by strangers, or not there at planning."""

import asyncio
import json
import os
import random
import signal
import socket
import threading
import time
from contextlib import contextmanager

import pytest
from tests.clusters import rebalanced
from tests.clusters.driver import CALL_SECONDS, FailedInDriverError
from tests.clusters.faults import costly, happened, suffering
from tests.clusters.processes import wait_until
from tests.clusters.records import run
from tests.clusters.sabotage import load_sabotaged

from splitscan.rebalance.claiming import ClaimLog
from splitscan.rebalance.coordinator.answers import Answerer
from splitscan.rebalance.coordinator.server import CoordinatorServer

pytestmark = pytest.mark.timeout(900)


def read_slowly(spark, path, marks):
    spark.kept = suffering(load_sabotaged(spark, path, "slow"), marks, {1: "nothing"})
    return run_kept(spark)


def run_kept(spark):
    return run(spark.kept), rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


def read_at_once(spark, path):
    scans = len(rebalanced.session_coordinator(spark).scans())
    found = run(rebalanced.load(spark, path))
    return found, len(rebalanced.session_coordinator(spark).scans()) - scans


def address(spark):
    found = rebalanced.session_coordinator(spark).address
    return found.port, found.token


def coordinators(driver):
    return driver.process.find("splitscan.rebalance.coordinator")


def begin_reading(driver, source, marks):
    answer = driver.begin(read_slowly, source.path, marks)
    wait_until("records that were read", lambda: happened(marks, "nothing at 1"))
    (coordinator,) = coordinators(driver)
    return answer, coordinator


@contextmanager
def empty_coordinator(port, token):
    """A coordinator that knows no scan, where another one was."""
    loop = asyncio.new_event_loop()
    server = CoordinatorServer(Answerer(ClaimLog()), token)
    loop.run_until_complete(server.start("127.0.0.1", port))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # connections that end with the loop
def test_a_coordinator_that_is_killed_fails_the_job_for_good_and_later_frames_have_a_new_one(
    local_driver, source, tmp_path
):
    port, token = local_driver.call(address)
    answer, coordinator = begin_reading(local_driver, source, tmp_path)
    coordinator.kill()
    with pytest.raises(FailedInDriverError, match=r"\[coordinator-lost\]"):
        answer.result(CALL_SECONDS)
    with empty_coordinator(port, token), pytest.raises(FailedInDriverError, match=r"\[unknown-scan\]"):
        local_driver.call(run_kept)
    with empty_coordinator(port, "another"), pytest.raises(FailedInDriverError, match=r"\[coordinator-refused\]"):
        local_driver.call(run_kept)
    found, planned = local_driver.call(read_at_once, source.path)
    assert (found.content, planned) == (source.content, 1)
    (new,) = coordinators(local_driver)
    assert new.pid != coordinator.pid


def test_a_coordinator_that_does_not_answer_for_ten_seconds_and_strangers_who_talk_to_it(
    local_driver, source, tmp_path
):
    answer, coordinator = begin_reading(local_driver, source, tmp_path)
    port, _ = local_driver.call(address)
    os.kill(coordinator.pid, signal.SIGSTOP)
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    time.sleep(10)
    os.kill(coordinator.pid, signal.SIGCONT)
    generator = random.Random(1)
    for number, stranger in enumerate(strangers[:15]):
        stranger.sendall(b'{"op":"next"}\n' if number % 3 == 0 else generator.randbytes(900))
    found, logs = answer.result(CALL_SECONDS)
    for stranger in strangers:
        stranger.close()
    rebalanced.check(found, logs, source.content, source.offsets)


def private_folder(spark):
    return f"{os.environ['TMPDIR']}/splitscan-{os.getuid()}"


def read_all(spark, path):
    return run(rebalanced.load(spark, path, blockSize=50_000, taskSize=50_000, openCostInBytes=0))


def test_without_a_coordinator_at_planning_the_scan_is_static_and_says_so(local_driver, source):
    folder = local_driver.call(private_folder)
    os.chmod(folder, 0o755)  # noqa: PTH101 - somebody else might have put something there
    try:
        found = local_driver.call(read_all, source.path)
    finally:
        os.chmod(folder, 0o700)  # noqa: PTH101
    assert found.content == source.content
    assert len(found.offsets) > rebalanced.PARTITIONS  # as packed, and not one per claiming task
    told = local_driver.process.log.read_text()
    assert "the scan is read by fixed ranges" in told
    assert "belongs to its user alone" in told


def make_plan_text(spark, path):
    """Everything that Spark says about a plan."""
    frame = costly(rebalanced.load(spark, path), 0)
    run(frame)
    return frame._jdf.queryExecution().toString() + frame._jdf.toString()


def test_the_token_is_in_no_plan_log_event_error_argument_or_environment(local_driver, source):
    _, token = local_driver.call(address)
    texts = {"plan": local_driver.call(make_plan_text, source.path), "log": local_driver.process.log.read_text()}
    for process in local_driver.process.processes():
        for name in ("cmdline", "environ"):
            with open(f"/proc/{process.pid}/{name}", "rb") as source_of_text:  # noqa: PTH123
                texts[f"{name} of {process.command[:40]}"] = source_of_text.read().decode(errors="replace")
    events = [path for path in local_driver.folder.glob("events/**/*") if path.is_file()]
    assert events
    texts.update({str(path): path.read_text(errors="replace") for path in events})
    assert "SparkListenerTaskEnd" in texts[str(events[-1])]
    assert [name for name, text in texts.items() if token in text] == []
    (known,) = (local_driver.folder / f"splitscan-{os.getuid()}").glob("coordinator-*")
    assert json.loads(known.read_text())["near"]["token"] == token  # it is the one that was looked for
