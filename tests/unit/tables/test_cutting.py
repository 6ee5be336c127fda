"""Where tables are cut: always a partition, and even where the statistics are right."""

import datetime as dt
from bisect import bisect_left
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.tables.keys import KeyKind, TableStatistics, cut_keys, from_integer, keys_of, to_integer

NOT_EMPTY = st.binary(max_size=9)
SHARES = st.floats(0, 1)


@given(
    st.sampled_from(KeyKind),
    st.lists(NOT_EMPTY, max_size=20),
    st.lists(st.tuples(NOT_EMPTY, SHARES), max_size=5),
    SHARES,
    st.integers(1, 30),
)
def test_cuts_are_keys_in_strict_order_whatever_the_statistics_say(kind, samples, common, null_share, count):
    cuts = cut_keys(kind, TableStatistics(0, 0, null_share, tuple(samples), tuple(common)), count)
    assert len(cuts) < count
    assert cuts == sorted(set(cuts) - {b""})
    assert all(kind.representable(cut) == cut for cut in cuts)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, unique=True), st.integers(2, 9))
def test_ranges_of_a_full_sample_are_even(numbers, count):
    keys = sorted(map(from_integer, numbers))
    cuts = cut_keys(KeyKind.INTEGER, TableStatistics(samples=tuple(keys)), count)
    edges = [0, *(bisect_left(keys, cut) for cut in cuts), len(keys)]
    shares = [high - low for low, high in pairwise(edges)]
    assert max(shares) <= len(keys) / count + 2


@pytest.mark.parametrize(
    ("samples", "common", "count", "cuts"),
    [
        ([0, 100], {50: 0.5}, 4, [50]),
        ([0, 100], {50: 0.5}, 8, [25, 50, 75]),
        ([0, 50, 100], {100: 0.5}, 4, [50, 100]),
        ([0, 100], {25: 0.25, 75: 0.25}, 4, [25, 50, 75]),
        ([100, 200], {10: 0.25, 20: 0.25}, 4, [20, 100, 150]),
        ([], {1: 0.5, 2: 0.5}, 2, [2]),
    ],
)
def test_a_key_that_many_rows_have_takes_its_share(samples, common, count, cuts):
    shares = tuple((from_integer(key), share) for key, share in common.items())
    known = TableStatistics(samples=tuple(map(from_integer, samples)), common=shares)
    assert [to_integer(key) for key in cut_keys(KeyKind.INTEGER, known, count)] == cuts


def test_texts_are_cut_where_they_differ():
    known = TableStatistics(samples=(b"customer-1000", b"customer-9000"))
    assert [cut[:10] for cut in cut_keys(KeyKind.TEXT, known, 5)] == [
        b"customer-2", b"customer-4", b"customer-5", b"customer-7"
    ]  # fmt: skip


@pytest.mark.parametrize("samples", [(), (b"a",), (b"a", b"a", b"a")])
def test_what_is_not_known_is_not_cut_in_vain(samples):
    assert len(cut_keys(KeyKind.TEXT, TableStatistics(samples=samples), 4)) <= 1


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([-(2**63), -1, 0, 1, 2**63 - 1], pa.int64()),
        ([-(2**15), 0, 5], pa.int16()),
        (["", "a", "a\u0001", "b", "é", "\U0001f600"], pa.string()),
        ([b"", b"\0", b"a", b"\xff"], pa.binary()),
        ([bytes(16), b"\x01" * 16, b"\xff" * 16], pa.uuid()),
        ([dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31)], pa.date32()),
        ([dt.datetime(1, 1, 1), dt.datetime(1970, 1, 1), dt.datetime(9999, 12, 31)], pa.timestamp("us")),
    ],
)
def test_the_order_of_keys_is_the_order_of_values(values, kind):
    column = pa.array(values, kind) if kind != pa.uuid() else pa.ExtensionArray.from_storage(kind, pa.array(values, pa.binary(16)))  # fmt: skip  # noqa: E501
    keys = keys_of(column)
    assert keys == sorted(keys)
    assert len(set(keys)) == len(values)
