"""What meets a job at three in the morning, on a real Spark: compressed files, broken ones, a circular destination."""

import gzip
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.errors import SplitscanError
from splitscan.jobs import verify

SCHEMA = "id long, name string"


CONTENT = b"".join(b'%d,"n\n%d"\n' % (i, i * i) for i in range(5000))


@pytest.fixture
def gzipped(tmp_path):
    """A folder with one compressed file whose name does not say so."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_bytes(gzip.compress(CONTENT))
    return str(tmp_path / "in")


@pytest.mark.parametrize("block_size", ["2k", "128m"])
def test_compressed_files_are_read_wherever_spark_meets_them(spark, gzipped, tmp_path, block_size):
    scan = ss.scan_csv(gzipped, SCHEMA, multiLine=True, blockSize=block_size)
    ss.register(spark)
    reader = spark.read.format("splitscan").schema(SCHEMA).option("recordFormat", "csv").option("multiLine", True)
    expected = [(i, f"n\n{i * i}") for i in range(5000)]
    assert sorted(map(tuple, reader.option("blockSize", block_size).load(gzipped).collect())) == expected
    assert sorted(map(tuple, scan.to_spark(spark).collect())) == expected
    assert scan.count(spark) == 5000
    destination = str(tmp_path / "out")
    assert scan.ingest(spark, destination).rows == 5000
    assert sorted(map(tuple, spark.read.parquet(destination).collect())) == expected
    assert verify(destination, deep=True).ok
    assert scan.ingest(spark, destination).nothing_to_do


def test_an_ingest_of_a_file_that_breaks_off_publishes_nothing(spark, gzipped, tmp_path):
    path = f"{gzipped}/a.csv"
    Path(path).write_bytes(gzip.compress(CONTENT)[:-100])
    with pytest.raises(SplitscanError, match="truncated-container") as error:
        ss.scan_csv(gzipped, SCHEMA, multiLine=True).ingest(spark, str(tmp_path / "out"))
    assert path in str(error.value)
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_a_destination_inside_its_source_is_never_ingested(spark, tmp_path):
    (tmp_path / "a.csv").write_text("1,a\n2,b\n")
    destination = str(tmp_path / "out")

    def ingest():
        return ss.scan_csv(str(tmp_path), SCHEMA, recursiveFileLookup=True).ingest(spark, destination)

    assert ingest().rows == 2
    assert ingest().nothing_to_do
    (tmp_path / "b.csv").write_text("3,c\n")
    assert (ingest().rows, ingest().nothing_to_do) == (1, True)
    assert sorted(row.id for row in spark.read.parquet(destination).collect()) == [1, 2, 3]
    assert verify(destination, deep=True).ok


def test_a_copybook_of_ten_thousand_fields_is_ten_thousand_columns(spark, tmp_path):
    (tmp_path / "a.dat").write_bytes(b"\xf1\xf2\xf3" * 30_000)
    copybook = "       01 R.\n" + "".join(f"          05 F{number} PIC 9(3).\n" for number in range(10_000))
    reader = spark.read.format("splitscan").option("recordFormat", "cobol").option("copybook", copybook)
    frame = reader.load(str(tmp_path / "a.dat"))
    assert len(frame.columns) == 10_000
    assert [tuple(row) for row in frame.select("F0", "F9999").collect()] == [(123, 123)] * 3
    assert frame.count() == 3
