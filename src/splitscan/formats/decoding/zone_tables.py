"""Local times to moments: by Arrow where its time zone rules are those of Python, else by tables of changes."""

from __future__ import annotations

import datetime as dt
import importlib.resources
import struct
import zoneinfo
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.rescue import Rescue, tail_of
from splitscan.options.zones import zone_of

_EPOCH = dt.datetime(1970, 1, 1)
_SECOND = dt.timedelta(seconds=1)
_EARLIEST_US = -(1 << 63)  # before all years
_CYCLE = 400  # years after which the calendar and the days of the week repeat
_LAST_LISTED = 9000  # year: a file of a time zone lists no change after it that is taken
_PROBED_SECONDS = 25 * 86_400  # two changes by one rule are further apart
_HEADER = struct.Struct(">4sc15x6I")  # of such a file
_MAGIC = b"TZif"


class ZoneTable(NamedTuple):
    """Offsets from UTC by wall clock time, in microseconds since 1970 as the clock shows them.

    Attributes:
        starts: From when on each offset holds, as little-endian integers of 64 bits, increasing; the first always did.
        offsets: Microseconds that clocks are ahead of UTC, likewise.
        repeats_from: From here on offsets are those of 400 years before.
    """

    starts: bytes
    offsets: bytes
    repeats_from: int


def kernel_rules(rules: Rules) -> dict[str, object]:
    """Rules as the native engine takes them: with offsets instead of the name of a time zone.

    Example:
        >>> kernel_rules(Rules(time_zone="+01:00"))["zone"]
        3600
    """
    options = {name: value for name, value in vars(rules).items() if name != "time_zone"}
    return {**options, "zone": zone_table(rules.time_zone)}


def parser_rules(rules: Rules, own_rules: Mapping[str, Rules], rescue: Rescue | None) -> dict[str, object]:
    """What the native parsers are told of values: how those of columns are written, and what is kept of the unfit."""
    return {
        "rules": kernel_rules(rules),
        "own_rules": {name: kernel_rules(each) for name, each in own_rules.items()},
        "rescue": None if rescue is None else (tail_of(rescue.path), rescue.wanted),
    }


def plain_rules(rules: Rules) -> dict[str, object]:
    """The same as JSON values."""
    options = kernel_rules(rules)
    zone = options["zone"]
    if isinstance(zone, tuple):
        starts, offsets, repeats = zone
        options["zone"] = [*(np.frombuffer(part, np.int64).tolist() for part in (starts, offsets)), repeats]
    return options


@lru_cache(maxsize=32)
def zone_table(name: str) -> int | ZoneTable:
    """Offsets of a time zone: seconds ahead of UTC if they never change, else a table of at most some thousand entries.

    Of two moments with the same wall clock time the earlier is meant, and where clocks are moved forward the offset
    before holds in the gap: as Python has it with ``fold=0``. Exact for all years from 1 to 9999.

    Raises:
        ValueError: If there is no such zone, or its file is none.

    Example:
        >>> zone_table("-02:30")
        -9000
    """
    zone = zone_of(name)
    if isinstance(zone, dt.timezone):
        return zone.utcoffset(None) // _SECOND
    first, last = _second_of(1), _second_of(_LAST_LISTED)
    listed = [moment for moment in _listed_changes(name) if first < moment < last]
    changes = _wall_clock_changes(zone, listed)
    rule_from = changes[-1][0] if changes else first
    repeats_from = _second_of(_shown(rule_from).year + 1 + _CYCLE)
    changes += _changes_by_rule(zone, rule_from, repeats_from)
    starts = [_EARLIEST_US, *(start * 1_000_000 for start, _ in changes)]
    offsets = [_offset_shown(zone, first), *(offset for _, offset in changes)]
    return ZoneTable(_packed(starts), _packed([offset * 1_000_000 for offset in offsets]), repeats_from * 1_000_000)


def _packed(numbers: list[int]) -> bytes:
    return np.array(numbers, dtype="<i8").tobytes()


