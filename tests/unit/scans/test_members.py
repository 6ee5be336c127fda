"""A container that says where its members begin is cut between them, wherever the cuts fall, exactly."""

import gzip
import lzma
import struct
import zlib
from itertools import product

import lz4.frame
import pytest
from backports import zstd

import splitscan as ss
from splitscan.content.codecs.formats import CODECS
from splitscan.content.codecs.source import CompressedSource
from splitscan.content.codecs.tables import find_members
from splitscan.errors import SourceError
from splitscan.reading import boundaries
from splitscan.testing.faults import MemorySource
from splitscan.testing.scan_laws import read_block

from ..content.codecs.hadoop_files import block
from ..content.codecs.snappy_files import framed
from ..reading.compressed_scans import CSV, LINES, SCANS, check_cuts, json_of, pieces_of


@pytest.fixture(autouse=True)
def short_looks(monkeypatch):
    """Blocks begin far after the head of the file, as seen by who looks at what is right before them."""
    monkeypatch.setattr(boundaries, "LOOKS_BYTES", (40, 160))


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


def stored_lz4_frames(contents):
    """Frames that do not say how much they hold, of blocks that are too short to be compressed."""
    frames = []
    for i, content in enumerate(contents):
        options = {"content_checksum": i % 2 > 0, "block_checksum": i % 3 > 0}
        compressor = lz4.frame.LZ4FrameCompressor(block_linked=False, auto_flush=True, **options)
        frames += [compressor.begin(), *map(compressor.compress, pieces_of(content, 12)), compressor.flush()]
    return b"".join(frames)


def streamed_frame(content):
    compressor = zstd.ZstdCompressor()
    return compressor.compress(content) + compressor.flush()


def seekable(contents, checksums=False):
    frames = list(map(streamed_frame, contents))
    entries = b"".join(
        struct.pack("<II", len(frame), len(content)) + b"sums" * checksums
        for frame, content in zip(frames, contents, strict=True)
    )
    footer = struct.pack("<IB", len(frames), 0x80 * checksums) + b"\xb1\xea\x92\x8f"
    return b"".join(frames) + b"\x5e\x2a\x4d\x18" + struct.pack("<I", len(entries) + 9) + entries + footer


def xz_number(value):
    return bytes((value & 0x7F | 0x80,)) + xz_number(value >> 7) if value > 0x7F else bytes((value,))


