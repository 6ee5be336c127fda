"""A gigabyte of CSV with newlines in quotes, compressed: the known count and content, however the file is cut.

The content is one piece again and again, so that it is compressed once; the cuts never fall on the same places of it.
Each file is read with one block size as a DataFrame, and with another one by an ingest. ``SPLITSCAN_AT_SCALE=full``
reads all files, of a gigabyte each, with three block sizes both ways; ``SPLITSCAN_AT_SCALE=full:256`` files of 256 MB.
"""

import bz2
import os
import shutil
import struct
import zlib

import pytest
from backports import zstd
from bench.generated import CHUNK_RECORDS, SCHEMA, generated_batch, write_generated_csv

import splitscan as ss
from splitscan.scans.seek_index import IndexState, keep_seek_index

from .contents import content, generated_content

FULL, _, FULL_MB = os.environ.get("SPLITSCAN_AT_SCALE", "").partition(":")
pytestmark = [pytest.mark.large, pytest.mark.timeout(3600 if FULL else 1200)]

PIECE_BYTES = 60_000_000
OPTIONS = {"multi_line": True, "escape": '"'}


def bgzf_member(data):
    deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def cut(data, length):
    return (data[i : i + length] for i in range(0, len(data), length))


def one_gzip_member(piece, times):
    """What was flushed does not refer to what is before, so it can stand in one member again and again."""
    deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
    body = deflate.compress(piece) + deflate.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(times):
        checksum = zlib.crc32(piece, checksum)
    end = b"\x03\0" + struct.pack("<II", checksum, len(piece) * times % (1 << 32))
    return [b"\x1f\x8b\x08\0\0\0\0\0\0\xff", *[body] * times, end]


FILES = {
    "BGZF": ("gz", 17, lambda piece, times: [b"".join(map(bgzf_member, cut(piece, 60_000)))] * times),
    "zstd frames": ("zst", 17, lambda piece, times: [b"".join(map(zstd.compress, cut(piece, 2_000_000)))] * times),
    "indexed gzip": ("gz", 17, one_gzip_member),
    "bzip2": ("bz2", 4, lambda piece, times: [bz2.compress(piece)] * times),  # takes ten times as long as the others
}
CHOSEN = {  # of the DataFrame, and of the ingest
    "BGZF": [("1m", "16m")],
    "zstd frames": [("4m", "1m")],
    "indexed gzip": [("16m", "4m")],
    "bzip2": [("1m", "4m")],
}
BLOCK_SIZES = {kind: [(size, size) for size in ("1m", "4m", "16m")] if FULL else CHOSEN[kind] for kind in FILES}


@pytest.fixture(scope="module")
def piece(tmp_path_factory):
    """What is repeated, and the number of its records."""
    path = tmp_path_factory.mktemp("scale") / "generated.csv"
    records = write_generated_csv(path, PIECE_BYTES)
    assert records % CHUNK_RECORDS == 0
    yield path.read_bytes(), records
    path.unlink()


@pytest.fixture(scope="module")
def known(spark, piece):
    """The content of the piece by the generator alone."""
    return generated_content(spark, generated_batch, piece[1], SCHEMA)


@pytest.mark.parametrize("kind", FILES)
def test_a_large_compressed_file_has_the_known_content(spark, piece, known, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / "cache"))
    suffix, times, write = FILES[kind]
    if FULL:
        times = int(FULL_MB or 1000) * 1_000_000 // PIECE_BYTES + 1
    path = tmp_path / f"a.csv.{suffix}"
    with path.open("wb") as out:
        out.writelines(write(piece[0], times))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    expected = tuple(number * times for number in known)

    def scan(block_size):
        return ss.scan_csv(str(path), SCHEMA, block_size=block_size, **OPTIONS)

    if kind == "indexed gzip":
        file = scan("1m").files()[0]
        assert keep_seek_index(file, scan("1m").framing, scan("1m").options.files).state is IndexState.KEPT
    for of_frame, of_ingest in BLOCK_SIZES[kind]:
        assert FULL or len(scan(of_frame).plan()) > 4  # with the longest blocks a file may have fewer
        assert content(scan(of_frame).to_spark(spark)) == expected
        out = tmp_path / of_ingest
        report = scan(of_ingest).ingest(spark, str(out))
        assert (report.rows, report.rejects, report.accounted) == (expected[0], 0, True)
        assert content(spark.read.parquet(str(out))) == expected
        shutil.rmtree(out)
    path.unlink()
