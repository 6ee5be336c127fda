"""Columns that a reader brings: their order, missing, extra and late ones. Numbers are those of the parity list."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from splitscan.errors import SchemaError
from splitscan.reading.framework import Origin

from .scripted import A, Scripted, load, operator, plan_of, rows, shown_by

# ------------------------------------------- columns: order, missing, extra


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b"], (1, "x")), (["b", "a"], ("x", 1)), (["b"], ("x",)), (["A"], (1,)),
        (["a", "zz"], (1, None)), (["zz"], (None,)), ([], ()),
    ],
)  # fmt: skip
def test_projections(names: list[str], expected: tuple[Any, ...]) -> None:  # parity 18, 20, 66
    kinds = {"a": pa.int64(), "b": pa.string()}
    schema = pa.schema([(name, kinds.get(name.lower(), pa.float64())) for name in names])
    scan = operator(Scripted({"a": [1], "b": ["x"]}), schema)
    batches = list(scan)
    assert sum(batch.num_rows for batch in batches) == 1
    assert all(batch.schema == schema for batch in batches)
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == [expected]


def test_missing_columns_have_their_default_or_null() -> None:  # parity 34, 35, 36, 37, 60
    kinds: list[Any] = [pa.int32(), pa.string(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC")]
    kinds += [pa.decimal128(10, 2), pa.binary(), pa.list_(pa.int64()), pa.struct([("x", pa.int64())])]
    schema = pa.schema([("a", pa.int64()), *((f"c{i}", kind) for i, kind in enumerate(kinds))])
    defaults = {"C0": pa.scalar(7), "c1": pa.scalar("-"), "c2": pa.scalar(1), "c8": pa.scalar([1])}
    (row,), _ = load({"a": [1]}, schema=schema, defaults=defaults)
    assert tuple(row.values()) == (1, 7, "-", 1.0, None, None, None, None, None, [1], None)


def test_a_missing_column_that_must_be_there_is_an_error() -> None:  # parity 35, 38, 60
    schema = pa.schema([("a", pa.int64()), pa.field("b", pa.string(), nullable=False)])
    with pytest.raises(SchemaError, match="null-in-not-null") as caught:
        load({"a": [1]}, schema=schema)
    assert "column 'b'" in str(caught.value)
    assert load({"a": [1]}, schema=schema, defaults={"b": pa.scalar("-")})[0] == [{"a": 1, "b": "-"}]
    assert load({"a": [1, 2], "b": ["x", None]}, schema=schema, defaults={"b": pa.scalar("-")})[0][1]["b"] == "-"


def test_a_null_where_there_must_be_none_names_its_row() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    with pytest.raises(SchemaError) as caught:
        load(
            {"a": list(range(1500))},
            lambda loader: loader.append({"a": [1, 2, None]}, origin=Origin([5, 6, 9])),
            schema=schema,
        )
    assert "byte 9, row 1502, column 'a'" in str(caught.value)
    inner = pa.struct([pa.field("x", pa.list_(pa.field("item", pa.int64(), nullable=False)))])
    data = pa.array([None, {"x": None}, {"x": [1]}, {"x": [1, None]}], pa.struct([("x", pa.list_(pa.int64()))]))
    with pytest.raises(SchemaError, match="row 3, column 's'"):
        load({"s": data}, schema=pa.schema([("s", inner)]))


def test_columns_that_nobody_wants_are_not_looked_at() -> None:  # parity 109
    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    assert load({"a": [1, 2], "c": [Untouchable(), 2]}, schema=A)[0] == [{"a": 1}, {"a": 2}]


def test_names_that_differ_only_in_case() -> None:  # parity 68
    data = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "A"])
    assert load(data, schema=A)[0] == [{"a": 1}]  # the exact name wins
    with pytest.raises(SchemaError, match="duplicate-column"):
        load(data)
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["A", "A"])
    with pytest.raises(SchemaError, match="duplicate-column"):
        load(twice, schema=A)
    with pytest.raises(SchemaError, match="duplicate-column"):
        load(declared=pa.schema([("x", pa.int64()), ("X", pa.int64())]), schema=A)


def test_constants_go_before_what_a_reader_brings() -> None:  # parity 86, 88
    from splitscan.reading.framework import OutputPlan, ScanOperator

    schema = pa.schema([("file_name", pa.string()), ("a", pa.int64())])
    reader = Scripted({"a": [1, 2], "FILE_NAME": [3, 4]})
    plan = plan_of(reader, file_name=pa.scalar("x.log"))
    assert rows(ScanOperator(OutputPlan(schema), plan)) == [
        {"file_name": "x.log", "a": 1}, {"file_name": "x.log", "a": 2},
    ]  # fmt: skip
    assert reader.negotiator.projection == ("a",)


def test_an_exact_batch_is_passed_as_it_is() -> None:
    batch = pa.record_batch({"a": list(range(2000))}, schema=A)
    (found,) = list(operator(Scripted(batch), A))
    assert found.column(0).buffers()[1].address == batch.column(0).buffers()[1].address


# ----------------------------------------------------------- late columns


def test_a_late_column_fills_earlier_rows() -> None:  # parity 69
    assert load({"a": [1]}, {"a": [2], "b": ["x"]}, {"b": ["y"]})[0] == [
        {"a": 1, "b": None}, {"a": 2, "b": "x"}, {"a": None, "b": "y"},
    ]  # fmt: skip
    found, _ = load({"a": [1]}, lambda loader: loader.add_column(pa.field("b", pa.int8(), nullable=False)), {"b": [2]},
                    defaults={"b": pa.scalar(0)})  # fmt: skip
    assert found == [{"a": 1, "b": 0}, {"a": None, "b": 2}]


def test_columns_may_be_added_before_the_first_rows() -> None:  # parity 69
    def add(negotiator: Any) -> bool:
        loader = negotiator.build()
        assert [loader.add_column(pa.field(name, pa.int64())) for name in "xy"] == [0, 1]
        with pytest.raises(SchemaError):
            loader.add_column(pa.field("X", pa.int64()))
        return True

    with pytest.raises(SchemaError, match="duplicate-column"):  # also when the reader catches it
        rows(operator(Scripted(opens=add)))
    assert shown_by(Scripted(opens=lambda n: n.build().add_column(pa.field("x", pa.int64())) == 0)).names == ["x"]
    found, _ = load(lambda loader: loader.add_column(pa.field("zz", pa.int64())) and None, {"a": [1]}, schema=A)
    assert found == [{"a": 1}]
