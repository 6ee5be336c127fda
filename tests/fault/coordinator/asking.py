"""A scan of two million positions, and what tests ask a coordinator of it."""

import json
import os
import signal
import socket
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from splitscan.rebalance import messages
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.claim_values import ChunkStats, Segment
from splitscan.rebalance.client import Claims
from splitscan.rebalance.coordinator_process import start_coordinator
from splitscan.rebalance.messages import CoordinatorAddress

from ...clusters.processes import Seen

SEGMENTS = [Segment(100_000, f"file {number}") for number in range(20)]
RANGES = PositionSpace(SEGMENTS).even_ranges(4)
TOTAL = 2_000_000
PATIENCE_SECONDS = 120  # a busy machine is no failure


class Running(NamedTuple):
    address: CoordinatorAddress
    pid: int


@contextmanager
def running(host="127.0.0.1"):
    """A coordinator that ends with the test."""
    process = Running(*start_coordinator(host, [os.getpid()]))
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def read_all(address, scan, partition):
    with Claims(address, scan, partition) as claims:
        chunks = []
        stats = None
        while (chunk := claims.next(len(chunks), stats)) is not None:
            chunks.append((chunk.start, chunk.stop))
            stats = ChunkStats(0.001, 1, chunk.stop - chunk.start)
        return chunks


def tiles(chunks, total=TOTAL):
    reached = 0
    for start, stop in sorted(chunks):
        if start != reached:
            return False
        reached = stop
    return reached == total


def is_alive(pid):
    return Seen(pid, "").is_running


def proven_socket(address):
    """A connection that has greeted, for messages that no client of ours would send."""
    connection = socket.create_connection((address.host, address.port), timeout=PATIENCE_SECONDS)
    lines = connection.makefile("rb")
    nonce = json.loads(lines.readline())["nonce"]
    connection.sendall(messages.encode({"proof": messages.proof(address.token, "client", nonce), "nonce": "n"}))
    assert messages.proves(json.loads(lines.readline())["proof"], address.token, "server", "n")
    return connection, lines


def request_for(scan, partition, number):
    return messages.encode({"op": "next", "scan": scan, "partition": partition, "index": number, "stats": None})


def memory_of(pid):
    """Resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class SleepingClock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        return self.seconds

    def perf_counter(self):
        return self.seconds

    def sleep(self, seconds):
        self.seconds += seconds
