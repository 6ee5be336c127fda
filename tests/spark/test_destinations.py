"""Destinations as Spark sees them: partitions that it reads and spells alike, and directories watched into tables."""

from collections import Counter

import pytest
from deltalake import DeltaTable

import splitscan as ss
from splitscan.jobs import IngestSettings, VerifyReport
from splitscan.jobs.watching import WatchedWindow

ODD = ["a/b", "a b", "é", "", "100%", "a=b", "NA", "a+b", "..", ".", "#?[]{}^\\:*", "%2F", "007", " ", "'", "__HIVE"]


@pytest.fixture
def scan(tmp_path):
    (tmp_path / "in").mkdir()
    lines = [f'{number},"{ODD[number % len(ODD)]}"\n' for number in range(160)]
    (tmp_path / "in/a.csv").write_text("".join(lines))
    given = {"nullValue": "NA", "emptyValue": "", "escape": '"', "blockSize": "600", "taskSize": "1500"}
    return ss.scan_csv(str(tmp_path / "in"), "id long, kind string", **given)


def test_spark_reads_partitions_and_spells_them_alike(spark, scan, tmp_path):
    scan.ingest(spark, str(tmp_path / "out"), partition_by="kind")
    expected = Counter((row["id"], row["kind"] or None) for row in scan.to_arrow().to_pylist())
    read = spark.read.schema("id long, kind string").parquet(str(tmp_path / "out"))
    assert Counter(map(tuple, read.select("id", "kind").collect())) == expected
    scan.to_spark(spark).write.partitionBy("kind").parquet(str(tmp_path / "sparks"))
    ours, sparks = ({path.name for path in (tmp_path / name).glob("kind=*")} for name in ("out", "sparks"))
    assert ours == sparks
    assert ss.verify(tmp_path / "out", deep=True).ok


def test_a_directory_is_watched_from_python(spark, tmp_path):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for number in range(5):
        (source / f"{number}.csv").write_text(f"id,kind\n{number},x\n")
    options = {"header": True, "maxFilesPerTrigger": 2, "scanIntervalMillis": 0}
    settings = IngestSettings(partition_by=("kind",))
    windows = list(ss.watch(spark, source, out, "csv", "id long, kind string", once=True, table="delta",
                            settings=settings, **options))  # fmt: skip
    assert [window.report.rows for window in windows if isinstance(window, WatchedWindow)] == [2, 2, 1]
    (source / "5.csv").write_text("id,kind\n5,y\n")
    following = ss.watch(spark, source, out, "csv", "id long, kind string", settings=settings, **options)
    told = [next(following), next(following)]
    following.close()
    assert told[0].report.rows == 1
    assert told[1] is None
    read = DeltaTable(out).to_pyarrow_table().to_pylist()
    assert sorted(row["id"] for row in read) == list(range(6))
    assert {row["kind"] for row in read} == {"x", "y"}
    assert isinstance(report := ss.verify(str(out), deep=True), VerifyReport)
    assert (report.ok, report.jobs, report.rows) == (True, 4, 6)


def test_verify_finds_what_was_changed(spark, scan, tmp_path):
    scan.ingest(spark, str(tmp_path / "out"))
    assert ss.verify(tmp_path / "out").ok
    next((tmp_path / "out").glob("*.parquet")).write_bytes(b"")
    report = ss.verify(tmp_path / "out")
    assert not report.ok
    assert {problem.code for problem in report.problems} == {"data-file-changed"}


@pytest.mark.parametrize("layout", ["flat", "jobs"])
@pytest.mark.parametrize("partitions", [None, "kind"])
def test_spark_finds_a_column_that_old_files_lack(spark, tmp_path, partitions, layout):
    (tmp_path / "in").mkdir()
    for number, (names, record) in enumerate([("id,kind", "1,m"), ("x,id,kind", "7,2,a"), ("id,kind", "3,z")]):
        (tmp_path / f"in/{number}.csv").write_text(f"{names}\n{record}\n")
        scan = ss.scan_csv(str(tmp_path / "in"), header=True, header_mapping="byName", infer_schema=True)
        mode = "addNewColumns"
        wanted = {"partition_by": partitions, "layout": layout, "schema_evolution_mode": mode}
        scan.ingest(spark, str(tmp_path / "out"), **wanted)
    for read in (spark.read, spark.read.option("mergeSchema", True)):
        found = read.parquet(str(tmp_path / "out"))
        assert sorted(map(tuple, found.select("id", "x", "kind").collect())) == [
            (1, None, "m"), (2, 7, "a"), (3, None, "z"),
        ]  # fmt: skip
