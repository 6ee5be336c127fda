"""Tables of SQLite: every row once, whatever is in the columns, and whatever others write meanwhile."""

import pickle
import sqlite3

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import SchemaError, SourceChangedError, SourceError, UsageError
from splitscan.tables import read_pieces

from .conftest import person, rows_of_tasks

EVERYONE = [person(number) for number in range(1000)]


def by_id(rows):
    return sorted(rows, key=lambda row: row[0])


def test_a_table_is_read_as_it_is(people):
    scan = people()
    assert scan.schema == pa.schema(
        {"id": pa.int64(), "name": pa.string(), "photo": pa.binary(), "height": pa.float64()}
    )
    assert by_id(tuple(row.values()) for row in scan.to_arrow().to_pylist()) == EVERYONE
    assert scan.count() == 1000


@pytest.mark.parametrize("key", ["id", "name", "photo"])
@pytest.mark.parametrize("tasks", [1, 2, 7, 40])
def test_tasks_read_every_row_once(people, key, tasks):
    plan = people(key, min_partitions=tasks).plan(2)
    shares = rows_of_tasks(plan)
    assert by_id(row for share in shares for row in share) == EVERYONE
    assert len(shares) == tasks if key == "id" else len(shares) <= tasks
    assert key == "photo" or max(map(len, shares)) <= 3 * 1000 / tasks + 143  # the texts that are missing are one piece


def test_without_a_key_one_task_reads_everything(people):
    plan = people().plan(8)
    assert [len(share) for share in rows_of_tasks(plan)] == [1000]
    assert "as no keyColumn is given" in str(plan)


def test_the_plan_says_who_reads_what(people):
    assert str(people("id", min_partitions=3).plan(2)).splitlines()[1:] == [
        "all tasks read one version",
        "task 0: id in [..., 332)",
        "task 1: id in [332, 665)",
        "task 2: id in [665, ...), id is null",
    ]


def test_only_what_is_wanted_is_selected(people):
    table = people("id").select("height", "id").to_arrow()
    assert table.schema.names == ["height", "id"]
    assert people("id", columns="name,id").schema.names == ["name", "id"]
    assert people("photo").select("id").plan(4).spec.schema.names == ["id"]  # the key need not be delivered


def test_a_schema_chooses_and_types_columns_by_name(people):
    scan = people(schema="height decimal(10,1), id string")
    assert scan.to_arrow().sort_by("height").slice(3, 1).to_pylist() == [{"height": pa.scalar("1.5").cast(pa.decimal128(10, 1)).as_py(), "id": "3"}]  # fmt: skip  # noqa: E501


def test_batches_are_bounded_by_rows(people):
    assert [batch.num_rows for batch in people(batch_rows=300).to_batches()] == [299, 300, 300, 101]


def test_a_query_is_read_by_ranges_too(people, database):
    path = database()
    scan = ss.scan_table(f"sqlite:///{path}", query="SELECT id * 2 AS twice, name FROM people WHERE id < 500;",
                         key_column="twice", min_partitions=4)  # fmt: skip
    shares = rows_of_tasks(scan.plan(1))
    assert all(124 <= len(share) <= 126 for share in shares)
    assert sorted(row[0] for share in shares for row in share) == [2 * number for number in range(500)]


def test_values_of_other_types_than_the_key_belong_to_a_range_too(database):
    path = database(
        "CREATE TABLE odd (k INTEGER, n INTEGER PRIMARY KEY)",
        many=[
            ("INSERT INTO odd (k) VALUES (?)", [(1,), (5,), (2.5,), (-(2**63),), ("text",), (b"blob",), (None,), ("",)])
        ],
    )
    plan = ss.scan_table(f"sqlite:///{path}", "odd", "k", columns="n", min_partitions=5).plan(1)
    assert len(plan.tasks) > 2
    assert sorted(row for share in rows_of_tasks(plan) for row in share) == [(number,) for number in range(1, 9)]


