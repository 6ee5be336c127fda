"""Random patterns of dates and times, and texts for them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from splitscan.options.locales import names_of

NAMED_ZONES = [
    "Z", "UTC", "GMT", "+01:00", "-0330", "+5", "UTC+2", "GMT-11:45", "+18:00", "+18:01", "-19", "+01:60", "utc", "z",
    "Europe/Berlin", "America/New_York", "Pacific/Apia", "Etc/GMT+3", "europe/berlin", "posix/Asia/Tokyo",
    "Asia/Nowhere", "CET", "edt", "PST", "+1:3", "UT", "n/a", "UTC+x", "+12345",
]  # fmt: skip
PATTERNS = [
    "yyyy-MM-dd", "dd.MM.yyyy", "MM/dd/yyyy", "yyyyMMdd", "d/M/y", "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS", "dd-MMM-yyyy", "EEEE, d MMMM yyyy",
    "EEE MMM d HH:mm:ss z yyyy", "h:mm a, d MMM yy", "yyyyMMddHHmmssSSS", "yDDD", "yyyy D", "d.M.yyyy[ H:mm[:ss]]",
    "yyyy-MM-dd HH:mm VV", "KK:mm a", "k:m", "uuuu-LL-dd", "d 'o''clock' MM", "yyyy-MM-dd HH:mm:ssX", "yMMdd",
    "[MM-]dd", "[yyyy-MM][-dd]", "''yyyy''", "ddMMMyyyyxx",
]  # fmt: skip
_LETTERS = [
    "yyyy", "yy", "y", "uuuu", "M", "MM", "MMM", "MMMM", "LL", "d", "dd", "D", "DDD", "E", "EEE", "EEEE", "H", "HH",
    "k", "kk", "h", "hh", "K", "KK", "a", "m", "mm", "s", "ss", "S", "SSS", "SSSSSS", "SSSSSSSSS", "X", "XX", "XXX",
    "x", "xx", "xxx", "Z", "ZZZZZ", "VV", "z", "zzz",
]  # fmt: skip
LOCALES = [
    "en-US",
    "en-US",
    "en-US",
    "en-GB",
    "de",
    "fr-CA",
    "ru",
    "ar-EG",
    "hi",
    "bn",
    "ur",
    "ja",
    "zh",
    "tr",
    "pt-PT",
]


def random_digits(rng: random.Random, least: int, most: int) -> str:
    """A random number of random digits; sometimes zeros or nines in a row."""
    count = rng.randint(least, most)
    return rng.choice(["0", "9"]) * count if rng.random() < 0.1 else "".join(rng.choices("0123456789", k=count))


def random_pattern(rng: random.Random, locale: str) -> tuple[str, Callable[[random.Random], str]]:
    """A pattern and texts for it in the words of a locale; sometimes one that has no meaning."""
    pattern = rng.choice(PATTERNS) if rng.random() < 0.5 else generated_pattern(rng)
    return pattern, lambda rng: spoken(rng, pattern, names_of(locale))


def generated_pattern(rng: random.Random) -> str:
    parts, depth = [], 0
    for _ in range(rng.randint(1, 7)):
        if rng.random() < 0.15:
            parts.append("[")
            depth += 1
        parts.append(rng.choice(_LETTERS))
        if rng.random() < 0.7:
            parts.append(rng.choice(["-", "/", ".", ":", " ", ", ", "'T'", "''", "'o''c'", "é", "", "0", "'k'"]))
        if depth and rng.random() < 0.5:
            parts.append("]")
            depth -= 1
    if rng.random() < 0.02:
        parts.append(rng.choice(["Q", "{", "'", "]", "YYYY", "yyyyy"]))
    return "".join(parts) + "]" * depth


def spoken(rng: random.Random, pattern: str, names: Mapping[str, tuple[str, ...]]) -> str:
    """A text that the pattern might match: each run of letters becomes something like it, brackets are kept or left."""
    text, at, skip = "", 0, 0
    while at < len(pattern):
        letter, start = pattern[at], at
        at += 1
        part = letter
        if letter == "'":
            stop = pattern.find("'", at)
            part, at = pattern[at:stop] or "'", (stop + 1 if stop >= 0 else len(pattern))
        elif letter in "[]":
            part = ""
            skip += (1 if skip or rng.random() < 0.4 else 0) if letter == "[" else -1 if skip else 0
        elif letter.isascii() and letter.isalpha():
            while at < len(pattern) and pattern[at] == letter:
                at += 1
            part = _said(rng, pattern[start:at], names)
        text += "" if skip else rng.choice([part] * 9 + [part.upper(), part.lower()])
    return text


def _said(rng: random.Random, run: str, names: Mapping[str, tuple[str, ...]]) -> str:
    letter, count = run[0], len(run)
    if (letter in "ML" and count > 2) or letter in "Ea":
        return rng.choice(names[run if run in names else "E"])
    if letter in "XxZ":
        return rng.choice(["Z", "+00:00", "+0000", "-03:30", "+0130", "+01", "-0000", "+19:00", "+01:60"])
    if letter in "Vz":
        return rng.choice(NAMED_ZONES)
    if letter == "S":
        return random_digits(rng, 1, count)
    most = {"y": 2100, "u": 2100, "M": 12, "L": 12, "d": 31, "D": 366}.get(letter, 59 if letter in "ms" else 24)
    value = rng.randint(0 if rng.random() < 0.1 else 1, most)
    if letter in "yu":
        value = rng.choice([1970, 1970, 2024, value]) if count != 2 else value % 100
    return str(value) if count == 1 or rng.random() < 0.02 else str(value).zfill(count)
