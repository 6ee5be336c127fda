"""Coordinators that are killed, replaced, stopped for a while, spoken to by strangers, or not there at planning."""

import json
import os
import random
import shutil
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
from tests.clusters.records import OPTIONS, SCHEMA, run
from tests.clusters.sabotage import are_held, let_go, load_sabotaged

import splitscan as ss

pytestmark = pytest.mark.timeout(900)
BOTH = pytest.mark.parametrize("where", ["local_driver", pytest.param("cluster_driver", marks=pytest.mark.large)])


FALSE_PROOF = json.dumps({"proof": "0" * 64, "nonce": "n"}).encode() + b"\n"


def read_held(spark, path, folder):
    spark.kept = load_sabotaged(spark, path, "held", folder)
    return run_kept(spark)


def run_kept(spark):
    return run(spark.kept), rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


def begin_kept(spark):
    """Read one partition: a task that fails is tried several times, in a new process each time."""
    return spark.kept.limit(1).collect()


def read_at_once(spark, path):
    scans = len(rebalanced.session_coordinator(spark).scans())
    found = run(rebalanced.load(spark, path))
    return found, len(rebalanced.session_coordinator(spark).scans()) - scans


def address(spark):
    found = rebalanced.session_coordinator(spark).address
    return found.port, found.token


def is_told(token, port, text):
    """Whether somebody who reads *text* learns where a coordinator is, or what opens it."""
    return token.encode() in text or f"127.0.0.1:{port}".encode() in text or f"port={port}".encode() in text


def coordinators(driver):
    return driver.process.find(rebalanced.COORDINATOR)


def begin_reading(driver, source, folder):
    """Begin to read, until all slots hold a reader that has claimed a chunk and waits before its next claim."""
    answer = driver.begin(read_held, source.path, folder)
    wait_until("readers in both slots", lambda: are_held(folder, 2))
    (coordinator,) = coordinators(driver)
    return answer, coordinator


@pytest.mark.parametrize("where", ["local_driver", pytest.param("small_cluster_driver", marks=pytest.mark.large)])
def test_a_coordinator_that_is_killed_fails_the_job_for_good_and_later_frames_have_a_new_one(
    request, source, tmp_path, where
):
    driver = request.getfixturevalue(where)
    port, token = driver.call(address)
    answer, coordinator = begin_reading(driver, source, tmp_path)
    coordinator.kill()
    let_go(tmp_path)
    with pytest.raises(FailedInDriverError, match=r"\[coordinator-lost\]") as caught:
        answer.result(CALL_SECONDS)
    assert not is_told(token, port, f"{caught.value}{caught.value.trace}".encode())
    with served(token, port), pytest.raises(FailedInDriverError, match=r"\[unknown-scan\]"):
        driver.call(begin_kept)
    with served("another", port), pytest.raises(FailedInDriverError, match=r"\[coordinator-refused\]"):
        driver.call(begin_kept)
    found, planned = driver.call(read_at_once, source.path)
    assert (found.content, planned) == (source.content, 1)
    (new,) = coordinators(driver)
    assert new.pid != coordinator.pid


@BOTH
def test_a_coordinator_that_does_not_answer_for_ten_seconds_and_strangers_who_talk_to_it(
    request, source, tmp_path, where
):
    driver = request.getfixturevalue(where)
    answer, coordinator = begin_reading(driver, source, tmp_path)
    port, _ = driver.call(address)
    os.kill(coordinator.pid, signal.SIGSTOP)
    wait_until("a coordinator that stands still", lambda: coordinator.is_stopped)
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    let_go(tmp_path)
    time.sleep(10)
    os.kill(coordinator.pid, signal.SIGCONT)
    generator = random.Random(1)
    for number, stranger in enumerate(strangers[:15]):  # the others stay half open
        stranger.sendall((b'{"op":"next"}\n', FALSE_PROOF, generator.randbytes(900))[number % 3])
    found, logs = answer.result(CALL_SECONDS)
    for stranger in strangers:
        stranger.close()
    rebalanced.check(found, logs, source.content, source.offsets)