def test_a_column_that_is_null_for_long_keeps_its_declared_type(database):
    path = database(
        "CREATE TABLE late (t TEXT, r REAL, b BLOB)",
        many=[("INSERT INTO late VALUES (?, ?, ?)", [(None, None, None)] * 9000 + [("x", 1.5, b"y")])],
    )
    table = ss.scan_table(f"sqlite:///{path}", "late").to_arrow()
    assert table.slice(9000).to_pylist() == [{"t": "x", "r": 1.5, "b": b"y"}]


def test_columns_without_a_telling_declaration_have_the_type_of_their_values(database):
    path = database(
        "CREATE TABLE loose (a, b, c, d DECIMAL(5,2), e DATE, f)",
        "INSERT INTO loose VALUES (1, 1, 'x', 3, '2024-02-29', NULL)",
        "INSERT INTO loose VALUES (2, 'y', 'z', 1.5, NULL, NULL)",
    )
    table = ss.scan_table(f"sqlite:///{path}", "loose").to_arrow()
    assert table.schema.types == [pa.int64(), pa.string(), pa.string(), pa.float64(), pa.string(), pa.string()]
    assert table.to_pylist()[1] == {"a": 2, "b": "y", "c": "z", "d": 1.5, "e": None, "f": None}


def test_generated_columns_are_read(database):
    path = database("CREATE TABLE t (id INTEGER, twice INTEGER AS (2 * id), kept INTEGER AS (3 * id) STORED)",
                    "INSERT INTO t (id) VALUES (1), (2)")  # fmt: skip
    rows = ss.scan_table(f"sqlite:///{path}", "t", "id").to_arrow().to_pylist()
    assert rows == [{"id": 1, "twice": 2, "kept": 3}, {"id": 2, "twice": 4, "kept": 6}]


def test_a_column_without_a_type_and_values_is_said_to_have_none(database):
    path = database("CREATE TABLE t (id INTEGER, v)")
    with pytest.raises(SchemaError, match=r"seen: +values of no type"):
        ss.scan_table(f"sqlite:///{path}", "t", schema="v array<int>").to_arrow()


@pytest.mark.parametrize("tasks", [2, 5])
def test_keys_reach_from_the_least_integer_to_the_greatest(database, tasks):
    keys = [-(2**63), -(2**63) + 1, -1, 0, 2**53 + 1, 2**63 - 1]
    path = database("CREATE TABLE t (id INTEGER)", many=[("INSERT INTO t VALUES (?)", [(key,) for key in keys])])
    shares = rows_of_tasks(ss.scan_table(f"sqlite:///{path}", "t", "id", min_partitions=tasks).plan(1))
    assert sorted(row[0] for share in shares for row in share) == keys
    assert all(len(share) < len(keys) for share in shares)


def test_a_value_that_does_not_fit_names_column_and_value(database):
    path = database("CREATE TABLE t (n INTEGER)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES ('many')")
    with pytest.raises(SchemaError, match=r"table-value(?s:.)*column 'n'(?s:.)*many(?s:.)*declare it as string"):
        ss.scan_table(f"sqlite:///{path}", "t").to_arrow()
    assert ss.scan_table(f"sqlite:///{path}", "t", schema="n string").to_arrow().column("n").to_pylist() == [
        "1",
        "many",
    ]


def test_text_that_is_not_utf8_names_column_and_range_of_keys(database):
    path = database("CREATE TABLE t (id INTEGER, v TEXT)", "INSERT INTO t VALUES (7, CAST(x'ff41' AS TEXT))")
    with pytest.raises(SchemaError, match=r"table-value(?s:.)*column 'v'.*id=\[..., ...\)(?s:.)*UTF8"):
        ss.scan_table(f"sqlite:///{path}", "t", "id").to_arrow()
    found = ss.scan_table(f"sqlite:///{path}", "t", "id", schema="v binary").to_arrow()
    assert found["v"].to_pylist() == [b"\xffA"]


def test_a_null_where_none_may_be_is_an_error(people):
    with pytest.raises(SchemaError, match="null-in-not-null"):
        people(schema="name string not null").to_arrow()


