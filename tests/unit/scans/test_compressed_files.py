"""Compressed files give what the files would give that were compressed, whatever reads them."""

import bz2
import gzip
import logging
import lzma
import zlib

import cramjam
import lz4.frame
import pytest
from backports import zstd

import splitscan as ss
from splitscan.errors import SourceError, SplitscanError, UsageError
from splitscan.testing.scan_laws import read_block

from ..content.codecs.hadoop_files import hadoop

COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": zstd.compress,
    "lz4": lz4.frame.compress,
    "sz": lambda data: bytes(cramjam.snappy.compress(data)),
    "deflate": zlib.compress,
    "raw.deflate": lambda data: zlib.compress(data, wbits=-15),
    "snappy": lambda data: hadoop("hadoop-snappy", data, 5000, 1777),
    "hadoop.lz4": lambda data: hadoop("hadoop-lz4", data, 5000, 1777),
}
CSV = b"id,name\n" + b"".join(b'%d,"%s\n%d"\n' % (i, b"x" * (i % 7), i * i) for i in range(999))
JSON = b"".join(b'{"id": %d,\n "name": "n%d"}\n' % (i, i) for i in range(999))
LINES = b"".join(b"line \\\n%d\n" % i for i in range(999)) + b"the last has no end"
BOOK = """
       01 R.
          05 K PIC X.
          05 A.
             10 N PIC 9(3).
          05 B REDEFINES A.
             10 T PIC X(2).
"""
KINDS = {
    "segment_field": "K", "redefine_segment_id_map": "A => a; B => b", "segment_children": "A => B",
}  # fmt: skip
ROWS = [f"a{i:03}".encode() for i in range(999)]
HEADED = [len(row).to_bytes(2, "big") + b"\0\0" + row for row in ROWS]
BLOCKS = [b"".join(HEADED[i : i + 40]) for i in range(0, 999, 40)]
SPANS = [b"\0\2\1\0" + row[:2] + b"\0\2\2\0" + row[2:] for row in ROWS]


def cobol(path, **options):
    return ss.scan_cobol(path, BOOK, encoding="ascii", **options)


FAMILIES = b"".join(row + b"\0\3\0\0bxy" for row in HEADED)
PAGES = b"\n".join(
    b'{"page":%d,"items":[{"id":%d,"b":"]}"},\n{"id":%d}],"more":{"items":[7]}}' % (i, i, -i) for i in range(500)
)
LOG = b"lost\n" + b"".join(b"%d one\n  two\n" % i for i in range(999))
W3C = b"".join(b"#Version: 1.0\r\n#Fields: a cs-bytes\r\n%d 7\r\n" % i for i in range(999))
SCANS = {
    "cobol F": (b"".join(ROWS), cobol),
    "cobol V": (b"".join(HEADED), lambda path, **o: cobol(path, recfm="V", **o)),
    "cobol V, spanned": (b"".join(SPANS), lambda path, **o: cobol(path, recfm="V", **o)),
    "cobol V with children": (FAMILIES, lambda path, **o: cobol(path, recfm="V", **KINDS, **o)),
    "cobol F with children": (b"".join(row + b"bxy?" for row in ROWS), lambda path, **o: cobol(path, **KINDS, **o)),
    "cobol VB": (
        b"".join(len(block).to_bytes(2, "big") + b"\0\0" + block for block in BLOCKS),
        lambda path, **o: cobol(path, recfm="VB", **o),
    ),
    "cobol D": (b"\n".join(ROWS), lambda path, **o: cobol(path, recfm="D", **o)),
    "log": (LOG, lambda path, **o: ss.scan_log(path, record_start="[0-9]", **o)),
    "log of w3c": (W3C, lambda path, **o: ss.scan_log(path, log_format="w3c", **o)),
    "json below a path": (
        PAGES,
        lambda path, **o: ss.scan_json(
            path, "id int, page int", record_path="$.items[*]", record_path_columns="$.page", **o
        ),
    ),
    "variants": (b'{"a":[1,{}]}\n7\n' * 500, lambda path, **o: ss.scan_json(path, single_variant_column="v", **o)),
    "variant columns": (
        b'{"a":[1,{}],"b":{"x":null}}\n{"a":NaN}\n' * 500,
        lambda path, **o: ss.scan_json(path, "a variant, b struct<x: variant>", **o),
    ),
    "variants of csv": (CSV, lambda path, **o: ss.scan_csv(path, header=True, single_variant_column="v", **o)),
    "csv": (CSV, lambda path, **options: ss.scan_csv(path, header=True, **options)),
    "csv with a schema": (CSV, lambda path, **o: ss.scan_csv(path, "id long, name string", header=True, **o)),
    "csv with newlines": (
        CSV,
        lambda path, **o: ss.scan_csv(path, header=True, multiLine=True, escape='"', inferSchema=True, **o),
    ),
    "csv in UTF-16": (
        CSV.decode().encode("utf-16"),
        lambda path, **o: ss.scan_csv(path, header=True, encoding="UTF-16", **o),
    ),
    "lines": (LINES, ss.scan_text),
    "escaped lines": (LINES, lambda path, **options: ss.scan_text(path, escape="\\", **options)),
    "json": (JSON, lambda path, **options: ss.scan_json(path, multiLine=True, **options)),
    "json lines": (JSON.replace(b"\n ", b""), ss.scan_json),
    "fixed": (LINES, lambda path, **options: ss.scan_fixed(path, record_length=7, **options)),
}
METADATA = ["record_offset", "record_length"]


