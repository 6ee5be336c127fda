"""Rotation by copy and truncate, seen at any moment; and copies that are made for another reason."""

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from splitscan.streaming import growing

from .following import Stream, write

FOR_EVER = 10**9
LEAST_LINES = 40  # more than 1024 bytes of them


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def patience(monkeypatch):
    def last(seconds):
        monkeypatch.setattr(growing, "COPY_PATIENCE_SECONDS", seconds)

    last(FOR_EVER)
    return last


@pytest.fixture
def stream(folder, tmp_path, patience):
    """A stream that has read 40 lines of app.log."""
    stream = follow(folder, tmp_path)
    write(folder / "app.log", lines(0, LEAST_LINES))
    stream.drain()
    return stream


def follow(folder, tmp_path, **options):
    return Stream(folder, tmp_path / "state", fileMode="append", **options)


def lines(start, stop):
    return b"".join(b"%06d %s\n" % (number, b"x" * 30) for number in range(start, stop))


def numbers(stream):
    return sorted(int(value[:6]) for value in stream.values())


@pytest.mark.parametrize("seen_bytes", [1024, 1500, 45 * 38])
@pytest.mark.parametrize("kept_times", [False, True])
def test_a_copy_that_is_seen_before_its_original_is_truncated_is_not_read_twice(
    stream, folder, patience, seen_bytes, kept_times
):
    write(folder / "app.log", lines(40, 45), "ab")  # not read before it is copied
    write(folder / "app.log.1", (folder / "app.log").read_bytes()[:seen_bytes])
    if not kept_times:
        os.utime(folder / "app.log.1")
    assert stream.drain() == 0
    shutil.copy(folder / "app.log", folder / "app.log.1")
    assert stream.drain() == 0
    write(folder / "app.log", lines(45, 46), "ab")  # lost by its writer: truncated before it could be read
    assert stream.restart().drain() == 0
    write(folder / "app.log", lines(46, 50))
    stream.drain()
    assert numbers(stream) == [*range(45), *range(46, 50)]
    stream.restart()
    write(folder / "app.log", lines(50, 52), "ab")
    stream.drain()
    assert numbers(stream) == [*range(45), *range(46, 52)]


def test_somebody_is_told_once_that_a_copy_waits(stream, folder, caplog):
    shutil.copy(folder / "app.log", folder / "app.log.1")
    for _ in range(3):
        assert stream.drain() == 0
    waits = [message for message in caplog.messages if message.startswith("a copy waits")]
    assert len(waits) == 1
    assert waits[0].endswith(f"{folder / 'app.log.1'}")


def test_a_copy_whose_original_stays_is_a_file_of_its_own_in_the_end(stream, folder, patience):
    write(folder / "app.log", lines(40, 45), "ab")
    shutil.copy(folder / "app.log", folder / "copy")
    assert stream.drain() == 0
    patience(0)
    stream.drain()
    assert numbers(stream) == sorted([*range(45), *range(45)])


@pytest.mark.parametrize("grown", ["app.log", "copy"])
def test_files_that_differ_do_not_wait_for_each_other(stream, folder, grown):
    shutil.copy(folder / "app.log", folder / "copy")
    assert stream.drain() == 0
    write(folder / "copy", lines(100, 101), "ab")
    if grown == "app.log":
        write(folder / "app.log", lines(200, 202), "ab")
    stream.drain()
    assert numbers(stream) == sorted([*range(40), *range(40), 100, *([200, 201] if grown == "app.log" else [])])


def test_a_second_name_of_a_file_waits_for_nothing(stream, folder):
    (folder / "link").hardlink_to(folder / "app.log")
    write(folder / "app.log", lines(40, 41), "ab")
    stream.drain()
    assert numbers(stream) == sorted([*range(41), *range(41)])


def test_a_copy_is_awaited_again_when_the_same_name_is_copied_to_once_more(stream, folder):
    for rotation in range(1, 4):
        if rotation > 1:
            (folder / "app.log.1").rename(folder / f"app.log.{rotation}")
        shutil.copy(folder / "app.log", folder / "app.log.1")
        assert stream.drain() == 0
        write(folder / "app.log", lines(rotation * 100, rotation * 100 + 40))
        stream.drain()
    assert numbers(stream) == [number for start in (0, 100, 200, 300) for number in range(start, start + 40)]


def test_of_many_files_that_begin_alike_few_are_opened(folder, tmp_path, patience, monkeypatch):
    stream = follow(folder, tmp_path)
    for number in range(60):
        write(folder / f"{number:02d}.log", lines(0, LEAST_LINES) + lines(1000 * number, 1000 * number + 10))
    stream.drain()
    opened = []
    real = growing.GrowingFiles.open
    monkeypatch.setattr(growing.GrowingFiles, "open", lambda self, file: opened.append(file.path) or real(self, file))
    write(folder / "17.log.1", lines(0, LEAST_LINES))
    assert stream.drain() == 0
    assert str(folder / "17.log") in opened
    assert len(opened) <= 32


class Rotated:
    """A log that is written, copied and truncated, and the lines that a stream must, and those that it may, give."""

    def __init__(self, folder):
        self.log = folder / "app.log"
        self.certain, self.doubtful = [], []
        self.written = self.copies = 0
        self.append(LEAST_LINES)

    def append(self, count):
        new = range(self.written, self.written + count)
        self.written += count
        (self.doubtful if self.has_copy else self.certain).extend(new)
        write(self.log, lines(new.start, new.stop), "ab")

    @property
    def has_copy(self):
        return self.copies % 2 == 1

    def copy_or_truncate(self):
        if self.has_copy:
            write(self.log, b"")
        else:
            shutil.copy(self.log, self.log.with_name(f"app.log.{self.copies}"))
        self.copies += 1


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 3)
@given(st.lists(st.sampled_from(["append", "rotate", "read", "restart"]), max_size=12))
def test_rotation_by_copy_and_truncate_is_exact_whenever_it_is_looked_at(steps):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        patched.setattr(growing, "COPY_PATIENCE_SECONDS", FOR_EVER)
        folder = Path(name) / "in"
        rotated, stream = Rotated(folder), follow(folder, Path(name))
        for step in [*steps, "read"]:
            if step == "append":
                rotated.append(3)
            elif step == "rotate":
                if not rotated.has_copy:  # 1024 bytes of what is copied must be planned: that is the promise
                    rotated.append(LEAST_LINES)
                    stream.drain()
                    rotated.append(2)
                rotated.copy_or_truncate()
            elif step == "read":
                stream.drain()
            else:
                stream.restart()
        if rotated.has_copy:
            rotated.copy_or_truncate()
            stream.drain()
        found = Counter(numbers(stream))
        stream.planner.close()
    assert not [number for number, times in found.items() if times > 1]
    assert set(rotated.certain) <= set(found) <= {*rotated.certain, *rotated.doubtful}
