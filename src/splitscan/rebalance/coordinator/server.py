"""Requests in, answers out: the claim log and its messages; and the server: one thread, many connections."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress

from splitscan.errors import SplitscanError
from splitscan.rebalance import messages
from splitscan.rebalance.claiming.claims import ClaimLog
from splitscan.rebalance.messages import Message


class Answerer:
    """Answers one request after the other. A request that is none gets an error, and changes nothing."""

    def __init__(
        self, log: ClaimLog, clock: Callable[[], float] = time.monotonic, epoch: Callable[[], float] = time.time
    ) -> None:
        self._log = log
        self._clock = clock
        self._epoch = epoch
        self._answers = {
            "next": self._next,
            "create": self._create,
            "scans": self._all_scans,
            "entries": self._entries,
            "record": self._record,
            "ping": self._ping,
        }

    def answer(self, line: bytes) -> bytes:
        """The answer to one line, as one line. Whatever goes wrong is an answer: others use this process too."""
        try:
            request = messages.decode(line)
            answer = self._answers.get(messages.text(request.get("op")))
            if answer is None:
                raise messages.bad_message("a request that this version does not know")
            return messages.encode(answer(request))
        except SplitscanError as error:
            return messages.encode(messages.encode_error(error))
        except Exception as error:
            failure = messages.bad_message(f"a request that cannot be answered ({type(error).__name__})")
            return messages.encode(messages.encode_error(failure))

    def _next(self, request: Message) -> Message:
        chunk = self._log.next(
            messages.text(request.get("scan")),
            messages.count(request.get("partition")),
            messages.count(request.get("index")),
            messages.decode_stats(request.get("stats")),
            self._clock(),
        )
        return {"end": True} if chunk is None else messages.encode_chunk(chunk)

    def _create(self, request: Message) -> Message:
        scan = messages.text(request.get("scan"))
        segments = messages.decode_segments(request.get("segments"))
        ranges = messages.decode_ranges(request.get("ranges"))
        return {"created": self._log.create(scan, segments, ranges, self._clock(), self._epoch())}

    def _all_scans(self, request: Message) -> Message:
        assert request
        return {"scans": self._log.scans()}

    def _entries(self, request: Message) -> Message:
        partition = messages.count(request.get("partition"))
        return {"entries": self._log.entries(messages.text(request.get("scan")), partition)}

    def _record(self, request: Message) -> Message:
        return messages.encode_record(self._log.record(messages.text(request.get("scan"))))

    @staticmethod
    def _ping(request: Message) -> Message:
        return {"pong": request.get("op") == "ping"}


GREETING_SECONDS = 10.0
"""Whoever has not proven the token by then is sent away."""

_BACKLOG = 1024  # a stage's readers connect at the same moment
_KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20), ("TCP_KEEPCNT", 6))  # hosts that vanished: after 3 min


class CoordinatorServer:
    """Listens on a TCP port and answers everybody who knows the token.

    Lines that are no requests get an error; a connection without the token gets nothing, and is closed. Answers that
    a client does not fetch stop the reading of its requests, and wait in no buffer of ours. Hosts that vanish without
    a word are noticed by TCP, and only cost a socket until then.
    """

    def __init__(self, answerer: Answerer, token: str) -> None:
        self._answerer = answerer
        self._token = token
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int = 0) -> tuple[str, int]:
        """Listen on *host*; returns the address that was bound. Port 0 takes a free one."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _ClientConnection(self._answerer.answer, self._token), host, port, backlog=_BACKLOG
        )
        bound = self._server.sockets[0].getsockname()
        return bound[0], bound[1]

    def close(self) -> None:
        """Listen no longer."""
        if self._server is not None:
            self._server.close()


class _ClientConnection(asyncio.Protocol):
    """One client: greets, checks the proof, then answers line by line."""

    def __init__(self, answer: Callable[[bytes], bytes], token: str) -> None:
        self._answer = answer
        self._token = token
        self._nonce = messages.new_nonce()
        self._proven = False
        self._parts: list[bytes] = []  # of a line that has not ended yet
        self._size = 0
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        _keep_alive(transport.get_extra_info("socket"))
        self._deadline = asyncio.get_running_loop().call_later(GREETING_SECONDS, transport.abort)
        transport.write(messages.encode({"splitscan": messages.VERSION, "nonce": self._nonce}))

    def connection_lost(self, error: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._transport = None

    def pause_writing(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._parts.append(line)
            whole, self._parts, self._size = b"".join(self._parts), [], 0
            self._take(whole)
            if self._transport is None or self._transport.is_closing():
                return
        self._parts.append(rest)
        self._size += len(rest)
        if self._size > (messages.MAX_LINE_BYTES if self._proven else messages.MAX_GREETING_BYTES):
            self._send_away()

    def _take(self, line: bytes) -> None:
        if self._transport is None:
            return
        if self._proven:
            self._transport.write(self._answer(line))
        else:
            self._check(line)

    def _check(self, line: bytes) -> None:
        """Let the client in if it knows the token. It learns nothing else."""
        assert self._transport is not None
        try:
            greeting = messages.decode(line)
            nonce = messages.text(greeting.get("nonce"))
        except SplitscanError:
            self._send_away()
            return
        if not messages.proves(greeting.get("proof"), self._token, "client", nonce=self._nonce):
            self._transport.write(
                messages.encode(messages.encode_error(messages.refused("a client with another token")))
            )
            self._transport.close()
            return
        self._proven = True
        if self._deadline is not None:
            self._deadline.cancel()
        self._transport.write(messages.encode({"proof": messages.proof(self._token, "server", nonce)}))

    def _send_away(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _keep_alive(connection: socket.socket) -> None:
    with suppress(OSError):  # a socket that is gone already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for name, value in _KEEPALIVE:
            if hasattr(socket, name):  # other systems have other names
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
