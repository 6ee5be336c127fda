"""Plain folders with a folder for each job: whoever lists sees whole jobs, and a commit costs what its files cost."""

import os
import shutil
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest

from splitscan.api.files import Scan
from splitscan.content.storage import open_storage
from splitscan.errors import IngestError, UsageError
from splitscan.jobs import SchemaEvolution, verify
from splitscan.jobs.destination import HistoryReader
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.folder import JobFolderLayout
from splitscan.jobs.ledger_files import list_ledgers, read_ledger, render_ledger
from splitscan.jobs.settings import IngestSettings, Layout
from splitscan.jobs.steps import IngestTarget, run_ingest

JOBS = Layout.JOBS
SCHEMA = "id long, kind string"
FEW = 6  # files of a job, one part each


class Death(BaseException):
    """The process ends here."""


@pytest.fixture
def source(tmp_path):
    """Write a file of ``FEW`` blocks for a job, and scan the folder; *bad* records are appended."""

    def write(job, bad=0):
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        rows = [f"{job * 100 + number:08d},{'abc'[number % 3]}\n" for number in range(FEW * 4)]
        if not (path := folder / f"{job:04d}.csv").exists():
            path.write_text("".join([*rows, *["oops\n"] * bad]))
        options = {"blockSize": 44, "taskSize": 44, "openCostInBytes": 0, "mode": "DROPMALFORMED"}
        return Scan.of(str(folder), "csv", SCHEMA, options)

    return write


def ids(job):
    return {job * 100 + number for number in range(FEW * 4)}


@pytest.fixture
def out(tmp_path, source, run):
    """Three jobs, the last with rejects."""
    for job in range(3):
        run(source(job, bad=job == 2), tmp_path / "out", layout=JOBS, max_reject_ratio=1)
    return tmp_path / "out"


def hive(out):
    return ds.dataset(out, format="parquet", partitioning="hive").to_table()