def test_a_table_that_is_written_to_after_planning_is_an_error(people, database):
    plan = people("id", min_partitions=2).plan(2)
    before = rows_of_tasks(plan)
    database("INSERT INTO people VALUES (1000, 'x', NULL, NULL)")
    with pytest.raises(SourceChangedError, match="table-changed"):
        rows_of_tasks(plan)
    assert len([row for share in before for row in share]) == 1000
    own = people("id", min_partitions=2, snapshot="own").plan(2)
    database("INSERT INTO people VALUES (1001, 'x', NULL, NULL)")
    assert len([row for share in rows_of_tasks(own) for row in share]) == 1002


def test_a_log_that_is_written_ahead_counts_as_a_change(people, database):
    writer = sqlite3.connect(database("PRAGMA journal_mode = WAL"))
    with writer:
        writer.execute("INSERT INTO people VALUES (1000, 'x', NULL, NULL)")
    plan = people("id").plan(1)
    assert len(rows_of_tasks(plan)[0]) == 1001
    assert len(rows_of_tasks(plan)[0]) == 1001  # reading is no change
    with writer:
        writer.execute("DELETE FROM people WHERE id = 1000")
    with pytest.raises(SourceChangedError, match="table-changed"):
        rows_of_tasks(plan)
    writer.close()


def test_a_reader_sees_nothing_that_is_written_while_it_reads(people, database):
    writer = sqlite3.connect(database("PRAGMA journal_mode = WAL"))
    batches = people(batch_rows=10).to_batches()
    first = next(batches)
    with writer:
        writer.execute("DELETE FROM people")
    assert first.num_rows + sum(batch.num_rows for batch in batches) == 1000
    writer.close()


def test_a_task_reads_all_its_ranges_in_one_transaction(people, database):
    writer = sqlite3.connect(database("PRAGMA journal_mode = WAL"))
    plan = people("name", min_partitions=3, batch_rows=100).plan(1)
    task = max(plan.tasks, key=len)
    assert len(task) > 1
    there = sum(batch.num_rows for batch in read_pieces(plan.spec, task, plan.version))
    batches = read_pieces(plan.spec, task, plan.version)
    rows = next(batches).num_rows
    with writer:
        writer.execute("DELETE FROM people")
    assert 0 < rows < rows + sum(batch.num_rows for batch in batches) == there
    writer.close()


@pytest.mark.parametrize(
    ("options", "error", "code"),
    [
        ({"dbtable": "nobody"}, SourceError, "database-failed"),
        ({"dbtable": "people; drop table people"}, UsageError, "bad-table"),
        ({"dbtable": "people", "keyColumn": "age"}, SchemaError, "unknown-column"),
        ({"dbtable": "people", "keyColumn": "height"}, UsageError, "bad-key-column"),
        ({"dbtable": "people", "columns": "age"}, SchemaError, "unknown-column"),
        ({"dbtable": "people", "columns": []}, UsageError, "bad-option"),
    ],
)
def test_what_cannot_be_read_says_so(people, database, options, error, code):
    path = database()
    with pytest.raises(error) as caught:
        ss.scan_table(**{"url": f"sqlite:///{path}", **options}).plan(2)
    assert caught.value.reason_code == code
    assert caught.value.fix


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(SourceError, match="path-not-found"):
        ss.scan_table(f"sqlite:///{tmp_path}/none.db", "t").count()
    assert list(tmp_path.iterdir()) == []


def test_names_are_quoted_whatever_is_in_them(database):
    path = database('CREATE TABLE "odd ""name"" -- x" ("a "" b" INTEGER)', 'INSERT INTO "odd ""name"" -- x" VALUES (7)')
    scan = ss.scan_table(f"sqlite:///{path}", '"odd ""name"" -- x"', 'a " b', min_partitions=2)
    assert rows_of_tasks(scan.plan(1))[-1] == [(7,)]


def test_a_plan_travels(people):
    plan = people("name", min_partitions=3).plan(2)
    assert rows_of_tasks(pickle.loads(pickle.dumps(plan))) == rows_of_tasks(plan)