def _shown(second: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(seconds=second)


def _second_of(year: int) -> int:
    """When a year begins, as clocks show it."""
    return (dt.datetime(year, 1, 1) - _EPOCH) // _SECOND


def _offset_shown(zone: dt.tzinfo, second: int) -> int:
    """Seconds that clocks are ahead of UTC when they show this."""
    offset = zone.utcoffset(_shown(second))
    return 0 if offset is None else offset // _SECOND


def _offset_at(zone: dt.tzinfo, second: int) -> int:
    """Seconds that clocks are ahead of UTC at a moment."""
    offset = zone.fromutc(_shown(second).replace(tzinfo=zone)).utcoffset()
    return 0 if offset is None else offset // _SECOND


def _wall_clock_changes(zone: dt.tzinfo, moments: list[int]) -> list[tuple[int, int]]:
    """From which wall clock time on the offset holds that begins at each moment, and that offset."""
    changes = []
    for moment in moments:
        before, offset = _offset_at(zone, moment - 1), _offset_at(zone, moment)
        changes.append(
            (moment + max(before, offset), offset)
        )  # clocks moved back show a time twice: the earlier counts
    return changes


def _changes_by_rule(zone: dt.tzinfo, start: int, stop: int) -> list[tuple[int, int]]:
    """Wall clock times between two others from which on there is another offset, and those offsets."""
    changes = []
    before = _offset_shown(zone, start)
    for probed in range(start, stop, _PROBED_SECONDS):
        low, high = probed, min(probed + _PROBED_SECONDS, stop)
        offset = _offset_shown(zone, high)
        if offset == before:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _offset_shown(zone, middle) == before else (low, middle)
        changes.append((high, offset))
        before = offset
    return changes


def _listed_changes(name: str) -> list[int]:
    """Moments at which clocks are moved, in seconds since 1970, as far as the zone's file lists them."""
    data = _zone_file(name)
    times, version, size = _block(data, 0, 4)
    if version >= b"2":  # the same once more, with times of 64 bits
        times, _, _ = _block(data, size, 8)
    return times


def _block(data: bytes, start: int, width: int) -> tuple[list[int], bytes, int]:
    """Times in a part of a zone's file; its version and size (RFC 8536)."""
    magic, version, is_utc, is_standard, leaps, times, kinds, letters = _HEADER.unpack_from(data, start)
    if magic != _MAGIC:
        message = "the file of a time zone is damaged"
        raise ValueError(message)
    found = np.frombuffer(data, f">i{width}", times, start + _HEADER.size)
    size = _HEADER.size + times * (width + 1) + kinds * 6 + letters + leaps * (width + 4) + is_standard + is_utc
    return found.tolist(), version, size


def _zone_file(name: str) -> bytes:
    """The file that :mod:`zoneinfo` reads: the system's, or that of the package ``tzdata``."""
    for folder in zoneinfo.TZPATH:
        path = Path(folder, name)
        if path.is_file():
            return path.read_bytes()
    return importlib.resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


_LAST_KNOWN_YEAR = 2036  # Arrow reads transitions from the system's files, which list them up to 2037 at most
_PROBED = [datetime(year, month, 1, 12) for year in range(1975, _LAST_KNOWN_YEAR + 1) for month in (1, 4, 7, 10)]
_KNOWN_BEFORE = datetime(_LAST_KNOWN_YEAR + 1, 1, 1)  # no Arrow scalar: making one would import pandas here


def to_moments(column: pa.Array, zone: str) -> pa.Array:
    """Place a column of local times in *zone*.

    Of two moments with the same local time the earlier is taken.

    Raises:
        pa.ArrowInvalid: If a local time does not exist, or Arrow cannot be trusted with it; Python then places each
            value on its own.
    """
    if isinstance(zone_of(zone), type(UTC)):
        return pc.assume_timezone(column, zone).cast(pa.timestamp("us", "UTC"))
    limit = pa.scalar(_KNOWN_BEFORE, pa.timestamp("us"))
    if not _arrow_agrees(zone) or pc.any(pc.greater_equal(column, limit)).as_py():
        raise pa.ArrowInvalid(f"rules of {zone} that Arrow does not have")
    return _place(column, zone)


def _place(column: pa.Array, zone: str) -> pa.Array:
    local = pc.assume_timezone(column, zone, ambiguous="earliest", nonexistent="raise")
    return local.cast(pa.timestamp("us", "UTC"))


@lru_cache(maxsize=64)
def _arrow_agrees(zone: str) -> bool:
    """Whether Arrow's rules, read from the system, give what Python's give; some systems keep only old transitions."""
    try:
        found = _place(pa.array(_PROBED, pa.timestamp("us")), zone).to_pylist()
    except pa.ArrowInvalid:  # a zone it does not know
        return False
    return bool(found == [moment.replace(tzinfo=zone_of(zone)).astimezone(UTC) for moment in _PROBED])
