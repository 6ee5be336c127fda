"""Where records start in files that are far away, or long: what is right before each block tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import fsspec
import pytest

import splitscan as ss
from splitscan.scan import planning
from splitscan.scan.planning import IndexTask, Summarised, index_here

ROWS = 20_000
LINES = "".join(f'{n},"first\nsecond, of ""{n}""",{"x" * (n % 90)}\n' for n in range(ROWS))
QUOTED = '0,"' + "1,2\n" * 300_000 + '"\n' + LINES  # longer than anybody looks back
PATH = "memory://planning/rows.csv"


@pytest.fixture
def put() -> Iterator[fsspec.AbstractFileSystem]:
    storage = fsspec.filesystem("memory")
    yield storage
    storage.rm("/planning", recursive=True)


@pytest.mark.parametrize(("text", "summarised"), [(LINES, 0), (QUOTED, 1)])
def test_a_file_that_is_far_away_is_summarised_only_if_it_must_be(
    text: str, summarised: int, put: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPLITSCAN_CACHE", "/dev/null")
    put.pipe("/planning/rows.csv", text.encode())
    asked = []

    def indexer(tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        asked.append(len(tasks))
        return index_here(tasks)

    scan = ss.scan_csv(
        PATH, header=False, multiLine=True, escape='"', schema="id long, note string, more string", blockSize="64k"
    )
    blocks = scan.plan(indexer)
    assert len(blocks) > 20
    assert len(asked) == summarised
    table = scan.to_arrow()
    assert table.num_rows == scan.count() == ROWS + summarised
    assert table["id"].to_pylist()[summarised:] == list(range(ROWS))


@pytest.mark.parametrize(("most_bytes", "summarised"), [(len(LINES), 1), (len(LINES) - 1, 0)])
def test_a_long_file_at_hand_is_not_read_twice(
    most_bytes: int, summarised: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPLITSCAN_CACHE", "/dev/null")
    monkeypatch.setattr(planning, "_LONGEST_READ_TWICE_BYTES", most_bytes)
    (tmp_path / "rows.csv").write_text(LINES)
    asked = []

    def indexer(tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        asked.append(len(tasks))
        return index_here(tasks)

    schema = "id long, note string, more string"
    scan = ss.scan_csv(str(tmp_path / "rows.csv"), schema, header=False, multiLine=True, escape='"', blockSize="64k")
    assert len(scan.plan(indexer)) > 20
    assert len(asked) == summarised
    assert scan.to_arrow()["id"].to_pylist() == list(range(ROWS))
