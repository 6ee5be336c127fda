"""The life of a scan and of its reader. Numbers are those of the parity list."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from splitscan.errors import InvariantError, RecordError, SchemaError, SourceError, SplitscanError, UsageError
from splitscan.reading.framework import OutputPlan, ResultSetLoader, ScanOperator

from .scripted import AB, A, Scripted, operator, plan_of, rows, shown_by

ONE = {"a": [1, 2]}
TWO = {"a": [3]}
NOTHING: list[dict[str, Any]] = []


# ------------------------------------------------------------ life cycle


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
    scan = operator(reader, A)
    with pytest.raises(SplitscanError) as caught:
        rows(scan)
    assert scan.rows == (2000 if stage in {"second next", "close"} else 0)
    assert log.count("mine close") == 1
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


def _after_rows(loader: Any, error: Exception) -> Exception:
    loader.append({"a": list(range(5000))})
    return error


def test_an_error_while_closing_behind_an_error_is_told_too() -> None:
    reader = Scripted(ValueError("first"), closes=ValueError("second"), schema=A)
    with pytest.raises(RecordError, match="first") as caught:
        rows(operator(reader, A))
    assert "second" in caught.value.__notes__[0]


def test_an_iterator_that_is_dropped_closes_the_reader() -> None:
    log: list[str] = []
    batches = iter(operator(Scripted({"a": list(range(3000))}, TWO, log=log)))
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert log[-1] == "scripted close"


def test_a_reader_need_not_ask_for_its_loader() -> None:  # parity 11
    assert rows(operator(Scripted(ONE))) == [{"a": 1}, {"a": 2}]
    built: list[Any] = []
    reader = Scripted(built.append, opens=lambda n: built.append(n.build()) is None)
    rows(operator(reader))
    assert built[0] is built[1]


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_a_reader_that_forgets_its_answer_is_told_so(answer: Any) -> None:
    with pytest.raises(UsageError, match=r"open\(\) returns True or False"):
        rows(operator(Scripted(opens=answer)))

    class Forgetful(Scripted):
        def next(self, loader: Any) -> Any:
            return answer

    with pytest.raises(UsageError, match=r"next\(\) returns True or False"):
        rows(operator(Forgetful()))


def test_an_empty_append_is_harmless_anywhere() -> None:
    empty = {"a": pa.array([], pa.int64())}
    reader = Scripted(empty, lambda loader: None, ONE, empty, lambda loader: None, TWO, empty)
    assert [row["a"] for row in rows(operator(reader))] == [1, 2, 3]


def test_a_reader_may_have_nothing() -> None:  # parity 6
    log: list[str] = []
    assert rows(operator(Scripted(opens=False, log=log), A)) == NOTHING
    assert log == ["scripted open", "scripted close"]
    assert shown_by(Scripted(opens=False)) == pa.schema([])


def test_a_scan_without_rows_has_no_batch() -> None:  # parity 7
    assert list(operator(Scripted(), A)) == list(operator(Scripted(schema=AB), A)) == NOTHING


def test_a_scan_that_nobody_reads_opens_nothing() -> None:  # parity 8
    log: list[str] = []
    operator(Scripted(ONE, log=log), A)
    assert log == []


def test_a_scan_that_is_closed_early_closes_its_reader_once() -> None:  # parity 9, 10
    for steps in (1, 2):
        log: list[str] = []
        batches = iter(operator(Scripted({"a": list(range(3000))}, TWO, log=log), A))
        for _ in range(steps):
            next(batches)
        batches.close()
        batches.close()
        assert log.count("scripted close") == 1
        assert list(batches) == NOTHING


def test_an_error_of_a_scan_that_is_closed_early_is_told() -> None:
    batches = iter(operator(Scripted({"a": list(range(3000))}, closes=ValueError("stuck")), A))
    next(batches)
    with pytest.raises(RecordError, match="stuck"):
        batches.close()


# ------------------------------------------------------ early and late schema


@pytest.mark.parametrize("complete", [True, False])
def test_a_reader_that_declares_its_columns_is_asked_for_no_row(complete: bool) -> None:  # parity 13
    reader = Scripted(ONE, {"b": ["x"]}, schema=A, complete=complete)
    scan = ScanOperator(OutputPlan(None), plan_of(reader))
    assert scan.find_schema() == (A if complete else AB)
    assert reader.log == ["scripted open", *([] if complete else ["scripted next"] * 3), "scripted close"]


def test_columns_are_looked_for_in_so_many_bytes() -> None:  # parity 16, 17
    steps = [{"a": list(range(100))}, {"b": ["x"]}, {"c": [1.5]}]
    assert shown_by(Scripted(*steps), batch_bytes=800).names == ["a"]
    assert shown_by(Scripted(*steps), batch_bytes=801).names == ["a", "b"]
    assert shown_by(Scripted(*steps)).names == ["a", "b", "c"]


def test_an_error_while_columns_are_looked_for_closes_the_reader() -> None:
    reader = Scripted(ONE, ValueError("first"), closes=ValueError("second"))
    with pytest.raises(RecordError, match="first") as caught:
        ScanOperator(OutputPlan(None), plan_of(reader)).find_schema()
    assert "second" in caught.value.__notes__[0]
    assert reader.log.count("scripted close") == 1


@pytest.mark.parametrize("run", [list, ScanOperator.find_schema])
def test_a_reader_that_is_interrupted_is_closed(run: Callable[[ScanOperator], object]) -> None:
    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    reader = Scripted(ONE, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(ScanOperator(OutputPlan(A if run is list else None), plan_of(reader)))
    assert reader.log == ["scripted open", "scripted next", "scripted next", "scripted close"]


@pytest.mark.parametrize(
    "step",
    [
        lambda loader: loader.append_rows([{}, {}]),
        lambda loader: loader.skip_rows(2),
        lambda loader: loader.append_rows([[1], [2]]),
        {"a": pa.array([], pa.int64())},
    ],
    ids=["mappings", "skipped", "nameless", "empty"],
)
def test_rows_without_columns_do_not_keep_the_schema_from_being_found(step: Any) -> None:
    assert shown_by(Scripted(step, ONE)) == A


def test_a_wide_early_schema_without_columns() -> None:  # parity 19
    for schema, row in ((pa.schema([]), {}), (A, {"a": None})):
        reader = Scripted(lambda loader: loader.skip_rows(2), schema=pa.schema([]))
        batches = list(operator(reader, schema))
        assert [batch.num_rows for batch in batches] == [2]
        assert batches[0].to_pylist() == [row] * 2


def test_rows_that_come_with_the_end_count() -> None:  # parity 14
    reader = Scripted(ONE, TWO, eof_with_data=True)
    assert [row["a"] for row in rows(operator(reader))] == [1, 2, 3]
    assert reader.log.count("scripted next") == 2


def test_an_early_conflict_fails_in_open() -> None:  # parity 25, 44
    log: list[str] = []
    with pytest.raises(SchemaError, match="type-conflict"):
        rows(operator(Scripted(ONE, schema=pa.schema([("a", pa.list_(pa.int64()))]), log=log), A))
    assert log == ["scripted open", "scripted close"]


# ---------------------------------------------------------------- promises


# ------------------------------------------------------------------- limits


@pytest.mark.parametrize(("limit", "calls"), [(0, 0), (1, 1), (50, 1), (75, 2), (100, 2), (125, 3)])
def test_a_limit_asks_for_no_more_rows_than_it_needs(limit: int, calls: int) -> None:  # parity 84
    half = {"a": list(range(50))}
    reader = Scripted(half, half)
    assert len(rows(operator(reader, A, limit=limit))) == min(limit, 100)
    assert reader.log.count("scripted next") == calls
    assert ("scripted open" in reader.log) is ("scripted close" in reader.log) is bool(limit)


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
        with monkeypatch.context() as patch:
            patch.setattr(ResultSetLoader, "take", lambda *_, bad=bad, **__: bad)  # it makes what was promised
            with pytest.raises(InvariantError, match=r"every batch has the columns that were promised"):
                rows(operator(Scripted(good), AB))
    shapes = [
        good.select(["b", "a"]),
        good.rename_columns(["A", "B"]),
        good.set_column(1, "b", pa.array(["x"], pa.large_string())),
        good.set_column(1, "b", pa.array(["x"]).dictionary_encode()),
        good.set_column(0, pa.field("a", pa.int64(), nullable=False), good.column(0)),
        good.replace_schema_metadata({"k": "v"}),
    ]
    for batch in operator(Scripted(*shapes), AB, batch_rows=1):
        assert batch.schema.equals(AB, check_metadata=True)
