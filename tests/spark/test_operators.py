"""Files in, blocks out; blocks in, records out."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, lit

import splitscan as ss
from splitscan.blocks import BlockMetadata
from splitscan.errors import SourceChangedError, UsageError
from splitscan.formats.registry import parse_options, record_format
from splitscan.reading.block_scan import scan_blocks
from splitscan.scans.cutting import split_file
from splitscan.scans.listing import list_files
from splitscan.spark import indexing
from splitscan.spark.block_rows import BLOCK_SCHEMA, block_batches, check_columns, read_block_rows
from splitscan.spark.indexing import find_first_start
from splitscan.spark.operators import split_path

from .samples import CSV_OPTIONS, CSV_SCHEMA, SAMPLES, Sample, rows_of, write_csv


def paths_frame(spark: SparkSession, *paths: str | None) -> DataFrame:
    return spark.createDataFrame([(path,) for path in paths], "path string")


# ------------------------------------------------------------------ splitting


def test_blocks_have_the_columns_of_the_file_splitter(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 20)
    blocks = ss.split_files(paths_frame(spark, path), block_size=100)
    assert blocks.columns == BLOCK_SCHEMA.names
    rows = blocks.collect()
    size = Path(path).stat().st_size
    expected = list(ss.scan_csv(path, block_size=100).blocks())
    assert [row.block_id for row in rows] == [block.block_id for block in expected]
    assert [(row.start, row.stop) for row in rows] == [(n, min(n + 100, size)) for n in range(0, size, 100)]
    assert [row.block_index for row in rows] == list(range(len(rows)))
    assert [row.previous_block_id for row in rows] == [None, *(row.block_id for row in rows[:-1])]
    assert [row.is_last for row in rows] == [False] * (len(rows) - 1) + [True]
    assert {(row.file_path, row.file_size, row.first_record_start) for row in rows} == {(path, size, None)}
    assert rows[0].fingerprint == expected[0].file.fingerprint
    changed = blocks.selectExpr("unix_micros(file_modification_time)").first()
    assert changed is not None
    assert changed[0] == expected[0].file.modified_us


def test_a_row_may_name_a_directory_or_a_glob(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "c.txt"):
        (tmp_path / name).write_text("0123456789")
    (tmp_path / "empty.csv").touch()
    frame = spark.createDataFrame([(1, str(tmp_path / "*.csv")), (2, str(tmp_path / "c.txt"))], "n int, place string")
    rows = ss.split_files(frame.coalesce(1), block_size=4, path_column="place").collect()
    assert [(Path(row.file_path).name, row.start, row.stop) for row in rows] == [
        (name, start, stop) for name in ("a.csv", "b.csv", "c.txt") for start, stop in ((0, 4), (4, 8), (8, 10))
    ]
    assert [row.previous_block_id is None for row in rows] == [True, False, False] * 3
    listed = ss.split_files(paths_frame(spark, str(tmp_path)), path_glob_filter="*.txt").collect()
    assert [Path(row.file_path).name for row in listed] == ["c.txt"]


def test_rows_stay_in_the_partition_they_were_in(spark: SparkSession, tmp_path: Path) -> None:
    paths = [write_csv(tmp_path, 3, f"{n}.csv") for n in range(4)]
    frame = paths_frame(spark, *paths).repartition(3)
    assert ss.split_files(frame, block_size=10).rdd.getNumPartitions() == 3


def test_the_format_fills_in_first_record_starts(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 20)
    blocks = ss.split_files(paths_frame(spark, path), block_size=50, format="csv", **CSV_OPTIONS)
    planned = ss.scan_csv(path, schema=CSV_SCHEMA, block_size=50, **CSV_OPTIONS).plan()
    assert [row.first_record_start for row in blocks.collect()] == [block.first_record_start for block in planned]
    lines = ss.split_files(paths_frame(spark, path), block_size=50, format="text").collect()
    assert {row.first_record_start for row in lines} == {None}


def test_a_missing_path_names_itself(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PythonException, match=r"SourceMissingError: (?s:.)*nowhere"):
        ss.split_files(paths_frame(spark, str(tmp_path / "nowhere"))).collect()
    with pytest.raises(PythonException, match=r"a row of split_files names a path \[bad-path\]"):
        ss.split_files(paths_frame(spark, None)).collect()


def test_paths_of_others_stay_below_the_roots(spark: SparkSession, tmp_path: Path) -> None:
    inside, outside = write_csv(tmp_path / "in", 3), write_csv(tmp_path / "out", 3)
    roots = [str(tmp_path / "in")]
    assert ss.split_files(paths_frame(spark, inside), roots=roots).count() == 1
    for path in (outside, f"{roots[0]}/../out/a.csv"):
        with pytest.raises(PythonException, match=r"\[path-escapes\]"):
            ss.split_files(paths_frame(spark, path), roots=roots).collect()
    blocks = ss.split_files(paths_frame(spark, outside))
    with pytest.raises(PythonException, match=r"\[path-escapes\]"):
        ss.read_blocks(blocks, format="text", roots=roots).collect()
    assert ss.read_blocks(blocks, format="text", roots=[str(tmp_path)]).count() == 7


def test_mistakes_of_the_caller_are_found_before_a_job(spark: SparkSession) -> None:
    frame = paths_frame(spark, "/x")
    with pytest.raises(UsageError, match=r"text column 'file'(?s:.)*seen:  path string"):
        ss.split_files(frame, path_column="file")
    with pytest.raises(UsageError, match=r"split_files without a format has no option header(?s:.)*name the format"):
        ss.split_files(frame, header=True)
    with pytest.raises(UsageError, match=r"split_files without a format has no option blocksiz(?s:.)*mean blockSize"):
        ss.split_files(frame, blocksiz=1)
    blocks = frame.selectExpr("path file_path", "'0' start", "4L stop", "4L file_size", "'f' fingerprint")
    with pytest.raises(
        UsageError, match=r"column start of a DataFrame of blocks is a whole number(?s:.)*seen:  string"
    ):
        ss.read_blocks(blocks, format="text")
    with pytest.raises(UsageError, match=r"\[bad-option\]"):
        ss.split_files(frame, block_size=0)
    with pytest.raises(UsageError, match="no file_path in path"):
        ss.read_blocks(frame, format="text")
    blocks = ss.split_files(frame)
    with pytest.raises(UsageError, match="needs a schema for csv"):
        ss.read_blocks(blocks, format="csv")
    with pytest.raises(UsageError, match="needs a schema for log"):
        ss.read_blocks(blocks, format="log", record_pattern="(?P<a>.*)", infer_schema=True)
    with pytest.raises(UsageError, match="call limit on the DataFrame"):
        ss.read_blocks(blocks, format="text", limit=3)
    with pytest.raises(UsageError, match="the column block_id is the block's"):
        ss.read_blocks(blocks, format="csv", schema="Block_Id long")


# ------------------------------------------------------------------- reading


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_splitting_and_reading_give_the_records_of_one_pass(
    spark: SparkSession, tmp_path: Path, sample: Sample
) -> None:
    path = sample.write(tmp_path)
    expected = sample.scan(path).to_arrow()
    blocks = ss.split_files(paths_frame(spark, path), block_size=3, format=sample.format, **sample.options)
    schema = {} if sample.schema is None else {"schema": sample.schema}
    for given in (blocks, blocks.drop("first_record_start", "block_index").repartition(2)):
        records = ss.read_blocks(
            given, format=sample.format, metadata_columns="record_offset", **schema, **sample.options
        )
        got = records.orderBy("record_offset").drop("block_id", "record_offset").toArrow()
        assert rows_of(got) == rows_of(expected)


def test_records_carry_their_block(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 30)
    blocks = ss.split_files(paths_frame(spark, path), block_size=64, format="csv", **CSV_OPTIONS).cache()
    metadata = "file_block_start,file_name,file_size,file_path,file_modification_time,record_offset,record_length"
    records = ss.read_blocks(blocks, format="csv", schema=CSV_SCHEMA, metadata_columns=metadata, **CSV_OPTIONS)
    assert records.columns == ["block_id", "id", "name", "note", *metadata.split(",")]
    joined = records.join(blocks.select("block_id", "start", "stop", col("file_size").alias("size")), "block_id")
    assert joined.count() == 30
    wrong = "record_offset < start or record_offset >= stop or file_block_start <> start or file_size <> size"
    assert joined.where(wrong).count() == 0
    per_block = records.groupBy("block_id").agg(count(lit(1)).alias("n")).collect()
    assert sum(row.n for row in per_block) == 30
    blocks.unpersist()


def test_columns_narrow_the_records_and_the_block_id_stays(spark: SparkSession, tmp_path: Path) -> None:
    blocks = ss.split_files(paths_frame(spark, write_csv(tmp_path, 5)), format="csv", **CSV_OPTIONS)
    records = ss.read_blocks(blocks, format="csv", schema=CSV_SCHEMA, columns="note", **CSV_OPTIONS)
    assert records.columns == ["block_id", "note"]
    assert [row.note for row in records.collect()] == [f'say "{n}"' for n in range(5)]


def test_a_file_that_changed_since_it_was_split_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 5)
    blocks = ss.split_files(paths_frame(spark, path)).cache()
    assert blocks.count() == 1
    write_csv(tmp_path, 6)
    with pytest.raises(PythonException, match=r"SourceChangedError: (?s:.)*a\.csv"):
        ss.read_blocks(blocks, format="text").collect()
    assert ss.read_blocks(blocks, format="text", on_file_change="ignore").count() > 0
    blocks.unpersist()


def blocks_in(row: dict[str, Any], roots: tuple[str, ...] | None = None) -> list[BlockMetadata]:
    schema = pa.schema([BLOCK_SCHEMA.field(name).with_nullable(True) for name in row])
    return list(read_block_rows(pa.RecordBatch.from_pylist([row], schema), roots))


def test_rows_that_are_no_blocks_are_refused() -> None:
    good: dict[str, Any] = {"file_path": "/a", "start": 0, "stop": 4, "file_size": 9, "fingerprint": "f"}
    assert [(block.start, block.stop) for block in blocks_in(good)] == [(0, 4)]
    for change in (
        {"start": -1},
        {"start": 4},
        {"stop": 10},
        {"file_size": -1},
        {"file_path": None},
        {"fingerprint": None},
        {"stop": None},
        {"start": 2, "first_record_start": 1},
        {"first_record_start": 10},
        {"block_index": -1},
    ):
        with pytest.raises(UsageError, match=r"\[bad-block\]"):
            blocks_in({**good, **change})
    with pytest.raises(UsageError, match=r"\[path-escapes\]"):
        blocks_in({**good, "file_path": "/data/../etc/x"}, ("/data",))


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("file_path", pa.binary(), "text"),
        ("fingerprint", pa.int64(), "text"),
        ("start", pa.string(), "a whole number"),
        ("stop", pa.float64(), "a whole number"),
        ("file_size", pa.decimal128(10, 2), "a whole number"),
        ("block_index", pa.bool_(), "a whole number"),
        ("first_record_start", pa.string(), "a whole number"),
        ("file_modification_time", pa.string(), "a timestamp"),
    ],
)
def test_a_column_of_another_type_is_refused_by_its_name(name: str, kind: pa.DataType, expected: str) -> None:
    fields = [pa.field(field.name, kind if field.name == name else field.type) for field in BLOCK_SCHEMA]
    with pytest.raises(UsageError) as caught:
        list(read_block_rows(pa.RecordBatch.from_pylist([], pa.schema(fields)), None))
    assert str(caught.value).startswith(f"column {name} of a DataFrame of blocks is {expected} [bad-block]")
    assert f"seen:  {kind}" in str(caught.value)


def test_narrow_numbers_and_columns_of_nulls_are_fine() -> None:
    fields = {"start": pa.int32(), "stop": pa.int16(), "first_record_start": pa.null()}
    check_columns(pa.schema([pa.field(field.name, fields.get(field.name, field.type)) for field in BLOCK_SCHEMA]))


def test_a_row_that_belies_the_length_of_its_file_is_an_error(tmp_path: Path) -> None:
    path = write_csv(tmp_path, 9)
    (block,) = ss.scan_text(path).blocks()
    row = {"file_path": path, "start": 0, "stop": 20, "file_size": 20, "fingerprint": block.file.fingerprint}
    with pytest.raises(SourceChangedError, match=r"planned .*, 20 bytes"):
        list(scan_blocks(ss.scan_text(path).spec, blocks_in(row)))


def test_blocks_become_rows_and_blocks_again(tmp_path: Path) -> None:
    write_csv(tmp_path, 40)
    options = parse_options("csv", {**CSV_OPTIONS, "block_size": 33})
    blocks = list(split_path(str(tmp_path), options, record_format(options)))
    batches = list(block_batches(iter(blocks)))
    assert all(batch.schema.equals(BLOCK_SCHEMA) for batch in batches)
    back = [block for batch in batches for block in read_block_rows(batch, None)]
    assert back == blocks
    zoned = batches[0].set_column(
        5, "file_modification_time", batches[0].column(5).cast(pa.timestamp("us", "America/New_York"))
    )
    assert list(read_block_rows(zoned, None)) == blocks[: batches[0].num_rows]


# -------------------------------------------------- first starts on their own


def multi_line(path: str, **more: Any) -> tuple[Any, Any, list[BlockMetadata]]:
    options = parse_options("csv", {**CSV_OPTIONS, **more})
    (file,) = list_files(path)
    return options, record_format(options), list(split_file(file, 1))


@pytest.mark.parametrize("cell_bytes", [1, 7, 40, 100_000])
def test_every_block_finds_its_own_first_record_start(tmp_path: Path, cell_bytes: int) -> None:
    path = SAMPLES[0].write(tmp_path)
    options, format, blocks = multi_line(path)
    planned = ss.scan(path, "csv", CSV_SCHEMA, block_size=1, **CSV_OPTIONS).plan()
    by_schema = [find_first_start(block, format, options, cell_bytes) for block in blocks]
    for found, block in zip(by_schema[1:], planned[1:], strict=True):
        assert found.first_record_start is not None
        assert block.first_record_start is not None
        if found.first_record_start != block.first_record_start:  # blank lines between them belong to no record
            low, high = sorted((found.first_record_start, block.first_record_start))
            assert not SAMPLES[0].data[low:high].strip(b"\r\n")


def test_the_index_of_a_file_is_made_once_per_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, format, blocks = multi_line(write_csv(tmp_path, 30))
    calls = []
    original = indexing.fill_index
    monkeypatch.setattr(indexing, "fill_index", lambda *given: calls.append(1) or original(*given))
    for block in blocks[1::17]:
        find_first_start(block, format, options, 64)
    assert calls == [1]
    given = blocks[5].starting_at(9)
    assert find_first_start(given, format, options, 64) is given


def test_a_changed_file_is_not_indexed(tmp_path: Path) -> None:
    options, format, blocks = multi_line(write_csv(tmp_path, 3))
    old = replace(blocks[9], file=replace(blocks[9].file, fingerprint="other"))
    with pytest.raises(SourceChangedError):
        find_first_start(old, format, options, 64)


# ----------------------------------------------------------------- streaming


def test_both_operators_work_on_a_stream_of_manifests(spark: SparkSession, tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    stream = spark.readStream.schema("path string").json(str(manifests))
    blocks = ss.split_files(stream, block_size=40, format="csv", **CSV_OPTIONS)
    records = ss.read_blocks(blocks, format="csv", schema=CSV_SCHEMA, metadata_columns="file_name", **CSV_OPTIONS)
    assert records.isStreaming

    def run() -> None:
        query = (
            records.writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "out"))
        )
        assert query.awaitTermination(120)

    (manifests / "1.json").write_text(json.dumps({"path": write_csv(tmp_path / "in", 12, "x.csv")}))
    run()
    (manifests / "2.json").write_text(json.dumps({"path": write_csv(tmp_path / "in", 9, "y.csv")}))
    run()
    found = spark.read.parquet(str(tmp_path / "out")).groupBy("file_name").agg(count(lit(1))).collect()
    assert sorted(tuple(row) for row in found) == [("x.csv", 12), ("y.csv", 9)]


def test_pinned_rows_replay_what_they_say_or_fail(spark: SparkSession, tmp_path: Path) -> None:
    manifests, source, out = tmp_path / "manifests", tmp_path / "in", tmp_path / "out"
    manifests.mkdir()
    (file,) = ss.scan(write_csv(source, 12, "x.csv"), "csv", CSV_SCHEMA, **CSV_OPTIONS).files()
    pin = {"path": file.path, "file_size": file.size_bytes, "fingerprint": file.fingerprint}
    (manifests / "1.json").write_text(json.dumps(pin))
    stream = spark.readStream.schema("path string, file_size long, fingerprint string").json(str(manifests))
    blocks = ss.split_files(stream, pinned=True, roots=[str(source)], block_size=40, format="csv", **CSV_OPTIONS)
    records = ss.read_blocks(blocks, format="csv", schema=CSV_SCHEMA, **CSV_OPTIONS)
    counts: list[int] = []

    def fail_at_first(frame: DataFrame, _: int) -> None:
        counts.append(frame.count())
        if len(counts) == 1:
            raise OSError("the sink is down")

    def run() -> None:
        writer = records.writeStream.foreachBatch(fail_at_first).option("checkpointLocation", str(out))
        writer.trigger(availableNow=True).start().awaitTermination(120)

    with pytest.raises(Exception, match="the sink is down"):
        run()
    content = Path(file.path).read_bytes()
    Path(file.path).write_bytes(content + content)
    with pytest.raises(Exception, match=r"(?s)\[source-changed\].*x\.csv"):
        run()
    assert counts == [12]
