"""Files that Hadoop writes: what is no block is damage, and what is one is told from text and from other codecs."""

import cramjam
import lz4.frame
import pytest

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.codecs.formats import CODECS, SIGNATURE_BYTES, promised_by, recognise
from splitscan.content.codecs.source import CompressedSource
from splitscan.content.codecs.tables import find_members
from splitscan.testing.faults import MemorySource

from .hadoop_files import RAW, block, hadoop, number

CONTENT = b"".join(b"%d,%d\n" % (i, i * i) for i in range(500))
SUFFIXES = {"hadoop-snappy": ".snappy", "hadoop-lz4": ".lz4"}
codecs = pytest.mark.parametrize("codec", RAW)


def read(data, codec, point=None):
    source = CompressedSource(MemorySource(data), CODECS[codec], point, max_ratio=10_000)
    return source.read_at(0 if point is None else point.content_offset, 1 << 30)


def recognised(data, name):
    codec = recognise(data[:SIGNATURE_BYTES], promised_by(name))
    return None if codec is None else codec.name


@pytest.mark.thin(8)
@codecs
@pytest.mark.parametrize("chunk_bytes", [1, 7, 100, 4000])
@pytest.mark.parametrize("block_bytes", [1, 9, 1000, 10_000])
def test_blocks_and_chunks_of_any_size_are_read(codec, block_bytes, chunk_bytes):
    data = hadoop(codec, CONTENT, block_bytes, chunk_bytes)
    assert recognised(data, "a" + SUFFIXES[codec]) == codec
    assert read(data, codec) == CONTENT


@codecs
def test_an_empty_file_is_a_block_of_nothing_and_files_may_follow_each_other(codec):
    empty, data = hadoop(codec, b""), hadoop(codec, CONTENT, 700)
    assert empty == bytes(4)
    for written, content in ((empty, b""), (empty * 2, b""), (empty + data + empty + data, CONTENT * 2)):
        assert recognised(written, "a" + SUFFIXES[codec]) == codec
        assert read(written, codec) == content
    assert recognised(bytes(64), "a" + SUFFIXES[codec]) is None  # a hole in a file


@pytest.mark.thin(30)
@codecs
@pytest.mark.parametrize("length", range(1, 60))
def test_a_file_that_breaks_off_early_is_still_known(codec, length):
    assert recognised(hadoop(codec, CONTENT)[:length], "a" + SUFFIXES[codec]) == codec


@codecs
@pytest.mark.parametrize(
    "wrong",
    [
        lambda codec: number(3) + number(0),
        lambda codec: number(3) + number(1 << 30) + b"abc",
        lambda codec: number(1 << 31) + block(codec, b"abc")[4:],
        lambda codec: number(2) + block(codec, b"abc")[4:],  # less than its chunk holds
        lambda codec: number(3) + number(4) + b"\xff\xff\xff\xff",
        lambda codec: b"none of it",
    ],
    ids=["no chunk", "a long chunk", "a long block", "a short block", "no raw block", "text"],
)
def test_what_is_no_block_is_damage(codec, wrong):
    before = block(codec, CONTENT)
    with pytest.raises(ContainerError) as error:
        read(before + wrong(codec) + before, codec)
    assert error.value.reason_code == "corrupt-container"


@codecs
def test_a_block_that_says_it_holds_more_than_its_chunks_breaks_off(codec):
    with pytest.raises(ContainerError, match="breaks off"):
        read(number(len(CONTENT) + 1) + block(codec, CONTENT)[4:], codec)


def test_snappy_is_entered_at_every_block_and_lz4_is_not():
    contents = [CONTENT[i : i + 300] for i in range(0, len(CONTENT), 300)]
    data = b"".join(block("hadoop-snappy", each, 77) for each in contents)
    table = find_members(MemorySource(data), CODECS["hadoop-snappy"], 1 << 20)
    assert [point.content_offset for point in table.points] == list(range(0, len(CONTENT), 300))
    for point in table.points[1:]:
        assert isinstance(point, SeekPoint)
        assert read(data, "hadoop-snappy", point) == CONTENT[point.content_offset :]
    for broken in (data[:-1], data + b"\0\0\1", data[:4] + number(1 << 20) + data[8:]):
        assert find_members(MemorySource(broken), CODECS["hadoop-snappy"], 1 << 20) is None
    assert find_members(MemorySource(hadoop("hadoop-lz4", CONTENT)), CODECS["hadoop-lz4"], 1 << 20) is None


TEXTS = ["id,name\n1,Ann\n2,Bob\n", '{"id": 0,\n "name": "n0"}\n{"id": 1}\n', "x^2,y^2\n1,4\n" * 9, "\n" * 16, "a" * 16,
         "0\n" * 40, "hC,8\n" * 4, "Привет;мир\n" * 5, "日本語,値\n" * 5, "\t\t\n" * 9]  # fmt: skip


@pytest.mark.thin(30)
@pytest.mark.parametrize("name", ["a.snappy", "a.lz4", "a.deflate"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "cp1251"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_under_the_name_of_a_codec_is_text(text, encoding, name):
    data = text.encode(encoding, "ignore")
    if len(data) >= 16:  # a shorter one may be a codec's that breaks off, and is an error then
        assert recognised(data, name) is None


def test_the_first_bytes_tell_which_of_two_codecs_a_name_means():
    assert recognised(bytes(cramjam.snappy.compress(CONTENT)), "a.snappy") == "snappy"
    assert recognised(lz4.frame.compress(CONTENT), "a.lz4") == "lz4"
    for codec in RAW:
        assert recognised(hadoop(codec, CONTENT), "a.csv") is None  # without a name that promises it
