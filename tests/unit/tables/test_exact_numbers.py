"""Numbers of SQLite: whatever a column is declared as and asked as, a value is the database's own, or an error."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import SchemaError, SourceError
from splitscan.tables.columns import cast_exactly

VALUES = {
    "small": 7,
    "beyond doubles": 2**53 + 1,
    "least": -(2**63),
    "greatest": 2**63 - 1,
    "fraction": 2.5,
    "third": 1 / 3,
    "whole real": 3.0,
    "real beyond integers": 1e19,
    "infinite": float("inf"),
    "text": "abc",
    "number as text": "9007199254740993",
    "fraction as text": "2.5",
    "hexadecimal": "0x10",
    "no number": "nan",
    "blob of digits": b"12",
}
DECLARED = ["INTEGER", "BIGINT UNSIGNED", "NUMERIC", "NUMBER(19)", "DECIMAL(20,0)", "DECIMAL(10,2)", "REAL", "TEXT",
            "BLOB", "", "DATE", "DATETIME", "BOOLEAN"]  # fmt: skip
ASKED = [None, "int", "bigint", "decimal(20,0)", "decimal(38,18)", "double", "string"]


def is_same(value, own, text):
    """Whether a value that was read is the one that the database has."""
    if isinstance(own, float) and isinstance(value, (str, bytes, float)):
        return float(value) == own  # the driver's SQLite writes more digits than Python's
    if isinstance(value, str):
        return value == text
    if isinstance(value, bytes) or isinstance(own, bytes):
        return value == (own if isinstance(own, bytes) else text.encode())
    if own == "nan" or (isinstance(own, str) and isinstance(value, float)):
        return str(value) == str(float(own))
    return Fraction(value) == Fraction(own) or Fraction(value) == Fraction(repr(own))


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "nulls",
    [pytest.param(0, id="among the first"), pytest.param(9000, id="after the first batch", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("declared", DECLARED)
def test_every_value_under_every_declaration_and_asked_type_is_the_databases_own_or_an_error(database, declared, nulls):
    path = database(
        *(f"CREATE TABLE v{number} (n {declared})" for number in range(len(VALUES))),
        many=[
            (f"INSERT INTO v{number} VALUES (?)", [(None,)] * nulls + [(value,)])
            for number, value in enumerate(VALUES.values())
        ],
    )
    with closing(sqlite3.connect(path)) as connection:
        for number, name in enumerate(VALUES):
            own, text, kind = connection.execute(
                f"SELECT n, CAST(n AS TEXT), typeof(n) FROM v{number} WHERE n IS NOT NULL"
            ).fetchone()
            for asked in ASKED:
                value = read_one(path, f"v{number}", asked)
                if value is not None:
                    assert is_same(value, own, text), (name, asked, value, own)
                elif asked == "string" or (kind == "integer" and asked in {"bigint", "decimal(20,0)"}):
                    assert declared == "BLOB", (name, asked)


def read_one(path, table, asked):
    """The only value of a table; ``None`` if that is an error."""
    schema = {} if asked is None else {"schema": f"n {asked}"}
    scan = ss.scan_table(f"sqlite:///{path}", table, **schema)
    try:
        (value,) = scan.to_arrow()["n"].drop_null().to_pylist()
    except SchemaError as error:
        if error.reason_code not in {"table-value", "type-conflict"}:
            raise
        return None
    except SourceError as error:  # the driver itself refuses what is no number, after its first batch
        if error.reason_code != "database-failed":
            raise
        return None
    return value


@pytest.mark.parametrize(
    ("declared", "values", "kind"),
    [
        ("NUMERIC", [1, 2**53 + 1], pa.int64()),
        ("DECIMAL(10,2)", [1, 2], pa.float64()),  # prices, of which the first are whole
        ("DECIMAL(20,2)", [1, 2**53 + 1], pa.int64()),
        ("NUMERIC", [1, 1.5], pa.float64()),
        ("", [1, 1.5], pa.float64()),
        ("NUMERIC", [2**53 + 1, 1.5], pa.string()),  # neither holds both
        ("", [2**53 + 1, 1.5], pa.string()),
    ],
)
def test_the_type_of_a_column_holds_all_of_its_first_values(database, declared, values, kind):
    path = database(f"CREATE TABLE t (n {declared})", many=[("INSERT INTO t VALUES (?)", [(each,) for each in values])])
    column = ss.scan_table(f"sqlite:///{path}", "t").to_arrow()["n"]
    assert column.type == kind
    assert column.to_pylist() == [str(each) for each in values] if kind == pa.string() else values


def test_a_long_integer_beside_whole_reals_is_not_read_through_a_double(database):
    values = [1] * 2000 + [2.0, 2**53 + 1]
    path = database("CREATE TABLE t (n)", many=[("INSERT INTO t VALUES (?)", [(each,) for each in values])])
    for schema in ({}, {"schema": "n bigint"}, {"schema": "n decimal(20,0)"}):
        assert ss.scan_table(f"sqlite:///{path}", "t", **schema).to_arrow()["n"].to_pylist() == values


def test_a_value_that_does_not_fit_its_neighbours_is_named(database):
    path = database("CREATE TABLE t (n NUMERIC)", many=[("INSERT INTO t VALUES (?)", [(1,)] * 1500 + [("many",)])])
    with pytest.raises(SchemaError, match=r"table-value(?s:.)*column 'n'(?s:.)*many(?s:.)*declare it as string"):
        ss.scan_table(f"sqlite:///{path}", "t").to_arrow()
    assert ss.scan_table(f"sqlite:///{path}", "t", schema="n string").to_arrow()["n"].to_pylist()[-1] == "many"


def test_reals_as_decimals_keep_their_digits():
    reals = [0.1, 1e-7, -2.5, float(2**60), 1e19, None]
    column, bad = cast_exactly(pa.array(reals), pa.decimal128(38, 10))
    assert bad is None
    assert column.to_pylist()[:3] == [Decimal("0.1"), Decimal("1e-7"), Decimal("-2.5")]
    assert column.to_pylist()[3:] == [Decimal(2**60), Decimal(10**19), None]
    column, bad = cast_exactly(pa.array([0.125, float("nan"), 1e30, 1.0]), pa.decimal128(5, 2))
    assert (column.to_pylist(), bad.tolist()) == ([None, None, None, Decimal(1)], [True, True, True, False])


def test_a_number_that_must_be_there_and_is_not_is_an_error(database):
    path = database("CREATE TABLE t (n NUMERIC)", "INSERT INTO t VALUES (1), (NULL)")
    with pytest.raises(SchemaError, match="null-in-not-null"):
        ss.scan_table(f"sqlite:///{path}", "t", schema="n bigint not null").to_arrow()
