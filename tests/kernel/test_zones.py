"""The kernel knows the zones that zoneinfo does, by their names, and what their clocks show at every time."""

from __future__ import annotations

import datetime as dt
import random
import zoneinfo
from itertools import pairwise

import pyarrow as pa
import pytest

pytest.importorskip("splitscan_kernel")

import splitscan_kernel

from splitscan.formats.decoding.conversions import Rules
from splitscan.options.zones import zone_of

EPOCH = dt.datetime(1970, 1, 1)
SECOND = dt.timedelta(seconds=1)
DAY = 86_400
FIRST, LAST = -719_162 * DAY, 2_932_896 * DAY
ZONES = sorted(zoneinfo.available_timezones() - {"localtime"})
ODD = [
    "Europe/Berlin", "America/St_Johns", "Africa/Casablanca", "Asia/Gaza", "Pacific/Apia", "Africa/Monrovia",
    "Antarctica/Troll", "Australia/Lord_Howe", "America/Nuuk", "Europe/Dublin", "Asia/Kathmandu", "Etc/GMT+5",
    "EST5EDT",
]  # fmt: skip
SCHEMA = pa.schema([("c", pa.timestamp("us", "UTC"))])


def probes(name: str, days: int) -> list[int]:
    """What clocks show: random times, and around changes as far as looks at every so many days find them."""
    rng, zone = random.Random(name), zone_of(name)

    def offset(second: int) -> dt.timedelta | None:
        return zone.utcoffset(EPOCH + second * SECOND)

    found = [rng.randrange(FIRST + DAY, LAST) for _ in range(300)]
    cycles = rng.randrange(2500, 9900, 400) - 1970
    for start, years in ((-131, 230), (cycles, 4)):
        looks = range(start * 365 * DAY, (start + years) * 365 * DAY, days * DAY)
        for before, after in pairwise(looks):
            if offset(before) == offset(after):
                continue
            low, high = before, after
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offset(before) else (low, middle)
            found += [high + near for near in (-3600, -1, 0, 1, 3599)]
    return found


def differences(name: str, days: int) -> list[str]:
    """The times that the kernel places elsewhere than zoneinfo does, in a zone and by its name in the text."""
    zone = zone_of(name)
    times = [EPOCH + second * SECOND for second in probes(name, days)]
    expected = [(time.replace(tzinfo=zone) - EPOCH.replace(tzinfo=dt.UTC)) // SECOND * 1_000_000 for time in times]
    pattern, plain = "yyyy-MM-dd HH:mm:ss VV", Rules(time_zone=name)
    ways = [(plain, ""), (Rules(timestamp_format=pattern, time_zone="Asia/Tokyo"), f" {name}")]
    ways += [(Rules(), f" {name}")] * ("/" in name)
    wrong = []
    for rules, zone_text in ways:
        texts = [f"{time:%Y-%m-%d %H:%M:%S}".rjust(19, "0") + zone_text for time in times]
        column = pa.record_batch(splitscan_kernel.convert_texts(texts, SCHEMA, vars(rules))[0]).column(0)
        found = column.cast(pa.int64()).to_pylist()
        wrong += [text for text, one, other in zip(texts, found, expected, strict=True) if one != other]
    return wrong


@pytest.mark.parametrize("name", ODD)
def test_times_of_a_zone_are_those_of_zoneinfo(name):
    assert differences(name, days=8) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.large)])
def test_times_of_every_zone_are_those_of_zoneinfo(step):
    assert {name: found for name in ZONES[::step] if (found := differences(name, days=25))} == {}


@pytest.mark.parametrize("name", ["Europe/Nowhere", "europe/berlin", "Europe", "localtime", "posix/Europe/Berlin"])
def test_what_is_no_zone_is_refused_by_both(name):
    with pytest.raises(ValueError, match="no time zone"):
        splitscan_kernel.convert_texts([], SCHEMA, vars(Rules(time_zone=name)))
    with pytest.raises(ValueError, match="no time zone"):
        zone_of(name)
