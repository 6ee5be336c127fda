"""Ingest through real Spark workers; the steps themselves are tested without Spark in tests/unit/jobs."""

import csv
import random

import pyarrow.parquet as pq
import pytest

import splitscan as ss
from splitscan.api.jobs import ingest
from splitscan.errors import IngestError, RecordError, SchemaError
from splitscan.jobs import Phase, steps, verify


@pytest.fixture
def folder(tmp_path):
    """Two CSV files with newlines, quotes and commas in their fields."""
    source = tmp_path / "in"
    source.mkdir()
    generator = random.Random(7)
    for name in ("a", "b"):
        with (source / f"{name}.csv").open("w", newline="") as output:
            writer = csv.writer(output)
            writer.writerow(["id", "text"])
            for number in range(3000):
                writer.writerow([number, generator.choice(['say "hi",\nplease', "é\n\n", "plain", ""]) + f" {number}"])
    return source


def scan(folder, **options):
    given = {"header": True, "multiLine": True, "escape": '"', "blockSize": "10k", "taskSize": "30k", **options}
    return ss.scan(str(folder), "csv", "id long, text string", **given)


def content(rows):
    return sorted((row["id"], row["text"]) for row in rows)


def test_spark_reads_back_exactly_what_one_pass_over_the_files_gives(spark, folder, tmp_path):
    told = []
    report = ingest(scan(folder), spark, tmp_path / "out", on_progress=told.append)
    assert (report.rows, report.rejects, report.files, report.accounted) == (6000, 0, 2, True)
    assert report.blocks > 10
    rows = [row.asDict() for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert content(rows) == content(scan(folder).to_arrow().to_pylist())
    assert told[-1].phase is Phase.DONE
    assert told[-1].rows == 6000
    checked = verify(tmp_path / "out", deep=True)
    assert checked.ok
    assert checked.digests_checked == report.blocks


@pytest.mark.parametrize("partition_by", [None, "id"])
def test_spark_reads_the_folders_of_jobs_and_shows_which_job(spark, folder, tmp_path, partition_by):
    for name in ("a", "b"):
        few = "".join(f"{number},{name}{number}\n" for number in range(4))
        (folder / f"{name}.csv").write_text(f"id,text\n{few}")
        chosen = scan(folder, pathGlobFilter=f"[a-{name}].csv")
        chosen.ingest(spark, tmp_path / "out", layout="jobs", partition_by=partition_by)
    found = spark.read.parquet(str(tmp_path / "out"))
    assert dict(found.dtypes)["splitscan_job"] == "int"
    rows = sorted((row["splitscan_job"], row["id"], row["text"]) for row in found.collect())
    assert rows == [(job, number, f"{name}{number}") for job, name in ((1, "a"), (2, "b")) for number in range(4)]
    for number, name in enumerate("ab", 1):
        assert found.where(f"splitscan_job = {number}").agg({"text": "max"}).first()[0] == f"{name}3"
    assert verify(tmp_path / "out", deep=True).ok


def test_the_second_run_starts_no_task(spark, folder, tmp_path):
    scan(folder).ingest(spark, str(tmp_path / "out"))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert scan(folder).ingest(spark, str(tmp_path / "out")).nothing_to_do
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


def test_the_parquet_bytes_are_the_same_in_every_run_and_the_rows_however_tasks_are_packed(spark, folder, tmp_path):
    ingest(scan(folder), spark, tmp_path / "1")
    ingest(scan(folder), spark, tmp_path / "2")
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.parquet")} for name in "12"
    )  # fmt: skip
    assert first == second
    packed = ingest(scan(folder, taskSize="1m", openCostInBytes=0), spark, tmp_path / "3")
    assert packed.data_files < len(first)
    assert content(pq.read_table(tmp_path / "3").to_pylist()) == content(pq.read_table(tmp_path / "1").to_pylist())
    assert verify(tmp_path / "3", deep=True).ok


def test_the_boundary_index_may_run_as_a_spark_job(spark, folder, tmp_path, monkeypatch):
    from splitscan.spark import indexing

    ran = []
    monkeypatch.setattr(indexing, "MIN_JOB_BYTES", 0)
    original = indexing.run_tasks
    monkeypatch.setattr(indexing, "run_tasks", lambda *args: ran.append(1) or original(*args))
    monkeypatch.setitem(indexing.spark_indexer.__kwdefaults__, "min_job_bytes", 0)
    assert ingest(scan(folder), spark, tmp_path / "out").rows == 6000
    assert ran
    assert verify(tmp_path / "out", deep=True).ok


def test_an_error_in_a_worker_arrives_with_our_class_and_message_and_publishes_nothing(spark, folder, tmp_path):
    with (folder / "b.csv").open("a") as output:
        output.write("no number,x\n")
    with pytest.raises(RecordError) as caught:
        ingest(scan(folder, mode="FAILFAST"), spark, tmp_path / "out")
    text = str(caught.value)
    assert "in/b.csv" in text
    assert "mode=FAILFAST" in text
    assert "Traceback" not in text
    assert not (tmp_path / "out").exists()


def test_rejects_are_kept_beside_the_data_and_a_budget_can_end_the_job(spark, folder, tmp_path):
    with (folder / "b.csv").open("a") as output:
        output.write("no number,x\nonly one\n")
    with pytest.raises(IngestError, match="reject-budget"):
        ingest(scan(folder), spark, tmp_path / "out", max_rejects=1)
    assert not (tmp_path / "out").exists()
    report = ingest(scan(folder), spark, tmp_path / "out", max_rejects=2)
    assert report.rejects == 2
    assert report.blocks_resumed > 0  # what was read before the budget was spent
    table = pq.read_table(tmp_path / "out/_splitscan/rejects").to_pylist()
    assert sorted(row["raw"] for row in table) == [b"no number,x", b"only one"]
    read = spark.read.parquet(str(tmp_path / "out/_splitscan/rejects"))
    assert read.count() == 2
    assert spark.read.parquet(str(tmp_path / "out")).count() == report.rows


def test_another_schema_is_refused_before_any_task_runs(spark, folder, tmp_path):
    ingest(scan(folder), spark, tmp_path / "out")
    (folder / "c.csv").write_text("id,text\n1,x\n")
    other = ss.scan(str(folder), "csv", "id string, text string", header=True)
    with pytest.raises(SchemaError, match="destination-schema"):
        ingest(other, spark, tmp_path / "out")


def test_a_job_can_be_stopped_while_its_tasks_run_and_continued_later(spark, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(steps, "POLL_SECONDS", 0.02)

    def stop(progress):
        if 0 < progress.blocks_done < progress.blocks_total:
            raise KeyboardInterrupt

    small = {"blockSize": "1k", "taskSize": "2k", "openCostInBytes": 0}
    with pytest.raises(KeyboardInterrupt):
        ingest(scan(folder, **small), spark, tmp_path / "out", on_progress=stop)
    assert not (tmp_path / "out").exists()
    report = ingest(scan(folder, **small), spark, tmp_path / "out")
    assert report.rows == 6000
    assert 0 < report.blocks_resumed < report.blocks  # the tasks that had not started never ran
