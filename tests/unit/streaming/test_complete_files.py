import gzip
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from splitscan.errors import SourceChangedError, SourceMissingError, StreamError, UsageError
from splitscan.scans import ScanPlanner
from splitscan.streaming.log import WindowLog
from splitscan.streaming.windows import Offset
from splitscan.testing import check_replay_law

from .following import Stream, touch, write


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def stream(source, tmp_path):
    return Stream(source, tmp_path / "state", blockSize=8)


def lines(name, count):
    return b"".join(b"%s-%d\n" % (name.encode(), number) for number in range(count))


def expected(**counts):
    return sorted(f"{name}-{number}" for name, count in counts.items() for number in range(count))


def test_new_files_are_read_once_and_late_ones_too(source, stream):
    write(source / "b", lines("b", 5))
    assert stream.drain() == 1
    write(source / "a", lines("a", 3))
    os.utime(source / "a", (1, 1))  # restored from a backup: its time hides nothing
    write(source / "sub" / "_hidden", b"no\n")
    write(source / ".b.swp", b"no\n")
    write(source / "empty", b"")
    assert stream.drain() == 1
    assert stream.drain() == 0
    assert sorted(stream.values()) == expected(a=3, b=5)


@pytest.mark.parametrize(("format", "cuts"), [("text", 1), ("csv", 5)])
def test_files_are_cut_together_where_cutting_reads_nothing(source, tmp_path, monkeypatch, format, cuts):
    calls = []
    cut = ScanPlanner.indexed_blocks
    monkeypatch.setattr(ScanPlanner, "indexed_blocks", lambda scan, *args: calls.append(args) or cut(scan, *args))
    options = {"multiLine": True} if format == "csv" else {}
    stream = Stream(source, tmp_path / "state", format, blockSize=8, **options)
    stream.schema = None if format == "text" else "value string"
    stream.restart()
    for name in "abcde":
        write(source / name, lines(name, 3))
    stream.drain()
    assert sorted(stream.values()) == expected(a=3, b=3, c=3, d=3, e=3)
    assert len(calls) == cuts


def test_the_last_window_says_that_nothing_is_left(source, tmp_path):
    stream = Stream(source, tmp_path / "state", blockSize=8, blocksThreshold=1)
    write(source / "a", lines("a", 5))
    write(source / "b", lines("b", 5))
    stream.drain()
    left = [(window.backlog.files, window.backlog.size_bytes) for window in stream.windows]
    assert left[0] == (2, 32)
    assert left == sorted(left, reverse=True)
    assert left[-1] == (0, 0)


def test_an_empty_file_is_read_when_it_is_filled(source, stream):
    write(source / "a", b"")
    assert stream.drain() == 0
    write(source / "a", lines("a", 2))
    stream.drain()
    assert stream.values() == ["a-0", "a-1"]


