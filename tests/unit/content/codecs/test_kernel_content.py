"""What the kernel decompresses, and what it says of damage, is what Python decompresses and says."""

import functools
import gzip
import io
import random
import zlib
from dataclasses import replace

import pytest

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.codecs.formats import CODECS
from splitscan.content.codecs.gzip import ZlibDecoder, index_gzip
from splitscan.content.codecs.source import CompressedSource
from splitscan.testing.faults import MemorySource

from .kernel_content import BY_KERNEL, KernelContent

pytestmark = pytest.mark.skipif(not BY_KERNEL, reason="the kernel was not built")

BY_ZLIB = {
    "gzip": replace(CODECS["gzip"], make_decoder=ZlibDecoder),
    "zlib": replace(CODECS["zlib"], make_decoder=lambda: ZlibDecoder(window_bits=zlib.MAX_WBITS)),
    "raw-deflate": replace(CODECS["raw-deflate"], make_decoder=lambda: ZlibDecoder(b"")),
}
WINDOW_BITS = {"gzip": 31, "zlib": 15, "raw-deflate": -15}


def compressed(codec, data, level=6):
    return zlib.compress(data, level, wbits=WINDOW_BITS[codec])


@functools.cache
def lines():
    draw = random.Random(0)
    return b"".join(b"%d,%d\n" % (i, draw.randrange(1000)) for i in range(1 << 19))


def text(chance, length):
    """To make each line afresh took most of the time of these tests."""
    start = chance.randrange(len(lines()) - length)
    return lines()[start : start + length]


def outcome(source, step):
    """The content in reads of so many bytes; and what ends it."""
    pieces = []
    while True:
        try:
            piece = source.read_at(sum(map(len, pieces)), step)
        except ContainerError as error:
            return b"".join(pieces), (error.rule, error.reason_code, error.where.offset, error.where.notes)
        if not piece:
            return b"".join(pieces), source.content_bytes
        pieces.append(piece)


def damaged(chance, codec):
    members = 1 if codec == "raw-deflate" else chance.choice([1, 1, 2, 5])
    parts = [text(chance, chance.choice([0, 100, 10_000, 3 << 20])) for _ in range(members)]
    data = b"".join(compressed(codec, part, chance.choice([0, 1, 6, 9])) for part in parts)
    at = chance.randrange(len(data))
    return chance.choice(
        [
            data,
            data[:at],
            data + bytes(chance.choice([1, 7, 300_000])),
            data
            + bytes(chance.choice([0, 5]))
            + chance.choice([b"x", b"\x1f", b"\x1f\x8b", b"\x1f\x8b\x08", b"'\"\\\n"]),
            data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :],
            data[:at] + chance.randbytes(20) + data[at + 20 :],
            data[:-3] + b"\0" + data[-2:],
            data[:at] + bytes(9) + data[at:],
            chance.choice([b"", b"\0", b"\0" * 10, b"\x1f", b"no member", b"\0no member"]),
        ]
    )


@pytest.mark.thin(3)
@pytest.mark.parametrize("codec", BY_ZLIB)
@pytest.mark.parametrize("seed", range(20))
def test_content_and_damage_are_those_of_python(codec, seed):
    chance = random.Random(f"{codec} {seed}")
    data, step = damaged(chance, codec), chance.choice([4096, 100_000, 1 << 20, 4 << 20])
    ours = outcome(KernelContent(MemorySource(data), CODECS[codec], max_ratio=10_000), step)
    assert ours == outcome(CompressedSource(MemorySource(data), BY_ZLIB[codec], max_ratio=10_000), step)


@pytest.mark.thin(2)
@pytest.mark.parametrize("seed", range(20))
def test_a_member_is_entered_inside_at_any_bit(seed):
    chance = random.Random(seed)
    content = text(chance, 1 << 20)
    first = compressed("gzip", text(chance, 50_000))
    data = first + compressed("gzip", content, chance.choice([1, 6, 9])) + gzip.compress(b"the end")
    whole = gzip.decompress(data)
    points = index_gzip(io.BytesIO(data), len(data), spacing_bytes=70_000).points
    assert len({point.bit_offset % 8 for point in points}) > 2
    for point in chance.sample(points, 5):
        source = KernelContent(MemorySource(data), CODECS["gzip"], point, max_ratio=10_000)
        assert outcome_from(source, point.content_offset) == whole[point.content_offset :]
    source = KernelContent(MemorySource(data), CODECS["gzip"], places=points, max_ratio=10_000)
    for _ in range(20):
        offset, length = chance.randrange(len(whole) + 10), chance.choice([0, 1, 1000, 200_000])
        assert source.read_at(offset, length) == whole[offset : offset + length]


def outcome_from(source, offset):
    pieces = []
    while piece := source.read_at(offset + sum(map(len, pieces)), 1 << 17):
        pieces.append(piece)
    return b"".join(pieces)


def test_reading_from_a_member_on_decompresses_nothing_before_it():
    class Recording(MemorySource):
        first = 1 << 60

        def read_at(self, offset, length_bytes):
            self.first = min(self.first, offset)
            return super().read_at(offset, length_bytes)

    before = gzip.compress(random.Random(0).randbytes(1 << 20))
    file = Recording(before + gzip.compress(b"after"))
    source = KernelContent(file, CODECS["gzip"], SeekPoint(len(before) * 8, 1 << 20), max_ratio=10_000)
    assert source.read_at(1 << 20, 10) == b"after"
    assert file.first == len(before)


def test_the_first_bytes_take_a_small_read():
    class Counting(MemorySource):
        read = 0

        def read_at(self, offset, length_bytes):
            self.read += length_bytes
            return super().read_at(offset, length_bytes)

    file = Counting(gzip.compress(random.Random(0).randbytes(8 << 20)))
    assert len(KernelContent(file, CODECS["gzip"], max_ratio=10_000).read_at(0, 64 << 10)) == 64 << 10
    assert file.read <= 1 << 20


def test_what_reading_the_file_raises_is_raised():
    class Broken(MemorySource):
        def read_at(self, offset, length_bytes):
            raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        KernelContent(Broken(b"x"), CODECS["gzip"], max_ratio=10).read_at(0, 1)
