"""Ingests that are killed: the driver at each phase, and a Python worker. Each runs in a process of its own."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pyarrow.parquet as pq
import pytest

import splitscan as ss
from splitscan.jobs import verify

pytestmark = [pytest.mark.fault, pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(1200)]

DRIVER = r"""
import json, os, signal, sys
from pathlib import Path
from types import SimpleNamespace

from pyspark.sql import SparkSession

import splitscan as ss
from splitscan.jobs import steps

source, rebalance, has_tasks, *runs = sys.argv[1:]
steps.POLL_SECONDS = 0.05
killed = []


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def workers():
    # processes that Spark's Python daemon forked: a Python process whose parent runs pyspark.daemon, below this one
    for entry in Path("/proc").iterdir():
        try:
            process = int(entry.name)
            parent = parent_of(process)
            daemon = b"pyspark.daemon" in Path(f"/proc/{parent}/cmdline").read_bytes()
            if daemon and parent_of(parent_of(parent)) == os.getpid():
                yield process
        except (ValueError, OSError, IndexError):
            continue


def killing(victim, phase, count):
    seen = []

    def on_progress(progress):
        if progress.phase.name != phase:
            return
        seen.append(progress)
        if victim == "driver":
            enough = progress.bytes_done >= progress.bytes_total / 2 if count == "half" else len(seen) >= int(count)
            if enough:
                os.kill(os.getpid(), signal.SIGKILL)
        if victim == "machine" and progress.blocks_done:  # Spark could else read the rest before it misses the driver
            os.killpg(0, signal.SIGKILL)
        if victim == "worker" and not killed and progress.blocks_done > 2:
            for process in workers():
                os.kill(process, signal.SIGKILL)
                killed.append(process)
                break

    return on_progress


def start_spark():
    builder = SparkSession.builder.master("local[2,4]").config(ZONE, "UTC")
    for name, value in json.loads(os.environ["SPLITSCAN_TEST_CONF"]).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


ZONE = "spark.sql.session.timeZone"
spark = start_spark() if has_tasks == "True" else SimpleNamespace(conf={ZONE: "UTC"})
for run in map(json.loads, runs):
    if run["more"]:
        os.rename(run["more"], os.path.join(source, os.path.basename(run["more"])))
    scan = ss.scan(
        source, "csv", "id long, text string", header=True, multiLine=True, escape='"',
        blockSize="12k", taskSize="48k", openCostInBytes=0, rebalance=rebalance == "True",
    )
    report = scan.ingest(spark, run["out"], on_progress=killing(run["victim"], run["phase"], run["count"]))
    print(json.dumps({"rows": report.rows, "resumed": report.blocks_resumed, "blocks": report.blocks,
                      "nothing": report.nothing_to_do, "killed": len(killed),
                      "claimed": report.rebalance.claimed_bytes if report.rebalance else 0}), flush=True)
if has_tasks == "True":
    spark.stop()
"""
CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "a.csv", 1)
    write(folder / "b.csv", 2)
    return folder


def write(path, seed):
    """A CSV of about 1 MB: newlines in quotes, and one record with a field too many."""
    generator = random.Random(seed)
    lines = ["id,text"]
    for number in range(12_000):
        text = generator.choice(["plain", '"two\nlines"', '"a, b"', '"say ""hi"""']) + "x" * 60
        lines.append(f"{number},{text if not text.startswith(chr(34)) else text.rstrip('x')}")
    lines.append("1,2,3")
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (time.time() - 60,) * 2)  # the boundaries of a file that may still change are not kept


def ingest(out, victim="nobody", phase="-", count="1", more=""):
    """One that may be told to kill itself, or one of its workers, or all of the machine. A file *more* joins before."""
    return {"out": str(out), "victim": victim, "phase": phase, "count": count, "more": str(more)}


