"""Dates and times: patterns in Spark's letters, exactly; times of day without one; local times as moments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.errors import UsageError, bad_option
from splitscan.options.files import zone_of
from splitscan.options.locales import ENGLISH, names_of

_CENTURY = 2000  # years of two digits belong to it, as in Java
_NOON = 12

_ANY = "[0-9]{1,19}"
_OFFSETS = {
    "X": "z|[+-][0-9]{2}(?:[0-9]{2})?", "XX": "z|[+-][0-9]{4}", "XXX": "z|[+-][0-9]{2}:[0-9]{2}",
    "x": "[+-][0-9]{2}(?:[0-9]{2})?", "xx": "[+-][0-9]{4}", "xxx": "[+-][0-9]{2}:[0-9]{2}",
    "Z": "[+-][0-9]{4}", "ZZ": "[+-][0-9]{4}", "ZZZ": "[+-][0-9]{4}", "ZZZZZ": "z|[+-][0-9]{2}:[0-9]{2}",
}  # fmt: skip
_REGION = "[a-z][a-z0-9_+-]*(?:/[a-z0-9_+-]+)*|[+-][0-9]{2}(?::[0-9]{2})?"
_ABBREVIATIONS = {
    "EST": "America/New_York", "EDT": "America/New_York", "CST": "America/Chicago", "CDT": "America/Chicago",
    "MST": "America/Denver", "MDT": "America/Denver", "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles",
    "UT": "UTC",
}  # fmt: skip

_Read = Callable[[str], Any]


@dataclass(frozen=True)
class _Letters:
    """Meaning of a run of letters."""

    name: str
    form: str
    read: _Read
    digits: int | None = None


def _names(name: str, names: tuple[str, ...], first: int) -> _Letters:
    """One of some names in any case; of two of which one begins the other, the longer one."""
    forms = [(re.compile(_in_any_case(each)), number) for number, each in enumerate(names, first)]
    longest = sorted(names, key=len, reverse=True)
    alternatives = "|".join(map(_in_any_case, longest))
    return _Letters(name, f"(?>{alternatives})", lambda text: next(n for form, n in forms if form.fullmatch(text)))


def _in_any_case(name: str) -> str:
    """Characters of which one form in small or capital letters is the same, as far as that is one character."""
    forms = ({each, each.lower(), each.upper(), each.upper().lower(), each.lower().upper()} for each in name)
    return "".join(f"[{re.escape(''.join(sorted(form for form in each if len(form) == 1)))}]" for each in forms)


def _numbers(letter: str, name: str) -> dict[str, _Letters]:
    """One letter is a number of any length, two are two digits."""
    return {letter: _Letters(name, _ANY, int, 0), letter * 2: _Letters(name, "[0-9]{2}", int, 2)}


def _fraction(digits: int) -> _Letters:
    return _Letters("micros", f"[0-9]{{1,{digits}}}", lambda text: int(text.ljust(6, "0")[:6]), 0)


def _zone(text: str) -> tzinfo:
    return zone_of(_ABBREVIATIONS.get(text.upper(), text))


@lru_cache(maxsize=64)
def _letters_of(locale: str) -> Mapping[str, _Letters]:
    """Each run of letters that has a meaning."""
    names = names_of(locale)
    months, days = "month", "weekday"
    return {
        **{letter * 4: _Letters("year", "[0-9]{4}", int, 4) for letter in "yu"},
        **{letter * 2: _Letters("year", "[0-9]{2}", lambda text: _CENTURY + int(text), 2) for letter in "yu"},
        **{letter: _Letters("year", _ANY, int, 0) for letter in "yu"},
        **_numbers("M", months), **_numbers("L", months),
        **{letters: _names(months, names[letters], 1) for letters in ("MMM", "LLL", "MMMM", "LLLL")},
        **_numbers("d", "day"), "D": _Letters("day_of_year", _ANY, int, 0),
        "DDD": _Letters("day_of_year", "[0-9]{3}", int, 3),
        **{"E" * count: _names(days, names["E"], 0) for count in (1, 2, 3)}, "EEEE": _names(days, names["EEEE"], 0),
        **_numbers("H", "hour"), **_numbers("k", "hour_from_1"), **_numbers("h", "half_hour"),
        **_numbers("K", "half_hour_from_0"), "a": _names("half", names["a"], 0),
        **_numbers("m", "minute"), **_numbers("s", "second"),
        **{"S" * count: _fraction(count) for count in range(1, 10)},
        **{letters: _Letters("zone", form, zone_of) for letters, form in _OFFSETS.items()},
        "VV": _Letters("zone", _REGION, zone_of),
        **{"z" * count: _Letters("zone", _REGION, _zone) for count in (1, 2, 3)},
    }  # fmt: skip


_RANGES = {"hour": (0, 23), "half_hour": (1, 12), "half_hour_from_0": (0, 11), "hour_from_1": (1, 24)}
_DEFAULTS = {"year": 1970, "month": 1, "day": 1, "minute": 0, "second": 0, "micros": 0}
_TOKEN = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([\[\]])|([^A-Za-z'\[\]{}#]+)")


class DateTimePattern:
    """A compiled pattern of Java's ``DateTimeFormatter``.

    A text matches as a whole or not at all: numbers have as many digits as the pattern has letters (any number for one
    letter), fractions of a second up to as many. Names, which are those of a locale, and quoted text match in any case.
    What stands in brackets may be missing. Parts that the pattern does not have are those of 1970-01-01 00:00:00.

    Raises:
        UsageError: If it uses letters that have no meaning here, or its brackets or quotes do not match.

    Example:
        >>> DateTimePattern("dd/MM/yyyy[ HH:mm]").parse("31/01/2024")
        datetime.datetime(2024, 1, 31, 0, 0)
        >>> DateTimePattern("yyyyMMdd").parse("2024111") is None
        True
    """

    def __init__(self, text: str, locale: str = ENGLISH) -> None:
        self._text = text
        self._meanings = _letters_of(locale)
        self._letters: list[_Letters] = []
        parts: list[str] = []
        depth = position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise self._refused(position)
            quoted, letters, _, bracket, other = match.groups()
            if letters:
                parts.append(self._letters_form(position, match.end()))
            elif bracket:
                depth += 1 if bracket == "[" else -1
                parts.append("(?:" if bracket == "[" else ")?+")
            else:
                parts.append(re.escape(other or quoted.replace("''", "'") or "'"))
            if depth < 0:
                raise self._refused(position)
            position = match.end()
        if depth:
            raise self._refused(text.rindex("["))
        self._form = re.compile("".join(parts), re.IGNORECASE | re.ASCII)

    def _letters_form(self, start: int, stop: int) -> str:
        """A run of letters as a group of the regular expression."""
        meaning = self._meanings.get(self._text[start:stop])
        if meaning is None:
            raise self._refused(start)
        self._letters.append(meaning)
        if meaning.digits != 0:
            return f"({meaning.form})"
        behind = re.match(r"([A-Za-z])\1*", self._text[stop:])
        follower = None if behind is None else self._meanings.get(behind.group())
        # a number of any length leaves digits only to numbers of a fixed length that stand right after it
        return f"({meaning.form})" if follower is not None and follower.digits else f"({meaning.form}+)"

    def _refused(self, position: int) -> UsageError:
        return bad_option(
            "a date or time pattern uses letters that are not supported",
            f"{self._text!r} at {self._text[position:]!r}",
            f"use {', '.join(self._meanings)}, quoted text, and brackets around what may be missing",
        )

    def parse(self, text: str) -> datetime | None:
        """Time of a text, with a time zone if it names one; ``None`` if it does not match or is no time."""
        match = self._form.fullmatch(text)
        if match is None:
            return None
        said: dict[str, Any] = {}
        try:
            for meaning, part in zip(self._letters, match.groups(), strict=True):
                if part is not None and said.setdefault(meaning.name, value := meaning.read(part)) != value:
                    return None
            return _moment(said)
        except (ValueError, OverflowError):
            return None


@lru_cache(maxsize=256)
def compiled(text: str, locale: str = ENGLISH) -> DateTimePattern:
    """The pattern *text*, compiled once."""
    return DateTimePattern(text, locale)


def _moment(said: Mapping[str, Any]) -> datetime | None:
    """The time that has these parts, if they agree.

    Raises:
        ValueError: If a part is out of range.
    """
    hour = _hour(said)
    if hour is None:
        return None
    year, month, day, minute, second, micros = (said.get(name, default) for name, default in _DEFAULTS.items())
    moment = datetime(year, month, day, hour, minute, second, micros, said.get("zone"))
    if "day_of_year" in said:
        moved = moment.replace(month=1, day=1) + timedelta(days=said["day_of_year"] - 1)
        agree = all(said.get(name, getattr(moved, name)) == getattr(moved, name) for name in ("month", "day"))
        if moved.year != moment.year or not agree:
            return None
        moment = moved
    return moment if said.get("weekday", moment.weekday()) == moment.weekday() else None


def _hour(said: Mapping[str, Any]) -> int | None:
    """Hour of the day, from 0; ``None`` where one is out of range, or two contradict each other."""
    if any(name in said and not least <= said[name] <= most for name, (least, most) in _RANGES.items()):
        return None
    half: int | None = said.get("half")
    hours = {said[name] % (2 * _NOON) for name in ("hour", "hour_from_1") if name in said}
    hours |= {said[name] % _NOON + _NOON * (half or 0) for name in ("half_hour", "half_hour_from_0") if name in said}
    if not hours:
        return _NOON * (half or 0)  # as in Java: midnight or noon
    hour: int = hours.pop()
    return None if hours or (half is not None and hour // _NOON != half) else hour


# ---------------------------------------------------------------- times of day


_CONTROLS = "".join(map(chr, (*range(33), 127)))  # the blanks and control characters that may surround a time
_TIME = re.compile(r"(T)?([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?[\0- \x7f]*(?:(?i:([ap])m) *)?")


def parse_time(text: str) -> int | None:
    """Microseconds since midnight of a time without a pattern, as Spark's readers take it.

    It is like ``10:20``, ``1:2:3`` or ``10:20:30.5``, or is one of these or an hour alone after a ``T``. AM or PM may
    follow. Digits after the sixth of a fraction do not count.

    Example:
        >>> [parse_time(text) for text in ("0:1", "T1", "1", "12:00:00.5 AM", "24:00")]
        [60000000, 3600000000, None, 500000, None]
    """
    match = _TIME.fullmatch(text.lstrip(_CONTROLS))
    if match is None or (not text.startswith("T") if match[1] else match[3] is None):
        return None  # Spark wants nothing before the letter
    hour, minute, second = (int(match[i] or 0) for i in (2, 3, 4))
    if match[6]:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if match[6] in "pP" else 0)
    try:
        return time_of(datetime(1970, 1, 1, hour, minute, second, int((match[5] or "").ljust(6, "0")[:6])))
    except ValueError:
        return None


def time_of(moment: datetime) -> int:
    """Microseconds since midnight, whatever the day and the zone."""
    return (moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)) // timedelta(microseconds=1)


# ---------------------------------------------------------------- local times as moments


_LAST_KNOWN_YEAR = 2036  # Arrow reads transitions from the system's files, which list them up to 2037 at most
_PROBED = [datetime(year, month, 1, 12) for year in range(1975, _LAST_KNOWN_YEAR + 1) for month in (1, 4, 7, 10)]
_KNOWN_BEFORE = datetime(_LAST_KNOWN_YEAR + 1, 1, 1)  # no Arrow scalar: making one would import pandas here


def to_moments(column: pa.Array, zone: str) -> pa.Array:
    """Place a column of local times in *zone*, by Arrow where its time zone rules are those of Python.

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
    """True if Arrow's rules, read from the system, give what Python's give; some systems keep only old transitions."""
    try:
        found = _place(pa.array(_PROBED, pa.timestamp("us")), zone).to_pylist()
    except pa.ArrowInvalid:  # a zone it does not know
        return False
    return bool(found == [moment.replace(tzinfo=zone_of(zone)).astimezone(UTC) for moment in _PROBED])
