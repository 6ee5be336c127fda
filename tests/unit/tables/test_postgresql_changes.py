"""Tables that others change, rename or replace after a scan was planned: an error, and never rows of something else."""

import threading
from itertools import chain

import pytest

import splitscan as ss
from splitscan.errors import SourceChangedError
from splitscan.jobs.ledger import KeyRange
from splitscan.tables import read_pieces
from splitscan.tables.address import parse_address
from splitscan.tables.keys import from_integer
from splitscan.tables.table_scan import open_session

from .conftest import rows_of_tasks

MIDDLE = from_integer(50)
LOWER, UPPER = KeyRange(b"", MIDDLE), KeyRange(MIDDLE, b"", with_nulls=True)
EXPECTED = [(number, 0) for number in range(1, 101)]
# How a table of a hundred rows comes about that has two partitions, two tables that inherit, a view, and a successor.
TABLES = """DROP SCHEMA IF EXISTS live, spare, past CASCADE;
    CREATE SCHEMA live; CREATE SCHEMA spare; SET search_path = live;
    CREATE TABLE parted (id int, v int) PARTITION BY RANGE (id);
    CREATE TABLE part_1 PARTITION OF parted FOR VALUES FROM (0) TO (50);
    CREATE TABLE part_2 PARTITION OF parted FOR VALUES FROM (50) TO (101);
    CREATE TABLE part_3 (id int, v int);
    CREATE TABLE plain (id int, v int, w int);
    CREATE TABLE child (id int, v int, w int) INHERITS (plain);
    CREATE VIEW seen AS SELECT id, v FROM plain;
    CREATE TABLE next (id int, v int, w int);
    CREATE TABLE spare.plain (id int, v int, w int);
    INSERT INTO parted SELECT i, 0 FROM generate_series(1, 100) i;
    INSERT INTO part_3 SELECT i, 7 FROM generate_series(201, 220) i;
    INSERT INTO plain SELECT i, 0, 7 FROM generate_series(1, 30) i;
    INSERT INTO child SELECT i, 0, 7 FROM generate_series(31, 100) i;
    INSERT INTO next SELECT i, 7, 7 FROM generate_series(1, 90) i;
    INSERT INTO spare.plain SELECT i, 7, 7 FROM generate_series(1, 80) i"""
LOCKED_OUT = {  # changes that wait for whoever reads
    "swapped by renaming": ("plain", "ALTER TABLE plain RENAME TO past; ALTER TABLE next RENAME TO plain"),
    "partition detached": ("parted", "ALTER TABLE parted DETACH PARTITION part_2"),
    "partition truncated": ("parted", "TRUNCATE part_2"),
    "partition dropped": ("parted", "DROP TABLE part_2"),
    "child disinherited": ("plain", "ALTER TABLE child NO INHERIT plain"),
    "view replaced": ("seen", "CREATE OR REPLACE VIEW seen AS SELECT id, v FROM plain WHERE id < 9"),
    "view of a swapped table": ("seen", "ALTER TABLE child NO INHERIT plain"),
    "column replaced": ("plain", "ALTER TABLE plain DROP v CASCADE, ADD v int DEFAULT 7"),
    "columns swapped": ("plain", "ALTER TABLE plain RENAME v TO x; ALTER TABLE plain RENAME w TO v"),
    "rewritten": ("plain", "ALTER TABLE plain ALTER w TYPE bigint"),
    "dropped and made": ("part_1", "DROP TABLE part_1; CREATE TABLE part_1 (id int, v int)"),
    "policy made": ("plain", "CREATE POLICY few ON plain USING (id < 9)"),
}
NOT_LOCKED_OUT = {  # changes that go on beside a reader
    "partition attached": ("parted", "ALTER TABLE parted ATTACH PARTITION part_3 FOR VALUES FROM (201) TO (300)"),
    "child adopted": ("plain", "ALTER TABLE next INHERIT plain"),
    "schemas swapped": ("plain", "ALTER SCHEMA live RENAME TO past; ALTER SCHEMA spare RENAME TO live"),
}
CHANGES = LOCKED_OUT | NOT_LOCKED_OUT


@pytest.fixture
def run(postgresql):
    """Runs statements over a connection of its own, which does not wait for locks."""

    def run(statements):
        statements = statements.split(";")
        postgresql.run("SET search_path = live", "SET lock_timeout = 50", *statements)

    run(TABLES)
    return run


def planned(postgresql, **what):
    return ss.scan_table(postgresql.url, key_column="id", columns="id,v", min_partitions=2, **what).plan(2)


def rows(batches):
    return sorted(chain.from_iterable(zip(*batch.to_pydict().values(), strict=True) for batch in batches))


def check_changed(read):
    with pytest.raises(SourceChangedError, match=r"table-changed(?s:.)*make the DataFrame again") as caught:
        read()
    return str(caught.value)


@pytest.mark.parametrize("what", CHANGES)
def test_a_table_changed_between_planning_and_reading_and_between_readers_is_an_error(postgresql, run, what):
    table, change = CHANGES[what]
    plan = planned(postgresql, dbtable=f"live.{table}")
    assert rows(read_pieces(plan.spec, [LOWER], plan.version)) == [row for row in EXPECTED if row[0] < 50]
    run(change)
    for piece in (LOWER, UPPER):
        check_changed(lambda piece=piece: rows(read_pieces(plan.spec, [piece], plan.version)))


