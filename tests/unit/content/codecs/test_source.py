"""The content of a compressed file can be read at any offset, and only if every byte of it is verified."""

import bz2
import gzip
import lzma
import random
import sys
import zlib
from dataclasses import replace

import cramjam
import lz4.frame
import pytest
from backports import zstd

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.content import is_bomb
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.codecs.formats import CODECS
from splitscan.content.codecs.gzip import ZlibDecoder
from splitscan.content.codecs.source import CompressedSource
from splitscan.errors import UsageError
from splitscan.testing.faults import MemorySource

from .hadoop_files import hadoop
from .kernel_content import BY_KERNEL, KernelContent


def raw_deflate(data):
    return zlib.compress(data, wbits=-15)


COMPRESS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "zstd": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
    "lz4": lambda data: lz4.frame.compress(data, content_checksum=True),
    "snappy": lambda data: bytes(cramjam.snappy.compress(data)),
    "zlib": zlib.compress,
    "raw-deflate": raw_deflate,
    "hadoop-snappy": lambda data: hadoop("hadoop-snappy", data, 7000, 2500),
    "hadoop-lz4": lambda data: hadoop("hadoop-lz4", data, 7000, 2500),
}
OF_CHUNKS = {"snappy", "hadoop-snappy", "hadoop-lz4"}  # whose files may end after any of them
WITHOUT_CHECKSUM = {"raw-deflate", "hadoop-snappy", "hadoop-lz4"}
CONTENT = b"".join(b"%d,%d\n" % (i, i * i) for i in range(2000))
BIG = b"".join(b"%d,%d\n" % (i, i * i % 9973) for i in range(60_000))


COMPRESS["gzip by zlib"] = gzip.compress
COMPRESS["zlib by zlib"] = zlib.compress
COMPRESS["raw-deflate by zlib"] = raw_deflate
WITHOUT_CHECKSUM.add("raw-deflate by zlib")
KNOWN = {
    **CODECS,
    "gzip by zlib": replace(CODECS["gzip"], make_decoder=ZlibDecoder),  # as without isal
    "zlib by zlib": replace(CODECS["zlib"], make_decoder=lambda: ZlibDecoder(window_bits=zlib.MAX_WBITS)),
    "raw-deflate by zlib": replace(CODECS["raw-deflate"], make_decoder=lambda: ZlibDecoder(b"")),
}
for name in BY_KERNEL:
    of = name.removesuffix(" by the kernel")
    COMPRESS[name], KNOWN[name] = COMPRESS[of], CODECS[of]
    WITHOUT_CHECKSUM |= {name} if of in WITHOUT_CHECKSUM else set()
codecs = pytest.mark.parametrize("codec", COMPRESS)
python_codecs = pytest.mark.parametrize("codec", [codec for codec in COMPRESS if codec not in BY_KERNEL])


def open_bytes(data, codec, ratio=10_000):
    return open_source(MemorySource(data), codec, ratio)


def open_source(file, codec, ratio=10_000):
    if codec in BY_KERNEL:
        return KernelContent(file, KNOWN[codec], max_ratio=ratio)
    return CompressedSource(file, KNOWN[codec], max_ratio=ratio)


def read_all(source, step=1 << 20):
    pieces = []
    while piece := source.read_at(sum(map(len, pieces)), step):
        pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.thin(6)
@codecs
def test_any_read_gives_what_is_there(codec, monkeypatch):
    monkeypatch.setattr("splitscan.content.codecs.source._HISTORY_BYTES", 100_000)
    source = open_bytes(COMPRESS[codec](BIG), codec)
    chance = random.Random(codec)
    for _ in range(40):
        offset, length = chance.randrange(len(BIG) + 100), chance.choice([0, 1, 77, 5000, 300_000])
        assert source.read_at(offset, length) == BIG[offset : offset + length]
    assert source.read_at(0, len(BIG) + 1) == BIG
    assert source.content_bytes == len(BIG)


@codecs
@pytest.mark.parametrize("members", [1, 2, 7])
def test_members_follow_each_other_and_zeros_may_follow_the_last(codec, members):
    if codec.startswith("raw-deflate") and members > 1:
        pytest.skip("nothing tells where another begins")
    parts = [CONTENT[i::members] for i in range(members)]
    data = b"".join(map(COMPRESS[codec], parts))
    assert read_all(open_bytes(data, codec)) == b"".join(parts)
    if codec != "snappy":  # to which chunks of zeros are damage
        assert read_all(open_bytes(data + bytes(1000), codec)) == b"".join(parts)


