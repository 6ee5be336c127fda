import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counting import steps_of

from splitscan.blocks import FileMetadata
from splitscan.content.storage import opening
from splitscan.errors import UsageError
from splitscan.formats.text.lines import LineFormat
from splitscan.scans.cutting import split_file
from splitscan.testing import check_reader_law


def _file(size, name="a.csv"):
    return FileMetadata(f"/nowhere/{name}", size, 0, f"{size}-0", name)


def _ranges(blocks):
    return [(block.start, block.stop) for block in blocks]


@given(size=st.integers(0, 500), block_bytes=st.integers(1, 600))
def test_blocks_tile_the_file_without_gap_overlap_or_empty_block(size, block_bytes):
    blocks = list(split_file(_file(size), block_bytes))
    assert [block.index for block in blocks] == list(range(-(-size // block_bytes)))
    edges = [0, *(block.stop for block in blocks)]
    assert [block.start for block in blocks] == edges[:-1]
    assert edges[-1] == size
    assert all(1 <= block.length_bytes <= block_bytes for block in blocks)
    assert [block.is_last for block in blocks] == [False] * (len(blocks) - 1) + [True] * bool(blocks)


@pytest.mark.parametrize(
    ("size", "ranges"),
    [(0, []), (1, [(0, 1)]), (3, [(0, 3)]), (4, [(0, 4)]), (5, [(0, 4), (4, 5)]), (8, [(0, 4), (4, 8)])],
)
def test_an_exact_multiple_has_no_empty_block_behind_it(size, ranges):
    assert _ranges(split_file(_file(size), 4)) == ranges


def test_a_file_that_cannot_be_split_is_one_block():
    assert _ranges(split_file(_file(10), 4, splittable=False)) == [(0, 10)]
    assert _ranges(split_file(_file(0), 4, splittable=False)) == []


def test_twelve_small_files_are_72_blocks_of_two_bytes():
    files = [_file(11, f"file{number}.txt") for number in range(12)]
    assert sum(len(list(split_file(file, 2))) for file in files) == 72
    assert sum(len(list(split_file(file, 1000))) for file in files) == 12


def test_a_negative_length_is_refused_and_named():
    with pytest.raises(UsageError, match=r"where: /nowhere/a.csv"):
        split_file(_file(-1), 4)


@pytest.mark.parametrize("block_bytes", [0, -1])
def test_blocks_that_hold_nothing_are_refused_so_that_no_law_holds_for_want_of_blocks(block_bytes):
    with pytest.raises(UsageError, match=r"\[bad-option\]"):
        split_file(_file(10), block_bytes)
    with pytest.raises(UsageError, match=rf"block_bytes={block_bytes}"):
        check_reader_law(LineFormat(), b"a\nb\n", [block_bytes])


def test_no_file_is_opened(monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("planning opened a file")

    monkeypatch.setattr("builtins.open", forbidden)
    monkeypatch.setattr("os.open", forbidden)
    monkeypatch.setattr(opening, "LocalByteSource", forbidden)
    assert len(list(split_file(_file(10), 3))) == 4


def test_a_huge_file_costs_nothing_until_its_blocks_are_taken():
    first = next(split_file(_file(1 << 60), 1))
    assert (first.start, first.stop, first.is_last) == (0, 1, False)


@pytest.mark.slow
def test_a_million_blocks_are_planned_in_a_few_steps_each_and_in_flat_memory():
    size = 1_000_000 * (128 << 20)
    assert steps_of(lambda: list(split_file(_file(size // 100), 128 << 20))) < 20 * 10_000
    tracemalloc.start()
    try:
        for block in split_file(_file(size), 128 << 20):
            if block.index == 100_000:
                break
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_identities_differ_for_every_file_version_and_range():
    files = [_file(10), _file(10, "b.csv"), FileMetadata("/nowhere/a.csv", 10, 0, "10-1", "a.csv")]
    ids = [block.block_id for file in files for block in split_file(file, 3)]
    assert len(set(ids)) == len(ids) == 12
    assert all(0 <= identity < 1 << 63 for identity in ids)
    assert [block.block_id for file in files for block in split_file(file, 3)] == ids
