"""A table as a destination holds each row once, whatever dies, and says so."""

import shutil
from contextlib import nullcontext

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from splitscan.errors import IngestError, SchemaError
from splitscan.jobs import verify
from splitscan.jobs.destination import open_destination
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.ledger_files import ledger_name, read_ledgers
from splitscan.jobs.steps import IngestTarget, plan_ingest
from splitscan.jobs.table import TableDestination

from .conftest import Death, clean_log, die_at, open_iceberg

STEPS = ["check", "prepare", "table", "ledger", "move", "clean"]


def test_rows_arrive_once_and_verify_agrees(table, make_scan, expected):
    first = table.ingest(make_scan(["a"], bad=1))
    assert (first.rows, first.rejects) == (101, 1)
    assert table.ingest(make_scan(["a"])).nothing_to_do
    second = table.ingest(make_scan(["a", "b"]))
    assert (second.files, second.files_skipped) == (1, 1)
    assert table.rows() == expected(["a", "b"])
    report = verify(table.out, deep=True)
    assert report.problems == report.notes == ()
    assert (report.jobs, report.rows) == (2, len(table.rows()))
    assert [ledger.table for ledger in read_ledgers(open_destination(table.out).place.destination)] == [
        table.format
    ] * 2
    assert not (table.out / "_splitscan/staging").exists()
    assert not (table.out.parent / ".out.splitscan").exists()
    assert list((table.out / "_splitscan/prepared").iterdir()) == []


def test_a_table_is_recognised_where_it_is(table, make_scan, run):
    table.ingest(make_scan(["a"]))
    assert run(make_scan(["a", "b"]), table.out).rows == 100
    assert len(table.rows()) == 200
    with pytest.raises(IngestError, match=rf"a table of format {table.format} \[not-a-destination\]"):
        plan_ingest(FileSource(make_scan(["a"])), IngestTarget(table.out, table="none"))


def test_a_plain_folder_does_not_become_a_table(table, make_scan, run, seen):
    run(make_scan(["a"]), table.out)
    before = seen(table.out)
    with pytest.raises(IngestError, match=r"\[table-behind\]"):
        table.ingest(make_scan(["a", "b"]))
    assert seen(table.out) == before


@pytest.mark.parametrize("does", ["verify", "ingest"])
def test_what_is_left_of_a_table_is_no_plain_folder(table, make_scan, run, seen, does):
    table.ingest(make_scan(["a"]))
    for mark in (table.out / "_delta_log", table.out / "iceberg.db"):
        if mark.exists():
            mark.rename(table.out.parent / "away")
    before = seen(table.out)
    if does == "verify":
        report = verify(table.out)
        assert not report.ok
        assert report.problems[0].code == "table-behind"
    else:
        with pytest.raises(IngestError, match=rf"a table of format {table.format}, and the table is gone"):
            run(make_scan(["a", "b"]), table.out)
    assert seen(table.out) == before


def test_a_dry_run_creates_nothing(table, make_scan):
    plan = plan_ingest(FileSource(make_scan(["a"])), IngestTarget(table.out, table=table.format))
    assert plan.files == 1
    assert not table.out.exists()


@pytest.mark.thin(4)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("finish", ["run again", pytest.param("verify", marks=pytest.mark.slow)])
def test_a_commit_that_dies_before_any_step_is_finished(monkeypatch, table, make_scan, expected, step, finish):
    table.ingest(make_scan(["a"]))
    die_at(monkeypatch, table.ingest, make_scan(["a", "b"], bad=1), step)
    happened = STEPS.index(step) > STEPS.index("table")
    assert table.rows() == expected(["a", "b"] if happened else ["a"])
    if finish == "verify":
        report = verify(table.out, deep=True)
        assert report.problems == report.notes == ()
        assert report.jobs == 1 + happened
    again = table.ingest(make_scan(["a", "b"]))
    assert again.nothing_to_do == happened
    assert again.blocks_resumed == again.blocks
    assert table.ingest(make_scan(["a", "b"])).nothing_to_do
    assert table.rows() == expected(["a", "b"])
    report = verify(table.out, deep=True)
    assert report.problems == report.notes == ()
    assert (report.jobs, report.rejects) == (2, 1)
    assert not (table.out.parent / ".out.splitscan").exists()


