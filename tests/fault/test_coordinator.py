"""Coordinators as processes: they are killed, paused, replaced, misused, and left behind. No Spark."""

import ctypes
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from splitscan.errors import RebalanceError, UsageError
from splitscan.rebalance import (
    ChunkStats,
    Claims,
    Coordinator,
    CoordinatorAddress,
    PositionSpace,
    Segment,
    messages,
    start_coordinator,
)
from splitscan.rebalance import connection as connection_module
from splitscan.rebalance.coordinator import server as server_module

from ..clusters.coordinators import served
from ..clusters.processes import Seen, wait_until

pytestmark = [pytest.mark.fault, pytest.mark.slow]

SEGMENTS = [Segment(100_000, f"file {number}") for number in range(20)]
RANGES = PositionSpace(SEGMENTS).even_ranges(4)
TOTAL = 2_000_000
PATIENCE_SECONDS = 120  # a busy machine is no failure


@pytest.fixture(scope="module")
def shared():
    with start_coordinator() as process:
        yield process


@pytest.fixture
def scan(shared, request):
    Coordinator(shared.address).create(request.node.name, SEGMENTS, RANGES)
    return request.node.name


@pytest.fixture
def own():
    with start_coordinator() as process:
        Coordinator(process.address).create("scan", SEGMENTS, RANGES)
        yield process


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


class SleepingClock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        return self.seconds

    def sleep(self, seconds):
        self.seconds += seconds


