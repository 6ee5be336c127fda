"""What a cluster is asked, by the library's own mock of one."""

from __future__ import annotations

import pickle

import pytest
from confluent_kafka.admin import AdminClient

from splitscan.errors import SourceError, SourceMissingError, UsageError
from splitscan.messages.kafka import KafkaCluster, MessageRange, TopicPartition
from splitscan.messages.reader import MessageReading
from splitscan.messages.spec import parse_kafka_options

from ...kafka.mock import MockCluster


@pytest.fixture(scope="module")
def brokers():
    started = MockCluster(1)
    started.create("a", 2)
    started.create("a.b", 1)
    started.create("__hidden", 1)
    started.send("a", [b"x", b"y"], 1)
    yield started
    started.close()


def cluster(brokers, **raw):
    return KafkaCluster(parse_kafka_options({"kafka.bootstrap.servers": brokers.servers, **raw})[0])


def test_topics_are_named_matched_or_assigned(brokers):
    a0, a1, b0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("a.b", 0)
    assert cluster(brokers, subscribe="a.b,a").partitions() == [a0, a1, b0]
    assert cluster(brokers, subscribePattern=r"a\..*").partitions() == [b0]
    assert cluster(brokers, subscribePattern=".*").partitions() == [a0, a1, b0]
    assert cluster(brokers, subscribePattern="nothing").partitions() == []
    assert cluster(brokers, assign='{"a": [1], "a.b": [0]}').partitions() == [a1, b0]


def test_first_and_last_offsets(brokers):
    known = pickle.loads(pickle.dumps(cluster(brokers, subscribe="a")))
    sources = known.partitions()
    assert known.earliest(sources) == dict.fromkeys(sources, 0)
    assert known.latest(sources) == dict(zip(sources, (0, 2), strict=True))
    assert known.latest([]) == {}


@pytest.mark.parametrize(
    ("level", "asked"),
    [(None, "READ_COMMITTED"), ("read_committed", "READ_COMMITTED"), ("read_uncommitted", "READ_UNCOMMITTED")],
)
def test_offsets_are_those_that_a_consumer_of_the_same_level_sees(brokers, monkeypatch, level, asked):
    given = []
    ask = AdminClient.list_offsets

    def list_offsets(*args, **named):
        given.append(named["isolation_level"].name)
        return ask(*args, **named)

    monkeypatch.setattr(AdminClient, "list_offsets", list_offsets)
    raw = {} if level is None else {"kafka.isolation.level": level}
    known = cluster(brokers, subscribe="a.b", **raw)
    assert known.latest(known.partitions()) == {TopicPartition("a.b", 0): 0}
    assert given == [asked]


def test_questions_are_asked_with_the_settings_of_the_user(brokers):
    with pytest.raises(UsageError, match=r"kafka\.socket\.timeout\.ms"):
        cluster(brokers, subscribe="a", **{"kafka.socket.timeout.ms": "soon"}).partitions()


@pytest.mark.parametrize("raw", [{"subscribe": "b"}, {"assign": '{"a": [2]}'}])
def test_what_is_not_there_is_named(brokers, raw):
    with pytest.raises(SourceMissingError, match=r"(?s)\[kafka-topic-missing\].*kafka:(b|a/2)"):
        cluster(brokers, **raw).partitions()


def test_brokers_that_do_not_answer_are_an_error_in_time():
    raw = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "a", "kafkaConsumer.pollTimeoutMs": 100}
    options, _ = parse_kafka_options({**raw, "kafka.log_level": 0})
    with pytest.raises(SourceError, match=r"(?s)asked for its topics \[kafka-failed\].*127\.0\.0\.1:1"):
        KafkaCluster(options).partitions()
    reading = MessageReading(options)
    with pytest.raises(SourceError, match=r"no message came for 0\.1 s"):
        list(reading.read(MessageRange(TopicPartition("a", 0), 0, 1)))
    reading.close()
