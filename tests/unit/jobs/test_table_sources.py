"""A table of a database goes into folders and tables: each row of one version once, whatever dies and changes."""

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import count

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

import splitscan as ss
from splitscan.errors import IngestError, SchemaError, SourceError, UsageError
from splitscan.jobs import IngestSettings, SchemaEvolution, verify
from splitscan.jobs.ledger import KeyRange, SourceTable
from splitscan.jobs.ledger_files import parse_ledger, render_ledger
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.spelling import from_plain, to_plain
from splitscan.tables import ingest_source as table_source
from splitscan.tables import read_pieces
from splitscan.tables.ingest_source import SavedPlan, TableIngestSource
from splitscan.tables.postgresql import PostgresqlSession
from splitscan.tables.session import NOBODY
from splitscan.tables.table_scan import DatabaseScan

from ...clusters.processes import wait_until
from ...postgresql import PASSWORD, running_server
from .tables.conftest import open_iceberg

KINDS = ["none", "delta", "iceberg"]
ROWS = 60
_LEDGER = "_splitscan/ledger/00000001.jsonl"


def read(out, kind):
    if kind == "delta":
        return DeltaTable(out).to_pyarrow_table()
    if kind == "iceberg":
        return open_iceberg(out).scan().to_arrow()
    return ds.dataset(out, format="parquet", partitioning="hive").to_table()


class Table:
    """A table that is ingested, and its destination."""

    def __init__(self, execute, url, out, runner):
        self.execute, self.url, self.out, self._runner = execute, url, out, runner

    def scan(self, key="name", table="people", **options):
        return ss.scan_table(self.url, table, key, **{"min_partitions": 4, **options})

    def ingest(self, job="a", kind="none", stop_after=None, scan=None, on_progress=None, **settings):
        runner = self._runner(stop_after)
        source = TableIngestSource(self.scan() if scan is None else scan, job)
        given = IngestSettings(source_digests=False, **settings)
        self.opened = runner.opened
        return run_ingest(source, IngestTarget(self.out, given, {}, on_progress, table=kind), runner)

    def die(self, after, **more):
        with pytest.raises(IngestError, match="the power failed"):
            self.ingest(stop_after=after, **more)

    def rows(self, kind="none"):
        return Counter(row["id"] for row in read(self.out, kind).to_pylist())

    def ledger(self, number=1):
        path = self.out / f"_splitscan/ledger/{number:08d}.jsonl"
        return parse_ledger(path.read_bytes(), path.name)

    def is_proved(self):
        report = verify(self.out, deep=True)
        assert report.problems == ()
        assert {note.code for note in report.notes} == {"source-not-compared"}
        return True


@pytest.fixture
def people(tmp_path, runner):
    """A file of SQLite with sixty rows, of which a seventh has no key."""
    path = tmp_path / "people.db"

    def execute(*statements):
        with sqlite3.connect(path) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    names = (f"({i}, {'NULL' if i % 7 == 0 else repr(f'name {i % 13}')})" for i in range(ROWS))
    execute("CREATE TABLE people (id INTEGER, name TEXT)", f"INSERT INTO people VALUES {', '.join(names)}")
    return Table(execute, f"sqlite:///{path}", tmp_path / "out", runner)


@pytest.fixture
def served(postgresql, tmp_path, runner):
    """The same on a server of PostgreSQL on which nobody holds a snapshot."""
    postgresql.run(
        "DROP TABLE IF EXISTS people, others",
        f"""CREATE TABLE people AS SELECT i AS id, CASE WHEN i % 7 > 0 THEN 'name ' || i % 13 END AS name
            FROM generate_series(0, {ROWS - 1}) i""",
    )
    postgresql.end_holders()
    table = Table(postgresql.run, postgresql.url, tmp_path / "out", runner)
    table.server = postgresql
    yield table
    postgresql.end_holders()


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


EVERY_ROW = Counter(range(ROWS))


# ------------------------------------------------------------------ the plain way


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_arrives_once_and_a_second_run_does_nothing(people, kind):
    report = people.ingest(kind=kind)
    assert (report.rows, report.rejects, report.blocks, report.files, report.accounted) == (ROWS, 0, 4, 1, True)
    assert people.rows(kind) == EVERY_ROW
    assert people.is_proved()
    assert people.ingest(kind=kind).nothing_to_do
    assert people.opened == []
    assert people.rows(kind) == EVERY_ROW


