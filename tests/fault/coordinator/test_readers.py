"""Readers that die, answers that get lost, and coordinators that are killed, replaced, paused or out of reach."""

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from splitscan.errors import RebalanceError
from splitscan.rebalance import client as client_module
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.claim_values import Segment
from splitscan.rebalance.client import Claims, Coordinator
from splitscan.rebalance.coordinator_process import start_coordinator
from splitscan.rebalance.messages import CoordinatorAddress

from ...clusters.processes import Seen, wait_until
from .asking import (
    RANGES,
    SEGMENTS,
    TOTAL,
    SleepingClock,
    is_alive,
    memory_of,
    proven_socket,
    read_all,
    request_for,
    tiles,
)

pytestmark = [pytest.mark.fault, pytest.mark.slow]

# --- many readers


def test_sixteen_readers_get_every_position_once_and_the_same_again(shared):
    Coordinator(shared.address).create("sixteen", SEGMENTS, PositionSpace(SEGMENTS).even_ranges(16))
    with ThreadPoolExecutor(16) as pool:
        first = list(pool.map(lambda partition: read_all(shared.address, "sixteen", partition), range(16)))
        again = list(pool.map(lambda partition: read_all(shared.address, "sixteen", partition), range(16)))
    assert tiles([chunk for chunks in first for chunk in chunks])
    assert again == first
    coordinator = Coordinator(shared.address)
    assert [coordinator.entries("sixteen", partition) for partition in range(16)] == first
    record = coordinator.record("sixteen")
    assert record.finished
    assert sum(partition.positions for partition in record.partitions) == TOTAL
    assert sum(chunk.stop - chunk.start for chunk in record.chunks) == TOTAL
    assert sum(partition.records for partition in record.partitions) == len(record.chunks)


# --- readers that die, answers that get lost


def test_a_reader_that_dies_while_its_claim_is_under_way_loses_nothing(shared, scan):
    for number in range(3):
        connection, lines = proven_socket(shared.address)
        connection.sendall(request_for(scan, 0, number))
        wait_until("its claim", lambda number=number: len(Coordinator(shared.address).entries(scan, 0)) == number + 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        lines.close()
        connection.close()  # with a reset: nobody reads the answer
    lost = Coordinator(shared.address).entries(scan, 0)
    chunks = [read_all(shared.address, scan, partition) for partition in range(4)]
    assert chunks[0][:3] == lost
    assert tiles([chunk for partition in chunks for chunk in partition])


class Lossy:
    """A proxy that passes requests on, and breaks off now and then before or after the answer has passed."""

    def __init__(self, target, rng):
        self._target = target
        self._rng = rng
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.broken = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client):
        with client, suppress(OSError), socket.create_connection((self._target.host, self._target.port)) as server:
            server_lines, client_lines = server.makefile("rb"), client.makefile("rb")
            client.sendall(server_lines.readline())  # the greeting
            while line := client_lines.readline():
                server.sendall(line)
                answer = server_lines.readline()
                if self._rng.random() < 0.3:
                    self.broken += 1
                    client.sendall(answer[: self._rng.randrange(len(answer))])
                    return
                client.sendall(answer)

    def close(self):
        self._listener.close()


def test_answers_that_get_lost_are_asked_for_again(shared, scan):
    proxy = Lossy(shared.address, random.Random(1))
    through = CoordinatorAddress("127.0.0.1", proxy.port, shared.address.token)
    chunks = [read_all(through, scan, partition) for partition in range(4)]
    proxy.close()
    assert proxy.broken > 10
    assert tiles([chunk for partition in chunks for chunk in partition])
    assert chunks == [Coordinator(shared.address).entries(scan, partition) for partition in range(4)]


# --- the coordinator: killed, replaced, slow, out of reach


def test_a_coordinator_that_is_killed_fails_the_reader_in_bounded_time(own, monkeypatch):
    clock = SleepingClock()
    monkeypatch.setattr(client_module, "time", clock)
    claims = Claims(own.address, "scan", 0)
    assert claims.next(0) is not None
    os.kill(own.pid, signal.SIGKILL)
    wait_until("its end", lambda: not is_alive(own.pid))
    with pytest.raises(RebalanceError, match="coordinator-lost") as caught:
        claims.next(1)
    assert 3 < clock.seconds < 6
    assert own.address.token not in str(caught.value)
    assert str(own.address.port) not in str(caught.value)


def successor(address, token):
    """An empty coordinator on the same port."""
    settings = {"token": token, "host": address.host, "port": address.port}
    settings |= {"watch": [os.getpid()], "leaves": []}
    process = subprocess.run(
        [sys.executable, "-m", "splitscan.rebalance.coordinator"],
        input=json.dumps(settings).encode() + b"\n", stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    ready = json.loads(process.stdout)
    assert ready["port"] == address.port
    return ready["pid"]


@pytest.mark.parametrize(("same_token", "code"), [(True, "unknown-scan"), (False, "coordinator-refused")])
def test_an_empty_successor_on_the_same_port_fails_the_reader(own, same_token, code):
    claims = Claims(own.address, "scan", 0)
    assert claims.next(0) is not None
    os.kill(own.pid, signal.SIGKILL)
    wait_until("its end", lambda: not is_alive(own.pid))
    pid = successor(own.address, own.address.token if same_token else "0" * 64)
    try:
        with pytest.raises(RebalanceError, match=code):
            claims.next(1)
        with pytest.raises(RebalanceError, match=code):
            Claims(own.address, "scan", 0).next(0)
    finally:
        os.kill(pid, signal.SIGTERM)
        wait_until("its end", lambda: not is_alive(pid))


def test_a_coordinator_that_hangs_for_a_while_fails_nobody(own):
    """Four seconds here, so that nobody waits for long; the patience with one that is silent is more than twenty."""
    assert client_module.ANSWER_SECONDS > 20
    continued = []

    def go_on():
        continued.append(own.pid)
        os.kill(own.pid, signal.SIGCONT)

    claims = Claims(own.address, "scan", 0)
    first = claims.next(0)
    os.kill(own.pid, signal.SIGSTOP)
    wait_until("its stop", lambda: Seen(own.pid, "").is_stopped)
    threading.Timer(4.0, go_on).start()
    second = claims.next(1)
    claims.close()
    assert continued
    with Claims(own.address, "scan", 0) as fresh:
        assert [fresh.next(0), fresh.next(1)] == [first, second]


def test_a_coordinator_that_cannot_be_reached_is_an_error_at_planning():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    coordinator = Coordinator(CoordinatorAddress("127.0.0.1", port, "0" * 64), patience_seconds=0.5)
    with pytest.raises(RebalanceError, match="coordinator-lost"):
        coordinator.create("scan", SEGMENTS, RANGES)


def test_a_coordinator_that_cannot_listen_says_why():
    with pytest.raises(RebalanceError, match="coordinator-failed"):
        start_coordinator("192.0.2.1", [os.getpid()])  # an address of documentation: nobody has it


# --- memory


def test_scans_that_are_planned_and_never_run_cost_little(own):
    segments = [
        Segment(8 << 20, json.dumps({"path": f"/data/table/part-{n:05}.csv", "start": n << 23})) for n in range(500)
    ]
    ranges = PositionSpace(segments).even_ranges(8)
    coordinator = Coordinator(own.address)
    coordinator.create("warm", segments, ranges)
    before = memory_of(own.pid)
    for number in range(500):
        coordinator.create(f"scan {number}", segments, ranges)
    assert (memory_of(own.pid) - before) / 500 < 40_000  # the message alone has 40 kB
