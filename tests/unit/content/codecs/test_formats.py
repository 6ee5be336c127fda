"""Compressed files are known by their first bytes, and text is never taken for one."""

import bz2
import gzip
import io
import lzma
import zipfile

import cramjam
import pyarrow as pa
import pytest

from splitscan.content.codecs.formats import SIGNATURE_BYTES, container_of, named_after


def zipped(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.csv", data)
    return file.getvalue()


def packed(codec):
    return lambda data: pa.compress(data, codec=codec, asbytes=True)


def lz4_frame(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def framed_snappy(data):
    return bytes(cramjam.snappy.compress(data)) or b"\xff\x06\x00\x00sNaPpY"


COMPRESSIONS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": packed("zstd"),
    "lz4": lz4_frame,
    "snappy": framed_snappy,
    "zip": zipped,
}


@pytest.mark.parametrize("data", [b"", b"id,name\n1,a\n", b"x" * 100_000], ids=["nothing", "little", "much"])
@pytest.mark.parametrize("name", COMPRESSIONS)
def test_what_common_tools_write_is_recognised(name, data):
    assert container_of(COMPRESSIONS[name](data)[:SIGNATURE_BYTES]) == name


@pytest.mark.parametrize("level", range(1, 10))
def test_bzip2_is_recognised_at_every_level(level):
    assert container_of(bz2.compress(b"text", level)) == "bzip2"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x1f",
        b"\x1f\x8b",
        b"BZh",
        b"BZh9,BZh8\n",
        b"PK,name\n",
        b"PK\n",
        b"7zip,name\n",
        b"id,name\n",
        b"\xef\xbb\xbfid",
        "id,name\n".encode("utf-16"),
        b"\n\x1f\x8b\x08",
    ],
)
def test_text_is_not_taken_for_a_compressed_file(head):
    assert container_of(head) is None


@pytest.mark.parametrize(("frame", "name"), [("zstd", "zstd"), ("lz4", "lz4")])
def test_a_file_that_begins_with_a_skippable_frame_is_told_by_the_frame_behind_it(frame, name):
    head = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc" + COMPRESSIONS[frame](b"text")
    assert container_of(head[:SIGNATURE_BYTES]) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/a.csv.gz", "gzip"),
        ("s3://b/A.CSV.GZ", "gzip"),
        ("a.bgz", "gzip"),
        ("a.zst", "zstd"),
        ("a.bz2", "bzip2"),
        ("a.xz", "xz"),
        ("a.lz4", "lz4"),
        ("a.sz", "snappy"),
        ("a.csv", None),
        ("gz", None),
    ],
)
def test_names_promise_codecs(path, name):
    promised = named_after(path)
    assert (None if promised is None else promised.name) == name