READERS = {
    "pyarrow": lambda out: hive(out).to_pylist(),
    "pandas": lambda out: pd.read_parquet(out).to_dict("records"),
    "polars": lambda out: pl.scan_parquet(f"{out}/**/*.parquet", hive_partitioning=True).collect().to_dicts(),
    "duckdb": lambda out: duckdb.sql(f"from '{out}/**/*.parquet'").to_arrow_table().to_pylist(),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("partition_by", [None, ("kind",)])
def test_readers_find_all_rows_and_the_number_of_their_job(tmp_path, source, run, reader, partition_by):
    for job in range(3):
        run(source(job, bad=1), tmp_path / "out", layout=JOBS, partition_by=partition_by, max_reject_ratio=1)
    found = READERS[reader](tmp_path / "out")
    assert Counter(row["id"] for row in found) == Counter(set().union(*map(ids, range(3))))
    assert {(row["id"] // 100 + 1, int(row["splitscan_job"])) for row in found} == {(1, 1), (2, 2), (3, 3)}


def test_a_job_is_a_folder_with_its_ledger_and_rejects_are_apart(out):
    assert sorted(path.name for path in out.iterdir()) == [
        "_splitscan", "splitscan_job=00000001", "splitscan_job=00000002", "splitscan_job=00000003",
    ]  # fmt: skip
    for job in (1, 2, 3):
        copy = out / f"_splitscan/ledger/{job:08d}.jsonl"
        assert (out / f"splitscan_job={job:08d}/_ledger.jsonl").read_bytes() == copy.read_bytes()
    assert len(list((out / "_splitscan/rejects").iterdir())) == 1
    report = verify(out, deep=True)
    assert (report.problems, report.notes, report.rows, report.jobs) == ((), (), 3 * FEW * 4, 3)


def test_files_that_are_ingested_are_skipped_and_the_layout_needs_no_name(out, source, run):
    assert run(source(2, bad=1), out).nothing_to_do
    run(source(3), out)
    assert (out / "splitscan_job=00000004").is_dir()
    assert verify(out, deep=True).ok


@pytest.mark.parametrize(("there", "wanted"), [(Layout.FLAT, JOBS), (JOBS, Layout.FLAT)])
def test_layouts_are_never_mixed(tmp_path, source, run, there, wanted):
    run(source(0), tmp_path / "out", layout=there)
    with pytest.raises(IngestError, match=r"\[destination-layout\]") as caught:
        run(source(1), tmp_path / "out", layout=wanted)
    assert f"layout={wanted.value}, but the destination has: {there.value}" in str(caught.value)
    assert verify(tmp_path / "out").jobs == 1


def test_object_stores_are_refused_and_tables_named(s3_root, s3_options, source, run):
    with pytest.raises(UsageError, match=r"copies file after file") as caught:
        run(source(0), f"{s3_root}/out", destination_options=s3_options, layout=JOBS)
    assert "table='delta'" in str(caught.value)
    assert open_storage(f"{s3_root}/out", s3_options).list_names() == []


def test_tables_have_no_layout(tmp_path, source):
    request = FileSource(source(0)), IngestTarget(tmp_path / "out", IngestSettings(layout=JOBS), table="delta")
    with pytest.raises(UsageError, match="table's own commit"):
        run_ingest(*request, None)


@pytest.mark.parametrize("name", ["splitscan_job", "Splitscan_JOB"])
def test_a_column_of_the_name_of_the_folders_is_refused(tmp_path, source, run, name):
    scan = Scan.of(source(0).roots, "csv", f"id long, {name} string", {})
    with pytest.raises(UsageError, match=r"\[partition-column\]"):
        run(scan, tmp_path / "out", layout=JOBS)
    assert run(scan, tmp_path / "out").rows


# ------------------------------------------------------------- readers that list


def watch_jobs(out, source, run, layout, jobs):
    """Commit jobs while a thread lists and reads again and again. Returns the parts of jobs that it saw, and looks."""
    run(source(0), out, layout=layout)
    torn, looks, stop = [], [], threading.Event()

    def look():
        while not stop.is_set():
            found = hive(out)["id"].to_pylist()
            seen = Counter(each // 100 for each in found)
            assert len(set(found)) == len(found)
            looks.append(len(seen))
            torn.extend((job, count) for job, count in seen.items() if count != FEW * 4)

    with pytest.MonkeyPatch.context() as patched:
        original = Path.replace

        def slow(*arguments):
            moved = original(*arguments)
            stop.wait(0.002)  # a disk that is slower than this one
            return moved

        patched.setattr(Path, "replace", slow)
        reader = threading.Thread(target=look)
        reader.start()
        try:
            for job in range(1, jobs + 1):
                run(source(job), out)
        finally:
            stop.set()
            reader.join()
    return torn, looks


@pytest.mark.slow
def test_who_lists_during_fifty_commits_always_sees_whole_jobs(tmp_path, source, run):
    torn, looks = watch_jobs(tmp_path / "out", source, run, JOBS, 50)
    assert torn == []
    assert len(set(looks)) > 10
    assert verify(tmp_path / "out").rows == 51 * FEW * 4


@pytest.mark.slow
def test_in_a_flat_folder_the_same_reader_sees_parts_of_jobs(tmp_path, source, run):
    assert watch_jobs(tmp_path / "out", source, run, Layout.FLAT, 20)[0] != []


# ------------------------------------------------------------- cost


@pytest.mark.slow
def test_what_a_commit_asks_of_the_file_system_does_not_grow(tmp_path, source, runner, monkeypatch):
    counts = Counter()
    history = HistoryReader()

    def counted(name):
        original = getattr(os, name)

        def call(*args, **kwargs):
            counts[name] += 1
            return original(*args, **kwargs)

        return call

    def ingest(job):
        shutil.rmtree(tmp_path / "in", ignore_errors=True)
        settings = IngestSettings(layout=JOBS)
        run_ingest(FileSource(source(job)), IngestTarget(tmp_path / "out", settings, history=history), runner())

    def cost_of(job):
        with monkeypatch.context() as patched:
            for name in ("stat", "lstat", "open", "link", "mkdir", "rename", "replace", "unlink", "rmdir", "scandir"):
                patched.setattr(os, name, counted(name))
            counts.clear()
            ingest(job)
            return dict(counts)

    for job in range(10):
        ingest(job)
    few = cost_of(10)
    first = tmp_path / "out/splitscan_job=00000001"
    text = (first / "_ledger.jsonl").read_bytes()
    grow(tmp_path / "out", 1000)
    assert (first / "_ledger.jsonl").read_bytes() == text
    ingest(1001)  # reads the history once
    assert cost_of(1002) == few
    assert len(list_ledgers(open_storage(tmp_path / "out"))) == 1002


def moved(named, folder):
    """The same files in another folder."""
    return tuple(replace(each, name=f"{folder}/{each.name.rpartition('/')[2]}") for each in named)


def grow(out, jobs):
    """Fill a destination up to so many jobs with copies of its last one, whose ledger is told its number."""
    last = len(list((out / "_splitscan/ledger").iterdir()))
    ledger = read_ledger(open_storage(out), last)
    for number in range(last + 1, jobs + 1):
        folder = f"splitscan_job={number:08d}"
        copy = replace(
            ledger,
            sequence=number,
            job_id=f"{number:032x}",
            files=(replace(ledger.files[0], path=f"{ledger.files[0].path}-{number}"),),
            blocks=tuple(replace(block, data=moved(block.data, folder)) for block in ledger.blocks),
            written=moved(ledger.written, folder),
        )
        shutil.copytree(out / f"splitscan_job={last:08d}", out / folder)
        for path in (out / folder / "_ledger.jsonl", out / f"_splitscan/ledger/{number:08d}.jsonl"):
            path.write_bytes(render_ledger(copy))


def test_a_file_of_rejects_that_is_gone_stops_the_job_before_its_folder_is_there(out, source, run, runner):
    def losing(reports):
        (rejects,) = out.parent.glob(".out.splitscan/*/files/_splitscan/rejects/*.rejects")
        rejects.unlink()
        return reports

    with pytest.raises(IngestError, match=r"\[data-file-missing\]"):
        run(source(4, bad=1), out, runner(spoil=losing))
    assert not (out / "splitscan_job=00000004").exists()
    assert run(source(4, bad=1), out).rejects == 1
    assert verify(out).problems == ()


# ------------------------------------------------------------- what verify finds


def codes(findings):
    return sorted({finding.code for finding in findings})


def test_an_ingest_after_the_newest_job_was_removed_says_what_is_missing(out, source, run):
    shutil.rmtree(out / "splitscan_job=00000003")
    with pytest.raises(IngestError, match=r"\[data-file-missing\](?s:.*)splitscan_job=00000003/part-") as caught:
        run(source(3), out)
    assert "restore the file, or ingest into a new destination" in str(caught.value)


def test_a_file_that_is_gone_from_the_folder_of_a_job_is_named(out):
    victim = sorted(out.glob("splitscan_job=00000002/*.parquet"))[1]
    victim.unlink()
    (problem,) = verify(out).problems
    assert (problem.code, problem.path) == ("data-file-missing", str(victim))


def test_a_folder_of_a_job_that_is_gone_is_missed_and_its_files_are_not_ingested_again(out, source, run):
    gone = sorted(map(str, out.glob("splitscan_job=00000002/*.parquet")))
    shutil.rmtree(out / "splitscan_job=00000002")
    problems = verify(out).problems
    assert codes(problems) == ["data-file-missing"]
    assert sorted(problem.path for problem in problems) == gone
    run(source(3), out)
    assert sorted(problem.path for problem in verify(out).problems) == gone
    assert (out / "splitscan_job=00000004").is_dir()


def test_what_no_ledger_names_is_a_stray(out):
    (out / "splitscan_job=00000007").mkdir()
    shutil.copy(next(out.glob("splitscan_job=00000001/*.parquet")), out / "splitscan_job=00000001/more.parquet")
    shutil.copy(next(out.glob("splitscan_job=00000001/*.parquet")), out / "beside.parquet")
    assert sorted(Path(problem.path).name for problem in verify(out).problems) == [
        "beside.parquet", "more.parquet", "splitscan_job=00000007",
    ]  # fmt: skip


def test_ledgers_that_are_gone_are_copied_again_from_the_folders(out, source, run):
    shutil.rmtree(out / "_splitscan/ledger")
    assert run(source(2, bad=1), out).nothing_to_do
    assert len(list((out / "_splitscan/ledger").iterdir())) == 3
    assert verify(out, deep=True).ok


# ------------------------------------------------------------- jobs without rows, new columns, names that are taken


def test_a_job_without_rows_has_a_ledger_and_no_folder(out, tmp_path, source, run):
    (tmp_path / "in/none.csv").write_text("oops\n")
    scan = Scan.of(str(tmp_path / "in"), "csv", SCHEMA, {"mode": "DROPMALFORMED"})
    run(scan, out, max_reject_ratio=1)
    assert not (out / "splitscan_job=00000004").exists()
    assert verify(out, deep=True).jobs == 4
    run(source(5), out)
    assert (out / "splitscan_job=00000005").is_dir()
    assert verify(out, deep=True).ok


def test_a_first_job_without_rows_tells_readers_the_columns(tmp_path, run):
    (tmp_path / "none.csv").write_text("")
    run(Scan.of(str(tmp_path / "none.csv"), "csv", SCHEMA, {}), tmp_path / "out", layout=JOBS)
    assert hive(tmp_path / "out").column_names == ["id", "kind", "splitscan_job"]
    assert verify(tmp_path / "out", deep=True).ok


def bring_column(tmp_path, run, job, names, partition_by=None):
    (tmp_path / "in").mkdir(exist_ok=True)
    text = ",".join({"id": str(job), "k": f"k{job}", "x": f"x{job}"}[name] for name in names.split(","))
    (tmp_path / f"in/{job}.csv").write_text(f"{names}\n{text}\n")
    scan = Scan.of(str(tmp_path / "in"), "csv", None, {"header": True, "headerMapping": "byName"})
    mode = SchemaEvolution.ADD
    return run(scan, tmp_path / "out", layout=JOBS, schema_evolution_mode=mode, partition_by=partition_by)


@pytest.mark.parametrize("partition_by", [None, pytest.param(("k",), marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "finish", ["run again", *(pytest.param(by, marks=pytest.mark.slow) for by in ("verify", "another job"))]
)
def test_a_job_with_a_new_column_that_dies_at_any_step_leaves_all_or_nothing(
    tmp_path, run, monkeypatch, partition_by, finish
):
    outcomes, add = set(), JobFolderLayout.add
    for survives in range(100):
        for left in ("in", "out", ".out.splitscan"):
            shutil.rmtree(tmp_path / left, ignore_errors=True)
        for job, names in enumerate(["id,k", "id,k"]):
            bring_column(tmp_path, run, job, names, partition_by)
        steps = []

        def mortal(step, steps=steps, survives=survives):
            steps.append(step)
            if len(steps) > survives:
                raise Death

        died = False
        with monkeypatch.context() as patched:
            patched.setattr(JobFolderLayout, "add", lambda *given, mortal=mortal: add(*given[:-1], mortal))
            try:
                bring_column(tmp_path, run, 2, "id,x,k", partition_by)
            except Death:
                died = True
        seen = sorted(hive(tmp_path / "out")["id"].to_pylist())
        assert seen in ([0, 1], [0, 1, 2])
        outcomes.add((died, len(seen)))
        if finish == "verify":
            report = verify(tmp_path / "out", deep=True)
            assert (report.problems, report.rows) == ((), len(seen))
            assert ("x" in hive(tmp_path / "out").column_names) == (len(seen) == 3)
        if finish == "another job":
            (tmp_path / "in/2.csv").write_text("id,k\n2,k2\n") if len(seen) == 2 else None
        bring_column(tmp_path, run, 3, "id,k", partition_by)
        assert sorted(hive(tmp_path / "out")["id"].to_pylist()) == [0, 1, 2, 3]
        report = verify(tmp_path / "out", deep=True)
        assert (report.problems, report.notes, report.rows) == ((), (), 4)
        if not died:
            break
    assert outcomes == {(True, 2), (True, 3), (False, 3)}


def test_readers_find_new_columns_by_the_file_that_sorts_first(tmp_path, run):
    for job, names in enumerate(["id,k", "id,x,k", "id,k"]):
        bring_column(tmp_path, run, job, names)
    found = hive(tmp_path / "out").to_pylist()
    assert sorted((row["id"], row["x"], row["k"]) for row in found) == [
        (0, None, "k0"), (1, "x1", "k1"), (2, None, "k2"),
    ]  # fmt: skip


def test_a_folder_of_the_jobs_name_that_holds_something_is_never_replaced(out, source, run):
    taken = out / "splitscan_job=00000004"
    taken.mkdir()
    (taken / "mine.parquet").write_bytes(b"mine")
    with pytest.raises(IngestError, match=r"\[destination-failed\]"):
        run(source(3), out)
    assert list(taken.iterdir()) == [taken / "mine.parquet"]
    assert not (out / "_splitscan/ledger/00000004.jsonl").exists()
    shutil.rmtree(taken)
    assert run(source(3), out).rows == FEW * 4
    assert verify(out, deep=True).ok


def test_verify_takes_the_columns_of_a_commit_that_is_running_for_no_stray(tmp_path, run, monkeypatch):
    for job in range(2):
        bring_column(tmp_path, run, job, "id,k")
    seen = []
    original = JobFolderLayout.add

    def looking(layout, place, staging, ledger, announce):
        def look(step):
            try:
                report = verify(tmp_path / "out")
                seen.append((step, report.problems, report.jobs))
            except IngestError as error:  # files that a ledger names are being moved in
                seen.append((step, error.reason_code, 0))

        original(layout, place, staging, ledger, look)

    monkeypatch.setattr(JobFolderLayout, "add", looking)
    bring_column(tmp_path, run, 2, "id,x,k")
    steps = [step for step, _, _ in seen]
    assert steps[:4] == ["build", "ledger", "sync", "columns"]
    assert {problems for _, problems, _ in seen} == {()}
    assert [jobs for step, _, jobs in seen if step in {"swap", "copy"}] == [2, 3]
