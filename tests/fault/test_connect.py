"""Spark Connect over the network: where relative paths lie, and a server that is killed during an ingest."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.clusters.connect import ConnectServer
from tests.clusters.driver import Driver, FailedInDriverError
from tests.clusters.processes import Seen, wait_until

import splitscan as ss
from splitscan.ingest import verify

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.slow]

HOLDING = Path(__file__).parents[1] / "clusters" / "holding"
RECORDS = 20_000
TOLD_SECONDS = 30

# The command, which waits as many seconds for a server that is silent as the first argument says.
COMMAND = """
import sys
from splitscan.cli import main
from splitscan.spark import patience
patience.GIVE_UP_SECONDS = int(sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = ConnectServer(tmp_path_factory.mktemp("connect") / "server", "local[2]")
    yield started
    started.close()


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id,text\n" + "".join(f"{number},text of {number}\n" for number in range(RECORDS)))
    return path


def count(spark, *paths):
    """What Spark's own reader and ours find under each path."""
    ss.register(spark)
    ours, sparks = spark.read.format("splitscan").option("header", True), spark.read.option("header", True)
    return [(ours.load(path).count(), sparks.csv(path).count()) for path in paths]


def count_of_scan(spark, path, folder):
    os.chdir(folder)
    return ss.scan_csv(path, header=True).to_spark(spark).count()


def test_row_11_on_connect_file_paths_are_read_and_relative_ones_refused(server, source, tmp_path):
    (tmp_path / "client").mkdir()
    driver = Driver(tmp_path / "client", server.url, connect=True)
    try:
        relative = os.path.relpath(source, Path(f"/proc/{server.process.pid}/cwd").resolve())
        assert driver.call(count, str(source), f"file:{source}", f"file://{source}") == [(RECORDS, RECORDS)] * 3
        with pytest.raises(FailedInDriverError, match=r"(?s)\[bad-path\].*write the absolute path"):
            driver.call(count, relative)
        assert driver.call(count_of_scan, "in.csv", tmp_path) == RECORDS  # a scan is planned by the client
    finally:
        driver.close()


@pytest.mark.parametrize("patience", [10, pytest.param(60, marks=pytest.mark.large)])
def test_row_19_a_server_that_is_killed_during_an_ingest_is_told_of_given_up_and_run_again(
    server, source, tmp_path, monkeypatch, patience
):
    held, out = tmp_path / "held", tmp_path / "out"
    reports = f"{tmp_path}/.out.splitscan/*/reports/*/*.json"
    with monkeypatch.context() as holding:
        holding.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(HOLDING), os.environ.get("PYTHONPATH")])))
        holding.setenv("SPLITSCAN_TEST_HOLD", f"{source}\n{reports}\n{held}\n{tmp_path}/never")
        killed_server = ConnectServer(tmp_path / "server", "local[1]")
    said = tmp_path / "said"
    small = ("--block-size", "100k", "-o", "taskSize=100k", "-o", "openCostInBytes=0", "--header")
    command = [sys.executable, "-c", COMMAND, str(patience), "ingest", str(source), str(out), *small, "--master"]
    try:
        with said.open("wb") as errors, subprocess.Popen([*command, killed_server.url], stderr=errors) as process:
            try:
                wait_until("a task that will not end by itself", held.exists)
                os.kill(killed_server.process.pid, signal.SIGKILL)
                killed = time.monotonic()
                wait_until(
                    "a word on the server", lambda: b"does not answer any more" in said.read_bytes(), TOLD_SECONDS
                )
                assert process.wait(patience + TOLD_SECONDS) == 1
                assert time.monotonic() - killed >= patience - 1
            finally:
                process.kill()
    finally:
        killed_server.close()
    assert "[server-lost]" in said.read_text()
    assert not out.exists()
    assert not Seen(int(held.read_text()), "").is_running
    done = subprocess.run([*command, server.url, "-q"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert sorted(map(int, pq.read_table(out)["id"].to_pylist())) == list(range(RECORDS))
    assert verify(out, deep=True).ok
