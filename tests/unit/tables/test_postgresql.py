"""Tables of PostgreSQL: keys of all kinds, one snapshot for all tasks, types, and nothing lost or doubled."""

import decimal
import uuid

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import SchemaError, SourceError, UsageError
from splitscan.tables.keys import KeyKind

from .conftest import rows_of_tasks

_ROWS = 3000
_KEYS = {
    "id": "bigint",
    "small": "smallint",
    "name": "text",
    "named": 'varchar COLLATE "C"',
    "code": "uuid",
    "raw": "bytea",
    "day": "date",
    "at": "timestamp",
    "moment": "timestamptz",
}
_MANY_TYPES = {
    "int2": ("7", pa.int16(), 7),
    "int4": ("7", pa.int32(), 7),
    "int8": ("7", pa.int64(), 7),
    "oid": ("4000000000", pa.int64(), 4_000_000_000),
    "float4": ("1.5", pa.float32(), 1.5),
    "float8": ("1.5", pa.float64(), 1.5),
    "numeric(10,2)": ("-12.5", pa.decimal128(10, 2), decimal.Decimal("-12.50")),
    "numeric": ("1e40", pa.string(), "1" + "0" * 40),
    "numeric(50,2)": ("1.25", pa.string(), "1.25"),
    "bool": ("true", pa.bool_(), True),
    "text": ("a\tb", pa.string(), "a\tb"),
    "varchar(5)": ("ab", pa.string(), "ab"),
    "char(4)": ("ab", pa.string(), "ab  "),
    "name": ("ab", pa.string(), "ab"),
    "bytea": (r"\x00ff", pa.binary(), b"\0\xff"),
    "uuid": ("0A0B0c0d-0000-0000-0000-0000000000ff", pa.string(), "0a0b0c0d-0000-0000-0000-0000000000ff"),
    "json": ('{"a": 1}', pa.string(), '{"a": 1}'),
    "jsonb": ('{"a":1}', pa.string(), '{"a": 1}'),
    "xml": ("<a/>", pa.string(), "<a/>"),
    "time": ("01:02:03", pa.string(), "01:02:03"),
    "timetz": ("01:02:03+02", pa.string(), "01:02:03+02"),
    "interval": ("1 day 02:00:00", pa.string(), "1 day 02:00:00"),
    "inet": ("10.0.0.1", pa.string(), "10.0.0.1/32"),
    "bit(3)": ("101", pa.string(), "101"),
    "int4range": ("[1,5)", pa.string(), "[1,5)"),
    "point": ("(1,2)", pa.string(), "(1,2)"),
    "mood": ("fine", pa.string(), "fine"),
    "pair": ("(1,x)", pa.string(), "(1,x)"),
    "int4[]": ("{1,NULL,3}", pa.list_(pa.int32()), [1, None, 3]),
    "text[]": ('{a,"b c"}', pa.list_(pa.string()), ["a", "b c"]),
    "numeric(5,1)[]": ("{1.5}", pa.list_(pa.string()), ["1.5"]),
    "mood[]": ("{fine}", pa.list_(pa.string()), ["fine"]),
    "uuid[]": (
        "{0a0b0c0d-0000-0000-0000-0000000000ff}",
        pa.list_(pa.string()),
        ["0a0b0c0d-0000-0000-0000-0000000000ff"],
    ),
}


@pytest.fixture(scope="module")
def keyed(postgresql):
    """A table with a key of every kind, of which a tenth is missing in all columns but the first."""
    columns = ", ".join(f"{name} {kind}" for name, kind in _KEYS.items())
    postgresql.run(
        f"CREATE TABLE keyed ({columns})",
        f"""INSERT INTO keyed SELECT i, i % 300, 'Name ' || md5(i::text) || chr(200 + i % 500), md5(i::text),
            md5(i::text)::uuid, decode(md5(i::text), 'hex'), date '1960-01-01' + i * 3,
            timestamp '1960-01-01' + i * interval '7 hours', timestamptz '2001-01-01 00:00+05' + i * interval '7 hours'
            FROM generate_series(1, {_ROWS}) i""",
        *(f"UPDATE keyed SET {name} = NULL WHERE id % 10 = 0" for name in _KEYS if name != "id"),
        "ALTER TABLE keyed ALTER id SET NOT NULL",
        "UPDATE keyed SET name = '', raw = '' WHERE id = 1",
        "UPDATE keyed SET name = E'\\U0001F600', day = '0001-01-01', at = '9999-12-31' WHERE id = 2",
    )
    return postgresql


