"""Blocks share Parquet files: which, where their rows are, and what a run of another size makes of it."""

from collections import Counter

import pyarrow.parquet as pq
import pytest

from splitscan.api.files import Scan
from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import IngestError
from splitscan.jobs import verify
from splitscan.jobs.ledger_files import ledger_name, parse_ledger
from splitscan.jobs.staging import OutputPart, plan_parts


def ledger_of(out, number=1):
    return parse_ledger((out / ledger_name(number)).read_bytes(), "x")


@pytest.fixture
def many(tmp_path):
    """A thousand files of one record each, and one that is broken."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(1000):
        (folder / f"{number:04d}.csv").write_text(f"{number},text\n" if number != 500 else "oops\n")
    return lambda **options: Scan.of(str(folder), "csv", "id long, text string", options)


@pytest.mark.slow
def test_many_small_files_become_few_parquet_files(tmp_path, many, run):
    report = run(many(), tmp_path / "out")
    assert (report.files, report.blocks, report.rows, report.rejects) == (1000, 1000, 1000, 1)
    assert report.data_files == len(list((tmp_path / "out").glob("*.parquet"))) == 2  # two cores
    whole = run(many(openCostInBytes=0, taskSize="1m"), tmp_path / "whole")
    assert whole.data_files == 2  # two cores
    assert len(list((tmp_path / "whole/_splitscan/rejects").iterdir())) == 1
    assert verify(tmp_path / "out", deep=True).ok


@pytest.mark.slow
def test_the_blocks_of_a_part_share_row_groups(tmp_path, many, run):
    run(many(openCostInBytes=0, taskSize="1m"), tmp_path / "out")
    groups = [pq.read_metadata(path).num_row_groups for path in (tmp_path / "out").glob("*.parquet")]
    assert groups == [1, 1]


def test_the_ledger_says_which_rows_are_whose(tmp_path, make_scan, run):
    run(make_scan(bad=2), tmp_path / "out")
    ledger = ledger_of(tmp_path / "out")
    assert max(Counter(rows.name for block in ledger.blocks for rows in block.data).values()) > 1
    for block in ledger.blocks:
        (data,) = block.data
        rows = pq.read_table(tmp_path / "out" / data.name).slice(data.start, block.rows)
        name = "ab"[block.file_index]
        assert {text.split()[0] for text in rows["text"].to_pylist() if text} == {name}
        if block.reject_table is not None:
            table = pq.read_table(tmp_path / "out" / block.reject_table.name)
            mine = table.slice(block.reject_table.start, block.rejects)
            assert all(block.start <= offset < block.stop for offset in mine["offset"].to_pylist())
            assert {path[-5] for path in mine["path"].to_pylist()} == {name}


def test_a_run_on_a_cluster_of_another_size_keeps_what_was_finished(tmp_path, make_scan, run, runner):
    first, second = runner(stop_after=5), runner()
    with pytest.raises(IngestError, match="the power failed"):
        run(make_scan(rows=300), tmp_path / "out", first)
    second.min_tasks = 100  # of which each would get a block: parts of two blocks cannot come again
    report = run(make_scan(rows=300, taskSize="600"), tmp_path / "out", second)
    assert report.blocks_resumed == 4
    assert not set(first.opened[:4]) & set(second.opened)
    sizes = Counter(block.data[0].name for block in ledger_of(tmp_path / "out").blocks)
    assert sorted(sizes.values())[-3:] == [1, 2, 2]
    assert report.rows == 600
    assert verify(tmp_path / "out", deep=True).ok


def test_where_finished_parts_overlap_each_block_counts_once(tmp_path, make_scan, run, runner):
    """A task of a driver that died may finish long after; by then another run has shared the blocks out again."""

    def fail(reports):
        raise IngestError("the power failed")

    for size in ("600", "1500"):
        with pytest.raises(IngestError):
            run(make_scan(rows=300, taskSize=size), tmp_path / "out", runner(spoil=fail))
        if size == "600":  # the other run does not see what this one has done
            (tmp_path / ".out.splitscan").rename(tmp_path / "kept")
    for report in (tmp_path / "kept").glob("*/reports/*/*.json"):
        target = tmp_path / ".out.splitscan" / report.relative_to(tmp_path / "kept")
        target.parent.mkdir(parents=True, exist_ok=True)
        report.rename(target)
    for file in (tmp_path / "kept").glob("*/files/*.parquet"):
        file.rename(tmp_path / ".out.splitscan" / file.relative_to(tmp_path / "kept"))
    again = runner()
    report = run(make_scan(rows=300), tmp_path / "out", again)
    assert again.opened == []
    assert (report.blocks_resumed, report.rows) == (report.blocks, 600)
    assert verify(tmp_path / "out", deep=True).ok


# ------------------------------------------------------------------ planning them


def plan(count):
    file = FileMetadata("/in/a.csv", count, 0, "1", "a.csv")
    return {(0, index): BlockMetadata(file, index, index + 1, index) for index in range(count)}


def numbers(parts):
    return [[block.index for _, block in part.blocks] for part in parts]


def test_what_is_done_cuts_parts_in_pieces():
    blocks = plan(9)
    tasks = [list(blocks.values())[start : start + 3] for start in (0, 3, 6)]
    assert numbers(plan_parts(blocks, tasks, ())) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    parts = plan_parts(blocks, tasks, {(0, 1), (0, 3), (0, 4), (0, 5), (0, 6)})
    assert numbers(parts) == [[0], [2], [7, 8]]
    assert [part.number for part in parts] == [0, 2, 7]
    assert plan_parts(blocks, tasks, set(blocks)) == []


def test_a_part_has_the_same_name_whatever_else_is_done():
    blocks = plan(4)
    tasks = [list(blocks.values())[:2], list(blocks.values())[2:]]
    first, second = plan_parts(blocks, tasks, ())
    assert plan_parts(blocks, tasks, {(0, 0), (0, 1)}) == [second]
    assert len({first.name, second.name, OutputPart(0, second.blocks[:1]).name}) == 3
