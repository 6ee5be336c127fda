"""Time zones by name, and points in time as microseconds since the epoch."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from typing import Any

from splitscan.options.table import OptionKind, ValueRefusedError, show_text

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?")
_MAX_OFFSET_HOURS = 18  # as java.time.ZoneOffset
_NOT_REGIONS = {"localtime", "posixrules"}  # files of some systems, which no other machine reads
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def zone_of(name: str) -> dt.tzinfo:
    """Return the time zone called *name*: a region (``Europe/Berlin``), an offset (``+01:00``) or ``UTC``.

    Raises:
        ValueError: If there is no such zone.

    Example:
        >>> zone_of("+01:30").utcoffset(None)
        datetime.timedelta(seconds=5400)
    """
    if name.upper() in ("UTC", "GMT", "Z"):
        return dt.UTC
    match = _OFFSET.fullmatch(name)
    if match is not None:
        hours, minutes = int(match.group(2)), int(match.group(3) or 0)
        if hours * 60 + minutes > _MAX_OFFSET_HOURS * 60 or minutes >= 60:
            message = f"offset {name} is out of range"
            raise ValueError(message)
        offset = dt.timedelta(hours=hours, minutes=minutes)
        return dt.timezone(-offset if match.group(1) == "-" else offset)
    try:
        if name in _NOT_REGIONS or name.startswith(("posix/", "right/")):
            raise KeyError(name)
        return zoneinfo.ZoneInfo(name)
    except (KeyError, OSError) as failure:
        message = f"there is no time zone {name}"
        raise ValueError(message) from failure


def parse_zone(value: Any) -> str:
    """Check a time zone and return the one name that everybody reads: ``UTC``, ``+HH:MM`` or a region.

    Example:
        >>> parse_zone("gmt"), parse_zone("UTC-3"), parse_zone("Europe/Berlin")
        ('UTC', '-03:00', 'Europe/Berlin')
    """
    if not isinstance(value, str) or not value:
        raise ValueRefusedError
    try:
        zone = zone_of(value)
    except ValueError:
        raise ValueRefusedError from None
    if not isinstance(zone, dt.timezone):
        return value
    return "UTC" if zone == dt.UTC else str(zone).removeprefix("UTC")


ZONE = OptionKind("time zone", "a time zone such as Europe/Berlin, +01:00 or UTC", parse_zone, show_text)


def epoch_us(moment: dt.datetime, zone: str) -> int:
    """Return microseconds since the epoch; a *moment* without an offset of its own is read in *zone*.

    Example:
        >>> epoch_us(dt.datetime(1970, 1, 1, 1), "+01:00"), epoch_us(dt.datetime(1970, 1, 1, 1), "UTC")
        (0, 3600000000)
    """
    placed = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone_of(zone))
    return (placed - _EPOCH) // dt.timedelta(microseconds=1)
