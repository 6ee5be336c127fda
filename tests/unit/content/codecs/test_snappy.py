"""Framed snappy is entered at any of its chunks, where its headers say they are, and damage of any chunk is found."""

from itertools import accumulate, pairwise

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.blocks import Damage
from splitscan.content.codecs.content import DamagedStream
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.codecs.formats import SNAPPY
from splitscan.content.codecs.source import CompressedSource
from splitscan.content.codecs.tables import find_members
from splitscan.testing.faults import MemorySource

from .snappy_files import SIGNATURE, checksum_of, chunk, compressed, framed, plain

CONTENTS = [b"a" * 40, b"", b"0123456789", b"x", b"yes,no\n" * 30, b"z" * 3]
POINTLESS = st.one_of(
    st.just(SIGNATURE),
    st.builds(chunk, st.integers(0x80, 0xFE), st.binary(max_size=30)),
    st.sampled_from([plain(b""), compressed(b"")]),
)
CHUNKS = st.lists(
    st.one_of(
        POINTLESS.map(lambda data: (data, b"")),
        st.binary(max_size=40).map(lambda content: (plain(content), content)),
        st.binary(max_size=40).map(lambda content: (compressed(content * 3), content * 3)),
    ),
    max_size=8,
)


def table_of(data):
    return find_members(MemorySource(data), SNAPPY, 1)


def read(data, point, start, length):
    return CompressedSource(MemorySource(data), SNAPPY, point, max_ratio=10_000).read_at(start, length)


def read_parts(data, table):
    """What is read from point to point; ``None`` for what is damaged."""
    parts = []
    bounds = [*(point.content_offset for point in table.points), table.content_bytes]
    for point, (start, end) in zip(table.points, pairwise(bounds), strict=True):
        try:
            parts.append(read(data, point, start, end - start))
        except ContainerError:
            parts.append(None)
    return parts


@given(CHUNKS)
def test_every_chunk_that_holds_something_is_an_entry(chunks):
    data = SIGNATURE + b"".join(written for written, _ in chunks)
    contents = [content for _, content in chunks if content]
    table = table_of(data)
    content = bytes(cramjam.snappy.decompress(data))
    assert content == b"".join(contents)
    assert table.content_bytes == len(content)
    assert [point.content_offset for point in table.points] == [*accumulate(map(len, contents), initial=0)][:-1]
    assert read_parts(data, table) == contents
    for point in table.points:
        assert read(data, point, point.content_offset, len(content) + 1) == content[point.content_offset :]
        assert read(data, point, 0, 3) == content[:3]


@given(CHUNKS, st.data())
def test_parts_of_a_damaged_file_give_what_one_reading_gives_or_fail_as_it_does(chunks, drawn):
    data = bytearray(SIGNATURE + b"".join(written for written, _ in chunks))
    for _ in range(drawn.draw(st.integers(1, 3))):
        position = drawn.draw(st.integers(0, len(data) - 1))
        data[position : position + drawn.draw(st.integers(0, 2))] = drawn.draw(st.binary(max_size=2))
        data = data or bytearray(SIGNATURE)
    table = table_of(bytes(data))
    if table is None or not table.points:
        return
    parts = read_parts(bytes(data), table)
    try:
        whole = read(bytes(data), None, 0, table.content_bytes + 1)
    except ContainerError:
        assert None in parts
    else:
        assert b"".join(parts) == whole


def test_damage_before_the_first_content_is_found_by_whoever_reads_that():
    data = SIGNATURE + chunk(0x01, b"sums") + plain(b"abc") + plain(b"def")
    assert read_parts(data, table_of(data)) == [None, b"def"]


def test_a_file_that_breaks_off_inside_a_chunk_has_no_table():
    data = framed(CONTENTS)
    ends = {0, *accumulate(map(len, pieces(data)))}
    for length in range(len(data) + 1):
        assert (table_of(data[:length]) is not None) == (length in ends), length


def pieces(data):
    """The chunks of a file."""
    found = []
    while data:
        length = 4 + int.from_bytes(data[1:4], "little")
        found.append(data[:length])
        data = data[length:]
    return found


