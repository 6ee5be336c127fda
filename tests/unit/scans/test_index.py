"""Where records start in files that are far away, or long: what is right before each block tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import fsspec
import pytest

import splitscan as ss
from splitscan.scans import index as index_module
from splitscan.scans.index import Indexer, IndexTask, Summarised, index_here

ROWS = 20_000
LINES = "".join(f'{n},"first\nsecond, of ""{n}""",{"x" * (n % 90)}\n' for n in range(ROWS))
QUOTED = '0,"' + "1,2\n" * 300_000 + '"\n' + LINES  # longer than anybody looks back
PATH = "memory://planning/rows.csv"


@pytest.fixture
def put() -> Iterator[fsspec.AbstractFileSystem]:
    storage = fsspec.filesystem("memory")
    yield storage
    storage.rm("/planning", recursive=True)


@pytest.fixture
def summaries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many blocks were summarised, at each time; no index is kept."""
    monkeypatch.setenv("SPLITSCAN_CACHE", "/dev/null")
    return []


@pytest.fixture
def count_calls(summaries: list[int]) -> Indexer:
    """An indexer that tells how often it was asked."""

    def index(tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        summaries.append(len(tasks))
        return index_here(tasks)

    return index


@pytest.mark.parametrize(("text", "summarised"), [(LINES, 0), (QUOTED, 1)])
def test_a_file_that_is_far_away_is_summarised_only_if_it_must_be(
    text: str, summarised: int, put: fsspec.AbstractFileSystem, summaries: list[int], count_calls: Indexer
) -> None:
    put.pipe("/planning/rows.csv", text.encode())
    scan = ss.scan_csv(
        PATH, header=False, multiLine=True, escape='"', schema="id long, note string, more string", blockSize="64k"
    )
    blocks = scan.plan(count_calls)
    assert len(blocks) > 20
    assert len(summaries) == summarised
    table = scan.to_arrow()
    assert table.num_rows == scan.count() == ROWS + summarised
    assert table["id"].to_pylist()[summarised:] == list(range(ROWS))


@pytest.mark.parametrize(("most_bytes", "summarised"), [(len(LINES), 1), (len(LINES) - 1, 0)])
def test_a_long_file_at_hand_is_not_read_twice(
    most_bytes: int,
    summarised: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    summaries: list[int],
    count_calls: Indexer,
) -> None:
    monkeypatch.setattr(index_module, "LONGEST_READ_TWICE_BYTES", most_bytes)
    (tmp_path / "rows.csv").write_text(LINES)
    schema = "id long, note string, more string"
    scan = ss.scan_csv(str(tmp_path / "rows.csv"), schema, header=False, multiLine=True, escape='"', blockSize="64k")
    assert len(scan.plan(count_calls)) > 20
    assert len(summaries) == summarised
    assert scan.to_arrow()["id"].to_pylist() == list(range(ROWS))
