"""Streams without a window log: exact while a planner lives, and read again by the next one."""

from collections import Counter

import pytest

from splitscan.errors import UsageError
from splitscan.options.stream import parse_stream_options
from splitscan.streaming.log import KEPT_WINDOWS, VolatileLog
from splitscan.streaming.windows import Window

from .following import Stream, write


@pytest.fixture
def stream(tmp_path):
    for name in "abc":
        write(tmp_path / "in" / name, f"{name}1\n{name}2\n".encode())
    return Stream(tmp_path / "in", None, stateLocation=None, windowLog="none", maxFilesPerTrigger=1)


def test_a_run_is_exact_and_leaves_nothing_behind(stream, tmp_path):
    stream.drain()
    assert sorted(stream.values()) == ["a1", "a2", "b1", "b2", "c1", "c2"]
    assert [window.number for window in stream.windows] == [1, 2, 3]
    assert not stream.step()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_window_is_the_same_when_it_is_asked_for_again(stream, tmp_path):
    end = stream.plan()
    first = stream.planner.windows(stream.position, end)
    write(tmp_path / "in" / "d", b"d1\n")
    assert stream.planner.windows(stream.position, end) == first
    assert stream.plan() == end


def test_a_file_may_grow_while_a_part_of_it_is_read(tmp_path):
    write(tmp_path / "in" / "a", b"1\n2\n3\n")
    stream = Stream(
        tmp_path / "in", None, stateLocation=None, windowLog="none", fileMode="append", blockSize=2, blocksThreshold=1
    )
    end = stream.plan()
    write(tmp_path / "in" / "a", b"4\n", "ab")
    assert [row["value"] for row in stream.read(end)[1]] == ["1"]


def test_another_run_loses_nothing_and_reads_all_again(stream):
    stream.step()
    pending = stream.plan()  # Spark has logged it, and the driver dies
    stream.restart()
    assert stream.read(pending) == (stream.planner.windows(stream.position, pending), [])
    stream.position = pending
    stream.drain()
    assert Counter(stream.values()) == {"a1": 2, "a2": 2, "b1": 1, "b2": 1, "c1": 1, "c2": 1}
    assert stream.windows[-1].number == 5


def test_no_more_windows_are_kept_than_batches_by_spark():
    log = VolatileLog("0" * 32)
    for number in range(1, KEPT_WINDOWS + 6):
        log.create(Window(number, (), (), (1,)))
    assert log.numbers() == list(range(6, KEPT_WINDOWS + 6))
    assert (log.has(5), log.has(6)) == (False, True)
    assert (log.read(5).task_blocks, log.read(6).task_blocks) == ((), (1,))


def test_there_is_no_place_for_what_is_not_kept():
    with pytest.raises(UsageError, match="keeps no state"):
        parse_stream_options({"windowLog": "none", "stateLocation": "/x"})
