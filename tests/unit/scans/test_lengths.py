"""How long blocks are: a compressed file counts by what it holds, where blocks are cut finely."""

import gzip
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import splitscan as ss
from splitscan.content.codecs.content import ContentStream
from splitscan.reading.block_scan import scan_blocks
from splitscan.scans import fill_index
from splitscan.scans.cutting import MOST_SHARES, BlockLengths, cut_files, describe_cut
from splitscan.sizes import MIB

from .test_members import CONTAINERS, SUFFIXES, pieces_of

SCHEMA = "id long, name string"
EASY = b"".join(b'%d,"%s\n"\n' % (i, b"x" * 90) for i in range(400))
HARD = b"".join(b'%d,"%s\n"\n' % (i, Random(i).randbytes(45).hex().encode()) for i in range(400))
FINE = BlockLengths(MIB, 8000, 100)


def scan_of(path, **options):
    return ss.scan_csv(str(path), SCHEMA, multiLine=True, escape='"', **options)


def cut(scan, lengths=FINE):
    blocks = cut_files(scan.files(), lengths, scan.framing, scan.options.files)
    return list(fill_index(blocks, scan.framing, scan.options))


def rows_of(scan, blocks):
    return [row for batch in scan_blocks(scan.spec, blocks) for row in batch.to_pylist()]


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", CONTAINERS)
def test_members_are_cut_into_even_pieces_of_what_they_hold(tmp_path, kind):
    codec, write = CONTAINERS[kind]
    path = tmp_path / f"a.csv.{SUFFIXES[codec]}"
    path.write_bytes(write(pieces_of(EASY + HARD, 1000)))
    scan = scan_of(path)
    assert len(list(scan.blocks())) == 1  # shorter than a block
    blocks = cut(scan)
    pieces = -(-len(EASY + HARD) // 8000)
    assert len(blocks) == pieces
    assert max(block.length_bytes for block in blocks) <= 8000 + 1000
    expected = scan.to_arrow().to_pylist()
    assert rows_of(scan, blocks) == expected
    assert [row for block in blocks for row in rows_of(scan, [block])] == expected


def test_one_stream_is_shared_out_by_what_it_holds(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(EASY + HARD))
    scan = scan_of(path)
    blocks = cut(scan)
    assert len(blocks) == MOST_SHARES
    assert {describe_cut(block) for block in blocks} == {"gzip: one stream, decompressed by each of its tasks"}
    assert rows_of(scan, blocks) == scan.to_arrow().to_pylist()
    assert len(cut(scan, BlockLengths(MIB, len(EASY + HARD), 100))) == 1
    assert len(cut(scan, BlockLengths(MIB, len(EASY + HARD) - 1, 100))) == 2


def test_shares_that_follow_each_other_are_decompressed_once(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(EASY + HARD))
    scan = scan_of(path)
    blocks, begun = cut(scan), []
    begin = ContentStream.__init__

    def count(stream, *arguments, **options):
        begun.append(stream)
        begin(stream, *arguments, **options)

    monkeypatch.setattr(ContentStream, "__init__", count)
    assert len(rows_of(scan, blocks)) == 800
    assert len(begun) == 1
    begun.clear()
    rows_of(scan, [blocks[0], blocks[2]])  # not neighbours
    assert len(begun) == 2


def test_short_files_are_looked_into_only_where_their_name_says_that_they_are_compressed(tmp_path):
    data = gzip.compress(EASY)
    for name in ("a.csv.gz", "b.csv"):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "c.csv.gz").write_bytes(b"1,\n2,\n")  # text, whatever its name is
    shares = {block.file.name: 0 for block in cut(scan_of(tmp_path))}
    for block in cut(scan_of(tmp_path)):
        shares[block.file.name] += 1
    assert shares == {"a.csv.gz": MOST_SHARES, "b.csv": 1, "c.csv.gz": 1}
    told = scan_of(tmp_path / "b.csv", source_compression="gzip")
    assert len(cut(told)) == MOST_SHARES
    assert len(cut(told, BlockLengths(MIB, 8000, len(data)))) == 1  # too short to hold much


def test_a_scan_that_is_cut_finely_shares_out_a_compressed_file_that_is_shorter_than_a_block(tmp_path):
    path = tmp_path / "a.csv.gz"
    content = HARD * 700
    path.write_bytes(gzip.compress(content, 1))
    assert len(content) > 24 * MIB  # more than three pieces
    assert path.stat().st_size < scan_of(path).options.files.block_bytes
    blocks = list(scan_of(path).cut_fine().blocks())
    assert [block.stop for block in blocks[:-1]] == pytest.approx(
        FINE.share_bounds(len(content), MOST_SHARES), rel=0.05
    )
    assert [len(task) for task in scan_of(path).cut_fine().tasks(blocks, 2)] == [2, 2]
    assert len(list(scan_of(path, where="file_block_start >= 0").cut_fine().blocks())) == 1  # as blockSize says


@given(
    lengths=st.sampled_from([FINE, BlockLengths(MIB)]),
    content_bytes=st.integers(0, 1 << 45),
    shares=st.integers(1, MOST_SHARES),
)
def test_later_shares_are_shorter(lengths, content_bytes, shares):
    bounds = [0, *lengths.share_bounds(content_bytes, shares), content_bytes]
    assert bounds == sorted(bounds)
    found = [stop - start for start, stop in pairwise(bounds)]
    assert all(left + 1 >= right for left, right in pairwise(found)) or content_bytes < 10
    assert len(found) == shares or content_bytes < 10


@given(block_bytes=st.integers(1, 1 << 40), total_bytes=st.integers(0, 1 << 60), size_bytes=st.integers(1, 1 << 50))
def test_pieces_are_never_longer_than_blocks(block_bytes, total_bytes, size_bytes):
    lengths = BlockLengths.fine(block_bytes, total_bytes)
    plain = lengths.of_plain(size_bytes)
    assert 1 <= plain <= block_bytes
    assert lengths.piece_bytes is None or min(8 * MIB, size_bytes) // 2 <= plain <= lengths.piece_bytes
    assert not lengths.keeps_compressed(block_bytes + 1)
