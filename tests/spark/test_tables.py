"""Tables of databases as DataFrames: every row once, of one version, and no password anywhere."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

import splitscan as ss
from splitscan.errors import SchemaError, UsageError
from splitscan.spark import SplitscanDataSource

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


def test_the_data_source_reads_it_too(spark, shop):
    frame = source(spark, shop, dbtable="orders", partitionColumn="item", minPartitions=4).load()
    assert ids(frame) == list(range(_ROWS))
    assert frame.rdd.getNumPartitions() == 4
    chosen = source(spark, shop, dbtable="orders", keyColumn="id").schema("price decimal(8,2), ID string").load()
    assert chosen.dtypes == [("price", "decimal(8,2)"), ("ID", "string")]
    assert str(chosen.filter("ID = '7'").first()) == "Row(price=Decimal('1.75'), ID='7')"
    assert source(spark, shop, dbtable="orders", columns="price").load().columns == ["price"]


def test_what_cannot_be_read_says_so(spark, shop):
    with pytest.raises(PySparkException, match="bad-key-column"):
        source(spark, shop, dbtable="orders", keyColumn="price").load()
    with pytest.raises(UsageError, match=r"option source takes one of files, kafka, table"):
        SplitscanDataSource({"source": "tables", "url": shop, "dbtable": "orders"})
    with pytest.raises(UsageError, match="a table cannot be followed"):
        SplitscanDataSource({"source": "table", "url": shop, "dbtable": "orders"}).streamReader(StructType())
    with pytest.raises(UsageError, match="unknown-option"):
        ss.scan_table(shop, "orders", header=True)
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
    assert done.stdout.count("rows: 100") == 2
    assert done.stdout.count("error:") == 3
    assert "BatchScan splitscan" in done.stdout
    assert "SparkListenerSQLExecutionStart" in written
    for text in (done.stdout, done.stderr, written):
        assert PASSWORD not in text
