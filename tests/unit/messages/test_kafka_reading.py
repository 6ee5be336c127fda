from __future__ import annotations

import logging
import time
from unittest import mock

import pytest
from confluent_kafka import KafkaError

from splitscan.errors import SourceError, SourceMissingError, UsageError
from splitscan.messages import kafka as cluster_module
from splitscan.messages import reader as reading_module
from splitscan.messages.kafka import KafkaCluster, MessageRange, TopicPartition, client_module
from splitscan.messages.reader import MessageReading
from splitscan.messages.spec import parse_kafka_options

from ...kafka.fakes import FakeCluster, FakeConsumer, FakeMessage, end_of_log

SOURCE = TopicPartition("t", 0)


def options(**more):
    return parse_kafka_options({"kafka.bootstrap.servers": "b", "subscribe": "t", **more})[0]


def read(consumer, start, stop, **more):
    reading = MessageReading(options(**{"kafkaConsumer.pollTimeoutMs": 60_000, **more}), lambda: consumer)
    return [message.offset() for portion in reading.read(MessageRange(SOURCE, start, stop)) for message in portion]


def log(*offsets):
    return dict.fromkeys(offsets, b"v")


def test_exactly_the_offsets_of_the_range_are_read():
    assert read(FakeConsumer(log(*range(1000))), 3, 777) == list(range(3, 777))


def test_gaps_cost_nothing_wherever_they_are():
    assert read(FakeConsumer(log(5, 9, 10, 30)), 3, 20) == [5, 9, 10]


def test_a_range_whose_last_offsets_have_no_message_ends_with_the_log():
    assert read(FakeConsumer(log(5, 6), end_of_log(12)), 3, 12) == [5, 6]


def test_a_message_right_after_the_range_is_not_taken_though_a_gap_leaves_room_for_it():
    assert read(FakeConsumer(log(5, 12, 13)), 3, 12) == [5]
    assert read(FakeConsumer(log(5, 11, 12)), 3, 12) == [5, 11]


def test_a_range_of_gaps_alone_is_empty():
    assert read(FakeConsumer(log(50)), 3, 12) == []
    assert read(FakeConsumer({}, end_of_log(12)), 3, 12) == []


def test_messages_of_before_are_not_taken():
    consumer = FakeConsumer(log(4, 5))
    consumer.events = []
    polled = consumer.consume
    consumer.consume = lambda most, seconds: [FakeMessage(1, b"old"), *polled(most, seconds)]
    assert read(consumer, 4, 6) == [4, 5]


def test_a_log_that_ends_too_early_is_waited_for_and_then_an_error():
    with pytest.raises(SourceError, match=r"no message came for 0.05 s.*\[kafka-failed\]") as failed:
        read(FakeConsumer(log(3), end_of_log(4)), 3, 12, **{"kafkaConsumer.pollTimeoutMs": 50})
    assert "kafka:t/0, offset 4, in block [3, 12)" in str(failed.value)


def test_events_without_progress_are_silence():
    consumer = FakeConsumer({})
    consumer.consume = lambda most, seconds: [FakeMessage(0, None, KafkaError(KafkaError._TRANSPORT))]
    with pytest.raises(SourceError, match=r"no message came for 0.05 s"):
        read(consumer, 3, 12, **{"kafkaConsumer.pollTimeoutMs": 50})


@pytest.mark.parametrize("code", [KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError.LEADER_NOT_AVAILABLE])
def test_what_passes_is_waited_for(code):
    consumer = FakeConsumer({}, FakeMessage(0, None, KafkaError(code)))
    polled, later = consumer.consume, log(3, 4)

    def consume(most, seconds):
        got = polled(most, seconds)
        if not consumer.events:
            consumer.log = later
        return got

    consumer.consume = consume
    assert read(consumer, 3, 5) == [3, 4]


def test_slowness_of_whoever_takes_the_messages_is_no_silence_of_the_brokers():
    consumer = FakeConsumer(log(3))
    reading = MessageReading(options(**{"kafkaConsumer.pollTimeoutMs": 5_000}), lambda: consumer)
    portions, later = reading.read(MessageRange(SOURCE, 3, 5)), time.monotonic() + 3600
    next(portions)
    polled, late = consumer.consume, [[], [FakeMessage(4, b"v")]]
    consumer.consume = lambda most, seconds: late.pop(0) if late else polled(most, seconds)
    with mock.patch.object(reading_module.time, "monotonic", return_value=later):
        assert [message.offset() for message in next(portions)] == [4]