def xz_stream(contents, check=lzma.CHECK_CRC64):
    """One stream of as many blocks, made of streams of one block each."""
    contents = list(filter(None, contents))  # of nothing there is no block
    blocks, index = [], b"\0" + xz_number(len(contents))
    for content in contents:
        stream = lzma.compress(content, preset=0, check=check)
        index_bytes = 4 * (int.from_bytes(stream[-8:-4], "little") + 1)
        blocks.append(stream[12 : -12 - index_bytes])
        index += stream[-12 - index_bytes + 2 : -12 - 4].rstrip(b"\0")
    index = index.ljust(-(-len(index) // 4) * 4, b"\0")
    index += struct.pack("<I", zlib.crc32(index))
    flags = stream[6:8]
    footer = struct.pack("<I", len(index) // 4 - 1) + flags
    return stream[:12] + b"".join(blocks) + index + struct.pack("<I", zlib.crc32(footer)) + footer + b"YZ"


def xz_streams(contents):
    """Streams of some blocks each, with zeros between them, one without any block, and another check."""
    streams = [xz_stream(contents[i : i + 5], CHECKS[i % 3]) for i in range(0, len(contents), 5)]
    return lzma.compress(b"") + bytes(8) + bytes(4).join(streams) + bytes(12)


def hadoop_snappy(contents):
    """Blocks of chunks of 50 bytes each; what holds nothing is a block too."""
    return b"".join(block("hadoop-snappy", content, 50) for content in contents)


CHECKS = (lzma.CHECK_CRC64, lzma.CHECK_CRC32, lzma.CHECK_SHA256)
CONTAINERS = {
    "bgzf": ("gzip", bgzf),
    "lz4": ("lz4", lz4_frames),
    "lz4 not compressed": ("lz4", stored_lz4_frames),
    "snappy": ("snappy", framed),
    "hadoop snappy": (
        "hadoop-snappy",
        lambda contents: b"".join(block("hadoop-snappy", each, 50) for each in contents),
    ),
    "zstd": ("zstd", frames),
    "zstd with checksums": ("zstd", checked_frames),
    "zstd seekable": ("zstd", seekable),
    "xz": ("xz", xz_stream),
    "xz streams": ("xz", xz_streams),
}
SUFFIXES = {"gzip": "gz", "zstd": "zst", "lz4": "lz4", "snappy": "sz", "hadoop-snappy": "snappy", "xz": "xz"}


@pytest.mark.slow
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
@pytest.mark.parametrize(
    ("name", "container"),
    [
        *product(SCANS, ["bgzf", "snappy", "hadoop snappy", "zstd", "lz4"]),
        *product(["csv with newlines", "json"], ["zstd seekable", "xz streams"]),
    ],
)
def test_every_cut_of_the_container_gives_what_one_reading_gives(tmp_path, name, container):
    data, scan_of = SCANS[name]
    data = json_of(25) if name == "json" else data[:700]
    path = tmp_path / f"a.{SUFFIXES[CONTAINERS[container][0]]}"
    path.write_bytes(CONTAINERS[container][1](pieces_of(data, 97)))
    for block_bytes in (*range(1, 40, 3), *range(40, path.stat().st_size, 61)):
        check_cuts(scan_of, str(path), len(data), block_bytes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["csv with newlines", "odd csv"])
def test_records_of_which_nothing_near_a_block_tells_are_found_by_all_that_comes_before(tmp_path, name, monkeypatch):
    monkeypatch.setattr(boundaries, "LOOKS_BYTES", (1,))
    data, scan_of = SCANS[name]
    path = tmp_path / "a.csv.gz"
    path.write_bytes(bgzf(pieces_of(data, 211)))
    for block_bytes in (1, 500):
        check_cuts(scan_of, str(path), len(data), block_bytes)


def refuse(tasks):
    raise AssertionError(f"{len(tasks)} blocks are summarised")


@pytest.mark.slow
def test_blocks_are_summarised_only_where_no_line_before_them_tells_of_its_quotes(tmp_path):
    told, untold = tmp_path / "told.csv.gz", tmp_path / "untold.csv.gz"
    told.write_bytes(bgzf(pieces_of(b'1,"Ann",2\n' * 200, 211)))
    untold.write_bytes(bgzf(pieces_of(b"1,Ann,2\n" * 200, 211)))
    scan_of = SCANS["csv with newlines"][1]
    blocks = scan_of(str(told), block_size=1).plan(refuse)
    assert len(blocks) > 5
    assert all(block.first_record_start % 10 == 0 for block in blocks)
    with pytest.raises(AssertionError, match="blocks are summarised"):
        scan_of(str(untold), block_size=1).plan(refuse)


@pytest.mark.slow
def test_members_as_small_as_a_byte_and_records_over_many_of_them(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(bgzf(pieces_of(CSV[:120], 1)))
    scan_of = SCANS["csv with newlines"][1]
    assert check_cuts(scan_of, str(path), 120, 1) == 120
    assert check_cuts(scan_of, str(path), 120, 700) > 3


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_table_names_every_member_that_holds_something(container):
    codec, write = CONTAINERS[container]
    contents = [b"abc", b"", b"x" * 300, b"y" * 70_000, b""]
    if container in {"bgzf", "snappy"}:
        contents = [content[:60_000] for content in contents]
    data = write(contents)
    table = find_members(MemorySource(data), CODECS[codec], 1 << 20)
    assert table.content_bytes == sum(map(len, contents))
    full = [content for content in contents if content]
    assert len(table.points) == len(full)
    for point, content in zip(table.points, full, strict=True):
        source = CompressedSource(MemorySource(data), CODECS[codec], point, max_ratio=10_000)
        assert source.read_at(point.content_offset, len(content)) == content
        assert source.read_at(0, 3) == b"abc"


@pytest.mark.parametrize("dictionary_flag", range(4))
@pytest.mark.parametrize("has_checksum", [0, 1])
@pytest.mark.parametrize(
    ("size_flag", "size"), [(0, b"\xc8"), (1, b"\x64\x00"), (2, b"\x64\1\0\0"), (3, b"\x64\1" + bytes(6))]
)
def test_the_fields_of_a_zstd_frame_are_passed_whatever_their_lengths(dictionary_flag, has_checksum, size_flag, size):
    content = 200 if size_flag == 0 else 356  # of two bytes it is 256 less
    single_segment = size_flag == 0
    head = bytes([size_flag << 6 | single_segment << 5 | has_checksum << 2 | dictionary_flag])
    window, dictionary = bytes(not single_segment), b"\x07" * (0, 1, 2, 4)[dictionary_flag]
    block = (content << 3 | 1).to_bytes(3, "little") + b"x" * content  # the last, as it is
    frame = b"\x28\xb5\x2f\xfd" + head + window + dictionary + size + block + bytes(4 * has_checksum)
    assert_frames_are_found("zstd", frame, content)


@pytest.mark.parametrize("flags", [*range(0x40, 0x60, 4), *range(0x41, 0x60, 4)])  # but for the reserved one
def test_the_fields_of_an_lz4_frame_are_passed_whichever_there_are(flags):
    has_block_checksums, has_size, has_checksum, has_dictionary = (flags >> bit & 1 for bit in (4, 3, 2, 0))
    head = bytes([flags, 0x40]) + (16).to_bytes(8, "little") * has_size + b"\x07" * 4 * has_dictionary + b"\0"
    block = (8 | 1 << 31).to_bytes(4, "little") + b"x" * 8 + bytes(4 * has_block_checksums)
    frame = b"\x04\x22\x4d\x18" + head + block * 2 + bytes(4) + bytes(4 * has_checksum)
    assert_frames_are_found("lz4", frame, 16)


def assert_frames_are_found(codec, frame, content):
    table = find_members(MemorySource(frame * 3), CODECS[codec], 1 << 20)
    assert table.content_bytes == 3 * content
    assert [(point.bit_offset, point.content_offset) for point in table.points] == [
        (8 * number * len(frame), number * content) for number in range(3)
    ]


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
        ("lz4", lz4.frame.compress(b"abc" * 100, store_size=False)),
        ("lz4", lz4.frame.compress(b"abc" * 100)[:-5]),
        ("lz4", lz4.frame.compress(b"abc") + b"none" + lz4.frame.compress(b"abc")[4:]),
        ("lz4", lz4.frame.compress(b"abc", store_size=False)[:-5]),
        ("snappy", framed([b"abc", b"def"])[:-1]),
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
        "lz4 and a frame of something else",
        "broken lz4 without size",
        "broken snappy",
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


def check_first_block_refused(path, data):
    path.write_bytes(data)
    scan = ss.scan_text(str(path), block_size=200)
    blocks = scan.plan()
    assert len(blocks) > 2
    with pytest.raises(SourceError, match="corrupt-container"):
        read_block(scan, blocks[0])


def test_a_length_that_lies_fails(tmp_path):
    data = bytearray(bgzf(pieces_of(LINES, 500)))
    member = data.index(b"\x1f\x8b\x08\x04", 4)
    data[member - 4] ^= 1  # the first member says that it holds one byte more or less
    check_first_block_refused(tmp_path / "a.gz", data)


@pytest.mark.parametrize("wrong", [(1, 1), (0, 4), (7, -7)], ids=["content", "both", "the frame"])
def test_a_seek_table_that_lies_fails_whoever_passes_the_frame(tmp_path, wrong):
    """Two neighbours swap what the table says that they hold, so that its sums are right."""
    data = bytearray(seekable(pieces_of(LINES, 500)))
    frames = len(pieces_of(LINES, 500))
    table = len(data) - 9 - 8 * frames
    for entry, sign in ((0, 1), (1, -1)):
        length, content = struct.unpack_from("<II", data, table + 8 * entry)
        struct.pack_into("<II", data, table + 8 * entry, length + sign * wrong[0], content + sign * wrong[1])
    check_first_block_refused(tmp_path / "a.zst", data)


def test_an_index_of_xz_that_was_replaced_since_is_noticed():
    point = find_members(MemorySource(xz_stream(pieces_of(LINES, 500))), CODECS["xz"], 1).points[2]
    other = xz_stream(pieces_of(LINES, 400))
    source = CompressedSource(MemorySource(other), CODECS["xz"], point, max_ratio=10_000)
    with pytest.raises(SourceError, match="no block begins where one was planned"):
        source.read_at(point.content_offset, 1)


@pytest.mark.parametrize("position", [-1, -3, -8, -11, -14, -20, 7, 10])
def test_a_damaged_index_of_xz_is_not_believed(position):
    data = bytearray(xz_stream(pieces_of(LINES, 500)))
    data[position] ^= 4
    assert find_members(MemorySource(bytes(data)), CODECS["xz"], 1) is None
