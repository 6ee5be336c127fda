"""Bytes that are no text never become rows of text, whatever the format, the name of the file and the codec around."""

import gzip
import random
import zlib

import pytest

import splitscan as ss
from splitscan.errors import SourceError

from ..content.codecs.hadoop_files import hadoop

DATA = random.Random(5).randbytes(20_000)
LAYOUT = "a 1 5, b 6 5"
SCANS = {
    "text": ss.scan_text,
    "csv": lambda path, **options: ss.scan_csv(path, "a string, b string", **options),
    "csv with a header": lambda path, **options: ss.scan_csv(path, header=True, **options),
    "csv with newlines": lambda path, **options: ss.scan_csv(path, "a string", multiLine=True, **options),
    "json": lambda path, **options: ss.scan_json(path, "a string", **options),
    "json over many lines": lambda path, **options: ss.scan_json(path, "a string", multiLine=True, **options),
    "xml": lambda path, **options: ss.scan_xml(path, row_tag="row", schema="a string", **options),
    "fixed width": lambda path, **options: ss.scan_fixed_width(path, layout=LAYOUT, **options),
    "fixed width by length": lambda path, **o: ss.scan_fixed_width(path, layout=LAYOUT, record_length=10, **o),
}
scans = pytest.mark.parametrize("scan", SCANS)


@pytest.mark.thin(10)
@scans
@pytest.mark.parametrize("name", ["a.dat", "a.csv", "a.snappy", "a.lz4", "a.deflate", "a.csv.gz", "a.br"])
@pytest.mark.parametrize("read", ["count", "to_arrow"])
def test_bytes_that_are_no_text_are_refused(tmp_path, scan, name, read):
    path = tmp_path / name
    path.write_bytes(gzip.compress(DATA) if name.endswith(".gz") else DATA)
    with pytest.raises(SourceError) as error:
        getattr(SCANS[scan](str(path), block_size=1000), read)()
    assert error.value.reason_code == "not-text"
    assert error.value.where.offset == 0


@scans
@pytest.mark.parametrize("encoding", ["UTF-16", "ISO-8859-1"])
def test_another_encoding_is_no_way_around_it(tmp_path, scan, encoding):
    if encoding == "UTF-16" and scan in {"fixed width by length", "json over many lines"}:
        pytest.skip("of single bytes alone")
    path = tmp_path / "a.dat"
    path.write_bytes(DATA)
    with pytest.raises(SourceError, match="not-text"):
        SCANS[scan](str(path), encoding=encoding).to_arrow()


def test_records_of_any_bytes_may_be_any_bytes(tmp_path):
    path = tmp_path / "a.dat"
    path.write_bytes(DATA)
    assert ss.scan_fixed(str(path), record_length=10).count() == 2000
    assert ss.scan_slices(str(path), slice_size=10).count() == 2000
    packed = ss.scan_fixed_width(str(path), layout="a 1 5 binary, b 6 5 binary", record_length=10)
    assert packed.to_arrow()["a"].to_pylist()[0] == DATA[:5]


@pytest.mark.parametrize(
    ("said", "data"),
    [
        ("deflate", zlib.compress(b"1\n2\n" * 900)),
        ("deflate", zlib.compress(b"1\n2\n" * 900, wbits=-15)),
        ("snappy", hadoop("hadoop-snappy", b"1\n2\n" * 900)),
        ("lz4", hadoop("hadoop-lz4", b"1\n2\n" * 900)),
    ],
)
def test_what_the_error_advises_helps(tmp_path, said, data):
    """A codec that is known by the name alone is read under any name once it is said."""
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    scan = ss.scan_text(str(path), source_compression=said, block_size=len(data) // 3)
    assert scan.count() == scan.to_arrow().num_rows == 1800
    assert len(scan.plan()) >= 1
    with pytest.raises(SourceError, match="other-codec"):
        ss.scan_text(str(path), source_compression="gzip").count()


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"\x1f\x9d\x90a\x04", "compress"), (b"\x89LZO\0\r\n\x1a\n", "lzop"), (b"\x82SNAPPY\0", "snappy-java")],
)
def test_containers_that_are_not_read_are_named(tmp_path, data, kind):
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=rf"\[compressed-input\](?s:.)*seen: +{kind}"):
        ss.scan_text(str(path)).count()
