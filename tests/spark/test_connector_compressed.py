"""Compressed files by the connector: the rows of Python, wherever they are cut, and what it says of damage."""

import gzip
import io
import os
import random
import struct
import zlib
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import splitscan as ss
from splitscan.content.codecs.gzip import index_gzip
from splitscan.content.kept import SeekStore
from splitscan.content.storage import open_source
from splitscan.errors import SourceError
from splitscan.spark.choice import why_python
from splitscan.spark.connector import connector_jar

pytestmark = pytest.mark.skipif(connector_jar() is None, reason="the connector was not built")

_SCHEMA = "id long, note string, more string"
_LONG_AGO = 1_600_000_000


def _frame(scan: ss.Scan, spark: SparkSession) -> DataFrame:
    assert why_python(scan, spark) is None
    frame = scan.to_spark(spark)
    assert "BatchScan splitscan" in frame._jdf.queryExecution().toString()
    return frame


def _quoted(chance: random.Random, records: int) -> bytes:
    """Records over several lines, whose lines mostly tell where records begin."""
    notes = ["x", "", '"a\nb"', '"\n\n"', '"q""\n""q"', '"say, ""no"""', "é"]
    return b"".join(f"{i},{chance.choice(notes)},{chance.choice(notes)}\n".encode() for i in range(records))


