import errno
import os
import pickle
import threading

import pytest

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import IngestError, StreamError, UsageError
from splitscan.streaming.log import WindowLog, open_sealed, seal
from splitscan.streaming.windows import Backlog, PlannedFile, Window
from splitscan.testing import check_replay_law

STREAM = "0123456789abcdef" * 2


def window(number, names="ab", moves=()):
    """Window *number* plans block *number* of each file."""
    start = (number - 1) * 10
    files = [FileMetadata(f"/in/{name}", number * 10, number, f"{number}", name) for name in names]
    return Window(
        number,
        tuple(PlannedFile(file, 0, False, 10, "1:2") for file in files),
        tuple(BlockMetadata(file, start, start + 10, number - 1, start) for file in files),
        (1,) * len(files),
        moves,
        "me",
        {"fileMode": "complete"},
        Backlog(1, 2, 3),
    )


@pytest.fixture
def log(tmp_path):
    return WindowLog(str(tmp_path), STREAM)


def filled(log, count):
    for number in range(1, count + 1):
        log.create(window(number))
    return log


def test_a_state_holds_the_last_window_that_counts_and_none_after_it(log):
    filled(log, 4)
    assert [log.load(most).window for most in (0, 1, 2, 4, 9)] == [0, 1, 2, 4, 4]


def test_a_window_is_read_as_it_was_created(log):
    log.create(window(1, moves=(("/in/x", "/in/y"),)))
    assert log.read(1) == window(1, moves=(("/in/x", "/in/y"),))
    assert log.read(1).tasks() == [(block,) for block in window(1).blocks]
    assert (log.has(1), log.has(2), log.numbers()) == (True, False, [1])


def test_names_that_are_no_text_survive(log):
    log.create(window(1, names=["caf\u00e9\n", "bad\udcff"]))
    assert log.read(1) == window(1, names=["caf\u00e9\n", "bad\udcff"])


def test_the_second_planner_of_a_window_is_refused(tmp_path, log):
    log.create(window(1, names="a"))
    with pytest.raises(StreamError, match=r"already planned window 1 \[stream-fenced\]"):
        WindowLog(str(tmp_path), STREAM).create(window(1, names="b"))
    assert log.read(1) == window(1, names="a")


def test_of_many_planners_one_wins(tmp_path):
    outcomes, barrier = [], threading.Barrier(8)

    def plan(name):
        barrier.wait()
        try:
            WindowLog(str(tmp_path), STREAM).create(window(1, names=[name]))
            outcomes.append(name)
        except StreamError:
            outcomes.append(None)

    threads = [threading.Thread(target=plan, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [name for name in outcomes if name is not None]
    assert len(winners) == 1
    assert len(outcomes) == 8
    assert WindowLog(str(tmp_path), STREAM).read(1) == window(1, names=winners)


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 17])
@pytest.mark.parametrize("kind", ["w", "s"])
def test_every_torn_or_changed_byte_is_found(tmp_path, log, kind, step):
    filled(log, 2)
    log.save(log.load())
    path = next((tmp_path / STREAM).glob(f"{kind}-*"))
    whole = path.read_bytes()
    number = int(path.name[2:])

    def read():
        return log.read(number) if kind == "w" else open_sealed(path.read_bytes(), str(path))

    for cut in range(0, len(whole), step):
        path.write_bytes(whole[:cut])
        with pytest.raises(StreamError, match=r"\[stream-damaged\]"):
            read()
    for index in range(0, len(whole), step):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        with pytest.raises(StreamError, match=r"\[stream-damaged\]"):
            read()
    path.write_bytes(whole)
    read()


def test_a_missing_window_is_an_error(tmp_path, log):
    filled(log, 3)
    with pytest.raises(StreamError, match=r"refers to window 4 .*\[stream-state-missing\]"):
        log.read(4)
    (tmp_path / STREAM / "w-0000000002").unlink()
    with pytest.raises(StreamError, match=r"refers to window 2 .*\[stream-state-missing\]"):
        log.load()


def test_an_offset_of_somebody_else_leads_nowhere(tmp_path):
    for stream_id in ("", "../../etc", STREAM.upper(), STREAM + "0"):
        with pytest.raises(UsageError, match=r"\[bad-offset\]"):
            WindowLog(str(tmp_path), stream_id)


