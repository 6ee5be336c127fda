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


def looked_up(name: str, shown: np.ndarray) -> np.ndarray:
    """The offset in seconds of each time, as a reader of the table finds it."""
    table = zone_table(name)
    if isinstance(table, int):
        return np.full(len(shown), table)
    starts, offsets = np.frombuffer(table.starts, "<i8"), np.frombuffer(table.offsets, "<i8")
    assert len(starts) == len(offsets)
    assert (np.diff(starts[1:]) > 0).all()
    us, cycle_us = shown * 1_000_000, CYCLE_SECONDS * 1_000_000
    cycles = np.where(us < table.repeats_from, 0, (us - table.repeats_from) // cycle_us + 1)
    return offsets[np.searchsorted(starts, us - cycles * cycle_us, side="right") - 1] // 1_000_000


def probes(name: str, count: int) -> np.ndarray:
    """Random times, and those around every change, now and after whole cycles."""
    random.seed(name)
    found = [random.randrange(-719_162 * 86_400, 2_932_896 * 86_400) for _ in range(count)]
    table = zone_table(name)
    if isinstance(table, int):
        return np.array(found)
    for start in np.frombuffer(table.starts, "<i8")[1:].tolist():
        for cycles in {0, random.randrange(19)}:
            for near in (-3600, -1, 0, 1, 3599):
                shown = start // 1_000_000 + near + cycles * CYCLE_SECONDS
                if shown < 253_402_300_800:
                    found.append(shown)
    return np.array(found)


def differences(name: str) -> list[dt.datetime]:
    """The times at which the table has another offset than zoneinfo."""
    zone, shown = zoneinfo.ZoneInfo(name), probes(name, 1000)
    times = [EPOCH + seconds * SECOND for seconds in shown.tolist()]
    found = looked_up(name, shown).tolist()
    return [time for time, seconds in zip(times, found, strict=True) if zone.utcoffset(time) != seconds * SECOND]


@pytest.mark.parametrize("name", ODD)
def test_offsets_are_those_of_zoneinfo(name):
    assert differences(name) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.large)])
def test_offsets_of_every_zone_are_those_of_zoneinfo(step):
    assert {name: found for name in ZONES[::step] if (found := differences(name))} == {}


@pytest.mark.parametrize(("name", "seconds"), [("UTC", 0), ("+01:30", 5400), ("GMT-2", -7200)])
def test_zones_without_changes_are_one_number(name, seconds):
    assert zone_table(name) == seconds


def test_a_zone_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no time zone"):
        zone_table("Europe/Nowhere")
