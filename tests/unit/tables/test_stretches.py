"""Numbered keys: any cuts of the positions are cuts of the keys, and every row is read once however they are dealt."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.jobs.ledger import KeyRange
from splitscan.ranges import ByteKeyRange
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.spark.tables import read_chunks, share_out_keys
from splitscan.tables import planning
from splitscan.tables.keys import KeyKind, TableStatistics, from_integer
from splitscan.tables.planning import KeyPartition, cut_stretches, key_pieces
from splitscan.testing.range_laws import DealtChunks

KEYS = st.one_of(st.binary(max_size=9), st.text(max_size=4).map(lambda text: text.encode("utf-8", "ignore")))
SHARES = st.floats(0, 1)


@st.composite
def stretches_of(draw, kind):
    keys = st.lists(KEYS.map(kind.representable), max_size=8)
    common = tuple((key, draw(SHARES)) for key in draw(keys))
    statistics = TableStatistics(0, draw(st.integers(0, 100)), draw(SHARES), tuple(draw(keys)), common)
    ends = tuple(sorted(draw(keys)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "STRETCHES", draw(st.integers(1, 5)))
        patch.setattr(planning, "LEAST_POSITIONS", draw(st.integers(1, 7)))
        return cut_stretches(kind, statistics, ends[:1] + ends[-1:], nullable=draw(st.booleans()))


@given(st.data(), st.sampled_from(KeyKind))
def test_any_cuts_of_positions_tile_the_keys(data, kind):
    stretches = data.draw(stretches_of(kind))
    space = PositionSpace(share_out_keys(stretches, 1)[0])
    cuts = data.draw(st.lists(st.integers(0, space.total), max_size=6))
    edges = sorted({0, space.total, *map(space.cut_at_or_before, cuts)})
    probes = [b"", *map(kind.representable, data.draw(st.lists(KEYS, max_size=9)))]
    pieces = [
        key_pieces(kind, [(stretches[part.segment], part.start, part.stop) for part in space.pieces(start, stop)])
        for start, stop in pairwise(edges)
    ]
    found = [piece for chunk in pieces for piece in chunk]
    ranges = [ByteKeyRange(piece.start, piece.stop) for piece in found if not piece.only_nulls]
    assert ranges[0].start == ranges[-1].stop == b""
    assert all(one.stop == other.start for one, other in pairwise(ranges))
    assert all(keys.stop == kind.representable(keys.stop) and keys.start != keys.stop for keys in ranges if keys.stop)
    assert all(sum(keys.contains(probe) for keys in ranges) == 1 for probe in probes)
    assert [piece.only_nulls for piece in found].count(True) == stretches[-1].only_nulls


@given(st.data(), st.sampled_from(KeyKind), st.integers(1, 40))
def test_keys_never_go_back(data, kind, length):
    start, stop = sorted(map(kind.representable, data.draw(st.lists(KEYS, min_size=2, max_size=2))))
    stretch = KeyPartition(start, data.draw(st.sampled_from([stop, b""])), length)
    keys = [stretch.key_at(kind, position) for position in range(length + 1)]
    assert keys[0] == start
    assert keys.pop() == stretch.stop
    assert keys == sorted(keys)
    assert not stretch.stop or all(key <= stretch.stop for key in keys)


def test_positions_lie_where_statistics_expect_the_rows():
    """A common key, a gap and a missing tail: each stretch has the same share, in bytes of the table."""
    numbers = [*range(100), *range(10_000, 10_100)]
    known = TableStatistics(200, 1 << 24, 0.0, tuple(map(from_integer, numbers)), ((from_integer(50), 0.5),))
    found = cut_stretches(KeyKind.INTEGER, known, (from_integer(-5), from_integer(20_000)), nullable=False)
    by_start = {stretch.start: stretch.length for stretch in found}
    assert by_start[from_integer(50)] == pytest.approx(1 << 23, rel=0.05)
    assert sum(by_start.values()) == pytest.approx(1 << 24, rel=0.01)
    assert (found[0].start, found[-1].stop) == (from_integer(-5), from_integer(20_000))
    assert sum(length for start, length in by_start.items() if start >= from_integer(9000)) == pytest.approx(
        1 << 22, rel=0.05
    )


def test_small_tables_and_tables_without_statistics_can_be_divided_finely():
    unknown = cut_stretches(KeyKind.INTEGER, TableStatistics(), (from_integer(0), from_integer(4096)), nullable=True)
    assert [stretch.only_nulls for stretch in unknown] == [False, True]
    assert len({unknown[0].key_at(KeyKind.INTEGER, position) for position in range(4096)}) == 4096
    empty = cut_stretches(KeyKind.UUID, TableStatistics(), (), nullable=False)
    pieces = key_pieces(KeyKind.UUID, [(stretch, 0, stretch.length) for stretch in empty])
    assert list(pieces) == [KeyRange(b"", b"")]


@pytest.fixture
def few(people, monkeypatch):
    """The thousand rows by a key, cut into few positions."""
    monkeypatch.setattr(planning, "STRETCHES", 8)

    def scan(key):
        found = people(key, columns="id")
        stretches = [
            KeyPartition(one.start, one.stop, 9, one.is_first, one.is_last, one.only_nulls) for one in found.stretches()
        ]
        return found.spec, PositionSpace(share_out_keys(stretches, 1)[0])

    return scan


def rows_of(spec, space, log):
    return [
        id for batch in read_chunks(spec, None, DealtChunks(space, log).next) for id in batch.column("id").to_pylist()
    ]


@pytest.mark.parametrize("key", ["id", "name", "photo"])
def test_primary_and_residual_are_the_whole_at_every_split_position(few, key):
    spec, space = few(key)
    everything = rows_of(spec, space, [(0, space.total)])
    assert sorted(everything) == list(range(1000))
    sizes = set()
    for cut in range(1, space.total):
        if space.cut_at_or_before(cut) != cut:
            continue
        primary, residual = rows_of(spec, space, [(0, cut)]), rows_of(spec, space, [(cut, space.total)])
        assert sorted(primary + residual) == list(range(1000))
        sizes.add(len(primary))
    assert len(sizes) > {"id": 50, "name": 20, "photo": 2}[key]


@pytest.mark.parametrize("key", ["id", "name"])
def test_chunks_dealt_to_readers_in_any_way_are_the_whole(few, key):
    spec, space = few(key)
    chance = random.Random(key)
    for _ in range(5):
        cuts = sorted({0, space.total, *map(space.cut_at_or_before, chance.sample(range(space.total), 9))})
        chunks = list(pairwise(cuts))
        logs = [[], [], []]
        for chunk in chance.sample(chunks, len(chunks)):
            chance.choice(logs).append(chunk)
        assert sorted(id for log in logs for id in rows_of(spec, space, log)) == list(range(1000))


def test_a_reader_tells_what_each_chunk_took(few):
    spec, space = few("id")
    middle = space.total // 2
    told = []

    class Log(DealtChunks):
        def next(self, index, stats=None):
            told.append(stats)
            return super().next(index)

    ticks = iter(range(100))
    log = Log(space, [(0, middle), (middle, space.total)])
    batches = list(read_chunks(spec, None, log.next, clock=lambda: float(next(ticks))))
    assert told[0] is None
    assert [stats.seconds for stats in told[1:]] == [1.0, 1.0]
    assert sum(stats.records for stats in told[1:]) == 1000
    assert sum(stats.bytes_read for stats in told[1:]) == sum(batch.nbytes for batch in batches)


def test_a_chunk_that_begins_at_another_key_than_the_one_before_it_stops_breaks_the_law(few, monkeypatch):
    right = KeyPartition.keys_between
    monkeypatch.setattr(
        KeyPartition,
        "keys_between",
        lambda self, kind, start, stop: right(self, kind, start + (0 < start < stop), stop),
    )
    spec, space = few("id")
    chunks = list(pairwise([*range(0, space.total, 5), space.total]))
    assert sorted(id for chunk in chunks for id in rows_of(spec, space, [chunk])) != list(range(1000))
