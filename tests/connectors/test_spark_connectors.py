"""Spark's own connectors of Delta Lake and Iceberg read what we wrote, and append; we go on, and verify agrees.

There is no connector for the Spark of these tests yet, so a Spark that both are made for comes with them from Maven:
``pom.xml`` says which. It runs beside us, in a Java virtual machine of its own. With Spark 4.3 that of Delta 4.4.0 ends
in ``NoSuchMethodError`` (``LogicalRDD.<init>``), that of Iceberg 1.12.0 in ``IncompatibleClassChangeError`` (``View``).
"""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from splitscan.api.files import Scan
from splitscan.jobs import verify
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings, SchemaEvolution
from splitscan.jobs.steps import IngestTarget, run_ingest

from ..unit.jobs.conftest import InProcessRunner

HERE = Path(__file__).parent
RESOLVE = "org.apache.maven.plugins:maven-dependency-plugin:2.8:build-classpath"
OPENED = [
    "lang",
    "lang.invoke",
    "lang.reflect",
    "io",
    "net",
    "nio",
    "util",
    "util.concurrent",
    "util.concurrent.atomic",
]
SUN = ["nio.ch", "nio.cs", "security.action", "util.calendar"]
EXTENSIONS = "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
SCHEMA = (
    "id long, kind string, day date, amount decimal(20,2), at timestamp, plain timestamp_ntz, real double,"
    " item struct<a: int, b: array<string>>"
)

pytestmark = [pytest.mark.slow, pytest.mark.large, pytest.mark.timeout(1200)]  # a Spark from Maven, and 360 MB of jars


@pytest.fixture(scope="session")
def classpath(tmp_path_factory):
    """Jars of Spark and its connectors, which Maven keeps once it has fetched them."""
    if shutil.which("mvn") is None:
        pytest.skip("no Maven")
    found = tmp_path_factory.mktemp("maven") / "classpath"
    command = ["mvn", "-B", "-q", "-f", str(HERE / "pom.xml"), RESOLVE, f"-Dmdep.outputFile={found}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    if done.returncode:
        pytest.skip(f"Maven cannot resolve the connectors: {done.stdout[-300:]}")
    return found.read_text().strip()


@pytest.fixture
def spark(classpath, tmp_path):
    """Run statements in that Spark: its rows come back as Python values."""
    settings = {
        "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.shuffle.partitions": "1", "spark.sql.session.timeZone": "UTC", "spark.sql.extensions": EXTENSIONS,
        "spark.sql.warehouse.dir": f"{tmp_path}/spark",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.splitscan": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.splitscan.type": "jdbc",
        "spark.sql.catalog.splitscan.uri": f"jdbc:sqlite:{tmp_path}/out/iceberg.db",
        "spark.sql.catalog.splitscan.warehouse": f"{tmp_path}/out",
        "spark.sql.catalog.splitscan.cache-enabled": "false",
        "spark.sql.catalog.splitscan.jdbc.schema-version": "V1",
    }  # fmt: skip
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin/java")) if home else "java"
    opens = [f"java.base/java.{name}" for name in OPENED] + [f"java.base/sun.{name}" for name in SUN]
    command = [java, "-Xmx1g", *(f"--add-opens={each}=ALL-UNNAMED" for each in opens), "-cp", classpath]
    command += [str(HERE / "Statements.java"), *(f"{name}={value}" for name, value in settings.items())]
    with (tmp_path / "spark.log").open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)

    def run(statement):
        process.stdin.write(statement + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer, (tmp_path / "spark.log").read_text()[-3000:]
        return json.loads(answer)

    yield run
    process.stdin.close()
    process.stdout.close()
    process.wait(60)


def write_source(folder, name, first):
    folder.mkdir(exist_ok=True)
    records = [
        {
            "id": number, "kind": [None, "a/b", "é"][number % 3], "day": f"2024-01-0{1 + number % 2}",
            "amount": f"12345678901234567{number % 10}.91", "at": "2024-01-02T03:04:05.678901Z",
            "plain": "1969-12-31T23:59:59.999999", "real": 0.5 * number, "item": {"a": number, "b": ["x", None]},
        }
        for number in range(first, first + 100)
    ]  # fmt: skip
    (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))


