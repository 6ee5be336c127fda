"""What Spark's own readers can and a Python data source cannot: refused by its own sentence, or as documented."""

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- everybody's name for it

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.spark.connector import connector_jar
from splitscan.spark.source import SplitscanDataSource

NOTES = 'id,note\n1,"a\nb"\n2,c\n'
OPTIONS = "recordFormat 'csv', header 'true', multiLine 'true'"
VIEW = r"CREATE TEMPORARY VIEW name USING splitscan OPTIONS"


@pytest.fixture
def notes(tmp_path: Path) -> str:
    path = tmp_path / "notes.csv"
    path.write_text(NOTES)
    return str(path)


def frame(spark: SparkSession, path: str, schema: str = "id int, note string", **options: str) -> DataFrame:
    chosen = spark.read.format("splitscan").options(header="true", multiLine="true", **options)
    return chosen.schema(schema).load(path)


@pytest.mark.skipif(connector_jar() is None, reason="the connector was not built")
@pytest.mark.parametrize("setting", ["true", "false"])
@pytest.mark.parametrize("columns", ["", "(id int, note string)"])
@pytest.mark.parametrize("where", ["OPTIONS(path '{}', {})", "OPTIONS({1}) LOCATION '{0}'"])
def test_a_table_of_the_catalog_keeps_its_options_for_who_reads_it(
    spark: SparkSession, notes: str, where: str, columns: str, setting: str
) -> None:
    ss.register(spark)
    spark.sql(f"CREATE TABLE kept {columns} USING splitscan {where.format(notes, OPTIONS)}")
    spark.conf.set("spark.splitscan.connector", setting)
    try:
        frame = spark.sql("SELECT note, id FROM kept WHERE id > 0 ORDER BY id")
        assert ("(Python)" in frame._jdf.queryExecution().toString()) == (setting == "false")
        assert [(row.note, int(row.id)) for row in frame.collect()] == [("a\nb", 1), ("c", 2)]
        assert spark.table("kept").count() == 2
        assert [row.col_name for row in spark.sql("DESCRIBE TABLE kept").collect()][:2] == ["id", "note"]
        with pytest.raises(PySparkException, match=r"\[read-only\]"):
            spark.sql("INSERT INTO kept VALUES (3, 'd')")
        Path(notes).write_text("id,note\n7,later\n")
        assert [row.note for row in spark.table("kept").collect()] == ["later"]
    finally:
        spark.conf.unset("spark.splitscan.connector")
        spark.sql("DROP TABLE kept")
    assert Path(notes).exists()


def test_without_the_connector_a_table_says_why_not_and_names_what_to_do() -> None:
    options = {"provider": "splitscan", "owner": "me", "path": "/data", "header": "true"}
    with pytest.raises(UsageError, match=rf"(?s)\[no-catalog-table\].*register\(spark\).*{VIEW}"):
        SplitscanDataSource(options).schema()
    with pytest.raises(UsageError, match=rf"(?s)\[no-path\].*register\(spark\).*{VIEW}"):
        SplitscanDataSource({}).schema()


@pytest.mark.parametrize("columns", ["", "(id int, note string)"])
def test_the_view_that_the_errors_name_works(spark: SparkSession, notes: str, columns: str) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW notes {columns} USING splitscan OPTIONS(path '{notes}', {OPTIONS})")
    assert [row.note for row in spark.sql("SELECT note FROM notes ORDER BY note").collect()] == ["a\nb", "c"]


@pytest.mark.parametrize("kind", ["interval day to second", "void"])
def test_columns_of_types_that_no_value_is_read_as_are_refused(spark: SparkSession, notes: str, kind: str) -> None:
    with pytest.raises(AnalysisException, match=r"(?s)\[unsupported-type\].*column 'id'.*declare it as string"):
        frame(spark, notes, f"id {kind}, note string").collect()


def test_spark_has_no_name_of_a_file_for_us_and_our_metadata_columns_do(spark: SparkSession, notes: str) -> None:
    """As ``docs/differences.md`` says; should Spark ask for them one day, this test fails."""
    assert {row[0] for row in frame(spark, notes).select(F.input_file_name()).collect()} == {""}
    ours = frame(spark, notes, "id int, note string, file_name string", metadataColumns="file_name")
    assert {row.file_name for row in ours.collect()} == {"notes.csv"}
