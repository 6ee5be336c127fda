"""Tables of databases as DataFrames: every row once, of one version, and no password anywhere."""

import gc
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql.functions import spark_partition_id
from pyspark.sql.types import StructType

import splitscan as ss
from splitscan.errors import SchemaError, UsageError
from splitscan.spark.source import SplitscanDataSource

from ..clusters.processes import wait_until
from ..postgresql import PASSWORD

_ROWS = 2000


@pytest.fixture
def shop(tmp_path):
    """A file of SQLite with a table of orders."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, price REAL)")
        rows = [(number, None if number % 5 == 0 else f"item {number % 97}", number / 4) for number in range(_ROWS)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    connection.close()
    return f"sqlite:///{path}"


def source(spark, url, **options):
    return spark.read.format("splitscan").options(source="table", url=url, **options)


def ids(frame):
    return sorted(row["id"] for row in frame.select("id").collect())


@pytest.mark.parametrize("key", ["id", "item"])
def test_a_table_is_read_by_several_tasks(spark, shop, key):
    frame = ss.scan_table(shop, "orders", key, min_partitions=5).to_spark(spark)
    assert ids(frame) == list(range(_ROWS))
    assert frame.rdd.getNumPartitions() == 5
    assert frame.dtypes == [("id", "bigint"), ("item", "string"), ("price", "double")]
    assert frame.filter("item IS NULL").count() == _ROWS / 5


def test_a_table_that_is_narrowed_is_narrowed_on_spark(spark, shop):
    scan = ss.scan_table(shop, "orders", "id", min_partitions=5).select("id").limit(7)
    frame = scan.to_spark(spark)
    assert (frame.columns, frame.count()) == (["id"], 7)
    assert "task 4" in str(scan.explain(spark))
    with pytest.raises(UsageError, match="limit"):
        scan.to_spark(spark, apply=lambda batches: batches, apply_schema="id long")


def test_the_data_source_reads_it_too(spark, shop):
    frame = source(spark, shop, dbtable="orders", partitionColumn="item", minPartitions=4).load()
    assert ids(frame) == list(range(_ROWS))
    assert frame.rdd.getNumPartitions() == 4
    chosen = source(spark, shop, dbtable="orders", keyColumn="id").schema("price decimal(8,2), ID string").load()
    assert chosen.dtypes == [("price", "decimal(8,2)"), ("ID", "string")]
    assert str(chosen.filter("ID = '7'").first()) == "Row(price=Decimal('1.75'), ID='7')"
    assert source(spark, shop, dbtable="orders", columns="price").load().columns == ["price"]


@pytest.mark.parametrize("key", ["id", "item"])
def test_a_table_whose_keys_are_shared_out_while_it_is_read(spark, shop, key):
    planned = ss.scan_table(shop, "orders", key, rebalance=True, min_partitions=3).to_spark(spark)
    loaded = source(spark, shop, dbtable="orders", keyColumn=key, rebalance="true").load()
    for frame in (planned, loaded, planned):
        assert ids(frame) == list(range(_ROWS))
    assert planned.rdd.getNumPartitions() == 3
    assert ss.rebalance_report(spark).finished


def test_keys_that_a_busy_task_has_not_begun_are_taken_over(spark, tmp_path):
    """Of a view only the ends are known, and all rows but one lie in the second half of what is between."""
    with sqlite3.connect(tmp_path / "skewed.db") as connection:
        connection.execute("CREATE TABLE events (id INTEGER PRIMARY KEY)")
        connection.executemany("INSERT INTO events VALUES (?)", [(0,), *((number,) for number in range(5000, 10_000))])
        connection.execute("CREATE VIEW skewed AS SELECT * FROM events")
    connection.close()

    def model(batches):
        """Takes very long for what the second task reads first: until the first task has come to the last row."""
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            if TaskContext.get().partitionId() == 1:
                (tmp_path / "begun").touch()
                wait_until("another task that takes over the end", (tmp_path / "taken over").exists, 110)
            elif numbers:
                wait_until("a beginning of the second task", (tmp_path / "begun").exists, 110)
                if numbers[-1] == 9999:
                    (tmp_path / "taken over").touch()
            yield batch

    scan = ss.scan_table(f"sqlite:///{tmp_path}/skewed.db", "skewed", "id", batch_rows=50)
    frame = scan.to_spark(spark, rebalance=True, apply=model, apply_schema="id long")
    rows = frame.select("id", spark_partition_id().alias("task")).collect()
    assert sorted(row.id for row in rows) == [0, *range(5000, 10_000)]
    assert {row.task for row in rows if row.id in {0, 9999}} == {0}
    assert {row.task for row in rows} == {0, 1}
    assert ss.rebalance_report(spark).steals


def test_what_cannot_be_read_says_so(spark, shop):
    with pytest.raises(PySparkException, match="bad-key-column"):
        source(spark, shop, dbtable="orders", keyColumn="price").load()
    with pytest.raises(UsageError, match=r"option source takes one of files, kafka, table"):
        SplitscanDataSource({"source": "tables", "url": shop, "dbtable": "orders"}).schema()
    with pytest.raises(UsageError, match="a table cannot be followed"):
        SplitscanDataSource({"source": "table", "url": shop, "dbtable": "orders"}).streamReader(StructType())
    with pytest.raises(UsageError, match="unknown-option"):
        ss.scan_table(shop, "orders", header=True)
    with pytest.raises(UsageError, match="name a key column, with an index on it; or leave rebalance out"):
        ss.scan_table(shop, "orders").to_spark(spark, rebalance=True)
    with pytest.raises(SchemaError, match="unknown-column"):
        ss.scan_table(shop, "orders", schema="id long, none string").to_spark(spark)


def test_a_dataframe_of_postgresql_reads_one_version_in_every_action(spark, postgresql):
    postgresql.run(
        f"CREATE TABLE events AS SELECT md5(i::text)::uuid AS id, i AS n FROM generate_series(1, {_ROWS}) i",
        "ALTER TABLE events ADD PRIMARY KEY (id)",
    )
    planned = ss.scan_table(postgresql.url, "events", "id", min_partitions=6).to_spark(spark)
    loaded = source(spark, postgresql.url, dbtable="events", keyColumn="id", minPartitionNum=3).load()
    assert loaded.count() == _ROWS
    postgresql.run("DELETE FROM events WHERE n % 3 = 0", "INSERT INTO events SELECT gen_random_uuid(), 0")
    for frame in (planned, loaded, planned):
        count, distinct, total = frame.selectExpr("count(*)", "count(DISTINCT id)", "sum(n)").first()
        assert (count, distinct, total) == (_ROWS, _ROWS, _ROWS * (_ROWS + 1) // 2)


def test_no_password_is_in_any_plan_log_or_error(postgresql, tmp_path):
    postgresql.run(
        "CREATE TABLE secrets AS SELECT i AS id FROM generate_series(1, 100) i",
        "CREATE TABLE beyond AS SELECT 'infinity'::date AS v",
    )
    script = Path(__file__).with_name("tables_with_a_log.py")
    url = postgresql.url.replace("/postgres?", "/postgres?application_name=secrets&")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), url],
        capture_output=True, text=True, timeout=540, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    written = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert done.stdout.count("rows: 100") == 3
    assert done.stdout.count("error:") == 3
    assert "BatchScan splitscan" in done.stdout
    assert "SparkListenerSQLExecutionStart" in written
    for text in (done.stdout, done.stderr, written):
        assert PASSWORD not in text


def test_the_last_dataframe_of_a_version_gives_it_back(spark, postgresql):
    holders = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'splitscan holds %'"
    postgresql.run("CREATE TABLE IF NOT EXISTS lent AS SELECT i AS id FROM generate_series(1, 10) i")
    before = set(postgresql.ask(holders))
    frames = [ss.scan_table(postgresql.url, "lent", "id").to_spark(spark).filter("id > 3") for _ in range(5)]
    spark._jvm.System.gc()
    (holder,) = set(postgresql.ask(holders)) - before
    assert frames.pop().filter("id > 5").count() == 5
    frames.clear()

    def given_back():
        gc.collect()
        spark._jvm.System.gc()
        ss.scan_table(postgresql.url, "lent", "id").to_spark(spark)  # looks whose DataFrames are gone
        postgresql.run("UPDATE lent SET id = id WHERE id = 1")  # the next one has another version
        return holder not in postgresql.ask(holders)

    wait_until("it was given back", given_back)


@pytest.mark.parametrize("kind", ["none", "delta"])
def test_a_table_is_ingested_by_tasks_of_spark(spark, postgresql, tmp_path, kind):
    postgresql.run(
        "DROP TABLE IF EXISTS ingested",
        f"""CREATE TABLE ingested AS SELECT i AS id, (i / 4.0)::numeric(10,2) AS price, now() AS at
            FROM generate_series(1, {_ROWS}) i""",
    )
    scan = ss.scan_table(postgresql.url, "ingested", "id", min_partitions=5)
    out, page = tmp_path / "out", tmp_path / "report.html"
    report = scan.ingest(spark, str(out), job="first", table=kind, report_file=page)
    assert (report.rows, report.blocks, len(report.tasks)) == (_ROWS, 5, 5)
    assert scan.ingest(spark, str(out), job="first").nothing_to_do
    frame = spark.read.parquet(str(out / "*.parquet"))
    assert ids(frame) == list(range(1, _ROWS + 1))
    assert frame.selectExpr("sum(price)").first()[0] * 4 == _ROWS * (_ROWS + 1) / 2
    assert "job first" in page.read_text()
    assert PASSWORD not in page.read_text()
    checked = ss.verify(out)
    assert (checked.ok, [note.code for note in checked.notes]) == (True, ["source-not-compared"])


def test_an_ingest_of_a_table_needs_the_name_of_a_job(spark, shop, tmp_path):
    with pytest.raises(UsageError, match="job-name"):
        ss.scan_table(shop, "orders", "id").ingest(spark, str(tmp_path / "out"))
