"""What meets a job at three in the morning, on a real Spark: compressed files, a destination inside its source."""

import gzip
import os

import pytest

import splitscan as ss
from splitscan.errors import SourceError
from splitscan.ingest import verify

SCHEMA = "id long, name string"


@pytest.fixture
def gzipped(tmp_path):
    """A folder with one compressed file whose name does not say so."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_bytes(gzip.compress(os.urandom(500).hex().encode() + b"\n1,a\n"))
    return str(tmp_path / "in")


@pytest.mark.parametrize("multi_line", [False, True], ids=["lines", "newlines in quotes"])
@pytest.mark.parametrize("path", ["data source", "scan", "count", "ingest"])
def test_compressed_files_are_refused_wherever_spark_meets_them(spark, gzipped, tmp_path, path, multi_line):
    scan = ss.scan_csv(gzipped, SCHEMA, multiLine=multi_line, blockSize=64)
    ss.register(spark)
    reader = spark.read.format("splitscan").schema(SCHEMA).option("recordFormat", "csv").option("blockSize", "64")
    work = {
        "data source": lambda: reader.option("multiLine", multi_line).load(gzipped).collect(),
        "scan": lambda: scan.to_spark(spark).collect(),
        "count": lambda: scan.count(spark),
        "ingest": lambda: scan.ingest(spark, str(tmp_path / "out")),
    }[path]
    with pytest.raises(Exception, match=r"\[compressed-input\]") as error:
        work()
    assert f"{gzipped}/a.csv" in str(error.value)
    assert not (tmp_path / "out").exists()
    if path == "ingest":
        assert isinstance(error.value, SourceError)


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
