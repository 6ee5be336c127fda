"""The first job of a table creates it, with its files, in one commit: what ends before that leaves no table."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from pyiceberg.catalog.sql import SqlCatalog

from splitscan.errors import IngestError, SplitscanError
from splitscan.jobs import IngestSettings, verify
from splitscan.jobs.destination import open_destination
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.ledger_files import announced_table
from splitscan.jobs.steps import IngestTarget, run_ingest

COLUMNS = pa.schema([("id", pa.int64()), ("text", pa.string())])
RIGHT = "id long, text string"
MISTAKES = {
    "a column of another type": ({"schema": "id int, text string"}, {}),
    "a column of another name": ({"schema": "number long, text string"}, {}),
    "a column too few": ({"schema": "id long"}, {}),
    "a column too many": ({"schema": "id long, text string, more date"}, {}),
    "columns in another order": ({"schema": "text string, id long"}, {}),
    "another case": ({"schema": "ID long, Text string"}, {}),
    "a type that the table has not": ({"schema": "id long, text interval year to month"}, {}),
    "a column to partition by": ({}, {"partition_by": ("text",)}),
    "a column to partition by that is not there": ({}, {"partition_by": ("nowhere",)}),
    "a header that is data": ({"header": False}, {}),
    "a separator": ({"sep": ";"}, {}),
    "a codec": ({}, {"compression": "gzip"}),
}


@pytest.fixture
def interrupt(table, make_scan, runner):
    """Run a first ingest that fails after a block, after a part, or in the end."""

    def fail(when, said, settings):
        stops = {"after a block": 1, "after a part": 16, "in the end": None}[when]
        bad = 1 if when == "in the end" else 0
        with pytest.raises(SplitscanError):
            table.ingest(
                make_scan(["a"], **{"bad": bad, "block": "100", **said}), runner(stop_after=stops),
                settings=IngestSettings(max_rejects=0 if bad else None, max_reject_ratio=1, **settings),
            )  # fmt: skip
        (table.out.parent / "in/a.csv").unlink()

    return fail


@pytest.mark.thin(3)
@pytest.mark.parametrize("when", ["after a block", "after a part", "in the end"])
@pytest.mark.parametrize(("said", "settings"), MISTAKES.values(), ids=MISTAKES)
def test_what_a_first_ingest_that_failed_had_wrong_does_not_bind_the_next(
    table, make_scan, expected, interrupt, when, said, settings
):
    interrupt(when, said, settings)
    assert not table.out.exists() or table.rows() == []
    assert table.ingest(make_scan(["a"], schema=RIGHT)).rows == 100
    assert table.rows() == expected(["a"])
    report = verify(table.out, deep=True)
    assert report.problems == report.notes == ()
    assert announced_table(open_destination(table.out).place.destination) is None


def test_a_table_that_was_announced_only_is_known_by_its_format_and_verify_says_so(table, make_scan, runner, expected):
    with pytest.raises(IngestError, match="the power failed"):
        table.ingest(make_scan(["a"], block="100"), runner(stop_after=16))
    with pytest.raises(IngestError, match=f"a table of format {table.format} that an ingest has announced") as caught:
        verify(table.out)
    assert caught.value.reason_code == "not-a-destination"
    other = {"delta": "iceberg", "iceberg": "delta"}[table.format]
    for wrong in (other, "none"):
        with pytest.raises(IngestError, match=rf"(?s)say table={table.format}.*\[not-a-destination\]|table={wrong}"):
            run_ingest(FileSource(make_scan(["a"])), IngestTarget(table.out, table=wrong), runner())
    report = run_ingest(FileSource(make_scan(["a"], block="100")), IngestTarget(table.out), runner())
    assert report.blocks_resumed > 0
    assert table.rows() == expected(["a"])
    assert open_destination(table.out).table == table.format


def test_what_others_left_in_the_folder_of_a_table_to_be_is_refused(table, make_scan):
    for name in ("_delta_log", "metadata", "iceberg.db"):
        table.out.mkdir()
        (table.out / name).touch() if "." in name else (table.out / name).mkdir()
        with pytest.raises(IngestError) as caught:
            table.ingest(make_scan(["a"]))
        assert caught.value.reason_code == "not-a-destination"
        (table.out / name).unlink() if "." in name else (table.out / name).rmdir()
        table.out.rmdir()


def create_by_others(table):
    """What somebody else creates in the folder between the plan of a first job and its commit."""
    if table.format == "delta":
        DeltaTable.create(table.out, Schema.from_arrow(COLUMNS))
    else:
        catalog = SqlCatalog("splitscan", uri=f"sqlite:///{table.out}/iceberg.db", warehouse=f"file://{table.out}")
        catalog.create_table("splitscan.records", COLUMNS, location=f"file://{table.out}")


def test_a_table_that_others_create_meanwhile_takes_the_rows(table, make_scan, runner, expected):
    created = runner(spoil=lambda reports: (create_by_others(table), reports)[1])
    table.ingest(make_scan(["a"]), created)
    assert table.rows() == expected(["a"])
    assert verify(table.out, deep=True).problems == ()
