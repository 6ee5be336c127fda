"""Messages of Apache Kafka itself: what librdkafka's mock does not do."""

from __future__ import annotations

import json
import time

import pytest

import splitscan as ss
from splitscan.errors import SourceError
from splitscan.formats.decoding.ddl import as_schema
from splitscan.messages import make_message_spec, scan_messages
from splitscan.messages import reader as reading
from splitscan.messages.kafka import KafkaCluster
from splitscan.messages.spec import parse_kafka_options
from splitscan.streaming.messages import MessageOffset, MessagePlanner, read_message_offset, window_ranges

from ..kafka.broker import running_broker

pytestmark = [pytest.mark.slow, pytest.mark.fault]

WAIT_SECONDS = 60


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("kafka")) as started:
        yield started


@pytest.fixture
def topic(request):
    return request.node.name


def records(numbers):
    return [b'{"id": %d}' % number for number in numbers]


def scan(broker, topic, **options):
    return ss.scan_kafka(broker.servers, "json", "id long", subscribe=topic, **options)


def ids(table):
    return table["id"].to_pylist()


class Query:
    """A stream as Spark drives it: windows planned one after the other, each offset through a checkpoint."""

    def __init__(self, broker, topic, **options):
        raw = {"kafka.bootstrap.servers": broker.servers, "subscribe": topic, "startingOffsets": "earliest", **options}
        self.options, others = parse_kafka_options(raw, streams=True)
        self.spec = make_message_spec(self.options, "json", others, as_schema("id long"))

    def window(self, start):
        end = MessagePlanner(KafkaCluster(self.options), self.options).latest(start)
        return read_message_offset(json.loads(json.dumps(end.to_json())))

    def read(self, start, end):
        batches = scan_messages(self.spec, window_ranges(start, end))
        return [number for batch in batches for number in ids(batch)]


def wait_until(holds):
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "the broker did not do it in time"
        time.sleep(0.1)


def first_offset(broker, topic):
    cluster = KafkaCluster(parse_kafka_options({"kafka.bootstrap.servers": broker.servers, "subscribe": topic})[0])
    return min(cluster.earliest(cluster.partitions()).values())


def delete_before(broker, topic, offset):
    from confluent_kafka import TopicPartition

    for answer in broker.admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        answer.result(WAIT_SECONDS)


def test_only_messages_of_committed_transactions_are_read(broker, topic):
    broker.create(topic, 1)
    producer = broker.producer(transactional_id=topic)
    producer.init_transactions(WAIT_SECONDS)

    def begin(numbers):
        producer.begin_transaction()
        for value in records(numbers):
            producer.produce(topic, value, partition=0)
        assert producer.flush(WAIT_SECONDS) == 0

    begin(range(10))
    producer.commit_transaction(WAIT_SECONDS)
    begin(range(10, 20))
    producer.abort_transaction(WAIT_SECONDS)
    begin(range(20, 30))
    broker.send(topic, records(range(30, 40)), 0)
    query = Query(broker, topic)
    end = query.window(MessageOffset())

    assert ids(scan(broker, topic).to_arrow()) == list(range(10))
    assert query.read(MessageOffset(), end) == list(range(10))
    everything = scan(broker, topic, **{"kafka.isolation.level": "read_uncommitted"})
    assert ids(everything.to_arrow()) == list(range(40))

    producer.commit_transaction(WAIT_SECONDS)
    committed = [*range(10), *range(20, 40)]
    assert ids(scan(broker, topic).to_arrow()) == committed
    assert query.read(end, query.window(end)) == committed[10:]
    for most in (1, 7):  # some ranges hold nothing but marks of transactions, or what was aborted
        cut = scan(broker, topic, max_records_per_partition=most)
        assert len(cut.ranges()) > 40 // most
        assert ids(cut.to_arrow()) == committed


def test_gaps_of_compaction_lose_nothing_however_they_are_cut(broker, topic):
    broker.create(topic, 1, cleanup_policy="compact", segment_ms=100, min_cleanable_dirty_ratio=0)
    producer = broker.producer()
    for number, value in enumerate(records(range(30))):
        producer.produce(topic, value, partition=0, key=b"%d" % (number % 5))
    assert producer.flush(WAIT_SECONDS) == 0
    time.sleep(0.2)  # the segment is old enough: the next message begins another one, and this one is compacted
    broker.send(topic, records([1000]), 0, key=b"last")
    kept = [*range(25, 30), 1000]
    wait_until(lambda: ids(scan(broker, topic).to_arrow()) == kept)
    for most in (1, 4):
        cut = scan(broker, topic, max_records_per_partition=most)
        assert sum(each.stop - each.start for each in cut.ranges()) == 31
        assert ids(cut.to_arrow()) == kept
    inside = scan(broker, topic, starting_offsets=json.dumps({topic: {"0": 7}}))
    assert ids(inside.to_arrow()) == kept


