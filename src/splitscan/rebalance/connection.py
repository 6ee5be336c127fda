"""A connection to the coordinator that is made again when it breaks, for a bounded time."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from typing import BinaryIO

from splitscan.errors import RebalanceError, SplitscanError
from splitscan.rebalance import messages
from splitscan.rebalance.messages import CoordinatorAddress, Message

_ANSWER_SECONDS = 30.0  # a coordinator that hangs for 10 s (a busy machine, a paused one) fails nobody
_PATIENCE_SECONDS = 60.0  # of all attempts of one call together
_REFUSED_SECONDS = 5.0  # nobody listens: the process is gone, and nobody starts it again
_SHORTEST_WAIT_SECONDS = 0.01
_FIRST_PAUSE_SECONDS = 0.05
_MAX_PAUSE_SECONDS = 1.0


class Connection:
    """Sends requests and waits for their answers. Requests must be such that sending one twice does no harm.

    Args:
        address: The coordinator.
        patience_seconds: How long one call may take, with all its attempts.

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
                return self._exchange(line, max(_SHORTEST_WAIT_SECONDS, min(_ANSWER_SECONDS, left)))
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
        for closing in (self._lines, self._socket):
            if closing is not None:
                with suppress(OSError):
                    closing.close()
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
        return min(_REFUSED_SECONDS, self._patience_seconds) if refused else self._patience_seconds

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
