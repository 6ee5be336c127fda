import threading
from dataclasses import replace

import duckdb
import pyarrow.parquet as pq
import pytest

from splitscan.api.files import Scan
from splitscan.api.ingest_page import write_page
from splitscan.engine import kernel
from splitscan.errors import IngestError, InvariantError
from splitscan.jobs import Phase, steps, verify
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.staging import PartReport
from splitscan.jobs.steps import IngestTarget, plan_ingest
from splitscan.reading.kernel_reader import KernelBlockReader
from splitscan.reading.record_reader import RecordBlockReader

from .conftest import SlowRunner


def rows(folder):
    return sorted(
        (row["id"] is not None, row["id"] or 0, row["text"] or "")
        for row in pq.read_table(folder).to_pylist()
    )  # fmt: skip


def expected(scan):
    return sorted((row["id"] is not None, row["id"] or 0, row["text"] or "") for row in scan.to_arrow().to_pylist())


# ------------------------------------------------------------------ the plain way


def test_every_record_arrives_once_and_the_report_says_so(tmp_path, make_scan, run):
    scan = make_scan()
    report = run(scan, tmp_path / "out")
    assert rows(tmp_path / "out") == expected(scan)
    assert (report.files, report.rows, report.rejects, report.accounted) == (2, 200, 0, True)
    assert report.blocks == len(list(scan.blocks())) > 4
    assert report.source_bytes == sum(file.size_bytes for file in scan.files())
    parts = list((tmp_path / "out").glob("*.parquet"))
    assert report.parquet_bytes == sum(path.stat().st_size for path in parts)
    assert report.data_files == len(parts)
    assert report.mb_per_second > 0
    assert all(path.name.startswith(f"part-{report.job_id[:16]}-0000") for path in parts)