def test_the_version_is_released_once_all_is_published(people, monkeypatch):
    released = []
    monkeypatch.setattr(
        DatabaseScan, "release_version", lambda *_: released.append(people.out.joinpath(_LEDGER).exists())
    )
    people.ingest()
    assert released == [True]


def test_a_job_that_is_done_needs_neither_the_table_nor_its_columns(people):
    people.ingest()
    people.execute("ALTER TABLE people ADD COLUMN more TEXT")
    assert people.ingest().nothing_to_do
    people.execute("DROP TABLE people")
    assert people.ingest().nothing_to_do


def test_two_attempts_at_a_block_write_files_of_their_own(people):
    people.ingest()
    first = {written.name for written in people.ledger().written}
    people.out = people.out.parent / "other"
    people.ingest()
    assert len(first) == 4
    assert first.isdisjoint(written.name for written in people.ledger().written)


def test_the_ledger_says_which_table_and_which_rows_each_block_stands_for(people):
    people.ingest("nightly-1")
    ledger = people.ledger()
    source = ledger.source
    assert (source.job, source.relation, source.key, source.nullable) == ("nightly-1", 'table "people"', "name", True)
    assert len(source.ranges) == len(ledger.blocks) == 4
    assert parse_ledger(render_ledger(ledger), "x") == ledger
    assert ledger.roots == (ledger.files[0].path,)


def test_a_job_is_done_once_under_each_name_and_a_name_is_of_one_table(people):
    people.ingest("a")
    people.ingest("b")
    assert people.rows() == EVERY_ROW + EVERY_ROW
    assert people.is_proved()
    people.execute("CREATE TABLE others AS SELECT * FROM people")
    with pytest.raises(IngestError, match=r"job b has ingested another table.*\[job-taken\]"):
        people.ingest("b", scan=people.scan(table="others"))
    assert people.rows() == EVERY_ROW + EVERY_ROW


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["id", "name", None])
def test_tables_without_a_key_or_without_rows_are_ingested(people, key, kind):
    assert people.ingest(kind=kind, scan=people.scan(key)).blocks == (1 if key is None else 4)
    people.execute("DELETE FROM people")
    assert people.ingest("empty", kind=kind, scan=people.scan(key)).rows == 0
    assert people.rows(kind) == EVERY_ROW
    assert people.is_proved()


def test_an_empty_table_is_a_folder_with_columns(people):
    people.execute("DELETE FROM people")
    people.ingest()
    assert read(people.out, "none").schema.names == ["id", "name"]
    assert people.is_proved()


def test_a_query_is_known_by_its_digest_and_is_not_in_the_ledger(people):
    def scan(least):
        return ss.scan_table(people.url, key_column="id", query=f"SELECT * FROM people WHERE id >= {least}")

    people.ingest(scan=scan(50))
    assert people.rows() == Counter(range(50, ROWS))
    assert "SELECT" not in (people.out / _LEDGER).read_text()
    assert people.ingest(scan=scan(50)).nothing_to_do
    with pytest.raises(IngestError, match="job-taken"):
        people.ingest(scan=scan(51))


def test_rows_are_partitioned(people):
    people.ingest(partition_by=("name",))
    assert people.rows() == EVERY_ROW
    assert people.ledger().partitioning.columns == ("name",)
    assert people.is_proved()


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize("job", [None, "", "a b", "a/b", "x" * 201, "me@host", 7])
def test_a_job_needs_a_name(people, job):
    with pytest.raises(UsageError, match=r"\[job-name\](?s:.)*job='orders-2024-01-02'"):
        people.ingest(job)
    assert not people.out.exists()


def test_what_reads_no_single_version_of_the_whole_table_is_refused(people):
    for scan, seen in [
        (people.scan().limit(5), r"limit\(5\)"), (people.scan(snapshot="own"), "snapshot=own"),
        (people.scan(rebalance=True), "rebalance"),
    ]:  # fmt: skip
        with pytest.raises(UsageError, match=rf"\[bad-option\]\n  seen:  {seen}"):
            people.ingest(scan=scan)
    assert not people.out.exists()


