"""Streams on Spark: windows, triggers, restarts, progress."""

import json
import re
from pathlib import Path

import pytest

import splitscan
from splitscan.jar import connector_jar
from splitscan.spark.connector import SETTING
from splitscan.streaming.status import read_status

from ..unit.streaming.following import write

pytestmark = pytest.mark.slow

ENGINES = ["python", pytest.param("connector", marks=pytest.mark.skipif(not connector_jar(), reason="no connector"))]


@pytest.fixture(params=ENGINES)
def reader(request):
    """Who reads streams of files: Python workers, or Spark's JVM."""
    return request.param


@pytest.fixture
def spark(spark, reader):
    """The session of all tests, in which *reader* reads."""
    read_by(spark, reader)
    yield spark
    spark.conf.unset(SETTING)


def read_by(spark, reader):
    spark.conf.set(SETTING, str(reader == "connector").lower())
    splitscan.register(spark)


def lines(name, count):
    return "".join(f"{name}-{number}\n" for number in range(count)).encode()


def follow(spark, source, checkpoint, **options):
    reader = spark.readStream.format("splitscan").option("recordFormat", "text")
    reader = reader.option("stateLocation", f"{checkpoint}/splitscan").option("scanIntervalMillis", "0")
    return reader.options(**options).schema("value string").load(str(source))


def drain(spark, source, out, checkpoint, **options):
    frame = follow(spark, source, checkpoint, **options)
    query = frame.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    query = query.trigger(availableNow=True).start(str(out))
    assert query.awaitTermination(480)
    assert query.exception() is None
    return query


def values(spark, out):
    return sorted(row.value for row in spark.read.parquet(str(out)).collect())


def test_available_now_drains_in_windows_and_ends(spark, tmp_path):
    source, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "ck"
    write(source / "a", lines("a", 50))
    write(source / "b", lines("b", 5))
    options = {"blockSize": 64, "blocksThreshold": 3, "minReaders": 2}
    query = drain(spark, source, out, checkpoint, **options)
    batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    assert len(batches) >= 2
    backlog = json.loads(batches[0]["sources"][0]["latestOffset"])
    assert backlog["backlogBlocks"] > 0
    assert values(spark, out) == sorted((lines("a", 50) + lines("b", 5)).decode().split())
    write(source / "c", lines("c", 5))
    drain(spark, source, out, checkpoint, **options)
    assert values(spark, out) == sorted((lines("a", 50) + lines("b", 5) + lines("c", 5)).decode().split())


def test_a_batch_that_failed_is_read_again_as_it_was_planned(spark, tmp_path):
    source, checkpoint = tmp_path / "in", tmp_path / "ck"
    seen = {}

    def fail_at_first(frame, number):
        rows = sorted(row.value for row in frame.collect())
        seen.setdefault(number, []).append(rows)
        if number == 1 and len(seen[number]) == 1:
            raise OSError("the sink is down")

    def run():
        frame = follow(spark, source, checkpoint, maxFilesPerTrigger=1)
        query = frame.writeStream.foreachBatch(fail_at_first).option("checkpointLocation", str(checkpoint))
        query = query.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(480)
        except Exception as error:
            return str(error)
        return None

    def published():
        (status,) = read_status(str(checkpoint))
        return status.published, status.window, status.backlog.files

    for name in "abc":
        write(source / name, lines(name, 3))
    assert "the sink is down" in run()
    assert published() == (1, 2, 2)  # window 2, and the files of windows 2 and 3
    write(source / "d", lines("d", 3))
    assert run() is None
    assert published()[0::2] == (4, 0)
    assert seen[1][0] == seen[1][1]
    assert sorted(row for rows in seen.values() for row in rows[-1]) == sorted(
        b"".join(lines(name, 3) for name in "abcd").decode().split()
    )


def test_what_fails_names_the_file_and_the_rule(spark, tmp_path):
    source = tmp_path / "in"
    write(source / "a", lines("a", 3))
    query = follow(spark, source, tmp_path / "ck").writeStream.format("noop")
    query = query.option("checkpointLocation", str(tmp_path / "ck")).trigger(processingTime="100 milliseconds").start()
    query.processAllAvailable()
    write(source / "a", lines("b", 3))
    with pytest.raises(Exception, match=r"(?s)\[file-modified\].*where: .*/in/a"):
        query.awaitTermination(480)


