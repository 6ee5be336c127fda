"""Streams that are killed while files are created, appended to and rotated: nothing is lost, nothing comes twice.

``SPLITSCAN_STREAM_KILLS`` says how often each is killed; a few times when not given.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = [pytest.mark.fault, pytest.mark.slow, pytest.mark.spark]

KILLS = int(os.environ.get("SPLITSCAN_STREAM_KILLS", "2"))
READERS = ("connector", "python")  # in turns, over one checkpoint

DRIVER = r"""
import json, sys
from pathlib import Path

import pyarrow.parquet as pq
import splitscan
from pyspark.sql import SparkSession

source, folder, sink, mode, reader = sys.argv[1:]
out, checkpoint = f"{folder}/out", f"{folder}/ck"
builder = SparkSession.builder.master("local[2]")
for name, value in {
    "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "OFF", "spark.sql.shuffle.partitions": "1", "spark.driver.memory": "700m",
}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
if reader == "connector":
    splitscan.register(spark)
frame = (
    spark.readStream.format("splitscan").option("recordFormat", "text").option("fileMode", "append")
    .option("stateLocation", f"{checkpoint}/splitscan").option("scanIntervalMillis", 0)
    .option("blockSize", 4096).option("blocksThreshold", 6 if mode == "run" else 10_000).option("minReaders", 2)
    .schema("value string").load(source)
)


def write_batch(batch, number):
    batch.write.mode("overwrite").parquet(f"{out}/batch={number}")
    rows = sorted(pq.ParquetDataset(f"{out}/batch={number}").read(columns=["value"])["value"].to_pylist())
    with Path(f"{folder}/batches").open("a") as log:
        log.write(json.dumps([number, len(rows), hash(tuple(rows))]) + "\n")


writer = frame.writeStream.option("checkpointLocation", checkpoint)
writer = writer.foreachBatch(write_batch) if sink == "foreachBatch" else writer.format("parquet").option("path", out)
if mode == "run":
    query = writer.trigger(processingTime="100 milliseconds").start()
    while query.isActive:
        query.awaitTermination(0.2)
        if query.lastProgress:
            Path(f"{folder}/batch").write_text(str(query.lastProgress["batchId"]))
else:
    query = writer.trigger(availableNow=True).start()
    if not query.awaitTermination(800):
        sys.exit("the stream has not come to its end")
    values = [row.value for row in spark.read.parquet(out).collect()]
    Path(f"{folder}/values").write_text(json.dumps(values))
if query.exception() is not None:
    sys.exit(str(query.exception())[:4000])
"""


class Writer(threading.Thread):
    """Creates, appends to and rotates files, cut anywhere, until it is told to stop; then completes every record."""

    def __init__(self, folder, seed):
        super().__init__(daemon=True)
        self.folder = folder
        self.rng = random.Random(seed)
        self.lines = []
        self.stopped = threading.Event()
        self.pending = {}

    def run(self):
        generation = 0
        while not self.stopped.wait(0.1):
            name = f"app-{self.rng.randrange(4)}.log"
            data = self.pending.pop(name, b"") + b"".join(self.line() for _ in range(self.rng.randrange(1, 40)))
            cut = self.rng.randrange(len(data) + 1) if self.rng.random() < 0.5 else len(data)
            with (self.folder / name).open("ab") as out:
                out.write(data[:cut])
            self.pending[name] = data[cut:]
            if self.rng.random() < 0.05 and not self.pending[name]:
                generation += 1
                (self.folder / name).rename(self.folder / f"{name}.{generation}")
        for name, rest in self.pending.items():
            with (self.folder / name).open("ab") as out:
                out.write(rest)

    def line(self):
        text = f"{len(self.lines):07d} " + "x" * self.rng.randrange(60)
        self.lines.append(text)
        return text.encode() + b"\n"


@pytest.fixture
def start(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONHASHSEED": "0"}
    running = []

    def begin(source, sink, mode, reader):
        command = [sys.executable, str(script), str(source), str(tmp_path), sink, mode, reader]
        process = subprocess.Popen(
            command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        kill_group(process)


def kill_group(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(300)
    process.stderr.close()


def kill_jvm(process):
    """Only the JVM: planner and workers find out by themselves."""
    for entry in Path("/proc").iterdir():
        with suppress(ValueError, OSError, IndexError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process.pid and b"java" in (entry / "cmdline").read_bytes().split(b"\0")[0]:
                os.kill(int(entry.name), signal.SIGKILL)
                return


def wait_for_batch(folder, after, process):
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read().decode()
        with suppress(OSError, ValueError):
            if int((folder / "batch").read_text()) > after:
                return int((folder / "batch").read_text())
        time.sleep(0.05)
    raise AssertionError("no batch in four minutes")


@pytest.mark.timeout(600 + 150 * KILLS)
@pytest.mark.parametrize("sink", [pytest.param("file", marks=pytest.mark.large), "foreachBatch"])
def test_a_stream_that_is_killed_loses_and_doubles_nothing(tmp_path, start, sink):
    source = tmp_path / "in"
    source.mkdir()
    rng = random.Random(f"{sink}{KILLS}")
    writer = Writer(source, sink)
    writer.start()
    batch = -1
    for kill in range(KILLS):
        process = start(source, sink, "run", READERS[kill % 2])
        batch = wait_for_batch(tmp_path, batch, process)
        time.sleep(rng.random())  # of a batch or two
        if kill % 2:
            kill_jvm(process)
            time.sleep(rng.random())
        kill_group(process)
    writer.stopped.set()
    writer.join()
    process = start(source, sink, "drain", READERS[KILLS % 2])
    _, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors.decode()[-4000:]
    values = json.loads((tmp_path / "values").read_text())
    expected = Counter(writer.lines)
    found = Counter(values)
    assert (expected - found, found - expected) == (Counter(), Counter())
    assert len(values) == len(writer.lines) > 100
    if sink == "foreachBatch":
        runs = {}
        for line in (tmp_path / "batches").read_text().splitlines():
            number, *content = json.loads(line)
            assert runs.setdefault(number, content) == content, f"batch {number} was another one when it ran again"
