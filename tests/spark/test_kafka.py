"""Messages of Kafka on Spark: bounded reads, streams, and what happens to them when the cluster changes."""

import os
import re
import threading
import time
from pathlib import Path

import pytest

import splitscan as ss

from ..kafka.mock import MockCluster

pytestmark = pytest.mark.slow

SECRET = "hunter22-and-more"


@pytest.fixture(scope="module")
def cluster():
    started = MockCluster()
    yield started
    started.close()


@pytest.fixture
def topic(cluster, request):
    name = request.node.name.replace("[", "-").replace("]", "")
    cluster.create(name, 3)
    return name


def reader_of(reader, cluster, topic, **options):
    options = {"recordFormat": "json", "kafka.reconnect.backoff.max.ms": 200, "subscribe": topic} | options
    options |= {"source": "kafka", "kafka.bootstrap.servers": cluster.servers}
    return reader.format("splitscan").options(**options)


def records(numbers):
    return [b'{"id": %d}' % number for number in numbers]


def follow(spark, cluster, topic, checkpoint, function, **options):
    options = {"startingOffsets": "earliest"} | options
    frame = reader_of(spark.readStream, cluster, topic, **options).schema("id long").load()
    writer = frame.writeStream.foreachBatch(function).option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start()


def ids(frame):
    return sorted(row.id for row in frame.collect())


def test_a_bounded_read_is_exact_however_it_is_cut(spark, cluster, topic):
    for partition in range(3):
        cluster.send(topic, records(range(partition, 5000, 3)), partition, key=b"k", headers={"h": b"v"})
    schema = "id long, topic string, partition int, offset long, key binary, timestamp timestamp"
    schema += ", headers array<struct<key:string,value:binary>>"
    options = {"minPartitions": 7, "metadataColumns": "topic,partition,offset,key,timestamp,headers"}
    frame = reader_of(spark.read, cluster, topic, **options).schema(schema).load()
    rows = frame.collect()
    assert frame.rdd.getNumPartitions() >= 7
    assert sorted(row.id for row in rows) == list(range(5000))
    assert len({(row.partition, row.offset) for row in rows}) == 5000
    assert {(row.topic, bytes(row.key), row.headers[0].key) for row in rows} == {(topic, b"k", "h")}
    assert all(row.timestamp.year >= 2024 for row in rows)
    some = {"endingOffsets": f'{{"{topic}": {{"0": 0, "1": 0, "2": 10}}}}', "maxRecordsPerPartition": 4}
    part = reader_of(spark.read, cluster, topic, **some).schema("id long").load()
    assert (part.count(), part.rdd.getNumPartitions()) == (10, 3)


def test_values_need_no_schema_where_they_are_not_taken_apart(spark, cluster, topic):
    cluster.send(topic, [b"a\nb"], 0)
    assert reader_of(spark.read, cluster, topic, recordFormat="raw").load().first() == (bytearray(b"a\nb"),)
    assert reader_of(spark.read, cluster, topic, recordFormat="text").load().first() == ("a\nb",)
    others = {"subscribe": None, "assign": f'{{"{topic}": [1, 2]}}'}
    assert reader_of(spark.read, cluster, topic, recordFormat="text", **others).load().count() == 0


def test_a_window_that_failed_is_read_again_as_it_was(spark, cluster, topic, tmp_path):
    seen = {}

    def fail_at_first(frame, number):
        seen.setdefault(number, []).append(ids(frame))
        if number == 1 and len(seen[number]) == 1:
            raise OSError("the sink is down")

    cluster.send(topic, records(range(300)))
    with pytest.raises(Exception, match="the sink is down"):
        follow(spark, cluster, topic, tmp_path, fail_at_first, maxOffsetsPerTrigger=100).awaitTermination(120)
    cluster.send(topic, records(range(300, 450)))
    follow(spark, cluster, topic, tmp_path, fail_at_first, maxOffsetsPerTrigger=200).awaitTermination(120)
    assert len(seen[1]) == 2
    assert seen[1][0] == seen[1][1]
    assert sorted(row for runs in seen.values() for row in runs[-1]) == list(range(450))