def test_a_job_without_rows_is_a_job(table, tmp_path, make_scan):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text("id,text\n")
    assert table.ingest(make_scan([])).rows == 0
    assert table.rows() == []
    (tmp_path / "in/b.csv").write_text("id,text\n1,b\n")
    assert table.ingest(make_scan([])).rows == 1
    assert table.rows() == [(1, "b")]
    assert verify(table.out, deep=True).problems == ()


def test_other_columns_are_refused_before_anything_is_read(table, make_scan, runner):
    table.ingest(make_scan(["a"]))
    counting = runner()
    for schema, seen in [
        ("id int, text string", "column id is"),
        ("id long, TEXT string", "column TEXT, and text in the table"),
        ("id long, more string", "column more"),
    ]:
        with pytest.raises(SchemaError, match=rf"{seen}(.|\n)*") as caught:
            table.ingest(make_scan(["b"], schema=schema), counting)
        assert caught.value.reason_code == "destination-schema"
    assert counting.opened == []


def test_columns_that_a_job_lacks_are_null(table, make_scan):
    table.ingest(make_scan(["a"]))
    assert table.ingest(make_scan(["a", "b"], columns="id")).rows == 100
    assert sum(text is None for _, text in table.rows()) == 100
    assert verify(table.out, deep=True).ok


def write_of_size(path, rows, size):
    """Write a Parquet file of so many bytes: what lies before its footer is found by offsets, and may be followed."""
    pq.write_table(rows, path, compression="zstd", compression_level=19)
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:footer] + bytes(size - len(whole)) + whole[footer:])


@pytest.mark.parametrize("damage", ["deleted", "cut short", "replaced", "written again", "fewer rows in as many bytes"])
def test_a_file_that_is_not_as_it_was_written_is_not_registered(table, make_scan, runner, damage):
    def spoil(reports):
        path = table.out / reports[0].written[0].name
        if damage == "deleted":
            path.unlink()
        elif damage == "cut short":
            path.write_bytes(path.read_bytes()[:-1])
        elif damage == "replaced":
            path.write_bytes(b"x" * path.stat().st_size)
        elif damage == "written again":
            pq.write_table(pq.read_table(path), path, compression="none")
        else:
            size, rows = path.stat().st_size, pq.read_table(path).slice(1)
            write_of_size(path, rows, size)
        return reports

    with pytest.raises(IngestError, match=r"\[data-file-(missing|changed)\]"):
        table.ingest(make_scan(["a"]), runner(spoil=spoil))
    assert table.rows() == []


def test_another_job_that_took_the_number_is_told(monkeypatch, table, make_scan, expected):
    """Without a lock, as in an object store, where nobody clears up for another job."""
    monkeypatch.setattr("splitscan.jobs.steps.clean_up", lambda *_: [])
    monkeypatch.setattr("splitscan.jobs.workplace.DestinationStorage.lock", lambda _: nullcontext())
    table.ingest(make_scan(["a"]))
    scan = make_scan(["a", "b"])
    scan.files()  # listed before the other file is there
    other = make_scan(["a", "b", "c"])
    original = TableDestination.commit

    def commit(target, staging, ledger, announce):
        monkeypatch.setattr(TableDestination, "commit", original)
        table.ingest(other)
        original(target, staging, ledger, announce)

    monkeypatch.setattr(TableDestination, "commit", commit)
    with pytest.raises(IngestError, match=r"took number 2(.|\n)*run again") as caught:
        table.ingest(scan)
    assert caught.value.reason_code == "destination-busy"
    assert table.rows() == expected(["a", "b", "c"])
    assert verify(table.out, deep=True).problems == ()


def test_a_twin_of_the_same_job_commits_once(monkeypatch, table, make_scan, expected):
    monkeypatch.setattr("splitscan.jobs.workplace.DestinationStorage.lock", lambda _: nullcontext())
    table.ingest(make_scan(["a"]))
    scan = make_scan(["a", "b"])
    original = TableDestination.commit

    def commit(target, staging, ledger, announce):
        monkeypatch.setattr(TableDestination, "commit", original)
        table.ingest(scan)
        return original(target, staging, ledger, announce)

    monkeypatch.setattr(TableDestination, "commit", commit)
    table.ingest(scan)
    assert table.rows() == expected(["a", "b"])
    assert verify(table.out, deep=True).problems == ()