@pytest.mark.parametrize("mode", [SchemaEvolution.NONE, SchemaEvolution.RESCUE])
def test_modes_that_look_for_columns_are_refused(people, mode):
    with pytest.raises(UsageError, match=f"schema_evolution_mode={mode.value}"):
        people.ingest(schema_evolution_mode=mode)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_the_destination_does_not_have_are_added_after_its_own_where_that_is_wanted(people, kind):
    people.ingest(kind=kind)
    people.execute("CREATE TABLE wider AS SELECT 'x' AS more, name, id + 100 AS id FROM people")
    with pytest.raises(SchemaError, match="destination-schema"):
        people.ingest("b", kind, scan=people.scan("id", "wider"))
    report = people.ingest("b", kind, scan=people.scan("id", "wider"), schema_evolution_mode=SchemaEvolution.ADD)
    assert report.columns_added == ("more string",)
    found = read(people.out, kind).to_pylist()
    assert Counter((row["id"] >= 100, row["more"]) for row in found) == {(False, None): ROWS, (True, "x"): ROWS}
    assert people.is_proved()


# ------------------------------------------------------------------ kills


@pytest.mark.thin(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", range(4))
def test_a_run_that_died_after_any_block_is_continued(people, kind, after):
    people.die(after, kind=kind)
    report = people.ingest(kind=kind)
    assert (report.blocks_resumed, [number for _, number in people.opened]) == (after, list(range(after, 4)))
    assert people.rows(kind) == EVERY_ROW
    assert people.is_proved()
    assert not (people.out.parent / ".out.splitscan").exists()


@pytest.mark.parametrize("kind", ["none", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])])
def test_a_driver_that_died_between_any_two_steps_is_continued(people, kind):
    jobs = 0
    for step in count():
        told = count()

        def tell(progress, step=step, told=told):
            if next(told) == step:
                raise KeyboardInterrupt

        try:
            people.ingest(str(jobs), kind, on_progress=tell)
            break
        except KeyboardInterrupt:
            pass
        people.ingest(str(jobs), kind)
        jobs += 1
        assert people.rows(kind) == Counter(dict.fromkeys(range(ROWS), jobs))
    assert jobs > 8
    assert people.is_proved()


def test_the_plan_of_the_first_run_counts_whatever_the_next_one_knows(people):
    people.die(2)
    report = people.ingest(scan=people.scan(min_partitions=9))
    assert (report.blocks, report.blocks_resumed) == (4, 2)
    assert people.rows() == EVERY_ROW


def test_a_plan_that_cannot_be_read_is_made_anew(people):
    people.die(2)
    (plan,) = (people.out.parent / ".out.splitscan").glob("*/plan.json")
    plan.write_text('{"plan": 99}')
    report = people.ingest()
    assert (report.blocks_resumed, len(report.removed)) == (0, 1)
    assert people.rows() == EVERY_ROW


def staged_plan(table):
    (path,) = (table.out.parent / ".out.splitscan").glob("*/plan.json")
    return path


@pytest.mark.parametrize("name", ["x' OR true --", "ab' %", "", "a" * 65, "ab\n"])
def test_a_plan_whose_version_is_no_name_is_made_anew(people, name):
    people.die(2)
    path = staged_plan(people)
    plan = json.loads(path.read_bytes())
    assert SavedPlan.from_json(json.dumps(plan).encode()).to_json() == path.read_text()
    plan["table"]["version"] = plan["version"]["name"] = name
    path.write_text(json.dumps(plan))
    assert SavedPlan.from_json(path.read_bytes()) is None
    assert people.ingest().blocks_resumed == 0
    assert people.rows() == EVERY_ROW


_STATE = {"number": 1, "name": "a.b", "file": 2, "columns": "c", "definition": "d"}


@pytest.mark.parametrize("state", [{**_STATE, "number": "1"}, {**_STATE, "file": None}, {"number": 1}, "abcde", 7])
def test_a_plan_whose_relations_are_none_cannot_be_read(people, state):
    people.die(2)
    plan = json.loads(staged_plan(people).read_bytes())
    version = plan["version"]
    for relations, is_read in (([_STATE], True), ([state], False)):
        changed = {**plan, "version": {**version, "relations": relations}}
        assert (SavedPlan.from_json(json.dumps(changed).encode()) is not None) is is_read


