"""A stream of messages whose driver is killed twice, and whose brokers go and come back: each comes once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

from splitscan.messages.kafka import KafkaCluster
from splitscan.messages.options import parse_kafka_options

from ..kafka.mock import MockCluster

pytestmark = [pytest.mark.fault, pytest.mark.slow, pytest.mark.spark]

WINDOWS = 8  # of as many messages each

DRIVER = r"""
import json, sys, time
from pathlib import Path

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
FACTS = ("count(*)", "count(distinct id)", "sum(cast(xxhash64(id, name) as decimal(38)))")


def facts(rows):
    return [str(fact) for fact in rows.selectExpr(*FACTS).first()]


def write_batch(batch, number):
    (folder / f"begun-{number}").touch()
    batch.write.mode("overwrite").parquet(f"{folder}/out/batch={number}")
    with (folder / "batches").open("a") as log:
        log.write(json.dumps([number, facts(spark.read.parquet(f"{folder}/out/batch={number}"))]) + "\n")
    if number == held:
        (folder / "held").touch()
        time.sleep(600)


writer = frame.writeStream.option("checkpointLocation", f"{folder}/ck").foreachBatch(write_batch)
query = writer.trigger(availableNow=True).start()
query.awaitTermination(600)
if query.exception() is not None:
    sys.exit(str(query.exception())[:4000])
expected = facts(spark.range(int(sys.argv[5])).selectExpr("id", "concat('n', id) as name"))
(folder / "facts").write_text(json.dumps([facts(spark.read.parquet(f"{folder}/out")), expected]))
"""


@pytest.fixture
def cluster():
    started = MockCluster()
    yield started
    started.close()


@pytest.fixture
def start(tmp_path, cluster):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    running = []

    def begin(messages, held=-1):
        sizes = [str(messages // WINDOWS), str(held), str(messages)]
        command = [sys.executable, str(script), cluster.servers, str(tmp_path), *sizes]
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
@pytest.mark.parametrize("messages", [200_000, pytest.param(1_000_000, marks=pytest.mark.large)])
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

    found, expected = json.loads((tmp_path / "facts").read_text())
    assert found == expected
    assert found[:2] == [str(messages)] * 2
    runs = defaultdict(list)
    for line in (tmp_path / "batches").read_text().splitlines():
        number, content = json.loads(line)
        runs[number].append(content)
    assert len(runs[1]) == 2
    assert all(run == each[0] for each in runs.values() for run in each), "a window was another one when it ran again"