def test_a_topic_whose_leader_is_being_elected_is_not_gone(monkeypatch):
    client = mock.Mock()
    monkeypatch.setattr(cluster_module, "make_client", lambda *_: client)
    cluster = KafkaCluster(options())
    topic = mock.Mock(error=KafkaError(KafkaError.LEADER_NOT_AVAILABLE), partitions={})
    client.list_topics.return_value.topics = {"t": topic}
    with pytest.raises(SourceError, match=r"topic t.*\[kafka-failed\]"):
        cluster.partitions()
    topic.error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    with pytest.raises(SourceMissingError, match=r"\[kafka-topic-missing\]"):
        cluster.partitions()


def test_what_does_not_pass_is_an_error_without_secrets():
    error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "hunter22 is not allowed")
    with pytest.raises(SourceError, match=r"\[kafka-failed\]") as failed:
        read(FakeConsumer({}, FakeMessage(0, None, error)), 3, 5, **{"kafka.sasl.password": "hunter22"})
    assert "*** is not allowed" in str(failed.value)


@pytest.fixture
def retained(monkeypatch):
    cluster = FakeCluster(p0=(10, 20))
    monkeypatch.setattr(reading_module, "KafkaCluster", lambda _: cluster)
    return cluster


def gone():
    return FakeMessage(0, None, KafkaError(KafkaError._AUTO_OFFSET_RESET))


def test_messages_that_are_gone_are_an_error(retained):
    with pytest.raises(SourceError, match=r"\[kafka-data-loss\]") as failed:
        read(FakeConsumer({}, gone()), 3, 12)
    assert "kafka:t/0, offset 3" in str(failed.value)
    assert "offsets [10, 20) of the block's [3, 12)" in str(failed.value)


def test_or_a_warning_and_what_is_left_is_read(retained, caplog):
    consumer = FakeConsumer({}, gone())
    assigned = consumer.assign

    def assign(partitions):
        assigned(partitions)
        if consumer.position == 10:
            consumer.log = log(10, 11, 12)

    consumer.assign = assign
    with caplog.at_level(logging.WARNING):
        assert read(consumer, 3, 12, failOnDataLoss="false") == [10, 11]
    assert "messages are gone that were not read: kafka:t/0, offset 3" in caplog.text


@pytest.mark.parametrize("offsets", [(0, 20), (12, 20), (15, 20), (3, 3)])
def test_where_nothing_of_the_range_is_left_nothing_is_read(retained, offsets):
    retained.set(p0=offsets)
    waits = {"kafkaConsumer.pollTimeoutMs": 50}
    assert read(FakeConsumer({}, gone()), 3, 12, failOnDataLoss="false", **waits) == []


def test_the_connection_is_kept_for_the_next_range_and_closed_once():
    consumer = FakeConsumer(log(*range(10)))
    reading = MessageReading(options(), lambda: consumer)
    for start in (0, 5):
        assert [m.offset() for got in reading.read(MessageRange(SOURCE, start, start + 5)) for m in got] == list(
            range(start, start + 5)
        )
    reading.close()
    reading.close()
    assert consumer.closed == 1


def test_long_values_are_read_in_small_portions():
    consumer = FakeConsumer(dict.fromkeys(range(150), b"x" * (1 << 20)))
    reading = MessageReading(options(), lambda: consumer)
    portions = [len(portion) for portion in reading.read(MessageRange(SOURCE, 0, 150))]
    assert portions[0] == 100
    assert max(portions[1:]) == 8


def test_values_that_are_longer_than_a_portion_come_one_by_one():
    consumer = FakeConsumer(dict.fromkeys(range(103), b"x" * (9 << 20)))
    reading = MessageReading(options(), lambda: consumer)
    assert [len(portion) for portion in reading.read(MessageRange(SOURCE, 0, 103))] == [100, 1, 1, 1]


def test_a_setting_that_the_library_refuses_is_named_and_its_value_is_not():
    reading = MessageReading(options(**{"kafka.ssl.key.password": "x", "kafka.fetch.min.bytes": "hunter22"}))
    with pytest.raises(UsageError, match=r"kafka\.fetch\.min\.bytes") as refused:
        next(reading.read(MessageRange(SOURCE, 0, 5)))
    assert "hunter22" not in str(refused.value)


def test_a_missing_library_is_named(monkeypatch):
    with pytest.raises(UsageError, match=r"\[no-kafka\]"):
        client_module("confluent_kafka_that_nobody_has")