@pytest.fixture
def twins(monkeypatch, table, make_scan, runner):
    """Two runs of one job without a lock, each with files of its own names.

    The second one reads what the first one reads, and stops before its commit: ``meet`` gets that commit, and is told
    each step of the first one's before it is taken.
    """
    monkeypatch.setattr("splitscan.jobs.workplace.DestinationStorage.lock", lambda _: nullcontext())
    original = TableDestination.commit

    def ingest(meet):
        scan = make_scan(["a", "b"], bad=1, ignoreMissingFiles=True)
        waiting = []

        def wait(target, staging, ledger, announce):
            waiting.append((target, staging, ledger))
            raise Death

        def late(announce=lambda _: None):
            return original(*waiting[0], announce)

        class First(runner):
            def run(self, write_part, context, parts):
                with monkeypatch.context() as patched:
                    patched.setattr(TableDestination, "commit", wait)
                    with pytest.raises(Death):
                        table.ingest(scan)
                for reports in table.out.parent.glob(".out.splitscan/*/reports"):  # none was there when this one looked
                    shutil.rmtree(reports)
                return super().run(write_part, context, parts)

        def commit(target, staging, ledger, announce):
            assert not {each.name for each in ledger.data_files} & {each.name for each in waiting[0][2].data_files}
            return original(target, staging, ledger, lambda step: meet(step, late))

        with monkeypatch.context() as patched:
            patched.setattr(TableDestination, "commit", commit)
            return table.ingest(scan, First()), late

    return ingest


def is_whole(table, rows):
    """Whether a table has these rows, and its ledgers and rejects say the same."""
    report = verify(table.out, deep=True)
    assert report.problems == report.notes == ()
    assert (report.jobs, report.rejects) == (2, 2)
    return table.rows() == rows


LATE = [pytest.param(step, marks=pytest.mark.slow) for step in ("prepare", "move", "clean")]


@pytest.mark.thin(2)
@pytest.mark.parametrize("step", ["table", "ledger", None, *LATE])
def test_the_ledger_is_that_of_the_twin_whose_files_the_table_has(table, make_scan, twins, expected, step):
    """The late one commits whole before a step of the first one, or after all of them."""
    table.ingest(make_scan(["a"], bad=1))
    published = []

    def meet(name, late):
        if name == step:
            published.append(late())

    report, late = twins(meet)
    if step is None:
        published.append(late())
    (ledger,) = published
    there = read_ledgers(open_destination(table.out).place.destination)[-1]
    assert (ledger.written, ledger.blocks) == (there.written, there.blocks)
    assert (report.rows, report.rejects) == (there.rows, there.rejects)
    assert is_whole(table, expected(["a", "b"]))
    assert list((table.out / "_splitscan/prepared").iterdir()) == []


@pytest.mark.parametrize("death", [STEPS[1], *(pytest.param(step, marks=pytest.mark.slow) for step in STEPS[2:])])
def test_two_twins_that_die_leave_what_the_next_run_needs(table, make_scan, twins, expected, death):
    """The late one prepares after the first one, and dies before a step; the first one dies after its commit."""
    table.ingest(make_scan(["a"], bad=1))

    def mortal(name):
        if name == death:
            raise Death

    def meet(name, late):
        is_after = death not in {"prepare", "table"}
        if name == ("ledger" if is_after else "table"):
            with pytest.raises(Death):
                late(mortal)
        if name == "ledger":
            raise Death

    with pytest.raises(Death):
        twins(meet)
    assert verify(table.out, deep=True).ok
    assert table.ingest(make_scan(["a", "b"], ignoreMissingFiles=True)).nothing_to_do
    assert is_whole(table, expected(["a", "b"]))


def test_a_twin_that_comes_too_late_reports_what_was_ingested(monkeypatch, table, tmp_path, make_scan, runner):
    """It has found a file gone that the other one has read."""
    monkeypatch.setattr("splitscan.jobs.workplace.DestinationStorage.lock", lambda _: nullcontext())
    scan = make_scan(["a", "b"], ignoreMissingFiles=True)
    done = []

    class Late(runner):
        def run(self, write_part, context, parts):
            done.append(table.ingest(scan))
            (tmp_path / "in/b.csv").unlink()
            return super().run(write_part, context, parts)

    late = table.ingest(scan, Late())
    assert (late.rows, late.files, late.files_missing) == (done[0].rows, 2, 0) == (200, 2, 0)
    assert len(table.rows()) == 200
    assert verify(table.out).problems == ()


