"""Coordinators that are killed, replaced, stopped for a while, spoken to by strangers, or not there at planning."""

import json
import os
import random
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.clusters import rebalanced
from tests.clusters.coordinators import served
from tests.clusters.driver import CALL_SECONDS, FailedInDriverError
from tests.clusters.faults import costly
from tests.clusters.processes import wait_until
from tests.clusters.records import run
from tests.clusters.sabotage import are_held, let_go, load_sabotaged

pytestmark = pytest.mark.timeout(900)


def read_held(spark, path, folder):
    spark.kept = load_sabotaged(spark, path, "held", folder)
    return run_kept(spark)


def run_kept(spark):
    return run(spark.kept), rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


def begin_kept(spark):
    """Read one partition: each that fails is tried four times, in a new process."""
    return spark.kept.limit(1).collect()


def read_at_once(spark, path):
    scans = len(rebalanced.session_coordinator(spark).scans())
    found = run(rebalanced.load(spark, path))
    return found, len(rebalanced.session_coordinator(spark).scans()) - scans


def address(spark):
    found = rebalanced.session_coordinator(spark).address
    return found.port, found.token


def coordinators(driver):
    return driver.process.find("splitscan.rebalance.coordinator")


def begin_reading(driver, source, folder):
    """Begin to read, until all slots hold a reader that has claimed a chunk and waits before its next claim."""
    answer = driver.begin(read_held, source.path, folder)
    wait_until("readers in both slots", lambda: are_held(folder, 2))
    (coordinator,) = coordinators(driver)
    return answer, coordinator


def test_a_coordinator_that_is_killed_fails_the_job_for_good_and_later_frames_have_a_new_one(
    local_driver, source, tmp_path
):
    port, token = local_driver.call(address)
    answer, coordinator = begin_reading(local_driver, source, tmp_path)
    coordinator.kill()
    let_go(tmp_path)
    with pytest.raises(FailedInDriverError, match=r"\[coordinator-lost\]"):
        answer.result(CALL_SECONDS)
    with served(token, port), pytest.raises(FailedInDriverError, match=r"\[unknown-scan\]"):
        local_driver.call(begin_kept)
    with served("another", port), pytest.raises(FailedInDriverError, match=r"\[coordinator-refused\]"):
        local_driver.call(begin_kept)
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
    wait_until("a coordinator that stands still", lambda: coordinator.is_stopped)
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    let_go(tmp_path)
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
            with suppress(OSError):  # an idle worker may end at any time
                found = Path(f"/proc/{process.pid}/{name}").read_bytes()
                texts[f"{name} of {process.pid} {process.command[:40]}"] = found.decode(errors="replace")
    assert any(name.startswith("environ") and text for name, text in texts.items())
    (events,) = (path for path in local_driver.folder.glob("events/*") if not path.name.startswith("."))
    wait_until("events that are written", lambda: "SparkListenerTaskEnd" in events.read_text(errors="replace"))
    texts["events"] = events.read_text(errors="replace")
    assert [name for name, text in texts.items() if token in text] == []
    (known,) = (local_driver.folder / f"splitscan-{os.getuid()}").glob("coordinator-*")
    assert json.loads(known.read_text())["near"]["token"] == token  # it is the one that was looked for
