"""A table that tasks share out while they read it: stretches of keys as segments of a claim log, chunks as queries."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

import pyarrow as pa

from splitscan.rebalance import Chunk, ChunkStats, Claims, PositionSpace, Segment
from splitscan.rebalance.reading.chunk_reader import Claims as AnyClaims
from splitscan.spark.coordination import RegisteredScan, reachable
from splitscan.tables import KeyPiece, KeyStretch, TableSpec, TableVersion, key_pieces, read_pieces

_READ_STRETCHES = 1024  # neighbouring chunks touch the same ones


@dataclass(frozen=True, slots=True)
class ClaimedKeys:
    """All that a task must know: what is read, whom to ask, and for which partition.

    Attributes:
        spec: What is read.
        version: Of which version of the table.
        registered: The scan.
        number: The partition.

    Pickling: with the password, so only inside Spark's own tasks; ``repr`` does not show it.
    """

    spec: TableSpec = field(repr=False)
    version: TableVersion | None
    registered: RegisteredScan
    number: int


def share_out_keys(
    stretches: Sequence[KeyStretch], partitions: int
) -> tuple[tuple[Segment, ...], tuple[tuple[int, int], ...]]:
    """The segments of a claim log, and the range of positions that each partition begins with.

    A coordinator gets keys that bound the stretches, and nothing else of table and database.
    """
    segments = tuple(_segment_of(stretch) for stretch in stretches)
    return segments, tuple(PositionSpace(segments).even_ranges(partitions))


def read_claimed_keys(partition: ClaimedKeys) -> Iterator[pa.RecordBatch]:
    """Claim chunk after chunk and read it; every run of a partition gives the same rows.

    Raises:
        RebalanceError: If the coordinator cannot say what comes next. The task must fail then.
        SourceError: If the database cannot be read, or does not have that version any more.
    """
    registered = partition.registered
    with Claims(reachable(registered.address), registered.scan, partition.number) as claims:
        yield from read_chunks(partition.spec, partition.version, claims)


def read_chunks(
    spec: TableSpec, version: TableVersion | None, claims: AnyClaims, clock: Callable[[], float] = time.monotonic
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition's chunks, over one connection and in one transaction.

    What the caller does with the rows of a chunk, until it asks for those of the next one, counts as its cost.
    """
    taken = _Taken(spec, claims, clock)
    for batch in read_pieces(spec, chain.from_iterable(taken.chunks()), version):
        taken.rows += batch.num_rows
        taken.size_bytes += batch.nbytes
        yield batch


class _Taken:
    """Claims chunk after chunk, each when the one before it was taken; counts what came of the latest one."""

    def __init__(self, spec: TableSpec, claims: AnyClaims, clock: Callable[[], float]) -> None:
        self.rows = 0
        self.size_bytes = 0
        self._spec = spec
        self._claims = claims
        self._clock = clock

    def chunks(self) -> Iterator[Iterator[KeyPiece]]:
        index, stats = 0, None
        while (chunk := self._claims.next(index, stats)) is not None:
            claimed = self._clock()
            self.rows = self.size_bytes = 0
            yield pieces_of(chunk, self._spec)
            stats = ChunkStats(self._clock() - claimed, self.rows, self.size_bytes)
            index += 1


def pieces_of(chunk: Chunk, spec: TableSpec) -> Iterator[KeyPiece]:
    """The ranges of keys of a chunk."""
    assert spec.key is not None
    assert spec.key.key_kind is not None
    return key_pieces(spec.key.key_kind, ((_stretch_of(piece.text), piece.start, piece.stop) for piece in chunk.pieces))


def _segment_of(stretch: KeyStretch) -> Segment:
    plain = [
        *(stretch.start.hex(), stretch.stop.hex(), stretch.length),
        *(stretch.is_first, stretch.is_last, stretch.only_nulls),
    ]
    return Segment(stretch.length, json.dumps(plain, separators=(",", ":")), stretch.only_nulls)


@lru_cache(maxsize=_READ_STRETCHES)
def _stretch_of(text: str) -> KeyStretch:
    start, stop, *others = json.loads(text)
    return KeyStretch(bytes.fromhex(start), bytes.fromhex(stop), *others)
