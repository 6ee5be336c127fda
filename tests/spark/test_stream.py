"""Streams on Spark: windows, triggers, restarts, progress."""

import json

import pytest

from ..unit.streaming.following import write

pytestmark = pytest.mark.slow


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

    for name in "abc":
        write(source / name, lines(name, 3))
    assert "the sink is down" in run()
    write(source / "d", lines("d", 3))
    assert run() is None
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