def test_reports_of_another_plan_are_not_believed(people):
    people.die(2)
    staged_plan(people).unlink()
    people.execute("UPDATE people SET id = id + 100")
    report = people.ingest()
    assert (report.blocks_resumed, report.rows) == (0, ROWS)
    assert people.rows() == Counter(range(100, 100 + ROWS))
    assert people.is_proved()


def test_a_task_of_an_older_plan_that_ends_late_is_not_counted(people, tmp_path):
    people.die(2)
    folder = staged_plan(people).parent
    late = shutil.copytree(folder, tmp_path / "late", ignore=shutil.ignore_patterns("plan.json"))
    shutil.rmtree(folder)  # somebody cleaned up while tasks were still reading
    people.execute("UPDATE people SET id = id + 100")
    people.die(1)
    shutil.copytree(late, folder, dirs_exist_ok=True)

    report = people.ingest()
    assert (report.blocks_resumed, report.rows) == (1, ROWS)
    assert people.rows() == Counter(range(100, 100 + ROWS))
    assert people.is_proved()


def test_a_twin_that_planned_meanwhile_has_made_the_plan(people, monkeypatch):
    made = SavedPlan.to_json

    def meanwhile(plan):
        monkeypatch.setattr(table_source.SavedPlan, "to_json", made)
        people.die(3, scan=people.scan(min_partitions=7))
        return made(plan)

    monkeypatch.setattr(table_source.SavedPlan, "to_json", meanwhile)
    monkeypatch.setattr("splitscan.jobs.workplace.DestinationStorage.lock", lambda self: nullcontext())
    report = people.ingest()
    assert (report.blocks, report.blocks_resumed) == (7, 3)
    assert people.rows() == EVERY_ROW


# ------------------------------------------------------------------ versions that are gone


@pytest.mark.parametrize("kind", KINDS)
def test_where_the_version_is_gone_and_rows_are_missing_the_next_run_begins_anew(people, kind, caplog):
    people.die(3, kind=kind)
    people.execute("UPDATE people SET name = 'name 1' WHERE id < 30", "INSERT INTO people VALUES (1000, 'new')")
    report = people.ingest(kind=kind)
    assert (report.blocks_resumed, report.rows, len(report.removed)) == (0, ROWS + 1, 1)
    assert "job a starts over: 3 of 4 blocks were read of a version of the table that is gone" in caplog.text
    assert people.rows(kind) == EVERY_ROW + Counter([1000])
    assert people.is_proved()


def test_a_run_that_began_anew_and_died_is_continued_without_a_word(people, caplog):
    people.die(3)
    people.execute("UPDATE people SET id = id + 100")
    people.die(2)
    assert caplog.text.count("starts over") == 1
    caplog.clear()
    report = people.ingest()
    assert (report.blocks_resumed, len(report.removed)) == (2, 1)
    assert "starts over" not in caplog.text
    assert people.rows() == Counter(range(100, 100 + ROWS))


def test_where_all_was_read_the_version_is_published_though_it_is_gone(people):
    def die_at_the_end(progress):
        if progress.blocks_done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        people.ingest(on_progress=die_at_the_end)
    people.execute("DELETE FROM people")
    assert (people.ingest().blocks_resumed, people.opened) == (4, [])
    assert people.rows() == EVERY_ROW
    assert people.is_proved()


def test_a_change_while_tasks_read_fails_the_run_and_publishes_nothing(people, monkeypatch):
    original = table_source.read_pieces

    def changing(spec, pieces, version):
        monkeypatch.setattr(table_source, "read_pieces", original)
        people.execute("DELETE FROM people WHERE id = 3")
        return original(spec, pieces, version)

    monkeypatch.setattr(table_source, "read_pieces", changing)
    with pytest.raises(SourceError, match="table-changed"):
        people.ingest()
    assert not people.out.exists()
    assert people.ingest().rows == ROWS - 1


# ------------------------------------------------------------------ proof


