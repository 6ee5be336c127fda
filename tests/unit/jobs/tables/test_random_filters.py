"""Random rows of every type in random files: an engine finds the same rows whether or not it skips files by bounds.

Each engine is its own oracle, for engines differ on how NaN compares.
"""

import random

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from pyiceberg.expressions import EqualTo, GreaterThan, IsNull, LessThanOrEqual

from .conftest import open_iceberg
from .test_statistics import CASES, INFINITE, is_nan, register, spelled

__all__ = ["register"]

FILTERS = 40
SIGNS = ["=", ">", "<=", "IS NULL"]


def random_files(chance, without):
    """Files whose columns have few values each, so that bounds of some exclude what others hold."""
    kinds = {name: kind for name, (kind, _) in CASES.items()}
    number = 0
    for _ in range(8):
        count = chance.randrange(1, 6)
        few = {name: [*chance.sample(values, min(2, len(values))), None] for name, (_, values) in CASES.items()}
        columns = {name: pa.array(chance.choices(few[name], k=count), kind) for name, kind in kinds.items()}
        nested = pa.StructArray.from_arrays([columns["text"], columns["exact"]], ["text", "exact"])
        ids = pa.array(range(number, number + count), pa.int64())
        number += count
        kept = {name: column for name, column in columns.items() if name not in without}
        yield pa.table({"id": ids, **kept, "nest": nested})


def by_pyarrow(rows, name, sign, value):
    column, scalar = ds.field(*name.split(".")), pa.scalar(value, CASES[name.rpartition(".")[2]][0])
    chosen = {
        "=": column == scalar, ">": column > scalar, "<=": column <= scalar, "IS NULL": column.is_null(),
    }  # fmt: skip
    return rows.to_table(filter=chosen[sign], columns=["id"])["id"].to_pylist()


def by_polars(rows, name, sign, value):
    top, *members = name.split(".")
    column = pl.col(top)
    for member in members:
        column = column.struct.field(member)
    chosen = {"=": column == value, ">": column > value, "<=": column <= value, "IS NULL": column.is_null()}
    return rows.filter(chosen[sign]).select("id").collect()["id"].to_list()


def by_duckdb(rows, name, sign, value):
    with duckdb.connect() as connection:
        connection.register("found", rows)
        condition = f'"{name}" IS NULL' if sign == "IS NULL" else f'"{name}" {sign} ?'
        condition = condition.replace(".", '"."')
        given = [] if sign == "IS NULL" else [value]
        return [row for (row,) in connection.execute(f"SELECT id FROM found WHERE {condition}", given).fetchall()]


def by_pyiceberg(table, name, sign, value):
    kinds = {"=": EqualTo, ">": GreaterThan, "<=": LessThanOrEqual}
    chosen = (
        IsNull(name)
        if sign == "IS NULL"
        else kinds[sign](name, spelled(pa.scalar(value, CASES[name.rpartition(".")[2]][0])))
    )
    return table.scan(row_filter=chosen, selected_fields=("id",)).to_arrow()["id"].to_pylist()


@pytest.mark.parametrize(
    ("seed", "without"),  # one column without a bound takes them from all of a file in Delta
    [
        pytest.param(17, set(), marks=pytest.mark.slow),
        pytest.param(4711, {"float", "double"}, marks=pytest.mark.slow),
        pytest.param(815, {"float", "double", "text"}, marks=pytest.mark.slow),
    ],
)
def test_the_same_rows_are_found_with_and_without_bounds(register, seed, without, monkeypatch):
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")  # the other planner is a package of its own
    chance = random.Random(seed)
    tables = list(random_files(chance, without))
    table_format, out = register(tables)
    everything = pa.concat_tables(tables)
    plain, frame = ds.dataset(everything), pl.from_arrow(everything).lazy()
    if table_format == "delta":
        delta = DeltaTable(out).to_pyarrow_dataset()
        pairs = [
            (by_pyarrow, delta, plain), (by_duckdb, delta, everything), (by_polars, pl.scan_delta(str(out)), frame),
        ]  # fmt: skip
    else:
        pairs = [(by_polars, pl.scan_iceberg(open_iceberg(out)), frame)]
    found_some = 0
    for _ in range(FILTERS):
        name = chance.choice([*(each for each in CASES if each not in without), "nest.text", "nest.exact"])
        sign, value = chance.choice(SIGNS), chance.choice(CASES[name.rpartition(".")[2]][1])
        for find, kept, bare in pairs:
            expected = sorted(find(bare, name, sign, value))
            assert sorted(find(kept, name, sign, value)) == expected, (find.__name__, name, sign, value)
            found_some += bool(expected)
        if table_format == "iceberg" and not is_nan(value) and not (name == "float" and value in INFINITE):
            expected = sorted(by_pyarrow(plain, name, sign, value))
            assert sorted(by_pyiceberg(open_iceberg(out), name, sign, value)) == expected, (name, sign, value)
    assert found_some > FILTERS / 4
