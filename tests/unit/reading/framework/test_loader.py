"""What a loader takes and gives. Numbers are those of the parity list."""

from __future__ import annotations

import contextlib
import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from splitscan.errors import RecordError, SchemaError, UsageError
from splitscan.options import Mode
from splitscan.reading.framework import Origin

from .scripted import AB, A, Scripted, load, operator, rows, shown_by

MICROSECOND = datetime.datetime(1970, 1, 1, 0, 0, 0, 1)


# -------------------------------------------------------------- protocol


def calls_on(thing: Any) -> dict[str, Any]:
    return {
        "append": lambda: thing.append({"a": [1]}),
        "append_rows": lambda: thing.append_rows([{"a": 1}]),
        "skip_rows": lambda: thing.skip_rows(1),
        "reject": lambda: thing.reject(b"x", "bad"),
        "add_column": lambda: thing.add_column(pa.field("z", pa.int64())),
    }


@pytest.mark.parametrize("call", ["append", "append_rows", "skip_rows", "reject"])
def test_a_loader_takes_rows_inside_next_only(call: str) -> None:  # parity 68
    reader = Scripted(opens=lambda negotiator: calls_on(negotiator.build())[call]())
    with pytest.raises(UsageError, match=r"reader-broken.*\n.*reader scripted\n.*IDLE") as caught:
        rows(operator(reader))
    assert f"loader.{call}() must not be called now" in str(caught.value)


@pytest.mark.parametrize("call", ["append", "append_rows", "skip_rows", "reject", "add_column"])
def test_a_closed_loader_takes_nothing(call: str) -> None:  # parity 68
    reader = Scripted({"a": [1]})
    rows(operator(reader))
    with pytest.raises(UsageError, match="CLOSED"):
        calls_on(reader.loader)[call]()


@pytest.mark.parametrize("call", ["open_input", "open_source", "table_schema", "batch_hint", "context", "build"])
def test_a_negotiator_is_for_open_only(call: str) -> None:  # parity 68
    arguments: dict[str, Any] = {"table_schema": (A,)}
    reader = Scripted(lambda loader: getattr(reader.negotiator, call)(*arguments.get(call, ())))
    with pytest.raises(UsageError, match=rf"negotiator.{call}\(\) must be called inside open\(\)"):
        rows(operator(reader, A))


@pytest.mark.parametrize(
    ("opens", "message"),
    [
        (lambda n: n.build() and n.build(), "build() is called once"),
        (lambda n: n.build() and n.table_schema(A), "table_schema() comes before build()"),
        (lambda n: n.build() and n.batch_hint(rows=1), "batch_hint() comes before build()"),
        (lambda n: n.batch_hint(rows=0), "sizes of 1 and more"),
        (lambda n: n.table_schema("a int"), "takes an Arrow schema"),
    ],
)
def test_a_negotiator_is_strict(opens: Any, message: str) -> None:  # parity 68
    with pytest.raises(UsageError) as caught:
        rows(operator(Scripted(opens=opens)))
    assert message in str(caught.value)


def test_an_error_that_a_reader_swallows_comes_out_all_the_same() -> None:
    def swallow(loader: Any) -> None:
        try:
            loader.append({"a": ["x"]})
        except RecordError:
            loader.append({"a": [1]})

    with pytest.raises(RecordError, match="bad-value"):
        load(swallow, schema=A, mode=Mode.FAILFAST)

    def swallow_in_open(negotiator: Any) -> bool:
        with contextlib.suppress(UsageError):
            negotiator.batch_hint(rows=-1)
        return True

    with pytest.raises(UsageError, match="sizes of 1 and more"):
        rows(operator(Scripted(opens=swallow_in_open)))


@pytest.mark.parametrize("data", [[1, 2], "text", None, pa.array([1])])
def test_what_is_no_rows_is_refused(data: Any) -> None:
    with pytest.raises(UsageError, match=r"append\(\) takes a record batch, a table, or columns by name"):
        load(lambda loader: loader.append(data))


def test_counts_step_by_step() -> None:  # parity 68
    seen: list[Any] = []

    def look(loader: Any) -> None:
        seen.append((loader.rows_appended, loader.schema and loader.schema.names, loader.wanted))

    shown_by(Scripted(look, {"a": [1]}, look, {"a": [2], "b": ["x"]}, look, {"b": ["y"]}, look))
    assert seen == [(0, None, None), (1, ["a"], None), (2, ["a", "b"], None), (3, ["a", "b"], None)]
    seen.clear()
    load(look, {"a": [1], "c": [1]}, look, schema=AB)
    assert seen == [(0, ["a", "b"], {"a", "b"}), (1, ["a", "b"], {"a", "b"})]


