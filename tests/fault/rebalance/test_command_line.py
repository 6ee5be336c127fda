"""``splitscan ingest --rebalance`` on a cluster, as a user runs it, while an executor is killed."""

import os
import signal
import subprocess
import sys

import pyarrow.parquet as pq
from tests.clusters.driver import CALL_SECONDS, SETTINGS, java_options, worker_environment
from tests.clusters.faults import executor_of
from tests.clusters.processes import wait_until
from tests.clusters.rebalanced import PARTITIONS
from tests.clusters.records import content
from tests.clusters.standalone import SMALL_SETTINGS

from splitscan.jobs import verify

OPTIONS = {
    "header": "true", "multiLine": "true", "escape": '"', "minPartitionNum": PARTITIONS, "taskSize": "50k",
}  # fmt: skip


def pairs_in(destination):
    for row in pq.read_table(destination).to_pylist():
        yield row["id"], row["text"]


def test_an_ingest_of_the_command_line_whose_executor_is_killed_half_way(cluster, source, tmp_path):
    """A task is held after the first part that is finished, and its executor killed."""
    out, report, held, go = (tmp_path / name for name in ("out", "report.html", "held", "go"))
    environment = worker_environment(tmp_path)
    reports = f"{tmp_path}/.out.splitscan/*/reports/*"
    settings = {
        **SETTINGS,
        **SMALL_SETTINGS,
        "spark.executor.extraJavaOptions": java_options(tmp_path),
        "spark.executorEnv.SPLITSCAN_TEST_HOLD": f"{reports}\n{reports}/*.json\n{held}\n{go}",
    }
    command = [sys.executable, "-m", "splitscan", "ingest", source.path, str(out), "-s", "id long, text string"]
    command += ["--rebalance", "--report", str(report), "--master", cluster.master]
    command += [part for name, value in OPTIONS.items() for part in ("-o", f"{name}={value}")]
    command += [part for name, value in settings.items() for part in ("--spark-conf", f"{name}={value}")]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_until(
                "a task that is held", lambda: process.poll() is not None or (held.exists() and held.read_text())
            )
            assert process.poll() is None, process.communicate()
            os.kill(executor_of(int(held.read_text())), signal.SIGKILL)
            go.touch()
            told, said = process.communicate(timeout=CALL_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert told.startswith(f"ingested {source.content.records:,} records into {out}\n")
    assert "  proof    every byte accounted for\n" in told
    assert f"by {PARTITIONS} readers" in told
    assert content(pairs_in(out)) == source.content
    assert verify(out, deep=True).ok
    page = report.read_text()
    assert all(f"reader {number}</text>" in page for number in range(PARTITIONS))
    assert page.count("<svg") == 1
