"""Pieces of a table: any cuts give every row once, also where a reader is split while it reads."""

import pytest

from splitscan.ranges import ByteKeyRange, ByteKeyRangeTracker
from splitscan.tables.databases import open_session
from splitscan.tables.keys import KeyKind, from_integer
from splitscan.tables.reading import KeyPieceReader
from splitscan.tables.spec import EVERYTHING, NULLS, KeyPiece
from splitscan.testing.range_laws import check_chunk_claim_law, check_tracker_law

KEYS = [from_integer(number) for number in (-3, 0, 1, 5, 100, 600, 999, 5000)]


@pytest.fixture
def read(people):
    """Reads a piece by a reader of its own; returns the ids."""
    spec = people("id").spec

    def read(piece, cuts=(), split_after=None, split_at=b""):
        with open_session(spec.address) as session:
            session.begin_reading(spec, None)
            reader = KeyPieceReader(spec, session, piece, cuts)
            ids, residual = [], None
            for number, batch in enumerate(reader.batches()):
                ids += batch.column("id").to_pylist()
                if number == split_after:
                    residual = reader.try_split(split_at)
            return ids, residual

    return read


@pytest.mark.parametrize("cut", KEYS)
def test_two_ranges_are_the_whole_wherever_it_is_cut(read, cut):
    below, _ = read(KeyPiece(ByteKeyRange(b"", cut)))
    above, _ = read(KeyPiece(ByteKeyRange(cut, b"")))
    assert sorted(below + above) == list(range(1000))
    assert all(from_integer(number) < cut for number in below)


def test_everything_is_one_query_without_a_condition(read):
    assert sorted(read(EVERYTHING)[0]) == list(range(1000))
    assert read(NULLS)[0] == []
    assert sorted(read(EVERYTHING, cuts=KEYS)[0]) == list(range(1000))


@pytest.mark.parametrize("split_after", range(6))
@pytest.mark.parametrize("split_at", KEYS)
def test_primary_and_residual_are_the_whole_wherever_it_is_split(read, split_after, split_at):
    piece = KeyPiece(ByteKeyRange(b"", b""))
    primary, residual = read(piece, KEYS, split_after, split_at)
    rest = [] if residual is None else read(KeyPiece(residual))[0]
    assert sorted(primary + rest) == list(range(1000))
    if residual is not None:
        assert residual.start in KEYS
        assert min(rest, default=0) >= max(primary) or not rest


def test_splits_give_rows_away(read):
    primary, residual = read(KeyPiece(ByteKeyRange(b"", b"")), KEYS, 0, from_integer(2))
    assert residual == ByteKeyRange(from_integer(5), b"")
    assert primary == [0, 1, 2, 3, 4]


def test_what_is_under_way_is_not_given_away(read):
    assert read(KeyPiece(ByteKeyRange(b"", b"")), KEYS, 5, from_integer(6))[1] is not None
    assert read(KeyPiece(ByteKeyRange(b"", b"")), [from_integer(5)], 1, from_integer(3))[1] is None


@pytest.mark.parametrize("kind", list(KeyKind))
def test_keys_keep_the_laws_of_trackers(kind):
    numbers = [from_integer(number) for number in (-700_000, -1, 0, 1, 700_000, 10**6, 2 * 10**6)]
    texts = [b"A", b"a", b"aa", b"b", "é".encode(), "\U0001f600".encode()]
    keys = sorted({kind.representable(key) for key in (texts if kind in (KeyKind.TEXT, KeyKind.BYTES) else numbers)})
    assert len(keys) > 5
    check_tracker_law(ByteKeyRangeTracker, keys[1], keys[-2], keys)
    check_chunk_claim_law(ByteKeyRangeTracker, keys[1], keys[-2], keys[1:])