def write_both(folder, data, suffix):
    plain, packed = folder / "plain" / "a.dat", folder / "packed" / f"a.{suffix}"
    for path, content in ((plain, data), (packed, COMPRESS[suffix](data))):
        path.parent.mkdir()
        path.write_bytes(content)
    return str(plain), str(packed)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("name", SCANS)
def test_every_format_reads_every_codec(tmp_path, name, suffix):
    data, scan_of = SCANS[name]
    plain, packed = (
        scan_of(path, metadata_columns=METADATA, block_size=2000) for path in write_both(tmp_path, data, suffix)
    )
    expected = plain.to_arrow()
    assert expected.num_rows > 700
    assert packed.schema == plain.schema
    assert packed.to_arrow().equals(expected)
    assert packed.count() == plain.count() == expected.num_rows
    assert packed.limit(3).to_arrow().to_pylist() == expected.to_pylist()[:3]
    results = [read_block(packed, block) for block in packed.plan()]
    assert [row for result in results for row in result.rows] == expected.to_pylist()
    assert [result.report.span_start for result in results[1:]] == [r.report.span_stop for r in results[:-1]]
    last = results[-1].report
    assert (results[0].report.span_start, last.span_stop, last.content_bytes) == (0, len(data), len(data))


@pytest.mark.thin(2)
@pytest.mark.parametrize("reader", ["rows", "count"])
@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_every_mode_judges_the_content(tmp_path, mode, reader):
    plain, packed = write_both(tmp_path, CSV.replace(b"77,", b"seven,"), "gz")

    def read(path):
        scan = ss.scan_csv(path, "id long, name string", header=True, mode=mode)
        try:
            return scan.count() if reader == "count" else scan.to_arrow().to_pylist()
        except SplitscanError as error:
            return error.reason_code, error.where.offset

    assert read(packed) == read(plain)


def test_the_first_bytes_decide_and_a_name_that_lies_is_told(tmp_path, caplog):
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"1,a\n2,b\n"))
    (tmp_path / "b.csv.gz").write_bytes(b"3,c\n4,d\n")
    (tmp_path / "c.csv.gz").write_bytes(zstd.compress(b"5,e\n"))
    with caplog.at_level(logging.WARNING, "splitscan"):
        rows = ss.scan_csv(str(tmp_path), "id long, name string").to_arrow().to_pylist()
    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5]
    for told in (
        "a.csv is a gzip file, though it is named like a file that is not",
        "b.csv.gz is not compressed, though it is named like a gzip file",
        "c.csv.gz is a zstd file, though it is named like a gzip file",
    ):
        assert told in caplog.text