def test_keys_that_the_blocks_leave_out_are_found(people):
    people.ingest()
    path = people.out / _LEDGER
    ledger = people.ledger()
    first, second, *others = ledger.source.ranges
    last = others[-1]
    for ranges, text in [
        ((first, (second[0]._replace(start=b"\xff"),), *others), "belong to no block, or to two"),
        ((first, first, *others), "belong to no block, or to two"),
        ((first, second, *others[:-1], (last[0]._replace(stop=b"\xff"), *last[1:])), "on belong to no block"),
        ((first, second, *others[:-1], others[-1][:1]), "rows without a key belong to"),
        ((first, second), "the ranges of keys are of 2 other blocks"),
    ]:
        path.write_bytes(render_ledger(replace(ledger, source=replace(ledger.source, ranges=ranges))))
        found = verify(people.out).problems
        assert any(each.code == "not-accounted" and text in each.text for each in found), (ranges, found)
        assert {each.path for each in found} == {ledger.files[0].path}
    path.write_bytes(render_ledger(replace(ledger, roots=(), source=replace(ledger.source, ranges=(first,)))))
    assert ledger.files[0].path in {each.path for each in verify(people.out).problems}


@pytest.mark.parametrize(
    "keys", [{"start": "8", "stop": "0"}, {"start": ""}, {"start": "", "stop": "", "with_nulls": 0}, "ff", None]
)
def test_a_ledger_whose_ranges_of_keys_are_none_is_damaged(people, keys):
    people.ingest()
    said = json.loads(json.dumps(to_plain(people.ledger().source)))
    keyed = {"start": "80", "stop": "", "with_nulls": True}
    assert from_plain(SourceTable, {**said, "ranges": [[keyed]]}).ranges == ((KeyRange(b"\x80", b"", True),),)
    for ranges in ([[keys]], [keys], keys):
        with pytest.raises(IngestError, match="ledger-damaged"):
            from_plain(SourceTable, {**said, "ranges": ranges})


def test_a_plan_that_leaves_keys_out_is_never_published(people, monkeypatch):
    original = SavedPlan.of

    def short(*given):
        kept = original(*given)
        return replace(kept, table=replace(kept.table, ranges=kept.table.ranges[1:]))

    monkeypatch.setattr(table_source.SavedPlan, "of", short)
    with pytest.raises(ss.SplitscanError, match="not-accounted") as caught:
        people.ingest()
    assert "every key of the table" in str(caught.value)
    assert caught.value.where.path.endswith('table "people", job a')
    assert not people.out.exists()


# ------------------------------------------------------------------ PostgreSQL


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_continued_of_its_own_version_while_others_write(served, kind):
    served.die(2, kind=kind)
    assert len(served.server.holders()) == 1
    served.execute("UPDATE people SET name = 'name 1', id = id + 500", "DELETE FROM people WHERE name IS NULL")
    report = served.ingest(kind=kind)
    assert (report.blocks_resumed, report.rows) == (2, ROWS)
    assert served.rows(kind) == EVERY_ROW
    assert served.is_proved()
    wait_until("the snapshot was given back", lambda: not served.server.holders())


def test_other_statistics_change_nothing_of_a_plan(served):
    served.die(1)
    served.execute("DELETE FROM people WHERE id % 3 > 0", "ANALYZE people", "CREATE INDEX ON people (name)")
    assert served.ingest().blocks_resumed == 1
    assert served.rows() == EVERY_ROW


def test_where_the_snapshot_is_gone_the_next_run_begins_anew(served):
    served.die(3)
    served.server.end_holders()
    served.execute("UPDATE people SET id = id + 100 WHERE id = 5")
    report = served.ingest()
    assert (report.blocks_resumed, len(report.removed)) == (0, 1)
    assert served.rows() == EVERY_ROW - Counter([5]) + Counter([105])


@pytest.mark.parametrize(
    "change", ["TRUNCATE people", "ALTER TABLE people ALTER id TYPE bigint", "ALTER TABLE people ADD more text"]
)
def test_where_the_table_is_not_what_it_was_the_next_run_begins_anew(served, change):
    served.die(3)
    served.execute(change)
    report = served.ingest()
    assert report.blocks_resumed == 0
    assert served.rows() == (Counter() if "TRUNCATE" in change else EVERY_ROW)
    assert served.is_proved()


def test_a_snapshot_of_that_name_of_a_server_that_was_started_anew_is_another_one(served):
    plan = served.scan().plan(2)
    with pytest.raises(SourceError, match="snapshot-lost"):
        list(read_pieces(plan.spec, plan.tasks[0], replace(plan.version, server="1.5")))
    assert not served.scan().has_version(replace(plan.version, server="1.5"))
    assert served.scan().has_version(plan.version)
    served.scan().release_version(replace(plan.version, server="1.5"))
    assert len(served.server.holders()) == 1


