"""Snapshots of PostgreSQL that end: with their holder, with the driver, or because nobody reads."""

import pickle
import subprocess
import sys

import pytest

import splitscan as ss
from splitscan.errors import SourceError
from splitscan.tables import read_pieces
from splitscan.tables.address import parse_address
from splitscan.tables.session import hold_snapshot
from splitscan.tables.table_scan import open_session

from ..clusters.processes import wait_until
from ..postgresql import PASSWORD

pytestmark = pytest.mark.fault


@pytest.fixture
def table(postgresql):
    """A scan of a table of ten rows, on a server without holders of snapshots."""
    postgresql.run("DROP TABLE IF EXISTS held", "CREATE TABLE held AS SELECT i AS id FROM generate_series(1, 10) i")
    postgresql.end_holders()

    def scan(**options):
        return ss.scan_table(postgresql.url, "held", "id", **options)

    yield scan
    postgresql.end_holders()


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
    postgresql.end_holders()
    check_lost(plan)


def test_a_reader_that_has_begun_goes_on_when_its_snapshot_ends(postgresql, table):
    plan = table(batch_rows=1).plan(1)
    batches = read_pieces(plan.spec, plan.tasks[0], plan.version)
    first = next(batches)
    postgresql.end_holders()
    postgresql.run("DELETE FROM held")
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 10


def test_a_snapshot_ends_with_the_process_that_is_watched(postgresql, table):
    watched = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    plan = table().plan(2, watch=watched.pid)
    assert len(postgresql.holders()) == 1
    watched.kill()
    watched.communicate()
    wait_until("its snapshot ended", lambda: not postgresql.holders())
    check_lost(plan)


def test_a_snapshot_that_nobody_reads_with_is_given_up(postgresql, table):
    plan = table(snapshot_idle_millis=200).plan(2)
    wait_until("it was given up", lambda: not postgresql.holders())
    check_lost(plan)


def test_a_snapshot_that_somebody_reads_with_is_held(postgresql, table):
    plan = table(snapshot_idle_millis=2000, batch_rows=1).plan(1)
    batches = read_pieces(plan.spec, plan.tasks[0], plan.version)
    next(batches)
    looks = set()

    def looked_often():
        looks.update(start for _, start in postgresql.holders())
        return len(looks) > 6  # four times in two seconds

    wait_until("the holder looked for readers", looked_often)
    assert len(list(batches)) == 9
    wait_until("it was given up", lambda: not postgresql.holders())


def test_a_snapshot_that_cannot_be_taken_is_an_error_of_planning(table, monkeypatch):
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    with pytest.raises(SourceError, match=r"snapshot-failed(?s:.)*snapshot=own"):
        table().plan(2)


def test_a_holder_that_cannot_connect_says_why_without_the_password(postgresql, table):
    address = parse_address(postgresql.url)
    with open_session(address) as session:
        session.begin()
        session.address = parse_address(postgresql.url.replace(PASSWORD, f"{PASSWORD}-wrong"))
        with pytest.raises(SourceError, match=r"snapshot-failed(?s:.)*password authentication failed") as caught:
            hold_snapshot(session, 1.0)
    assert PASSWORD not in str(caught.value)


def test_what_the_server_says_to_a_holder_reaches_the_user(postgresql, table, monkeypatch):
    monkeypatch.setattr("splitscan.tables.session._SEEN", "(1 / length(pg_export_snapshot()) / 0)::text")
    with pytest.raises(SourceError, match=r"snapshot-failed(?s:.)*division by zero"):
        table().plan(2)


def test_plans_share_a_holder_and_the_last_one_gives_it_back(postgresql, table):
    plans = [table().plan(2) for _ in range(35)]
    assert len(postgresql.holders()) == 1
    last = plans.pop()
    plans.clear()
    assert sorted(ids(last)) == list(range(1, 11))
    del last
    wait_until("it was given back", lambda: not postgresql.holders())


def test_plans_of_many_versions_are_bounded_and_the_oldest_ends(postgresql, table, monkeypatch):
    monkeypatch.setattr("splitscan.tables.session.MOST_HELD", 3)
    plans = []
    for number in range(5):
        plans.append(table().plan(2))
        postgresql.run(f"INSERT INTO held VALUES ({100 + number})")
    wait_until("the oldest ended", lambda: len(postgresql.holders()) == 3)
    assert [len(ids(plan)) for plan in plans[2:]] == [12, 13, 14]
    check_lost(plans[0])


def test_a_version_that_somebody_else_reads_is_not_given_back(postgresql, table):
    watched = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    tasks = [table().plan(2, watch=watched.pid), table().plan(2, watch=watched.pid)]
    names = {plan.version.name for plan in tasks}
    spec, task, version = tasks[0].spec, tasks[0].tasks[0], pickle.dumps(tasks[0].version)
    del tasks
    assert len(names) == len(postgresql.holders()) == 1
    assert next(read_pieces(spec, task, pickle.loads(version))).num_rows
    watched.communicate()
