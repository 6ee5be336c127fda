"""A stream of messages whose driver is killed twice, and whose brokers go and come back: each comes once."""

import os
import signal
import subprocess
import sys
import time
import zlib
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from splitscan.messages.kafka import KafkaCluster
from splitscan.messages.spec import parse_kafka_options

from ..kafka.mock import MockCluster

pytestmark = [pytest.mark.fault, pytest.mark.slow, pytest.mark.spark]

WINDOWS = 8  # of as many messages each

DRIVER = r"""
import shutil, sys, time
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

servers, folder, window, held = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
builder = SparkSession.builder.master("local[2]")
for name, value in {
    "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "OFF", "spark.sql.shuffle.partitions": "1", "spark.driver.memory": "700m",
}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
frame = (
    spark.readStream.format("splitscan").option("source", "kafka").option("kafka.bootstrap.servers", servers)
    .option("kafka.reconnect.backoff.max.ms", 200).option("subscribe", "events").option("recordFormat", "json")
    .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", window)
    .schema("id long, name string").load()
)


def write_batch(batch, number):
    (folder / f"begun-{number}").touch()
    out, kept = f"{folder}/out/batch={number}", f"{number} {uuid4()}"
    batch.write.mode("overwrite").parquet(out)
    shutil.copytree(out, folder / kept).rename(folder / "runs" / kept)
    if number == held:
        (folder / "held").touch()
        time.sleep(600)


writer = frame.writeStream.option("checkpointLocation", f"{folder}/ck").foreachBatch(write_batch)
query = writer.trigger(availableNow=True).start()
query.awaitTermination(600)
if query.exception() is not None:
    sys.exit(str(query.exception())[:4000])
"""


def facts(folder):
    """How many messages there are, how many of them differ, and what they are together."""
    rows = pq.read_table(folder, columns=["id", "name"])
    return facts_of(zip(rows["id"].to_pylist(), rows["name"].to_pylist(), strict=True))


def facts_of(messages):
    ordered = sorted(messages)
    return [len(ordered), len(set(ordered)), zlib.crc32(repr(ordered).encode())]


@pytest.fixture
def cluster():
    started = MockCluster()
    yield started
    started.close()


@pytest.fixture
def start(tmp_path, cluster):
    (tmp_path / "runs").mkdir()
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    running = []

    def begin(messages, held=-1):
        command = [sys.executable, str(script), cluster.servers, str(tmp_path), str(messages // WINDOWS), str(held)]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        errors = (tmp_path / f"errors-{len(running)}").open("wb")
        process = subprocess.Popen(
            command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=errors
        )
        errors.close()
        running.append(process)
        return process

    yield begin
    for process in running:
        kill(process)


def kill(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)


def wait_for(path: Path, process):
    deadline = time.monotonic() + 240
    while not path.exists():
        assert process.poll() is None, "the driver ended by itself"
        assert time.monotonic() < deadline, f"no {path.name} in four minutes"
        time.sleep(0.02)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("messages", [8_000, pytest.param(1_000_000, marks=pytest.mark.large)])
def test_all_messages_come_once_each(tmp_path, cluster, start, messages):
    cluster.create("events", 8)
    cluster.send("events", (b'{"id": %d, "name": "n%d"}' % (number, number) for number in range(messages)))
    options, _ = parse_kafka_options({"kafka.bootstrap.servers": cluster.servers, "subscribe": "events"})
    known = KafkaCluster(options)
    assert set(known.earliest(known.partitions()).values()) == {0}, "the cluster has not kept all"

    process = start(messages, held=1)  # its output is written, and Spark does not know
    wait_for(tmp_path / "held", process)
    kill(process)
    process = start(messages)
    wait_for(tmp_path / "begun-3", process)
    with cluster.down():
        time.sleep(0.5)
    wait_for(tmp_path / "begun-5", process)  # in the middle of it
    kill(process)
    process = start(messages)
    assert process.wait(600) == 0, (tmp_path / "errors-2").read_text()[-4000:]

    found = facts(tmp_path / "out")
    assert found == facts_of((number, f"n{number}") for number in range(messages))
    assert found[:2] == [messages] * 2
    runs = defaultdict(list)
    for run in (tmp_path / "runs").iterdir():
        runs[int(run.name.split()[0])].append(facts(run))
    assert len(runs) == WINDOWS
    assert len(runs[1]) == 2
    assert all(run == each[0] for each in runs.values() for run in each), "a window was another one when it ran again"
