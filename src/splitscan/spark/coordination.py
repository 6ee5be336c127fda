"""The coordinator of a Spark session: started beside the driver, told of a scan, asked by tasks and for its report."""

# Over 400 lines: a session and its coordinator.

from __future__ import annotations

import json
import os
import socket
import subprocess
import uuid
import warnings
import zlib
from base64 import b85decode, b85encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkContext, TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from splitscan.errors import RebalanceError, UsageError
from splitscan.reading.given_up import RejectCounter
from splitscan.reading.spec import ScanSpec
from splitscan.rebalance.chunk_reader import ChunkReader
from splitscan.rebalance.claim_values import Segment
from splitscan.rebalance.client import Claims, Coordinator
from splitscan.rebalance.coordinator_process import ListenAddress, SharedCoordinator, shared_coordinator
from splitscan.rebalance.messages import CoordinatorAddress
from splitscan.rebalance.report import RebalanceReport
from splitscan.spark.contexts import classic_context, is_local

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


Ranges = Sequence[tuple[int, int]]

_DRIVER_HOST = "spark.driver.host"
_REGISTRY = "splitscan_registry"
_PLAN = "plan"
_SEEN_CHARS = 1000  # of an error of Spark, which may hold its plan


class RebalanceWarning(UserWarning):
    """A scan is read by fixed ranges although rebalancing was asked for."""


@dataclass(frozen=True, slots=True)
class RegisteredScan:
    """A scan that a coordinator knows.

    Attributes:
        scan: Its identity.
        address: Where readers find the coordinator.
    """

    scan: str
    address: CoordinatorAddress


def register_scan(spark: SparkSession, segments: Sequence[Segment], ranges: Ranges) -> RegisteredScan | None:
    """Tell the session's coordinator of a scan, before any task reads it.

    A classic session's coordinator runs beside this process; that of Spark Connect beside the server, which is asked
    through a data source.

    Args:
        spark: The session.
        segments: The blocks of the plan, in order.
        ranges: One range of positions per partition.

    Returns:
        The scan; ``None``, after a :class:`RebalanceWarning`, if there can be no coordinator: then, and only then,
        reading by fixed ranges is right.
    """
    context = classic_context(spark)
    try:
        if context is not None:
            return _register(_coordinator_of(spark, context), segments, ranges)
        return _register_beside_server(spark, segments, ranges)
    except RebalanceError as error:
        warn_of_fixed_ranges(error)
        return None


def has_coordinator(spark: SparkSession) -> bool:
    """True if the session's coordinator answers; it is started for that. Warns, as :func:`register_scan`, if not."""
    context = classic_context(spark)
    try:
        if context is None:
            _ask_server(spark, None)
        else:
            Coordinator(_coordinator_of(spark, context).near).ping()
    except RebalanceError as error:
        warn_of_fixed_ranges(error)
        return False
    return True


def register_in_planner(segments: Sequence[Segment], ranges: Ranges) -> RegisteredScan | None:
    """Register in a process that Spark started to plan a query: it has no session, but the driver above it."""
    try:
        return _register(_below_jvm(), segments, ranges)
    except RebalanceError as error:
        warn_of_fixed_ranges(error)
        return None


def session_coordinator(spark: SparkSession) -> Coordinator:
    """Coordinator of the scans of a classic session.

    Raises:
        RebalanceError: ``[coordinator-failed]`` if there is none; with Spark Connect it cannot be reached from here.
    """
    context = classic_context(spark)
    if context is None:
        raise RebalanceError(
            "the coordinator of a Spark Connect server answers to its executors alone",
            seen="a session of Spark Connect", fix="ask in a classic session", code="coordinator-failed",
        )  # fmt: skip
    return Coordinator(_coordinator_of(spark, context).near)


def reachable(address: CoordinatorAddress) -> CoordinatorAddress:
    """The address as a task has to use it: the host is the one by which the task knows its driver."""
    context = TaskContext.get()
    host = None if context is None else context.getLocalProperty(_DRIVER_HOST)
    if address.host == ListenAddress().advertised or not host:
        return address
    return CoordinatorAddress(host, address.port, address.token)


def warn_of_fixed_ranges(error: RebalanceError) -> None:
    """Say that a scan is not rebalanced, and why; a process says it once for each reason."""
    warnings.warn(f"rebalance: the scan is read by fixed ranges: {error}", RebalanceWarning, stacklevel=2)


def _coordinator_of(spark: SparkSession, context: SparkContext) -> SharedCoordinator:
    jvm: Any = context._jvm  # noqa: SLF001 - PySpark has no public door to it
    process = int(jvm.java.lang.ProcessHandle.current().pid())

    def choose() -> ListenAddress:
        if is_local(spark):
            return ListenAddress()
        host = str(context.getConf().get(_DRIVER_HOST))
        return ListenAddress(str(context.getConf().get("spark.driver.bindAddress", host)), host)

    return shared_coordinator(process, choose)


def _register(coordinator: SharedCoordinator, segments: Sequence[Segment], ranges: Ranges) -> RegisteredScan:
    scan = uuid.uuid4().hex
    Coordinator(coordinator.near).create(scan, segments, ranges)
    return RegisteredScan(scan, coordinator.far)


