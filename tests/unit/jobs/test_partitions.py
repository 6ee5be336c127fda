"""Rows in folders by the values of columns: which folder, what readers read back, what a kill leaves, what it costs."""

import json
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from splitscan.api.files import Scan
from splitscan.content.storage import open_storage
from splitscan.errors import IngestError, SchemaError, UsageError
from splitscan.jobs import verify
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.ledger_files import ledger_name, parse_ledger
from splitscan.jobs.parquet import DICTIONARY_BYTES, ParquetFileWriter
from splitscan.jobs.part_writing import MOST_OPEN, PartFiles
from splitscan.jobs.settings import NULL_FOLDER, IngestSettings, Partitioning
from splitscan.jobs.staging import Staging
from splitscan.jobs.steps import IngestTarget, run_ingest

from .tables.conftest import open_iceberg

SCHEMA = "id long, kind string, day date, flag boolean, size int"
ODD = [
    "a/b",
    "a b",
    "é",
    "",
    "100%",
    "_" + NULL_FOLDER,
    "a=b",
    "NA",
    "a+b",
    "..",
    ".",
    "#?[]{}^\\:*'",
    "%2F",
    "007",
    " ",
]
NAMES = ["kind", "day", "flag", "size"]


@pytest.fixture
def source(tmp_path):
    """Files of odd values: ``write(name, start, rows)``; the scan is of all that are there."""
    folder = tmp_path / "in"
    folder.mkdir()

    def write(name, start=0, rows=75):
        records = []
        for number in range(start, start + rows):
            kind = ODD[number % len(ODD)].replace('"', '""')
            day = "NA" if number % 7 == 0 else f"2024-01-0{1 + number % 2}"
            records.append(f'{number},"{kind}",{day},{"NA" if number % 3 == 0 else "true"},{number % 2 - 1}\n')
        (folder / name).write_text("".join(records) + "oops\n")
        options = {
            "nullValue": "NA", "emptyValue": "", "escape": '"',
            "blockSize": "600", "taskSize": "1500", "openCostInBytes": 0,
        }  # fmt: skip
        return Scan.of(str(folder), "csv", SCHEMA, options)

    return write


def rows_of(table):
    return Counter((row["id"], *(row[name] for name in NAMES)) for row in table.to_pylist())


def read_plain(out):
    types = pa.schema([("kind", pa.string()), ("day", pa.date32())])
    partitions = ds.partitioning(types, flavor="hive")
    return ds.dataset(out, format="parquet", partitioning=partitions).to_table()


def read_delta(out):
    return DeltaTable(out.as_uri()).to_pyarrow_table()


def read_iceberg(out):
    return open_iceberg(out).scan().to_arrow()


READERS = {"none": read_plain, "delta": read_delta, "iceberg": read_iceberg}


@pytest.fixture(params=sorted(READERS))
def target(request, tmp_path, runner):
    """A destination of each kind: its format, where it is, how to ingest into it, what it holds."""

    class Destination:
        format = request.param
        out = tmp_path / "out"

        def ingest(self, scan, partition_by=("kind", "day"), chosen=None, **settings):
            settings = IngestSettings(partition_by=partition_by, **settings)
            return run_ingest(FileSource(scan), IngestTarget(self.out, settings, table=self.format), chosen or runner())

        def rows(self):
            return rows_of(READERS[self.format](self.out))

        def expected(self, scan):
            """What a scan reads; where only folders tell a value, an empty text is a null."""
            table = scan.to_arrow()
            if self.format != "iceberg":
                kinds = [text or None for text in table["kind"].to_pylist()]
                table = table.set_column(1, "kind", pa.array(kinds, pa.string()))
            return rows_of(table)

    return Destination()


@pytest.mark.thin(1)
def test_odd_values_come_back_and_verify_agrees(target, source):
    scan = source("a.csv")
    report = target.ingest(scan)
    assert (report.rows, report.rejects) == (76, 1)
    assert target.rows() == target.expected(scan)
    scan = source("b.csv", 150)
    assert target.ingest(scan, None).files_skipped == 1  # partitioned as the job before
    assert target.rows() == target.expected(scan)
    checked = verify(target.out, deep=True)
    assert (checked.problems, checked.notes, checked.rows) == ((), (), 152)
    assert target.ingest(scan).nothing_to_do
    folders = {path.name for path in target.out.iterdir() if "=" in path.name}
    assert {"kind=a%2Fb", "kind=a b", "kind=é", f"kind={NULL_FOLDER}", f"kind=_{NULL_FOLDER}"} < folders


