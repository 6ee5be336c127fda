from __future__ import annotations

import itertools
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.errors import SourceError, UsageError
from splitscan.messages.kafka import TopicPartition
from splitscan.messages.spec import parse_kafka_options
from splitscan.streaming.messages import MessageOffset, MessagePlanner, read_message_offset, window_ranges

from ...kafka.fakes import FakeCluster

BEGIN = MessageOffset()


def planner(cluster, *, streams=True, **more):
    raw = {"kafka.bootstrap.servers": "b", "subscribe": "t", **more}
    if streams:
        raw.setdefault("startingOffsets", "earliest")
    return MessagePlanner(cluster, parse_kafka_options(raw, streams=streams)[0])


def ranges(start, end):
    return [(each.source.partition, each.start, each.stop) for each in window_ranges(start, end)]


def written(offset):
    """An offset as it comes back from a checkpoint."""
    return read_message_offset(json.loads(json.dumps(offset.to_json())))


def test_the_first_window_says_where_it_began():
    end = planner(FakeCluster(p0=(5, 9), p1=(0, 3))).latest(BEGIN)
    assert ranges(BEGIN, written(end)) == [(0, 5, 9), (1, 0, 3)]


def test_a_window_that_is_replayed_does_not_ask_where_the_log_is_now():
    cluster = FakeCluster(p0=(0, 9))
    end = planner(cluster).latest(BEGIN)
    cluster.set(p0=(7, 20))
    assert ranges(BEGIN, written(end)) == [(0, 0, 9)]


def test_a_stream_that_begins_at_the_end_remembers_where_that_was():
    cluster = FakeCluster(p0=(0, 9))
    first = planner(cluster, startingOffsets="latest").latest(BEGIN)
    assert ranges(BEGIN, first) == [(0, 9, 9)]
    cluster.set(p0=(0, 12))
    again = planner(cluster, startingOffsets="latest")  # another run
    assert ranges(first, again.latest(first)) == [(0, 9, 12)]


def test_nothing_new_is_the_offset_itself():
    one = planner(FakeCluster(p0=(0, 9)))
    end = one.latest(BEGIN)
    assert one.latest(end) is end


def test_offsets_are_one_text_whatever_the_order():
    positions = {TopicPartition("t", 10): 1, TopicPartition("t", 9): 2, TopicPartition("a", 0): 3}
    texts = {
        json.dumps(MessageOffset(dict(order)).to_json())
        for order in (list(positions.items()), list(reversed(positions.items())))
    }
    assert texts == {'{"v": 1, "source": "kafka", "at": {"a": {"0": 3}, "t": {"9": 2, "10": 1}}, "from": {}}'}


def test_a_new_partition_is_read_from_its_first_message():
    cluster = FakeCluster(p0=(0, 9))
    one = planner(cluster, startingOffsets="latest")
    first = one.latest(BEGIN)
    cluster.set(p1=(2, 4))
    second = one.latest(first)
    assert ranges(first, written(second)) == [(0, 9, 9), (1, 2, 4)]
    assert one.latest(second) is second


def test_a_limit_bounds_a_window_and_shows_the_backlog():
    one = planner(FakeCluster(p0=(0, 90), p1=(0, 10)), maxOffsetsPerTrigger=20)
    first = one.latest(BEGIN)
    assert ranges(BEGIN, first) == [(0, 0, 18), (1, 0, 2)]
    assert one.backlog == 80
    assert ranges(first, one.latest(first, limited=False)) == [(0, 18, 90), (1, 2, 10)]


def test_a_frozen_planner_leaves_what_comes_later():
    cluster = FakeCluster(p0=(0, 9))
    one = planner(cluster)
    one.freeze()
    cluster.set(p0=(0, 30), p1=(0, 5))
    end = one.latest(BEGIN)
    assert ranges(BEGIN, end) == [(0, 0, 9), (1, 0, 0)]
    assert one.latest(end) is end