def _below_jvm() -> SharedCoordinator:
    jvm = find_jvm()
    return shared_coordinator(jvm, lambda: choose_place(jvm))


def _register_beside_server(spark: SparkSession, segments: Sequence[Segment], ranges: Ranges) -> RegisteredScan:
    row = _ask_server(spark, pack_plan(segments, ranges))
    return RegisteredScan(row["scan"], CoordinatorAddress.from_option(row["address"]))


def _ask_server(spark: SparkSession, plan: str | None) -> Row:
    """The answer of the registry beside the server of Spark Connect; without a plan, whether there is a coordinator."""
    try:
        spark.dataSource.register(RegistrySource)
        reader = spark.read.format(_REGISTRY)
        (row,) = (reader if plan is None else reader.option(_PLAN, plan)).load().collect()
    except PySparkException as error:
        raise _none_beside_server(f"{type(error).__name__}: {error}"[:_SEEN_CHARS]) from error
    if row["failure"] is not None:
        raise _none_beside_server(row["failure"])
    found: Row = row
    return found


def _none_beside_server(seen: str) -> RebalanceError:
    return RebalanceError(
        "rebalancing needs a coordinator beside the server of Spark Connect", seen=seen,
        fix="leave rebalance out, or see the server's log", code="coordinator-failed",
    )  # fmt: skip


def pack_plan(segments: Sequence[Segment], ranges: Ranges) -> str:
    """A plan as the text of an option."""
    return b85encode(zlib.compress(json.dumps([segments, ranges]).encode())).decode()


def unpack_plan(text: str) -> tuple[list[Segment], list[tuple[int, int]]]:
    """The inverse of :func:`pack_plan`."""
    segments, ranges = json.loads(zlib.decompress(b85decode(text)))
    return [Segment(*segment) for segment in segments], [(start, stop) for start, stop in ranges]


class RegistrySource(DataSource):
    """Registers a scan where the driver of Spark Connect runs, and gives its identity and address as one row.

    Without a plan it registers none, and gives a row without them, or the failure.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._plan = options.get(_PLAN)

    @classmethod
    def name(cls) -> str:
        """The name behind ``format(...)``."""
        return _REGISTRY

    def schema(self) -> str:
        """One row, of a scan or of a failure."""
        return "scan string, address string, failure string"

    def reader(self, schema: Any) -> RegistryReader:
        """Reader that registers."""
        return RegistryReader(self._plan)


class RegistryReader(DataSourceReader):
    """Registers when the query is planned, which is once, and in a process below the driver's virtual machine."""

    def __init__(self, plan: str | None) -> None:
        self._plan = plan

    def partitions(self) -> Sequence[InputPartition]:
        """Register; what went wrong is an answer too."""
        try:
            if self._plan is None:
                Coordinator(_below_jvm().near).ping()
                return [InputPartition((None, None, None))]
            found = _register(_below_jvm(), *unpack_plan(self._plan))
        except RebalanceError as error:
            return [InputPartition((None, None, str(error)))]
        return [InputPartition((found.scan, found.address.to_option(), None))]

    def read(self, partition: InputPartition) -> Iterator[tuple[str | None, ...]]:
        """The answer."""
        yield partition.value


@dataclass(frozen=True, slots=True)
class ClaimedPartition:
    """All that a task must know, beside how records are read: whom to ask, and for which partition.

    Attributes:
        registered: The scan.
        number: The partition.
        secrets: Credentials of the plan's paths.

    Pickling: with all secrets, so only inside Spark's own tasks; ``repr`` does not show them.
    """

    registered: RegisteredScan
    number: int
    secrets: tuple[str, ...] = field(repr=False)


def read_claimed(spec: ScanSpec, partition: ClaimedPartition) -> Iterator[pa.RecordBatch]:
    """Claim chunk after chunk and read it, up to the limit of *spec*; every run of a partition gives the same rows.

    Raises:
        RebalanceError: If the coordinator cannot say what comes next. The task must fail then.
    """
    registered, losses, limit = partition.registered, RejectCounter(spec.options), spec.options.reading.limit
    with Claims(reachable(registered.address), registered.scan, partition.number) as claims:
        try:
            yield from ChunkReader(spec, claims.next, partition.secrets, limit=limit, losses=losses).batches()
        finally:
            losses.report()


def rebalance_report(spark: SparkSession) -> RebalanceReport:
    """Report of the latest rebalanced scan of a session, so far: chunks, ranges that moved, idle time.

    The latest is the one planned last among those that Spark has begun to read. Only the first action on a DataFrame is
    rebalanced; others read what the first one divided.

    Raises:
        UsageError: ``[no-rebalance]`` if no rebalanced scan of this session was read.
        RebalanceError: If the coordinator does not answer; that of Spark Connect answers to its executors alone.
    """
    coordinator = session_coordinator(spark)
    for scan in reversed(coordinator.scans()):
        report = RebalanceReport(coordinator.record(scan))
        if report.claimed_bytes:
            return report
    raise UsageError(
        "a report tells of a rebalanced scan that was read", seen="no such scan in this session",
        fix="make a DataFrame with to_spark(spark, rebalance=True), and run it", code="no-rebalance",
    )  # fmt: skip