def ingest(tmp_path, table, more=""):
    options = {"blockSize": "2k", "taskSize": "8k", "openCostInBytes": 0}
    scan = Scan.of(str(tmp_path / "in"), "json", SCHEMA + more, options)
    settings = IngestSettings(partition_by=("kind",), schema_evolution_mode=SchemaEvolution.ADD)
    return run_ingest(FileSource(scan), IngestTarget(tmp_path / "out", settings, table=table), InProcessRunner())


@pytest.mark.parametrize("table", ["delta", "iceberg"])
def test_spark_reads_and_appends_and_we_go_on(tmp_path, spark, table):
    name = f"delta.`{tmp_path}/out`" if table == "delta" else "splitscan.splitscan.records"
    write_source(tmp_path / "in", "a.json", 0)
    ingest(tmp_path, table)
    rows = spark(f"SELECT * FROM {name} ORDER BY id")
    assert [row["id"] for row in rows] == list(range(100))
    assert Counter(row.get("kind") for row in rows) == Counter([None, "a/b", "é"][number % 3] for number in range(100))
    assert rows[7] == {
        "id": 7, "kind": "a/b", "day": "2024-01-02", "amount": 123456789012345677.91,
        "at": "2024-01-02T03:04:05.678Z", "plain": "1969-12-31T23:59:59.999", "real": 3.5,
        "item": {"a": 7, "b": ["x", None]},
    }  # fmt: skip
    for filter, count in [
        ("kind = 'a/b'", 33), ("kind IS NULL", 34), ("id = 7", 1), ("day = DATE'2024-01-02'", 50),
        ("at = TIMESTAMP'2024-01-02 03:04:05.678901Z'", 100), ("amount = 123456789012345677.91BD", 10),
        ("plain = TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'", 100), ("real > 49", 1), ("item.a = 7", 1),
    ]:  # fmt: skip
        assert spark(f"SELECT count(*) AS n FROM {name} WHERE {filter}") == [{"n": count}], filter

    spark(f"INSERT INTO {name} (id, kind) VALUES (-1, 'theirs')")
    write_source(tmp_path / "in", "b.json", 100)
    assert ingest(tmp_path, table).files_skipped == 1
    spark(f"DELETE FROM {name} WHERE id < 10")
    write_source(tmp_path / "in", "c.json", 200)
    ingest(tmp_path, table, ", more string")
    ids = [row["id"] for row in spark(f"SELECT id FROM {name} WHERE more IS NULL ORDER BY id")]
    assert ids == list(range(10, 300))
    assert ingest(tmp_path, table, ", more string").nothing_to_do
    report = verify(tmp_path / "out", deep=True)
    assert (report.problems, report.jobs, report.rows) == ((), 3, 300)
    assert {note.code for note in report.notes} == {"rows-removed"}


def test_the_table_of_the_example_is_queried_by_spark(tmp_path, spark):
    example = HERE.parents[1] / "examples/watch_into_delta.py"
    command = [sys.executable, str(example), str(tmp_path / "landing"), str(tmp_path / "orders")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, cwd=tmp_path).stdout
    assert "verified: True" in said
    query = f"SELECT day, count(*) AS n, sum(amount) AS total FROM delta.`{tmp_path}/orders` GROUP BY day ORDER BY day"
    assert spark(query) == [
        {"day": f"2024-01-0{1 + rest}", "n": 100, "total": sum(range(rest, 300, 3))} for rest in range(3)
    ]


def codes(tmp_path):
    report = verify(tmp_path / "out", deep=True)
    assert report.problems == ()
    return Counter(note.code for note in report.notes)