@pytest.mark.parametrize(
    ("after", "seen"),
    [((12, 20), "offset 9.*[12, 20)"), ((0, 4), "offset 9.*[0, 4)")],
    ids=["retention overtook the stream", "the topic was made again"],
)
def test_messages_that_are_gone_end_the_stream_or_are_passed_over(after, seen, caplog):
    cluster = FakeCluster(p0=(0, 9))
    end = planner(cluster).latest(BEGIN)
    cluster.set(p0=after)
    with pytest.raises(SourceError, match=r"\[kafka-data-loss\]") as failed:
        planner(cluster).latest(end)
    where, what = seen.split(".*")
    assert where in str(failed.value)
    assert what in str(failed.value)
    lenient = planner(cluster, failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        following = lenient.latest(end)
    assert "messages are gone" in caplog.text
    assert ranges(end, written(following)) == [(0, *after)]
    assert lenient.latest(following) is following


def test_a_partition_that_is_gone_is_a_loss(caplog):
    cluster = FakeCluster(p0=(0, 9), p1=(0, 3))
    end = planner(cluster).latest(BEGIN)
    del cluster.offsets[TopicPartition("t", 1)]
    with pytest.raises(SourceError, match=r"no longer there"):
        planner(cluster).latest(end)
    lenient = planner(cluster, failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        following = lenient.latest(end)
    assert ranges(end, following) == [(0, 9, 9)]
    cluster.set(p1=(0, 2))  # it comes back, as another one
    assert ranges(following, lenient.latest(following)) == [(0, 9, 9), (1, 0, 2)]


@pytest.mark.parametrize("value", [None, 3, {}, {"v": 1, "s": "ab", "w": 3}, {"v": 1, "source": "kafka", "at": 3}])
def test_the_offset_of_another_source_is_refused(value):
    with pytest.raises(UsageError, match=r"\[bad-offset\]"):
        read_message_offset(value)


def test_offsets_that_do_not_follow_from_each_other_are_refused():
    with pytest.raises(UsageError, match=r"(?s)\[bad-offset\].*kafka:t/0"):
        window_ranges(BEGIN, MessageOffset({TopicPartition("t", 0): 3}))


def test_a_bounded_read_that_ends_where_the_log_does_lacks_nothing():
    (whole,) = planner(FakeCluster(p0=(2, 9)), streams=False, endingOffsets='{"t": {"0": 9}}').bounded()
    assert (whole.start, whole.stop) == (2, 9)


def test_a_bounded_read_ends_where_it_is_told():
    cluster = FakeCluster(p0=(0, 9), p1=(4, 8))
    offsets = {"startingOffsets": '{"t": {"0": 3, "1": -2}}', "endingOffsets": '{"t": {"0": -1, "1": 6}}'}
    bounded = planner(cluster, streams=False, **offsets).bounded()
    assert [(each.start, each.stop) for each in bounded] == [(3, 9), (4, 6)]


@pytest.mark.parametrize("named", ['{"t": {"0": 3, "1": 4, "2": 0}}', '{"t": {"0": 3, "1": 4}, "other": {"0": -1}}'])
def test_an_offset_of_a_partition_that_does_not_exist_is_an_error(named):
    cluster = FakeCluster(p0=(2, 9), p1=(4, 8))
    for option in ("startingOffsets", "endingOffsets"):
        with pytest.raises(UsageError, match=rf"(?s){option} names .* that is not read.*kafka:.*/[20]"):
            planner(cluster, streams=False, **{option: named}).bounded()
    with pytest.raises(UsageError, match="partition that is not read"):
        planner(cluster, startingOffsets=named).latest(BEGIN)


def test_a_bounded_read_names_what_it_lacks():
    cluster = FakeCluster(p0=(2, 9), p1=(4, 8))
    with pytest.raises(UsageError, match=r"(?s)startingOffsets names an offset for every partition.*kafka:t/1"):
        planner(cluster, streams=False, startingOffsets='{"t": {"0": 3}}').bounded()
    with pytest.raises(SourceError, match=r"\[kafka-data-loss\]"):
        planner(cluster, streams=False, startingOffsets='{"t": {"0": 1, "1": 4}}').bounded()
    with pytest.raises(SourceError, match=r"(?s)\[kafka-data-loss\].*endingOffsets is 30"):
        planner(cluster, streams=False, endingOffsets='{"t": {"0": 30, "1": 4}}').bounded()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30)), max_size=30), st.integers(1, 25), st.data())
def test_windows_tile_every_partition_whatever_is_killed(growth, limit, data):
    """A planner may be lost before or after Spark has logged its offset; what is logged is read exactly once."""
    cluster = FakeCluster(p0=(0, 0))
    logged = [BEGIN]
    for number, messages in [*growth, *[(0, 0)] * 5]:
        low, high = cluster.offsets.get(TopicPartition("t", number), (0, 0))
        cluster.set(**{f"p{number}": (low, high + messages)})
        end = planner(cluster, maxOffsetsPerTrigger=limit).latest(logged[-1])
        if end is not logged[-1] and data.draw(st.booleans()):
            logged.append(written(end))
    while (end := planner(cluster).latest(logged[-1])) is not logged[-1]:
        logged.append(written(end))
    read = [window for start, end in itertools.pairwise(logged) for window in ranges(start, end)]
    for source, (low, high) in cluster.offsets.items():
        parts = [(start, stop) for number, start, stop in read if number == source.partition and stop > start]
        assert [offset for start, stop in parts for offset in range(start, stop)] == list(range(low, high))
