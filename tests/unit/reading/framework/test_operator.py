"""The life of a scan and of its readers. Numbers are those of the parity list."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from splitscan.errors import InvariantError, RecordError, SchemaError, SourceError, SplitscanError, UsageError
from splitscan.reading.framework.operator import ReaderLife

from .scripted import AB, A, Scripted, operator, rows

ONE = {"a": [1, 2]}
TWO = {"a": [3]}
NOTHING: list[dict[str, Any]] = []


def drain(scan: Any) -> list[pa.RecordBatch]:
    found = []
    while (batch := scan.next_batch()) is not None:
        found.append(batch)
    return found


# ------------------------------------------------------------ life cycle


@pytest.mark.parametrize("schema", [None, A])
def test_no_readers_are_no_rows(schema: pa.Schema | None) -> None:  # parity 1
    scan = operator([], schema)
    assert [batch.num_rows for batch in drain(scan)] == ([] if schema is None else [0])
    assert scan.next_batch() is None
    assert scan.next_batch() is None


def test_readers_are_made_one_at_a_time_and_the_next_one_behind_the_close_of_the_last() -> None:  # parity 15
    log: list[str] = []
    readers = [Scripted(log=log, name="null", opens=False)]
    readers += [Scripted(ONE, TWO, log=log, name=name, schema=A) for name in ("one", "two")]
    scan = operator(readers)
    assert [row["a"] for row in rows(scan)] == [1, 2, 3, 1, 2, 3]
    assert scan.schema_version == 1
    life = ["made", "open", "next", "next", "next", "close"]
    expected = ["null made", "null open", "null close", *(f"{name} {step}" for name in ("one", "two") for step in life)]
    assert log == expected


@pytest.mark.parametrize("error", [ValueError("too bad"), OSError("disk"), UsageError("mine", code="own")])
@pytest.mark.parametrize("stage", ["open", "first next", "second next", "close"])
def test_an_error_at_any_stage_names_the_place_and_closes_once(
    stage: str, error: Exception
) -> None:  # parity 2, 3, 4, 5, 12
    big = {"a": list(range(2000))}
    log: list[str] = []
    scripts: dict[str, dict[str, Any]] = {
        "open": {"opens": error},
        "close": {"closes": error},
    }
    steps: dict[str, list[Any]] = {
        "first next": [lambda loader: (_ for _ in ()).throw(_after_rows(loader, error))],
        "second next": [big, error],
    }
    reader = Scripted(*steps.get(stage, [big]), log=log, schema=A, name="mine", **scripts.get(stage, {}))
    never = Scripted(big, log=log, name="never")
    scan = operator([reader, never])
    delivered = 0
    with pytest.raises(SplitscanError) as caught:  # noqa: PT012 -- how much comes before the error matters
        while (batch := scan.next_batch()) is not None:
            delivered += batch.num_rows
    assert delivered == (2000 if stage in {"second next", "close"} else 0)
    assert log.count("mine close") == 1
    assert "never made" not in log
    text = str(caught.value)
    assert "/data/x.log" in text
    assert "reader mine" in text
    if isinstance(error, SplitscanError):
        assert caught.value is error
        assert caught.value.__cause__ is None
    else:
        assert caught.value.__cause__ is error
        assert caught.value.reason_code == "reader-failed"
        assert f"mine.{stage.rsplit(maxsplit=1)[-1]}() failed" in text
        assert f"{type(error).__name__}: {error}" in text
        assert isinstance(caught.value, SourceError if isinstance(error, OSError) else RecordError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == text
    with pytest.raises(UsageError, match="state FAILED"):
        scan.next_batch()
    scan.close()
    scan.close()
    assert log.count("mine close") == 1


def _after_rows(loader: Any, error: Exception) -> Exception:
    loader.append({"a": list(range(5000))})
    return error


def test_a_reader_that_cannot_be_made_fails_the_scan() -> None:
    from splitscan.reading.framework import OutputPlan, ReaderPlan, ScanOperator

    def make() -> Any:
        raise ValueError("no settings")

    with pytest.raises(RecordError, match="no settings"):
        list(ScanOperator(OutputPlan(A), [ReaderPlan(make)]))


def test_an_error_while_closing_behind_an_error_is_told_too() -> None:
    reader = Scripted(ValueError("first"), closes=ValueError("second"), schema=A)
    with pytest.raises(RecordError, match="first") as caught:
        rows(operator([reader]))
    assert "second" in caught.value.__notes__[0]


def test_a_reader_may_have_nothing() -> None:  # parity 6
    log: list[str] = []
    assert rows(operator([Scripted(opens=False, log=log)])) == NOTHING
    assert log == ["scripted made", "scripted open", "scripted close"]
    scan = operator([Scripted(opens=False), Scripted(ONE)])
    assert [row["a"] for row in rows(scan)] == [1, 2]
    assert scan.schema == A


def test_readers_without_rows_show_the_first_schema_in_one_empty_batch() -> None:  # parity 7, 14
    batches = drain(operator([Scripted(schema=A), Scripted(schema=AB)]))
    assert [(batch.num_rows, batch.schema.names) for batch in batches] == [(0, ["a", "b"])]
    assert drain(operator([Scripted(schema=A)], empty_result=False)) == []
    assert drain(operator([Scripted(), Scripted()])) == []


def test_a_scan_that_is_closed_before_the_first_call_opens_nothing() -> None:  # parity 8
    log: list[str] = []
    scan = operator([Scripted(ONE, log=log)])
    scan.close()
    assert log == []
    with pytest.raises(UsageError):
        scan.next_batch()


def test_a_scan_that_is_closed_early_closes_its_reader_once() -> None:  # parity 9, 10
    for steps in (0, 1, 2):
        log: list[str] = []
        scan = operator([Scripted({"a": list(range(3000))}, TWO, log=log)], schema_first=True)
        for _ in range(steps):
            scan.next_batch()
        scan.close()
        scan.close()
        assert log.count("scripted close") == (1 if steps else 0)
        with pytest.raises(UsageError, match="state CLOSED"):
            scan.next_batch()


def test_an_iterator_that_is_dropped_closes_the_reader() -> None:
    log: list[str] = []
    batches = iter(operator([Scripted({"a": list(range(3000))}, TWO, log=log)]))
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert log[-1] == "scripted close"


def test_next_behind_the_end_stays_none() -> None:  # parity 10
    scan = operator([Scripted(ONE)])
    assert len(drain(scan)) == 1
    assert scan.next_batch() is None
    assert scan.next_batch() is None


def test_a_reader_need_not_ask_for_its_loader() -> None:  # parity 11
    assert rows(operator([Scripted(ONE)])) == [{"a": 1}, {"a": 2}]
    built: list[Any] = []
    reader = Scripted(built.append, opens=lambda n: built.append(n.build()) is None)
    rows(operator([reader]))
    assert built[0] is built[1]


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_a_reader_that_forgets_its_answer_is_told_so(answer: Any) -> None:
    with pytest.raises(UsageError, match=r"open\(\) returns True or False"):
        rows(operator([Scripted(opens=answer)]))

    class Forgetful(Scripted):
        def next(self, loader: Any) -> Any:
            return answer

    with pytest.raises(UsageError, match=r"next\(\) returns True or False"):
        rows(operator([Forgetful()]))


def test_an_empty_append_is_harmless_anywhere() -> None:
    empty = {"a": pa.array([], pa.int64())}
    reader = Scripted(empty, lambda loader: None, ONE, empty, lambda loader: None, TWO, empty)
    assert [row["a"] for row in rows(operator([reader]))] == [1, 2, 3]


# ------------------------------------------------------ early and late schema


def test_the_schema_comes_first_if_asked_for() -> None:  # parity 13, 16, 17
    for reader in (
        Scripted(ONE, TWO, schema=A),
        Scripted(ONE, TWO),
        Scripted({"a": pa.array([], pa.int64())}, ONE, TWO),
    ):
        reads_before = reader.schema_ is None
        scan = operator([reader, Scripted(ONE, schema=A)], schema_first=True)
        first = scan.next_batch()
        assert first is not None
        assert (first.num_rows, first.schema) == (0, A)
        assert ("scripted next" in reader.log) is reads_before
        assert [row["a"] for batch in drain(scan) for row in batch.to_pylist()] == [1, 2, 3, 1, 2]
        assert scan.schema_version == 1
    assert drain(operator([Scripted()], schema_first=True)) == []


@pytest.mark.parametrize(
    "step",
    [
        lambda loader: loader.append_rows([{}, {}]),
        lambda loader: loader.skip_rows(2),
        lambda loader: loader.append_rows([[1], [2]]),
    ],
    ids=["mappings", "skipped", "nameless"],
)
def test_rows_without_columns_do_not_keep_the_schema_from_being_found(step: Any) -> None:
    assert [batch.num_rows for batch in drain(operator([Scripted(step)], schema_first=True))] == [2]
    scan = operator([Scripted(step, ONE)], schema_first=True)
    assert sum(batch.num_rows for batch in drain(scan)) == 4
    assert scan.schema == A


def test_a_fixed_schema_comes_first_without_opening_anything() -> None:
    log: list[str] = []
    scan = operator([Scripted(ONE, log=log)], A, schema_first=True)
    batch = scan.next_batch()
    assert batch is not None
    assert batch.schema == A
    assert log == []


def test_rows_that_come_with_the_end_count() -> None:  # parity 14
    reader = Scripted(ONE, TWO, eof_with_data=True)
    assert [row["a"] for row in rows(operator([reader]))] == [1, 2, 3]
    assert reader.log.count("scripted next") == 2


def test_a_wide_early_schema_without_columns() -> None:  # parity 19
    scan = operator([Scripted(lambda loader: loader.skip_rows(2), schema=pa.schema([]))], pa.schema([]))
    assert [(batch.num_columns, batch.num_rows) for batch in drain(scan)] == [(0, 2)]
    every = operator([Scripted(lambda loader: loader.skip_rows(2), schema=pa.schema([]))])
    assert [(batch.num_columns, batch.num_rows) for batch in drain(every)] == [(0, 2)]
    assert rows(operator([Scripted(lambda loader: loader.skip_rows(2), schema=pa.schema([]))], A)) == [{"a": None}] * 2


# ------------------------------------------------------------- many readers


@pytest.mark.parametrize(("first", "second", "count"), [(0, 0, 0), (0, 1, 2), (1, 0, 2), (1, 1, 4)])
def test_null_and_valid_readers(first: int, second: int, count: int) -> None:  # parity 21
    readers = [Scripted(*[ONE] * n, schema=A if n else None) for n in (first, second)]
    assert len(rows(operator(readers))) == count


def test_columns_that_come_and_go_over_readers() -> None:  # parity 22, 24, 26, 28, 32
    ab = {"a": [1], "b": ["x"]}
    scan = operator([Scripted(ab), Scripted({"a": [2]}), Scripted({"B": ["y"], "a": [3]}), Scripted({"c": [1.5]})])
    versions, found = [], []
    while (batch := scan.next_batch()) is not None:
        versions.append(scan.schema_version)
        found += [tuple(row.values()) for row in batch.to_pylist()]
    assert versions == [1, 1, 1, 2]
    assert found == [(1, "x"), (2, None), (3, "y"), (None, None, 1.5)]


def test_a_column_keeps_its_first_type() -> None:  # parity 25, 27, 30
    assert rows(operator([Scripted({"a": [1]}), Scripted({"a": ["2"]})])) == [{"a": 1}, {"a": 2}]
    with pytest.raises(SchemaError, match="type-conflict") as caught:
        rows(operator([Scripted({"a": [1]}), Scripted({"a": pa.array([[2]])})]))
    assert "list<item: int64>" in str(caught.value)
    assert "a int64" in str(caught.value)


def test_an_early_conflict_fails_in_open() -> None:  # parity 25, 44
    log: list[str] = []
    with pytest.raises(SchemaError, match="type-conflict"):
        rows(operator([Scripted(ONE, schema=pa.schema([("a", pa.list_(pa.int64()))]), log=log)], A))
    assert log == ["scripted made", "scripted open", "scripted close"]


# ------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("limit", "opened"), [(0, 0), (1, 1), (50, 1), (75, 1), (100, 1), (125, 2), (200, 2), (300, 2)]
)
def test_a_limit_opens_no_more_readers_than_it_needs(limit: int, opened: int) -> None:  # parity 84
    log: list[str] = []
    half = {"a": list(range(50))}
    scan = operator([Scripted(half, half, log=log, name=name) for name in ("one", "two")], A, limit=limit)
    assert len(rows(scan)) == min(limit, 200)
    assert sum(line.endswith("open") for line in log) == opened
    assert sum(line.endswith("close") for line in log) == opened
    if limit == 50:
        assert log.count("one next") == 1


def test_a_limit_of_nothing_still_finds_the_schema() -> None:  # parity 84
    log: list[str] = []
    batches = drain(operator([Scripted(ONE, schema=A, log=log), Scripted(ONE, log=log)], limit=0))
    assert [(batch.num_rows, batch.schema) for batch in batches] == [(0, A)]
    assert log == ["scripted made", "scripted open", "scripted close"]


# ---------------------------------------------------------------- promises


def test_no_batch_leaves_that_is_not_what_was_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    good = pa.RecordBatch.from_pydict({"a": [1], "b": ["x"]}, schema=AB)
    for bad in (
        good.select(["b", "a"]),
        good.rename_columns(["a", "B"]),
        good.select(["a"]),
        good.set_column(1, "b", pa.array(["x"], pa.large_string())),
        good.set_column(0, pa.field("a", pa.int64(), nullable=False), good.column(0)),
    ):
        scan = operator([Scripted(good)], AB)
        with monkeypatch.context() as patch:
            patch.setattr(ReaderLife, "read", lambda _, bad=bad: iter([bad]))  # it makes batches what was promised
            with pytest.raises(InvariantError, match=r"every batch has the columns that were promised"):
                scan.next_batch()
    shapes = [
        good.select(["b", "a"]),
        good.rename_columns(["A", "B"]),
        good.set_column(1, "b", pa.array(["x"], pa.large_string())),
        good.set_column(1, "b", pa.array(["x"]).dictionary_encode()),
        good.set_column(0, pa.field("a", pa.int64(), nullable=False), good.column(0)),
        good.replace_schema_metadata({"k": "v"}),
    ]
    for batch in operator([Scripted(*shapes)], AB, batch_rows=1):
        assert batch.schema.equals(AB, check_metadata=True)


def test_numbers_become_wider_and_nulls_take_any_type_where_columns_are_open() -> None:  # parity 23
    scan = operator([Scripted({"a": [None], "n": [1]}), Scripted({"a": ["x"], "n": [1.5]})])
    assert [row for batch in drain(scan) for row in batch.to_pylist()] == [{"a": None, "n": 1}, {"a": "x", "n": 1.5}]
    assert scan.schema_version == 2
    held = operator([Scripted({"a": [None], "n": [1]}, {"a": [[1]], "n": [1.5]})])
    assert rows(held) == [{"a": None, "n": 1.0}, {"a": [1], "n": 1.5}]
