"""Columns of readers against columns that are wanted: names, order, nested types, missing parts. Parity numbers."""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from splitscan.errors import RecordError, SchemaError
from splitscan.options import Mode
from splitscan.reading.framework import Origin
from splitscan.reading.framework.conform import can_cast, cast_column

from .scripted import AB, A, Scripted, load, operator, rows, shown_by

POINT = pa.struct([("x", pa.int64()), ("y", pa.string())])


# ------------------------------------------------- columns that a reader shows


def test_the_first_spelling_and_the_first_order_stay() -> None:  # parity 26, 29
    assert shown_by(Scripted({"a": [1], "b": ["x"]}, {"B": ["y"], "A": [2]})) == AB


def test_columns_that_come_and_go() -> None:  # parity 22, 24, 28, 32
    steps = [{"a": [1], "b": ["x"]}, {"a": [2]}, {"c": [1.5]}]
    assert shown_by(Scripted(*steps)).names == ["a", "b", "c"]
    assert rows(operator(Scripted(*steps))) == [
        {"a": 1, "b": "x", "c": None}, {"a": 2, "b": None, "c": None}, {"a": None, "b": None, "c": 1.5},
    ]  # fmt: skip


def test_numbers_become_wider_and_nulls_take_any_type() -> None:  # parity 23
    assert rows(operator(Scripted({"a": [None], "n": [1]}, {"a": [[1]], "n": [1.5]}))) == [
        {"a": None, "n": 1.0}, {"a": [1], "n": 1.5}
    ]  # fmt: skip


def test_a_column_keeps_its_first_type() -> None:  # parity 25, 27, 30
    assert rows(operator(Scripted({"a": [True]}, {"a": ["false"]}))) == [{"a": True}, {"a": False}]
    with pytest.raises(SchemaError, match="type-conflict") as caught:
        rows(operator(Scripted({"a": [1]}, {"a": pa.array([[2]])})))
    assert "list<item: int64>" in str(caught.value)
    assert "a int64" in str(caught.value)


def test_every_column_that_is_shown_may_be_null() -> None:  # parity 25, 30, 33
    assert shown_by(Scripted({"a": [1]}, schema=pa.schema([pa.field("a", pa.int64(), nullable=False)]))) == A


def test_a_selection_in_explicit_order_over_data_in_other_orders() -> None:  # parity 26, 28
    wanted = pa.schema([AB.field("b"), AB.field("a")])
    data: list[dict[str, Any]] = [{"a": [1], "b": ["x"]}, {"b": ["y"], "a": [2]}, {"a": [3]}, {"a": [4], "b": ["z"]}]
    found = rows(operator(Scripted(*data), wanted))
    assert [tuple(row.values()) for row in found] == [("x", 1), ("y", 2), (None, 3), ("z", 4)]


def test_a_list_that_is_missing_is_null_or_its_default() -> None:  # parity 34, 35
    schema = pa.schema([("a", pa.int64()), ("l", pa.list_(pa.int64()))])
    assert load({"a": [1]}, schema=schema)[0] == [{"a": 1, "l": None}]
    assert load({"a": [1]}, schema=schema, defaults={"l": pa.scalar([], pa.list_(pa.int64()))})[0] == [
        {"a": 1, "l": []}
    ]


# ---------------------------------------------------------- provided schema


def test_converted_typed_defaulted_and_missing_columns_together() -> None:  # parity 41, 45
    schema = pa.schema([("n", pa.int32()), ("t", pa.string()), ("d", pa.date32()), ("z", pa.float64())])
    data = {"T": [7, 8], "N": ["1", "2"], "other": [1, 2]}
    found, rejects = load(data, schema=schema, defaults={"d": pa.scalar(datetime.date(2020, 1, 1))})
    day = datetime.date(2020, 1, 1)
    assert [tuple(row.values()) for row in found] == [(1, "7", day, None), (2, "8", day, None)]
    assert rejects == []


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b", "c"], ["c"]])
def test_a_provided_schema_may_have_fewer_or_more_columns(names: list[str]) -> None:  # parity 45, 50
    schema = pa.schema([(name, pa.string()) for name in names])
    row = {"a": "1", "b": "x"}
    assert load({"a": [1], "b": ["x"]}, schema=schema)[0] == [{name: row.get(name) for name in names}]