def _bare(chance: random.Random, records: int) -> bytes:
    """Records whose lines never tell: quotes are rare, and over many lines."""
    lines = [f"{i},{'x' * chance.randint(0, 20)},y\n" for i in range(records)]
    for at in range(records // 3, records, records // 3):
        lines[at] = f'{at},"{"".join(lines[at : at + 50])}",z\n'
    return "".join(lines).encode()


def _single(data: bytes) -> bytes:
    return gzip.compress(data)


def _members(data: bytes) -> bytes:
    return b"".join(gzip.compress(data[i : i + 70_000]) for i in range(0, len(data), 70_000))


def _bgzf(data: bytes) -> bytes:
    members = []
    for i in range(0, len(data), 30_000):
        content = data[i : i + 30_000]
        body = zlib.compress(content, wbits=-15)
        head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
        members.append(head + body + struct.pack("<II", zlib.crc32(content), len(content)))
    return b"".join(members)


@pytest.mark.parametrize("pack", [_single, _members, _bgzf])
@pytest.mark.parametrize("write", [_quoted, _bare])
@pytest.mark.parametrize("header", [False, True])
def test_shares_of_a_file_have_its_rows(
    spark: SparkSession,
    tmp_path: Path,
    pack: Callable[[bytes], bytes],
    write: Callable[[random.Random, int], bytes],
    header: bool,
) -> None:
    data = b"id,note,more\n" * header + write(random.Random(header), 30_000)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(pack(data))
    options: dict[str, Any] = {"header": header, "multi_line": True, "escape": '"', "open_cost_in_bytes": 0}
    scan = ss.scan_csv(path, _SCHEMA, **options, block_size=path.stat().st_size // 5)
    frame = _frame(scan, spark)
    assert frame.rdd.getNumPartitions() > 1
    expected = [tuple(row.values()) for row in scan.to_arrow().to_pylist()]
    assert [tuple(row) for row in frame.collect()] == expected
    assert frame.count() == len(expected)
    assert frame.selectExpr("sum(id)").first() == (sum(row[0] for row in expected),)


def test_a_file_with_a_seek_index_is_entered_inside_members(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(_quoted(random.Random(5), 40_000)))
    os.utime(path, (_LONG_AGO, _LONG_AGO))
    scan = ss.scan_csv(path, _SCHEMA, multi_line=True, escape='"', open_cost_in_bytes=0, block_size=50_000)
    expected = [tuple(row.values()) for row in scan.to_arrow().to_pylist()]
    (file,) = scan.files()
    table = index_gzip(io.BytesIO(path.read_bytes()), file.size_bytes, spacing_bytes=70_000)
    assert table is not None
    with closing(open_source(str(path))) as source:
        assert SeekStore().save(source, file, "gzip", table)
    scan = ss.scan_csv(path, _SCHEMA, multi_line=True, escape='"', open_cost_in_bytes=0, block_size=50_000)
    assert any(block.seek is not None and block.seek.state for block in scan.plan())
    assert [tuple(row) for row in _frame(scan, spark).collect()] == expected


@pytest.mark.parametrize("write", [_quoted, _bare])
def test_a_task_goes_on_from_one_share_to_the_next(
    spark: SparkSession, tmp_path: Path, write: Callable[[random.Random, int], bytes]
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.csv.gz").write_bytes(gzip.compress(write(random.Random(number), 5000)))
    block_size = (tmp_path / "0.csv.gz").stat().st_size // 4
    options: dict[str, Any] = {"multi_line": True, "escape": '"', "block_size": block_size}
    scan = ss.scan_csv(tmp_path, _SCHEMA, **options, metadata_columns="record_offset,file_name")
    assert any(two.start == one.stop for task in scan.plan_tasks(2) for one, two in pairwise(task))
    expected = [tuple(row.values()) for row in scan.to_arrow().to_pylist()]
    frame = _frame(scan, spark)
    assert sorted(map(tuple, frame.collect()), key=repr) == sorted(expected, key=repr)
    assert frame.count() == len(expected)


def test_a_limit_reads_the_beginning_alone(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    lines = b"".join(b"%d,%d,x\n" % (i, i * i) for i in range(600_000))
    path.write_bytes(gzip.compress(lines)[:-1000])
    frame = _frame(ss.scan_csv(path, _SCHEMA, dialect="spark"), spark)
    assert [row.id for row in frame.limit(10).collect()] == list(range(10))
    ss.register(spark)
    read = spark.read.format("splitscan").option("recordFormat", "csv").option("dialect", "spark").schema(_SCHEMA)
    assert [row.id for row in read.load(str(path)).limit(10).collect()] == list(range(10))
    with pytest.raises(Exception, match="truncated-container"):
        frame.count()


@pytest.mark.parametrize("damage", ["cut", "flipped", "followed"])
def test_damage_is_said_as_python_says_it(spark: SparkSession, tmp_path: Path, damage: str) -> None:
    data = gzip.compress(b"".join(b"%d,%d,x\n" % (i, i * i) for i in range(200_000)))
    half = len(data) // 2
    data = {
        "cut": data[:half],
        "flipped": data[:-6] + bytes([data[-6] ^ 1]) + data[-5:],
        "followed": data + b"no member",
    }[damage]
    path = tmp_path / "a.csv.gz"
    path.write_bytes(data)
    scan = ss.scan_csv(path, _SCHEMA, dialect="spark", batch_rows=1000)
    with pytest.raises(SourceError) as expected:
        scan.to_arrow()
    with pytest.raises(Exception, match="container") as said:
        _frame(scan, spark).collect()
    for line in str(expected.value).splitlines():
        if not line.startswith("  seen:  IsalError"):
            assert line in str(said.value)


def test_what_compressed_files_hold_is_limited(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"x" * (290 << 20)))
    scan = ss.scan_text(path, max_decompression_ratio=100, max_record_bytes=1000)
    with pytest.raises(Exception, match=r"maxDecompressionRatio=100 (.|\n)*\[decompression-bomb\]"):
        _frame(scan, spark).collect()


def test_values_around_records_of_compressed_files_are_found_by_python(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b'{"data": [{"a": 1}, {"a": 2}], "n": 7}'))
    scan = ss.scan_json(path, "a long", record_path="$.data[*]", record_path_columns="$.n as n int", block_size=20)
    assert "is compressed in gzip" in str(why_python(scan, spark))
    assert [tuple(row) for row in scan.to_spark(spark).collect()] == [(1, 7), (2, 7)]
