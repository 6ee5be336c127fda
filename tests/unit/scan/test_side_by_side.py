"""Work beside helping processes: complete and in order, whoever does it, and whoever dies meanwhile."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import loky
import pytest

from splitscan.blocks import BlockMetadata, Compression, FileMetadata
from splitscan.errors import SourceMissingError, Where
from splitscan.scan import side_by_side
from splitscan.scan.side_by_side import beside_helpers, in_processes
from splitscan.sizes import MIB

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 120


@pytest.fixture(autouse=True)
def helpers_of_its_own() -> Iterator[None]:
    """That a helper died is found out later, maybe by the next who wants one."""
    yield
    loky.get_reusable_executor(max_workers=1).shutdown(wait=True, kill_workers=True)


class Work:
    """Squares numbers; the first only when a helper has begun one, which may be its end.

    Args:
        mark: A file that a helper makes.
        dies: Whether helpers die.
        bad: A number that is an error.
    """

    def __init__(self, mark: Path, *, dies: bool = False, bad: int | None = None) -> None:
        self._mark, self._dies, self._bad = mark, dies, bad
        self._home = os.getpid()

    def __call__(self, item: int) -> int:
        if os.getpid() != self._home:
            self._mark.touch()
            if self._dies:
                os._exit(1)
        elif item == 0:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not self._mark.exists():
                assert time.monotonic() < deadline, "no helper came"
                time.sleep(0.01)
        if item == self._bad:
            raise SourceMissingError("no such number", Where(f"/numbers/{item}"))
        return item * item


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("count", [2, 40])
def test_the_results_come_in_order_whoever_finds_them(count: int, dies: bool, tmp_path: Path) -> None:
    squares = list(in_processes(Work(tmp_path / "mark", dies=dies), range(count), 1))
    assert squares == [item * item for item in range(count)]
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize("bad", [0, 11])
def test_an_error_is_that_of_the_item_wherever_it_is_met(bad: int, tmp_path: Path) -> None:
    found = []
    with pytest.raises(SourceMissingError, match="no such number") as caught:
        found.extend(in_processes(Work(tmp_path / "mark", bad=bad), range(12), 1))
    assert caught.value.where == Where(f"/numbers/{bad}")
    assert len(found) <= bad


def test_what_cannot_be_sent_is_done_here() -> None:
    items = [threading.Lock() for _ in range(5)]
    assert list(in_processes(type, items, 1)) == [type(item) for item in items]


def test_without_new_processes_everything_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoRoom:
        def submit(self, *_: object) -> None:
            raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(loky, "get_reusable_executor", lambda **_: NoRoom())
    assert list(in_processes(abs, range(-5, 0), 1)) == [5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("path", "compression", "mib", "helpers"),
    [
        ("/in/a.csv", None, 127, 0),
        ("/in/a.csv", None, 128, 1),
        ("/in/a.csv", None, 5 * 128, 3),
        ("s3://bucket/a.csv", None, 1000, 0),
        ("/in/a.csv.gz", Compression("gzip"), 1000, 0),
    ],
)
def test_helpers_are_called_for_many_bytes_that_are_at_hand(
    path: str, compression: Compression | None, mib: int, helpers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = mib * MIB
    block = BlockMetadata(FileMetadata(path, size, 0, "1", path, compression=compression), 0, size, 0)
    called = []
    monkeypatch.setattr(side_by_side, "cores", lambda: 4)
    monkeypatch.setattr(side_by_side, "in_processes", lambda work, items, helpers: called.append(helpers) or iter(()))
    list(beside_helpers(abs, [1], [block]))
    assert called == [helpers] * bool(helpers)