# -------------------------------------------------------- shapes of data


@pytest.mark.parametrize(
    "data",
    [
        pa.record_batch({"a": [1, 2], "b": ["x", "y"]}),
        pa.table({"a": pa.chunked_array([[1], [2]]), "b": pa.chunked_array([["x", "y"]])}),
        {"a": pa.array([1, 2]), "b": pa.chunked_array([["x"], ["y"]])},
        {"a": np.array([1, 2]), "b": ["x", "y"]},
        {"B": ("x", "y"), "A": [1, 2]},
        {"b": pa.array(["x", "y"], pa.large_string()), "a": pa.array([1, 2], pa.int8())},
        {"b": pa.array(["x", "y"], pa.string_view()), "a": pa.array(["1", " 2"])},
        {"b": pa.array(["x", "y"]).dictionary_encode(), "a": pa.array([1.0, 2.0])},
    ],
    ids=["batch", "table", "chunked", "numpy", "tuples", "large", "views", "dictionary"],
)
def test_rows_come_in_many_shapes(data: Any) -> None:
    found, rejects = load(data, schema=AB)
    assert found == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert rejects == []


def test_single_values_hold_for_all_rows() -> None:
    assert load({"a": [1, 2], "b": "x"}, {"a": 3, "b": None}, schema=AB)[0] == [
        {"a": 1, "b": "x"}, {"a": 2, "b": "x"}, {"a": 3, "b": None},
    ]  # fmt: skip


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"unequal-columns") as caught:
        load({"a": [1, 2], "b": ["x"]}, schema=AB)
    assert "a: 2, b: 1" in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        [{"a": 1, "b": "x"}, {"A": 2}],
        [(1, "x"), (2, None)],
        [[1, "x"], ["2", None]],
    ],
)
def test_rows_of_python_values(given: Any) -> None:
    assert load(lambda loader: loader.append_rows(given), schema=AB)[0] == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


def test_plain_values_are_rows_of_one_column() -> None:
    assert load(lambda loader: loader.append_rows([1, None, 3]), schema=A)[0] == [{"a": 1}, {"a": None}, {"a": 3}]
    assert load(lambda loader: loader.append_rows([{}, {}]), schema=A)[0] == [{"a": None}, {"a": None}]
    assert load(lambda loader: loader.append_rows([]), schema=A)[0] == []


def test_rows_are_in_the_order_that_the_reader_declares() -> None:
    declared = pa.schema([("b", pa.string()), ("extra", pa.float64()), ("a", pa.int32())])
    found, _ = load(lambda loader: loader.append_rows([("x", 1.5, 1)]), schema=AB, declared=declared)
    assert found == [{"a": 1, "b": "x"}]


def test_rows_of_mixed_kinds_are_refused() -> None:
    with pytest.raises(UsageError, match="rows that are alike"):
        load(lambda loader: loader.append_rows([{"a": 1}, (1, "x")]), schema=AB)
    with pytest.raises(UsageError, match="a tuple or a list, not int"):
        load(lambda loader: loader.append_rows([1]), schema=AB)


def test_values_of_mixed_types_need_a_declared_column() -> None:
    with pytest.raises(SchemaError, match="mixed-values") as caught:
        load({"a": [1, "x"]})
    assert "int, str" in str(caught.value)


def test_rows_that_are_too_short_or_too_long() -> None:  # parity 61
    ragged = [(1,), (2, "x", "y"), (3, "z")]
    found, rejects = load(lambda loader: loader.append_rows(ragged, origin=Origin(line=[7, 8, 9])), schema=AB)
    assert [tuple(row.values()) for row in found] == [(1, None), (2, "x"), (3, "z")]
    assert [(r.code, r.reason, r.delivered) for r in rejects] == [
        ("field-count", "the row has 1 values where 2 are expected", True),
        ("field-count", "the row has 3 values where 2 are expected", True),
    ]
    found, _ = load(lambda loader: loader.append_rows(ragged), schema=AB, mode=Mode.DROPMALFORMED)
    assert found == [{"a": 3, "b": "z"}]
    with pytest.raises(RecordError, match="line 7, row 0"):
        load(lambda loader: loader.append_rows(ragged, origin=Origin(line=[7, 8, 9])), schema=AB, mode=Mode.FAILFAST)
    found, _ = load(lambda loader: loader.append_rows(ragged), schema=AB, defaults={"b": pa.scalar("-")})
    assert found[0] == {"a": 1, "b": "-"}


# ------------------------------------------------------------- conversion


