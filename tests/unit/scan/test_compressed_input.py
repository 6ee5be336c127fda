"""A compressed file of text is refused, whatever reads it: rows made of compressed bytes are worse than an error."""

import gzip

import pytest

import splitscan as ss
from splitscan.errors import SourceError

GZIPPED = gzip.compress(b"id,name\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(999)))

TEXT_SCANS = {
    "csv": lambda path, **options: ss.scan_csv(path, "id long, name string", **options),
    "csv with header": lambda path, **options: ss.scan_csv(path, "id long, name string", header=True, **options),
    "csv without a schema": ss.scan_csv,
    "csv with newlines": lambda path, **options: ss.scan_csv(path, "id long, name string", multiLine=True, **options),
    "csv in latin-1": lambda path, **options: ss.scan_csv(path, "a string", encoding="ISO-8859-1", **options),
    "lines": ss.scan_text,
    "lines in latin-1": lambda path, **options: ss.scan_text(path, encoding="ISO-8859-1", **options),
    "delimited": lambda path, **options: ss.scan_text(path, lineSep="||", **options),
    "json lines": lambda path, **options: ss.scan_json(path, "a string", **options),
    "json": lambda path, **options: ss.scan_json(path, "a string", multiLine=True, **options),
    "json without a schema": ss.scan_json,
    "line context": lambda path, **options: ss.scan(path, ss.ReadAheadLineReaderContext(), **options),
}
READERS = {
    "rows": lambda scan: scan.to_arrow(),
    "count": lambda scan: scan.count(),
    "first rows": lambda scan: scan.limit(3).to_arrow(),
    "plan and read": lambda scan: [scan.count_block(block) for block in scan.plan()],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", TEXT_SCANS)
def test_compressed_text_is_refused_and_the_error_says_which_file_and_what_to_do(tmp_path, name, reader):
    path = tmp_path / "a.csv"  # its name says nothing
    path.write_bytes(GZIPPED)
    with pytest.raises(SourceError) as error:
        READERS[reader](TEXT_SCANS[name](str(path), blockSize=64))
    assert error.value.reason_code == "compressed-input"
    assert all(word in str(error.value) for word in (str(path), "gzip", "decompress"))


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_no_mode_makes_records_of_compressed_bytes(tmp_path, mode):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(GZIPPED)
    scan = ss.scan_csv(str(path), "id long, name string", mode=mode)
    for read in (scan.to_arrow, scan.count):
        with pytest.raises(SourceError, match="compressed-input"):
            read()


@pytest.mark.parametrize(
    "scan",
    [
        lambda path: ss.scan_fixed(path, record_length=7, block_size=64),
        lambda path: ss.scan_slices(path, slice_size=10, block_size=64),
        lambda path: ss.scan(path, ss.FixedBytesReaderContext(7), block_size=64),
    ],
    ids=["fixed", "slices", "context"],
)
def test_formats_of_bytes_read_compressed_files_as_they_are(tmp_path, scan):
    path = tmp_path / "a.gz"
    path.write_bytes(GZIPPED)
    assert b"".join(scan(str(path)).to_arrow()["value"].to_pylist()) == GZIPPED


def test_text_that_is_only_named_like_a_compressed_file_is_read(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(b"1,a\n2,b\n")
    assert ss.scan_csv(str(path), "id long, name string").count() == 2
