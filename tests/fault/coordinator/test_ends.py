"""Coordinators end with their driver, and hold up nobody while it is busy."""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from splitscan.errors import UsageError
from splitscan.rebalance.client import Claims, Coordinator
from splitscan.rebalance.coordinator_process import start_coordinator
from splitscan.rebalance.messages import CoordinatorAddress

from ...clusters.processes import wait_until
from .asking import PATIENCE_SECONDS, RANGES, SEGMENTS, is_alive, read_all

pytestmark = [pytest.mark.fault, pytest.mark.slow]

DRIVER = r"""
import os, signal, subprocess, sys, time
from splitscan.rebalance.claim_values import Segment
from splitscan.rebalance.client import Coordinator
from splitscan.rebalance.coordinator_process import start_coordinator

address, pid = start_coordinator("127.0.0.1", [os.getpid()])
Coordinator(address).create("s", [Segment(10)], [(0, 10)])
if sys.argv[1] == "forked child":
    if os.fork() == 0:
        os.close(1)
        time.sleep(600)
print(pid, flush=True)
sys.stdin.readline()
match sys.argv[1]:
    case "exception": raise RuntimeError
    case "sys.exit": sys.exit(3)
    case "os._exit": os._exit(3)
    case "killed" | "forked child": os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("end", ["normal", "exception", "sys.exit", "os._exit", "killed", "forked child"])
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
from splitscan.rebalance.coordinator_process import start_coordinator
address, pid = start_coordinator("127.0.0.1", [int(sys.argv[1])])
print(pid, address.port, address.token, flush=True)
"""


def test_a_coordinator_outlives_its_planner_and_ends_with_the_process_it_watches():
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
    _, pid = start_coordinator("127.0.0.1", [gone.pid])
    wait_until("its end", lambda: not is_alive(pid))


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
from splitscan.rebalance.client import Claims
from splitscan.rebalance.messages import CoordinatorAddress
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
