"""Files that do not say where they can be entered are looked through once, cut there, and not looked through again."""

import gzip
import io
import os
import random
import sys
from contextlib import closing

import lz4.frame
import pytest
from backports import zstd
from tests.cuts import some

import splitscan as ss
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.codecs.formats import CODECS
from splitscan.content.codecs.gzip import ZlibDecoder, index_gzip
from splitscan.content.codecs.source import CompressedSource
from splitscan.content.kept import SeekStore
from splitscan.content.storage import open_source
from splitscan.errors import UsageError
from splitscan.reading import boundaries
from splitscan.scans.cutting import describe_cut
from splitscan.scans.seek_index import IndexState, build_seek_index, keep_seek_index
from splitscan.testing.faults import MemorySource
from splitscan.testing.scan_laws import read_block

from ..content.codecs.bzip2_files import bzip2_stream, bzip2_streams
from ..reading.compressed_scans import CSV, LINES, SCANS, check_cuts, pieces_of

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def short_looks(monkeypatch):
    """Blocks begin far after the head of the file, as seen by who looks at what is right before them."""
    monkeypatch.setattr(boundaries, "LOOKS_BYTES", (40, 160))


def gzip_members(contents):
    return b"".join(map(gzip.compress, contents))


def lz4_frames(contents):
    return b"".join(lz4.frame.compress(content, store_size=False) for content in contents)


def zstd_streams(contents):
    frames = []
    for content in contents:
        compressor = zstd.ZstdCompressor()
        frames.append(compressor.compress(content) + compressor.flush())
    return b"".join(frames)


BZIP2 = {"one stream": bzip2_stream, "streams": bzip2_streams}
MEMBERS = {"gz": gzip_members, "lz4": lz4_frames, "zst": zstd_streams}


def settle(path, seconds=1_000_000_000):
    """Make a file so old that its fingerprint is believed."""
    os.utime(path, ns=(seconds * 10**9, seconds * 10**9))
    return str(path)


def never(*_args, **_kwargs):
    raise AssertionError("the file was looked through again")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "seek"


