"""Blocks of bzip2 are found wherever their bits lie, proven by decompressing them; nothing else is taken for one."""

import bz2
import random

import pytest

from splitscan.content.codecs.bzip2 import Bzip2Blocks, find_block_magics, index_bzip2
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.codecs.formats import BZIP2
from splitscan.content.codecs.source import CompressedSource
from splitscan.testing.faults import MemorySource

from .bzip2_files import BLOCK, END, block_of, block_with_marks_inside, bzip2_stream, bzip2_streams, stream_of

CONTENTS = [b"%d," % i * (i % 13 + 1) for i in range(40)]
WHOLE = b"".join(CONTENTS)


def check_table(data, contents, part_bytes):
    table = index_bzip2(MemorySource(data), 2, part_bytes, max_ratio=10_000)
    starts = [0]
    for content in contents:
        starts.append(starts[-1] + len(content))
    assert [point.content_offset for point in table.points] == starts[:-1], part_bytes
    assert table.content_bytes == starts[-1]
    return table


@pytest.mark.slow
@pytest.mark.parametrize("write", [bzip2_stream, bzip2_streams])
def test_every_block_is_found_in_whatever_parts_the_file_is_looked_at(write):
    data = write(CONTENTS)
    assert bz2.decompress(data) == WHOLE
    for part_bytes in (1, 2, 7, 33, 61, 500, len(data) - 1, len(data)):
        check_table(data, CONTENTS, part_bytes)


@pytest.mark.parametrize("write", [bzip2_stream, bzip2_streams])
@pytest.mark.parametrize("step", [*(pytest.param(step, marks=pytest.mark.slow) for step in (1, 5)), 1 << 20])
def test_decompressing_begins_with_any_block(write, step):
    data = write(CONTENTS)
    table = check_table(data, CONTENTS, len(data))
    assert {point.bit_offset % 8 for point in table.points} == set(range(8))
    for point in table.points:
        source = CompressedSource(MemorySource(data), BZIP2, point, max_ratio=10_000)
        for offset in range(point.content_offset, min(point.content_offset + 5 * step, len(WHOLE)), step):
            assert source.read_at(offset, step) == WHOLE[offset : offset + step]
        assert source.read_at(len(WHOLE) - 3, 10) == WHOLE[-3:]


@pytest.mark.parametrize("marks", [[BLOCK], [END], [BLOCK, BLOCK, END, BLOCK]])
def test_a_mark_inside_a_block_begins_no_block(marks):
    """The marks lie in bits that code content: whoever believes them loses it, or reads it twice."""
    false, content = block_with_marks_inside(marks)
    contents = [b"before,1\n", content, b"behind,2\n", content, b"last\n"]
    blocks = [false if each is content else block_of(each) for each in contents]
    data = stream_of(blocks)
    assert bz2.decompress(data) == b"".join(contents)
    assert len(find_block_magics(b"\0" + data)) == len(contents) + 2 * marks.count(BLOCK)
    for part_bytes in (1, 9, 40, 100, 200, len(data)):
        table = check_table(data, contents, part_bytes)
    for point in table.points:
        source = CompressedSource(MemorySource(data), BZIP2, point, max_ratio=10_000)
        assert source.read_at(point.content_offset, 9999) == b"".join(contents)[point.content_offset :]


@pytest.mark.slow
def test_a_block_that_is_all_one_byte_and_files_of_large_blocks():
    content = bytes(9_000_000) + random.Random(0).randbytes(1_000_000) + b"x" * 500_000
    for level in (1, 9):
        data = bz2.compress(content, level)
        table = index_bzip2(MemorySource(data), 2, 100_000, max_ratio=10_000)
        assert table.content_bytes == len(content)
        assert len(table.points) > 1
        for point in table.points:
            source = CompressedSource(MemorySource(data), BZIP2, point, max_ratio=10_000)
            assert source.read_at(point.content_offset, 10) == content[point.content_offset :][:10]


@pytest.mark.parametrize("feed_bytes", [1, 3, 1000])
def test_any_delivery_gives_the_same_blocks(feed_bytes):
    data = bzip2_stream(CONTENTS)[4:]
    blocks, found, offsets = Bzip2Blocks(), [], []
    for start in range(0, len(data), feed_bytes):
        blocks.feed(data[start : start + feed_bytes])
        while (content := blocks.next_block()) is not None:
            found.append(content)
            offsets.append(blocks.bit_offset)
    assert found == CONTENTS
    assert blocks.eof
    assert sorted(set(offsets)) == offsets


@pytest.mark.slow
def test_no_flipped_bit_goes_unnoticed_and_a_file_that_breaks_off_has_no_table():
    data = bzip2_stream(CONTENTS)
    whole = check_table(data, CONTENTS, len(data))
    point = whole.points[3]
    chance = random.Random(0)
    tables = []
    for position in chance.sample(range(point.bit_offset // 8 + 1, len(data) - 12), 60):
        damaged = bytearray(data)
        damaged[position] ^= 1 << chance.randrange(8)
        tables.append(index_bzip2(MemorySource(bytes(damaged)), 2, 100, max_ratio=10_000))
        source = CompressedSource(MemorySource(bytes(damaged)), BZIP2, point, max_ratio=10_000)
        if tables[-1] == whole:  # a bit without a meaning
            assert source.read_at(point.content_offset, 1 << 20) == WHOLE[point.content_offset :]
        else:
            with pytest.raises(ContainerError):
                source.read_at(point.content_offset, 1 << 20)
    assert {table for table in tables if table != whole} == {None}
    for length in range(point.bit_offset // 8 + 1, len(data), 7):
        source = CompressedSource(MemorySource(data[:length]), BZIP2, point, max_ratio=10_000)
        with pytest.raises(ContainerError, match="breaks off"):
            source.read_at(point.content_offset, 1 << 20)
        assert index_bzip2(MemorySource(data[:length]), 1, max_ratio=10_000) is None


def test_a_bomb_is_not_looked_through(monkeypatch):
    """It is left to its reader, who tells."""
    monkeypatch.setattr("splitscan.content.codecs.content.JUDGED_BYTES", 1 << 18)
    data = bz2.compress(bytes(1 << 20), 1) + bzip2_stream(CONTENTS)
    assert index_bzip2(MemorySource(data), 2, max_ratio=1000) is None
    assert index_bzip2(MemorySource(data), 2, 100, max_ratio=1000) is None
    assert index_bzip2(MemorySource(data), 2, 100, max_ratio=1 << 40).content_bytes == (1 << 20) + len(WHOLE)


def test_a_block_that_is_not_where_it_was_is_an_error():
    data = bzip2_stream(CONTENTS)
    point = check_table(data, CONTENTS, len(data)).points[3]
    source = CompressedSource(
        MemorySource(data), BZIP2, point._replace(bit_offset=point.bit_offset + 1), max_ratio=10_000
    )
    with pytest.raises(ContainerError, match="no block of bzip2 begins"):
        source.read_at(point.content_offset, 1)


def test_zeros_behind_the_last_stream_belong_to_nobody_and_other_bytes_are_damage():
    data = bzip2_streams(CONTENTS)
    check_table(data + bytes(500), CONTENTS, 100)
    assert index_bzip2(MemorySource(data + b"more"), 2, 100, max_ratio=10_000) is None