@pytest.mark.parametrize(
    ("values", "kind", "expected", "bad"),
    [
        (["127", "-128", "128", "x", None], pa.int8(), [127, -128, None, None, None], [2, 3]),  # parity 52
        ([str(2**63 - 1), str(-(2**63)), str(2**63)], pa.int64(), [2**63 - 1, -(2**63), None], [2]),
        (["1.5", "1e3", "-Inf", "abc"], pa.float64(), [1.5, 1000.0, float("-inf"), None], [3]),
        ([1, 300, -300, 127], pa.int8(), [1, None, None, 127], [1, 2]),  # parity 53
        ([1.0, 2.5, float("nan"), float("inf"), 1e300], pa.int64(), [1, *[None] * 4], [1, 2, 3, 4]),  # parity 54
        (["2020-02-29", "2021-02-29"], pa.date32(), [datetime.date(2020, 2, 29), None], [1]),  # parity 55
        (["true", "FALSE", "yes", "1"], pa.bool_(), [True, False, None, None], [2, 3]),  # parity 56
        (["1.005", "123.45", "1e9"], pa.decimal128(5, 2), [Decimal("1.01"), Decimal("123.45"), None], [2]),  # parity 57
        ([Decimal("1.5"), Decimal("12345.5")], pa.decimal128(4, 1), [Decimal("1.5"), None], [1]),
        ([1, 2], pa.string(), ["1", "2"], []),
        ([True, None], pa.string(), ["true", None], []),
        (pa.array([1, 1500], pa.timestamp("ns")), pa.timestamp("us"), None, [0, 1]),
        (pa.array([1000, None], pa.timestamp("ns")), pa.timestamp("us"), [MICROSECOND, None], []),
        (pa.array([b"ok", b"\xff"]), pa.string(), ["ok", None], [1]),
        (pa.array([2**63, 1], pa.uint64()), pa.int64(), [None, 1], [0]),
        (pa.array([[1, 300], [2], None]), pa.list_(pa.int8()), [None, [2], None], [0]),
        (pa.array([{"X": "1", "y": 2}, {"X": "q", "y": 3}, None]), pa.struct([("x", pa.int32()), ("z", pa.string())]),
         [{"x": 1, "z": None}, None, None], [1]),
        (pa.array([[("k", 1)], [("l", 300)], None], pa.map_(pa.string(), pa.int64())), pa.map_(pa.string(), pa.int8()),
         [[("k", 1)], None, None], [1]),
    ],
)  # fmt: skip
def test_conversions(values: Any, kind: pa.DataType, expected: Any, bad: list[int]) -> None:  # parity 52-59
    schema = pa.schema([("v", kind)])
    array = values if isinstance(values, pa.Array) else pa.array(values)
    for cut in (array, pa.concat_arrays([array, array]).slice(len(array)), array.slice(0)):
        origin = Origin(offset=np.arange(len(array)) * 10)
        found, rejects = load(lambda loader, a=cut, o=origin: loader.append({"v": a}, origin=o), schema=schema)
        if expected is not None:
            assert [row["v"] for row in found] == expected
        assert [reject.offset // 10 for reject in rejects] == bad
        assert all(reject.code == "bad-value" and reject.delivered for reject in rejects)
    dropped, _ = load({"v": array}, schema=schema, mode=Mode.DROPMALFORMED)
    assert len(dropped) == len(array) - len(bad)
    if bad:
        with pytest.raises(RecordError, match=f"row {bad[0]}, column 'v'"):
            load({"v": array}, schema=schema, mode=Mode.FAILFAST)


def test_list_views_and_local_times() -> None:
    views = pa.array([[1, 2], None, [3]], pa.list_view(pa.int64())).slice(1)
    assert load({"v": views}, schema=pa.schema([("v", pa.list_(pa.int64()))]))[0] == [{"v": None}, {"v": [3]}]
    noon = datetime.datetime(2020, 7, 1, 12)
    for year in (2020, 2200):
        for values in ([noon.replace(year=year)], pa.array([noon.replace(year=year)])):
            found, _ = load({"v": values}, schema=pa.schema([("v", pa.timestamp("us", "UTC"))]))
            assert found[0]["v"].replace(tzinfo=None) == noon.replace(year=year)


def test_a_bad_value_names_column_value_type_file_and_line() -> None:  # parity 52, 12
    def append(loader: Any) -> None:
        loader.append({"a": ["1", "foo"]}, origin=Origin(line=[10, 20], offset=[100, 200]))

    with pytest.raises(RecordError) as caught:
        load({"a": [0]}, append, schema=A, mode=Mode.FAILFAST)
    text = str(caught.value)
    assert text.startswith("column 'a': 'foo' is no int64 (mode=FAILFAST) [bad-value]")
    assert "/data/x.log, byte 200, line 20, row 2, column 'a', in block [0, 100), reader scripted" in text
    assert "b'foo'" in text


def test_the_text_of_a_broken_row_goes_to_the_corrupt_column() -> None:
    schema = pa.schema([("a", pa.int64()), ("_corrupt_record", pa.string()), ("b", pa.string())])
    data = {"a": ["1", "x"], "b": ["p", "q"]}
    found, _ = load(data, schema=schema, corrupt_column="_corrupt_record")
    assert [row["_corrupt_record"] for row in found] == [None, '{"a": "x", "b": "q"}']


def test_the_number_of_rows_does_not_depend_on_the_projection() -> None:
    data = {"a": ["1", "x", "3"], "b": ["p", "q", "r"]}
    for schema in (AB, pa.schema([AB.field("b")]), pa.schema([])):
        for mode, expected in ((Mode.PERMISSIVE, 3), (Mode.DROPMALFORMED, 2)):
            scan = operator(Scripted(data), schema, mode=mode, validated=AB)
            assert sum(batch.num_rows for batch in scan) == expected
    with pytest.raises(SchemaError, match="type-conflict"):
        load({"a": pa.array([[1]])}, schema=A)


# -------------------------------------------------------------- skip_rows


def test_rows_without_columns_are_counted() -> None:  # parity 81
    reader = Scripted(lambda loader: loader.skip_rows(100_000), lambda loader: loader.skip_rows(1_000_000_000))
    scan = operator(reader, pa.schema([]), batch_rows=1_000_000)
    assert sum(batch.num_rows for batch in scan) == 1_000_100_000
    assert reader.negotiator.is_projection_empty
    assert reader.loader.is_projection_empty


def test_rows_that_are_skipped_hold_nulls_and_defaults() -> None:  # parity 81
    found, _ = load({"a": [1], "b": ["x"]}, lambda loader: loader.skip_rows(2), {"a": [2]}, schema=AB,
                    defaults={"b": pa.scalar("-")})  # fmt: skip
    assert [tuple(row.values()) for row in found] == [(1, "x"), (None, "-"), (None, "-"), (2, "-")]
    assert load(lambda loader: loader.skip_rows(0), schema=A)[0] == []
    for wrong in (-1, 1.5, True):
        with pytest.raises(UsageError, match="skip_rows"):
            load(lambda loader, n=wrong: loader.skip_rows(n), schema=A)


def test_skipping_keeps_to_the_limit() -> None:
    assert len(load(lambda loader: loader.skip_rows(10**12), schema=A, limit=70_000)[0]) == 70_000


# ----------------------------------------------------------------- rejects


def test_a_reader_reports_records_that_break_a_rule() -> None:
    def bad(loader: Any) -> None:
        loader.reject(b"raw", "no checksum", origin=40, code="bad-checksum")
        loader.reject("text", "odd", delivered=True, length_bytes=9)

    found, (first, second) = load({"a": [1]}, bad, {"a": [2]}, schema=A)
    assert len(found) == 2
    assert first == ("/data/x.log", 40, 3, "bad-checksum", "no checksum", b"raw", False)
    assert second == ("/data/x.log", 0, 9, "rejected-record", "odd", b"text", True)
    with pytest.raises(RecordError, match=r"no checksum \(mode=FAILFAST\) \[bad-checksum\]") as caught:
        load(bad, schema=A, mode=Mode.FAILFAST)
    assert "byte 40" in str(caught.value)


def test_rejects_behind_the_limit_are_not_reported() -> None:
    data = {"a": ["1", "x", "3", "y"]}
    for mode, expected in ((Mode.PERMISSIVE, ["x"]), (Mode.DROPMALFORMED, ["x"])):
        found, rejects = load(data, lambda loader: loader.reject(b"late", "late"), schema=A, limit=2, mode=mode)
        assert len(found) == 2
        assert [reject.raw.decode() for reject in rejects] == expected
    assert len(load(data, schema=A, limit=1, mode=Mode.FAILFAST)[0]) == 1


def test_what_is_appended_behind_the_limit_is_dropped() -> None:  # parity 70
    seen: list[Any] = []

    def all_at_once(loader: Any) -> None:
        for _ in range(5):
            loader.append({"a": [1, 2, 3]})
            seen.append((loader.full, loader.remaining_rows))

    assert len(load(all_at_once, {"a": [1]}, schema=A, limit=7)[0]) == 7
    assert seen == [(False, 4), (False, 1), (True, 0), (True, 0), (True, 0)]
