"""What readers and planners ask the coordinator."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from splitscan.rebalance import messages
from splitscan.rebalance.claiming import Chunk, ChunkStats, ScanRecord, Segment
from splitscan.rebalance.connection import Connection
from splitscan.rebalance.messages import CoordinatorAddress


class Claims:
    """The chunks of one partition, one after the other: what a reader may read, and all that it may.

    Every attempt of a partition gets the same chunks in the same order. A chunk must be asked for before anything of
    it is returned. One object per attempt; it is a context manager that closes its connection.

    Args:
        address: The coordinator.
        scan: Identity of the scan.
        partition: Number of the partition.

    Thread safety: none.
    """

    def __init__(self, address: CoordinatorAddress, scan: str, partition: int) -> None:
        self._connection = Connection(address)
        self._scan = scan
        self._partition = partition
        self._wait_seconds = 0.0

    def next(self, index: int, stats: ChunkStats | None = None) -> Chunk | None:
        """Chunk *index* of the partition's log, claimed now if nobody has claimed it.

        Asks again on a new connection when an answer is lost, which changes nothing in the log.

        Args:
            index: 0, then one more with each call.
            stats: What was measured while chunk ``index - 1`` was read; its ``wait_seconds`` is filled in here.

        Returns:
            The chunk, or ``None``: there is nothing more for this partition, now and for ever.

        Raises:
            RebalanceError: ``[coordinator-lost]``, ``[coordinator-refused]``, ``[unknown-scan]``,
                ``[claim-protocol]``, ``[bad-message]``. The attempt must fail then: nobody else may guess.
        """
        if stats is not None:
            stats = stats._replace(wait_seconds=self._wait_seconds)
        started = time.perf_counter()
        answer = self._connection.call(
            {
                "op": "next",
                "scan": self._scan,
                "partition": self._partition,
                "index": index,
                "stats": messages.encode_stats(stats),
            }
        )
        self._wait_seconds = time.perf_counter() - started
        if answer.get("end") is True:
            return None
        chunk = messages.decode_chunk(answer.get("chunk"))
        if chunk.number != index:
            raise messages.bad_message("another chunk than the one that was asked for")
        return chunk

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Claims:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Coordinator:
    """What a planner asks: to register a scan, and what became of it. Connects for each call.

    Args:
        address: The coordinator.
        patience_seconds: How long one call may take.

    Thread safety: all methods.
    Pickling: by its address.
    """

    def __init__(self, address: CoordinatorAddress, patience_seconds: float = 60.0) -> None:
        self.address = address
        self._patience_seconds = patience_seconds

    def create(self, scan: str, segments: Sequence[Segment], ranges: Sequence[tuple[int, int]]) -> bool:
        """Register a scan before any task reads it. The same call again changes nothing.

        Args:
            scan: A new identity for each plan, such as ``uuid4().hex``.
            segments: The blocks of the plan, in order.
            ranges: One range of positions per partition, tiling all positions; see
                :meth:`~splitscan.rebalance.claiming.PositionSpace.even_ranges`.

        Returns:
            Whether the scan was new.

        Raises:
            UsageError: ``[bad-rebalance-plan]``.
            RebalanceError: ``[coordinator-lost]`` if it cannot be reached: this is the only moment at which reading
                by fixed ranges instead is right.
        """
        answer = self._call(
            {
                "op": "create",
                "scan": scan,
                "segments": messages.encode_segments(segments),
                "ranges": [list(bounds) for bounds in ranges],
            }
        )
        return answer.get("created") is True

    def scans(self) -> list[str]:
        """All scans that the coordinator knows, in the order in which they were registered.

        Raises:
            RebalanceError: As :meth:`Claims.next`.
        """
        return [messages.text(scan) for scan in messages.items(self._call({"op": "scans"}).get("scans"))]

    def entries(self, scan: str, partition: int) -> list[tuple[int, int]]:
        """The log of one partition so far, as ranges of positions.

        Raises:
            RebalanceError: As :meth:`Claims.next`.
        """
        answer = self._call({"op": "entries", "scan": scan, "partition": partition})
        return messages.decode_ranges(answer.get("entries"))

    def record(self, scan: str) -> ScanRecord:
        """What happened in a scan so far: chunks, moves, times.

        Raises:
            RebalanceError: As :meth:`Claims.next`.
        """
        return messages.decode_record(self._call({"op": "record", "scan": scan})["record"])

    def ping(self) -> None:
        """Check that the coordinator answers and knows the token.

        Raises:
            RebalanceError: ``[coordinator-lost]``, ``[coordinator-refused]``.
        """
        self._call({"op": "ping"})

    def _call(self, request: messages.Message) -> messages.Message:
        connection = Connection(self.address, self._patience_seconds)
        try:
            return connection.call(request)
        finally:
            connection.close()