def test_rows_that_spark_marked_in_deletion_vectors_are_told_as_removed(tmp_path, spark):
    out = tmp_path / "out"
    name = f"delta.`{out}`"
    write_source(tmp_path / "in", "a.json", 0)
    ingest(tmp_path, "delta")
    first = set(out.rglob("*.parquet"))
    spark(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark(f"DELETE FROM {name} WHERE id < 10 AND kind = 'a/b'")
    assert list(out.glob("**/deletion_vector_*.bin"))
    assert set(out.rglob("*.parquet")) == first
    assert codes(tmp_path) == {"rows-removed": 1}
    version = DeltaTable(out).version()

    write_source(tmp_path / "in", "b.json", 100)
    assert ingest(tmp_path, "delta").files_skipped == 1
    second = set(out.rglob("*.parquet")) - first
    assert [row["id"] for row in spark(f"SELECT id FROM {name} ORDER BY id")] == [0, 2, 3, 5, 6, 8, 9, *range(10, 200)]
    DeltaTable(out).create_checkpoint()
    assert codes(tmp_path) == {"rows-removed": 1}

    spark(f"OPTIMIZE {name}")
    removed = codes(tmp_path)["rows-removed"]
    assert removed > 0
    spark(f"REORG TABLE {name} APPLY (PURGE)")
    assert codes(tmp_path)["rows-removed"] == removed
    assert spark(f"SELECT count(*) AS n FROM {name}") == [{"n": 197}]
    assert ingest(tmp_path, "delta").nothing_to_do
    spark(f"RESTORE TABLE {name} TO VERSION AS OF {version - 1}")  # of the first job, before the deletion
    assert {Path(note.path) for note in verify(out).notes} == second


def test_rows_that_spark_deleted_by_position_are_told_as_removed(tmp_path, spark):
    name, every = "splitscan.splitscan.records", "options => map('rewrite-all', 'true')"
    write_source(tmp_path / "in", "a.json", 0)
    ingest(tmp_path, "iceberg")
    properties = "'format-version'='2', 'write.delete.mode'='merge-on-read', 'write.delete.granularity'='partition'"
    spark(f"ALTER TABLE {name} SET TBLPROPERTIES ({properties})")
    spark(f"DELETE FROM {name} WHERE id < 10 AND kind = 'a/b'")
    spark(f"DELETE FROM {name} WHERE id = 40")
    assert spark(f"SELECT count(*) AS n FROM {name}.delete_files") == [{"n": 2}]
    assert codes(tmp_path) == {"rows-removed": 2}
    write_source(tmp_path / "in", "b.json", 100)
    assert ingest(tmp_path, "iceberg").files_skipped == 1
    left = [row for row in range(200) if row not in {1, 4, 7, 40}]
    assert [row["id"] for row in spark(f"SELECT id FROM {name} ORDER BY id")] == left
    spark(f"CALL splitscan.system.rewrite_position_delete_files(table => '{name}', {every})")
    assert codes(tmp_path) == {"rows-removed": 2}
    spark(f"CALL splitscan.system.rewrite_data_files(table => '{name}', {every})")
    assert codes(tmp_path)["rows-removed"] > 2
    assert ingest(tmp_path, "iceberg").nothing_to_do


def test_rows_that_spark_deleted_from_a_rewritten_file_by_position_are_told(tmp_path, spark):
    name, every = "splitscan.splitscan.records", "options => map('rewrite-all', 'true')"
    write_source(tmp_path / "in", "a.json", 0)
    ingest(tmp_path, "iceberg")
    spark(f"CALL splitscan.system.rewrite_data_files(table => '{name}', {every})")
    assert codes(tmp_path).keys() == {"rows-rewritten"}
    spark(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    spark(f"DELETE FROM {name} WHERE id = 4")
    assert codes(tmp_path).keys() == {"rows-removed"}  # one rewrite of all files: from any of them


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_of_iceberg_that_spark_wrote_again_are_told_from_those_that_it_removed(tmp_path, spark, mode):
    name, every = "splitscan.splitscan.records", "options => map('rewrite-all', 'true')"
    compact = f"CALL splitscan.system.rewrite_data_files(table => '{name}', {every})"
    write_source(tmp_path / "in", "a.json", 0)
    ingest(tmp_path, "iceberg")
    spark(compact)
    report = verify(tmp_path / "out", deep=True)
    assert (report.problems, {note.code for note in report.notes}) == ((), {"rows-rewritten"})
    spark(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode'='{mode}')")
    spark(f"DELETE FROM {name} WHERE id < 10")
    spark(compact)
    assert spark(f"SELECT count(*) AS n FROM {name}") == [{"n": 90}]
    report = verify(tmp_path / "out", deep=True)
    assert (report.problems, {note.code for note in report.notes}) == ((), {"rows-removed"})
    assert ingest(tmp_path, "iceberg").nothing_to_do
