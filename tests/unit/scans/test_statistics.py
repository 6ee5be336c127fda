import random

import pyarrow as pa
import pytest

from splitscan.scans import rows as rows_module
from splitscan.scans.rows import column_statistics


def statistics(values, kind=None, rows=1000):
    table = pa.table({"a": pa.array(values, kind)})
    (found,) = column_statistics(table.schema, table.to_batches(rows))
    return found


@pytest.mark.parametrize("distinct", [0, 1, 4095, 10_000, 200_000])
def test_distinct_values_are_counted_and_then_estimated(distinct):
    found = statistics([f"value {number}" for number in range(distinct)] * 2, pa.string(), rows=7000)
    assert (found.rows, found.nulls) == (2 * distinct, 0)
    assert found.distinct == distinct if distinct < 4096 else abs(found.distinct / distinct - 1) < 0.08


@pytest.mark.slow
def test_the_number_does_not_depend_on_order_or_batches():
    values = [str(random.Random(1).random() + number) for number in range(30_000)]
    shuffled = random.Random(2).sample(values, len(values))
    assert statistics(values).distinct == statistics(shuffled, rows=77).distinct


def test_similar_values_and_places_differ():
    texts = ["", "\0", "\0\0", "ab", "ba", "a", "b", "aab", "aba", "baa", "é"]
    assert statistics(texts).distinct == len(texts)
    assert statistics([text.encode() for text in texts]).distinct == len(texts)


def test_least_and_greatest():
    found = statistics([3, None, -5, 10], pa.int32(), rows=1)
    assert (found.nulls, found.min, found.max, found.distinct) == (1, -5, 10, 3)
    assert statistics([None, None], pa.string()).min is None
    assert statistics([1.5, float("nan")]).max == 1.5


def test_values_that_hold_others_have_no_order():
    found = statistics([[1], [1], [2, None], None])
    assert (found.nulls, found.min, found.max, found.distinct) == (1, None, None, 2)


def test_columns_that_hold_little_are_looked_at_once_and_not_in_each_batch(monkeypatch):
    looks, hashed = [], rows_module._hash
    monkeypatch.setattr(rows_module, "_hash", lambda texts: looks.append(len(texts)) or hashed(texts))
    draw = random.Random(3)
    values = [[draw.choice([None, None, None, number]) for number in range(500)] for _ in range(20)]
    table = pa.table({str(number): pa.array(column, pa.int64()) for number, column in enumerate(values)})
    found = column_statistics(table.schema, table.to_batches(10))
    assert len(looks) == 20
    for column, each in zip(values, found, strict=True):
        held = {value for value in column if value is not None}
        assert (each.rows, each.nulls) == (500, column.count(None))
        assert (each.min, each.max, each.distinct) == (min(held), max(held), len(held))


def test_values_that_wait_are_bounded(monkeypatch):
    most = 0
    take, settle = rows_module._Column.add, rows_module._Column.settle
    pending = {}

    def add(column, values):
        nonlocal most
        taken = take(column, values)
        pending[id(column)] = sum(each.nbytes for each in column._pending)
        most = max(most, sum(pending.values()))
        return taken

    def settled(column):
        settle(column)
        pending[id(column)] = 0

    monkeypatch.setattr(rows_module._Column, "add", add)
    monkeypatch.setattr(rows_module._Column, "settle", settled)
    batch = pa.record_batch({str(number): ["x" * 1_000_000] for number in range(8)})
    column_statistics(batch.schema, [batch] * 10)
    assert 0 < most < 30_000_000
