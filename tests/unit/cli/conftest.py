from types import SimpleNamespace

import pytest

from splitscan.cli import main, runs
from splitscan.jobs.part_writing import run_part
from splitscan.spark import ingest_runner

BASIC = b'id,name\n1,ada\n2,"grace\nhopper"\n3,\n'


@pytest.fixture
def run(capfd, monkeypatch):
    """Runs the command as a user does; returns exit code, standard output, standard error."""
    monkeypatch.delenv("SPLITSCAN_DEBUG", raising=False)

    def call(*args):
        code = main([str(arg) for arg in args])
        return (code, *capfd.readouterr())

    return call


@pytest.fixture
def basic(tmp_path):
    path = tmp_path / "basic.csv"
    path.write_bytes(BASIC)
    return path


@pytest.fixture
def source(tmp_path):
    """A directory of three files."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.csv").write_text(f"id,name\n{number},n\n")
    return folder


class InProcessRunner(ingest_runner.SparkRunner):
    """Does what Spark would do, here, once it has started a session."""

    @property
    def min_tasks(self):
        return 2 if self._spark else 0

    def run(self, write_part, target, parts):
        return [run_part(target, part, write_part) for part in parts] if self._spark else []


@pytest.fixture
def without_spark(monkeypatch):
    """Ingests run in this process. The list says when Spark would have been started."""
    started = []

    def start(master, conf):
        started.append(True)
        return SimpleNamespace(spark="here", log=None, close=lambda keep_log: None)

    monkeypatch.setattr(ingest_runner, "SparkRunner", InProcessRunner)
    monkeypatch.setattr(runs, "start_session", start)
    return started
