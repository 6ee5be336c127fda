"""What an ingest refuses, before it reads or before it publishes; then nothing has changed."""

import contextlib
import os

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from splitscan.api.files import Scan
from splitscan.api.jobs import ingest_table
from splitscan.errors import IngestError, SchemaError, SourceChangedError, SplitscanError, UsageError
from splitscan.jobs import OnChanged, verify
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, plan_ingest, run_ingest
from splitscan.jobs.workplace import lock_destination


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


def test_what_looks_narrower_than_the_destination_is_read_as_it_and_what_looks_wider_is_refused(tmp_path, run):
    def ingest(value):
        path = tmp_path / f"{value}.csv"
        path.write_text(f"id,value\n1,{value}\n")
        run(Scan.of(str(path), "csv", None, {"header": True, "inferSchema": True}), tmp_path / "out")

    ingest("7.5")
    ingest("8")
    assert sorted(pq.read_table(tmp_path / "out")["value"].to_pylist()) == [7.5, 8.0]
    with pytest.raises(SchemaError, match="destination-schema"):
        ingest("eight")


@pytest.mark.parametrize(("count", "shown"), [(5, "4.jpg\n"), (6, "4.jpg and 1 more\n")])
def test_of_many_files_of_somebody_else_five_are_named(tmp_path, make_scan, run, count, shown):
    (tmp_path / "out").mkdir()
    for number in range(count):
        (tmp_path / f"out/{number}.jpg").touch()
    with pytest.raises(IngestError, match=r"0\.jpg, 1\.jpg, 2\.jpg, 3\.jpg, ") as caught:
        run(make_scan(), tmp_path / "out")
    assert shown in str(caught.value)


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
        return Scan.of(str(source), "csv", "id long, text string", options)

    first = run(scan(), destination)
    assert (first.files, first.rows) == (2, 200)
    again = runner()
    assert plan_ingest(FileSource(scan()), IngestTarget(destination, IngestSettings())).files == 0
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
        lock_destination(tmp_path / ".out.splitscan/lock", "x"),
        pytest.raises(IngestError, match="destination-busy"),
    ):
        run(make_scan(), tmp_path / "out")
    assert run(make_scan(), tmp_path / "out").rows == 200


FIRST = {
    "too many rejects": ({"bad": 200}, {}, None, "reject-budget"),
    "no reject allowed": ({"bad": 1}, {"max_rejects": 0}, None, "reject-budget"),
    "a record breaks a rule": ({"bad": 1, "mode": "FAILFAST"}, {}, None, "field-count"),
    "killed after two blocks": ({}, {}, 2, "ingest"),
    "killed before a block": ({}, {}, 0, "ingest"),
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("table", [None, "delta", "iceberg"])
@pytest.mark.parametrize("case", FIRST)
def test_after_a_first_ingest_that_failed_the_corrected_one_may_have_other_columns(
    tmp_path, make_scan, runner, case, table
):
    asked, settings, stop_after, code = FIRST[case]
    out = tmp_path / "out"
    with pytest.raises(SplitscanError) as caught:
        run_ingest(
            FileSource(make_scan(**asked)),
            IngestTarget(out, IngestSettings(**settings), table=table),
            runner(stop_after=stop_after),
        )
    assert caught.value.reason_code == code
    for path in (tmp_path / "in").iterdir():
        path.write_text("name,at,n\nann,2024-01-02,1\nbob,2024-01-03,2\n")
    scan = make_scan(schema="name string, at date, n int")
    report = run_ingest(FileSource(scan), IngestTarget(out, IngestSettings(), table=table), runner())
    assert (report.rows, report.rejects) == (4, 0)
    assert verify(out, deep=True).problems == ()
    if table == "delta":
        assert DeltaTable(out).to_pyarrow_table().column_names == ["name", "at", "n"]


def test_a_limit_has_no_meaning_for_an_ingest(tmp_path, make_scan, run):
    with pytest.raises(UsageError, match="limit"):
        run(make_scan().limit(3), tmp_path / "out")


def test_an_ingest_without_columns_has_no_meaning(tmp_path, make_scan, run):
    with pytest.raises(UsageError, match="column"):
        run(make_scan().select(()), tmp_path / "out")


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


@pytest.mark.parametrize(
    ("records", "rejects", "enough"),
    [
        (2, 1, True), (2, 2, False), (3, 2, False), (20, 10, True), (20, 11, False), (25, 10, True), (1000, 10, True),
        (1000, 11, False), (1001, 11, False), (1100, 11, True), (1100, 12, False), (10_000, 100, True),
        (10_000, 101, False), (0, 0, True), (0, 1, False),
    ],
)  # fmt: skip
def test_without_a_limit_one_record_in_a_hundred_may_be_broken_or_ten_but_never_most(records, rejects, enough):
    with contextlib.nullcontext() if enough else pytest.raises(IngestError, match="than the default allows"):
        IngestSettings().check_budget(max(records - rejects, 0), rejects, rejects, [], "/out")
    IngestSettings(max_rejects=rejects).check_budget(max(records - rejects, 0), rejects, rejects, [], "/out")
    IngestSettings(max_reject_ratio=1).check_budget(max(records, rejects) - rejects, rejects, rejects, [], "/out")


def test_files_that_are_missing_have_no_share():
    IngestSettings().check_budget(1, 5, 0, [], "/out", lost=5)
    with pytest.raises(IngestError):
        IngestSettings(max_rejects=4).check_budget(1, 5, 0, [], "/out", lost=5)


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


def test_a_mode_that_would_change_types_says_what_to_use():
    with pytest.raises(UsageError, match=r"never change(.|\n)*WithTypeWidening\n.*addNewColumns with option rescued"):
        IngestSettings.of(schema_evolution_mode="addNewColumnsWithTypeWidening")
    with pytest.raises(UsageError, match="give one of failOnNewColumns, addNewColumns, rescue, none"):
        IngestSettings.of(schema_evolution_mode="merge")


def test_a_name_that_is_no_setting_of_an_ingest_is_refused():
    with pytest.raises(UsageError, match=r"partitionBy is no setting of an ingest[\s\S]*partition_by") as refused:
        IngestSettings.of(partitionBy="day")
    assert refused.value.reason_code == "bad-option"
    assert IngestSettings.of(partition_by="day", on_changed="skip") == IngestSettings(
        partition_by=("day",), on_changed=OnChanged.SKIP
    )


def test_a_setting_of_files_is_refused_for_a_table():
    with pytest.raises(UsageError, match="max_rejects=3") as refused:
        ingest_table(None, None, "out", job="j", max_rejects=3)
    assert refused.value.reason_code == "bad-option"
