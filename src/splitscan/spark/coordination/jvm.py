"""Facts that a Python worker of Spark can find out about its virtual machine."""

from __future__ import annotations

import os
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from splitscan.errors import RebalanceError
from splitscan.rebalance.coordinator.process import ListenAddress

_SCHEDULER_THREAD = "dispatcher-Coar"  # of CoarseGrainedScheduler: it is there when executors are other processes
_SERVERS_FOR_EXECUTORS = 2  # Spark's messages, and its blocks
_LISTENING = "0A"
_WILDCARD = "0.0.0.0"


def find_jvm() -> int:
    """The virtual machine above this process: the closest ancestor that is one.

    Raises:
        RebalanceError: ``[coordinator-failed]`` if there is none.
    """
    process = os.getppid()
    while process > 1:
        parent, name = _parent_and_name(process)
        if name == "java":
            return process
        process = parent
    raise RebalanceError(
        "a coordinator is started next to the driver of Spark, by a process below its virtual machine",
        seen="no ancestor of this process is called java",
        fix="leave rebalance out, or use scan.to_spark(spark, rebalance=True)",
        code="coordinator-failed",
    )


def choose_place(jvm: int) -> ListenAddress:
    """Address at which a coordinator for a driver's virtual machine has to listen.

    Loopback where tasks run in that very process. Otherwise where the driver itself listens; readers find it by the
    host by which they find the driver.
    """
    return place_beside(listened_addresses(jvm)) if _has_executors(jvm) else ListenAddress()


def place_beside(listening: Mapping[str, int]) -> ListenAddress:
    """Address of a coordinator beside a driver whose executors are other processes: as narrow as the driver does.

    The driver has two servers for its executors, which listen on one address. That it is loopback is not said by one
    socket there (the gateway of PySpark always is), nor denied by some on the wildcard (Spark's UI, the server of
    Spark Connect).

    Args:
        listening: How many sockets the driver listens with on each address; the wildcard is one of them.

    Example:
        >>> place_beside({"127.0.0.1": 3, "0.0.0.0": 1}).bound, place_beside({"127.0.0.1": 1, "0.0.0.0": 3}).bound
        ('127.0.0.1', '0.0.0.0')
    """
    own = {address for address in listening if address != _WILDCARD}
    outer = {address for address in own if not ip_address(address).is_loopback}
    if len(outer) == 1:
        return ListenAddress(*outer, *outer)
    if own and not outer:
        inner = max(sorted(own), key=lambda address: listening[address])
        if listening[inner] >= max(_SERVERS_FOR_EXECUTORS, listening.get(_WILDCARD, 0)):
            return ListenAddress(inner, inner)
    return ListenAddress(_WILDCARD, socket.gethostname())


def _has_executors(jvm: int) -> bool:
    """True if the tasks of a driver run elsewhere; not known of systems without ``/proc``."""
    with suppress(OSError):
        return any(name.startswith(_SCHEDULER_THREAD) for name in thread_names(jvm))
    return False


def thread_names(process: int) -> Iterator[str]:
    """Names of the threads of a process.

    Raises:
        OSError: If it is gone, or the system has no ``/proc``.
    """
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):  # it ended
            yield (thread / "comm").read_text()


def listened_addresses(process: int) -> Counter[str]:
    """With how many sockets a process listens for TCP on each address; the wildcard is one of them."""
    sockets = set(_sockets(process))
    found: Counter[str] = Counter()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and fields[9] in sockets:
                    found[_address(fields[1].partition(":")[0])] += 1
    return found


def _sockets(process: int) -> Iterator[str]:
    """Inodes of the sockets of a process."""
    with suppress(OSError):
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                target = os.readlink(descriptor)  # noqa: PTH115 - no path
                if target.startswith("socket:["):
                    yield target[len("socket:[") : -1]


def _address(hexadecimal: str) -> str:
    """An address as the kernel's tables have it: words of four bytes in the machine's order."""
    words = [bytes.fromhex(hexadecimal[at : at + 8])[::-1] for at in range(0, len(hexadecimal), 8)]
    found = ip_address(b"".join(words))
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    address = mapped or found
    return _WILDCARD if address.is_unspecified else str(address)


def _parent_and_name(process: int) -> tuple[int, str]:
    """Parent and name of a process; parent 0 if it is gone."""
    try:
        name = Path(f"/proc/{process}/comm").read_text().strip()
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]), name
    except OSError:
        pass
    asked = subprocess.run(["ps", "-o", "ppid=,comm=", "-p", str(process)], capture_output=True, text=True, check=False)
    parent, _, command = asked.stdout.strip().partition(" ")
    return int(parent or 0), Path(command.strip()).name