@pytest.mark.parametrize("threshold", [1, 2, 3, 100])
def test_the_threshold_is_exact_in_every_window(source, tmp_path, threshold):
    stream = Stream(source, tmp_path / "state", blockSize=8, blocksThreshold=threshold)
    write(source / "huge", lines("huge", 30))
    for name in "abc":
        write(source / name, lines(name, 1))
    windows = stream.drain()
    total = -(-len(lines("huge", 30)) // 8) + 3
    assert [len(window.blocks) for window in stream.windows[:-1]] == [threshold] * (windows - 1)
    assert sum(len(window.blocks) for window in stream.windows) == total
    assert sorted(stream.values()) == expected(huge=30, a=1, b=1, c=1)
    assert max(window.number for window in stream.windows for block in window.blocks if block.file.name == "a") <= 3


def test_limits_of_bytes_and_files(source, tmp_path):
    stream = Stream(source, tmp_path / "state", maxFilesPerTrigger=2)
    for name in "abcde":
        write(source / name, lines(name, 2))
    assert stream.drain() == 3
    stream.restart(maxBytesPerTrigger=8, maxFilesPerTrigger=None)
    for name in "fgh":
        write(source / name, lines(name, 2))
    assert stream.drain() == 3
    assert sorted(stream.values()) == expected(**dict.fromkeys("abcdefgh", 2))


def test_oldest_files_come_first(source, tmp_path):
    stream = Stream(source, tmp_path / "state", maxFilesPerTrigger=1)
    for name in ("c", "a", "b"):
        write(source / name, lines(name, 1))
    stream.drain()
    assert stream.values() == ["c-0", "a-0", "b-0"]


def test_blocks_are_logged_with_their_tasks(source, tmp_path):
    stream = Stream(source, tmp_path / "state", blockSize=8, minReaders=2, maxReaders=3, taskSize=8)
    write(source / "a", lines("a", 40))
    stream.drain()
    assert len(stream.windows[0].task_blocks) == 3
    stream.restart(minReaders=7, maxReaders=9)
    assert len(stream.planner.windows(stream.offset(0), stream.offset(1))[0].tasks()) == 3


# ---------------------------------------------------------------- failure


def test_a_window_that_was_planned_is_returned_again(source, tmp_path, stream):
    write(source / "a", lines("a", 5))
    end = stream.plan()
    write(source / "b", lines("b", 5))
    stream.restart()  # the offset never reached Spark
    assert stream.plan() == end
    stream.drain()
    assert sorted(stream.values()) == expected(a=5, b=5)


def test_a_restarted_planner_answers_from_the_log_alone(source, stream):
    write(source / "a", lines("a", 5))
    end = stream.plan()
    before = stream.read(end)
    stream.restart()
    write(source / "b", lines("b", 5))
    assert stream.read(end) == before


def test_a_zombie_is_refused_and_its_successor_goes_on(source, tmp_path, stream, monkeypatch):
    write(source / "a", lines("a", 5))
    stream.step()
    zombie = stream.planner
    successor = Stream(source, tmp_path / "state", blockSize=8)
    successor.position = stream.position
    write(source / "b", lines("b", 5))
    successor.step()
    with monkeypatch.context() as patched:
        patched.setattr(WindowLog, "has", lambda *_: False)  # it looked before its successor planned
        with pytest.raises(StreamError, match=r"\[stream-fenced\]"):
            zombie.latest(stream.position)
    assert zombie.latest(stream.position) == successor.position  # what it would read is what was planned
    write(source / "c", lines("c", 1))
    assert successor.step()
    assert sorted(stream.values() + successor.values()) == expected(a=5, b=5, c=1)


def test_planning_goes_on_after_a_window_could_not_be_written(source, stream, monkeypatch):
    write(source / "a", lines("a", 5))
    stream.plan()
    stream.restart()
    stream.step()
    write(source / "b", lines("b", 2))
    stream.restart(scanIntervalMillis=3_600_000)  # one listing serves all attempts

    def full(self, window):
        raise OSError("disk full")

    monkeypatch.setattr(WindowLog, "create", full)
    with pytest.raises(OSError, match="disk full"):
        stream.plan()
    monkeypatch.undo()
    stream.drain()
    assert sorted(stream.values()) == expected(a=5, b=2)


def disturb_append(path):
    write(path, b"more\n", "ab")


def disturb_rewrite(path):
    write(path, b"x" * path.stat().st_size)


@pytest.mark.parametrize(
    "disturb", [disturb_append, disturb_rewrite, Path.unlink, lambda path: path.rename(f"{path}2")]
)
def test_a_pending_window_gives_the_same_rows_or_an_error(source, stream, tmp_path, disturb):
    write(source / "a", lines("a", 5))
    end = stream.plan()
    _, rows = stream.read(end)
    saved = tmp_path / "saved"
    shutil.copy2(source / "a", saved)
    stream.restart()
    assert check_replay_law(lambda n: stream.planner.windows(stream.offset(n - 1), stream.offset(n))[0], [1],
                            lambda: disturb(source / "a")) == 3  # fmt: skip
    with pytest.raises((SourceChangedError, SourceMissingError), match=str(source / "a")):
        stream.read(end)
    shutil.copy2(saved, source / "a")
    assert stream.read(end)[1] == rows


def test_the_state_must_be_there(source, tmp_path, stream):
    write(source / "a", lines("a", 1))
    stream.drain()
    shutil.rmtree(tmp_path / "state")
    stream.restart()
    with pytest.raises(StreamError, match=r"\[stream-state-missing\]"):
        stream.plan()


def test_a_checkpoint_may_be_rolled_back(source, tmp_path, stream):
    stream.restart(maxFilesPerTrigger=1)
    for name in "abcdefg":
        write(source / name, lines(name, 1))
    stream.drain()
    stream.position = stream.offset(2)
    stream.rows = stream.rows[:2]
    stream.restart()
    assert stream.drain() == 5
    assert sorted(stream.values()) == expected(**dict.fromkeys("abcdefg", 1))


def test_two_streams_may_share_a_state_location(source, tmp_path, stream):
    other = Stream(source, tmp_path / "state", blockSize=8)
    write(source / "a", lines("a", 3))
    stream.drain()
    other.drain()
    assert stream.values() == other.values() == ["a-0", "a-1", "a-2"]
    assert len(list((tmp_path / "state").iterdir())) == 2


def test_idling_writes_nothing(source, tmp_path, stream):
    write(source / "a", lines("a", 1))
    stream.drain()
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    for _ in range(20):
        assert stream.plan() is stream.position
    assert sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*")) == before


def test_snapshots_keep_the_state_small(source, tmp_path, monkeypatch):
    purge = WindowLog.purge
    monkeypatch.setattr("splitscan.streaming.planner.SMALLEST_SNAPSHOT_BYTES", 100)
    monkeypatch.setattr(WindowLog, "purge", lambda log, committed: purge(log, committed, 3))
    stream = Stream(source, tmp_path / "state")
    for number in range(30):
        write(source / f"f{number}", lines(f"f{number}", 1))
        stream.step()
        if number % 7 == 0:
            stream.restart()
    kept = list((tmp_path / "state" / stream.position.stream).iterdir())
    assert len(kept) < 25
    stream.restart()
    assert stream.drain() == 0
    assert len(stream.planner.contents(stream.position)) == 30


# ------------------------------------------------------------ modification


def test_a_planner_knows_what_another_has_planned_meanwhile(source, tmp_path, stream):
    assert not stream.drain()
    other = Stream(source, tmp_path / "state")
    other.position = stream.position
    write(source / "a", lines("a", 2))
    end = other.plan()
    assert stream.plan() == end != stream.position
    assert stream.planner.window == 1


def test_windows_begin_in_turn_with_files_that_are_begun_and_with_new_ones(source, tmp_path):
    stream = Stream(source, tmp_path / "state", blockSize=4, blocksThreshold=1)
    write(source / "a", lines("a", 4))
    stream.step()
    for name in "bc":
        write(source / name, lines(name, 1))
    stream.drain()
    assert stream.values() == ["a-0", "a-1", "b-0", "a-2", "c-0", "a-3"]


def test_a_modified_file_stops_the_stream_unless_told_otherwise(source, stream, caplog):
    write(source / "a", lines("a", 2))
    stream.drain()
    touch(source / "a")
    with pytest.raises(SourceChangedError, match=r"onModified=fail\) \[file-modified\]"):
        stream.plan()
    stream.restart(onModified="ignore")
    assert stream.drain() == 0
    assert stream.drain() == 0
    assert caplog.messages == [f"a modified file is not read again (onModified=ignore): {source / 'a'}"]
    write(source / "a", lines("new", 2))
    stream.restart(onModified="reread")
    stream.drain()
    assert stream.values() == ["a-0", "a-1", "new-0", "new-1"]
    assert stream.windows[-1].files[0].generation == 1
    assert stream.drain() == 0


def test_a_file_replaced_in_the_middle_is_begun_anew(source, tmp_path):
    stream = Stream(source, tmp_path / "state", blockSize=4, blocksThreshold=2, onModified="reread")
    write(source / "a", lines("a", 6))
    stream.step()
    write(source / "a", lines("b", 4))
    stream.drain()
    assert stream.values() == ["a-0", "a-1", "b-0", "b-1", "b-2", "b-3"]


def test_a_young_file_is_left_alone(source, tmp_path):
    stream = Stream(source, tmp_path / "state", minAgeMs=3_600_000)
    write(source / "old", lines("old", 1))
    (source / "young").write_bytes(lines("young", 1))
    stream.drain()
    assert stream.values() == ["old-0"]


@pytest.mark.parametrize(("age_us", "is_read"), [(9_999_999, False), (10_000_000, True)])
def test_a_file_is_old_enough_from_the_very_microsecond_on(source, tmp_path, monkeypatch, age_us, is_read):
    stream = Stream(source, tmp_path / "state", minAgeMs=10_000)
    write(source / "a", lines("a", 1))
    now_ns = (source / "a").stat().st_mtime_ns + 1000 * age_us
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    assert stream.drain() == is_read


# ----------------------------------------------------------------- options


def test_the_block_size_may_change_and_holds_for_new_files(source, tmp_path):
    stream = Stream(source, tmp_path / "state", blockSize=4, blocksThreshold=2)
    write(source / "a", lines("a", 6))
    stream.step()
    stream.restart(blockSize=100)
    write(source / "b", lines("b", 6))
    stream.drain()
    assert sorted(stream.values()) == expected(a=6, b=6)
    assert [len(window.blocks) for window in stream.windows] == [2, 2, 2, 1]


def test_what_positions_mean_must_not_change(source, tmp_path, stream):
    write(source / "a", lines("a", 2))
    stream.drain()
    stream.format = "slices"
    stream.restart()
    with pytest.raises(
        StreamError, match=r"option recordFormat of a stream cannot change \[stream-options-changed\]"
    ) as caught:
        stream.plan()
    assert caught.value.where.path == str(stream.state)


def test_a_stream_needs_a_place_for_its_state(source, tmp_path):
    stream = Stream(source, tmp_path / "state")
    stream.restart(stateLocation=None)
    with pytest.raises(UsageError, match=r"\[no-state-location\]"):
        stream.plan()


@pytest.mark.parametrize("options", [{"limit": 5}, {"rebalance": True}])
def test_what_has_no_meaning_without_an_end_is_refused(source, tmp_path, options):
    with pytest.raises(UsageError, match=r"so option (limit|rebalance) has no meaning.*\[bad-option\]"):
        Stream(source, tmp_path / "state", **options)


def test_a_plan_does_not_lead_outside(source, tmp_path, stream):
    write(source / "a", lines("a", 2))
    stream.drain()
    window = stream.log.read(1)
    outside = replace(window.files[0].file, path="/etc/passwd")
    forged = replace(
        window,
        number=2,
        files=(replace(window.files[0], file=outside),),
        blocks=tuple(replace(block, file=outside) for block in window.blocks),
    )
    stream.log.create(forged)
    with pytest.raises(UsageError, match=r"\[path-escapes\]"):
        stream.planner.windows(stream.offset(1), stream.offset(2))


def test_quoted_newlines_are_followed_in_blocks(source, tmp_path):
    stream = Stream(source, tmp_path / "state", "csv", blockSize=16, blocksThreshold=2, multiLine=True)
    rows = [f"{number}" * 3 + "\nsecond" for number in range(20)]
    write(source / "a", "".join(f'{number},"{row}"\n' for number, row in enumerate(rows)).encode())
    steps = stream.drain()
    assert steps > 10
    assert [row["_c1"] for row in stream.rows] == rows


def test_compressed_files_are_read_whole_and_replayed(source, tmp_path):
    stream = Stream(source, tmp_path / "state", blockSize=16, blocksThreshold=2)
    write(source / "a.gz", gzip.compress(lines("a", 500)))
    write(source / "b", lines("b", 20))
    end = stream.plan()
    before = stream.read(end)
    stream.restart()
    assert stream.read(end) == before
    stream.drain()
    assert sorted(stream.values()) == expected(a=500, b=20)
    assert stream.restart().drain() == 0


def test_what_is_frozen_is_drained_and_later_files_are_left(source, stream):
    write(source / "a", lines("a", 2))
    stream.planner.freeze()
    write(source / "b", lines("b", 2))
    stream.drain()
    assert stream.values() == ["a-0", "a-1"]
    stream.restart()
    stream.drain()
    assert sorted(stream.values()) == expected(a=2, b=2)


def test_an_offset_is_read_as_it_was_written(stream):
    from splitscan.streaming.windows import read_offset

    assert read_offset(stream.position.to_json()) == stream.position
    for wrong in ({}, {"v": 2, "s": "a", "w": 1}, {"v": 1, "s": "a", "w": -1}, {"v": 1, "w": 1}, None, [1]):
        with pytest.raises(UsageError, match=r"\[bad-offset\]"):
            read_offset(wrong)
    assert Offset("a", 1).to_json() == {"v": 1, "s": "a", "w": 1}


@pytest.mark.slow
def test_ten_thousand_files_are_compared_in_a_few_steps_each(source, stream, monkeypatch):
    from tests.counting import steps_of

    from splitscan.blocks import FileMetadata

    files = [FileMetadata(f"{source}/f{n:06d}", 10, n, f"10-{n}", f"f{n:06d}") for n in range(10_000)]
    monkeypatch.setattr("splitscan.streaming.planner.list_files", lambda *_: files)
    stream.position = stream.plan()
    assert len(stream.planner.contents(stream.position)) == 10_000
    found = []
    assert steps_of(lambda: found.append(stream.plan())) < 20 * 10_000
    assert found[0] is stream.position