LONG = bytes(range(256)) * 257  # more than a chunk may hold


@pytest.mark.parametrize(
    "wrong",
    [
        chunk(0x02, b"abcd"),
        chunk(0x7F, b""),
        chunk(0xFF, b"sNaPpX"),
        chunk(0xFF, b"sNaPpY!"),
        chunk(0x00, b"abcd"),
        chunk(0x00, b"abcd\x80\x80"),
        chunk(0x00, b"abcd\x80\x80\x80\x80\x80\x00"),
        chunk(0x01, b"abc"),
        bytes(20),
        plain(LONG),
        compressed(LONG),
    ],
    ids=["reserved", "the last reserved", "other stream", "long identifier", "no length", "endless length",
         "length of six bytes", "no checksum", "zeros", "long plain", "long compressed"],
)  # fmt: skip
def test_what_is_no_chunk_is_not_believed_and_fails(wrong):
    data = SIGNATURE + compressed(b"abc") + wrong + plain(b"def")
    assert table_of(data) is None
    with pytest.raises(ContainerError):
        read(data, None, 0, 100)


def test_a_length_that_is_longer_than_it_has_to_be_is_left_to_the_decoder():
    raw = bytes(cramjam.snappy.compress_raw(b"abc"))
    for more in (b"\x83\x80\x00", b"\x83\x80\x80\x80\x00", b"\x83\x80\x80\x80\x80\x00"):
        data = SIGNATURE + plain(b"x") + chunk(0x00, checksum_of(b"abc") + more + raw[1:])
        assert (table_of(data) is not None) == (len(more) <= 5)
        assert read(data, None, 0, 9) == b"xabc"


class Counting(MemorySource):
    """Counts what is read of it."""

    read_bytes = 0

    def read_at(self, offset, length_bytes):
        found = super().read_at(offset, length_bytes)
        self.read_bytes += len(found)
        return found


@pytest.mark.parametrize("place", ["kind", "identifier", "checksum", "end", "cut", "cut in the header"])
def test_damage_is_that_of_a_chunk_and_is_found_in_one_reading(place):
    before, hit, behind = SIGNATURE + plain(b"abc") + chunk(0x80, b"?"), compressed(b"def" * 9), plain(b"ghi")
    data = {
        "kind": b"\x33\xff\xff\xff" + behind,  # nobody waits for the rest
        "identifier": chunk(0xFF, b"sNaPpX") + behind,
        "checksum": hit[:5] + bytes((hit[5] ^ 1,)) + hit[6:] + behind,
        "end": hit[:-1] + bytes((hit[-1] ^ 1,)) + behind,
        "cut": hit[:-1],
        "cut in the header": hit[:3],
    }[place]
    code = "truncated-container" if place.startswith("cut") else "corrupt-container"
    file = Counting(before + data)
    stream = DamagedStream(file, SNAPPY, max_ratio=10)
    assert (stream.read(), stream.read()) == (b"abc", b"")
    assert stream.damage == Damage(code, len(before), 3, len(data))
    assert file.read_bytes == len(before + data)
    with pytest.raises(ContainerError) as error:
        read(before + data, None, 0, 100)
    assert error.value.reason_code == code
    assert dict(error.value.where.notes) == {"codec": "snappy", "content": "byte 3"}
    assert len(before) < error.value.where.offset <= len(before + data)


def test_headers_are_found_in_few_reads_however_far_apart_they_are():
    chunks = [compressed(b"a" * 50_000), *([chunk(0xFE, bytes(3 << 20)), plain(b"b" * 60_000)] * 5)]
    file = MemorySource(SIGNATURE + b"".join(chunks))
    reads = []
    read_at = file.read_at
    file.read_at = lambda offset, length: reads.append(offset) or read_at(offset, length)
    table = find_members(file, SNAPPY, 1)
    assert table.content_bytes == 350_000
    assert len(reads) <= file.size_bytes // (4 << 20) + 6
    assert all(left < right for left, right in pairwise(reads))
