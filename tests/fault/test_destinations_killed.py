"""Ingests into destinations of every kind, killed at random moments again and again, and twins beside a stranger.

Every run is a process of its own, and every kill a SIGKILL. Afterwards each row is there once, and ``verify`` agrees.
"""

import json
import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.fault, pytest.mark.slow]

SEED = 20261123

SCRIPT = r"""
import json, os, random, signal, sys, time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException

from splitscan.errors import SplitscanError
from splitscan.jobs import verify
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.division import Runner
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.api.files import Scan
from splitscan.jobs.settings import Layout
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.workplace import DestinationStorage

work, root, number, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
chance = random.Random(seed)
ROWS, FOREIGN = 240, 3
KINDS = ["a/b", "", "100%", "x y", "NA"]
LAYOUTS = ("flat", "jobs")


def write_source(folder, job):
    lines = [f"{job * ROWS + row},{KINDS[row % 5]}\n" for row in range(ROWS)]
    (folder / "in").mkdir(parents=True, exist_ok=True)
    (folder / "in" / f"{job:04d}.csv").write_text("".join(lines))


def ingest(folder, table, partition_by):
    options = {"blockSize": 400, "taskSize": 900, "openCostInBytes": 0, "nullValue": "NA"}
    scan = Scan.of(str(folder / "in"), "csv", "id long, kind string", options)
    plain = table in LAYOUTS
    settings = IngestSettings(partition_by=partition_by, layout=Layout(table) if plain else None)
    run_ingest(FileSource(scan), IngestTarget(folder / "out", settings, table=None if plain else table), Runner())


def open_iceberg(out):
    catalog = SqlCatalog("splitscan", uri=f"sqlite:///{out}/iceberg.db", warehouse=f"file://{out}")
    return catalog.load_table("splitscan.records")


def read(folder, table):
    out = folder / "out"
    if table == "delta":
        return DeltaTable(out).to_pyarrow_table()["id"].to_pylist()
    if table == "iceberg":
        return open_iceberg(out).scan().to_arrow()["id"].to_pylist()
    return ds.dataset(out, format="parquet", partitioning="hive").to_table(columns=["id"])["id"].to_pylist()


def compare(found, expected):
    assert found == expected, ("doubled", found - expected, "lost", expected - found)


def check(folder, table, jobs):
    found = read(folder, table)
    expected = range(jobs * ROWS)
    compare(Counter(found), Counter(expected))
    report = verify(folder / "out", deep=True)
    assert report.problems == report.notes == (), report
    assert report.rows == jobs * ROWS


def check_distinct(folder, table):
    if (folder / "out").exists() and (table in LAYOUTS or table_exists(folder, table)):
        found = read(folder, table)
        assert len(found) == len(set(found)), (folder, Counter(found).most_common(3))
        if table == "jobs":
            jobs = Counter(row // ROWS for row in found)
            assert set(jobs.values()) <= {ROWS}, (folder, jobs)


def table_exists(folder, table):
    return any((folder / "out" / "_delta_log").glob("*.json")) if table == "delta" else has_iceberg(folder / "out")


def has_iceberg(out):
    catalog = SqlCatalog("splitscan", uri=f"sqlite:///{out}/iceberg.db", warehouse=f"file://{out}")
    return (out / "iceberg.db").exists() and catalog.table_exists("splitscan.records")


def begin(task, *arguments):
    # the parent imports and forks only: what starts threads happens in children
    child = os.fork()
    if child == 0:
        code = 1
        try:
            task(*arguments)
            code = 0
        except SplitscanError as error:
            code = 3
            print(error, file=sys.stderr)
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child


def end(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def finish(task, *arguments):
    code = end(begin(task, *arguments))
    assert code == 0, (task.__name__, arguments, code)


def survive(folder, table, partition_by):
    kills, jobs = 0, 1
    write_source(folder, 0)
    started = time.monotonic()
    finish(ingest, folder, table, partition_by)
    longest = 1.2 * (time.monotonic() - started)
    while kills < number:
        write_source(folder, jobs)
        jobs += 1
        code = -1
        while code != 0 and kills < number:
            child = begin(ingest, folder, table, partition_by)
            time.sleep(chance.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            code = end(child)
            assert code in {0, -signal.SIGKILL}, code
            kills += code != 0
            if code != 0 and kills % 4 == 0:
                finish(check_distinct, folder, table)
    finish(ingest, folder, table, partition_by)
    finish(check, folder, table, jobs)
    return {"kills": kills, "jobs": jobs}


def append_for_ever(folder, table):
    rows = pa.table({"id": pa.array([-1] * FOREIGN, pa.int64()), "kind": pa.array(["foreign"] * FOREIGN)})
    counted = folder / "foreign"
    for count in range(1, 10_000):
        if table == "delta":
            write_deltalake(folder / "out", rows, mode="append")
        else:
            while True:
                try:
                    open_iceberg(folder / "out").append(rows)
                    break
                except CommitFailedException:
                    continue
        counted.write_text(str(count))
        if (folder / "stop").exists():
            return


def twin(folder, table, partition_by):
    DestinationStorage.lock = lambda self: nullcontext()  # as on an object store, where there is none
    ingest(folder, table, partition_by)


def compete(folder, table, partition_by):
    write_source(folder, 0)
    finish(ingest, folder, table, partition_by)
    stranger = begin(append_for_ever, folder, table)
    refused = 0
    for job in range(1, number + 1):
        write_source(folder, job)
        twins = [begin(twin, folder, table, partition_by) for _ in range(2)]
        codes = [end(child) for child in twins]
        assert set(codes) <= {0, 3}, codes  # the one that comes too late may say so, or find all done
        refused += codes.count(3)
        finish(ingest, folder, table, partition_by)
    (folder / "stop").touch()
    assert end(stranger) == 0
    finish(check_beside_stranger, folder, table, number + 1)
    return {"jobs": number + 1, "refused": refused, "foreign": int((folder / "foreign").read_text())}


def check_beside_stranger(folder, table, jobs):
    found = Counter(read(folder, table))
    assert found.pop(-1) == FOREIGN * int((folder / "foreign").read_text())
    compare(found, Counter(range(jobs * ROWS)))
    report = verify(folder / "out", deep=True)
    assert report.problems == report.notes == (), report


tasks = {"survive": (survive, (*LAYOUTS, "delta", "iceberg")), "compete": (compete, ("delta", "iceberg"))}
task, tables = tasks[work]
told = {}
for table in tables:
    for partition_by in ((), ("kind",)):
        name = f"{table}{'-partitioned' if partition_by else ''}"
        told[name] = task(root / name, table, partition_by)
print(json.dumps(told))
"""


def run(work, folder, number):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, work, str(folder), str(number), str(SEED)],
        capture_output=True, text=True, timeout=1700, check=False, env={**os.environ, "POLARS_MAX_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(told, indent=1))  # noqa: T201 -- the figure of the run; shown with -s
    return told


@pytest.mark.parametrize("kills", [4, pytest.param(34, marks=[pytest.mark.large, pytest.mark.timeout(1800)])])
def test_whatever_is_killed_each_row_is_there_once(tmp_path, kills):
    told = run("survive", tmp_path, kills)
    assert len(told) == 8
    assert all(each["kills"] >= kills for each in told.values())


@pytest.mark.parametrize("jobs", [2, pytest.param(8, marks=[pytest.mark.large, pytest.mark.timeout(1800)])])
def test_twins_beside_a_foreign_appender_double_and_lose_nothing(tmp_path, jobs):
    told = run("compete", tmp_path, jobs)
    assert len(told) == 4
    assert all(each["jobs"] == jobs + 1 and each["foreign"] > 0 for each in told.values())
