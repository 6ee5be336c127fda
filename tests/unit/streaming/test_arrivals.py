"""Which files are late: after younger ones that a listing had shown before."""

import os
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.streaming.directory import Arrivals, DirectoryListing
from splitscan.streaming.status import read_status, read_windows
from splitscan.streaming.windows import StreamState

from .following import Stream, write


@dataclass(frozen=True)
class ListedFile:
    path: str
    modified_us: int
    size_bytes: int = 1


@pytest.fixture
def source(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def add(source, name, moment, data=b"x\n"):
    write(source / name, data)
    os.utime(source / name, (moment, moment))


def late(stream):
    (status,) = read_status(str(stream.state))
    return [path.rpartition("/")[2] for path in status.late]


def test_a_file_behind_a_younger_one_is_late_and_read(source, tmp_path):
    stream = Stream(source, tmp_path / "state", blocksThreshold=1)
    add(source, "first", 1000)
    add(source, "waits", 2000)
    stream.step()
    add(source, "old", 5)
    stream.drain()
    assert late(stream) == ["old"]
    assert len(stream.rows) == 3
    assert [[planned.late for planned in window.files] for _, window in read_windows(str(tmp_path / "state"))] == [
        [False], [True], [False],
    ]  # fmt: skip


def test_what_is_there_from_the_beginning_is_not_late(source, tmp_path):
    stream = Stream(source, tmp_path / "state", blocksThreshold=1)
    for moment in (3000, 1000, 2000):
        add(source, f"{moment}", moment)
    stream.drain()
    assert late(stream) == []


def test_behind_a_restart_what_had_waited_is_not_late_and_what_is_older_than_that_is(source, tmp_path):
    stream = Stream(source, tmp_path / "state", blocksThreshold=1)
    for moment in (1000, 2000, 3000):
        add(source, f"{moment}", moment)
    stream.step()
    stream.restart()
    add(source, "older", 1999)
    add(source, "between", 2500)  # perhaps it had waited: nobody knows
    stream.drain()
    assert late(stream) == ["older"]
    stream.restart()
    add(source, "last", 2999)
    stream.drain()
    assert late(stream) == ["last", "older"]


def test_an_unfinished_record_that_waits_is_not_late_behind_a_restart(source, tmp_path):
    stream = Stream(source, tmp_path / "state", fileMode="append")
    add(source, "waits", 1000, b"no end yet")
    add(source, "younger", 2000)
    stream.drain()
    stream.restart(closeAfterMs=0)
    add(source, "old", 999)
    stream.drain()
    assert late(stream) == ["old"]
    assert len(stream.rows) == 3


def test_a_replaced_and_a_renamed_file_are_not_late(source, tmp_path):
    stream = Stream(source, tmp_path / "state", fileMode="append")
    add(source, "a", 1000, b"one\n")
    add(source, "b", 3000, b"two\n")
    stream.drain()
    (source / "b").rename(source / "c")
    add(source, "c", 10, b"two\nmore\n")
    add(source, "a", 20, b"other\n")
    stream.drain()
    (status,) = read_status(str(stream.state))
    assert (late(stream), [path.rpartition("/")[2] for path in status.changed]) == ([], ["a"])


def test_a_late_file_stays_late_in_snapshots_and_under_another_name(source, tmp_path):
    stream = Stream(source, tmp_path / "state", fileMode="append")
    add(source, "b", 3000)
    stream.drain()
    add(source, "a", 1000)
    stream.drain()
    stream.log.save(stream.log.load())
    (source / "a").rename(source / "a.1")
    add(source, "a.1", 4000, b"x\ny\n")
    stream.restart().drain()
    assert late(stream) == ["a.1"]
    assert len(stream.rows) == 3


@given(st.lists(st.dictionaries(st.integers(0, 7), st.integers(1, 9)), max_size=8))
def test_late_is_what_an_earlier_listing_had_a_younger_one_without(contents):
    arrivals, state = Arrivals(), StreamState()
    newest, there, expected = 0, set(), set()
    for serial, times in enumerate(contents):
        files = [ListedFile(str(name), moment) for name, moment in times.items()]
        arrivals.note(DirectoryListing(serial + 1, files, 0), state, {file.path for file in files})
        fresh = {file.path for file in files if file.path not in there and file.modified_us < newest}
        there = {file.path for file in files}
        expected = (expected & there) | fresh
        newest = max([newest, *times.values()])
        assert {file.path for file in files if arrivals.is_late(file.path)} == expected