def test_another_version_is_refused(tmp_path, log):
    log.create(window(1))
    lines = list(window(1).lines())
    lines[0]["format"] = 2
    (tmp_path / STREAM / "w-0000000001").write_bytes(seal(lines))
    with pytest.raises(StreamError, match=r"\[stream-version\]"):
        log.read(1)


def test_the_state_is_a_function_of_the_log(log):
    filled(log, 5)
    state = log.load()
    assert state.window == 5
    progress = state.files["/in/a"]
    assert (progress.position, progress.blocks, progress.window, progress.finished) == (50, 5, 5, False)
    assert progress.file == window(5).files[0].file
    log.save(state)
    assert log.load() == state


def test_a_moved_file_keeps_its_progress(log):
    log.create(window(1, names="a"))
    log.create(window(2, names="b", moves=(("/in/a", "/in/a.1"),)))
    state = log.load()
    assert state.files["/in/a.1"].position == 10
    assert "/in/a" not in state.files


def test_snapshots_replace_windows_and_the_one_before_the_last_still_serves(tmp_path, log):
    states = {}
    for number in range(1, 11):
        log.create(window(number))
        if number in (3, 6, 9):
            states[number] = log.load()
            log.save(log.load())
    assert log.purge(committed=10, kept=2) == [1, 2, 3, 4, 5, 6]
    assert log.numbers("s") == [6, 9]
    last = log.load()
    assert last.window == 10
    damaged = tmp_path / STREAM / "s-0000000009"
    damaged.write_bytes(damaged.read_bytes()[:-5])
    assert log.load() == last


def test_windows_behind_a_checkpoint_that_may_be_rolled_back_stay(log):
    filled(log, 8)
    log.save(log.load())
    log.create(window(9))
    log.save(log.load())
    assert log.purge(committed=9, kept=5) == [1, 2, 3, 4]
    assert log.numbers() == [5, 6, 7, 8, 9]
    assert log.purge(committed=9, kept=100) == []


@pytest.mark.parametrize("call", ["fsync", "link"])
@pytest.mark.parametrize("before", [True, False])
def test_a_window_is_there_whole_or_not_at_all_wherever_its_planner_dies(tmp_path, log, monkeypatch, call, before):
    real = getattr(os, call)

    class KilledError(BaseException):
        pass

    def kill(*args):
        if not before:
            real(*args)
        raise KilledError

    log.create(window(1))
    monkeypatch.setattr(os, call, kill)
    with pytest.raises(KilledError):
        log.create(window(2))
    monkeypatch.undo()
    after = WindowLog(str(tmp_path), STREAM)
    state = after.load()
    published = call == "link" and not before
    assert state.window == (2 if published else 1)
    if published:
        assert after.read(2) == window(2)
    else:
        after.create(window(2))


def test_a_full_disk_leaves_no_window(tmp_path, log, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(IngestError, match="No space left"):
        log.create(window(1))
    monkeypatch.undo()
    assert log.numbers() == []
    log.create(window(1))


def test_the_replay_law_notices_another_plan(tmp_path, log):
    filled(log, 3)
    assert check_replay_law(log.read, [1, 2, 3], lambda: None) == 6

    def replan():
        (tmp_path / STREAM / "w-0000000002").unlink()
        log.create(window(2, names="a"))

    with pytest.raises(AssertionError, match="replay law, window 2"):
        check_replay_law(log.read, [1, 2, 3], replan)
    with pytest.raises(AssertionError, match="where 10 is next"):
        check_replay_law({1: window(1), 3: window(3)}.__getitem__, [1, 3], lambda: None)


def test_windows_travel(log):
    assert pickle.loads(pickle.dumps(window(1))) == window(1)


@pytest.mark.slow
def test_an_object_store_fences_too(s3_root, s3_options):
    log = filled(WindowLog(f"{s3_root}/state", STREAM, s3_options), 3)
    with pytest.raises(StreamError, match=r"\[stream-fenced\]"):
        WindowLog(f"{s3_root}/state", STREAM, s3_options).create(window(3, names="z"))
    assert log.load().window == 3
    assert log.read(3) == window(3)
    log.save(log.load())
    log.create(window(4))
    log.save(log.load())
    assert log.purge(committed=4, kept=2) == [1, 2]
    assert WindowLog(f"{s3_root}/state", STREAM, s3_options).load().window == 4