@pytest.mark.slow
@pytest.mark.parametrize("streams", BZIP2)
@pytest.mark.parametrize("name", SCANS)
def test_cuts_of_bzip2_give_what_one_reading_gives(tmp_path, name, streams):
    data, scan_of = SCANS[name]
    path = tmp_path / "a.bz2"
    path.write_bytes(BZIP2[streams](pieces_of(data, 211)))
    numbers = [check_cuts(scan_of, settle(path), len(data), size) for size in (1, 400, path.stat().st_size // 2)]
    assert numbers[0] == len(pieces_of(data, 211))  # every block of the container is one of the scan
    assert numbers[0] > max(numbers[1:]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["csv with newlines", "escaped lines", "UTF-16 lines", "json"])
def test_every_cut_of_bzip2_gives_what_one_reading_gives(tmp_path, name):
    data, scan_of = SCANS[name]
    data = data[: 700 if name != "json" else None]
    path = tmp_path / "a.bz2"
    path.write_bytes(bzip2_streams(pieces_of(data, 97)))
    for block_bytes in (*range(1, 40, 5), *range(40, path.stat().st_size, 83)):
        check_cuts(scan_of, settle(path), len(data), block_bytes)


EDGES = {
    "records end with blocks": [b"aaa\nbbb\n", b"ccc\n", b"ddd\neee\n"],
    "terminators begin blocks": [b"aaa", b"\nbbb", b"\n", b"ccc"],
    "a terminator over two blocks": [b"aaa\r", b"\nbbb\r", b"\r\nccc\r\n"],
    "blocks of empty records": [b"\n", b"\n\n", b"a", b"\n", b"\n"],
    "a record over many blocks": [b"a", b"b", b"c", b"d", b"\ne"],
}


@pytest.mark.slow
@pytest.mark.parametrize("streams", BZIP2)
@pytest.mark.parametrize("name", EDGES)
def test_records_at_the_edges_of_blocks_are_neither_lost_nor_doubled(tmp_path, name, streams):
    """Where Hadoop lost and doubled records: cuts at every byte of the marks, records that end where blocks do."""
    contents = EDGES[name]
    path = tmp_path / "a.bz2"
    path.write_bytes(BZIP2[streams](contents))
    for block_bytes in some(range(1, path.stat().st_size)):
        check_cuts(ss.scan_text, settle(path), len(b"".join(contents)), block_bytes)


def test_what_was_found_is_kept_and_believed_as_long_as_the_file_is_the_same(tmp_path, monkeypatch, cache):
    path = tmp_path / "a.bz2"
    path.write_bytes(bzip2_stream(pieces_of(LINES, 300)))
    plan = ss.scan_text(settle(path), block_size=200).plan()
    assert len(plan) > 2
    assert len(list(cache.glob("*.json"))) == 1
    monkeypatch.setattr("splitscan.content.kept.index_bzip2", never)
    assert ss.scan_text(str(path), block_size=200).plan() == plan
    assert len(ss.scan_text(str(path), block_size=300).plan()) > 1
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(AssertionError, match="looked through again"):
        ss.scan_text(settle(path), block_size=200).plan()


def test_what_is_not_as_it_was_written_is_not_believed(tmp_path, monkeypatch, cache):
    path = tmp_path / "a.bz2"
    path.write_bytes(bzip2_stream(pieces_of(LINES, 300)))
    ss.scan_text(settle(path), block_size=200).plan()
    (kept,) = cache.glob("*.json")
    kept.write_text(kept.read_text().replace("[0, 0, ", "[0, 1, "))
    monkeypatch.setattr("splitscan.content.kept.index_bzip2", never)
    with pytest.raises(AssertionError, match="looked through again"):
        ss.scan_text(str(path), block_size=200).plan()


def test_what_was_just_written_is_looked_through_but_not_kept(tmp_path, cache):
    path = tmp_path / "a.bz2"
    path.write_bytes(bzip2_stream(pieces_of(LINES, 300)))
    os.utime(path, (4_000_000_000, 4_000_000_000))  # as young as can be, however long the test takes
    assert len(ss.scan_text(str(path), block_size=200).plan()) > 2
    assert not list(cache.glob("*.json"))


def test_many_files_in_a_slow_codec_are_not_looked_through(tmp_path, monkeypatch):
    for i in range(5):
        (tmp_path / f"{i}.bz2").write_bytes(bzip2_stream(pieces_of(LINES, 300)))
    monkeypatch.setattr("splitscan.content.kept.index_bzip2", never)
    assert len(ss.scan_text(str(tmp_path / "*.bz2"), block_size=200).plan()) == 5
    assert ss.scan_text(str(tmp_path / "0.bz2"), block_size=200).count() == LINES.count(b"\n") + 1


def test_damage_is_for_the_reader_to_tell(tmp_path):
    path = tmp_path / "a.bz2"
    path.write_bytes(bzip2_stream(pieces_of(LINES, 300))[:-20])
    scan = ss.scan_text(settle(path), block_size=200)
    (block,) = scan.plan()
    with pytest.raises(ContainerError, match="breaks off"):
        read_block(scan, block)


@pytest.mark.parametrize("suffix", MEMBERS)
def test_whoever_reads_a_file_of_members_to_its_end_spares_the_next_scan(tmp_path, suffix):
    contents = pieces_of(CSV, 300)
    path = tmp_path / f"a.csv.{suffix}"
    path.write_bytes(MEMBERS[suffix](contents))
    scan_of = SCANS["csv with newlines"][1]
    scan = scan_of(settle(path), block_size=200)
    shares = scan.plan()
    assert not any(block.seek for block in shares)
    read_block(scan, shares[-1])
    assert check_cuts(scan_of, str(path), len(CSV), 1) == len(contents)
    assert check_cuts(scan_of, str(path), len(CSV), 400) > 2


RECORDS = b"".join(
    b'%d,"%s\n%s"\n' % (i, b"x" * (i % 50), random.Random(i).randbytes(9).hex().encode()) for i in range(6000)
)
INDEXED = {
    "csv with newlines": lambda path, **o: ss.scan_csv(path, "id string, name string", multiLine=True, escape='"', **o),
    "lines": lambda path, **options: ss.scan_text(path, escape="\\", **options),
    "fixed": SCANS["fixed"][1],
}


@pytest.mark.slow
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("name", INDEXED)
def test_cuts_inside_gzip_members_give_what_one_reading_gives(tmp_path, name, members):
    data = gzip_members(pieces_of(RECORDS, -(-len(RECORDS) // members)))
    path = tmp_path / "a.csv.gz"
    path.write_bytes(data)
    scan = INDEXED[name](settle(path))
    table = index_gzip(io.BytesIO(data), len(data), spacing_bytes=33_000)
    assert len(table.points) >= 5
    SeekStore().save(MemorySource(data), scan.files()[0], "gzip", table)
    for block_bytes in (1, 20_000, len(data) // 2):
        assert check_cuts(INDEXED[name], str(path), len(RECORDS), block_bytes) > 1


@pytest.mark.parametrize("with_isal", [True, False])
def test_a_gzip_member_is_entered_at_any_bit(monkeypatch, with_isal):
    chance = random.Random(3)
    content = b"".join(b"%d,%d\n" % (i, chance.randrange(10**9)) for i in range(150_000))
    data = gzip.compress(content, 6) + gzip.compress(b"small") + gzip.compress(content[:70_000], 0)
    content += b"small" + content[:70_000]
    table = index_gzip(io.BytesIO(data), len(data), spacing_bytes=33_000)
    assert table.content_bytes == len(content)
    assert {point.bit_offset % 8 for point in table.points} == set(range(8))
    if not with_isal:
        monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
        assert isinstance(CODECS["gzip"].make_decoder(), ZlibDecoder)
    for point in table.points:
        source = CompressedSource(MemorySource(data), CODECS["gzip"], point, max_ratio=10_000)
        assert source.read_at(point.content_offset, 40_000) == content[point.content_offset :][:40_000]
        assert source.read_at(len(content) - 3, 9) == content[-3:]
        assert source.read_at(0, 5) == content[:5]


@pytest.mark.parametrize("kept_bytes", [-8, -9, -5000])
def test_a_gzip_file_whose_checksum_is_wrong_has_no_seek_index(tmp_path, kept_bytes):
    data = gzip.compress(RECORDS)
    path = tmp_path / "a.gz"
    path.write_bytes(data[:kept_bytes] + b"?" + data[kept_bytes + 1 :])
    with closing(open_source(str(path), {})) as source, pytest.raises(ContainerError):
        build_seek_index(source, ss.scan_text(str(path)).files()[0], CODECS["gzip"], 10_000)


def test_the_library_that_makes_seek_indexes_of_gzip_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "indexed_gzip", None)
    with pytest.raises(UsageError, match="no-codec") as error:
        index_gzip(io.BytesIO(b""), 0)
    assert "splitscan[codecs]" in str(error.value)


@pytest.mark.parametrize(("suffix", "members"), [("gz", 1), ("lz4", 4), ("zst", 4), ("zst", 1), ("bz2", 4)])
def test_every_codec_has_its_way_of_being_looked_through(tmp_path, suffix, members):
    contents = pieces_of(LINES, -(-len(LINES) // members))
    path = tmp_path / f"a.{suffix}"
    path.write_bytes({**MEMBERS, "bz2": bzip2_stream}[suffix](contents))
    file = ss.scan_text(str(path)).files()[0]
    codec = next(codec for codec in CODECS.values() if f".{suffix}" in codec.extensions)
    with closing(open_source(str(path), {})) as source:
        table = build_seek_index(source, file, codec, 10_000)
    assert [point.content_offset for point in table.points] == [i * len(contents[0]) for i in range(members)]
    assert table.content_bytes == len(LINES)


def kept(path):
    scan = ss.scan_text(str(path))
    return keep_seek_index(scan.files()[0], scan.framing, scan.options.files)


def test_what_becomes_of_a_seek_index(tmp_path):
    contents = pieces_of(LINES, 300)
    for name, data in {
        "members.gz": gzip_members(contents),
        "one.gz": gzip.compress(LINES),
        "frames.zst": b"".join(map(zstd.compress, contents)),
        "one.zst": zstd.compress(LINES),
        "blocks.bz2": bzip2_stream(contents),
        "plain.txt": LINES,
    }.items():
        (tmp_path / name).write_bytes(data)
        settle(tmp_path / name)
    found = {path.name: kept(path) for path in tmp_path.glob("*.*")}
    many = len(contents)
    assert found == {
        "members.gz": ("gzip", many, len(LINES), IndexState.KEPT),
        "one.gz": ("gzip", 1, len(LINES), IndexState.NO_PLACE),
        "frames.zst": ("zstd", many, len(LINES), IndexState.IN_FILE),
        "one.zst": ("zstd", 1, len(LINES), IndexState.NO_PLACE),
        "blocks.bz2": ("bzip2", many, len(LINES), IndexState.KEPT),
        "plain.txt": ("", 1, len(LINES), IndexState.NOT_COMPRESSED),
    }
    assert kept(tmp_path / "blocks.bz2").state is IndexState.KEPT_BEFORE
    os.utime(tmp_path / "blocks.bz2", (4_000_000_000, 4_000_000_000))
    assert kept(tmp_path / "blocks.bz2").state is IndexState.UNSETTLED
    (tmp_path / "blocks.bz2").write_bytes(bzip2_stream(contents)[:-30])
    with pytest.raises(ContainerError, match="breaks off"):
        kept(tmp_path / "blocks.bz2")


def test_a_long_gzip_member_is_cut_inside_once_it_has_an_index(tmp_path):
    content = random.Random(0).randbytes(9 << 20).hex().encode()
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(content, 1))
    assert not any(block.seek for block in ss.scan_text(settle(path), block_size=1 << 20).plan())
    assert kept(path).state is IndexState.KEPT
    blocks = ss.scan_text(str(path), block_size=1 << 20).plan()
    assert len(blocks) > 3
    assert blocks[-1].seek.content_offset > len(content) // 2
    assert describe_cut(blocks[-1]).startswith("gzip: inside members, by a seek index, decompressed from byte ")
    assert describe_cut(blocks[0]) == "gzip: between members or blocks, decompressed from byte 0 of the file on"