@pytest.mark.parametrize(
    "codec", sorted(COMPRESS.keys() - {"gzip by zlib", "zlib by zlib"} - OF_CHUNKS - WITHOUT_CHECKSUM)
)
@pytest.mark.parametrize("head", [b"", bytes(4)])
def test_a_file_that_begins_with_no_member_is_told_apart_from_one_that_goes_on_with_none(codec, head):
    with pytest.raises(ContainerError, match=r"a member begins where none can begin(.|\n)*no member"):
        read_all(open_bytes(head + b"no member", codec))


def test_zeros_between_streams_of_xz_come_in_fours():
    first, second = COMPRESS["xz"](CONTENT), COMPRESS["xz"](CONTENT[::-1])
    for zeros in (4, 8, 400):
        assert read_all(open_bytes(first + bytes(zeros) + second, "xz")) == CONTENT + CONTENT[::-1]
    for zeros in (1, 3, 5, 401):
        with pytest.raises(ContainerError, match="no member follows the last one"):
            read_all(open_bytes(first + bytes(zeros) + second, "xz"))


def test_members_are_told_when_all_is_read_and_damage_when_its_place_is():
    data, members, damages = gzip.compress(CONTENT) * 3, [], []
    for stop in (len(data), -1000):
        told = {"on_members": members.append, "on_damage": damages.append}
        read_all(CompressedSource(MemorySource(data[:stop]), CODECS["gzip"], max_ratio=100, **told))
    assert [[point.content_offset // len(CONTENT) for point in table.points] for table in members] == [[0, 1, 2]]
    assert [damage.content_offset // len(CONTENT) for damage in damages] == [2]


@codecs
def test_empty_content_has_an_end(codec):
    source = open_bytes(COMPRESS[codec](b""), codec)
    assert (source.read_at(0, 10), source.content_bytes) == (b"", 0)


@pytest.mark.thin(4)
@codecs
def test_the_length_of_the_content_is_known_only_at_its_end(codec):
    source = open_bytes(COMPRESS[codec](BIG + bytes(4 << 20)), codec)
    assert source.read_at(0, 10) == BIG[:10]
    assert source.content_bytes is None


@pytest.mark.thin(4)
@codecs
def test_a_file_cut_anywhere_breaks_off(codec):
    data = COMPRESS[codec](CONTENT[:3000])
    for length in range(1, len(data)):
        source = open_bytes(data[:length], codec)
        if codec in OF_CHUNKS and (taken := _taken_whole(source)) is not None and CONTENT.startswith(taken):
            continue  # between two chunks such a file may end
        with pytest.raises(ContainerError) as error:
            read_all(open_bytes(data[:length], codec))
        assert error.value.reason_code in {"truncated-container", "corrupt-container"}
        assert error.value.where.offset <= length
        assert dict(error.value.where.notes)["codec"] == KNOWN[codec].name


def _taken_whole(source):
    try:
        return read_all(source)
    except ContainerError:
        return None


@pytest.mark.thin(6)
@codecs
def test_no_flipped_bit_goes_unnoticed(codec):
    if codec in WITHOUT_CHECKSUM:
        pytest.skip("a changed byte of content is nothing that this codec could notice")
    data = COMPRESS[codec](CONTENT)
    chance = random.Random(0)
    for position in chance.sample(range(len(data)), 300):
        damaged = bytearray(data)
        damaged[position] ^= 1 << chance.randrange(8)
        assert _taken_whole(open_bytes(bytes(damaged), codec)) in {None, CONTENT}, position  # a bit without a meaning


@codecs
@pytest.mark.parametrize("tail", [b"x", b"\0\0x", b"\x1f\x8b", b"BZh"])
def test_what_follows_the_last_member_and_is_none_is_an_error(codec, tail):
    with pytest.raises(ContainerError):
        read_all(open_bytes(COMPRESS[codec](CONTENT) + tail, codec))


@codecs
def test_the_last_bytes_are_not_given_out_before_the_checksum_is_verified(codec):
    if codec in OF_CHUNKS:
        pytest.skip("every chunk is verified on its own")
    data = COMPRESS[codec](CONTENT)
    source = open_bytes(data[:-1], codec)
    with pytest.raises(ContainerError, match="breaks off"):
        source.read_at(len(CONTENT) - 1, 1)


@pytest.mark.parametrize(
    ("content_bytes", "compressed_bytes", "ratio", "expected"),
    [
        (256 << 20, 1, 1, False),  # so much harms nobody
        ((256 << 20) + 1, 1, 1, True),
        (300 << 20, 3 << 20, 100, False),  # exactly the ratio
        ((300 << 20) + 1, 3 << 20, 100, True),
    ],
)
def test_what_is_a_bomb_is_long_and_out_of_proportion(content_bytes, compressed_bytes, ratio, expected):
    assert is_bomb(content_bytes, compressed_bytes, ratio) is expected


@pytest.mark.thin(5)
@python_codecs
def test_content_out_of_proportion_ends_the_reading(codec, monkeypatch):
    monkeypatch.setattr("splitscan.content.codecs.content.JUDGED_BYTES", 1 << 20)
    content = bytes(4 << 20)
    data = COMPRESS[codec](content)
    with pytest.raises(UsageError, match=r"maxDecompressionRatio=3 .*\[decompression-bomb\]"):
        read_all(open_bytes(data, codec, ratio=3))
    assert read_all(open_bytes(data, codec, ratio=len(content))) == content


def test_a_reading_that_begins_in_the_middle_judges_what_it_reads_itself(monkeypatch):
    """What lies before its place is neither content that it gave nor bytes that it took."""
    monkeypatch.setattr("splitscan.content.codecs.content.JUDGED_BYTES", 1 << 20)
    incompressible = random.Random(1).randbytes(2 << 20)
    sparse = b"".join(incompressible[i : i + 64] + bytes(960) for i in range(0, 64 << 11, 64))
    dense, loose = gzip.compress(bytes(16 << 20)), gzip.compress(incompressible)

    def read_second(first, second, content_bytes):
        point = SeekPoint(len(first) * 8, content_bytes)
        source = CompressedSource(MemorySource(first + second), CODECS["gzip"], point, max_ratio=50)
        return source.read_at(content_bytes, 2 << 20)

    assert read_second(dense, gzip.compress(sparse), 16 << 20) == sparse
    with pytest.raises(UsageError, match="decompression-bomb"):
        read_second(loose, dense, 2 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["gzip", *(codec for codec in BY_KERNEL if codec.startswith("gzip"))])
def test_a_bomb_is_refused_by_its_ratio(codec):
    bomb = gzip.compress(bytes(300 << 20))
    with pytest.raises(UsageError, match="decompression-bomb") as error:
        read_all(open_bytes(bomb, codec, ratio=100), 8 << 20)
    assert "maxDecompressionRatio=100" in str(error.value)
    source = open_bytes(bomb, codec, ratio=2000)
    assert source.read_at(299 << 20, 2 << 20) == bytes(1 << 20)


@pytest.mark.slow
@python_codecs
def test_reading_goes_on_in_bounded_memory(codec):
    source = open_bytes(COMPRESS[codec](bytes(40 << 20)), codec)
    for offset in range(0, 40 << 20, 1 << 20):
        source.read_at(offset, 1 << 20)
        assert source.kept.stop - source.kept.start <= 20 << 20


def test_a_closed_source_gives_nothing():
    source = open_bytes(gzip.compress(CONTENT), "gzip")
    source.close()
    with pytest.raises(UsageError, match="closed-source"):
        source.read_at(0, 1)


@pytest.mark.slow
@codecs
def test_the_file_is_read_in_few_and_growing_reads(codec):
    class Counting(MemorySource):
        reads = ()

        def read_at(self, offset, length_bytes):
            self.reads = (*self.reads, length_bytes)
            return super().read_at(offset, length_bytes)

    file = Counting(COMPRESS[codec](random.Random(0).randbytes(6 << 20)))
    source = open_source(file, codec)
    assert len(read_all(source)) == 6 << 20
    assert len(file.reads) < 10
    assert max(file.reads) <= 8 << 20


@pytest.mark.parametrize(
    ("codec", "module"),
    [("zstd", "backports.zstd"), ("lz4", "lz4.frame"), ("snappy", "cramjam"),
     ("hadoop-lz4", "lz4.block"), ("hadoop-snappy", "cramjam")],
)  # fmt: skip
def test_a_library_that_is_missing_is_named(monkeypatch, codec, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match="no-codec") as error:
        read_all(open_bytes(COMPRESS[codec](CONTENT), codec))
    assert "splitscan[codecs]" in str(error.value)


def test_gzip_is_read_without_a_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
    assert isinstance(CODECS["gzip"].make_decoder(), ZlibDecoder)
