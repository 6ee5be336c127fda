"""spark.read.format("splitscan"): found by Spark itself, with Spark's manners."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

import pyspark_splitscan
import splitscan as ss
from splitscan.errors import SchemaError, SourceMissingError, UsageError
from splitscan.scans.listing import FileListing
from splitscan.spark.source import SplitscanDataSource, SplitscanReader

from .samples import CSV_SCHEMA, SAMPLES, Sample, write_csv


def reader(spark: SparkSession, **options: Any) -> DataFrameReader:
    return spark.read.format("splitscan").options(**options)


def csv_frame(spark: SparkSession, path: str, schema: str | None = CSV_SCHEMA, **options: Any) -> DataFrame:
    chosen = reader(spark, header=True, multiLine=True, escape='"', **options)
    return (chosen if schema is None else chosen.schema(schema)).load(path)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_cuts_through_the_data_source_give_the_records_of_one_pass(
    spark: SparkSession, tmp_path: Path, sample: Sample
) -> None:
    path = sample.write(tmp_path)
    expected = sample.scan(path).to_arrow()
    options = {**sample.options, "recordFormat": sample.format}
    for block_bytes in (1, 5):
        chosen = reader(spark, **options, blockSize=block_bytes, openCostInBytes=0, minPartitionNum=3)
        frame = (chosen if sample.schema is None else chosen.schema(sample.schema)).load(path)
        assert frame.toArrow().equals(expected), block_bytes


def test_spark_finds_the_source_without_registration(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 20)
    assert pyspark_splitscan.DefaultSource is SplitscanDataSource
    assert csv_frame(spark, path).count() == 20
    ss.register(spark)  # allowed all the same
    assert csv_frame(spark, path).count() == 20


def test_the_schema_is_found_in_the_data(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 20)
    assert csv_frame(spark, path, None).dtypes == [("id", "string"), ("name", "string"), ("note", "string")]
    typed = csv_frame(spark, path, None, inferSchema=True)
    assert typed.dtypes[0] == ("id", "int")
    assert typed.agg({"id": "sum"}).first()[0] == 190


def test_columns_are_chosen_when_the_schema_is_found(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 5)
    frame = csv_frame(spark, path, None, columns="note,id", metadataColumns="file_name")
    assert frame.columns == ["note", "id"]
    assert [tuple(row) for row in frame.collect()] == [(f'say "{n}"', str(n)) for n in range(5)]


def test_a_narrower_schema_with_names_picks_columns_by_name(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 5)
    frame = csv_frame(spark, path, "note string, id int", headerMapping="byName")
    assert [tuple(row) for row in frame.collect()] == [(f'say "{n}"', n) for n in range(5)]
    with pytest.raises(PySparkException, match="header-mismatch"):
        csv_frame(spark, path, "note string, id int").collect()


def test_metadata_columns_stand_where_the_schema_puts_them(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 5)
    ddl = "file_name string, id long, name string, note string, record_offset long"
    frame = csv_frame(spark, path, ddl, metadataColumns="file_name,record_offset", blockSize=10)
    rows = frame.select("file_name", "id", "record_offset").collect()
    assert [(row[0], row[1]) for row in rows] == [("a.csv", n) for n in range(5)]
    assert rows[0][2] == len("id,name,note\n")


def test_a_metadata_column_that_the_schema_lacks_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 5)
    with pytest.raises(PySparkException, match="metadata column 'file_name' is not in the schema"):
        csv_frame(spark, path, metadataColumns="file_name").collect()
    with pytest.raises(PySparkException, match="declare it as: file_size bigint"):
        csv_frame(spark, path, CSV_SCHEMA + ", file_size int", metadataColumns="file_size").collect()


def test_columns_beside_a_schema_are_refused_rather_than_misread(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("1,2,3\n")
    with pytest.raises(PySparkException, match="option columns has no meaning beside a schema"):
        reader(spark, columns="_c2").schema("_c2 string").load(str(tmp_path / "p.csv")).collect()
    assert reader(spark, columns="_c2").load(str(tmp_path / "p.csv")).collect() == [("3",)]


def test_sql_views_and_tables_work(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 12)
    options = f"OPTIONS (path '{path}', recordFormat 'csv', header 'true', multiLine 'true', escape '\"')"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW seen USING splitscan {options}")
    assert spark.sql("SELECT count(*), max(length(name)) FROM seen").first() == (12, 4)
    spark.sql(f"CREATE OR REPLACE TEMP VIEW typed (id int, name string, note string) USING splitscan {options}")
    assert spark.sql("SELECT sum(id) FROM typed WHERE id > 5").first()[0] == 51
    for name in ("seen", "typed"):
        spark.catalog.dropTempView(name)


def test_several_paths_are_read_and_none_twice(spark: SparkSession, tmp_path: Path) -> None:
    one, two = write_csv(tmp_path / "x", 3), write_csv(tmp_path / "y", 4, "b,[1].csv")
    chosen = reader(spark, header=True, multiLine=True, escape='"').schema(CSV_SCHEMA)
    assert chosen.load([one, two]).count() == 7
    assert chosen.load([one, one, str(tmp_path / "x")]).count() == 3
    assert chosen.load(str(tmp_path / "*" / "*.csv")).count() == 7


def test_a_path_that_names_nothing_fails_under_the_name_that_spark_has_for_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    missing = str(tmp_path / "nothing")
    with pytest.raises(AnalysisException, match=r"\[PATH_NOT_FOUND\] Path does not exist: .*nothing"):
        reader(spark).load(missing)
    frame = reader(spark).schema("a string").load(missing)  # with a schema Spark creates the source later
    with pytest.raises(PySparkException, match=r"\[PATH_NOT_FOUND\] Path does not exist: .*nothing"):
        frame.collect()
    with pytest.raises(AnalysisException, match=r"\[no-path\]"):
        reader(spark).load()


def test_option_errors_reach_the_user_with_their_advice(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 2)
    with pytest.raises(AnalysisException, match=r"no option headr(?s:.)*did you mean header\?"):
        reader(spark, headr=True).load(path)
    with pytest.raises(AnalysisException, match=r"recordFormat(?s:.)*csv, text"):
        reader(spark, recordFormat="cvs").load(path)


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_writing_says_that_the_source_only_reads(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    for path in (tmp_path, tmp_path / "new"):
        with pytest.raises(AnalysisException, match=r"\[read-only\](?s:.)*scan\.ingest(?s:.)*format\(\"parquet\"\)"):
            spark.range(3).write.format("splitscan").mode(mode).option("compression", "zstd").save(str(path))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match=r"\[read-only\](?s:.)*df\.writeStream"):
        SplitscanDataSource({"checkpointLocation": "x"}).streamWriter(StructType(), overwrite=False)


def test_a_directory_without_a_file_is_an_error_that_names_the_option_that_finds_some(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/a.txt").write_text("x\n")
    for schema in (None, "value string"):
        frame = reader(spark, recordFormat="text").option("pathGlobFilter", "*.txt")
        frame = frame if schema is None else frame.schema(schema)
        with pytest.raises(Exception, match=r"\[no-files\]") as caught:
            frame.load(str(tmp_path)).collect()
        assert "set recursiveFileLookup=true" in str(caught.value)
        assert frame.option("recursiveFileLookup", "true").load(str(tmp_path)).count() == 1


def test_a_file_without_a_record_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    frame = reader(spark, recordFormat="text").load(str(tmp_path))
    assert frame.collect() == []
    assert frame.count() == 0
    assert frame.schema.simpleString() == "struct<value:string>"


def test_a_partition_that_spark_made_up_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    source = SplitscanDataSource({"path": str(tmp_path), "recordFormat": "text"})
    made: Any = source.reader(source.schema())
    assert list(made.read(InputPartition(None))) == []
    assert sum(batch.num_rows for part in made.partitions() for batch in made.read(part)) == 1
    assert isinstance(made.partitions(), list)


def test_filters_are_never_taken_from_spark() -> None:
    assert SplitscanReader.pushFilters is DataSourceReader.pushFilters


def test_a_limit_holds_over_the_whole_source(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 40)
    frame = csv_frame(spark, path, limit=7, blockSize=64, openCostInBytes=0)
    assert [row.id for row in frame.select("id").collect()] == list(range(7))
    assert csv_frame(spark, path, limit=0).count() == 0


def test_an_empty_schema_counts_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb\nc\n")
    frame = reader(spark, recordFormat="text").schema(StructType([])).load(str(tmp_path))
    assert frame.count() == 3


@pytest.mark.parametrize(("mode", "rows"), [("PERMISSIVE", 4), ("DROPMALFORMED", 2)])
def test_modes_count_what_they_collect(spark: SparkSession, tmp_path: Path, mode: str, rows: int) -> None:
    (tmp_path / "m.csv").write_text("1,a\n2\n3,b,c\n4,d\n")
    frame = reader(spark, mode=mode).schema("id long, v string, _corrupt_record string").load(str(tmp_path))
    assert frame.count() == len(frame.collect()) == frame.select("id").count() == rows
    corrupt = frame.select("_corrupt_record").where("_corrupt_record is not null").collect()
    assert [row[0] for row in corrupt] == (["2", "3,b,c"] if rows == 4 else [])


def test_failfast_fails_and_says_where(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("1,a\n2\n")
    frame = reader(spark, mode="FAILFAST").schema("id long, v string").load(str(tmp_path))
    for action in (frame.collect, frame.count, frame.select("id").collect):
        with pytest.raises(PySparkException, match=r"mode=FAILFAST(?s:.)*m\.csv, byte 4"):
            action()


def test_actions_may_be_repeated_cached_and_united(spark: SparkSession, tmp_path: Path) -> None:
    frame = csv_frame(spark, write_csv(tmp_path, 30), blockSize=64, openCostInBytes=0)
    first = frame.collect()
    assert frame.collect() == first
    assert frame.union(frame).count() == 60
    assert frame.cache().count() == 30
    frame.unpersist(blocking=True)
    assert frame.collect() == first


def test_options_of_spark_that_do_not_concern_us_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    options = {"PATH": str(tmp_path), "recordformat": "csv", "multiline": "true", "samplingRatio": "0.5"}
    assert SplitscanDataSource(options).schema().names == ["_c0"]


def test_paths_that_are_no_list_are_an_error() -> None:
    for text in ("/a,/b", "[1]", "[]", '{"a": 1}'):
        with pytest.raises(UsageError, match="option paths is a JSON list of texts"):
            SplitscanDataSource({"paths": text}).schema()
    with pytest.raises(SourceMissingError, match=r"^\[PATH_NOT_FOUND\] Path does not exist: "):
        SplitscanDataSource({"paths": '["/no/such/place"]'}).schema()


def test_a_type_that_cannot_be_delivered_says_what_to_declare(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    source = SplitscanDataSource({"path": str(tmp_path), "metadataColumns": "block_id"})
    with pytest.raises(SchemaError, match="declare it as: block_id bigint"):
        source.reader(StructType().add("a", "string").add("block_id", "string"))


@pytest.fixture
def foreign_python(tmp_path: Path) -> str:
    """A ``python3`` on the path that has no splitscan."""
    program = tmp_path / "bin" / "python3"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'splitscan'\" >&2\nexit 1\n")
    program.chmod(0o755)
    return str(program)


def test_a_session_whose_workers_cannot_import_splitscan_is_told_so(foreign_python: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    script = (
        "import splitscan as ss; from pyspark.sql import SparkSession\n"
        "settings = {'spark.ui.enabled': 'false', 'spark.splitscan.connector': 'false'}\n"
        "spark = SparkSession.builder.master('local[1]').config(map=settings).getOrCreate()\n"
        f"scan = ss.scan_text({str(tmp_path / 'a.txt')!r})\n"
        "for call in (lambda: ss.register(spark), lambda: scan.to_spark(spark)):\n"
        "    try: call()\n"
        "    except ss.SplitscanError as error: print(error.reason_code, '|', error.fix, '|', error.seen)\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_")}
    environment["PYSPARK_PYTHON"] = foreign_python  # it was chosen, so the driver's own is not taken instead
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    lines = done.stdout.strip().splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("wrong-python | install pyarrow, numpy, fsspec and splitscan there")
        assert "set PYSPARK_PYTHON before the first Spark session" in line
        assert f"one that has them: {sys.executable} " in line
        assert line.endswith("No module named 'splitscan'")


def test_a_process_looks_paths_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[object] = []
    original = FileListing.files

    def files(listing: FileListing, paths: Any) -> Any:
        listed.append(paths)
        return original(listing, paths)

    monkeypatch.setattr(FileListing, "files", files)
    path = write_csv(tmp_path, 5)
    loaded = SplitscanDataSource({"path": path, "header": "true"})
    schema = loaded.schema()
    assert schema.names == ["id", "name", "note"]
    assert len(listed) == 1
    planner: SplitscanDataSource = cloudpickle.loads(cloudpickle.dumps(loaded))  # as Spark sends it on
    listed.clear()
    assert len(planner.reader(schema).partitions()) == 1
    assert len(listed) == 1


def test_a_dialect_that_is_looked_for_is_the_same_for_schema_plan_and_tasks(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for name in "ab":
        text = "".join(f'{i};"say ""{name}"",\nnow"\n' for i in range(50))
        (tmp_path / "in" / f"{name}.csv").write_text("id;note\n" + text)
    read = spark.read.format("splitscan").option("dialect", "auto").option("blockSize", "200")
    frame = read.load(str(tmp_path / "in"))
    assert frame.columns == ["id", "note"]
    assert frame.count() == 100
    assert {row.note for row in frame.collect()} == {'say "a",\nnow', 'say "b",\nnow'}

    (tmp_path / "in" / "c.csv").write_text("id,note\n1,2\n3,4\n")
    with pytest.raises(Exception, match="dialect-unclear"):
        read.load(str(tmp_path / "in")).count()


def test_a_stream_has_no_dialect_that_is_looked_for(tmp_path: Path) -> None:
    path = write_csv(tmp_path, 5)
    loaded = SplitscanDataSource({"path": path, "dialect": "auto", "stateLocation": str(tmp_path / "state")})
    with pytest.raises(UsageError, match="dialect=auto has no meaning for a stream"):
        loaded.streamReader(loaded.schema())