def test_whole_numbers_and_booleans_are_partitions_too(target, source):
    scan = source("a.csv")
    target.ingest(scan, ("flag", "size"))
    if target.format == "none":
        types = pa.schema([("flag", pa.bool_()), ("size", pa.int32())])
        read = ds.dataset(target.out, format="parquet", partitioning=ds.partitioning(types, flavor="hive")).to_table()
        assert rows_of(read) == rows_of(scan.to_arrow())
    else:
        assert target.rows() == rows_of(scan.to_arrow())
    assert verify(target.out, deep=True).ok


def test_engines_agree_on_a_plain_folder(tmp_path, source, run):
    scan = source("a.csv")
    run(scan, tmp_path / "out", partition_by=("kind",))
    expected = Counter((row["id"], row["kind"] or None) for row in scan.to_arrow().to_pylist())
    files = f"{tmp_path}/out/kind=*/*.parquet"
    query = f"SELECT id, kind FROM read_parquet('{files}', hive_partitioning=true, hive_types_autocast=false)"
    assert Counter(duckdb.sql(query).fetchall()) == expected
    found = (
        pl.scan_parquet(files, hive_partitioning=True, hive_schema={"kind": pl.String}).select("id", "kind").collect()
    )
    assert Counter(found.rows()) == expected


def test_the_name_of_the_null_folder_is_a_text_like_any_other(tmp_path, runner):
    (tmp_path / "a.csv").write_text(f"1,{NULL_FOLDER}\n2,NA\n")
    scan = Scan.of(str(tmp_path / "a.csv"), "csv", "id long, kind string", {"nullValue": "NA"})
    for table in READERS:
        run_ingest(
            FileSource(scan),
            IngestTarget(tmp_path / table, IngestSettings(partition_by=("kind",)), table=table),
            runner(),
        )
    files = f"{tmp_path}/none/kind=*/*.parquet"
    read = duckdb.sql(f"SELECT id, kind FROM read_parquet('{files}', hive_partitioning=true)").fetchall()
    assert sorted(read) == [(1, NULL_FOLDER), (2, None)]
    for read in (read_delta(tmp_path / "delta"), read_iceberg(tmp_path / "iceberg")):
        assert dict(zip(read["id"].to_pylist(), read["kind"].to_pylist(), strict=True)) == {1: NULL_FOLDER, 2: None}


@pytest.mark.slow
def test_filters_of_tables_find_the_same_rows(tmp_path, source, runner):
    scan = source("a.csv")
    settings = IngestSettings(partition_by=("kind", "day"))
    run_ingest(FileSource(scan), IngestTarget(tmp_path / "d", settings, table="delta"), runner())
    run_ingest(FileSource(scan), IngestTarget(tmp_path / "i", settings, table="iceberg"), runner())
    counts = Counter(row["kind"] for row in scan.to_arrow().to_pylist())
    delta, iceberg = DeltaTable((tmp_path / "d").as_uri()), open_iceberg(tmp_path / "i")
    for kind, count in counts.items():
        if kind:
            assert delta.to_pyarrow_dataset().to_table(filter=ds.field("kind") == kind).num_rows == count
        if kind is not None and "'" not in kind:
            assert iceberg.scan(row_filter=f"kind = '{kind}'").to_arrow().num_rows == count
    assert delta.to_pyarrow_dataset().to_table(filter=ds.field("kind").is_null()).num_rows == counts[None] + counts[""]
    assert iceberg.scan(row_filter="kind is null").to_arrow().num_rows == counts[None]
    values = {
        json.dumps(row) for row in pa.table(delta.get_add_actions(flatten=True)).select(["partition.kind"]).to_pylist()
    }
    assert len(values) == len(ODD) - 1  # of the two that are null


def test_an_interrupted_job_is_continued(target, source, runner):
    scan = source("a.csv")
    with pytest.raises(IngestError, match="the power failed"):
        target.ingest(scan, chosen=runner(stop_after=3))
    report = target.ingest(scan)
    assert report.blocks_resumed > 0
    assert target.rows() == target.expected(scan)
    assert verify(target.out, deep=True).ok


