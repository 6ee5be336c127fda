"""A container that says where its members begin is cut between them, wherever the cuts fall, exactly."""

import gzip
import struct
import zlib
from itertools import pairwise

import lz4.frame
import pytest
from backports import zstd

import splitscan as ss
from splitscan.codecs.formats import CODECS
from splitscan.codecs.source import CompressedSource
from splitscan.codecs.tables import find_members
from splitscan.errors import SourceError
from splitscan.testing.byte_sources import MemorySource
from splitscan.testing.scan_laws import read_block

END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")  # the empty member that ends BGZF


def bgzf_member(content):
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = deflate.compress(content) + deflate.flush()
    extra = b"XY\x01\x00z" + b"BC\x02\x00" + struct.pack("<H", 12 + 11 + len(body) + 8 - 1)
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + struct.pack("<H", len(extra)) + extra
    return head + body + struct.pack("<II", zlib.crc32(content), len(content))


def bgzf(contents):
    return b"".join(map(bgzf_member, contents)) + END


def frames(contents):
    between = b"\x5a\x2a\x4d\x18\x05\0\0\0notes"
    return between.join(zstd.compress(content) for content in contents)


def checked_frames(contents):
    options = {zstd.CompressionParameter.checksum_flag: 1}
    return b"".join(zstd.compress(content, options=options) for content in contents)


def lz4_frames(contents):
    between = b"\x5a\x2a\x4d\x18\x05\0\0\0notes"
    return between.join(
        lz4.frame.compress(content, block_size=4, content_checksum=i % 2 > 0, block_checksum=i % 3 > 0)
        for i, content in enumerate(contents)
    )


CONTAINERS = {
    "bgzf": ("gzip", bgzf),
    "lz4": ("lz4", lz4_frames),
    "zstd": ("zstd", frames),
    "zstd with checksums": ("zstd", checked_frames),
}
CSV = b"id,name\n" + b"".join(b'%d,"%s\n%d"\n' % (i, b"x" * (i % 7), i * i) for i in range(150))
ODD_CSV = b"id,name\n" + b"".join(b'%d,a"b\n%d,"a\n""%d"\n' % (i, i, i) for i in range(60)) + b'9,"never closed\n1,2\n'
JSON = b"[" + b",\n".join(b'{"id": %d, "name": "n,\\"%d]"}' % (i, i) for i in range(120)) + b"]"
LINES = b"".join(b"line \\\\\\\n%d\n" % i for i in range(200)) + b"the last has no end"
SCANS = {
    "csv": (CSV, lambda path, **o: ss.scan_csv(path, "id string, name string", header=True, **o)),
    "csv with newlines": (
        CSV,
        lambda path, **o: ss.scan_csv(path, "id string, name string", header=True, multiLine=True, escape='"', **o),
    ),
    "odd csv": (
        ODD_CSV,
        lambda path, **o: ss.scan_csv(path, "id string, name string", header=True, multiLine=True, escape='"', **o),
    ),
    "escaped lines": (LINES, lambda path, **options: ss.scan_text(path, escape="\\", **options)),
    "UTF-16 lines": (LINES.decode().encode("utf-16"), lambda path, **o: ss.scan_text(path, encoding="UTF-16", **o)),
    "json": (JSON, lambda path, **o: ss.scan_json(path, "id long, name string", multiLine=True, **o)),
    "fixed": (LINES, lambda path, **options: ss.scan_fixed(path, record_length=7, **options)),
}
SUFFIXES = {"gzip": "gz", "zstd": "zst", "lz4": "lz4"}
METADATA = ["record_offset", "record_length"]


def pieces_of(data, length):
    return [data[i : i + length] for i in range(0, len(data), length)]


def check_cuts(scan_of, path, content_bytes, block_bytes):
    expected = scan_of(path, metadata_columns=METADATA).to_arrow().to_pylist()
    scan = scan_of(path, metadata_columns=METADATA, block_size=block_bytes)
    blocks = scan.plan()
    results = [read_block(scan, block) for block in blocks]
    assert [row for result in results for row in result.rows] == expected, block_bytes
    assert [left.stop for left in blocks[:-1]] == [right.start for right in blocks[1:]]
    spans = [(result.report.span_start, result.report.span_stop) for result in results]
    assert (spans[0][0], spans[-1][1]) == (0, content_bytes)
    assert all(left[1] == right[0] for left, right in pairwise(spans)), spans
    assert results[-1].report.content_bytes == content_bytes
    assert scan.count() == len(expected)
    return len(blocks)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", SCANS)