def test_brokers_that_go_and_come_back_lose_nothing(spark, cluster, topic, tmp_path):
    cluster.send(topic, records(range(4000)))
    read = []

    def read_while_brokers_are_away(frame, number):
        is_down = threading.Event()

        def restart():
            with cluster.down():
                is_down.set()
                time.sleep(0.5)

        if number in (0, 2):
            away = threading.Thread(target=restart)
            away.start()
            assert is_down.wait(60)
            read.extend(ids(frame))
            away.join()
        else:
            read.extend(ids(frame))

    query = follow(spark, cluster, topic, tmp_path, read_while_brokers_are_away, maxOffsetsPerTrigger=1000)
    assert query.awaitTermination(240)
    assert query.exception() is None
    assert sorted(read) == list(range(4000))


def test_messages_that_are_gone_end_the_stream_unless_that_is_allowed(spark, cluster, topic, tmp_path):
    lengths = []
    options = {"recordFormat": "raw"}

    def start(**more):
        frame = reader_of(spark.readStream, cluster, topic, startingOffsets="earliest", **options, **more).load()
        writer = frame.writeStream.foreachBatch(
            lambda rows, _: lengths.extend(len(row.value) for row in rows.collect())
        )
        return writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()

    cluster.send(topic, [b"first"], 0)
    start().awaitTermination(120)
    assert lengths == [5]
    cluster.send(topic, [os.urandom(900_000) for _ in range(12)], 0)  # more than the cluster keeps
    with pytest.raises(Exception, match=r"(?s)\[kafka-data-loss\].*where: kafka:.*/0, offset 1"):
        start().awaitTermination(120)
    assert lengths == [5]
    start(failOnDataLoss="false").awaitTermination(120)
    assert 0 < len(lengths[1:]) < 12
    assert set(lengths[1:]) == {900_000}


def example_of(page, word):
    """The one block of Python of a page of the documentation that holds a word."""
    text = Path(__file__).parents[2].joinpath("docs", page).read_text(encoding="utf-8")
    (example,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if word in block)
    return example


def test_a_topic_of_paths_is_split_and_read(spark, cluster, tmp_path):
    """The example of the documentation itself is run."""
    cluster.create("paths", 3)
    (tmp_path / "in").mkdir()
    for number in range(2):
        path = tmp_path / "in" / f"{number}.csv"
        path.write_text("".join(f"{number}{line:02d},n{line}\n" for line in range(50)))
        cluster.send("paths", [str(path).encode()])
    example = example_of("streaming.md", '"subscribe"').replace("/data/in", f"{tmp_path}/in")
    names = {"spark": spark, "ss": ss, "brokers": {"kafka.bootstrap.servers": cluster.servers}}
    exec(example, names)
    rows = []
    writer = names["records"].writeStream.foreachBatch(lambda frame, _: rows.extend(map(tuple, frame.collect())))
    query = writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start()
    assert query.awaitTermination(240)
    expected = [(int(f"{number}{line:02d}"), f"n{line}") for number in range(2) for line in range(50)]
    assert sorted(row[1:] for row in rows) == expected


def test_the_example_of_the_page_of_kafka_reads_what_it_says(spark, cluster, tmp_path):
    cluster.create("orders", 2)
    values = [b'{"id": %d, "price": "%d.25"}' % (number, number) for number in range(30)]
    example = example_of("kafka.md", "readStream").replace("broker:9092", cluster.servers)
    names = {"spark": spark, "checkpoint": str(tmp_path / "ck")}
    exec(example.replace('"out/"', repr(str(tmp_path / "out"))), names)
    (query,) = (query for query in spark.streams.active if query.exception() is None)
    query.processAllAvailable()  # a stream begins with what comes from now on
    cluster.send("orders", values, key=b"k")
    query.processAllAvailable()
    query.stop()
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted((row.id, str(row.price), bytes(row.key)) for row in rows) == [
        (number, f"{number}.25", b"k") for number in range(30)
    ]
    assert all(row.timestamp.year >= 2024 and row.offset >= 0 for row in rows)


