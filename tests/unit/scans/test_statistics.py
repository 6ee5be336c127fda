import random

import pyarrow as pa
import pytest

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
