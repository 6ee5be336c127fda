"""Tables of time zones are what zoneinfo says, at every wall clock time."""

from __future__ import annotations

import datetime as dt
import random
import zoneinfo

import numpy as np
import pytest

from splitscan.formats.decoding.zone_tables import zone_table

EPOCH = dt.datetime(1970, 1, 1)
SECOND = dt.timedelta(seconds=1)
CYCLE_SECONDS = 146_097 * 86_400
ZONES = sorted(zoneinfo.available_timezones())
ODD = [
    "Europe/Berlin", "America/St_Johns", "Africa/Casablanca", "Asia/Gaza", "Pacific/Apia", "Africa/Monrovia",
    "Antarctica/Troll", "Australia/Lord_Howe", "America/Nuuk", "Europe/Dublin", "Asia/Kathmandu", "Etc/GMT+5",
    "EST5EDT",
]  # fmt: skip


def looked_up(name: str, shown: dt.datetime) -> dt.timedelta:
    table = zone_table(name)
    if isinstance(table, int):
        return dt.timedelta(seconds=table)
    starts, offsets = np.frombuffer(table.starts, "<i8"), np.frombuffer(table.offsets, "<i8")
    us = (shown - EPOCH) // dt.timedelta(microseconds=1)
    while us >= table.repeats_from:
        us -= CYCLE_SECONDS * 1_000_000
    return dt.timedelta(microseconds=int(offsets[np.searchsorted(starts, us, side="right") - 1]))


def probes(name: str, count: int) -> list[dt.datetime]:
    """Random times, and those around every change, now and after whole cycles."""
    random.seed(name)
    found = [EPOCH + random.randrange(-719_162 * 86_400, 2_932_896 * 86_400) * SECOND for _ in range(count)]
    table = zone_table(name)
    if isinstance(table, int):
        return found
    for start in np.frombuffer(table.starts, "<i8")[1:].tolist():
        for cycles in {0, random.randrange(19)}:
            for near in (-3600, -1, 0, 1, 3599):
                shown = start // 1_000_000 + near + cycles * CYCLE_SECONDS
                if shown < 253_402_300_800:
                    found.append(EPOCH + shown * SECOND)
    return found


@pytest.mark.parametrize("name", ODD)
def test_offsets_are_those_of_zoneinfo(name):
    zone, table = zoneinfo.ZoneInfo(name), zone_table(name)
    if not isinstance(table, int):
        starts = np.frombuffer(table.starts, "<i8")
        assert len(starts) * 8 == len(table.offsets)
        assert (np.diff(starts[1:]) > 0).all()
    for shown in probes(name, 1000):
        assert looked_up(name, shown) == zone.utcoffset(shown), shown


@pytest.mark.slow
@pytest.mark.parametrize("name", ZONES)
def test_offsets_of_every_zone_are_those_of_zoneinfo(name):
    test_offsets_are_those_of_zoneinfo(name)


@pytest.mark.parametrize(("name", "seconds"), [("UTC", 0), ("+01:30", 5400), ("GMT-2", -7200)])
def test_zones_without_changes_are_one_number(name, seconds):
    assert zone_table(name) == seconds


def test_a_zone_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no time zone"):
        zone_table("Europe/Nowhere")