ODD = [pa.array([1]), pa.array([[1]]), pa.array(["x"]), pa.array([[("k", 1)]], pa.map_("string", "int64"))]


@pytest.mark.parametrize("odd", ODD, ids=["number", "list", "text", "map"])
def test_kinds_that_do_not_fit_are_conflicts(odd: pa.Array) -> None:  # parity 44, 48, 65, 76
    with pytest.raises(SchemaError, match="type-conflict") as caught:
        load({"s": odd}, schema=pa.schema([("s", POINT)]))
    assert "the wanted column: s struct<x: int64, y: string>" in str(caught.value)
    with pytest.raises(SchemaError, match="type-conflict"):
        load({"s": pa.array([{"x": 1}])}, schema=pa.schema([("s", odd.type)]))


# ------------------------------------------------------------------- nested


def test_members_are_matched_by_name_pruned_and_filled() -> None:  # parity 39, 40, 49, 67, 78
    wanted = pa.struct([("Y", pa.string()), ("n", pa.struct([("p", pa.int8()), ("q", pa.list_(POINT))]))])
    data = [
        {"x": 1, "y": "a", "n": {"q": [{"x": "1", "z": 0}, None], "p": 2}},
        {"x": 2, "y": None, "n": None},
        None,
        {"y": "d", "n": {"p": None, "q": []}},
    ]
    for array in (
        pa.array(data),
        pa.concat_arrays([pa.array(data)] * 2).slice(4),
        pa.array([*data, *data]).slice(4, 4),
    ):
        found, rejects = load({"s": array}, schema=pa.schema([("s", wanted)]))
        assert [row["s"] for row in found] == [
            {"Y": "a", "n": {"p": 2, "q": [{"x": 1, "y": None}, None]}},
            {"Y": None, "n": None},
            None,
            {"Y": "d", "n": {"p": None, "q": []}},
        ]
        assert rejects == []


def test_a_bad_value_deep_inside_makes_its_column_null() -> None:  # parity 72, 79
    array = pa.array([[[{"x": "1"}], []], [[{"x": "?"}]], None, [None, [None]]])
    kind = pa.list_(pa.list_(pa.struct([("x", pa.int64())])))
    found, (reject,) = load(
        lambda loader: loader.append({"v": array}, origin=Origin([0, 10, 20, 30])), schema=pa.schema([("v", kind)])
    )
    assert [row["v"] for row in found] == [[[{"x": 1}], []], None, None, [None, [None]]]
    assert (reject.offset, reject.code) == (10, "bad-value")


def test_nested_columns_are_cut_into_batches_whole() -> None:  # parity 75, 80
    data = [[{"x": i, "y": "t" * (i % 50)}] * (i % 7) for i in range(3000)]
    kind = pa.list_(POINT)
    scan = operator(Scripted({"v": pa.array(data, kind)}), pa.schema([("v", kind)]), batch_bytes=10_000, batch_rows=500)
    batches = list(scan)
    assert [row for batch in batches for row in batch.column(0).to_pylist()] == data
    assert all(batch.nbytes <= 10_000 and batch.num_rows <= 500 for batch in batches)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s", True),
        ("S.x", True),
        ("s.y", True),
        ("s.z", False),
        ("l.x", True),
        ("l.q", False),
        ("a", False),
        ("s.x.y", False),
    ],
)
def test_a_reader_may_ask_what_is_projected(path: str, expected: bool) -> None:  # parity 63, 64, 77
    seen: list[bool] = []
    schema = pa.schema([("s", POINT), ("l", pa.list_(POINT))])
    load(lambda loader: seen.append(loader.is_projected(path)), schema=schema)
    assert seen == [expected]
    load(lambda loader: seen.append(loader.is_projected(path)))
    assert seen[1] is True