def test_no_statement_has_a_version_in_it_that_is_no_name(served):
    served.die(2)
    version = SavedPlan.from_json(staged_plan(served).read_bytes()).version
    for name in ("%", f"{version.name}' OR true --"):
        with pytest.raises(ValueError, match="no name of a version"):
            served.scan().release_version(replace(version, name=name))
        with pytest.raises(ValueError, match="no name of a version"):
            served.scan().has_version(replace(version, name=name))
    assert len(served.server.holders()) == 1


def test_a_connection_that_breaks_does_not_mean_that_the_snapshot_is_gone(served, monkeypatch):
    served.die(3)
    original = PostgresqlSession.run

    def breaking(session, sql):
        if sql.startswith("SET TRANSACTION SNAPSHOT"):
            process = session.ask("SELECT pg_backend_pid()").column(0)[0].as_py()
            served.server.ask(f"SELECT pg_terminate_backend({process})")
        original(session, sql)

    monkeypatch.setattr(PostgresqlSession, "run", breaking)
    with pytest.raises(SourceError, match="database-failed"):
        served.ingest()
    monkeypatch.setattr(PostgresqlSession, "run", original)
    assert served.ingest().blocks_resumed == 3
    assert served.rows() == EVERY_ROW


@pytest.mark.parametrize("target", ["of", "to_json"])
def test_a_plan_that_cannot_be_made_lets_its_snapshot_go(served, monkeypatch, target):
    def broken(*args):
        raise OSError("no space left")

    monkeypatch.setattr(table_source.SavedPlan, target, broken)
    with pytest.raises(OSError, match="no space"):
        served.ingest()
    wait_until("the snapshot was given back", lambda: not served.server.holders())


def test_a_snapshot_of_a_table_that_has_other_columns_by_then_is_given_back(served):
    scan = served.scan()
    assert len(scan.schema) == 2
    served.execute("ALTER TABLE people ALTER id TYPE bigint")
    with pytest.raises(SourceError, match="table-changed"):
        scan.plan(2, NOBODY)
    wait_until("the snapshot was given back", lambda: not served.server.holders())


def test_rows_without_a_key_arrive_once_though_the_key_is_declared_meanwhile(served):
    scan = served.scan(min_partitions=1)
    served.die(0, scan=scan)
    served.execute("DELETE FROM people WHERE name IS NULL", "ALTER TABLE people ALTER name SET NOT NULL")
    report = served.ingest(scan=served.scan(min_partitions=1))
    assert report.rows == ROWS
    assert served.rows() == EVERY_ROW
    assert served.is_proved()


def test_another_search_path_is_another_table(served):
    served.execute(
        "DROP SCHEMA IF EXISTS apart CASCADE",
        "CREATE SCHEMA apart",
        "CREATE TABLE apart.people AS SELECT 7 AS id, 'x' AS name",
    )
    served.ingest()
    served.url += "&options=-csearch_path%3Dapart"
    with pytest.raises(IngestError, match="job-taken"):
        served.ingest()
    served.ingest("b")
    assert served.rows() == EVERY_ROW + Counter([7])


def database(url, table="people"):
    """How a ledger knows where a table is looked for."""
    dbtable, query = (None, table) if table.startswith("SELECT") else (table, None)
    return ss.scan_table(url, dbtable, "id", query=query).database


@pytest.fixture
def two_schemas(served):
    """Two users without a database of their own, of which one has a schema of its own name."""
    server = served.server
    drop = "DROP SCHEMA IF EXISTS apart, anna CASCADE", "DROP DATABASE IF EXISTS bob"
    drop = *drop, *(f"DROP ROLE IF EXISTS {user}" for user in ("anna", "bob"))
    made = [f"CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'" for user in ("anna", "bob")]
    server.run(*drop, *made, "CREATE SCHEMA apart", "CREATE SCHEMA anna AUTHORIZATION anna")
    yield server
    server.run(*drop)