@pytest.fixture(scope="module")
def typed(postgresql):
    """A table with a column of every type, a row of values and a row of nulls."""
    postgresql.run("CREATE TYPE mood AS ENUM ('fine', 'bad')", "CREATE TYPE pair AS (n int, t text)")
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(_MANY_TYPES))
    values = ", ".join(f"'{text}'::{kind}" for kind, (text, _, _) in _MANY_TYPES.items())
    postgresql.run(f"CREATE TABLE typed ({columns})", f"INSERT INTO typed VALUES ({values})")
    postgresql.run("INSERT INTO typed (c0) VALUES (NULL)")
    return postgresql


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize("key", _KEYS)
def test_tasks_read_every_row_once(keyed, key, analyzed):
    if analyzed:
        keyed.run("ANALYZE keyed")
    scan = ss.scan_table(keyed.url, "keyed", key, columns="id", min_partitions=7, snapshot="own")
    shares = rows_of_tasks(scan.plan(2))
    assert sorted(number for share in shares for (number,) in share) == list(range(1, _ROWS + 1))
    assert 6 <= len(shares) <= 8
    assert max(map(len, shares)) < 0.35 * _ROWS


def test_an_index_of_the_right_collation_can_serve(keyed):
    spec = ss.scan_table(keyed.url, "keyed", "name").spec
    assert spec.key.key == '"name" COLLATE "C"'
    assert ss.scan_table(keyed.url, "keyed", "named").spec.key.key == '"named"'
    assert ss.scan_table(keyed.url, "keyed", "id").spec.key.nullable is False


def test_views_queries_and_partitioned_tables_are_read_by_ranges(keyed):
    keyed.run(
        "CREATE VIEW seen AS SELECT id, name FROM keyed WHERE id > 1000",
        "CREATE TABLE parted (id bigint, t text) PARTITION BY RANGE (id)",
        "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000)",
        "CREATE TABLE parted_2 PARTITION OF parted DEFAULT",
        "INSERT INTO parted SELECT i, i FROM generate_series(1, 3000) i",
        "CREATE TABLE empty (id uuid)",
    )
    for options, count in (
        ({"dbtable": "seen"}, 2000),
        ({"query": "SELECT id FROM keyed WHERE id <= 500;"}, 500),
        ({"dbtable": "public.parted"}, 3000),
        ({"dbtable": "empty"}, 0),
    ):
        scan = ss.scan_table(keyed.url, key_column="id", min_partitions=4, columns="id", **options)
        plan = scan.plan(2)
        rows = [row for share in rows_of_tasks(plan) for row in share]
        assert len(rows) == len(set(rows)) == count == scan.count()
        assert len(plan.tasks) == (4 if count else 1)


def test_a_query_cannot_write_while_its_keys_are_looked_up(keyed):
    keyed.run("CREATE SEQUENCE counted")
    scan = ss.scan_table(keyed.url, key_column="id", query="SELECT nextval('counted') AS id")
    with pytest.raises(SourceError, match="read-only transaction"):
        scan.stretches()


def test_all_tasks_read_the_version_that_was_planned(keyed):
    keyed.run("CREATE TABLE moving AS SELECT i AS id FROM generate_series(1, 1000) i")
    plan = ss.scan_table(keyed.url, "moving", "id", min_partitions=5).plan(2)
    keyed.run("DELETE FROM moving WHERE id % 2 = 0", "UPDATE moving SET id = id + 1", "INSERT INTO moving VALUES (7)")
    assert sorted(row for share in rows_of_tasks(plan) for row in share) == [(i,) for i in range(1, 1001)]
    assert "all tasks read one version" in str(plan)


def test_new_indexes_and_new_statistics_are_no_other_version(postgresql):
    postgresql.run(
        "CREATE TABLE indexed AS SELECT i AS id FROM generate_series(1, 100) i", "CREATE INDEX by_id ON indexed (id)"
    )
    plan = ss.scan_table(postgresql.url, "indexed", "id", min_partitions=2).plan(2)
    postgresql.run("REINDEX TABLE indexed", "CREATE INDEX by_id_again ON indexed (id)", "VACUUM ANALYZE indexed")
    assert sorted(row for share in rows_of_tasks(plan) for row in share) == [(i,) for i in range(1, 101)]


