"""Into how many blocks a compressed file is cut, and where they start, by what is asked for."""

import gzip
import lzma
from itertools import pairwise
from random import Random

import pytest
from backports import zstd

import splitscan as ss
from splitscan.blocks import UNKNOWN_END
from splitscan.scans.cutting import BlockLengths, cut_file

from ..content.codecs.bzip2_files import bzip2_streams

MEMBERS = [Random(length).randbytes(length) for length in (300, 20, 450, 5, 120, 700, 90, 310, 40, 610)]
CONTENT = b"".join(MEMBERS)
FRAMES = [zstd.compress(member) for member in MEMBERS]
FILES = {
    "gzip": gzip.compress(CONTENT),
    "xz": lzma.compress(CONTENT),
    "zstd frames": b"".join(FRAMES),
    "bzip2": bzip2_streams(MEMBERS),
}


@pytest.fixture
def cut(tmp_path):
    """Cuts one of the files: the bounds of its blocks."""

    def bounds(name, lengths, *, most_shares=4, **options):
        path = tmp_path / "a.txt"
        path.write_bytes(FILES[name])
        scan = ss.scan_text(str(path))
        (file,) = scan.files()
        blocks = cut_file(file, lengths, scan.framing, scan.options.files, most_shares, **options)
        return [(block.start, block.stop) for block in blocks]

    return bounds


def whole(name):
    return [(0, len(FILES[name]))]


@pytest.mark.parametrize("name", FILES)
def test_no_compressed_file_is_cut_where_no_shares_are_allowed(cut, name):
    assert cut(name, BlockLengths(500), most_shares=0) == whole(name)


@pytest.mark.parametrize("name", FILES)
def test_a_compressed_file_that_is_to_be_left_whole_is_one_block(cut, name):
    assert cut(name, BlockLengths(10_000, piece_bytes=500, whole_bytes=len(FILES[name]))) == whole(name)


@pytest.mark.parametrize("most_shares", [2, 4])
def test_a_long_bzip2_file_is_cut_between_its_blocks(cut, most_shares):
    blocks = cut("bzip2", BlockLengths(500), most_shares=most_shares)
    starts = [sum(map(len, MEMBERS[:number])) for number in range(len(MEMBERS))]
    assert len(blocks) > 4
    assert {start for start, _ in blocks} <= set(starts)
    assert [blocks[0][0], *(stop for _, stop in blocks)] == [*(start for start, _ in blocks), len(CONTENT)]


@pytest.mark.parametrize(
    ("lengths", "options"),
    [
        (BlockLengths(500), {"most_shares": 1}),
        (BlockLengths(500), {"may_index": False}),
        (BlockLengths(10_000, piece_bytes=500), {}),  # shorter than a block
    ],
)
def test_a_bzip2_file_is_decompressed_to_find_its_blocks_only_where_that_is_worth_it(cut, lengths, options):
    assert cut("bzip2", lengths, **options) == whole("bzip2")


@pytest.mark.parametrize("most_shares", [1, 2, 3, 4])
def test_one_stream_is_cut_into_no_more_shares_than_allowed(cut, most_shares):
    blocks = cut("gzip", BlockLengths(500), most_shares=most_shares)
    assert len(blocks) == most_shares
    assert blocks == whole("gzip") or blocks[-1][1] == UNKNOWN_END


def test_one_stream_of_a_slow_codec_is_one_block(cut):
    assert cut("xz", BlockLengths(500)) == whole("xz")


@pytest.mark.parametrize("block_bytes", [300, 500, 900])
def test_a_block_starts_with_the_first_member_at_or_after_each_multiple_of_its_length(cut, block_bytes):
    in_file = [sum(map(len, FRAMES[:number])) for number in range(len(FRAMES))]
    in_content = [sum(map(len, MEMBERS[:number])) for number in range(len(MEMBERS))]
    firsts = {
        next((number for number, offset in enumerate(in_file) if offset >= edge), None)
        for edge in range(0, len(FILES["zstd frames"]), block_bytes)
    } - {None}
    starts = [in_content[number] for number in sorted(firsts)]
    assert cut("zstd frames", BlockLengths(block_bytes)) == list(pairwise([*starts, len(CONTENT)]))