# --------------------------------------------------------------- conversion


@pytest.mark.parametrize("blank", ["", " ", "\t "])
def test_a_blank_text_is_a_missing_value(blank: str) -> None:  # parity 58, 61
    schema = pa.schema([("n", pa.int32()), ("t", pa.string())])
    assert load({"n": ["1", blank], "t": ["x", blank]}, schema=schema)[0][1] == {"n": None, "t": blank}
    required = pa.schema([pa.field("n", pa.int32(), nullable=False)])
    assert load({"n": ["1", blank]}, schema=required, defaults={"n": pa.scalar(-1)})[0] == [{"n": 1}, {"n": -1}]
    with pytest.raises(SchemaError, match="null-in-not-null"):
        load({"n": ["1", blank]}, schema=required)


def test_a_bad_value_takes_no_default() -> None:  # parity 36, 58
    required = pa.schema([pa.field("n", pa.int32(), nullable=False)])
    with pytest.raises(SchemaError, match="null-in-not-null") as caught:
        load({"n": ["1", "x"]}, schema=required, defaults={"n": pa.scalar(-1)})
    assert "'x' is no int32" in str(caught.value)


KINDS: dict[str, tuple[pa.DataType, Any]] = {
    "bool": (pa.bool_(), True),
    "int8": (pa.int8(), 1),
    "int64": (pa.int64(), 1),
    "float": (pa.float64(), 1.0),
    "decimal": (pa.decimal128(10, 2), Decimal("1.00")),
    "string": (pa.string(), "1"),
    "binary": (pa.binary(), b"1"),
    "date": (pa.date32(), datetime.date(2020, 1, 1)),
    "timestamp": (pa.timestamp("us"), datetime.datetime(2020, 1, 1)),
}
CASTS = {  # parity 59: from -> to, beside itself
    "bool": "int8 int64 float string",
    "int8": "bool int64 float decimal string",
    "int64": "bool int8 float decimal string timestamp",
    "float": "bool int8 int64 decimal string",
    "decimal": "int8 int64 float string",
    "string": "bool int8 int64 float decimal binary date timestamp",
    "binary": "string",
    "date": "string timestamp",
    "timestamp": "int64 string date",
}


@pytest.mark.parametrize(("source", "target"), list(itertools.product(KINDS, KINDS)))
def test_the_table_of_casts(source: str, target: str) -> None:  # parity 59
    kind, value = KINDS[source]
    allowed = target == source or target in CASTS[source].split()
    assert can_cast(kind, KINDS[target][0]) is allowed
    if allowed and source not in {"string", "bool"} and "bool" not in target:
        column, bad = cast_column(pa.array([value, None], kind), KINDS[target][0])
        assert bad is None
        assert column.type == KINDS[target][0]
        assert column.null_count == 1


def test_texts_go_there_and_back() -> None:  # parity 52, 55, 56, 57
    for kind, texts in (
        (pa.int16(), ["-32768", "32767"]),
        (pa.float32(), ["1.5", "-2"]),
        (pa.decimal128(5, 2), ["123.45", "-0.01"]),
        (pa.bool_(), ["true", "false"]),
        (pa.date32(), ["2020-02-29", "0001-01-01"]),
    ):
        column, bad = cast_column(pa.array(texts), kind)
        assert bad is None
        again, _ = cast_column(column, pa.string())
        assert again.to_pylist() == texts


def test_numbers_are_never_wrapped_cut_or_rounded() -> None:  # parity 53, 54
    for values, kind in (([2**31], pa.int32()), ([-1], pa.uint8()), ([0.5], pa.int64()), ([2**53 + 1], pa.float64())):
        column, bad = cast_column(pa.array(values), kind)
        assert column.to_pylist() == [None]
        assert bad is not None