def private_folder(spark):
    rebalanced.session_coordinator(spark)  # it makes the folder
    return f"{os.environ['TMPDIR']}/splitscan-{os.getuid()}"


def read_all(spark, path):
    """Through the data source, and twice through ``to_spark``: planned by a process of Spark, and by the driver."""
    loaded = rebalanced.load(spark, path, blockSize=50_000, taskSize=50_000, openCostInBytes=0)
    return run(loaded), run(rebalanced.scan(spark, path)), run(rebalanced.scan(spark, path))


@BOTH
def test_without_a_coordinator_at_planning_the_scan_is_static_and_says_so(request, source, where):
    driver = request.getfixturevalue(where)
    folder = driver.call(private_folder)
    before = len(driver.process.log.read_text())
    os.chmod(folder, 0o755)  # noqa: PTH101 - somebody else might have put something there
    try:
        loaded, *scanned = driver.call(read_all, source.path)
    finally:
        os.chmod(folder, 0o700)  # noqa: PTH101
    assert all(found.content == source.content for found in (loaded, *scanned))
    assert len(loaded.offsets) > rebalanced.PARTITIONS  # as packed, and not one per claiming task
    told = driver.process.log.read_text()[before:]
    assert told.count("the scan is read by fixed ranges") == 2  # each of the two processes says it once
    assert "belongs to its user alone" in told


def use_everywhere(spark, path, folder):
    """What Spark and we say about plans, a report and an error of rebalanced scans of every kind."""
    for open_frame in (rebalanced.load, rebalanced.scan):
        frame = costly(open_frame(spark, path), 0)
        run(frame)
        yield frame._jdf.queryExecution().toString() + frame._jdf.toString()
    yield str(ss.scan_csv(path, SCHEMA, **OPTIONS).ingest(spark, folder / "out", rebalance=True))
    copy = shutil.copy(path, folder / "copy.csv")
    frame = rebalanced.scan(spark, str(copy))
    copy.write_text("id,text\n1,other\n")
    with pytest.raises(Exception, match=r"\[source-changed\]") as caught:
        frame.collect()
    yield f"{caught.value!r} {caught.value}"


def use_and_tell(spark, path, folder):
    return list(use_everywhere(spark, path, folder))


def said_of(processes):
    """Arguments and environments."""
    for process in processes:
        for name in ("cmdline", "environ"):
            with suppress(OSError):  # an idle worker may end at any time
                yield f"{name} of {process.command[:40]}", Path(f"/proc/{process.pid}/{name}").read_bytes()


@BOTH
def test_address_and_token_are_in_no_plan_log_event_report_error_argument_or_environment(
    request, source, tmp_path, where
):
    driver = request.getfixturevalue(where)
    port, token = driver.call(address)
    told = driver.call(use_and_tell, source.path, tmp_path)
    assert len(told) == 4
    (events,) = (path for path in driver.folder.glob("events/*") if not path.name.startswith("."))
    wait_until("events that are written", lambda: b"SparkListenerTaskEnd" in events.read_bytes())
    files = [events, driver.process.log, *(path for path in (tmp_path / "out").rglob("*") if path.is_file())]
    processes = driver.process.processes()
    if where == "cluster_driver":
        cluster = request.getfixturevalue("cluster")
        assert any(b"Running task" in path.read_bytes() for path in cluster.logs())
        files, processes = files + cluster.logs(), processes + cluster.processes()
    texts = {"plans, errors, report": "".join(told).encode(), **dict(said_of(processes))}
    assert any(name.startswith("environ") and text for name, text in texts.items())
    texts |= {str(path): path.read_bytes() for path in files}
    assert [name for name, text in texts.items() if is_told(token, port, text)] == []
    (known,) = (driver.folder / f"splitscan-{os.getuid()}").glob("coordinator-*")
    assert json.loads(known.read_text())["near"] == {"host": "127.0.0.1", "port": port, "token": token}
