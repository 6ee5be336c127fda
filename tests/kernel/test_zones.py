"""The kernel knows the zones that zoneinfo does, by their names, and what their clocks show at every time."""

from __future__ import annotations

import datetime as dt
import random
import zoneinfo
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("splitscan_kernel")

import splitscan_kernel

import splitscan as ss
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.members import inference_document
from splitscan.options.files import zone_of
from splitscan.reading.block_documents import scan_document

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
PATTERN = "yyyy-MM-dd HH:mm:ss VV"


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


def differences(path: Path, name: str, days: int) -> list[str]:
    """The times that the kernel places elsewhere than zoneinfo does, in a zone and by its name in the text."""
    zone = zone_of(name)
    times = [EPOCH + second * SECOND for second in probes(name, days)]
    expected = [(time.replace(tzinfo=zone) - EPOCH.replace(tzinfo=dt.UTC)) // SECOND * 1_000_000 for time in times]
    ways = [({"timeZone": name}, ""), ({"timestampFormat": PATTERN, "timeZone": "Asia/Tokyo"}, f" {name}")]
    ways += [({}, f" {name}")] * ("/" in name)
    wrong = []
    for options, zone_text in ways:
        texts = [f"{time:%Y-%m-%d %H:%M:%S}".rjust(19, "0") + zone_text for time in times]
        path.write_text("\n".join(texts))
        scan = ss.scan_csv(path, "c timestamp", header=False, multiLine=False, **options)
        assert scan_document(scan.spec) is not None
        found = scan.to_arrow()["c"].cast(pa.int64()).to_pylist()
        wrong += [text for text, one, other in zip(texts, found, expected, strict=True) if one != other]
    return wrong


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", ODD)
def test_times_of_a_zone_are_those_of_zoneinfo(tmp_path, name):
    assert differences(tmp_path / "times.csv", name, days=8) == []


@pytest.mark.slow
@pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.large)])
def test_times_of_every_zone_are_those_of_zoneinfo(tmp_path, step):
    assert {
        name: found for name in ZONES[::step] if (found := differences(tmp_path / "times.csv", name, days=25))
    } == {}


@pytest.mark.parametrize("name", ["Europe/Nowhere", "europe/berlin", "Europe", "localtime", "posix/Europe/Berlin"])
def test_what_is_no_zone_is_refused_by_both(name):
    document = inference_document({"csv": Rules(time_zone=name).spelled})
    with pytest.raises(splitscan_kernel.Unsupported, match="a time zone has a name that is known"):
        splitscan_kernel.fit_texts(document, pa.record_batch([pa.array(["x"])], ["c"]), [1])
    with pytest.raises(ValueError, match="no time zone"):
        zone_of(name)