def test_a_kill_between_two_moves_is_finished(tmp_path, source, run, monkeypatch):
    class Death(BaseException):
        pass

    original, moved = Path.replace, []

    def mortal(path, target):
        if target.parents[1] == tmp_path / "out" and target.suffix == ".parquet":
            if len(moved) == 3:
                raise Death
            moved.append(target.name)
        return original(path, target)

    run(source("a.csv"), tmp_path / "out", partition_by=("kind",))
    scan = source("b.csv", 150)
    with monkeypatch.context() as patched, suppress(Death):
        patched.setattr(Path, "replace", mortal)
        run(scan, tmp_path / "out")
    assert len(moved) == 3
    assert verify(tmp_path / "out", deep=True).rows == 152
    assert read_plain_kinds(tmp_path / "out") == Counter(row["kind"] or None for row in scan.to_arrow().to_pylist())


def read_plain_kinds(out):
    partitions = ds.partitioning(pa.schema([("kind", pa.string())]), flavor="hive")
    return Counter(ds.dataset(out, format="parquet", partitioning=partitions).to_table()["kind"].to_pylist())


@pytest.mark.thin(1)
def test_what_an_abandoned_job_wrote_is_cleared_away(target, source, runner):
    with pytest.raises(IngestError, match="the power failed"):
        target.ingest(source("a.csv"), chosen=runner(stop_after=3))
    scan = source("b.csv", 150)  # two files now: another job, and one that nobody can continue
    target.ingest(scan)
    assert verify(target.out).ok
    named = {written.name for written in ledger_of(target.out).data_files}
    assert {str(path.relative_to(target.out)) for path in target.out.rglob("part-*.parquet")} == named


def ledger_of(out, number=1):
    return parse_ledger((out / ledger_name(number)).read_bytes(), "x")


def test_the_ledger_says_which_rows_are_whose(target, source):
    scan = source("a.csv")
    target.ingest(scan, ("kind",), row_group_rows=40)
    ledger = ledger_of(target.out)
    assert ledger.partitioning == Partitioning(("kind",), target.format == "iceberg")
    found = []
    for block in ledger.blocks:
        own = [
            number
            for rows in block.data
            for number in pq.read_table(target.out / rows.name, partitioning=None)["id"].to_pylist()[
                rows.start : rows.stop
            ]
        ]
        assert len(own) == block.rows
        assert own == [] or None in own or max(own) - min(own) < block.rows
        found += own
    assert Counter(found) == Counter(scan.to_arrow()["id"].to_pylist())


def test_a_stray_file_among_partitions_is_found(tmp_path, source, run):
    run(source("a.csv"), tmp_path / "out", partition_by=("kind",))
    part = next((tmp_path / "out").glob("kind=é/*.parquet"))
    (part.parent / "extra.parquet").write_bytes(part.read_bytes())
    (tmp_path / "out/kind=new").mkdir()
    strays = {problem.path for problem in verify(tmp_path / "out").problems if problem.code == "stray-file"}
    assert strays == {str(part.parent / "extra.parquet"), f"{tmp_path}/out/kind=new"}
    part.rename(part.with_name("part-0.parquet"))
    assert "data-file-missing" in {problem.code for problem in verify(tmp_path / "out").problems}


def test_without_rows_the_columns_can_still_be_read(tmp_path, run):
    (tmp_path / "none.csv").write_text("")
    scan = Scan.of(str(tmp_path / "none.csv"), "csv", SCHEMA, {})
    run(scan, tmp_path / "out", partition_by=("kind", "day"))
    assert set(read_plain(tmp_path / "out").schema.names) == set(scan.schema.names)
    assert read_plain(tmp_path / "out").num_rows == 0
    assert verify(tmp_path / "out").ok


def test_a_table_of_others_is_written_as_it_is_partitioned(tmp_path, source, run):
    scan = source("a.csv")
    DeltaTable.create(tmp_path / "out", scan.schema, partition_by=["day"])
    run(scan, tmp_path / "out")
    assert rows_of(read_delta(tmp_path / "out")) == rows_of(scan.to_arrow())
    assert (tmp_path / "out/day=2024-01-01").is_dir()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("none",), "no column 'none'"),
        (("kind", "kind"), "a column twice"),
        (("real",), "column real is double"),
        (("moment",), "column moment is timestamp"),
        (("_x",), "engines skip"),
        (("id", "real", "moment", "_x"), "column real is double"),
    ],
)
def test_columns_that_cannot_be_partitioned_by_are_refused(target, tmp_path, runner, columns, message):
    (tmp_path / "a.csv").write_text("1,1.5,2024-01-01 00:00:00,a\n")
    scan = Scan.of(str(tmp_path / "a.csv"), "csv", "id long, real double, moment timestamp, _x string, kind string", {})
    chosen = runner()
    with pytest.raises(UsageError, match=r"\[partition-column\]") as caught:
        target.ingest(scan, columns, chosen)
    assert message in str(caught.value)
    assert (chosen.opened, target.out.exists()) == ([], False)