def test_every_row_may_be_bad() -> None:
    values = [f"x{i}" for i in range(300)]
    found, rejects = load({"a": values}, schema=A)
    assert found == [{"a": None}] * 300
    assert [reject.raw.decode() for reject in rejects] == values
    assert load({"a": values}, schema=A, mode=Mode.DROPMALFORMED)[0] == []


# ------------------------------------------------------- python rows, again


def test_values_that_are_omitted_anywhere() -> None:  # parity 73
    given = [{"a": 1}, {"b": "x"}, {}, {"a": 2, "b": "y"}, {}]
    found, _ = load(lambda loader: loader.append_rows(given), lambda loader: loader.skip_rows(1), schema=AB)
    assert [tuple(row.values()) for row in found] == [
        (1, None),
        (None, "x"),
        (None, None),
        (2, "y"),
        (None, None),
        (None, None),
    ]
    found, _ = load(lambda loader: loader.append_rows(given), schema=AB, defaults={"b": pa.scalar("-")})
    assert [row["b"] for row in found] == ["-", "x", "-", "y", "-"]


def test_python_values_of_the_wrong_type_are_bad_values() -> None:  # parity 52, 61
    given = [(1, "x"), ("2", 3), ([4], None), ("five", {"b": 1})]
    found, rejects = load(lambda loader: loader.append_rows(given), schema=AB)
    assert [row["a"] for row in found] == [1, 2, None, None]
    assert found[1]["b"] == "3"
    assert [reject.raw for reject in rejects] == [b"[4]", b"five"]
    with pytest.raises(RecordError, match="row 2, column 'a'"):
        load(lambda loader: loader.append_rows(given), schema=AB, mode=Mode.FAILFAST)


def test_bad_values_are_counted_once_where_an_append_is_cut() -> None:  # parity 71
    given = [(1, "t" * 100), (2, "t" * 100), (["bad"], "t" * 100), (4, "t" * 100), (5, None, 6)]
    found, rejects = load(lambda loader: loader.append_rows(given), schema=AB, largest_batch_bytes=300)
    assert [row["a"] for row in found] == [1, 2, None, 4, 5]
    assert [reject.code for reject in rejects] == ["bad-value", "field-count"]


def test_rows_that_were_dropped_count_in_the_numbers_of_rows() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    with pytest.raises(SchemaError, match="row 2, column 'a'"):
        load({"a": ["x", "1"]}, {"a": [None]}, schema=schema, mode=Mode.DROPMALFORMED)


def test_the_origin_of_some_rows_of_an_append() -> None:
    origin = Origin(offset=[1, 2, 3], line=[7, 8, 9], base=10)
    assert origin.part(1).of(0) == origin.of(1) == (12, 8)
    assert origin.part(1).part(1).of(0) == (13, 9)
    assert origin.part(1).of(2) == (None, None)
    for place in (5, np.int64(5)):
        assert Origin(offset=place).part(2).of(0) == (None, None)
        assert Origin(offset=place).part(2).near(0) == Origin(offset=place).of(0) == (5, None)
    assert Origin().near(0) == (None, None)


def test_members_that_are_not_delivered_are_judged_too() -> None:
    whole = pa.schema([("a", pa.int64()), ("s", pa.struct([("x", pa.int64()), ("y", pa.int64())]))])
    values = [{"x": 1, "y": "2"}, {"x": 3, "y": "bad"}, None, {"x": 5, "y": None}]
    narrow = pa.struct([("x", pa.int64())])
    for data in ({"a": [1, 2, 3, 4], "s": pa.array(values)}, {"a": [1, 2, 3, 4], "s": values}):
        for schema in (whole, pa.schema([("s", narrow)]), pa.schema([whole.field("a")]), pa.schema([])):
            scan = operator(Scripted(data), schema, mode=Mode.DROPMALFORMED, validated=whole)
            batches = list(scan)
            assert sum(batch.num_rows for batch in batches) == 3
            if schema.names == ["s"]:
                assert batches[0].column(0).to_pylist() == [{"x": 1}, None, {"x": 5}]
        assert len(load(data, schema=pa.schema([("s", narrow)]), validated=whole)[0]) == 4
