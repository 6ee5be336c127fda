"""A small ingest without Spark: the same steps, tasks run one after the other in this process."""

import json
import time
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from splitscan.api.files import Scan
from splitscan.content.storage.destination import LocalStorage
from splitscan.errors import IngestError
from splitscan.jobs.division import Runner
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, run_ingest

ROWS = 100


class InProcessRunner(Runner):
    """Runs parts in this process. Remembers the blocks that it opened; may stop after some, or spoil a report."""

    min_tasks = 2

    def __init__(self, stop_after=None, spoil=None):
        self.opened = []
        self.cancelled = False
        self._stop_after = stop_after
        self._spoil = spoil

    def run(self, write_part, target, parts):
        def write(writer, part):
            write_part(writer, replace(part, blocks=self._opening(part.blocks)))

        reports = super().run(write, target, parts)
        return reports if self._spoil is None else self._spoil(reports)

    def _opening(self, blocks):
        for file_index, block in blocks:
            if len(self.opened) == self._stop_after:
                raise IngestError("the power failed")
            self.opened.append((block.file.name, block.index))
            yield file_index, block

    def cancel(self):
        self.cancelled = True


@pytest.fixture
def make_scan(tmp_path):
    """Write CSV files with newlines in quotes and scan them; ``bad`` records per file have a field too few."""

    def make(names=("a", "b"), rows=ROWS, bad=0, block="600", schema="id long, text string", **options):
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        for name in names:
            path = folder / f"{name}.csv"
            if not path.exists():
                lines = ["id,text"] + [f'{i},"{name} line\nof {i}"' for i in range(rows)] + ["oops"] * bad
                path.write_text("\n".join(lines) + "\n")
        given = {
            "header": True,
            "multiLine": True,
            "blockSize": block,
            "taskSize": "1500",
            "openCostInBytes": 0,
            **options,
        }
        return Scan.of(str(folder), "csv", schema, given)

    return make


@pytest.fixture
def run():
    """Ingest in this process."""

    def call(scan, destination, runner=None, on_progress=None, destination_options=None, **settings):
        target = IngestTarget(destination, IngestSettings(**settings), destination_options, on_progress)
        return run_ingest(FileSource(scan), target, runner or InProcessRunner())

    return call


@pytest.fixture
def runner():
    """The class of the runner, for tests that look inside."""
    return InProcessRunner


@pytest.fixture
def kill_before_position(monkeypatch):
    """Die between the commit of a window and the position of the watch, while the context lasts."""

    @contextmanager
    def until(window):
        write = LocalStorage.write_bytes_atomic

        def killed(storage, name, data):
            if name.endswith("/position.json") and json.loads(data)["offset"]["w"] == window:
                raise KeyboardInterrupt
            write(storage, name, data)

        with monkeypatch.context() as patch:
            patch.setattr(LocalStorage, "write_bytes_atomic", killed)
            with pytest.raises(KeyboardInterrupt):
                yield

    return until


class SlowRunner(InProcessRunner):
    """Runs parts whose rows arrive slowly."""

    def run(self, write_part, target, parts):
        def write_slowly(writer, part):
            write = writer.write

            def later(batch, passed_bytes):
                time.sleep(0.2)
                write(batch, passed_bytes)

            writer.write = later
            write_part(writer, part)

        return super().run(write_slowly, target, parts)


@pytest.fixture
def seen():
    """Everything a reader can see of a destination: names and bytes of all files that are not hidden."""

    def look(folder):
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and "/." not in f"/{path.relative_to(folder)}" and "staging" not in path.parts
        }

    return look


@pytest.fixture
def ledger_lines():
    """The lines of a destination's first ledger as JSON."""

    def read(folder):
        text = (folder / "_splitscan/ledger/00000001.jsonl").read_text()
        return SimpleNamespace(text=text, values=[json.loads(line) for line in text.splitlines()])

    return read
