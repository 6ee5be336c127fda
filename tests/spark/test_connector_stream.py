"""Streams that the connector reads: who reads, one checkpoint for both engines, faults, and what is left of a query."""

import bz2
import gzip
import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import splitscan as ss
from splitscan.jar import connector_jar
from splitscan.spark.connector import SETTING, attach

from ..clusters.processes import wait_until
from ..unit.streaming.following import touch

pytestmark = [pytest.mark.slow, pytest.mark.skipif(connector_jar() is None, reason="the connector was not built")]

_CSV = {"recordFormat": "csv", "header": "true", "multiLine": "true", "blockSize": "64", "scanIntervalMillis": "0"}
_SCHEMA = "k int, v string"

with_python = pytest.mark.skipif(
    tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 2), reason="Python reads streams from PySpark 4.2 on"
)
READERS = ["connector", pytest.param("python", marks=with_python)]


class Followed:
    """A folder that is followed with one checkpoint, by one engine after the other."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root
        self.source, self.checkpoint = root / "in", root / "ck"
        self.source.mkdir()
        self.rows: dict[int, list[Any]] = {}
        self.fails_at = -1
        self.plans: list[str] = []

    def write(self, name: str, *keys: int, pack: Any = bytes) -> None:
        records = "".join(f'{key},"v\n{key}"\n' for key in keys)
        (self.source / name).write_bytes(pack(f"k,v\n{records}".encode()))
        touch(self.source / name)

    def frame(self, schema: str = _SCHEMA, **options: Any) -> DataFrame:
        own = _CSV if "recordFormat" not in options else {"scanIntervalMillis": "0"}
        stream = self.spark.readStream.format("splitscan").options(**own, **options)
        stream = stream.option("stateLocation", str(self.checkpoint / "splitscan"))
        return stream.schema(schema).load(str(self.source))

    def start(self, reader: str, trigger: Any = None, frame: DataFrame | None = None, **options: Any) -> StreamingQuery:
        self.spark.conf.set(SETTING, str(reader == "connector").lower())
        ss.register(self.spark)
        return self.follow(self.frame(**options) if frame is None else frame, trigger)

    def follow(self, frame: DataFrame, trigger: Any = None) -> StreamingQuery:
        """Start a query by whoever the session asks for plans now."""
        writer = frame.writeStream.foreachBatch(self._take).option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(**(trigger or {"availableNow": True})).start()

    def drain(self, reader: str, **options: Any) -> StreamingQuery:
        query = self.start(reader, **options)
        assert query.awaitTermination(240)
        self.plans.append(query._jsq.explainInternal(False))
        return query

    def _take(self, batch: DataFrame, number: int) -> None:
        self.rows[number] = sorted(map(tuple, batch.collect()), key=str)
        if number == self.fails_at:
            self.fails_at = -1
            raise OSError("the sink is down")

    def keys(self) -> list[int]:
        return sorted(row[0] for rows in self.rows.values() for row in rows)

    def offsets(self) -> list[str]:
        logged = sorted((self.checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        return [path.read_text().splitlines()[-1] for path in logged]


@pytest.fixture
def followed(spark: SparkSession, tmp_path: Path) -> Iterator[Followed]:
    yield Followed(spark, tmp_path)
    spark.conf.unset(SETTING)


def _open_readers(spark: SparkSession) -> int:
    return int(spark._jvm.splitscan.connector.Kernel.openReaders())


def _scanners() -> int:
    return sum(thread.name == "splitscan-scanner" for thread in threading.enumerate())


# ------------------------------------------------------------------- who reads


@with_python
def test_explain_says_who_reads(followed: Followed) -> None:
    followed.write("a.csv", 1)
    followed.drain("connector")
    followed.write("b.csv", 2)
    followed.drain("python")
    assert re.search(rf"MicroBatchScan *\[k#\d+, v#\d+\] csv {followed.source}\n", followed.plans[0])
    assert "(Python)" in followed.plans[1]


@with_python
@pytest.mark.parametrize(
    ("options", "pack"),
    [({"ignoreMissingFiles": "true"}, bytes), ({"onFileChange": "ignore"}, bytes), ({}, bz2.compress)],
)
def test_python_reads_what_it_reads_in_a_batch(followed: Followed, options: dict[str, str], pack: Any) -> None:
    followed.write("a.csv", 1, 2, pack=pack)
    followed.drain("connector", **options)
    assert "(Python)" in followed.plans[0]
    assert followed.keys() == [1, 2]


# --------------------------------------------------------- one checkpoint for both


@with_python
def test_a_checkpoint_goes_from_one_reader_to_the_other_and_back(followed: Followed) -> None:
    keys = 0
    for reader in ("python", "connector", "python", "connector", "connector"):
        for name in "ab":
            followed.write(f"{keys}{name}.csv", *range(keys, keys + 9))
            keys += 9
        followed.drain(reader, maxFilesPerTrigger=1)
    assert followed.keys() == list(range(keys))
    offsets = followed.offsets()
    assert len(offsets) == 10
    stream = json.loads(offsets[0])["s"]
    assert offsets == [json.dumps({"v": 1, "s": stream, "w": window}) for window in range(1, 11)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("python", "connector", marks=with_python),
        pytest.param("connector", "python", marks=with_python),
        ("connector", "connector"),
    ],
)
def test_a_batch_that_failed_is_the_same_whoever_reads_it_again(followed: Followed, first: str, second: str) -> None:
    for name in "abc":
        followed.write(f"{name}.csv", *range(ord(name), ord(name) + 1000, 100))
    followed.fails_at = 1
    with pytest.raises(StreamingQueryException, match="the sink is down"):
        followed.drain(first, maxFilesPerTrigger=1)
    failed = followed.rows[1]
    followed.write("0.csv", 1)  # older by its name, and not in the window
    followed.drain(second, maxFilesPerTrigger=2)
    assert followed.rows[1] == failed
    assert len(followed.keys()) == len(set(followed.keys())) == 31


def test_a_window_that_was_planned_and_never_told_of_is_the_next_one(followed: Followed) -> None:
    followed.write("a.csv", 1, 2)
    followed.drain("connector")
    followed.write("b.csv", 3, 4)
    followed.drain("connector")
    for log in ("offsets", "commits"):  # killed after the window was logged, before Spark wrote its offset
        for path in (followed.checkpoint / log).glob("*1*"):
            path.unlink()
    followed.write("c.csv", 5)
    followed.rows.clear()
    followed.drain("connector")
    assert followed.rows[1] == [(3, "v\n3"), (4, "v\n4")]
    assert followed.keys() == [3, 4, 5]


# ------------------------------------------------------------------- what is read


@pytest.mark.parametrize("reader", READERS)
def test_broken_records_and_columns_of_files_are_those_of_a_batch(followed: Followed, reader: str) -> None:
    (followed.source / "a.csv").write_text('k,v\n1,a\nx,"b\nc"\n3,d,e\n')
    (followed.source / "b.csv.gz").write_bytes(gzip.compress(b"k,v\n4,f\n5\n"))
    schema = f"{_SCHEMA}, _corrupt_record string, why string, file_name string, record_offset long"
    options = {"metadataColumns": "file_name,record_offset", "rejectReasonColumn": "why"}
    followed.drain(reader, frame=followed.frame(schema, **options))
    batch = followed.spark.read.format("splitscan").options(**_CSV, **options).schema(schema).load(str(followed.source))
    assert [row for rows in followed.rows.values() for row in rows] == sorted(map(tuple, batch.collect()), key=str)
    assert ("(Python)" in followed.plans[0]) == (reader == "python")


def test_metadata_are_those_of_a_batch(followed: Followed) -> None:
    followed.write("a.csv", *range(9))
    followed.write("b.csv", *range(10, 19))
    frame = followed.frame()
    names = ["k", "_metadata.file_name", "_metadata.record_offset", "v"]
    followed.drain("connector", frame=frame.select(*names))
    batch = followed.spark.read.format("splitscan").options(**_CSV).schema(_SCHEMA).load(str(followed.source))
    assert followed.rows[0] == sorted(map(tuple, batch.select(*names).collect()), key=str)
    followed.write("c.csv", 20)
    followed.drain("connector", frame=frame)  # the column is there, and nobody wants it
    assert followed.rows[1] == [(20, "v\n20")]


def test_failfast_names_the_file_and_nothing_stays_open(followed: Followed) -> None:
    followed.write("a.csv", *range(100))
    with (followed.source / "a.csv").open("a") as out:
        out.write("x,y\n")
    with pytest.raises(StreamingQueryException, match=r"(?s)\[bad-value\].*where: .*a\.csv"):
        followed.drain("connector", mode="FAILFAST")
    assert _open_readers(followed.spark) == 0


def test_a_stream_waits_for_its_first_file(followed: Followed) -> None:
    query = followed.start("connector", {"processingTime": "50 milliseconds"})
    query.processAllAvailable()
    assert followed.keys() == []
    followed.write("a.csv", 1, 2)
    query.processAllAvailable()
    query.stop()
    assert followed.keys() == [1, 2]


@pytest.mark.parametrize("reader", READERS)
def test_files_that_grow_and_move_are_followed(followed: Followed, reader: str) -> None:
    log = followed.source / "app.log"
    options = {"recordFormat": "text", "fileMode": "append", "blocksThreshold": 1, "blockSize": 64}
    lines = [f"{number} {'x' * 30}" for number in range(200)]

    def append(start: int, stop: int, rest: str = "") -> None:
        with log.open("a") as out:
            out.write("".join(f"{line}\n" for line in lines[start:stop]) + rest)
        touch(log)

    def drain() -> None:
        followed.drain(reader, frame=followed.frame("value string", **options))

    append(0, 60, lines[60][:5])
    drain()
    append(60, 61, lines[61][:5])  # what stood there is a record of its own, not finished until now
    followed.fails_at = max(followed.rows) + 1
    with pytest.raises(StreamingQueryException, match="the sink is down"):
        drain()
    log.rename(followed.source / "app.log.1")  # the window that failed is read under the new name
    lines.extend(f"later {number}" for number in range(60))
    append(200, 260)
    drain()
    found = sorted(row[0] for rows in followed.rows.values() for row in rows)
    assert found == sorted([*lines[:60], lines[60][:5] + lines[60], *lines[200:]])
    assert ("(Python)" in followed.plans[-1]) == (reader == "python")


@pytest.mark.parametrize("log", ["stateLocation", "windowLog"])
def test_a_session_that_registers_while_a_stream_runs_leaves_it_its_planner(followed: Followed, log: str) -> None:
    followed.write("a.csv", *range(20))
    take, before = followed._take, _scanners()

    def register_and_read(batch: DataFrame, number: int) -> None:
        ss.register(batch.sparkSession)
        options = {**_CSV, "escape": '"'}
        read = batch.sparkSession.read.format("splitscan").options(**options).schema(_SCHEMA)
        assert read.load(str(followed.source)).count() == 20
        take(batch, number)

    followed._take = register_and_read
    options = {
        **_CSV,
        "maxBytesPerTrigger": "64",
        log: {"windowLog": "none"}.get(log, str(followed.checkpoint / "own")),
    }
    frame = followed.spark.readStream.format("splitscan").options(**options).schema(_SCHEMA)
    query = followed.start("connector", frame=frame.load(str(followed.source)))
    assert query.awaitTermination(240)
    assert followed.keys() == list(range(20))
    assert len(followed.rows) > 2
    assert _scanners() == before


# -------------------------------------------------------------------------- faults


@with_python
def test_a_file_for_python_that_comes_later_is_read_after_a_restart(followed: Followed) -> None:
    followed.write("a.csv", 1)
    query = followed.start("connector", {"processingTime": "20 milliseconds"})
    query.processAllAvailable()
    followed.write("b.csv.bz2", 2, pack=bz2.compress)
    with pytest.raises(StreamingQueryException, match=r"(?s)b\.csv\.bz2 is compressed in bz.*load the stream again"):
        query.awaitTermination(240)
    followed.drain("connector")
    assert "(Python)" in followed.plans[-1]
    assert followed.rows == {0: [(1, "v\n1")], 1: [(2, "v\n2")]}


def test_a_file_that_changes_or_goes_after_its_window_was_planned_is_an_error(followed: Followed) -> None:
    followed.write("a.csv", 1)
    followed.fails_at = 0
    with pytest.raises(StreamingQueryException, match="the sink is down"):
        followed.drain("connector")
    followed.write("a.csv", 2)
    with pytest.raises(StreamingQueryException, match=r"\[source-changed\]"):
        followed.drain("connector")
    (followed.source / "a.csv").unlink()
    with pytest.raises(StreamingQueryException, match=r"a\.csv"):
        followed.drain("connector")


@with_python
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": "3"}, "a stream has no end, so option limit has no meaning"),
        ({"rebalance": "true"}, "option rebalance has no meaning for a stream"),
        ({"dialect": "auto"}, "option dialect=auto has no meaning for a stream"),
        ({"archivePathFilter": "*"}, "archivePathFilter has no meaning for a stream"),
    ],
)
def test_what_has_no_meaning_is_refused_in_the_same_words(
    followed: Followed, options: dict[str, str], said: str
) -> None:
    followed.write("a.csv", 1)
    for reader in ("python", "connector"):
        with pytest.raises(Exception, match=said):
            followed.drain(reader, **options)


# ---------------------------------------------------------------- what is left of it


def test_nothing_is_left_of_queries_that_end_fail_or_are_stopped(followed: Followed) -> None:
    before = _scanners()
    followed.write("a.csv", *range(30))
    query = followed.start("connector", {"processingTime": "20 milliseconds"}, blocksThreshold=2)
    query.processAllAvailable()
    assert _scanners() == before + 1
    query.stop()
    assert _scanners() == before
    followed.write("b.csv", 100)
    followed.fails_at = max(followed.rows) + 1
    with pytest.raises(StreamingQueryException):
        followed.drain("connector")
    followed.drain("connector")
    assert (_scanners(), _open_readers(followed.spark)) == (before, 0)
    assert followed.keys() == [*range(30), 100]


class NoDriver:
    """A driver that takes no questions."""

    class Java:
        implements = ("java.util.function.BiFunction",)

    def apply(self, question: str, session: Any) -> str:
        raise OSError("not here")


def _planners(spark: SparkSession) -> list[int]:
    """Processes that plan for the JVM of a session."""
    parent = f"\nPPid:\t{spark._jvm.java.lang.ProcessHandle.current().pid()}\n"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_own = parent in (process / "status").read_text()
            if is_own and b"from splitscan.spark.planner import main" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc")
def test_a_process_plans_where_no_driver_does_and_another_one_goes_on(followed: Followed) -> None:
    spark = followed.spark
    followed.write("a.csv", 1)
    ss.register(spark)
    attach(spark, NoDriver())
    try:
        query = followed.follow(followed.frame())
        assert query.awaitTermination(240)
        followed.plans.append(query._jsq.explainInternal(False))
        (planner,) = _planners(spark)
        query = followed.follow(followed.frame(), {"processingTime": "1 second"})
        query.processAllAvailable()
        os.kill(planner, signal.SIGKILL)
        followed.write("b.csv", 2)
        with suppress(StreamingQueryException):  # the question that it was at has no answer
            query.processAllAvailable()
        query.stop()
        query = followed.follow(followed.frame())
        assert query.awaitTermination(240)
    finally:
        ss.register(spark)
    assert followed.keys() == [1, 2]
    assert "(Python)" not in followed.plans[0]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc")
def test_no_process_is_started_to_be_told_that_a_stream_has_ended(followed: Followed) -> None:
    spark = followed.spark
    followed.write("a.csv", 1)
    ss.register(spark)
    attach(spark, NoDriver())
    try:
        query = followed.follow(followed.frame(), {"processingTime": "1 hour"})
        wait_until("a batch is done", lambda: query.recentProgress)
        (planner,) = _planners(spark)
        os.kill(planner, signal.SIGKILL)
        wait_until("the planner is gone", lambda: not Path(f"/proc/{planner}").exists())
        query.stop()
        assert not _planners(spark)
    finally:
        ss.register(spark)
    assert followed.keys() == [1]