def test_other_engines_read_the_folder_and_do_not_stumble_over_the_ledger(tmp_path, make_scan, run):
    run(make_scan(bad=1), tmp_path / "out")
    count = duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/out/*.parquet'").fetchall()[0][0]
    assert count == pq.read_table(tmp_path / "out").num_rows == 202
    assert sorted(path.name for path in (tmp_path / "out/_splitscan").iterdir()) == ["ledger", "rejects"]


def test_the_second_run_does_nothing(tmp_path, make_scan, run, seen, runner):
    run(make_scan(), tmp_path / "out")
    before, again = seen(tmp_path / "out"), runner()
    report = run(make_scan(), tmp_path / "out", again)
    assert report.nothing_to_do
    assert (report.files, report.files_skipped, report.job_id, again.opened) == (0, 2, "", [])
    assert seen(tmp_path / "out") == before


def test_only_new_files_are_read_by_the_next_job(tmp_path, make_scan, run, runner):
    run(make_scan(["a"]), tmp_path / "out")
    again = runner()
    report = run(make_scan(["a", "b"]), tmp_path / "out", again)
    assert (report.files, report.files_skipped, report.rows) == (1, 1, 100)
    assert {name for name, _ in again.opened} == {"b.csv"}
    assert rows(tmp_path / "out") == expected(make_scan(["a", "b"]))


def test_an_empty_file_is_ingested_once_like_any_other(tmp_path, make_scan, run):
    scan = make_scan(["a"])
    (tmp_path / "in/empty.csv").touch()
    scan = make_scan(["a"])
    report = run(scan, tmp_path / "out")
    assert (report.files, report.rows) == (2, 100)
    assert run(make_scan(["a"]), tmp_path / "out").files_skipped == 2
    assert verify(tmp_path / "out", deep=True).ok


def test_rejects_go_to_a_table_of_their_own(tmp_path, make_scan, run):
    report = run(make_scan(bad=3), tmp_path / "out")
    assert (report.rows, report.rejects) == (206, 6)
    table = pq.read_table(tmp_path / "out/_splitscan/rejects").to_pylist()
    assert len(table) == 6
    data = (tmp_path / "in/a.csv").read_bytes()
    mine = [row for row in table if row["path"].endswith("a.csv")]
    assert all(data[row["offset"] : row["offset"] + row["length"]] == b"oops" == row["raw"] for row in mine)
    assert all(row["delivered"] for row in table)


def test_progress_goes_through_the_phases_and_ends_with_everything_done(tmp_path, make_scan, run):
    told = []
    report = run(make_scan(), tmp_path / "out", on_progress=told.append)
    phases = list(dict.fromkeys(each.phase for each in told))
    assert phases == [Phase.PLAN, Phase.INDEX, Phase.READ, Phase.CHECK, Phase.PUBLISH, Phase.DONE]
    last = told[-1]
    assert (last.bytes_done, last.bytes_total, last.rows) == (report.source_bytes, report.source_bytes, report.rows)
    assert last.blocks_done == last.blocks_total == report.blocks
    assert {each.blocks_total for each in told if each.phase is Phase.READ} == {report.blocks}


@pytest.mark.slow
def test_row_12_progress_moves_while_a_task_reads_its_only_block(tmp_path, make_scan, run):
    told = []
    scan = make_scan(["a"], block="1 MiB", rows=120, batchRows=10, readBytes=256)
    report = run(scan, tmp_path / "out", SlowRunner(), on_progress=told.append)
    assert report.blocks == 1
    under_way = [each for each in told if each.phase is Phase.READ and 0 < each.bytes_done < report.source_bytes]
    assert len({each.bytes_done for each in under_way}) > 2
    assert [each.bytes_done for each in under_way] == sorted(each.bytes_done for each in under_way)
    assert all(0 < each.rows < 120 and each.blocks_done == 0 for each in under_way)
    assert (told[-1].bytes_done, told[-1].rows, told[-1].blocks_done) == (report.source_bytes, 120, 1)


def test_a_plan_says_what_would_be_done_and_writes_nothing(tmp_path, make_scan, run, seen):
    scan = make_scan()
    plan = plan_ingest(FileSource(scan), IngestTarget(tmp_path / "out", IngestSettings()))
    assert (plan.files, plan.files_skipped, plan.changed) == (2, 0, ())
    assert plan.source_bytes == sum(file.size_bytes for file in scan.files())
    assert not (tmp_path / "out").exists()
    run(make_scan(["a", "b"]), tmp_path / "out")
    before = seen(tmp_path / "out")
    (tmp_path / "in/a.csv").write_text("id,text\n1,new\n")
    plan = plan_ingest(FileSource(make_scan(["a", "b", "c"])), IngestTarget(tmp_path / "out", IngestSettings()))
    assert (plan.files, plan.files_skipped) == (1, 1)
    assert [path.rpartition("/")[2] for path in (*plan.paths, *plan.changed)] == ["c.csv", "a.csv"]
    assert seen(tmp_path / "out") == before


def test_the_ledger_masks_the_settings_of_the_file_system(tmp_path, make_scan, run, ledger_lines):
    run(make_scan(storageOptions={"secret": "hunter2hunter2"}), tmp_path / "out")
    ledger = ledger_lines(tmp_path / "out")
    assert "hunter2" not in ledger.text
    assert ledger.values[0]["options"]["files"]["storage_options"] == {"secret": "***"}


# ------------------------------------------------------------------ starting again


def test_a_job_that_broke_off_is_continued_and_finished_blocks_are_not_read_again(tmp_path, make_scan, run, runner):
    first, second = runner(stop_after=5), runner()
    with pytest.raises(IngestError, match="the power failed"):
        run(make_scan(), tmp_path / "out", first)
    assert not (tmp_path / "out").exists()
    report = run(make_scan(), tmp_path / "out", second)
    assert report.blocks_resumed == 4  # the fifth was in a part that was not finished
    assert not set(first.opened[:4]) & set(second.opened)
    assert rows(tmp_path / "out") == expected(make_scan())
    assert not (tmp_path / ".out.splitscan").exists()


def test_a_continued_job_leaves_the_same_bytes_as_one_that_ran_through(tmp_path, make_scan, run, runner, seen):
    run(make_scan(bad=2), tmp_path / "through")
    with pytest.raises(IngestError):
        run(make_scan(bad=2), tmp_path / "out", runner(stop_after=4))
    run(make_scan(bad=2), tmp_path / "out")
    through, out = seen(tmp_path / "through"), seen(tmp_path / "out")
    assert {n: b for n, b in through.items() if "ledger" not in n} == {
        n: b for n, b in out.items() if "ledger" not in n
    }  # fmt: skip


@pytest.mark.parametrize("spoil", ["report", "data", "other block"])
def test_what_a_broken_run_left_half_done_is_done_again(tmp_path, make_scan, run, runner, spoil):
    with pytest.raises(IngestError):
        run(make_scan(), tmp_path / "out", runner(stop_after=5))
    staging = next(path for path in (tmp_path / ".out.splitscan").iterdir() if path.is_dir())
    report, *others = sorted((staging / "reports").glob("*/*.json"))
    whole = sum(len(PartReport.from_json(other.read_bytes()).blocks) for other in others)
    assert whole
    if spoil == "report":
        report.write_bytes(report.read_bytes()[:40])
    elif spoil == "data":
        sorted((staging / "files").glob("*.parquet"))[0].unlink()
    else:
        read = PartReport.from_json(report.read_bytes())
        report.write_text(replace(read, blocks=(replace(read.blocks[0], stop=7),)).to_json())
    assert run(make_scan(), tmp_path / "out").blocks_resumed == whole
    assert rows(tmp_path / "out") == expected(make_scan())
    assert verify(tmp_path / "out", deep=True).ok


def test_two_attempts_at_the_same_blocks_write_the_same_files(tmp_path, make_scan, run, runner, seen):
    class Twice(runner):
        def run(self, write_part, context, tasks):
            done = [
                threading.Thread(target=lambda: super(Twice, self).run(write_part, context, tasks)) for _ in range(3)
            ]
            for thread in done:
                thread.start()
            for thread in done:
                thread.join()
            return super().run(write_part, context, tasks)

    run(make_scan(), tmp_path / "out", Twice())
    run(make_scan(), tmp_path / "once")
    parquet = [{n: b for n, b in seen(tmp_path / d).items() if n.endswith(".parquet")} for d in ("out", "once")]
    assert parquet[0] == parquet[1]