def test_queries_of_no_table_are_read_as_they_are(postgresql):
    scan = ss.scan_table(postgresql.url, query="SELECT generate_series(1, 9) AS id", key_column="id", min_partitions=2)
    assert sorted(row for share in rows_of_tasks(scan.plan(2)) for row in share) == [(i,) for i in range(1, 10)]


def test_without_a_shared_snapshot_a_task_reads_what_is_there(keyed):
    keyed.run("CREATE TABLE growing AS SELECT i AS id FROM generate_series(1, 100) i")
    plan = ss.scan_table(keyed.url, "growing", "id", min_partitions=3, snapshot="own").plan(2)
    keyed.run("INSERT INTO growing SELECT i FROM generate_series(-50, 0) i")
    assert sorted(row for share in rows_of_tasks(plan) for row in share) == [(i,) for i in range(-50, 101)]


def test_every_type_becomes_a_type_of_spark(typed):
    table = ss.scan_table(typed.url, "typed").to_arrow()
    values, nulls = table.to_pylist()
    for number, (kind, (_, expected, value)) in enumerate(_MANY_TYPES.items()):
        assert (kind, table.schema.types[number], values[f"c{number}"]) == (kind, expected, value)
    assert set(nulls.values()) == {None}


@pytest.mark.parametrize("digits", ["4,4", "10,0", "10,2", "18,5", "18,18", "19,2", "38,10"])
def test_decimals_are_what_the_server_shows(postgresql, digits):
    precision, scale = map(int, digits.split(","))
    postgresql.run(
        "DROP TABLE IF EXISTS exact",
        f"""CREATE TABLE exact AS SELECT CASE WHEN i % 7 > 0 THEN
            (trunc(power(10::numeric, i % {precision + 1}) - i % 2) * (1 - i % 3) / power(10::numeric, {scale}))
            % power(10::numeric, {precision - scale}) END::numeric({digits}) AS v FROM generate_series(1, 300) i""",
    )
    table = ss.scan_table(postgresql.url, "exact").to_arrow()
    shown = [
        value if value is None else decimal.Decimal(value) for (value,) in postgresql.ask("SELECT v::text FROM exact")
    ]
    assert table.schema.field("v").type == pa.decimal128(precision, scale)
    assert table.column("v").to_pylist() == shown
    assert len(set(shown)) > precision


def test_every_type_can_be_read_as_text(typed):
    names = [f"c{number}" for number in range(len(_MANY_TYPES))]
    table = ss.scan_table(typed.url, "typed", schema=", ".join(f"{name} string" for name in names)).to_arrow()
    assert set(table.schema.types) == {pa.string()}
    assert table.column("c28").to_pylist() == ["{1,NULL,3}", None]


@pytest.mark.parametrize(
    "value", ["'infinity'::timestamp", "'-infinity'::timestamptz", "'infinity'::date", "'NaN'::numeric(5,2)"]
)
def test_values_that_spark_does_not_have_name_column_and_fix(postgresql, value):
    postgresql.run("DROP TABLE IF EXISTS beyond", f"CREATE TABLE beyond AS SELECT {value} AS v")
    with pytest.raises(SchemaError, match=r"table-value(?s:.)*column 'v'(?s:.)*declare it as string"):
        ss.scan_table(postgresql.url, "beyond").to_arrow()
    (text,) = ss.scan_table(postgresql.url, "beyond", schema="v string").to_arrow().column("v").to_pylist()
    assert text in ("infinity", "-infinity", "NaN")


