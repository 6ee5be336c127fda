"""What a scan holds, and where its readers are: places in errors, rows after full batches, limits. Parity numbers."""

from __future__ import annotations

import gc
from typing import Any

import pyarrow as pa
import pytest

from splitscan.errors import RecordError

from .scripted import A, Scripted, operator, rows

ONE = {"a": [1, 2]}
TWO = {"a": [3]}


# ------------------------------------------------------ places and what is held


@pytest.mark.parametrize("stage", ["open", "next", "close"])
def test_what_a_reader_says_of_itself_is_in_the_errors_of_every_stage(stage: str) -> None:  # parity 12
    def opens(negotiator: Any) -> bool:
        negotiator.context(sheet="Q1", table=3)
        if stage == "open":
            raise ValueError("why")
        return True

    steps = [ValueError("why")] if stage == "next" else [ONE]
    reader = Scripted(*steps, opens=opens, closes=ValueError("why") if stage == "close" else None, name="mine")
    with pytest.raises(RecordError, match=f"mine.{stage}") as caught:
        rows(operator(reader))
    assert "/data/x.log, in block [0, 100), reader mine, sheet=Q1, table=3" in str(caught.value)
    assert "ValueError: why" in str(caught.value)


@pytest.mark.slow
def test_rows_that_nobody_took_are_released() -> None:  # parity 9, 71
    gc.collect()  # what other tests left behind must not be released meanwhile
    before = pa.total_allocated_bytes()
    reader = Scripted(lambda loader: loader.append({"a": pa.array(range(100_000))}))
    batches = iter(operator(reader, A, batch_rows=1000))
    batch = next(batches)
    assert pa.total_allocated_bytes() - before >= 700_000
    batches.close()
    del batch
    assert pa.total_allocated_bytes() - before < 100_000


@pytest.mark.parametrize(("limit", "sizes"), [(0, []), (1, [1]), (75, [75]), (100, [50, 50]), (101, [51, 50])])
def test_a_limit_inside_or_behind_a_batch(limit: int, sizes: list[int]) -> None:  # parity 70, 84
    for data in ([{"a": list(range(1000))}], [{"a": [n]} for n in range(1000)]):
        batches = list(operator(Scripted(*data), A, batch_rows=75, limit=limit))
        assert [value for batch in batches for value in batch.column(0).to_pylist()] == list(range(limit))
        assert sum(batch.num_rows for batch in batches) == sum(sizes)
        assert all(batch.num_rows <= 75 for batch in batches)
