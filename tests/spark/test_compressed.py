"""Compressed files in parallel on a real Spark: scanned, counted, ingested and verified, whichever way they are cut."""

import bz2
import gzip
import struct
import zlib

import pytest
from backports import zstd

import splitscan as ss
from splitscan.errors import IngestError
from splitscan.jobs import verify

SCHEMA = "id long, name string"
ROWS = [(i, f"n\n{i * i}") for i in range(6000)]
CONTENT = b"".join(b'%d,"%s"\n' % (number, name.encode()) for number, name in ROWS)


def bgzf_member(content):
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = deflate.compress(content) + deflate.flush()
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(content), len(content))


def in_pieces(write, length):
    return b"".join(write(CONTENT[i : i + length]) for i in range(0, len(CONTENT), length))


FILES = {
    "one gzip stream": ("a.csv.gz", lambda: gzip.compress(CONTENT), 4),
    "BGZF": ("a.csv.gz", lambda: in_pieces(bgzf_member, 5000), 10),
    "zstd frames": ("a.csv.zst", lambda: in_pieces(zstd.compress, 7000), 8),
    "bzip2": ("a.csv.bz2", lambda: in_pieces(bz2.compress, 9000), 6),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_compressed_file_is_read_by_several_tasks(spark, tmp_path, kind):
    name, write, least_blocks = FILES[kind]
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / name
    path.write_bytes(write())
    (tmp_path / "in" / "b.csv").write_bytes(b"-1,plain\n")
    expected = [(-1, "plain"), *ROWS]
    block_size = path.stat().st_size // least_blocks
    scan = ss.scan_csv(str(tmp_path / "in"), SCHEMA, multiLine=True, block_size=block_size)
    assert len(scan.plan()) > least_blocks
    frame = scan.to_spark(spark)
    assert frame.rdd.getNumPartitions() >= 2
    assert sorted(map(tuple, frame.collect())) == expected
    ss.register(spark)
    reader = spark.read.format("splitscan").schema(SCHEMA).option("recordFormat", "csv").option("multiLine", True)
    loaded = reader.option("blockSize", str(block_size)).load(str(tmp_path / "in"))
    assert sorted(map(tuple, loaded.collect())) == expected
    assert scan.count(spark) == len(expected)
    destination = str(tmp_path / "out")
    assert scan.ingest(spark, destination).rows == len(expected)
    assert sorted(map(tuple, spark.read.parquet(destination).collect())) == expected
    checked = verify(destination, deep=True)
    assert checked.ok
    assert checked.digests_checked > least_blocks
    assert scan.ingest(spark, destination).nothing_to_do


def test_a_damaged_file_fails_or_gives_what_comes_before_its_damage(spark, tmp_path):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.csv.gz"
    packed = gzip.compress(CONTENT)
    path.write_bytes(packed[: len(packed) // 2])
    block_size = len(packed) // 8
    failing = ss.scan_csv(str(tmp_path / "in"), SCHEMA, multiLine=True, block_size=block_size)
    with pytest.raises(Exception, match="truncated-container") as error:
        failing.to_spark(spark).collect()
    assert f"byte {len(packed) // 2}, row " in str(error.value)
    assert "content=byte " in str(error.value)
    with pytest.raises(IngestError, match="truncated-container") as error:
        failing.ingest(spark, str(tmp_path / "out"))
    assert ", row " in str(error.value)
    scan = ss.scan_csv(str(tmp_path / "in"), SCHEMA, multiLine=True, block_size=block_size, ignoreCorruptFiles=True)
    assert len(scan.plan()) == 4
    rows = sorted(map(tuple, scan.to_spark(spark).collect()))
    assert rows == ROWS[: len(rows)]
    assert 1000 < len(rows) < 5000
    assert scan.count(spark) == len(rows)
    report = scan.ingest(spark, str(tmp_path / "out"))
    assert (report.rows, report.files_damaged, report.rejects) == (len(rows), 1, 1)
    assert [note.code for note in verify(str(tmp_path / "out"), deep=True).notes] == ["source-damaged"]
