"""Structs, lists and maps through the loader: every depth, every batch size. Numbers are those of the parity list."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from splitscan.errors import RecordError, SchemaError

from .scripted import Scripted, load, operator, rows

KIB = 1024
POINT = pa.struct([("x", pa.int64()), ("y", pa.string())])
KINDS = {
    "scalar": pa.int64(),
    "array": pa.list_(pa.int64()),
    "map": POINT,
    "map array": pa.list_(POINT),
}
NESTED = pa.schema([
    ("id", pa.int64()), ("t", pa.string()), ("l", pa.list_(pa.int64())), ("ll", pa.list_(pa.list_(pa.string()))),
    ("lll", pa.list_(pa.list_(pa.list_(pa.int8())))), ("m", POINT), ("lm", pa.list_(POINT)),
    ("deep", pa.list_(pa.struct([("n", pa.list_(POINT))]))), ("d", pa.map_(pa.string(), pa.list_(pa.int64()))),
])  # fmt: skip
POINTS = st.none() | st.fixed_dictionaries({"x": st.none() | st.integers(0, 9), "y": st.none() | st.text(max_size=30)})
ROWS = st.fixed_dictionaries({
    "t": st.none() | st.text(max_size=60),
    "l": st.none() | st.lists(st.none() | st.integers(0, 9), max_size=20),
    "ll": st.none() | st.lists(st.none() | st.lists(st.text(max_size=9), max_size=4), max_size=4),
    "lll": st.none() | st.lists(st.lists(st.none() | st.lists(st.integers(0, 9), max_size=3), max_size=3), max_size=3),
    "m": POINTS,
    "lm": st.none() | st.lists(POINTS, max_size=6),
    "deep": st.none() | st.lists(st.none() | st.fixed_dictionaries({"n": st.lists(POINTS, max_size=3)}), max_size=3),
    "d": st.none() | st.lists(st.tuples(st.text(max_size=3), st.lists(st.integers(0, 9), max_size=3)), max_size=3),
})  # fmt: skip


def batch_of(given: list[dict[str, Any]], start: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": start + i, **row} for i, row in enumerate(given)], schema=NESTED)


@settings(max_examples=settings().max_examples // 4)
@given(st.lists(st.lists(ROWS, max_size=12), max_size=6), st.integers(64, 4000), st.booleans())
def test_nested_values_come_whole_whatever_the_size_of_batches(  # parity 72, 75, 79, 80
    appends: list[list[dict[str, Any]]], nbytes: int, narrow: bool
) -> None:
    starts = [sum(map(len, appends[:i])) for i in range(len(appends))]
    data = [batch_of(some, start) for some, start in zip(appends, starts, strict=True)]
    schema = NESTED
    if narrow:  # members and columns that are left out at every depth
        inner = pa.struct([("y", pa.string())])
        deep = pa.list_(pa.struct([("n", pa.list_(inner))]))
        schema = pa.schema([("deep", deep), ("lm", pa.list_(inner)), ("id", pa.int64()), NESTED.field("d")])
    batches = list(operator(Scripted(*data), schema, batch_bytes=nbytes))
    found = [row for batch in batches for row in batch.to_pylist()]
    assert [row["id"] for row in found] == list(range(sum(map(len, appends))))
    assert all(batch.num_rows == 1 or batch.nbytes <= nbytes for batch in batches)
    expected = [row for batch in data for row in batch.to_pylist()]
    if not narrow:
        assert found == expected
        return
    for row, whole in zip(found, expected, strict=True):
        assert row["d"] == whole["d"]
        assert row["lm"] == (whole["lm"] and [each and {"y": each["y"]} for each in whole["lm"]])
        if whole["deep"]:
            assert [each and [p and p["y"] for p in each["n"]] for each in row["deep"]] == [
                each and [p and p["y"] for p in each["n"]] for each in whole["deep"]
            ]


@pytest.mark.parametrize("wide_row", [0, 1, 20, 39])
def test_a_row_that_fills_a_batch_may_come_first_last_or_between(wide_row: int) -> None:  # parity 72
    lists = [None if i % 3 else [i] for i in range(40)]
    lists[wide_row] = list(range(3000))
    texts = [None if i % 2 else "x" * 50 for i in range(40)]
    scan = operator(
        Scripted({"l": pa.array(lists), "t": pa.array(texts)}),
        pa.schema([("t", pa.string()), ("l", pa.list_(pa.int64()))]),
        batch_bytes=KIB,
    )
    batches = list(scan)
    assert [row for batch in batches for row in batch.to_pylist()] == [
        {"t": text, "l": numbers} for text, numbers in zip(texts, lists, strict=True)
    ]
    assert [batch.num_rows for batch in batches if batch.nbytes > KIB] == [1]


def test_an_array_that_no_batch_can_hold_names_its_place() -> None:  # parity 71
    data = {"l": pa.array([[1], list(range(9000)), [2]])}
    with pytest.raises(RecordError, match="row-too-large") as caught:
        load(data, schema=pa.schema([("l", pa.list_(pa.int64()))]), largest_batch_bytes=40_000)
    assert "row 1, column 'l'" in str(caught.value)


def test_columns_that_are_left_out_are_null_or_their_default_in_every_batch() -> None:  # parity 73
    schema = pa.schema([("a", pa.int64()), ("l", pa.list_(pa.int64())), ("n", pa.string())])
    wide = {"a": pa.array(range(100)), "l": pa.array([[i] * 20 for i in range(100)])}
    scan = operator(
        Scripted({"a": pa.array([-1])}, wide, {"l": pa.array([[7]])}, {"n": ["x"]}),
        schema,
        batch_bytes=KIB,
        defaults={"n": pa.scalar("-")},
    )
    batches = list(scan)
    assert len(batches) > 10
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert found[0] == (-1, None, "-")
    assert found[1:101] == [(i, [i] * 20, "-") for i in range(100)]
    assert found[101:] == [(None, [7], "-"), (None, None, "x")]


def test_a_column_that_comes_with_the_row_that_fills_a_batch() -> None:  # parity 74, 78
    many = {"a": pa.array(range(100)), "m": pa.array([{"x": i} for i in range(100)])}
    more = {"a": pa.array([100]), "m": pa.array([{"x": 100, "y": "late"}]), "b": ["new"]}
    batches = list(operator(Scripted(many, more), None, batch_bytes=KIB))
    assert len(batches) > 1
    assert sum(batch.num_rows for batch in batches) == 101
    assert batches[0].to_pylist()[0] == {"a": 0, "m": {"x": 0, "y": None}, "b": None}
    assert batches[-1].to_pylist()[-1] == {"a": 100, "m": {"x": 100, "y": "late"}, "b": "new"}


# ------------------------------------------------------------ shapes that differ


@pytest.mark.parametrize("wanted", KINDS)
@pytest.mark.parametrize("brought", KINDS)
def test_kinds_that_have_nothing_in_common_are_an_error_naming_both(brought: str, wanted: str) -> None:  # parity 48, 76
    data = {"v": pa.array([None], KINDS[brought])}
    schema = pa.schema([("v", KINDS[wanted])])
    if brought == wanted:
        assert load(data, schema=schema)[0] == [{"v": None}]
        return
    for declared in (None, pa.schema([("v", KINDS[brought])])):
        with pytest.raises(SchemaError, match="type-conflict") as caught:
            load(data, schema=schema, declared=declared)
        assert f"v {KINDS[brought]}; the wanted column: v {KINDS[wanted]}" in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2], [[1], None], [[[1]], []], [{"x": 1}, None], [{"x": {"y": 2}}, {}], [[{"x": 1}], []],
        [[[{"x": 1}]], None],
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    ],
    ids=["scalar", "list", "2-D list", "map", "map of maps", "map array", "2-D map array", "dictionary"],
)  # fmt: skip
def test_what_nobody_wants_may_have_any_shape(values: Any) -> None:  # parity 77
    reader = Scripted({"v": pa.array(values), "a": [1, 2]}, {"v": values, "a": [3, 4]})
    assert rows(operator(reader, pa.schema([("a", pa.int64())]))) == [{"a": n} for n in (1, 2, 3, 4)]
    assert not reader.loader.is_projected("v")


def test_members_are_matched_by_name_filled_and_left_out_at_every_depth() -> None:  # parity 39, 78
    brought = pa.struct([("Y", pa.string()), ("x", pa.int32()), ("z", pa.bool_())])
    data = {
        "m": pa.array([{"Y": "a", "x": 1, "z": True}, None], brought),
        "lm": pa.array([[{"Y": "b"}, None], None], pa.list_(brought)),
        "mm": pa.array([{"in": {"x": 5}}, {"in": None}], pa.struct([("in", brought)])),
        "empty": pa.array([{"x": 1}, None], pa.struct([("x", pa.int32())])),
        "more": pa.array([{}, None], pa.struct([])),
    }
    added = pa.struct([("x", pa.int64()), ("new", pa.date32()), ("y", pa.string())])
    schema = pa.schema([
        ("m", added), ("lm", pa.list_(added)), ("mm", pa.struct([("in", added), ("other", POINT)])),
        ("empty", pa.struct([])), ("more", POINT), ("none", added), ("nones", pa.list_(added)),
    ])  # fmt: skip
    point = {"x": 1, "new": None, "y": "a"}
    assert load(data, schema=schema)[0] == [
        {"m": point, "lm": [{"x": None, "new": None, "y": "b"}, None],
         "mm": {"in": {"x": 5, "new": None, "y": None}, "other": None}, "empty": {}, "more": {"x": None, "y": None},
         "none": None, "nones": None},
        {"m": None, "lm": None, "mm": {"in": None, "other": None}, "empty": None, "more": None, "none": None,
         "nones": None},
    ]  # fmt: skip


def test_members_of_the_same_name_in_two_structs_are_two() -> None:  # parity 78
    kind = pa.struct([("a", pa.int64()), ("m", pa.struct([("a", pa.string())]))])
    data = {"a": [1.5], "m": pa.array([{"a": 2, "m": {"a": "x"}}], kind)}
    assert load(data)[0] == [{"a": 1.5, "m": {"a": 2, "m": {"a": "x"}}}]


def test_a_null_deep_inside_where_there_must_be_none_is_an_error() -> None:  # parity 76, 78
    strict = pa.struct([pa.field("x", pa.int64(), nullable=False), ("y", pa.string())])
    schema = pa.schema([("l", pa.list_(pa.struct([("m", strict)])))])
    whole = {"l": pa.array([[{"m": {"x": 1}}, {"m": None}], None, []])}
    assert load(whole, schema=schema)[0][0] == {"l": [{"m": {"x": 1, "y": None}}, {"m": None}]}
    with pytest.raises(SchemaError, match="null-in-not-null"):
        load({"l": pa.array([[{"m": {"x": 1}}, {"m": {"x": None}}]])}, schema=schema)
    with pytest.raises(SchemaError, match="null-in-not-null"):
        load({"l": pa.array([[{"m": {"y": "x is missing"}}]])}, schema=schema)


def test_structs_get_the_members_of_all_where_columns_are_open() -> None:  # parity 78
    steps = [{"m": [{"x": 1}]}, {"m": pa.array([{"X": 2.5, "y": "q"}, None])}, {"m": [{"n": {"p": 1}}]}]
    steps += [{"m": pa.array([{"z": True, "n": {"q": 2}}])}, {"m": [{"x": "3"}]}]
    none = dict.fromkeys("xynz")
    assert rows(operator(Scripted(*steps))) == [
        {"m": {**none, "x": 1.0}}, {"m": {**none, "x": 2.5, "y": "q"}}, {"m": None},
        {"m": {**none, "n": {"p": 1, "q": None}}}, {"m": {**none, "n": {"p": None, "q": 2}, "z": True}},
        {"m": {**none, "x": 3.0}},
    ]  # fmt: skip
    lists = operator(Scripted({"l": [[{"x": 1}]]}, {"l": [[]]}, {"l": [[{"y": [2.5]}, {"x": 2}]]}, {"l": [None]}))
    assert rows(lists) == [
        {"l": [{"x": 1, "y": None}]}, {"l": []}, {"l": [{"x": None, "y": [2.5]}, {"x": 2, "y": None}]}, {"l": None},
    ]  # fmt: skip


def test_lists_keep_their_dimensions() -> None:  # parity 79
    for depth in (1, 2, 3):
        value: Any = 1
        kind: pa.DataType = pa.int64()
        for _ in range(depth):
            value, kind = [value], pa.list_(kind)
        assert load({"v": [value, None, []]}, schema=pa.schema([("v", kind)]))[0] == [
            {"v": value}, {"v": None}, {"v": []},
        ]  # fmt: skip
        assert load({"v": [value]})[0] == [{"v": value}]
        with pytest.raises(SchemaError, match="type-conflict"):
            load({"v": pa.array([value])}, schema=pa.schema([("v", pa.list_(kind))]))


def test_a_union_is_no_type_of_a_column() -> None:  # parity 79
    either = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    with pytest.raises(SchemaError, match="type-conflict"):
        load({"u": either}, schema=pa.schema([("u", pa.string())]))


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (POINT, {"X": 1, "Y": "a"}, {"x": 1, "y": "a"}),
        (pa.list_(POINT), [{"X": 1}, None, {"y": "b"}], [{"x": 1, "y": None}, None, {"x": None, "y": "b"}]),
        (pa.struct([("p", POINT)]), {"P": {"X": 1}}, {"p": {"x": 1, "y": None}}),
        (pa.map_(pa.string(), POINT), {"k": {"X": 1}}, [("k", {"x": 1, "y": None})]),
        (pa.map_(pa.string(), POINT), [("K", {"Y": "a"})], [("K", {"x": None, "y": "a"})]),
        (pa.struct([("x", pa.int64()), ("X", pa.int64())]), {"X": 1, "x": 2}, {"x": 2, "X": 1}),
        (POINT, (1, "a"), {"x": 1, "y": "a"}),
    ],
)
def test_members_of_python_values_are_found_without_regard_to_case(
    kind: pa.DataType, given: Any, expected: Any
) -> None:
    found, rejects = load(lambda loader: loader.append({"m": [given]}), schema=pa.schema([("m", kind)]))

    assert found == [{"m": expected}]
    assert rejects == []


def test_members_that_could_both_be_meant_are_an_error() -> None:
    schema = pa.schema([("m", pa.struct([("name", pa.string())]))])

    with pytest.raises(SchemaError, match="duplicate-column"):
        load(lambda loader: loader.append_rows([{"m": {"Name": "a", "NAME": "b"}}]), schema=schema)
