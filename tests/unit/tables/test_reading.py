"""Pieces of a table: any cuts give every row once."""

import pytest

from splitscan.jobs.ledger import KeyRange
from splitscan.ranges import ByteKeyRangeTracker
from splitscan.tables.keys import KeyKind, from_integer
from splitscan.tables.planning import EVERYTHING, NULLS
from splitscan.tables.table_scan import read_pieces
from splitscan.testing.range_laws import check_chunk_claim_law, check_tracker_law

KEYS = [from_integer(number) for number in (-3, 0, 1, 5, 100, 600, 999, 5000)]


@pytest.fixture
def read(people):
    """Reads pieces over a connection of their own; returns the ids."""
    spec = people("id").spec

    def read(*pieces):
        return [number for batch in read_pieces(spec, pieces, None) for number in batch.column("id").to_pylist()]

    return read


@pytest.mark.parametrize("cut", KEYS)
def test_two_ranges_are_the_whole_wherever_it_is_cut(read, cut):
    below, above = KeyRange(b"", cut), KeyRange(cut, b"")
    assert sorted(read(below, above)) == list(range(1000))
    assert all(from_integer(number) < cut for number in read(below))


def test_everything_is_one_query_without_a_condition(read):
    assert sorted(read(EVERYTHING)) == list(range(1000))
    assert read(NULLS) == []


@pytest.mark.parametrize("kind", list(KeyKind))
def test_keys_keep_the_laws_of_trackers(kind):
    numbers = [from_integer(number) for number in (-700_000, -1, 0, 1, 700_000, 10**6, 2 * 10**6)]
    texts = [b"A", b"a", b"aa", b"b", "é".encode(), "\U0001f600".encode()]
    keys = sorted({kind.representable(key) for key in (texts if kind in (KeyKind.TEXT, KeyKind.BYTES) else numbers)})
    assert len(keys) > 5
    check_tracker_law(ByteKeyRangeTracker, keys[1], keys[-2], keys)
    check_chunk_claim_law(ByteKeyRangeTracker, keys[1], keys[-2], keys[1:])
