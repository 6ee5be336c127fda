import re
from dataclasses import replace

import pytest

from splitscan.errors import InvariantError
from splitscan.jobs.division import check_matches_plan, check_tiling, row_faults, tiling_faults
from splitscan.jobs.ledger import LedgerBlock, LedgerFile, RowRange, WrittenFile

FILE = LedgerFile(0, "/in/a.csv", "30-0", 30, 0)


def block(index, span_start, span_stop, rows=0):
    data = (RowRange(f"p{index}.parquet", 0, rows),) if rows else ()
    return LedgerBlock(0, index, 10 * index, 10 * index + 10, span_start, span_stop, rows, 0, "", data)


GOOD = [block(0, 0, 12, 3), block(1, 12, 21, 2), block(2, 21, 30, 1)]


def check(blocks):
    ranges = {rows for b in blocks for rows in b.data}
    check_tiling([FILE], blocks, [WrittenFile(rows.name, 1, rows.stop, "0" * 64) for rows in ranges])
    check_matches_plan(((0, b.index, b.start, b.stop) for b in GOOD), blocks)


@pytest.mark.parametrize(
    "blocks",
    [
        GOOD,
        GOOD[::-1],
        [block(0, 0, 30, 1), block(1, 30, 30), block(2, 30, 30)],  # one record over all blocks
        [block(0, 0, 25, 1), block(1, 25, 25), block(2, 25, 30, 1)],  # one record over a whole block
    ],
)
def test_spans_that_tile_the_file_are_accepted_in_any_order(blocks):
    check(blocks)


MUTANTS = {
    "a gap between two blocks": [GOOD[0], replace(GOOD[1], span_start=13), GOOD[2]],
    "an overlap of two blocks": [replace(GOOD[0], span_stop=13), *GOOD[1:]],
    "a whole span read twice": [GOOD[0], replace(GOOD[1], span_stop=30), GOOD[2]],
    "the first byte is missing": [replace(GOOD[0], span_start=1), *GOOD[1:]],
    "the last byte is missing": [*GOOD[:2], replace(GOOD[2], span_stop=29)],
    "one byte too many": [*GOOD[:2], replace(GOOD[2], span_stop=31)],
    "the first block is missing": GOOD[1:],
    "a block in the middle is missing": [GOOD[0], GOOD[2]],
    "the last block is missing": GOOD[:2],
    "a block is missing and its neighbour covers for it": [replace(GOOD[0], span_stop=21), GOOD[2]],
    "no block at all": [],
    "a block twice": [GOOD[0], GOOD[1], GOOD[1], GOOD[2]],
    "a range is longer than planned": [replace(GOOD[0], stop=11), replace(GOOD[1], start=11), GOOD[2]],
    "a span runs backwards": [GOOD[0], replace(GOOD[1], span_stop=11), GOOD[2]],
    "a record that belongs to the block before": [
        replace(GOOD[0], span_stop=9), replace(GOOD[1], span_start=9), GOOD[2],
    ],
    "a record that belongs to the block after": [
        replace(GOOD[0], span_stop=20), replace(GOOD[1], span_start=20), GOOD[2],
    ],
    "a block of another file": [GOOD[0], replace(GOOD[1], file_index=1), GOOD[2]],
    "rows without a data file": [GOOD[0], replace(GOOD[1], data=()), GOOD[2]],
    "a data file without rows": [GOOD[0], replace(GOOD[1], rows=0), GOOD[2]],
    "another number of rows in the data file": [GOOD[0], replace(GOOD[1], rows=7), GOOD[2]],
}  # fmt: skip


@pytest.mark.parametrize("blocks", MUTANTS.values(), ids=MUTANTS.keys())
def test_every_way_of_not_accounting_for_a_byte_is_caught(blocks):
    with pytest.raises(InvariantError) as caught:
        check(blocks)
    assert caught.value.reason_code == "not-accounted"


def test_the_message_says_which_bytes_are_missing_from_which_file():
    with pytest.raises(InvariantError) as caught:
        check(MUTANTS["a gap between two blocks"])
    assert "where: /in/a.csv" in str(caught.value)
    assert "bytes [12, 13) were read by no block" in str(caught.value)


def test_the_message_says_which_bytes_were_read_twice():
    assert "bytes [12, 13) were read twice" in list(tiling_faults(FILE, MUTANTS["an overlap of two blocks"]))


def test_an_empty_file_is_tiled_by_no_block():
    check_tiling([LedgerFile(0, "/in/empty", "0-0", 0, 0)], [], [])


def test_a_block_that_was_not_planned_is_caught():
    with pytest.raises(InvariantError, match="not planned"):
        check_matches_plan([], GOOD[:1])


def test_blocks_that_did_not_report_are_counted_and_the_first_is_named():
    with pytest.raises(InvariantError, match=r"2 blocks did not report, the first is block 1 of file 0: \[10, 20\)"):
        check_matches_plan([(0, b.index, b.start, b.stop) for b in GOOD], GOOD[:1])


PARQUET = [WrittenFile("p.parquet", 100, 6, "0" * 64)]


def placed(*ranges, name="p.parquet"):
    return [
        LedgerBlock(0, index, 0, 1, 0, 1, stop - start, 0, "", (RowRange(name, start, stop),))
        for index, (start, stop) in enumerate(ranges)
    ]


def test_rows_that_tile_their_file_are_accepted_in_any_order():
    assert list(row_faults(PARQUET, placed((3, 6), (0, 1), (1, 3)))) == []
    assert list(row_faults([WrittenFile("empty.parquet", 10, 0, "0" * 64)], [])) == []


def test_rows_that_no_block_wrote_stop_a_job():
    with pytest.raises(InvariantError, match="belong to no block") as caught:
        check_tiling([], [], PARQUET)
    assert "where: p.parquet" in str(caught.value)


@pytest.mark.parametrize(
    ("blocks", "fault"),
    [
        (placed((0, 3), (4, 6)), r"rows \[3, 4\) belong to no block"),
        (placed((0, 3), (2, 6)), r"rows \[2, 6\) belong to another block too"),
        (placed((0, 3), (0, 3), (3, 6)), r"rows \[0, 3\) belong to another block too"),
        (placed((1, 6)), r"rows \[0, 1\) belong to no block"),
        (placed((0, 5)), r"rows \[5, 6\) belong to no block"),
        (placed((0, 7)), r"rows \[6, 7\) were not written"),
        ([], r"rows \[0, 6\) belong to no block"),
        (placed((0, 6)) + placed((0, 1), name="q.parquet"), "does not say that this file was written"),
    ],
)
def test_every_row_that_no_block_or_two_blocks_wrote_is_found(blocks, fault):
    found = list(row_faults(PARQUET, blocks))
    assert len(found) == 1
    assert re.search(fault, found[0][1])