@pytest.mark.parametrize("change", [{"blockSize": "2k"}, {"nullValue": "x"}, {"mode": "DROPMALFORMED"}])
def test_another_cut_or_another_option_is_another_job(tmp_path, make_scan, run, change):
    first = run(make_scan(), tmp_path / "1")
    assert run(make_scan(), tmp_path / "2").job_id == first.job_id
    assert run(make_scan(taskSize="1k"), tmp_path / "3").job_id == first.job_id
    scan = make_scan(block=change.pop("blockSize", "600"), **change)
    assert run(scan, tmp_path / "4").job_id != first.job_id
    assert run(make_scan(), tmp_path / "5", compression="snappy").job_id != first.job_id


# ------------------------------------------------------------------ readers that lie


def shifted(reports):
    first, *rest = reports[0].blocks
    return [replace(reports[0], blocks=(replace(first, span_stop=first.span_stop - 1), *rest)), *reports[1:]]


@pytest.mark.parametrize(
    "spoil",
    [lambda reports: reports[1:], lambda reports: reports[:-1], shifted, lambda reports: []],
    ids=["first block lost", "last block lost", "one byte lost", "all blocks lost"],
)
def test_a_byte_that_nobody_answers_for_publishes_nothing(tmp_path, make_scan, run, runner, spoil):
    with pytest.raises(InvariantError, match="not-accounted"):
        run(make_scan(), tmp_path / "out", runner(spoil=spoil))
    assert not (tmp_path / "out").exists()


def test_a_reader_that_counts_wrong_is_caught(tmp_path, make_scan, run, monkeypatch):
    reader = RecordBlockReader if kernel() is None else KernelBlockReader
    honest = reader.report.fget
    monkeypatch.setattr(reader, "report", property(lambda self: replace(honest(self), rows=honest(self).rows + 1)))
    with pytest.raises(InvariantError, match="another number of rows"):
        run(make_scan(), tmp_path / "out")


# ------------------------------------------------------------------ stopping


def test_a_progress_function_that_raises_ends_the_job(tmp_path, make_scan, run, runner, monkeypatch):
    monkeypatch.setattr(steps, "POLL_SECONDS", 0.01)
    waiting = threading.Event()

    class Slow(runner):
        def run(self, write_part, context, tasks):
            waiting.wait(120)
            raise IngestError("cancelled by the caller")

        def cancel(self):
            super().cancel()
            waiting.set()

    polls = []

    def stop(progress):
        polls.append(progress.phase)
        if polls.count(Phase.READ) == 2:
            raise KeyboardInterrupt

    slow = Slow()
    with pytest.raises(KeyboardInterrupt):
        run(make_scan(), tmp_path / "out", slow, on_progress=stop)
    assert slow.cancelled
    assert not (tmp_path / "out").exists()
    assert run(make_scan(), tmp_path / "out").rows == 200


def test_a_job_that_spent_its_budget_is_ended_early(tmp_path, make_scan, run, runner, monkeypatch):
    monkeypatch.setattr(steps, "POLL_SECONDS", 0.01)
    spent = threading.Event()

    class Endless(runner):
        def run(self, write_part, context, tasks):
            super().run(write_part, context, tasks)
            assert spent.wait(120)
            raise IngestError("cancelled by the caller")

        def cancel(self):
            spent.set()

    with pytest.raises(IngestError, match="reject-budget"):
        run(make_scan(bad=3), tmp_path / "out", Endless(), max_rejects=1)


def test_files_of_the_destination_have_no_say_in_the_schema(tmp_path, run):
    (tmp_path / "b.csv").write_text("id,text\n1,x\n")
    destination = tmp_path / "a"  # its files come first by path
    options = {"header": True, "inferSchema": True, "recursiveFileLookup": True}
    for files in (1, 0):
        report = run(Scan.of(str(tmp_path), "csv", None, options), destination)
        assert report.files == files
    assert (
        plan_ingest(
            FileSource(Scan.of(str(tmp_path), "csv", None, options)), IngestTarget(destination, IngestSettings())
        ).paths
        == ()
    )
    assert pq.read_table(destination).schema.names == ["id", "text"]


def test_the_report_says_where_rejects_are_and_where_the_time_went(make_scan, run, tmp_path):
    make_scan(names=("a",))
    make_scan(names=("b",), rows=50, bad=1)
    make_scan(names=("d",), rows=50, bad=2)
    report = run(make_scan(names=("c",), rows=50), tmp_path / "out", max_rejects=9)
    assert [(path.rpartition("/")[2], count) for path, count in report.rejects_by_file] == [("d.csv", 2), ("b.csv", 1)]
    assert list(report.phase_seconds) == ["planning", "indexing", "reading", "checking", "publishing"]
    assert 0 < sum(report.phase_seconds.values()) <= report.seconds
    page = tmp_path / "a.html"
    write_page(page, report)
    files = page.read_text().partition("<h2>Files")[2] or page.read_text().partition("Files")[2]
    assert files.index("d.csv") < files.index("b.csv") < files.index("a.csv") < files.index("c.csv")
