"""Clients of the coordinator, for readers and planners. A connection that breaks is made again, for a while."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import BinaryIO

from splitscan.errors import RebalanceError, SplitscanError
from splitscan.rebalance import messages
from splitscan.rebalance.claim_values import Chunk, ChunkStats, ScanRecord, Segment
from splitscan.rebalance.messages import CoordinatorAddress, Message

ANSWER_SECONDS = 30.0
"""A coordinator that hangs for 10 s (a busy machine, a paused one) fails nobody."""

_PATIENCE_SECONDS = 60.0  # of all attempts of one call together

REFUSED_SECONDS = 5.0
"""Nobody listens: the process is gone, and nobody starts it again."""

_SHORTEST_WAIT_SECONDS = 0.01
_FIRST_PAUSE_SECONDS = 0.05
_MAX_PAUSE_SECONDS = 1.0


class Connection:
    """Sends requests and waits for their answers. Requests must be such that sending one twice does no harm.

    Thread safety: none.
    """

    def __init__(self, address: CoordinatorAddress, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._address = address
        self._patience_seconds = patience_seconds
        self._socket: socket.socket | None = None
        self._lines: BinaryIO | None = None

    def call(self, request: Message) -> Message:
        """Send *request*, and again on a new connection if its answer does not come; return the answer.

        Raises:
            RebalanceError: ``[coordinator-lost]`` if there is no answer in time, ``[coordinator-refused]`` if one
                side does not know the token, and what the coordinator says.
            UsageError: What the coordinator says.
        """
        started = time.monotonic()
        pause = _FIRST_PAUSE_SECONDS
        line = messages.encode(request)
        while True:
            left = self._patience_seconds - (time.monotonic() - started)
            try:
                return self._exchange(line, max(_SHORTEST_WAIT_SECONDS, min(ANSWER_SECONDS, left)))
            except OSError as error:
                self.close()
                spent = time.monotonic() - started
                if spent + pause > self._patience_with(error):
                    raise self._lost(error, spent) from error
                time.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE_SECONDS)
            except SplitscanError:
                self.close()
                raise

    def close(self) -> None:
        """Close the connection; the next call makes a new one."""
        for each in (self._lines, self._socket):
            if each is not None:
                with suppress(OSError):
                    each.close()
        self._socket = self._lines = None

    def _exchange(self, line: bytes, seconds: float) -> Message:
        if self._socket is None:
            self._connect(seconds)
        assert self._socket is not None
        self._socket.settimeout(seconds)
        self._socket.sendall(line)
        answer = self._read(messages.MAX_LINE_BYTES)
        if "error" in answer:
            raise messages.decode_error(answer["error"])
        return answer

    def _connect(self, seconds: float) -> None:
        address = self._address
        self._socket = socket.create_connection((address.host, address.port), timeout=seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._lines = self._socket.makefile("rb")
        greeting = self._read(messages.MAX_GREETING_BYTES)
        if greeting.get("splitscan") != messages.VERSION:
            raise messages.bad_message("a greeting of something else, or of another version")
        nonce = messages.new_nonce()
        own_proof = messages.proof(address.token, "client", messages.text(greeting.get("nonce")))
        self._socket.sendall(messages.encode({"proof": own_proof, "nonce": nonce}))
        answer = self._read(messages.MAX_GREETING_BYTES)
        if "error" in answer:
            raise messages.decode_error(answer["error"])
        if not messages.proves(answer.get("proof"), address.token, "server", nonce):
            raise messages.refused("a server that does not know the token")

    def _read(self, limit: int) -> Message:
        assert self._lines is not None
        line = self._lines.readline(limit)
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the connection ended in the middle of an answer")
        return messages.decode(line)

    def _patience_with(self, error: OSError) -> float:
        refused = isinstance(error, ConnectionRefusedError)
        return min(REFUSED_SECONDS, self._patience_seconds) if refused else self._patience_seconds

    @staticmethod
    def _lost(error: OSError, spent: float) -> RebalanceError:
        """An error that tells nobody where the coordinator is."""
        return RebalanceError(
            "the coordinator of a rebalanced scan answers for as long as the Spark session lives",
            seen=f"{type(error).__name__}: {error} after {spent:.0f} s",
            fix="run the query again in a new session; if only executors see this, they must be able to reach the "
            "driver's host (spark.driver.host) on any port",
            code="coordinator-lost",
        )


class Claims:
    """The chunks of one partition, one after the other: what a reader may read, and all that it may.

    Every attempt of a partition gets the same chunks in the same order. A chunk must be asked for before anything of
    it is returned. One object per attempt; it is a context manager that closes its connection.

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
        request = {"op": "next", "scan": self._scan, "partition": self._partition, "index": index, "stats": stats}
        answer = self._connection.call(request)
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

    def __exit__(self, *_: object) -> None:
        self.close()


class Coordinator:
    """Client for planners: registers a scan, and asks what became of it. Connects for each call.

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
            ranges: One range of positions per partition, tiling all positions; see
                :meth:`~splitscan.rebalance.claim_log.PositionSpace.even_ranges`.

        Raises:
            RebalanceError: ``[coordinator-lost]`` if it cannot be reached: this is the only moment at which reading
                by fixed ranges instead is right.
        """
        plan = {"segments": messages.encode_segments(segments), "ranges": list(ranges)}
        return self._call({"op": "create", "scan": scan, **plan}).get("created") is True

    def scans(self) -> list[str]:
        """All scans that the coordinator knows, in the order in which they were registered."""
        return [messages.text(scan) for scan in messages.items(self._call({"op": "scans"}).get("scans"))]

    def entries(self, scan: str, partition: int) -> list[tuple[int, int]]:
        """The log of one partition so far, as ranges of positions."""
        answer = self._call({"op": "entries", "scan": scan, "partition": partition})
        return messages.decode_ranges(answer.get("entries"))

    def record(self, scan: str) -> ScanRecord:
        """Ask for the record of a scan so far: chunks, moves, times."""
        return messages.decode_record(self._call({"op": "record", "scan": scan})["record"])

    def ping(self) -> None:
        """Check that the coordinator answers and knows the token."""
        self._call({"op": "ping"})

    def _call(self, request: messages.Message) -> messages.Message:
        with closing(Connection(self.address, self._patience_seconds)) as connection:
            return connection.call(request)
