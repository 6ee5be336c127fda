"""What goes wrong around the planner of a stream, and what it makes of that."""

import gzip
import logging
import shutil

import pytest

from splitscan.errors import SourceMissingError
from splitscan.streaming.log import WindowLog

from .following import Stream, write


def test_a_commit_that_fails_is_logged_and_the_stream_goes_on(tmp_path, monkeypatch, caplog):
    stream = Stream(tmp_path / "in", tmp_path / "state")
    write(tmp_path / "in" / "a", b"1\n")
    stream.drain()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("splitscan.streaming.planner.SMALLEST_SNAPSHOT_BYTES", 0)
    monkeypatch.setattr(WindowLog, "save", fail)
    stream.restart()
    write(tmp_path / "in" / "b", b"2\n")
    with caplog.at_level(logging.ERROR, "splitscan"):
        stream.drain()
    assert "no space left" in caplog.text
    monkeypatch.undo()
    write(tmp_path / "in" / "c", b"3\n")
    stream.drain()
    assert stream.restart().drain() == 0
    assert stream.values() == ["1", "2", "3"]


def test_a_directory_that_vanishes_is_an_error_and_comes_back(tmp_path):
    folder = tmp_path / "in"
    stream = Stream(folder, tmp_path / "state")
    write(folder / "a", b"1\n")
    stream.drain()
    folder.rename(tmp_path / "away")
    with pytest.raises(SourceMissingError, match="in"):
        stream.drain()
    (tmp_path / "away").rename(folder)
    write(folder / "b", b"2\n")
    stream.drain()
    assert stream.values() == ["1", "2"]


def test_what_rotation_compresses_is_left_out_by_its_name(tmp_path):
    folder = tmp_path / "in"
    stream = Stream(folder, tmp_path / "state", fileMode="append", pathGlobFilter="*[!z]")
    write(folder / "a.log", b"1\n")
    stream.drain()
    with (folder / "a.log").open("rb") as data, gzip.open(folder / "a.log.1.gz", "wb") as packed:
        shutil.copyfileobj(data, packed)
    write(folder / "a.log", b"2\n")
    stream.drain()
    assert stream.values() == ["1", "2"]
