"""Whoever else connects to a coordinator: without the token, with nonsense, or not to the end."""

import json
import socket
import threading
from contextlib import suppress

import pytest

from splitscan.errors import RebalanceError
from splitscan.rebalance import client as client_module
from splitscan.rebalance import coordinator as server_module
from splitscan.rebalance import messages
from splitscan.rebalance.client import Claims, Coordinator
from splitscan.rebalance.messages import CoordinatorAddress

from ...clusters.coordinators import served
from .asking import PATIENCE_SECONDS, RANGES, SEGMENTS, SleepingClock, memory_of, proven_socket, read_all, request_for

pytestmark = [pytest.mark.fault, pytest.mark.slow]


def test_a_wrong_token_is_refused_at_once_and_changes_nothing(shared, scan, monkeypatch):
    wrong = CoordinatorAddress(shared.address.host, shared.address.port, "0" * 64)
    clock = SleepingClock()
    monkeypatch.setattr(client_module, "time", clock)
    with pytest.raises(RebalanceError, match="coordinator-refused"):
        Claims(wrong, scan, 0).next(0)
    assert clock.seconds == 0  # it is not asked again
    assert Coordinator(shared.address).entries(scan, 0) == []


def test_a_server_that_does_not_know_the_token_is_not_believed(shared):
    with socket.create_server(("127.0.0.1", 0)) as impostor:

        def pretend():
            with suppress(OSError):
                client, _ = impostor.accept()
                with client, client.makefile("rb") as lines:
                    client.sendall(messages.encode({"splitscan": messages.VERSION, "nonce": "n"}))
                    seen.append(lines.readline())
                    client.sendall(messages.encode({"proof": "0" * 64}) + messages.encode({"end": True}))
                    lines.readline()

        seen = []
        threading.Thread(target=pretend, daemon=True).start()
        address = CoordinatorAddress("127.0.0.1", impostor.getsockname()[1], shared.address.token)
        with pytest.raises(RebalanceError, match="coordinator-refused"):
            Claims(address, "scan", 0).next(0)
    assert shared.address.token.encode() not in seen[0]


def test_a_proof_that_was_overheard_opens_no_other_connection(shared):
    place = shared.address.host, shared.address.port
    with socket.create_connection(place) as first, socket.create_connection(place) as second:
        heard, answers = first.makefile("rb"), second.makefile("rb")
        nonce, _ = (messages.decode(lines.readline())["nonce"] for lines in (heard, answers))
        greeting = messages.encode({"proof": messages.proof(shared.address.token, "client", nonce), "nonce": "n"})
        first.sendall(greeting)
        assert "proof" in messages.decode(heard.readline())
        second.sendall(greeting)
        refused = messages.decode(answers.readline())
        assert "proof" not in refused
        assert "coordinator-refused" in str(refused["error"])
        heard.close()
        answers.close()


GARBAGE = [
    b"\x00" * 100 + b"\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"{}\n",
    b"[]\n",
    b'{"op": "scans"}\n',
    b'{"proof": 1, "nonce": "n"}\n',
    b'{"proof": "\xff", "nonce": "n"}\n',
    '{"proof": "\u00fc", "nonce": "n"}\n'.encode(),
    b"[" * 500 + b"\n",
    b"x" * 5000,
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_without_the_token_is_sent_away(shared, scan, garbage):
    with socket.create_connection((shared.address.host, shared.address.port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(garbage)
        received = b""
        with suppress(ConnectionResetError):
            while data := connection.recv(4096):
                received += data
    assert b"proof" not in received
    assert b"scans" not in received
    assert read_all(shared.address, scan, 0)


def nonsense(scan):
    good = {"op": "next", "scan": scan, "partition": 0, "index": 0, "stats": None}
    yield from (b"\n", b"x\n", b"[]\n", b"{}\n", b"null\n", b"\xff\xfe\n", b'{"op": NaN}\n', b"[" * 100_000 + b"\n")
    yield messages.encode({"op": "sleep"})
    for name, values in {
        "scan": (None, 1, "", ["s"], "other"),
        "partition": (-1, 4, 1.0, True, "0", None, 10**30),
        "index": (-1, 1, 0.0, False, "0", None, 10**30),
        "stats": (1, [], [1, 2], [-1.0, 0, 0, 0], ["1", 0, 0, 0], [1e300, 0, 0, 0], [0.1, 1.5, 0, 0], {}),
    }.items():
        for value in values:
            yield messages.encode({**good, name: value})
    plan = {"op": "create", "scan": "new", "segments": [[10, "", 0]], "ranges": [[0, 10]]}
    for name, values in {
        "segments": (None, [], [[10]], [[0, "", 0]], [["10", "", 0]], [[10, 5, 0]], {"a": 1}, [[2**63, "", 0]]),
        "ranges": (None, [], [[0]], [[0, 9]], [[0, 10], [5, 10]], [[-1, 10]], "0-10"),
    }.items():
        for value in values:
            yield messages.encode({**plan, name: value})


def test_nonsense_from_somebody_with_the_token_gets_errors_and_changes_nothing(shared, scan):
    connection, lines = proven_socket(shared.address)
    with connection, lines:
        for line in nonsense(scan):
            connection.sendall(line)
            assert "error" in json.loads(lines.readline()), line[:100]
        connection.sendall(request_for(scan, 0, 0))
        assert json.loads(lines.readline())["chunk"][:2] == [0, RANGES[0][0]]
    with pytest.raises(RebalanceError, match="unknown-scan"):
        Coordinator(shared.address).record("new")


def half_open(address):
    """Connections that say nothing, or stop in the middle of a greeting."""
    silent = [socket.create_connection((address.host, address.port), timeout=PATIENCE_SECONDS) for _ in range(50)]
    for connection in silent[::2]:
        with suppress(ConnectionError):  # it may be closed already
            connection.sendall(b'{"proof": ')
    return silent


def test_connections_that_stay_half_open_hold_up_nobody(monkeypatch):
    monkeypatch.setattr(server_module, "GREETING_SECONDS", 3600)  # they stay
    with served("token") as address:
        silent = half_open(address)
        Coordinator(address).create("scan", SEGMENTS, RANGES)
        assert read_all(address, "scan", 1)
        for connection in silent:
            connection.close()


def test_connections_that_stay_half_open_are_closed(monkeypatch):
    monkeypatch.setattr(server_module, "GREETING_SECONDS", 0.1)
    with served("token") as address:
        for connection in half_open(address):
            with connection, suppress(ConnectionResetError):
                while connection.recv(4096):
                    pass


def test_a_client_that_fetches_no_answers_holds_up_nobody_and_fills_no_memory(shared, scan):
    read_all(shared.address, scan, 2)
    before = memory_of(shared.pid)
    connection, lines = proven_socket(shared.address)
    connection.settimeout(2.0)
    sent = 0
    with connection, lines, suppress(TimeoutError):
        while sent < 100_000_000:
            sent += connection.send(request_for(scan, 2, 0) * 500)
        pytest.fail("the coordinator swallows whatever it is sent")
    assert read_all(shared.address, scan, 3)
    assert memory_of(shared.pid) - before < 50_000_000
