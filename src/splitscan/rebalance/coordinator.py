"""The coordinator: the server around the claim log, and its process, ``python -m splitscan.rebalance.coordinator``.

:mod:`splitscan.rebalance.coordinator_process` starts it. Its settings come on standard input, where nobody else can
read them, and it says on standard output where it listens. No reader's process imports this.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from splitscan.errors import SplitscanError
from splitscan.rebalance import messages
from splitscan.rebalance.claims import ClaimLog
from splitscan.rebalance.coordinator_process import is_alive, start_of
from splitscan.rebalance.messages import Message


class Answerer:
    """Answers one request after the other. A request that is none gets an error, and changes nothing."""

    def __init__(self, log: ClaimLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock

    def answer(self, line: bytes) -> bytes:
        """The answer to one line, as one line. Whatever goes wrong is an answer: others use this process too."""
        try:
            return messages.encode(self._answer(messages.decode(line)))
        except SplitscanError as error:
            return messages.encode(messages.encode_error(error))
        except Exception as error:
            failure = messages.bad_message(f"a request that cannot be answered ({type(error).__name__})")
            return messages.encode(messages.encode_error(failure))

    def _answer(self, request: Message) -> Message:
        text, count, get = messages.text, messages.count, request.get
        match text(get("op")):
            case "next":
                scan, partition, index = text(get("scan")), count(get("partition")), count(get("index"))
                chunk = self._log.next(scan, partition, index, messages.decode_stats(get("stats")), self._clock())
                return {"end": True} if chunk is None else {"chunk": chunk}
            case "create":
                segments, ranges = messages.decode_segments(get("segments")), messages.decode_ranges(get("ranges"))
                return {"created": self._log.create(text(get("scan")), segments, ranges, self._clock(), time.time())}
            case "scans":
                return {"scans": self._log.scans()}
            case "entries":
                return {"entries": self._log.entries(text(get("scan")), count(get("partition")))}
            case "record":
                return {"record": asdict(self._log.record(text(get("scan"))))}
            case "ping":
                return {"pong": True}
        raise messages.bad_message("a request that this version does not know")


GREETING_SECONDS = 10.0
"""Whoever has not proven the token by then is sent away."""

_BACKLOG = 1024  # a stage's readers connect at the same moment
_KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20), ("TCP_KEEPCNT", 6))  # hosts that vanished: after 3 min


async def start_server(
    answerer: Answerer, token: str, host: str, port: int = 0
) -> tuple[asyncio.Server, tuple[str, int]]:
    """Listen on a TCP port, a free one by default, and answer everybody who knows the token.

    Lines that are no requests get an error; a connection without the token gets nothing, and is closed.
    """
    server = await asyncio.get_running_loop().create_server(
        lambda: _ClientConnection(answerer.answer, token), host, port, backlog=_BACKLOG
    )
    return server, server.sockets[0].getsockname()[:2]


class _ClientConnection(asyncio.Protocol):
    """One client: greets, checks the proof, then answers line by line.

    Answers that a client does not fetch stop the reading of its requests, and wait in no buffer of ours. Hosts that
    vanish without a word are noticed by TCP, and only cost a socket until then.
    """

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
            refusal = messages.encode_error(messages.refused("a client with another token"))
            self._transport.write(messages.encode(refusal))
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


_POLL_SECONDS = 1.0  # where the kernel cannot tell us of a process's end


def main() -> None:
    """Take the settings and serve, as a grandchild: nobody is to wait for us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which may go on after it
    settings = json.loads(sys.stdin.buffer.readline())
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each task that runs has a connection
    if os.fork() == 0:
        asyncio.run(_serve(settings))


async def _serve(settings: dict[str, Any]) -> None:
    """Serve until one of the watched processes is gone."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, gone.set)
    for pid in settings["watch"]:
        _watch(loop, pid, gone)
    try:
        _, (_, port) = await start_server(Answerer(ClaimLog()), settings["token"], settings["host"], settings["port"])
        ready: dict[str, str | int] = {"port": port, "pid": os.getpid()}
    except OSError as error:
        ready = {"error": f"{type(error).__name__}: {error}"}
        gone.set()
    _say(ready)
    await gone.wait()
    for path in settings["leaves"]:
        Path(path).unlink(missing_ok=True)


def _say(ready: dict[str, str | int]) -> None:
    """Tell the parent, then let go of its pipes, so that it never waits for us and we never for it."""
    with suppress(OSError):
        os.write(sys.stdout.fileno(), json.dumps(ready).encode() + b"\n")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, sys.stdout.fileno())
    os.dup2(nothing, sys.stderr.fileno())
    os.close(nothing)


def _watch(loop: asyncio.AbstractEventLoop, pid: int, gone: asyncio.Event) -> None:
    """Set *gone* when process *pid* ends, however it ends."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        gone.set()
    except (OSError, AttributeError):  # an old kernel, another system
        loop.call_later(_POLL_SECONDS, _poll, loop, pid, start_of(pid), gone)
    else:
        loop.add_reader(descriptor, _on_end, loop, descriptor, gone)


def _on_end(loop: asyncio.AbstractEventLoop, descriptor: int, gone: asyncio.Event) -> None:
    loop.remove_reader(descriptor)
    os.close(descriptor)
    gone.set()


def _poll(loop: asyncio.AbstractEventLoop, pid: int, start: str, gone: asyncio.Event) -> None:
    if start_of(pid) == start and is_alive(pid):
        loop.call_later(_POLL_SECONDS, _poll, loop, pid, start, gone)
    else:
        gone.set()


if __name__ == "__main__":
    main()