@pytest.fixture
def drive(source, tmp_path):
    """Run ingests in a process of its own, one after the other. Returns what the last that was not killed says."""
    groups = []

    def run(*ingests, rebalance=False, has_tasks=True):
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPLITSCAN_TEST_CONF": json.dumps(CONF)}
        with subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(source), str(rebalance), str(has_tasks), *map(json.dumps, ingests)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True,
        ) as process:  # fmt: skip
            groups.append(process.pid)
            try:
                answer, errors = process.communicate(timeout=400)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        kills = ingests[-1]["victim"] in {"driver", "machine"}
        assert process.returncode == (-signal.SIGKILL if kills else 0), errors[-3000:]
        reports = answer.splitlines()
        assert len(reports) == len(ingests) - kills
        return json.loads(reports[-1]) if reports else None

    yield run
    for group in groups:  # a virtual machine that outlived its driver
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def parts(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("part-*.parquet") if "staging" not in path.parts}


def finished_parts(folder):
    """Reports of finished parts in the staging folder, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob(".out.splitscan/*/reports/*/*.json")}


def content(rows):
    return sorted((row["id"] or 0, row["text"] or "") for row in rows)


def expected(source):
    scan = ss.scan(str(source), "csv", "id long, text string", header=True, multiLine=True, escape='"')
    return content(scan.to_arrow().to_pylist())


def check_complete(out, source):
    """Parquet, ledger and source agree byte for byte."""
    report = verify(out, deep=True)
    assert report.problems == report.notes == ()
    assert report.digests_checked == report.blocks > 0
    assert content(pq.read_table(out).to_pylist()) == expected(source)
    assert not (out.parent / f".{out.name}.splitscan").exists()


def test_a_driver_killed_at_any_phase_leaves_the_destination_as_before_or_as_after(drive, source, tmp_path):
    out = tmp_path / "out"
    finished = {}
    for phase, count in [("PLAN", "1"), ("INDEX", "1"), ("READ", "half"), ("CHECK", "1"), ("PUBLISH", "5")]:
        drive(ingest(out, "driver", phase, count), has_tasks=phase in {"READ", "CHECK"})
        assert not out.exists(), phase
        now = finished_parts(tmp_path)
        assert finished.items() <= now.items(), phase  # what was finished before is not written, so not read, again
        finished = now
        assert (len(now) > 0) == (phase not in {"PLAN", "INDEX"})
    report = drive(ingest(out), has_tasks=False)
    assert report["resumed"] == report["blocks"] > 50  # the last kills came after the last block
    assert 10 < len(finished) < report["blocks"] / 2  # a few blocks share a part
    check_complete(out, source)

    before, whole, more = parts(out), tmp_path / "whole", tmp_path / "c.csv"
    write(more, 3)
    # of one that is whole; then everything is prepared for one more file, the ledger comes next
    report = drive(ingest(whole), ingest(out, "driver", "PUBLISH", "2", more))
    assert report["resumed"] == 0
    assert parts(out) == before == parts(whole)
    assert verify(out, deep=True).ok
    drive(ingest(out, "driver", "PUBLISH", "4"), has_tasks=False)  # the ledger is there, no file is moved in
    assert verify(out, deep=True).ok
    assert set(before) < set(parts(out))
    assert drive(ingest(out), has_tasks=False)["nothing"]
    check_complete(out, source)


def test_a_rebalanced_ingest_whose_driver_was_killed_is_continued_by_new_claims(drive, source, tmp_path):
    for seed in range(3, 33):  # enough that some of it is left when some of it is read
        write(source / f"{seed}.csv", seed)
    out = tmp_path / "out"
    drive(ingest(out, "machine", "READ"), rebalance=True)
    assert not out.exists()
    reports = [json.loads(path.read_text()) for path in tmp_path.glob(".out.splitscan/*/reports/*/*.json")]
    finished = {written["name"]: written["sha256"] for report in reports for written in report["written"]}
    assert reports
    report = drive(ingest(out), rebalance=True)
    assert report["resumed"] >= len(reports)
    assert 0 < report["claimed"] < sum(path.stat().st_size for path in source.iterdir())
    kept = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.glob("*.parquet")}
    assert {name: digest for name, digest in finished.items() if "/" not in name}.items() < kept.items()
    check_complete(out, source)


@pytest.mark.parametrize("rebalance", [False, pytest.param(True, marks=pytest.mark.large)])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are found in /proc")
def test_a_python_worker_that_is_killed_is_replaced_and_nothing_is_written_twice(drive, source, tmp_path, rebalance):
    out = tmp_path / "out"
    report = drive(ingest(out, "worker", "READ"), rebalance=rebalance)
    assert report["killed"] == 1
    check_complete(out, source)