def test_a_codec_that_was_said_must_be_that_of_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(b"1,a\n"))
    scan = ss.scan_csv(str(path), "id long, name string", sourceCompression="gzip")
    assert scan.count() == 1
    with pytest.raises(SourceError, match="other-codec") as error:
        ss.scan_csv(str(path), "id long, name string", source_compression="zstd").count()
    assert "sourceCompression=zstd" in str(error.value)
    with pytest.raises(SourceError, match="compressed-input"):
        ss.scan_csv(str(path), "id long, name string", source_compression="none").count()


@pytest.mark.parametrize(
    "scan",
    [
        lambda path: ss.scan_fixed(path, record_length=7, block_size=64, source_compression="none"),
        lambda path: ss.scan_slices(path, slice_size=10, block_size=64),
        lambda path: ss.scan(path, ss.FixedBytesReaderContext(7), block_size=64),
    ],
    ids=["fixed", "slices", "context"],
)
def test_who_wants_the_bytes_of_a_compressed_file_gets_them(tmp_path, scan):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(CSV))
    assert b"".join(scan(str(path)).to_arrow()["value"].to_pylist()) == path.read_bytes()


def test_a_codec_is_not_said_for_readers_that_get_the_bytes(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(CSV))
    scan = ss.scan(str(path), ss.FixedBytesReaderContext(7), source_compression="gzip")
    with pytest.raises(UsageError, match="bad-option") as error:
        scan.to_arrow()
    assert "sourceCompression=gzip" in str(error.value)


def test_records_of_any_bytes_are_not_taken_for_a_compressed_file_by_their_first_bytes_alone(tmp_path):
    path = tmp_path / "a.dat"
    path.write_bytes(gzip.compress(CSV))
    assert b"".join(ss.scan_fixed(str(path), record_length=7).to_arrow()["value"].to_pylist()) == path.read_bytes()


@pytest.mark.parametrize(
    "data",
    [gzip.compress(gzip.compress(CSV)), b"PK\x03\x04 and so on"],
    ids=["twice", "zip"],
)
def test_containers_that_are_not_read_are_refused(tmp_path, data):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(data)
    for read in (ss.scan_text(str(path)).to_arrow, ss.scan_text(str(path)).count):
        with pytest.raises(SourceError, match="compressed-input"):
            read()


@pytest.mark.parametrize("block_size", [64, "128m"])
@pytest.mark.parametrize("scan", ["context", "line"])
def test_text_readers_that_read_bytes_refuse_them(tmp_path, scan, block_size):
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(CSV))
    with pytest.raises(SourceError, match="compressed-input"):
        ss.scan(str(path), ss.ReadAheadLineReaderContext(), block_size=block_size).to_arrow()


@pytest.mark.slow
@pytest.mark.parametrize("read", ["rows", "count"])
@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_file_that_breaks_off_says_where_and_how_many_rows_came_before(tmp_path, suffix, read):
    content = b"".join(b"%d,%d\n" % (i, i * i % 99991) for i in range(600_000))
    packed = COMPRESS[suffix](content)
    path = tmp_path / f"a.csv.{suffix}"
    path.write_bytes(packed[: len(packed) - 10])
    scan = ss.scan_csv(str(path), "a long, b long", read_bytes="1m")
    with pytest.raises(SourceError, match="truncated-container") as error:
        scan.count() if read == "count" else scan.to_arrow()
    where = error.value.where
    assert where.path == str(path)
    assert len(packed) - 10 >= where.offset > len(packed) / 2
    notes = dict(where.notes)
    assert len(content) / 2 < int(notes["content"].removeprefix("byte ")) <= len(content)
    assert where.row is not None
    assert 0 < where.row <= 600_000
    assert f"row {where.row}" in str(error.value)