@pytest.mark.parametrize("table", ["people", "SELECT id, name FROM people"])
def test_the_server_says_in_which_schemas_a_table_is_looked_for(served, two_schemas, monkeypatch, table):
    anna, bob = (served.url.replace("//postgres:", f"//{user}:") for user in ("anna", "bob"))
    plain = database(bob, table)
    assert plain == database(served.url, table)
    assert plain.endswith("&search_path=public")
    assert database(anna, table) == plain.replace("=public", "=anna,public")
    two_schemas.run("GRANT USAGE ON SCHEMA apart TO bob", "ALTER ROLE bob SET search_path = public, apart")
    assert database(bob, table) == plain.replace("=public", "=public,apart")
    assert database(f"{bob}&options=-csearch_path%3Dapart", table) == plain.replace("=public", "=apart")
    monkeypatch.setenv("PGOPTIONS", "-csearch_path=apart")
    assert database(served.url, table) == plain.replace("=public", "=apart")
    assert {database(url, "public.people") for url in (anna, bob, served.url)} == {plain.partition("&search_path")[0]}


def test_the_server_says_which_database_it_is(served, two_schemas, monkeypatch):
    folder = two_schemas.folder
    there = f"postgresql:///postgres?host={folder}&system="
    number = two_schemas.ask("SELECT system_identifier::text FROM pg_control_system()")[0][0]
    assert database(served.url, "public.people") == f"{there}{number}"
    for name, value in {"PGHOST": str(folder), "PGUSER": "bob", "PGPASSWORD": PASSWORD}.items():
        monkeypatch.setenv(name, value)
    assert database("postgresql:///postgres", "public.people") == f"postgresql:///postgres?system={number}"
    two_schemas.run("CREATE DATABASE bob OWNER bob")
    assert database("postgresql://", "public.people") == f"postgresql:///bob?system={number}"
    monkeypatch.setenv("PGDATABASE", "postgres")
    assert database("postgresql://", "public.people") == f"postgresql:///postgres?system={number}"
    services = folder / "services.conf"
    services.write_text("[mine]\ndbname=bob\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    monkeypatch.setenv("PGSERVICE", "mine")
    monkeypatch.delenv("PGDATABASE")
    assert database("postgresql://", "public.people") == f"postgresql:///bob?system={number}"
    two_schemas.run("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public")
    try:
        assert database("postgresql:///postgres", "public.people") == "postgresql:///postgres?system=%3A5432"
    finally:
        two_schemas.run("GRANT EXECUTE ON FUNCTION pg_control_system() TO public")


def test_a_server_on_another_port_is_another_one(served, monkeypatch):
    """What the environment says is not in the URL, and the ledger must tell the servers apart."""
    url = f"postgresql://postgres:{PASSWORD}@/postgres"
    with running_server() as other:
        other.run("CREATE TABLE people AS SELECT 7 AS id, 'x' AS name")
        monkeypatch.setenv("PGHOST", str(served.server.folder))
        served.ingest(scan=ss.scan_table(url, "public.people", "id"))
        monkeypatch.setenv("PGHOST", str(other.folder))
        with pytest.raises(IngestError, match="job-taken"):
            served.ingest(scan=ss.scan_table(url, "public.people", "id"))


def test_two_jobs_of_one_table_hold_snapshots_of_their_own(served):
    served.die(1, job="a")
    served.die(2, job="b")
    assert len(served.server.holders()) == 2
    assert served.ingest("a").blocks_resumed == 1
    assert served.ingest("b").blocks_resumed == 2
    assert served.rows() == EVERY_ROW + EVERY_ROW


def test_how_a_database_is_reached_does_not_make_it_another_one(served):
    served.ingest()
    served.url += "&connect_timeout=30"
    assert served.ingest().nothing_to_do
    served.url = served.url.replace(f"postgres:{PASSWORD}@", "")
    scan = served.scan(user="postgres", password=PASSWORD)
    assert served.ingest(scan=scan).nothing_to_do


def test_no_password_is_anywhere(served):
    served.die(2)
    staged = {path.name: path.read_bytes() for path in files_below(served.out.parent / ".out.splitscan")}
    assert "plan.json" in staged
    report = served.ingest()
    written = [path.read_bytes() for path in files_below(served.out)]
    assert len(written) > 4
    assert not any(PASSWORD.encode() in data for data in [*staged.values(), *written])
    shown = [repr(report), repr(verify(served.out)), repr(TableIngestSource(served.scan(), "a")), repr(served.ledger())]
    with pytest.raises(IngestError, match="job-taken") as caught:
        served.ingest(scan=ss.scan_table(served.url, query="SELECT 1 AS id", key_column="id"))
    assert not any(PASSWORD in text for text in [*shown, str(caught.value)])
