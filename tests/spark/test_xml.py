"""XML through Spark, beside Spark's own reader where that one is right."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import splitscan as ss

SCHEMA = "_id int, t string, n double, l array<string>, s struct<_k: string, v: bigint, _VALUE: string>, d date"
RECORDS = [
    '<r id="1"><t>a &amp; b</t><n>1.5</n><l>x</l><l>y</l><s k="q"><v>7</v></s><d>2020-01-02</d></r>',
    "<r id='2'><t><![CDATA[<r>]]></t><n>2</n><l>x</l><s k='w'>text</s></r>",
    "<r><t>\n  é ☃ \n</t><n>1e3</n><s><v>8</v></s></r>",
    '<r id="3"><t>x<u>y</u></t></r>',
]


def write(folder: Path, count: int) -> str:
    path = folder / "a.xml"
    path.write_text("<rows>\n" + "\n".join(RECORDS * count) + "\n</rows>\n", encoding="utf-8")
    return str(path)


def test_records_are_what_sparks_reader_makes_of_them(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path, 1)
    theirs = spark.read.format("xml").option("rowTag", "r").schema(SCHEMA).load(path).collect()
    assert ss.scan_xml(path, "r", SCHEMA).to_spark(spark).collect() == theirs


def test_the_data_source_reads_every_record_once(spark: SparkSession, tmp_path: Path) -> None:
    ss.register(spark)
    path = write(tmp_path, 30)
    reader = spark.read.format("splitscan").option("recordFormat", "xml").option("rowTag", "r")
    frame = reader.option("blockSize", 500).option("taskSize", 500).schema("_id int, t string").load(path)
    rows = frame.collect()
    assert len(rows) == 30 * len(RECORDS)
    assert [row["_id"] for row in rows] == [1, 2, None, 3] * 30


def test_columns_that_are_found_have_sparks_types(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path, 1)
    theirs = spark.read.format("xml").option("rowTag", "r").load(path).schema
    ours = ss.scan_xml(path, "r").to_spark(spark).schema
    kinds = {field.name: field.dataType.simpleString() for field in ours}
    for name in ("_id", "n", "l", "d"):
        assert kinds[name] == theirs[name].dataType.simpleString()
