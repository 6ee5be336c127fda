"""Snapshots of PostgreSQL that end: with their holder, with the driver, or because nobody reads."""

import subprocess
import sys

import pytest

import splitscan as ss
from splitscan.errors import SourceError
from splitscan.tables import read_pieces
from splitscan.tables.address import parse_address
from splitscan.tables.snapshots import hold_snapshot

from ..clusters.processes import wait_until
from ..postgresql import PASSWORD

pytestmark = pytest.mark.fault

_HOLDERS = "FROM pg_stat_activity WHERE application_name = 'splitscan snapshot'"


@pytest.fixture
def table(postgresql):
    """A scan of a table of ten rows, on a server without holders of snapshots."""
    postgresql.run("DROP TABLE IF EXISTS held", "CREATE TABLE held AS SELECT i AS id FROM generate_series(1, 10) i")
    end_holders(postgresql)

    def scan(**options):
        return ss.scan_table(postgresql.url, "held", "id", **options)

    yield scan
    end_holders(postgresql)


def holders(server):
    return server.ask(f"SELECT pid, query_start {_HOLDERS}")


def end_holders(server):
    server.ask(f"SELECT pg_terminate_backend(pid) {_HOLDERS}")
    wait_until("nobody holds a snapshot", lambda: not holders(server))


def ids(plan):
    batches = [batch for task in plan.tasks for batch in read_pieces(plan.spec, task, plan.version)]
    return [number for batch in batches for number in batch.column("id").to_pylist()]


def check_lost(plan):
    with pytest.raises(SourceError) as caught:
        ids(plan)
    assert caught.value.reason_code == "snapshot-lost"
    assert "make the DataFrame again" in str(caught.value)
    assert "hunter" not in str(caught.value)


def test_a_snapshot_whose_connection_dies_is_an_error_and_no_other_version_is_read(postgresql, table):
    plan = table().plan(2)
    assert sorted(ids(plan)) == list(range(1, 11))
    end_holders(postgresql)
    check_lost(plan)


def test_a_reader_that_has_begun_goes_on_when_its_snapshot_ends(postgresql, table):
    plan = table(batch_rows=1).plan(1)
    batches = read_pieces(plan.spec, plan.tasks[0], plan.version)
    first = next(batches)
    end_holders(postgresql)
    postgresql.run("DELETE FROM held")
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 10


def test_a_snapshot_ends_with_the_process_that_is_watched(postgresql, table):
    watched = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    plan = table().plan(2, watch=watched.pid)
    assert len(holders(postgresql)) == 1
    watched.kill()
    watched.communicate()
    wait_until("its snapshot ended", lambda: not holders(postgresql))
    check_lost(plan)


def test_a_snapshot_that_nobody_reads_with_is_given_up(postgresql, table):
    plan = table(snapshot_idle_millis=200).plan(2)
    wait_until("it was given up", lambda: not holders(postgresql))
    check_lost(plan)


def test_a_snapshot_that_somebody_reads_with_is_held(postgresql, table):
    plan = table(snapshot_idle_millis=2000, batch_rows=1).plan(1)
    batches = read_pieces(plan.spec, plan.tasks[0], plan.version)
    next(batches)
    looks = set()

    def looked_often():
        looks.update(start for _, start in holders(postgresql))
        return len(looks) > 6  # four times in two seconds

    wait_until("the holder looked for readers", looked_often)
    assert len(list(batches)) == 9
    wait_until("it was given up", lambda: not holders(postgresql))


def test_a_snapshot_that_cannot_be_taken_is_an_error_of_planning(table, monkeypatch):
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    with pytest.raises(SourceError, match=r"snapshot-failed(?s:.)*snapshot=own"):
        table().plan(2)


def test_a_holder_that_cannot_connect_says_why_without_the_password(postgresql):
    address = parse_address(postgresql.url.replace(PASSWORD, f"{PASSWORD}-wrong"), None, None)
    with pytest.raises(SourceError, match=r"snapshot-failed(?s:.)*password authentication failed") as caught:
        hold_snapshot(address, 1.0)
    assert PASSWORD not in str(caught.value)
