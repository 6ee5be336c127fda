"""Batches of a bounded size: rows and bytes are counted, large appends are cut, small ones put together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise

import pyarrow as pa

from splitscan.sizes import MIB

SMALL_ROWS = 1024
"""Fewer rows, in fewer bytes, are not worth a batch of their own."""

_SMALL_BYTES = MIB
_JOINED_ROWS = 1 << 14  # of many readers: what a batch costs on its way to Spark is then a small part


class Batcher:
    """Holds rows on their way out.

    A batch has at most *rows* rows, and at most *nbytes* bytes unless it is a single row. Batches are slices of what
    was added, without a copy; only small appends, and what follows them directly, are copied into batches of a
    useful size, so that there is no batch of one row where there are more rows to come. Rows keep their order.

    Attributes:
        rows: Rows that are held.
    """

    def __init__(self, rows: int, nbytes: int, least_rows: int = SMALL_ROWS) -> None:
        self._rows = rows
        self._bytes = nbytes
        self._ready: deque[tuple[pa.RecordBatch, int]] = deque()
        self._small: list[pa.RecordBatch] = []
        self._small_rows = self._small_bytes = 0
        self._least_rows = min(least_rows, rows)
        self._least_bytes = min(_SMALL_BYTES, nbytes)
        self.rows = 0
        self._ready_bytes = 0

    @property
    def bytes(self) -> int:
        """Bytes that are held."""
        return self._ready_bytes + self._small_bytes

    @property
    def is_full(self) -> bool:
        """True if a batch of the largest size can be made."""
        return self.rows >= self._rows or self.bytes >= self._bytes

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows."""
        rows = batch.num_rows
        if not rows:
            return
        nbytes = batch.nbytes  # asked once: Arrow goes over all columns to say so
        self.rows += rows
        is_small = rows < self._least_rows and nbytes < self._least_bytes
        if not is_small and self._small:  # copy no more of it than makes the small ones before it large enough
            lacking = max(self._least_rows - self._small_rows, 1)
            if rows - lacking >= self._least_rows:
                self._hold(batch.slice(0, lacking), 0)  # joined at once, and asked for its bytes then
                batch = batch.slice(lacking)
                nbytes = batch.nbytes
            else:
                self._hold(batch, nbytes)
                batch = None
            self._join_small()
        if is_small:
            self._hold(batch, nbytes)
            if self._small_rows >= self._least_rows or self._small_bytes >= self._least_bytes:
                self._join_small()
        elif batch is not None:
            self._make_ready(batch, nbytes)

    def take(self, *, flush: bool) -> pa.RecordBatch | None:
        """The next batch; ``None`` when none is ready. With *flush* a small one will do: no more rows will come."""
        if not self._ready and flush and self._small:
            self._join_small()
        if not self._ready:
            return None
        batch, nbytes = self._ready.popleft()
        self.rows -= batch.num_rows
        self._ready_bytes -= nbytes
        return batch

    def clear(self) -> None:
        """Drop all that is held."""
        self._ready.clear()
        self._small = []
        self.rows = self._ready_bytes = self._small_rows = self._small_bytes = 0

    def _hold(self, batch: pa.RecordBatch, nbytes: int) -> None:
        self._small.append(batch)
        self._small_rows += batch.num_rows
        self._small_bytes += nbytes

    def _join_small(self) -> None:
        joined, nbytes = self._small[0], self._small_bytes
        if len(self._small) > 1:
            joined = pa.concat_batches(self._small)
            nbytes = joined.nbytes
        self._small = []
        self._small_rows = self._small_bytes = 0
        self._make_ready(joined, nbytes)

    def _make_ready(self, batch: pa.RecordBatch, nbytes: int) -> None:
        rows = batch.num_rows
        pieces = min(max(-(-rows // self._rows), -(-nbytes // self._bytes)), rows)
        for piece, piece_bytes in [(batch, nbytes)] if pieces <= 1 else self._cut(batch, pieces):
            self._ready.append((piece, piece_bytes))
            self._ready_bytes += piece_bytes

    def _cut(self, batch: pa.RecordBatch, pieces: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Pieces of about the same size, so that none is a small rest; and their bytes."""
        rows = batch.num_rows
        bounds = [rows * i // pieces for i in range(pieces + 1)]
        for start, stop in pairwise(bounds):
            piece = batch.slice(start, stop - start)
            nbytes = piece.nbytes
            if piece.num_rows > 1 and nbytes > self._bytes:  # some rows are larger than others
                yield from self._fit(piece)
            else:
                yield piece, nbytes

    def _fit(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Pieces of as many rows as fit; and their bytes."""
        start, rows = 0, batch.num_rows
        while start < rows:
            fits, too_many = 1, rows - start + 1
            while too_many - fits > 1:
                middle = (fits + too_many) // 2
                if batch.slice(start, middle).nbytes <= self._bytes:
                    fits = middle
                else:
                    too_many = middle
            piece = batch.slice(start, fits)
            yield piece, piece.nbytes
            start += fits


def join_batches(
    batches: Iterable[pa.RecordBatch], rows: int, nbytes: int, least_rows: int = _JOINED_ROWS
) -> Iterator[pa.RecordBatch]:
    """Join small batches, in order: each costs whoever takes it. What *batches* raises comes after its rows."""
    batcher = Batcher(rows, nbytes, least_rows)
    try:
        for batch in batches:
            batcher.add(batch)
            while (ready := batcher.take(flush=False)) is not None:
                yield ready
    except Exception:
        yield from iter(partial(batcher.take, flush=True), None)
        raise
    yield from iter(partial(batcher.take, flush=True), None)
