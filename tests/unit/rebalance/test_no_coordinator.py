"""Machines on which no coordinator can be started: an error of ours, whatever it was, so that planning goes on."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import splitscan
from splitscan.errors import RebalanceError
from splitscan.rebalance.coordinator_process import ListenAddress, shared_coordinator


@pytest.fixture
def failure_with(monkeypatch, tmp_path):
    """What is said when a coordinator is asked for in a folder."""

    def call(folder=tmp_path):
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        with pytest.raises(RebalanceError) as caught:
            shared_coordinator(os.getpid(), ListenAddress)
        assert caught.value.reason_code == "coordinator-failed"
        return str(caught.value)

    return call


def failing(number):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


def test_without_a_folder_for_temporary_files(failure_with, tmp_path):
    said = failure_with(tmp_path / "nothing")
    assert f"{tmp_path}/nothing" in said
    assert "TMPDIR" in said


def test_where_that_is_no_folder(failure_with, tmp_path):
    (tmp_path / "file").write_text("")
    assert "NotADirectoryError" in failure_with(tmp_path / "file")


def test_on_a_full_disk_none_is_started(failure_with, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "pwrite", failing(errno.ENOSPC))
    monkeypatch.setattr(subprocess, "Popen", failing(errno.EPERM))
    assert "No space left on device" in failure_with()
    (path,) = tmp_path.glob("splitscan-*/*")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_where_no_process_can_be_started(failure_with, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", failing(errno.EAGAIN))
    assert "it cannot be started: BlockingIOError" in failure_with()


def test_its_python_imports_what_ours_does_and_nothing_from_where_it_runs(failure_with, monkeypatch):
    started = []

    def fail(*_, **settings):
        started.append(settings["env"]["PYTHONPATH"].split(os.pathsep))
        raise OSError

    home = str(Path(splitscan.__file__).parents[1])
    monkeypatch.setattr(sys, "path", ["", home, "/another", home])
    monkeypatch.setattr(subprocess, "Popen", fail)
    failure_with()
    assert started == [[home, "/another"]]


def test_where_files_cannot_be_locked(failure_with, monkeypatch):
    monkeypatch.setattr("fcntl.flock", failing(errno.ENOLCK))
    assert "No locks available" in failure_with()