def test_a_stream_without_a_place_for_its_state_is_refused(spark, tmp_path):
    write(tmp_path / "in" / "a", lines("a", 3))
    frame = spark.readStream.format("splitscan").option("recordFormat", "text").schema("value string")
    query = frame.load(str(tmp_path / "in")).writeStream.format("noop")
    with pytest.raises(Exception, match=r"\[no-state-location\]"):
        query.option("checkpointLocation", str(tmp_path / "ck")).start().awaitTermination(480)


def test_options_of_streams_do_no_harm_elsewhere(spark, tmp_path):
    write(tmp_path / "in" / "a", lines("a", 3))
    reader = spark.read.format("splitscan").option("recordFormat", "text").option("maxFilesPerTrigger", 1)
    assert reader.load(str(tmp_path / "in")).count() == 3


def test_one_frame_in_two_queries_and_twice_in_one(spark, tmp_path):
    """Every query has a stream of its own in the state location, and reads everything."""
    source = tmp_path / "in"
    write(source / "a", lines("a", 5))
    frame = follow(spark, source, tmp_path)
    expected = lines("a", 5).decode().split()
    for name, queried in (("one", frame), ("other", frame), ("union", frame.union(frame))):
        query = queried.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / f"ck-{name}"))
        assert query.trigger(availableNow=True).start(str(tmp_path / name)).awaitTermination(480)
        assert values(spark, tmp_path / name) == sorted(expected * (2 if name == "union" else 1))


def test_once_reads_all_as_one_window(spark, tmp_path):
    for name in "abc":
        write(tmp_path / "in" / name, lines(name, 3))
    frame = follow(spark, tmp_path / "in", tmp_path / "ck", maxFilesPerTrigger=1)
    query = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "ck"))
    query = query.trigger(once=True).start(str(tmp_path / "out"))
    assert query.awaitTermination(480)
    assert [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]] == [9]
    assert len(values(spark, tmp_path / "out")) == 9


def test_a_batch_may_be_used_several_times_and_kept(spark, tmp_path):
    write(tmp_path / "in" / "a", lines("a", 20))
    expected = sorted(lines("a", 20).decode().split())
    seen = []

    def use(frame, _):
        seen.append((frame.count(), sorted(row.value for row in frame.collect()), frame.limit(3).count()))
        kept = frame.persist()
        seen.append((kept.count(), sorted(row.value for row in kept.collect()), kept.limit(3).count()))
        kept.unpersist()

    query = follow(spark, tmp_path / "in", tmp_path / "ck", blockSize=16).writeStream.foreachBatch(use)
    query = query.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start()
    assert query.awaitTermination(480)
    assert seen == [(20, expected, 3)] * 2


def test_manifests_are_followed_as_the_documentation_says(spark, tmp_path, monkeypatch):
    """The example itself is run."""
    page = Path(__file__).parents[2].joinpath("docs", "streaming.md").read_text(encoding="utf-8")
    (example,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "manifests" in block)
    (tmp_path / "in").mkdir()
    (tmp_path / "manifests").mkdir()
    monkeypatch.chdir(tmp_path)
    names = {"spark": spark, "ss": splitscan}
    exec(example.replace("manifests/", f"{tmp_path}/manifests/").replace("/data/in", f"{tmp_path}/in"), names)
    for number in range(3):
        (tmp_path / "in" / f"{number}.csv").write_text(f'{number},"a\nb"\n{number + 10},c\n')
    files = splitscan.scan(str(tmp_path / "in"), "csv").files()
    rows = [{"path": file.path, "file_size": file.size_bytes, "fingerprint": file.fingerprint} for file in files]
    (tmp_path / "manifests" / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    query = names["records"].writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "ck"))
    assert query.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination(480)
    found = sorted((row.id, row.name) for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert found == [(0, "a\nb"), (1, "a\nb"), (2, "a\nb"), (10, "c"), (11, "c"), (12, "c")]


def test_the_first_example_of_the_documentation_is_a_stream(spark, tmp_path):
    page = Path(__file__).parents[2].joinpath("docs", "streaming.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text('id,name\n1,"a\nb"\n2,c\n')
    names = {"spark": spark, "checkpoint": str(tmp_path / "ck")}
    exec(example.replace('"in/"', repr(f"{tmp_path}/in")).replace('"out/"', repr(f"{tmp_path}/out")), names)
    (query,) = (query for query in spark.streams.active if query.exception() is None)
    query.processAllAvailable()
    query.stop()
    assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "out")).collect())) == [(1, "a\nb"), (2, "c")]