def test_cuts_of_the_container_give_what_one_reading_gives(tmp_path, name, container):
    data, scan_of = SCANS[name]
    path = tmp_path / f"a.{SUFFIXES[CONTAINERS[container][0]]}"
    path.write_bytes(CONTAINERS[container][1](pieces_of(data, 211)))
    numbers = [check_cuts(scan_of, str(path), len(data), size) for size in (1, 500, path.stat().st_size // 2)]
    assert numbers[0] == len(pieces_of(data, 211))  # every member is a block
    assert numbers[0] > numbers[1] >= numbers[2] > 1


@pytest.mark.slow
@pytest.mark.parametrize("container", ["bgzf", "zstd", "lz4"])
@pytest.mark.parametrize("name", SCANS)
def test_every_cut_of_the_container_gives_what_one_reading_gives(tmp_path, name, container):
    data, scan_of = SCANS[name]
    data = data[: 700 if name != "json" else None]
    path = tmp_path / f"a.{SUFFIXES[CONTAINERS[container][0]]}"
    path.write_bytes(CONTAINERS[container][1](pieces_of(data, 97)))
    for block_bytes in (*range(1, 40, 3), *range(40, path.stat().st_size, 61)):
        check_cuts(scan_of, str(path), len(data), block_bytes)


def test_members_as_small_as_a_byte_and_records_over_many_of_them(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(bgzf(pieces_of(CSV[:120], 1)))
    scan_of = SCANS["csv with newlines"][1]
    assert check_cuts(scan_of, str(path), 120, 1) == 120
    assert check_cuts(scan_of, str(path), 120, 700) > 3


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_table_names_every_member_that_holds_something(container):
    codec, write = CONTAINERS[container]
    contents = [b"abc", b"", b"x" * 300, b"y" * 70_000, b"z" * 5]
    if container == "bgzf":
        contents = [content[:60_000] for content in contents]
    elif container == "lz4":
        contents.remove(b"")  # of which the library writes no length
    data = write(contents)
    table = find_members(MemorySource(data), CODECS[codec], 1 << 20)
    assert table.content_bytes == sum(map(len, contents))
    full = [content for content in contents if content]
    assert len(table.points) == len(full)
    for point, content in zip(table.points, full, strict=True):
        source = CompressedSource(MemorySource(data), CODECS[codec], point, max_ratio=10_000)
        assert source.read_at(point.content_offset, len(content)) == content
        assert source.read_at(0, 3) == b"abc"


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        ("gzip", gzip.compress(b"abc") * 3),
        ("gzip", bgzf([b"abc", b"def"])[:-30]),
        ("gzip", bgzf([b"abc"]) + gzip.compress(b"def")),
        ("gzip", bgzf([b"abc"]) + bytes(100)),
        ("zstd", zstd.compress(b"abc") + b"\x28\xb5\x2f\xfd"),
        ("zstd", zstd.compress(b"abc" * 100)[:-1]),
        ("bzip2", b"BZh91AY&SY"),
        ("lz4", lz4.frame.compress(b"abc", store_size=False)),
        ("lz4", lz4.frame.compress(b"abc" * 100)[:-5]),
    ],
    ids=[
        "gzip",
        "broken BGZF",
        "BGZF and gzip",
        "BGZF and zeros",
        "zstd and a bit",
        "broken zstd",
        "bzip2",
        "lz4 without size",
        "broken lz4",
    ],
)
def test_headers_that_do_not_say_it_make_no_table(codec, data):
    assert find_members(MemorySource(data), CODECS[codec], 1 << 20) is None


def test_streamed_frames_make_no_table_and_long_ones_are_not_walked():
    compressor = zstd.ZstdCompressor()
    streamed = compressor.compress(b"abc" * 1000) + compressor.flush()
    assert find_members(MemorySource(streamed), CODECS["zstd"], 1 << 20) is None
    long = zstd.compress(bytes(range(256)) * 4000)
    assert find_members(MemorySource(long), CODECS["zstd"], len(long)).content_bytes == 256 * 4000
    assert find_members(MemorySource(zstd.compress(gzip.compress(CSV) * 200)), CODECS["zstd"], 10) is None


def test_a_length_that_lies_fails(tmp_path):
    data = bytearray(bgzf(pieces_of(LINES, 500)))
    member = data.index(b"\x1f\x8b\x08\x04", 4)
    data[member - 4] ^= 1  # the first member says that it holds one byte more or less
    path = tmp_path / "a.gz"
    path.write_bytes(bytes(data))
    scan = ss.scan_text(str(path), block_size=200)
    blocks = scan.plan()
    assert len(blocks) > 2
    with pytest.raises(SourceError, match="corrupt-container"):
        read_block(scan, blocks[0])