def test_tables_of_a_query_are_looked_after_too(postgresql, run):
    plan = planned(postgresql, query="SELECT p.id, c.v FROM live.plain p LEFT JOIN live.seen c ON c.id = p.id")
    run("ALTER TABLE child NO INHERIT plain")
    assert "live.child is not read any more" in check_changed(lambda: rows_of_tasks(plan))


@pytest.mark.parametrize("table", sorted({table for table, _ in LOCKED_OUT.values()}))
def test_a_reader_lets_nobody_change_the_table_between_its_ranges(postgresql, run, table):
    plan = planned(postgresql, dbtable=f"live.{table}")

    def pieces():
        yield LOWER
        for change in (change for changed, change in LOCKED_OUT.values() if changed == table):
            with pytest.raises(Exception, match="lock timeout"):
                run(change)
        yield UPPER

    expected = [row for row in EXPECTED if table != "part_1" or row[0] < 50]
    assert rows(read_pieces(plan.spec, pieces(), plan.version)) == expected


@pytest.mark.parametrize("what", NOT_LOCKED_OUT)
def test_a_change_that_no_lock_keeps_out_between_two_ranges_is_an_error(postgresql, run, what):
    table, change = NOT_LOCKED_OUT[what]
    plan = planned(postgresql, dbtable=f"live.{table}")
    batches = []

    def pieces():
        yield LOWER
        run(change)
        yield UPPER

    text = check_changed(lambda: batches.extend(read_pieces(plan.spec, pieces(), plan.version)))
    assert "is read as well" in text
    assert all(row in EXPECTED for row in rows(batches))  # it is noticed before a row of something else is delivered


def test_planning_goes_on_while_others_make_and_drop_tables(postgresql, run):
    """Their locks are in the same list as ours, and what they lock may be gone when it is looked at."""
    scan = ss.scan_table(postgresql.url, "live.plain", "id")
    stop = threading.Event()

    def make_and_drop():
        with postgresql.cursor() as cursor:
            while not stop.is_set():
                cursor.execute("CREATE TABLE brief (id int PRIMARY KEY)")
                cursor.execute("DROP TABLE brief")

    thread = threading.Thread(target=make_and_drop)
    thread.start()
    try:
        with open_session(parse_address(postgresql.url)) as session:
            session.begin()
            found = {session.version(scan.spec, lambda _: "x") for _ in range(300)}
    finally:
        stop.set()
        thread.join()
    assert [relation.name for version in found for relation in version.relations] == ["live.plain", "live.child"]


def test_what_changes_no_row_is_no_error(postgresql, run):
    run("CREATE INDEX ON plain (id)")
    plans = [
        planned(postgresql, dbtable="live.plain"),
        planned(postgresql, dbtable="live.seen"),
        planned(postgresql, dbtable="live.parted"),
    ]
    run(
        "REINDEX TABLE plain; CREATE INDEX ON parted (id); VACUUM ANALYZE; DELETE FROM child; UPDATE parted SET v = 7;"
        "GRANT SELECT ON plain TO PUBLIC; ALTER TABLE part_3 RENAME TO other; COMMENT ON COLUMN plain.v IS 'x';"
        "ALTER TABLE part_2 RENAME TO part_4"
    )
    for plan in plans:
        assert sorted(chain.from_iterable(rows_of_tasks(plan))) == EXPECTED


def test_long_values_outside_of_the_table_are_no_other_table(postgresql, run):
    run(
        "CREATE TABLE long (id int, v text); ALTER TABLE long ALTER v SET STORAGE EXTERNAL;"
        "INSERT INTO long SELECT i, repeat('x', 9000) FROM generate_series(1, 100) i"
    )
    plan = planned(postgresql, dbtable="live.long")
    assert [len(v) for share in rows_of_tasks(plan) for _, v in share] == [9000] * 100


def test_columns_that_changed_since_they_were_looked_up_are_an_error_of_planning(postgresql, run):
    run("ALTER TABLE next ALTER id SET NOT NULL")
    scan = ss.scan_table(postgresql.url, "live.next", "id")
    assert scan.spec.key.nullable is False
    run("ALTER TABLE next ALTER id DROP NOT NULL; INSERT INTO next VALUES (NULL)")
    assert "looked up before" in check_changed(lambda: scan.plan(2))
    assert len(list(chain.from_iterable(rows_of_tasks(planned(postgresql, dbtable="live.next"))))) == 91


def test_rows_without_a_key_are_read_of_a_table_that_inherits(postgresql, run):
    """NOT NULL of a table says nothing of those that inherit from it."""
    run("ALTER TABLE plain ALTER id SET NOT NULL; ALTER TABLE child ALTER id DROP NOT NULL")
    run("INSERT INTO child VALUES (NULL, 0, 0)")
    assert len(list(chain.from_iterable(rows_of_tasks(planned(postgresql, dbtable="live.plain"))))) == 101