def test_secrets_are_in_no_plan_and_in_no_error(spark, cluster, topic, capfd):
    secret = {"kafka.sasl.password": SECRET, "kafka.ssl.key.password": SECRET}
    reader_of(spark.read, cluster, topic, **secret).schema("id long").load().explain(True)
    with pytest.raises(Exception, match=r"\[kafka-topic-missing\]") as missing:
        reader_of(spark.read, cluster, "nobody-has-it", **secret).schema("id long").load().count()
    with pytest.raises(Exception, match=r"\[bad-option\]") as refused:
        reader_of(spark.read, cluster, topic, **secret, **{"kafka.socket.nagle.disable": SECRET}).schema(
            "id long"
        ).load().count()
    printed = capfd.readouterr()
    for text in (printed.out, printed.err, str(missing.value), str(refused.value)):
        assert SECRET not in text


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"source": "pulsar"}, "one of files, kafka"),
        ({"header": "true"}, "is about files"),
        ({"recordFormat": "csv", "metadataColumns": "offset"}, "'offset' is asked for, and is not in the schema"),
    ],
)
def test_what_has_no_meaning_is_refused(spark, cluster, topic, options, seen):
    options = {
        "recordFormat": "csv",
        "source": "kafka",
        "kafka.bootstrap.servers": cluster.servers,
        "subscribe": topic,
    } | options
    with pytest.raises(Exception, match=seen):
        spark.read.format("splitscan").options(**options).schema("id long").load().count()


def test_a_scan_in_python_reads_what_spark_reads(spark, cluster, topic):
    for partition in range(3):
        cluster.send(topic, records(range(partition, 300, 3)), partition, key=b"k")
    given = {"subscribe": topic, "metadata_columns": "partition,offset", "min_partitions": 7}
    scan = ss.scan_kafka(cluster.servers, "json", "id long, partition int, offset long", **given)
    assert sorted(scan.to_arrow()["id"].to_pylist()) == list(range(300))
    assert len(scan.ranges()) >= 7
    assert scan.head(2).num_rows == 2
    frame = scan.to_spark(spark)
    assert sorted(map(tuple, frame.collect())) == sorted(tuple(row.values()) for row in scan.to_arrow().to_pylist())
    assert cluster.servers in repr(scan)


def test_a_scan_in_python_that_is_narrowed_is_narrowed_on_spark(spark, cluster, topic):
    for partition in range(3):
        cluster.send(topic, records(range(partition, 30, 3)), partition)
    scan = ss.scan_kafka(cluster.servers, "json", "id long", subscribe=topic, metadata_columns="partition,offset")
    narrow = scan.select("offset", "id")
    frame = narrow.to_spark(spark)
    assert frame.columns == ["offset", "id"]
    assert sorted(map(tuple, frame.collect())) == sorted(tuple(row.values()) for row in narrow.to_arrow().to_pylist())
    assert (scan.count(spark), narrow.limit(7).count(spark), narrow.limit(7).count()) == (30, 7, 7)


def test_the_example_of_a_scan_in_python_runs(spark, cluster):
    cluster.create("orders-now", 2)
    cluster.send("orders-now", records(range(20)), 0)
    example = example_of("kafka.md", "scan_kafka").replace("broker:9092", cluster.servers)
    names = {"spark": spark, "ss": ss}
    exec(example.replace('"orders"', '"orders-now"'), names)
    assert names["scan"].to_arrow()["id"].to_pylist() == list(range(20))
    assert {block.source.topic for block in names["scan"].ranges()} == {"orders-now"}


def test_a_scan_in_python_needs_columns_or_reads_bytes(cluster, topic):
    cluster.send(topic, [b"x"], 0)
    assert ss.scan_kafka(cluster.servers, subscribe=topic).to_arrow().to_pylist() == [{"value": b"x"}]
    with pytest.raises(ss.SchemaError, match="no-schema"):
        ss.scan_kafka(cluster.servers, "json", subscribe=topic)
    with pytest.raises(ss.UsageError):
        ss.scan_kafka(cluster.servers, subscribe=topic, nonsense=1)
