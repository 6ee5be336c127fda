"""Bounds that engines skip files by: each filter finds the rows that it finds where nothing is known of the files.

The values are those at which bounds go wrong: nulls, NaN, infinity, long texts and the last of the characters, moments
between two milliseconds, decimals of many digits, days before the epoch.
"""

import datetime as dt
import itertools
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, IsNaN, IsNull, LessThanOrEqual, Not

from splitscan.jobs import delta, iceberg
from splitscan.jobs.ledger import WrittenFile
from splitscan.jobs.settings import Partitioning, SchemaEvolution
from splitscan.jobs.table_format import CommitContext, CommitStamp, NewFile
from splitscan.jobs.workplace import open_destination_storage

from .conftest import open_iceberg

UTC = dt.UTC
MOMENTS = [
    dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(1970, 1, 1, 0, 0, 0, 1),
    dt.datetime(2024, 1, 2, 3, 4, 5, 678_901), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),
]  # fmt: skip
CASES = {
    "byte": (pa.int8(), [-128, 0, 127]),
    "short": (pa.int16(), [-(2**15), 0, 2**15 - 1]),
    "int": (pa.int32(), [-(2**31), 0, 2**31 - 1]),
    "long": (pa.int64(), [-(2**63), -(2**53) - 1, 2**53 + 1, 2**63 - 1]),
    "float": (pa.float32(), [float("-inf"), -0.0, 0.1, float("nan"), float("inf")]),
    "double": (pa.float64(), [float("-inf"), -1.5, 0.1, 1e300, float("nan"), float("inf")]),
    "text": (
        pa.string(),
        ["", "a" * 40, "a" * 31 + "b", "b" * 31 + "\U0010ffff" * 9, "\ud7ff" * 40, "\U00020000", "\U0010ffff" * 40],
    ),
    "bytes": (pa.binary(), [b"", b"\x00", b"\xff" * 40]),
    "flag": (pa.bool_(), [False, True]),
    "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]),
    "moment": (pa.timestamp("us", "UTC"), [moment.replace(tzinfo=UTC) for moment in MOMENTS]),
    "local": (pa.timestamp("us"), MOMENTS),
    "exact": (
        pa.decimal128(20, 2),
        [Decimal("-999999999999999999.99"), Decimal("0.01"), Decimal("123456789012345678.91")],
    ),
    "digits": (pa.decimal128(38, 10), [Decimal("-1234567890123456789012345678.0123456789"), Decimal("1e-10")]),
}  # fmt: skip


def files_of(kind, values):
    """One file for each value, one for each pair of neighbours, one with a null too, one of nulls, one for all."""
    pairs = [list(pair) for pair in itertools.pairwise(values)]
    for rows in [[value] for value in values] + pairs + [[values[0], None], [None], values]:
        yield pa.table({"value": pa.array(rows, kind)})


@pytest.fixture(params=["delta", pytest.param("iceberg", marks=pytest.mark.slow)])
def register(request, tmp_path):
    """Register files of one column as the commit of a job does; say how its rows are found by a filter."""

    def call(tables):
        module, schema = {"delta": delta, "iceberg": iceberg}[request.param], tables[0].schema
        table = module.make_destination(open_destination_storage(tmp_path / "out"))
        (tmp_path / "out").mkdir()
        planned, new = table.with_planned_ids(schema), []
        for number, rows in enumerate(tables):
            path = tmp_path / f"out/part-{number}.parquet"
            pq.write_table(pa.table(rows.columns, schema=planned), path, row_group_size=1)
            new.append(
                NewFile(WrittenFile(path.name, path.stat().st_size, rows.num_rows, "0" * 64), pq.read_metadata(path))
            )
        begun = CommitContext(
            planned, Partitioning((), table.keeps_partition_columns), SchemaEvolution.FAIL, is_new=True
        )
        first, others = new[: len(new) // 2], new[len(new) // 2 :]
        assert table.create_table(first, begun, CommitStamp(1, "job", "0" * 64))
        assert table.open_snapshot().try_append(others, begun, CommitStamp(2, "job", "0" * 64))
        return request.param, tmp_path / "out"

    return call


def find_delta(out, value):
    column = ds.field("value")
    table = DeltaTable(out).to_pyarrow_dataset()
    return [table.to_table(filter=each) for each in filters_of(column, value)]


def filters_of(column, value):
    if value is None:
        return [column.is_null(), ~column.is_null()]
    return [column == value, column >= value, column <= value, (column >= value) & (column <= value)]


def find_iceberg(out, value):
    table = open_iceberg(out)
    if value is None:
        chosen = [IsNull("value"), Not(IsNull("value"))]
    else:
        least, most = GreaterThanOrEqual("value", value), LessThanOrEqual("value", value)
        chosen = [EqualTo("value", value), least, most, And(least, most)]
    return [table.scan(row_filter=each).to_arrow() for each in chosen]


INFINITE = {float("inf"), float("-inf")}


def is_nan(value):
    return isinstance(value, float) and value != value  # noqa: PLR0124


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", CASES)
def test_every_filter_finds_the_rows_that_are_there(register, name):
    kind, values = CASES[name]
    tables = list(files_of(kind, values))
    table_format, out = register(tables)
    everything = ds.dataset(pa.concat_tables(tables))
    for value in [*values, None]:
        if is_nan(value) or (table_format == "iceberg" and name == "float" and value in INFINITE):
            continue  # pyiceberg takes infinity for a number that no float is as large as
        scalar = None if value is None else pa.scalar(value, kind)
        expected = [everything.to_table(filter=each) for each in filters_of(ds.field("value"), scalar)]
        found = find_delta(out, scalar) if table_format == "delta" else find_iceberg(out, spelled(scalar))
        counts = ([rows.num_rows for rows in some] for some in (found, expected))
        assert next(counts) == next(counts), value
    if table_format == "iceberg" and name in {"float", "double"}:
        found = open_iceberg(out).scan(row_filter=IsNaN("value")).to_arrow()
        assert found.num_rows == sum(pc.sum(pc.is_nan(each["value"])).as_py() or 0 for each in tables)


def spelled(scalar):
    """A value as a literal of pyiceberg."""
    value = None if scalar is None else scalar.as_py()
    return value.isoformat() if isinstance(value, (dt.date, dt.datetime)) else value
