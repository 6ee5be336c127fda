import os
import threading
from dataclasses import replace

import duckdb
import pyarrow.parquet as pq
import pytest

from splitscan.errors import IngestError, InvariantError, SchemaError, SourceChangedError, UsageError
from splitscan.ingest import OnChanged, Phase, plan_only, steps, verify
from splitscan.ingest.lock import DestinationLock
from splitscan.ingest.staging import PartReport
from splitscan.scan.block_scan import BlockScan
from splitscan.scan.file_scan import FileScan


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


def test_a_plan_says_what_would_be_done_and_writes_nothing(tmp_path, make_scan, run, seen):
    scan = make_scan()
    plan = plan_only(scan, tmp_path / "out")
    assert (plan.files, plan.files_skipped, plan.changed) == (2, 0, ())
    assert plan.source_bytes == sum(file.size_bytes for file in scan.files())
    assert not (tmp_path / "out").exists()
    run(make_scan(["a", "b"]), tmp_path / "out")
    before = seen(tmp_path / "out")
    (tmp_path / "in/a.csv").write_text("id,text\n1,new\n")
    plan = plan_only(make_scan(["a", "b", "c"]), tmp_path / "out")
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
        def run(self, spec, context, tasks):
            done = [threading.Thread(target=lambda: super(Twice, self).run(spec, context, tasks)) for _ in range(3)]
            for thread in done:
                thread.start()
            for thread in done:
                thread.join()
            return super().run(spec, context, tasks)

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


# ------------------------------------------------------------------ refusals


def test_a_file_that_changed_since_it_was_ingested_fails_the_job(tmp_path, make_scan, run, seen):
    run(make_scan(), tmp_path / "out")
    before = seen(tmp_path / "out")
    (tmp_path / "in/a.csv").write_text("id,text\n1,new\n")
    with pytest.raises(SourceChangedError) as caught:
        run(make_scan(["a", "b", "c"]), tmp_path / "out")
    assert caught.value.reason_code == "source-changed"
    assert "in/a.csv" in str(caught.value)
    assert seen(tmp_path / "out") == before


def test_a_file_that_changed_can_be_left_alone_but_is_reported(tmp_path, make_scan, run):
    run(make_scan(["a"]), tmp_path / "out")
    (tmp_path / "in/a.csv").write_text("id,text\n1,new\n")
    report = run(make_scan(["a", "b"]), tmp_path / "out", on_changed=OnChanged.SKIP)
    assert (report.files, report.files_changed, report.files_skipped) == (1, 1, 0)
    assert pq.read_table(tmp_path / "out").num_rows == 200


def test_a_file_that_changes_while_the_job_runs_publishes_nothing(tmp_path, make_scan, run, runner):
    scan = make_scan()

    def changing(reports):
        os.utime(tmp_path / "in/b.csv", (1, 1))
        return reports

    with pytest.raises(SourceChangedError, match="source-changed"):
        run(scan, tmp_path / "out", runner(spoil=changing))
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_removed_behind_the_last_read_was_read(tmp_path, make_scan, run, runner):
    scan = make_scan()

    def removing(reports):
        (tmp_path / "in/b.csv").unlink()
        return reports

    assert run(scan, tmp_path / "out", runner(spoil=removing)).rows == 200


def test_another_schema_is_refused_and_both_are_shown(tmp_path, make_scan, run):
    run(make_scan(["a"]), tmp_path / "out")
    with pytest.raises(SchemaError) as caught:
        run(make_scan(["a", "b"], schema="id int, text string"), tmp_path / "out")
    assert "id int32, text string" in str(caught.value)
    assert "id int64, text string" in str(caught.value)
    assert caught.value.reason_code == "destination-schema"


def test_a_folder_of_somebody_else_is_refused_and_left_alone(tmp_path, make_scan, run):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/photo.jpg").touch()
    with pytest.raises(IngestError, match="not-a-destination") as caught:
        run(make_scan(), tmp_path / "out")
    assert "photo.jpg" in str(caught.value)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["photo.jpg"]
    assert not (tmp_path / ".out.splitscan").exists()


def test_a_mount_point_that_holds_files_of_somebody_else_is_refused_too(tmp_path, make_scan, run, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/photo.jpg").touch()
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path).endswith("/out"))
    for _ in range(2):
        with pytest.raises(IngestError, match="not-a-destination") as caught:
            run(make_scan(), tmp_path / "out")
        assert "photo.jpg" in str(caught.value)


