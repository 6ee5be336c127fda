"""In which time zone a session reads times that name none, as the driver, a planner and a task get to know it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol, Self, TypeVar

from pyspark import TaskContext
from pyspark.sql import SparkSession

from splitscan.errors import UsageError
from splitscan.options.table import ValueRefusedError
from splitscan.options.zones import parse_zone
from splitscan.scan import ScanSpec

_SETTING = "spark.sql.session.timeZone"
_LOCALTIME = Path("/etc/localtime")
_DATABASE = "zoneinfo/"


class Zoned(Protocol):
    """Reader of times."""

    def in_zone(self, zone: str) -> Self:
        """A copy with another zone of times that name none, unless the user gave one."""


Z = TypeVar("Z", bound=Zoned)


def in_session_zone(scan: Z, spark: SparkSession) -> Z:
    """Read in the zone of a session, unless the user gave option ``timeZone``.

    Raises:
        UsageError: ``[bad-option]`` if the session's zone has a name that only Java knows.
    """
    return in_zone(scan, spark.conf.get(_SETTING) or "UTC")


def in_task_zone(spec: ScanSpec, otherwise: str) -> ScanSpec:
    """Read in a task, in the zone of its session: Spark hands over its settings that were set.

    Args:
        spec: What is read.
        otherwise: The zone of the machine that planned, which is that of its virtual machine.

    Raises:
        UsageError: ``[bad-option]`` if the session's zone has a name that only Java knows.
    """
    context = TaskContext.get()
    return in_zone(spec, (context and context.getLocalProperty(_SETTING)) or otherwise)


def machine_zone(localtime: Path = _LOCALTIME) -> str:
    """The zone of this machine, where Java looks for it too: the variable ``TZ``, then what *localtime* links to."""
    linked = localtime.resolve().as_posix()
    for name in (os.environ.get("TZ", "").removeprefix(":"), linked.rpartition(_DATABASE)[2]):
        try:
            return parse_zone(name.rpartition(_DATABASE)[2])
        except ValueRefusedError:
            continue
    return "UTC"


def in_zone(scan: Z, zone: str) -> Z:
    """Read in a zone that Spark names, unless the user gave option ``timeZone``.

    Raises:
        UsageError: ``[bad-option]`` if only Java knows the zone by that name.
    """
    try:
        return scan.in_zone(zone)
    except ValueRefusedError:
        raise UsageError(
            "times that name no zone are in that of the session, which only Java knows by this name",
            seen=f"{_SETTING}={zone}",
            fix=f"set {_SETTING}, or option timeZone, to a region such as Europe/Berlin, to +01:00 or UTC",
            code="bad-option",
        ) from None