def test_a_coordinator_that_is_killed_fails_the_reader_in_bounded_time(own, monkeypatch):
    clock = SleepingClock()
    monkeypatch.setattr(connection_module, "time", clock)
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
    settings |= {"watch": [os.getpid()], "detached": False, "leaves": []}
    process = subprocess.Popen(
        [sys.executable, "-m", "splitscan.rebalance.coordinator"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.stdin.write(json.dumps(settings).encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["port"] == address.port
    return process


@pytest.mark.parametrize(("same_token", "code"), [(True, "unknown-scan"), (False, "coordinator-refused")])
def test_an_empty_successor_on_the_same_port_fails_the_reader(own, same_token, code):
    claims = Claims(own.address, "scan", 0)
    assert claims.next(0) is not None
    os.kill(own.pid, signal.SIGKILL)
    wait_until("its end", lambda: not is_alive(own.pid))
    process = successor(own.address, own.address.token if same_token else "0" * 64)
    try:
        with pytest.raises(RebalanceError, match=code):
            claims.next(1)
        with pytest.raises(RebalanceError, match=code):
            Claims(own.address, "scan", 0).next(0)
    finally:
        process.stdin.close()
        process.stdout.close()
        assert process.wait(PATIENCE_SECONDS) == 0


def test_a_coordinator_that_hangs_for_a_while_fails_nobody(own):
    """Four seconds here, so that nobody waits for long; the patience with one that is silent is more than twenty."""
    assert connection_module._ANSWER_SECONDS > 20
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
        start_coordinator(host="192.0.2.1")  # an address of documentation: nobody has it


# --- whoever else connects


def test_a_wrong_token_is_refused_at_once_and_changes_nothing(shared, scan, monkeypatch):
    wrong = CoordinatorAddress(shared.address.host, shared.address.port, "0" * 64)
    clock = SleepingClock()
    monkeypatch.setattr(connection_module, "time", clock)
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
    monkeypatch.setattr(server_module, "_GREETING_SECONDS", 3600)  # they stay
    with served("token") as address:
        silent = half_open(address)
        Coordinator(address).create("scan", SEGMENTS, RANGES)
        assert read_all(address, "scan", 1)
        for connection in silent:
            connection.close()


def test_connections_that_stay_half_open_are_closed(monkeypatch):
    monkeypatch.setattr(server_module, "_GREETING_SECONDS", 0.1)
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


def memory_of(pid):
    """Resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


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


# --- the end of the coordinator

DRIVER = r"""
import os, signal, subprocess, sys, time
from splitscan.rebalance import Coordinator, Segment, start_coordinator

process = start_coordinator()
Coordinator(process.address).create("s", [Segment(10)], [(0, 10)])
if sys.argv[1] == "forked child":
    if os.fork() == 0:
        os.close(1)
        time.sleep(600)
print(process.pid, flush=True)
sys.stdin.readline()
match sys.argv[1]:
    case "exception": raise RuntimeError
    case "sys.exit": sys.exit(3)
    case "os._exit": os._exit(3)
    case "killed" | "forked child": os.kill(os.getpid(), signal.SIGKILL)
    case "closed": process.close(); time.sleep(600)
    case "exec": os.execv("/bin/sleep", ["sleep", "600"])
"""


@pytest.mark.parametrize(
    "end", ["normal", "exception", "sys.exit", "os._exit", "killed", "forked child", "closed", "exec"]
)
def test_no_coordinator_outlives_its_driver(end):
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, end],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        coordinator = int(driver.stdout.readline())
        assert is_alive(coordinator)
        driver.stdin.write(b"\n")
        driver.stdin.flush()
        wait_until("its end", lambda: not is_alive(coordinator))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.communicate()


PLANNER = r"""
import sys
from splitscan.rebalance import start_coordinator
process = start_coordinator(watch=[int(sys.argv[1])], detached=True)
print(process.pid, process.address.port, process.address.token, flush=True)
"""


def test_a_detached_coordinator_outlives_its_planner_and_ends_with_the_process_it_watches():
    with subprocess.Popen(["/bin/sleep", "600"]) as watched:
        planner = subprocess.run(
            [sys.executable, "-c", PLANNER, str(watched.pid)],
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )  # which returns, so nothing holds the planner's pipes open
        pid, port, token = planner.stdout.split()
        address = CoordinatorAddress("127.0.0.1", int(port), token)
        time.sleep(1.0)
        Coordinator(address).create("scan", SEGMENTS, RANGES)
        assert read_all(address, "scan", 0)
        watched.kill()
        watched.wait()
        wait_until("its end", lambda: not is_alive(int(pid)))


def test_a_coordinator_of_a_process_that_is_gone_does_not_start():
    with subprocess.Popen(["/bin/true"]) as gone:
        gone.wait()
    process = start_coordinator(watch=[gone.pid], detached=True)
    assert process.pid != os.getpid()
    wait_until("its end", lambda: not is_alive(process.pid))


def test_a_detached_coordinator_must_watch_somebody():
    with pytest.raises(RebalanceError, match="coordinator-failed"):
        start_coordinator(detached=True)


def test_ctrl_c_is_for_the_driver(own):
    os.kill(own.pid, signal.SIGINT)
    time.sleep(0.3)
    assert read_all(own.address, "scan", 0)


def test_nobody_who_lists_processes_sees_the_token(own):
    token = own.address.token.encode()
    for name in ("cmdline", "environ"):
        assert token not in Path(f"/proc/{own.pid}/{name}").read_bytes()
    shown = f"{own.address!r} {own.address} {own!r} {Coordinator(own.address)!r} {Claims(own.address, 's', 0)!r}"
    assert own.address.token not in shown
    with pytest.raises(UsageError) as caught:
        CoordinatorAddress.from_option(own.address.to_option() + "x")
    assert own.address.token not in str(caught.value)


# --- a driver that is busy

CLIENT = r"""
import sys
from splitscan.rebalance import Claims, CoordinatorAddress
claims = Claims(CoordinatorAddress.from_option(sys.stdin.readline().strip()), "scan", 0)
for _ in range(300):
    claims.next(0)
sys.stdout.write("x")
"""


class PollDescriptor(ctypes.Structure):
    """What ``poll`` waits for."""

    _fields_ = (("descriptor", ctypes.c_int), ("events", ctypes.c_short), ("happened", ctypes.c_short))


def poll_without_letting_go(descriptor):
    """Wait for input in one C call that never lets go of the interpreter; whether there is any."""
    wanted = PollDescriptor(descriptor, select.POLLIN, 0)
    waited = ctypes.PyDLL(None).poll(ctypes.byref(wanted), ctypes.c_ulong(1), 1000 * PATIENCE_SECONDS)
    return waited == 1 and wanted.happened == select.POLLIN


def test_a_driver_that_keeps_the_interpreter_busy_holds_up_nobody(own):
    with subprocess.Popen([sys.executable, "-c", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        client.stdin.write(own.address.to_option().encode() + b"\n")
        client.stdin.flush()
        assert poll_without_letting_go(client.stdout.fileno())
        assert client.stdout.read() == b"x"