def test_all_columns_cannot_be_partitions_of_a_folder(tmp_path, run):
    (tmp_path / "a.csv").write_text("1\n")
    scan = Scan.of(str(tmp_path / "a.csv"), "csv", "id long", {})
    with pytest.raises(UsageError, match="all columns"):
        run(scan, tmp_path / "out", partition_by=("id",))


def test_jobs_of_one_destination_have_the_same_partitions(target, source):
    target.ingest(source("a.csv"))
    with pytest.raises(SchemaError, match=r"day, kind\n.*but the destination has: kind, day"):
        target.ingest(source("b.csv", 150), ("day", "kind"))
    with pytest.raises(SchemaError, match="none\n"):
        target.ingest(source("b.csv", 150), ())


def test_a_value_that_is_too_long_fails_the_job(target, tmp_path):
    (tmp_path / "a.csv").write_text(f"1,{'é' * 126}\n2,{'x' * 250}\n3,{'x' * 251}\n")
    scan = Scan.of(str(tmp_path / "a.csv"), "csv", "id long, kind string", {})
    with pytest.raises(IngestError, match=r"\[partition-value\](.|\n)*of 257 bytes"):
        target.ingest(scan, ("kind",))
    assert not (target.out / ledger_name(1)).exists()


# ------------------------------------------------------------------ many values


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        (1, 6_000),
        pytest.param(100, 6_000, marks=pytest.mark.slow),
        pytest.param(10_000, 24_000, marks=pytest.mark.large),
    ],
)
def test_memory_does_not_depend_on_the_number_of_values(tmp_path, values, rows):
    text = "x" * (24_000_000 // rows)
    schema = pa.schema([("id", pa.int64()), ("kind", pa.string()), ("text", pa.string())])
    settings = IngestSettings(row_group_bytes=1_000_000)
    staging, sinks = Staging(open_storage(tmp_path), "job"), []

    def open_file(folder, number):
        sinks.append(ParquetFileWriter(staging, f"{folder}part-{number}.parquet", schema.remove(1), settings))
        return sinks[-1]

    most_open = most_held = 0
    before = pa.total_allocated_bytes()
    with closing(PartFiles(open_file, Partitioning(("kind",)), settings)) as files:
        for start in range(0, rows, 500):
            ids = range(start, start + 500)
            kinds = [f"value {number * 7919 % values}" for number in ids]
            files.write(pa.record_batch([pa.array(ids), pa.array(kinds), pa.array([text] * 500)], schema=schema))
            most_open = max(most_open, sum(target.is_open and target.written is None for target in sinks))
            most_held = max(most_held, pa.total_allocated_bytes() - before)
        files.end_block()
    assert 0 < most_open <= MOST_OPEN
    assert most_held < 6 * settings.row_group_bytes + MOST_OPEN * DICTIONARY_BYTES < rows * len(text) / 2
    assert len({written.name.split("/")[0] for written in files.written}) == values
    assert {(part.name, part.stop - part.start) for part in files.ranges(0)} == {
        (written.name, written.rows) for written in files.written
    }
    ids = [pq.read_table(tmp_path / "job/files" / each.name, partitioning=None)["id"] for each in files.written]
    assert sorted(number for some in ids for number in some.to_pylist()) == list(range(rows))


def test_rows_of_a_partition_keep_their_order(tmp_path, source, run):
    run(source("a.csv", rows=600), tmp_path / "out", partition_by=("size",), row_group_rows=25)
    for path in (tmp_path / "out").glob("size=*/*.parquet"):
        ids = [number for number in pq.read_table(path, partitioning=None)["id"].to_pylist() if number is not None]
        assert ids == sorted(ids)


@pytest.mark.slow
def test_two_runs_write_the_same_bytes(tmp_path, source, run, seen):
    scan = source("a.csv", rows=600)
    for name in ("one", "two"):
        run(scan, tmp_path / name, partition_by=("kind", "size"), row_group_rows=25)
    one, two = (
        {name: data for name, data in seen(tmp_path / out).items() if name.endswith(".parquet")}
        for out in ("one", "two")
    )
    assert one == two
