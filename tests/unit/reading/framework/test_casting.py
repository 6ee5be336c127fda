"""What becomes of values in other types. Numbers are those of the parity list."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from splitscan.errors import RecordError, SchemaError, UsageError
from splitscan.options import Mode
from splitscan.reading.framework.conform import cast_column

from .scripted import load

NUMBERS = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(10, 2),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_texts_become_numbers_by_index_and_by_name_and_numbers_texts(kind: str) -> None:  # parity 51, 52
    schema = pa.schema([("a", pa.string()), ("n", NUMBERS[kind])])
    for given in ([("x", "12"), ("y", " -7 ")], [{"N": "12", "a": "x"}, {"a": "y", "n": "-7"}]):
        found, rejects = load(lambda loader, g=given: loader.append_rows(g), schema=schema)
        assert ([(row["a"], row["n"]) for row in found], rejects) == ([("x", 12), ("y", -7)], [])
    back, _ = load({"n": pa.array([12, None], pa.int8()).cast(NUMBERS[kind])}, schema=pa.schema([("n", pa.string())]))
    expected = {"float": "12", "double": "12", "decimal": "12.00"}.get(kind, "12")
    assert [row["n"] for row in back] == [expected, None]


def test_of_a_long_name_of_a_column_only_so_much_is_shown() -> None:
    name = "n" * 100_000
    _, (reject,) = load({name: pa.array(["x"])}, schema=pa.schema([(name, pa.int8())]))
    assert reject.reason.startswith("column 'nnnnn")
    assert reject.reason.endswith("'x' is no int8")
    assert len(reject.reason) < 200


@pytest.mark.parametrize(
    ("kind", "least", "most"), [("int8", -128, 127), ("int16", -32768, 32767), ("int32", -(2**31), 2**31 - 1)]
)
def test_whole_numbers_are_never_wrapped(kind: str, least: int, most: int) -> None:  # parity 53
    values = pa.array([least - 1, least, most, most + 1], pa.int64())
    for given in (values, values.cast(pa.string()), values.cast(pa.float64())):
        found, rejects = load({"n": given}, schema=pa.schema([("n", NUMBERS[kind])]))
        assert [row["n"] for row in found] == [None, least, most, None]
        assert [reject.code for reject in rejects] == ["bad-value"] * 2
        with pytest.raises(RecordError, match=f"column 'n': .* is no {kind}"):
            load({"n": given}, schema=pa.schema([("n", NUMBERS[kind])]), mode=Mode.FAILFAST)


@pytest.mark.parametrize("value", [2.0**63, -(2.0**64), float("nan"), float("inf"), float("-inf"), 0.5, 1e300])
def test_fractions_that_no_whole_number_holds_are_refused(value: float) -> None:  # parity 54
    for kind in (pa.int32(), pa.int64()):
        column, bad = cast_column(pa.array([value, 3.0]), kind)
        assert (column.to_pylist(), bad is not None and bad.tolist()) == ([None, 3], [True, False])


SPELLINGS = {
    "true": True, "TRUE": True, "True": True, "tRuE": True,
    "false": False, "FALSE": False, "False": False, "fAlSe": False,
    "1": None, "0": None, "t": None, "f": None, "y": None, "yes": None, "no": None, "on": None, "off": None,
    "foo": None,
}  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_only_true_and_false_are_truth_values(text: str) -> None:  # parity 56
    column, bad = cast_column(pa.array([text]), pa.bool_())
    assert (column[0].as_py(), bad is None) == (SPELLINGS[text], SPELLINGS[text] is not None)


def test_truth_values_become_texts_and_numbers() -> None:  # parity 56
    values = pa.array([True, False, None])
    assert cast_column(values, pa.string())[0].to_pylist() == ["true", "false", None]
    assert cast_column(values, pa.int32())[0].to_pylist() == [1, 0, None]


DAY, NOON = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 12)


@pytest.mark.parametrize(
    ("kind", "texts", "value"),
    [
        (pa.date32(), ["2020-02-29", " 2020-02-29 "], DAY),
        (pa.timestamp("us"), ["2020-02-29 12:00:00", "2020-02-29T12:00", " 2020-02-29T12:00:00.0 "], NOON),
        (
            pa.timestamp("us", "UTC"),
            ["2020-02-29T12:00:00Z", " 2020-02-29 14:00+02:00"],
            NOON.replace(tzinfo=datetime.UTC),
        ),
    ],
    ids=str,
)
def test_texts_become_times_with_blanks_around_them_or_not(  # parity 55
    kind: pa.DataType, texts: list[str], value: Any
) -> None:
    column, bad = cast_column(pa.array(texts), kind)
    assert (column.to_pylist(), bad) == ([value] * len(texts), None)


def test_times_become_texts_that_are_read_again() -> None:  # parity 55
    for kind, value in ((pa.date32(), DAY), (pa.timestamp("us"), NOON)):
        text = cast_column(pa.array([value, None], kind), pa.string())[0]
        assert text[0].as_py().startswith("2020-02-29")
        assert cast_column(text, kind)[0].to_pylist() == [value, None]


def test_decimals_of_texts_are_rounded_and_others_are_not() -> None:  # parity 57
    kind = pa.decimal128(5, 2)
    for values, expected, bad in (
        (["1.005", "-1.005", "999.994", "999.995", "1e2"], ["1.01", "-1.01", "999.99", None, "100.00"], [3]),
        (pa.array([Decimal("1.00"), Decimal("1.005"), Decimal(1000)]), ["1.00", None, None], [1, 2]),
        (pa.array([100000, 5]), [None, "5.00"], [0]),
    ):
        column, mask = cast_column(pa.array(values), kind)
        assert column.to_pylist() == [value and Decimal(value) for value in expected]
        assert mask is not None
        assert mask.nonzero()[0].tolist() == bad


TEN = [
    (pa.int8(), 1), (pa.int16(), 1), (pa.int32(), 1), (pa.int64(), 1), (pa.float32(), 0.5), (pa.float64(), 0.5),
    (pa.bool_(), True), (pa.string(), "x"), (pa.decimal128(5, 1), Decimal("0.5")), (pa.date32(), DAY),
    (pa.timestamp("us", "UTC"), NOON.replace(tzinfo=datetime.UTC)), (pa.binary(), b"x"), (pa.list_(pa.int64()), [1]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "default"), TEN, ids=str)
def test_a_missing_column_of_every_type(kind: pa.DataType, default: Any) -> None:  # parity 35, 36, 60
    for nullable in (True, False):
        schema = pa.schema([("a", pa.int64()), pa.field("v", kind, nullable=nullable)])
        filled, _ = load({"a": [1]}, {"a": [2], "v": pa.nulls(1, kind)}, schema=schema,
                         defaults={"V": pa.scalar(default, kind)})  # fmt: skip
        assert [row["v"] for row in filled] == [default, None if nullable else default]
        if nullable:
            assert load({"a": [1]}, schema=schema)[0] == [{"a": 1, "v": None}]
        else:
            with pytest.raises(SchemaError, match="null-in-not-null"):
                load({"a": [1]}, schema=schema)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (pa.decimal128(4, 1), Decimal("123456.7")), (pa.decimal128(4, 1), Decimal("1.25")), (pa.date32(), "2021-02-30"),
        (pa.int8(), 300), (pa.int64(), "x"), (pa.list_(pa.int64()), "x"),
    ],
    ids=str,
)  # fmt: skip
def test_a_default_that_is_no_value_of_its_column_is_told_from_bad_data(kind: pa.DataType, default: Any) -> None:
    schema = pa.schema([("a", pa.int64()), pa.field("v", kind, nullable=False)])  # parity 57
    for data in ({"a": [1]}, {"a": [1], "v": pa.nulls(1, kind)}):
        with pytest.raises(UsageError, match=r"the default of column 'v' is no value of its type \[bad-default\]") as e:
            load(data, schema=schema, defaults={"v": pa.scalar(default)})
        assert f"the column: v {kind} NOT NULL" in str(e.value)


def test_defaults_of_small_whole_numbers_are_read() -> None:  # parity 36
    schema = pa.schema([("a", pa.int64()), ("b", pa.int8()), ("c", pa.int16()), ("d", pa.float32())])
    given = {"b": pa.scalar("7"), "c": pa.scalar("-7"), "d": pa.scalar("0.5")}
    assert load({"a": [1]}, schema=schema, defaults=given)[0] == [{"a": 1, "b": 7, "c": -7, "d": 0.5}]
