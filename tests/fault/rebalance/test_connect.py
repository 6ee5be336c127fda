"""Spark Connect over the network: where relative paths lie, servers that are killed, and clients that go away."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.clusters import rebalanced
from tests.clusters.connect import ConnectServer
from tests.clusters.driver import Driver, FailedInDriverError
from tests.clusters.processes import Seen, wait_until
from tests.clusters.records import OPTIONS, SCHEMA, content, run

import splitscan as ss
from splitscan.jobs import verify
from splitscan.rebalance.client import Coordinator
from splitscan.rebalance.messages import CoordinatorAddress

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.slow]

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
    started = ConnectServer(tmp_path_factory.mktemp("connect") / "server", "local[2,4]")
    yield started
    started.close()


@pytest.fixture(scope="module")
def client(server, tmp_path_factory):
    started = Driver(tmp_path_factory.mktemp("client"), server.url, connect=True)
    yield started
    started.close()


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id,text\n" + "".join(f"{number},text of {number}\n" for number in range(RECORDS)))
    return path


def count(spark, *paths):
    """What Spark's own reader and ours find under each path."""
    ss.register(spark)
    ours, sparks = spark.read.format("splitscan").option("header", True), spark.read.option("header", True)
    return [(ours.load(path).count(), sparks.csv(path).count()) for path in paths]


def count_by_python(spark, *paths):
    spark.conf.set("spark.splitscan.connector", "false")
    try:
        return count(spark, *paths)
    finally:
        spark.conf.unset("spark.splitscan.connector")


def count_of_scan(spark, path, folder):
    os.chdir(folder)
    return ss.scan_csv(path, header=True).to_spark(spark).count()


def test_row_11_on_connect_file_paths_are_read_and_relative_ones_refused(server, client, lines, tmp_path):
    relative = os.path.relpath(lines, Path(f"/proc/{server.process.pid}/cwd").resolve())
    paths = (str(lines), f"file:{lines}", f"file://{lines}")
    assert client.call(count, relative, *paths) == [(RECORDS, RECORDS)] * 4  # planned in the server's directory
    assert client.call(count_by_python, *paths) == [(RECORDS, RECORDS)] * 3
    with pytest.raises(FailedInDriverError, match=r"(?s)\[bad-path\].*write the absolute path"):
        client.call(count_by_python, relative)
    assert client.call(count_of_scan, "in.csv", tmp_path) == RECORDS  # a scan is planned by the client


@pytest.mark.parametrize("patience", [10, pytest.param(60, marks=pytest.mark.large)])
def test_row_19_a_server_that_is_killed_during_an_ingest_is_told_of_given_up_and_run_again(
    server, lines, tmp_path, monkeypatch, patience
):
    held, out = tmp_path / "held", tmp_path / "out"
    reports = f"{tmp_path}/.out.splitscan/*/reports/*/*.json"
    with monkeypatch.context() as holding:
        holding.setenv("SPLITSCAN_TEST_HOLD", f"{lines}\n{reports}\n{held}\n{tmp_path}/never")
        killed_server = ConnectServer(tmp_path / "server", "local[1]")
    said = tmp_path / "said"
    small = ("--block-size", "100k", "-o", "taskSize=100k", "-o", "openCostInBytes=0", "--header")
    command = [sys.executable, "-c", COMMAND, str(patience), "ingest", str(lines), str(out), *small, "--master"]
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


def read_scan(spark, path):
    return run(rebalanced.scan(spark, path))


def read_by_fixed_ranges(spark, path):
    return run(rebalanced.scan(spark, path)), run(rebalanced.scan(spark, path))


def ingest(spark, path, destination):
    scan = ss.scan_csv(path, SCHEMA, task_size="100k", min_partitions=rebalanced.PARTITIONS, **OPTIONS)
    report = scan.ingest(spark, destination, rebalance=True)
    return report.rows, report.rebalance


def pairs_in(destination):
    for row in pq.read_table(destination).to_pylist():
        yield row["id"], row["text"]


def test_a_remote_server_of_spark_connect_and_clients_that_go_away(server, client, source, tmp_path):
    """The last of this module: the server is killed at its end."""
    first_client = Driver(tmp_path, server.url, connect=True)
    try:
        first, second = first_client.call(rebalanced.read_twice, source.path, tmp_path)
        rebalanced.check(first, rebalanced.logs_in(server.folder), source.content, source.offsets)
        assert second == first
    finally:
        first_client.close()
    assert len(server.process.find(rebalanced.COORDINATOR)) == 1
    assert len(rebalanced.known_coordinators(server.folder)) == 1
    scanned = client.call(read_scan, source.path)
    rebalanced.check(scanned, rebalanced.logs_in(server.folder), source.content, source.offsets)
    assert client.call(ingest, source.path, tmp_path / "out") == (source.content.records, None)
    scan, address = client.call(rebalanced.register)
    assert Coordinator(CoordinatorAddress.from_option(address)).scans()[-1] == scan
    assert content(pairs_in(tmp_path / "out")) == source.content
    assert verify(tmp_path / "out", deep=True).ok
    (folder,) = server.folder.glob("splitscan-*")
    folder.chmod(0o755)  # somebody else might have put something there
    for found in client.call(read_by_fixed_ranges, source.path):
        assert found.content == source.content
    told = client.process.log.read_text()
    assert told.count("the scan is read by fixed ranges") == 1
    assert "belongs to its user alone" in told
    folder.chmod(0o700)
    os.kill(server.process.pid, signal.SIGKILL)
    wait_until("the end of the coordinator", lambda: not server.process.find(rebalanced.COORDINATOR))
