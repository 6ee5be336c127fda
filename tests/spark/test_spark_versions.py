"""What is there with every version of PySpark: ``make test-spark-versions`` runs this file with each.

PySpark 4.0 and 4.1 know no limits of streams: the connector reads them, and without it they are refused by name.
"""

import subprocess
import sys
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

import splitscan as ss
from splitscan.jar import connector_jar
from splitscan.spark.driver import register_python

_WITHOUT_LIMITS = """
import sys
import pyspark.sql.datasource  # which needs it itself, in newer ones
sys.modules["pyspark.sql.streaming.datasource"] = None  # what importing it does in 4.0 and 4.1
from pyspark_splitscan import DefaultSource
from splitscan.spark.source import SplitscanDataSource
assert DefaultSource is SplitscanDataSource
for options in ({"path": sys.argv[1]}, {"source": "kafka"}):
    try:
        DefaultSource(options).streamReader(None)
    except ValueError as error:
        print(error)
"""


def test_old_pyspark_fails_not_at_import_and_refuses_streams_by_name(tmp_path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("1,2\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_LIMITS, str(file)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[needs-newer-spark]") == 2
    assert done.stdout.count("streams that Python reads need PySpark 4.2 or newer") == 2
    assert "splitscan watch" in done.stdout


class Refused(AnalysisException):
    """What PySpark raises for an error of the JVM, without one."""

    def __init__(self, condition: str) -> None:
        super().__init__(message=condition)
        self.condition = condition

    def getCondition(self) -> str:  # noqa: N802 -- PySpark's name
        return self.condition


@pytest.mark.parametrize("condition", ["DATA_SOURCE_ALREADY_EXISTS", "ANOTHER"])
def test_a_source_that_spark_4_0_has_found_itself_is_registered(monkeypatch, condition: str) -> None:
    def register(_) -> None:
        raise Refused(condition)

    monkeypatch.setattr("splitscan.spark.driver.check_workers", lambda _: None)
    with nullcontext() if condition == "DATA_SOURCE_ALREADY_EXISTS" else pytest.raises(Refused):
        register_python(SimpleNamespace(dataSource=SimpleNamespace(register=register)))


SCHEMA = "id int, note string, at timestamp"
OPTIONS = {"header": "true", "multiLine": "true"}
STREAMS = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 2) or connector_jar() is not None


@pytest.fixture
def notes(tmp_path: Path) -> str:
    path = tmp_path / "in" / "notes.csv"
    path.parent.mkdir()
    lines = (f'{number},"a\n{number}",2024-01-02 03:04:05\n' for number in range(50))
    path.write_text("id,note,at\n" + "".join(lines), newline="")
    return str(path)


def row(number: int) -> tuple[int, str, datetime]:
    return number, f"a\n{number}", datetime(2024, 1, 2, 3, 4, 5)


def test_the_data_source_reads(spark: SparkSession, notes: str) -> None:
    ss.register(spark)
    frame = spark.read.format("splitscan").options(**OPTIONS, blockSize="100").schema(SCHEMA).load(notes)
    assert sorted(tuple(read) for read in frame.collect()) == [row(number) for number in range(50)]
    assert frame.count() == 50


def test_the_data_source_finds_types_and_takes_hints(spark: SparkSession, notes: str) -> None:
    reader = spark.read.format("splitscan").options(**OPTIONS, inferSchema="true", schemaHints="id long")
    assert reader.load(notes).schema.simpleString() == "struct<id:bigint,note:string,at:timestamp>"


def test_metadata_columns(spark: SparkSession, notes: str) -> None:
    reader = spark.read.format("splitscan").options(**OPTIONS, metadataColumns="file_name,record_offset")
    read = reader.schema(f"{SCHEMA}, file_name string, record_offset long").load(notes).first()
    assert (read.file_name, read.record_offset) == ("notes.csv", 11)


def test_a_scan_is_a_frame_a_count_and_an_ingest(spark: SparkSession, notes: str, tmp_path: Path) -> None:
    scan = ss.scan_csv(notes, schema=SCHEMA, header=True, multi_line=True, block_size=100)
    assert sorted(tuple(read) for read in scan.to_spark(spark).collect()) == [row(number) for number in range(50)]
    assert scan.count(spark) == 50
    assert scan.ingest(spark, str(tmp_path / "out")).rows == 50
    assert spark.read.parquet(str(tmp_path / "out")).distinct().count() == 50


def test_a_stream_reads_or_is_refused_by_name(spark: SparkSession, notes: str, tmp_path: Path) -> None:
    ss.register(spark)
    reader = spark.readStream.format("splitscan").options(**OPTIONS, stateLocation=str(tmp_path / "state"))
    frame = reader.schema(SCHEMA).load(str(Path(notes).parent))
    written = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = written.trigger(availableNow=True).start(str(tmp_path / "out"))
    with nullcontext() if STREAMS else pytest.raises(StreamingQueryException, match=r"\[needs-newer-spark\]"):
        query.awaitTermination()
    if STREAMS:
        assert spark.read.parquet(str(tmp_path / "out")).count() == 50
