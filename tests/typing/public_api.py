"""Checked by mypy, never run: the public API reads as documented."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import splitscan as ss
from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.jobs import IngestReport, IngestSettings, VerifyReport
from splitscan.jobs.watching import WatchedWindow
from splitscan.rebalance.planning import PlanExplanation
from splitscan.rebalance.report import RebalanceReport
from splitscan.tables.planning import TablePlan


def a_scan_is_described_by_paths_a_format_and_options() -> None:
    assert_type(ss.scan("in/*.csv"), ss.Scan)
    assert_type(ss.scan(Path("in"), format="text"), ss.Scan)
    assert_type(ss.scan_csv([Path("a.csv"), "b.csv"]), ss.Scan)
    assert_type(ss.scan(["a", "b"], format="csv", schema="id long", header=True, multiLine=True), ss.Scan)
    assert_type(ss.scan_csv("a.csv", schema=pa.schema([]), header=True), ss.Scan)
    assert_type(ss.scan_text("a.log", escape="\\"), ss.Scan)
    assert_type(ss.scan_fixed("a.bin", record_length=80), ss.Scan)
    assert_type(ss.scan_cobol("a.dat", "a.cob", encoding="cp500", record_length=25), ss.Scan)
    assert_type(ss.scan_fixed_width("a.txt", [("id", 1, 5, "int"), ("name", 6, 20)], record_length=25), ss.Scan)


def the_options_of_a_format_are_keywords_with_types() -> None:
    ss.scan_csv("a.csv", sep=";", multi_line=True, multiLine="true", mode="FAILFAST", block_size="64m", limit=3)
    ss.scan_json("a.json", metadata_columns=["file_path"], storageOptions={"key": "me"}, time_zone="UTC")
    ss.scan_xml("a.xml", "row", attribute_prefix="@")
    from_elsewhere: dict[str, Any] = {"header": True}
    ss.scan_csv("a.csv", **from_elsewhere)
    ss.scan_csv("a.csv", sepp=";")  # type: ignore[call-arg]
    ss.scan_text("a.log", header=True)  # type: ignore[call-arg]
    ss.scan_csv("a.csv", header=1.5)  # type: ignore[arg-type]
    ss.scan_table("sqlite:///a.db", "t", snapshot="own", sep=";")  # type: ignore[call-arg]


def narrowing_a_scan_gives_a_scan(scan: ss.Scan) -> None:
    assert_type(scan.select("a", "m.x", "columns[3]").limit(10), ss.Scan)
    assert_type(scan.where("year = 2024").where(lambda file: file.size_bytes > 0), ss.Scan)


def a_scan_is_read_in_this_process(scan: ss.Scan) -> pa.Table:
    assert_type(scan.files(), list[FileMetadata])
    assert_type(scan.blocks(), Iterator[BlockMetadata])
    assert_type(scan.count(), int)
    return pa.Table.from_batches(scan.to_batches(), schema=scan.schema)


def a_scan_is_read_on_spark(scan: ss.Scan, spark: SparkSession) -> None:
    assert_type(scan.to_spark(spark), DataFrame)
    assert_type(scan.to_spark(spark, rebalance=True, apply=lambda batches: batches, apply_schema="id long"), DataFrame)
    assert_type(ss.scan_kafka("broker:9092", subscribe="t").to_spark(spark), DataFrame)
    assert_type(ss.rebalance_report(spark), RebalanceReport)
    assert_type(scan.explain(spark, rebalance=True), PlanExplanation)
    assert_type(scan.count(spark), int)
    assert_type(scan.ingest(spark, "out"), IngestReport)
    assert_type(scan.ingest(spark, "out", table="delta", partition_by=["day", "country"]), IngestReport)
    assert_type(ss.verify(Path("out"), deep=True), VerifyReport)
    ss.register(spark)


def a_directory_is_watched(spark: SparkSession) -> None:
    settings = IngestSettings(partition_by=("day",), max_rejects=10)
    windows = ss.watch(
        spark, "in", Path("out"), "csv", "id long", once=True, table="delta", settings=settings, header=True
    )
    assert_type(windows, Iterator[WatchedWindow | None])


def files_go_in_and_records_come_out(paths: DataFrame) -> None:
    blocks = assert_type(ss.split_files(paths), DataFrame)
    assert_type(ss.read_blocks(blocks, format="csv", header=True), DataFrame)


def a_table_is_described_by_a_database_and_a_name(spark: SparkSession) -> None:
    table = assert_type(ss.scan_table("sqlite:///shop.db", "orders", "id", minPartitionNum=4), ss.TableScan)
    assert_type(ss.scan_table("sqlite:///shop.db", query="SELECT 1 AS n", schema="n long").count(), int)
    assert_type(table.ingest(spark, "out", job="first", table="delta"), IngestReport)
    assert_type(table.select("id", "item").limit(3), ss.TableScan)
    assert_type(table.explain(spark), TablePlan)
    assert_type(ss.scan_kafka("broker:9092", subscribe="t").select("value").limit(3), ss.KafkaScan)
    assert_type(ss.scan_kafka("broker:9092", subscribe="t").count(spark), int)
    assert_type(table.to_batches(), Iterator[pa.RecordBatch])
    assert_type(table.to_spark(spark), DataFrame)


def a_dialect_is_found_and_says_which_options_to_give() -> None:
    found = assert_type(ss.sniff_csv("a.csv", encoding="UTF-8"), ss.Dialect)
    assert_type(found.options(), dict[str, Any])
    assert_type(found.doubts, tuple[str, ...])
    assert_type(found.is_clear, bool)