def other_database(postgresql, encoding):
    postgresql.run(f"CREATE DATABASE {encoding} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    return type(postgresql)(postgresql.folder, encoding.lower())


def test_texts_of_another_encoding_are_converted(postgresql):
    other = other_database(postgresql, "LATIN1")
    other.run("CREATE TABLE t AS SELECT chr(233) AS v")
    assert ss.scan_table(other.url, "t").to_arrow().to_pylist() == [{"v": "é"}]


def test_text_that_is_not_utf8_is_an_error_with_its_column_and_range_of_keys(postgresql):
    other = other_database(postgresql, "SQL_ASCII")
    other.run(
        "CREATE TABLE t AS SELECT i AS id, 'ok'::text AS v, ARRAY['ok'] AS a FROM generate_series(1, 100) i",
        r"UPDATE t SET v = convert_from('\xff41', 'SQL_ASCII'), "
        r"a = ARRAY[convert_from('\xe9', 'SQL_ASCII')] WHERE id = 77",
    )
    for column in ("v", "a"):
        plan = ss.scan_table(other.url, "t", "id", columns=column, min_partitions=2).plan(2)
        with pytest.raises(
            SchemaError, match=rf"table-value(?s:.)*column '{column}'.*id=\[\d+, ...\)(?s:.)*UTF8"
        ) as caught:
            rows_of_tasks(plan)
        assert ("declare it as binary" if column == "v" else "read a query that converts it") in str(caught.value)
    binary = ss.scan_table(other.url, "t", schema="v binary").to_arrow().column("v").to_pylist()
    assert sorted(set(binary)) == [b"ok", b"\xff\x41"]


def test_arrays_of_several_dimensions_are_an_error_and_not_flat(postgresql):
    postgresql.run("CREATE TABLE deep AS SELECT '{{1,2},{3,4}}'::int[] AS v")
    with pytest.raises(SourceError, match="several dimensions: declare the column as string"):
        ss.scan_table(postgresql.url, "deep").to_arrow()
    assert ss.scan_table(postgresql.url, "deep", schema="v string").to_arrow().to_pylist() == [{"v": "{{1,2},{3,4}}"}]


def test_columns_are_typed_and_chosen_by_the_user(keyed):
    scan = ss.scan_table(keyed.url, "keyed", "id", schema="code string, ID decimal(12,0)", query=None)
    (row,) = (row for row in scan.to_arrow().to_pylist() if row["ID"] == 3)
    assert uuid.UUID(row["code"])
    with pytest.raises(SchemaError, match="type-conflict"):
        ss.scan_table(keyed.url, "keyed", schema="code array<int>").schema  # noqa: B018


def test_names_and_keys_are_quoted_whatever_is_in_them(postgresql):
    postgresql.run(
        'CREATE TABLE "odd "" -- name" ("k ""; --" text)',
        """INSERT INTO "odd "" -- name"
            SELECT v FROM unnest(ARRAY['''; DROP TABLE x; --', '\\', '$$', 'é', '', '"']) v""",
    )
    scan = ss.scan_table(postgresql.url, '"odd "" -- name"', 'k "; --', min_partitions=6)
    plan = scan.plan(2)
    assert len(plan.tasks) > 2
    shares = rows_of_tasks(plan)
    assert sorted(value for share in shares for (value,) in share) == sorted(
        ["'; DROP TABLE x; --", "\\", "$$", "é", "", '"']
    )


@pytest.mark.parametrize("kind", ["numeric", "float8", "interval"])
def test_columns_that_cannot_be_the_key_say_so(postgresql, kind):
    with pytest.raises(
        UsageError, match=rf"bad-key-column(?s:.)*{kind}(?s:.)*{', '.join(k.value for k in KeyKind)[:20]}"
    ):
        ss.scan_table(postgresql.url, query=f"SELECT NULL::{kind} AS k", key_column="k").plan(1)


def test_a_database_that_does_not_answer_shows_no_password(postgresql):
    wrong = postgresql.url.replace("hunter2", "hunter3")
    for url in (wrong, postgresql.url.replace(str(postgresql.folder), "/nowhere")):
        with pytest.raises(SourceError, match="database-failed") as caught:
            ss.scan_table(url, "keyed").count()
        assert "hunter" not in str(caught.value)


def test_nothing_can_be_written(postgresql):
    postgresql.run("CREATE TABLE kept AS SELECT 1 AS n", "CREATE SEQUENCE numbers")
    with pytest.raises(SourceError):
        ss.scan_table(postgresql.url, query="DELETE FROM kept RETURNING n").to_arrow()
    next_number = ss.scan_table(postgresql.url, query="SELECT nextval('numbers') FROM kept")
    for read in (next_number.to_arrow, next_number.count):
        with pytest.raises(SourceError, match="read-only transaction"):
            read()
    assert postgresql.ask("SELECT count(*) FROM kept") == [(1,)]
