"""How far it is from an ingest to its commit, where tasks run elsewhere: modules that run in the driver.

Whoever follows one job reads about as many files as run for it. A change that makes the way longer shows here.
"""

import json
import subprocess
import sys

import pytest

from splitscan.engine import kernel

_TRACED = """
import json, os, sys
import splitscan as ss
from splitscan.cli import main, runs
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.spark import ingest_runner
from tests.unit.cli.conftest import InProcessRunner

HOME = os.path.dirname(ss.__file__)
source, out, table = sys.argv[1:4]
table = None if table == "none" else table

class Elsewhere(InProcessRunner):
    def run(self, write_part, target, parts):
        sys.setprofile(None)  # in a thread of its own
        return super().run(write_part, target, parts)

class Here:
    spark, log = "here", None

    def close(self, *, keep_log=False):
        pass

def traced(work):
    modules = set()

    def profile(frame, event, arg):
        if event == "call" and frame.f_code.co_filename.startswith(HOME):
            modules.add(os.path.relpath(frame.f_code.co_filename, HOME))

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return sorted(modules)

def ingest(folder):
    scan = ss.scan_csv(source, "id long, text string", header=True)
    report = run_ingest(FileSource(scan), IngestTarget(folder, table=table), Elsewhere(lambda: "here"))
    assert report.rows == 1000

def command(folder):
    ingest_runner.SparkRunner, runs.start_session = Elsewhere, lambda master, conf: Here()
    flags = ["--header", "-s", "id long, text string", "-o", "dialect=spark", "-q", "--table", table or "none"]
    assert main(["ingest", source, folder, *flags]) == 0

ingest(out + "/loaded")
command(out + "/loaded too")
print(json.dumps({"driver": traced(lambda: ingest(out + "/a")), "command": traced(lambda: command(out + "/b"))}))
"""

LIMITS = {"none": {"driver": 51, "command": 59}, "delta": {"driver": 52, "command": 60}}  # modules


@pytest.mark.slow  # each starts a process
@pytest.mark.skipif(kernel() is None, reason="the way is another one by the reference")
@pytest.mark.parametrize("table", LIMITS)
def test_the_way_of_a_job_is_short(tmp_path, table):
    source = tmp_path / "a.csv"
    source.write_text("id,text\n" + "".join(f'{row},"x{row}"\n' for row in range(1000)))
    command = [sys.executable, "-c", _TRACED, str(source), str(tmp_path), table]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    lengths = {name: len(modules) for name, modules in found.items()}
    assert all(lengths[name] <= most for name, most in LIMITS[table].items()), (lengths, found)
