"""Ingests of a table whose rows move all the time, killed at random moments: every row once, of one version.

Every run is a process of its own, and every kill a SIGKILL; the next run goes on with what the one before has finished.
"""

import os
import subprocess
import sys
import threading
from collections import Counter

import pytest

from splitscan.jobs import verify

from ..postgresql import running_server
from ..unit.jobs.test_table_sources import read

pytestmark = [pytest.mark.fault, pytest.mark.slow]

SEED = 20261125
ROWS, JOBS = 4000, 3
KILLS = int(os.environ.get("SPLITSCAN_TABLE_KILLS", "4"))  # of each job at most

# A row moves to another range of keys. Every version has each number once.
_MOVE = "UPDATE busy SET key = gen_random_uuid() WHERE id = {number}"

SCRIPT = r"""
import os, random, signal, sys, time
from pathlib import Path

import deltalake, pyiceberg.catalog.sql

import splitscan as ss
from splitscan.jobs.division import Runner
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.tables.ingest_source import TableIngestSource
from splitscan.jobs.settings import IngestSettings

url, out, kind, jobs, kills, seed = sys.argv[1:4] + [int(each) for each in sys.argv[4:]]
chance, staging = random.Random(seed), Path(out).parent / ".out.splitscan"


def begin(job):
    child = os.fork()  # the parent imports and forks only
    if child == 0:
        code = 1
        try:
            scan = ss.scan_table(url, "busy", "key", min_partitions=8)
            target = IngestTarget(out, IngestSettings(source_digests=False), table=kind)
            report = run_ingest(TableIngestSource(scan, job), target, Runner())
            print(report.blocks_resumed, flush=True)
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


killed = 0
for number in range(jobs):
    for _ in range(kills):
        child = begin(f"job-{number}")
        blocks, ended = chance.randrange(8), (0, 0)
        while len(list(staging.glob("*/reports-*/*/*.json"))) < blocks and not ended[0]:
            time.sleep(0.01)
            ended = os.waitpid(child, os.WNOHANG)
        if not ended[0]:
            time.sleep(chance.uniform(0, 0.3))
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(ended[1])
        assert code in {0, -signal.SIGKILL}, code
        killed += code != 0
    code = os.waitstatus_to_exitcode(os.waitpid(begin(f"job-{number}"), 0)[1])
    assert code == 0, code
print("killed", killed, flush=True)
"""


@pytest.fixture(scope="module")
def busy():
    """A server of its own, and a table whose rows move until the end."""
    pytest.importorskip("adbc_driver_postgresql")
    with running_server() as server:
        server.run(
            f"CREATE TABLE busy AS SELECT gen_random_uuid() AS key, i AS id FROM generate_series(0, {ROWS - 1}) i",
            "CREATE INDEX ON busy (key)",
            "CREATE INDEX ON busy (id)",
        )
        moved, stop = [], threading.Event()

        def move():
            with server.cursor() as cursor:
                while not stop.wait(0.001):
                    cursor.execute(_MOVE.format(number=len(moved) * 7919 % ROWS))
                    moved.append(1)

        thread = threading.Thread(target=move)
        thread.start()
        yield server, moved
        stop.set()
        thread.join()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "kind", ["delta", *(pytest.param(kind, marks=pytest.mark.large) for kind in ("none", "iceberg"))]
)
def test_whatever_is_killed_each_row_is_there_once_for_each_job(busy, tmp_path, kind):
    server, moved = busy
    before, out = len(moved), tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, server.url, str(out), kind, str(JOBS), str(KILLS), str(SEED)],
        capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *resumed, killed = done.stdout.splitlines()
    assert len(moved) > before + 100
    assert int(killed.removeprefix("killed ")) > JOBS
    assert sum(map(int, resumed)) > 0  # at least one run went on
    assert Counter(read(out, kind)["id"].to_pylist()) == dict.fromkeys(range(ROWS), JOBS)
    report = verify(out, deep=True)
    assert report.problems == ()
    assert (report.jobs, report.rows) == (JOBS, JOBS * ROWS)
    assert len(server.holders()) <= JOBS * KILLS  # those of runs that were killed before their plan was kept