def test_a_ledger_that_an_older_version_prepared_is_published(monkeypatch, table, make_scan, expected):
    """Its name ends with the job."""
    table.ingest(make_scan(["a"], bad=1))
    die_at(monkeypatch, table.ingest, make_scan(["a", "b"], bad=1), "ledger")
    (prepared,) = (table.out / "_splitscan/prepared").iterdir()
    prepared.rename(prepared.with_name(f"{prepared.stem.rpartition('-')[0]}.jsonl"))
    assert table.ingest(make_scan(["a", "b"])).nothing_to_do
    assert is_whole(table, expected(["a", "b"]))
    assert list((table.out / "_splitscan/prepared").iterdir()) == []


def test_a_job_that_died_after_its_commit_is_found_by_its_files_where_the_log_is_cleaned(
    monkeypatch, table, make_scan, expected
):
    if table.format != "delta":
        pytest.skip("what Iceberg says of the last job does not expire")
    table.ingest(make_scan(["a"]))
    die_at(monkeypatch, table.ingest, make_scan(["a", "b"]), "ledger")
    clean_log(table.out)
    assert table.ingest(make_scan(["a", "b"])).nothing_to_do
    assert table.rows() == expected(["a", "b"])
    assert verify(table.out, deep=True).problems == ()


def test_what_the_table_names_is_never_discarded(table, make_scan, expected):
    table.ingest(make_scan(["a"]))
    (ledger,) = read_ledgers(open_destination(table.out).place.destination)
    open_destination(table.out).discard(ledger.job_id)
    assert table.rows() == expected(["a"])


@pytest.mark.thin(2)
@pytest.mark.parametrize("fate", ["removed", "made again"])
def test_a_table_that_is_gone_when_all_is_read_is_told(table, make_scan, runner, fate):
    table.ingest(make_scan(["a"]))

    def spoil(reports):
        rows = pa.table({"id": pa.array([-1], pa.int64()), "text": pa.array(["theirs"])})
        if table.format == "delta":
            (table.out / "_delta_log").rename(table.out.parent / "away")
            if fate == "made again":
                write_deltalake(table.out, rows)
        else:
            catalog = open_iceberg(table.out).catalog
            catalog.drop_table("splitscan.records")
            if fate == "made again":
                catalog.create_table("splitscan.records", rows.schema, location=f"file://{table.out}")
        return reports

    with pytest.raises(IngestError, match=r"\[table-behind\](?s:.*)last job is 0, the last ledger's 1"):
        table.ingest(make_scan(["a", "b"]), runner(spoil=spoil))


def test_a_missing_prepared_ledger_is_an_error_and_not_a_guess(monkeypatch, table, make_scan):
    die_at(monkeypatch, table.ingest, make_scan(["a"]), "ledger")
    (prepared,) = (table.out / "_splitscan/prepared").iterdir()
    prepared.rename(table.out / "elsewhere")
    with pytest.raises(IngestError, match=r"its prepared ledger is gone \[ledger-damaged\]"):
        table.ingest(make_scan(["a"]))
    (table.out / "elsewhere").rename(prepared)
    assert table.ingest(make_scan(["a"])).nothing_to_do


def test_a_missing_ledger_is_found(table, make_scan):
    for names in (["a"], ["a", "b"], ["a", "b", "c"]):
        table.ingest(make_scan(names))
    (table.out / ledger_name(3)).unlink()
    (table.out / ledger_name(2)).unlink()
    with pytest.raises(IngestError, match=r"more jobs than there are ledgers \[ledger-damaged\]"):
        table.ingest(make_scan(["a", "b", "c", "d"]))


def test_what_an_abandoned_job_wrote_is_cleared_away(table, make_scan, runner, expected):
    with pytest.raises(IngestError, match="the power failed"):
        table.ingest(make_scan(["a"], rows=400), runner(stop_after=7))
    orphans = set(table.out.glob("*.parquet"))
    assert orphans
    table.ingest(make_scan(["a", "b"]))  # another job: it ingests what that one had begun
    assert not orphans & set(table.out.glob("*.parquet"))
    assert table.rows() == expected(["a", "b"])