@pytest.mark.parametrize("starting", ["earliest", "latest"])
def test_partitions_that_are_added_are_read_from_their_first_message(broker, starting):
    from confluent_kafka.admin import NewPartitions

    topic = f"added-{starting}"
    broker.create(topic, 2)
    broker.send(topic, records(range(10)), 0)
    query = Query(broker, topic, startingOffsets=starting)
    first = query.window(MessageOffset())
    seen = query.read(MessageOffset(), first)
    assert seen == (list(range(10)) if starting == "earliest" else [])

    for answer in broker.admin.create_partitions([NewPartitions(topic, 4)]).values():
        answer.result(WAIT_SECONDS)
    wait_until(lambda: len(query.window(first).positions) == 4)
    broker.send(topic, records(range(10, 20)), 3)
    broker.send(topic, records(range(20, 25)), 1)
    second = query.window(first)
    assert sorted(query.read(first, second)) == list(range(10, 25))
    assert query.window(second) == second


def test_records_that_are_deleted_after_they_were_planned_are_a_loss(broker, topic, caplog):
    broker.create(topic, 1)
    broker.send(topic, records(range(20)), 0)
    query, lenient = Query(broker, topic), Query(broker, topic, failOnDataLoss="false")
    start = MessageOffset()
    end = query.window(start)
    delete_before(broker, topic, 5)
    with pytest.raises(SourceError, match=r"(?s)\[kafka-data-loss\].*/0, offset 0"):
        query.read(start, end)
    assert lenient.read(start, end) == list(range(5, 20))
    assert "messages are gone that were not read" in caplog.text


def test_messages_that_retention_took_after_they_were_planned_are_a_loss(broker, topic):
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    broker.create(topic, 1)
    broker.send(topic, records(range(20)), 0)
    query = Query(broker, topic)
    end = query.window(MessageOffset())
    short = ConfigEntry("retention.ms", "1", incremental_operation=AlterConfigOpType.SET)
    change = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[short])
    for answer in broker.admin.incremental_alter_configs([change]).values():
        answer.result(WAIT_SECONDS)
    wait_until(lambda: first_offset(broker, topic) == 20)
    with pytest.raises(SourceError, match=r"(?s)\[kafka-data-loss\].*offsets \[20, 20\)"):
        query.read(MessageOffset(), end)
    lenient = Query(broker, topic, failOnDataLoss="false")
    assert lenient.read(MessageOffset(), end) == []


def test_a_topic_that_is_made_again_under_its_name_does_not_pass_for_the_old_one(broker, topic):
    broker.create(topic, 1)
    broker.send(topic, records(range(20)), 0)
    query = Query(broker, topic, **{"kafkaConsumer.pollTimeoutMs": "2000"})
    end = query.window(MessageOffset())
    for answer in broker.admin.delete_topics([topic]).values():
        answer.result(WAIT_SECONDS)
    wait_until(lambda: topic not in broker.admin.list_topics(timeout=WAIT_SECONDS).topics)
    broker.create(topic, 1)
    broker.send(topic, records(range(3)), 0)
    with pytest.raises(SourceError, match=r"\[kafka-(failed|data-loss)\]"):
        query.read(MessageOffset(), end)
    with pytest.raises(SourceError, match=r"\[kafka-data-loss\]"):
        query.window(end)


def test_a_broker_that_is_killed_while_it_is_read_and_comes_back_loses_nothing(broker, topic):
    broker.create(topic, 1)
    broker.send(topic, records(range(5000)), 0)
    options = {"max_records_per_partition": 1000, "kafka.reconnect.backoff.max.ms": 200}
    batches = scan(broker, topic, **options).to_batches()
    found = ids(next(batches))
    with broker.down():
        pass
    found += [number for batch in batches for number in ids(batch)]
    assert found == list(range(5000))


def empty_polls(monkeypatch, read):
    """How often a reading waited for messages in vain."""
    make, empty = reading.make_client, []

    class Counted:
        def __init__(self, *args):
            self.client = make(*args)

        def __getattr__(self, name):
            return getattr(self.client, name)

        def consume(self, *args):
            got = self.client.consume(*args)
            if not any(each.error() is None for each in got):
                empty.append(got)
            return got

    with monkeypatch.context() as patch:
        patch.setattr(reading, "make_client", Counted)
        read()
    return len(empty)


def test_the_end_of_a_partition_holds_up_no_other_one(broker, topic, monkeypatch):
    partitions = 12
    broker.create(topic, partitions)
    for partition in range(partitions):
        broker.send(topic, records([partition]), partition)

    def read(**options):
        assert ids(scan(broker, topic, **options).to_arrow()) == list(range(partitions))

    held = empty_polls(monkeypatch, lambda: read(**{"kafka.fetch.wait.max.ms": 500}))  # as the library has it
    assert held >= 2 * (partitions - 1)
    assert empty_polls(monkeypatch, read) < held / 2