@pytest.mark.parametrize("linked", [False, True], ids=["folder", "link to the folder"])
@pytest.mark.parametrize("mounted", [False, True], ids=["staging beside", "staging inside"])
def test_a_destination_inside_its_source_is_never_read_itself(
    tmp_path, make_scan, run, runner, monkeypatch, linked, mounted
):
    monkeypatch.setattr(os.path, "ismount", lambda path: mounted and str(path).endswith("/out"))
    destination = tmp_path / "in" / "out"
    destination.parent.mkdir()
    if mounted:
        destination.mkdir()
    make_scan()  # writes the source
    source = tmp_path / "in"
    if linked:
        source = tmp_path / "link"
        source.symlink_to(tmp_path / "in", target_is_directory=True)
    options = {"header": True, "multiLine": True, "recursiveFileLookup": True}

    def scan():
        return FileScan(str(source), "csv", "id long, text string", options)

    first = run(scan(), destination)
    assert (first.files, first.rows) == (2, 200)
    again = runner()
    assert plan_only(scan(), str(destination)).files == 0
    assert run(scan(), destination, again).nothing_to_do
    assert again.opened == []
    (tmp_path / "in" / "c.csv").write_text("id,text\n1,c\n")
    (tmp_path / "in" / "out.csv").write_text("id,text\n2,named alike\n")
    assert run(scan(), destination).rows == 2
    assert verify(str(destination), deep=True).ok


def test_a_destination_that_is_a_file_is_refused(tmp_path, make_scan, run):
    (tmp_path / "out").touch()
    with pytest.raises(IngestError, match="not-a-destination"):
        run(make_scan(), tmp_path / "out")


def test_two_ingests_into_one_destination_exclude_each_other(tmp_path, make_scan, run):
    with (
        DestinationLock(tmp_path / ".out.splitscan/lock", "x"),
        pytest.raises(IngestError, match="destination-busy"),
    ):
        run(make_scan(), tmp_path / "out")
    assert run(make_scan(), tmp_path / "out").rows == 200


def test_a_limit_has_no_meaning_for_an_ingest(tmp_path, make_scan, run):
    with pytest.raises(UsageError, match="limit"):
        run(make_scan().limit(3), tmp_path / "out")


def test_an_ingest_without_columns_has_no_meaning(tmp_path, make_scan, run):
    with pytest.raises(UsageError, match="column"):
        run(make_scan().select(), tmp_path / "out")


@pytest.mark.parametrize(
    ("budget", "enough"),
    [
        ({"max_rejects": 5}, False),
        ({"max_rejects": 6}, True),
        ({"max_reject_ratio": 0.029}, False),
        ({"max_reject_ratio": 0.03}, True),
        ({"max_rejects": 0}, False),
    ],
    ids=range(5),
)
def test_more_rejects_than_the_budget_allows_publish_nothing(tmp_path, make_scan, run, budget, enough):
    scan = make_scan(bad=3)  # 6 of 206 records
    if enough:
        assert run(scan, tmp_path / "out", **budget).rejects == 6
        return
    with pytest.raises(IngestError) as caught:
        run(scan, tmp_path / "out", **budget)
    assert caught.value.reason_code == "reject-budget"
    assert "in/a.csv, byte " in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert run(make_scan(bad=3), tmp_path / "out").blocks_resumed > 0  # raising the limit continues the job


def test_a_share_is_judged_of_all_records_also_dropped_ones(tmp_path, make_scan, run):
    scan = make_scan(["a"], rows=2, bad=2, mode="DROPMALFORMED")
    with pytest.raises(IngestError, match="2 of 4 records"):
        run(scan, tmp_path / "out", max_reject_ratio=0.49)
    assert run(scan, tmp_path / "out", max_reject_ratio=0.5).rows == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"max_rejects": -1}, {"max_rejects": True}, {"max_reject_ratio": 1.5}, {"max_reject_ratio": float("nan")},
        {"compression": "zip"}, {"row_group_bytes": 0}, {"row_group_rows": 0.5},
    ],
    ids=range(7),
)  # fmt: skip
def test_settings_without_meaning_are_refused(tmp_path, make_scan, run, bad):
    with pytest.raises(UsageError, match="bad-option"):
        run(make_scan(), tmp_path / "out", **bad)


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
    honest = BlockScan.report.fget
    monkeypatch.setattr(BlockScan, "report", property(lambda self: replace(honest(self), rows=honest(self).rows + 1)))
    with pytest.raises(InvariantError, match="another number of rows"):
        run(make_scan(), tmp_path / "out")


# ------------------------------------------------------------------ stopping


def test_a_progress_function_that_raises_ends_the_job(tmp_path, make_scan, run, runner, monkeypatch):
    monkeypatch.setattr(steps, "POLL_SECONDS", 0.01)
    waiting = threading.Event()

    class Slow(runner):
        def run(self, spec, context, tasks):
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
        def run(self, spec, context, tasks):
            super().run(spec, context, tasks)
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
        report = run(FileScan(str(tmp_path), "csv", None, options), destination)
        assert report.files == files
    assert plan_only(FileScan(str(tmp_path), "csv", None, options), destination).paths == ()
    assert pq.read_table(destination).schema.names == ["id", "text"]
