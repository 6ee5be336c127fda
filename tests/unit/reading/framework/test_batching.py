"""Batches of a bounded size. Numbers are those of the parity list."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.errors import RecordError
from splitscan.reading.framework import Origin
from splitscan.reading.framework.batching import Batcher

from .scripted import A, Scripted, load, operator

KIB = 1024
TEXT = pa.schema([("t", pa.string())])


def sizes(*appends: Any, schema: pa.Schema | None = A, **plan: Any) -> list[int]:
    return [batch.num_rows for batch in operator(Scripted(*appends), schema, **plan)]


def numbers(count: int, start: int = 0) -> dict[str, Any]:
    return {"a": pa.array(range(start, start + count))}


@pytest.mark.parametrize(
    ("appends", "rows", "expected"),
    [
        ([100], 75, [50, 50]),  # parity 70: no small rest
        ([75], 75, [75]),
        ([76], 75, [38, 38]),
        ([1] * 150, 75, [75, 75]),
        ([1] * 151, 75, [75, 75, 1]),  # the last one, because nothing follows
        ([74, 1, 1], 75, [75, 1]),
        ([1, 200], 75, [75, 63, 63]),
        ([10], 1, [1] * 10),
        ([10], 3, [2, 3, 2, 3]),
        ([], 75, []),
        ([0, 0], 75, []),
    ],
)
def test_batches_are_bounded_by_rows(appends: list[int], rows: int, expected: list[int]) -> None:  # parity 70, 83
    assert sizes(*[numbers(count) for count in appends], batch_rows=rows) == expected


def test_a_reader_may_ask_for_smaller_batches_and_not_for_larger_ones() -> None:  # parity 70
    for hint, expected in ((10, 10), (1000, 75)):
        reader = Scripted(numbers(150), opens=lambda n, hint=hint: n.batch_hint(rows=hint) is None)
        assert max(batch.num_rows for batch in operator(reader, A, batch_rows=75)) == expected
    reader = Scripted(numbers(1600), opens=lambda n: n.batch_hint(nbytes=800) is None)
    assert {batch.nbytes for batch in operator(reader, A)} == {800}


def test_batches_are_bounded_by_bytes() -> None:  # parity 71
    texts = {"t": pa.array(["x" * 100] * 10_000)}
    batches = list(operator(Scripted(texts), TEXT, batch_bytes=64 * KIB))
    assert sum(batch.num_rows for batch in batches) == 10_000
    assert all(32 * KIB < batch.nbytes <= 64 * KIB for batch in batches)


def test_rows_of_very_different_size_flow() -> None:  # parity 71, 72
    texts = ["a" * 100] * 500 + ["b" * 300_000] + ["c" * 100] * 500 + ["d" * 300_000] * 2
    batches = list(operator(Scripted({"t": pa.array(texts)}), TEXT, batch_bytes=64 * KIB))
    assert [text for batch in batches for text in batch.column(0).to_pylist()] == texts
    assert all(batch.nbytes <= 64 * KIB or batch.num_rows == 1 for batch in batches)
    assert len(batches) <= 20


def test_a_large_list_is_a_row_of_its_own() -> None:  # parity 72
    lists = [[1], list(range(70_000)), None, [2]]
    scan = operator(Scripted({"l": pa.array(lists)}), pa.schema([("l", pa.list_(pa.int64()))]), batch_bytes=64 * KIB)
    batches = list(scan)
    assert [row for batch in batches for row in batch.column(0).to_pylist()] == lists
    assert [batch.num_rows for batch in batches if batch.nbytes > 64 * KIB] == [1]


def test_a_row_that_no_batch_can_hold_names_its_place() -> None:  # parity 71
    data = {"a": [1, 2, 3], "t": ["x", "y" * 50_000, "z"]}
    with pytest.raises(RecordError, match="row-too-large") as caught:
        load(lambda loader: loader.append(data, origin=Origin([0, 10, 20])), schema=TEXT, largest_batch_bytes=40_000)
    assert "byte 10, row 1, column 't'" in str(caught.value)
    assert str(caught.value.seen).endswith("50004 of them in this column; the most is 40000")


def test_large_appends_are_cut_before_they_are_cast() -> None:  # parity 71
    data = {"t": pa.array(["x" * 1000] * 100, pa.large_string())}
    found, _ = load(lambda loader: loader.append(data), schema=TEXT, largest_batch_bytes=20_000)
    assert len(found) == 100


def test_large_batches_are_not_copied() -> None:
    batch = pa.record_batch({"a": list(range(10_000))}, schema=A)
    found = list(operator(Scripted(numbers(3), batch), A, batch_rows=4000))
    assert [part.num_rows for part in found] == [1024, 2993, 2993, 2993]
    memory = batch.column(0).buffers()[1]
    for part in found[1:]:
        buffer = part.column(0).buffers()[1]
        assert memory.address <= buffer.address < memory.address + memory.size


@given(
    st.lists(st.integers(0, 3000), max_size=12),
    st.integers(1, 3000),
    st.integers(64, 30_000),
    st.booleans(),
)
def test_rows_keep_their_order_and_batches_their_bounds(counts: list[int], rows: int, nbytes: int, eager: bool) -> None:
    batcher = Batcher(rows, nbytes)
    found: list[pa.RecordBatch] = []
    start = 0
    for count in counts:
        batcher.add(pa.record_batch({"a": pa.array(range(start, start + count), pa.int64())}))
        start += count
        while eager and (batch := batcher.take(flush=False)) is not None:
            found.append(batch)
    while (batch := batcher.take(flush=True)) is not None:
        found.append(batch)
    assert [value for batch in found for value in batch.column(0).to_pylist()] == list(range(start))
    assert all(0 < batch.num_rows <= rows for batch in found)
    assert all(batch.nbytes <= nbytes or batch.num_rows == 1 for batch in found)
    assert (batcher.rows, batcher.bytes) == (0, 0)


@pytest.mark.slow
def test_memory_is_one_batch_and_one_append() -> None:
    """Rows of 100 bytes and of 50 MB flow, and no more is held than what was appended last."""
    pool = pa.default_memory_pool()
    for row_bytes, per_append, appends in ((100, 40_000, 20), (50_000_000, 1, 6)):

        def append(loader: Any, size: int = row_bytes, count: int = per_append) -> None:
            loader.append({"t": pa.array([b"x" * size] * count)})

        start = pool.bytes_allocated()
        peak = rows = 0
        for batch in operator(Scripted(*[append] * appends), pa.schema([("t", pa.binary())])):
            rows += batch.num_rows
            peak = max(peak, pool.bytes_allocated() - start)
            del batch
        assert rows == per_append * appends
        assert peak <= 2.5 * max(row_bytes * per_append, 1 << 20)
