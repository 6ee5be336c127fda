"""Random types, rules and texts: values as they are in data, and such with something wrong in them."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pyarrow as pa
from tests.kernel.pattern_cases import LOCALES, NAMED_ZONES, random_digits, random_pattern

from splitscan.formats.decoding.conversions import Rules, is_number
from splitscan.options.locales import NumberSymbols

ZONES = [
    "UTC", "+01:30", "-18:00", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Africa/Casablanca", "Asia/Tokyo",
]  # fmt: skip
CHANGES = [datetime.fromisoformat(text) for text in (
    "2024-03-31 02:00", "2024-03-31 03:00", "2024-10-27 03:00", "2024-03-10 03:00", "2024-11-03 02:00",
    "2011-12-31 00:00", "1893-04-01 00:06:32", "1948-05-02 01:00", "2024-04-14 03:00", "2060-03-28 03:00",
    "2060-10-31 03:00",
)]  # fmt: skip
_NOISE = [
    "", " ", "\t", "\n", "\u00a0", "\u2003", "\x1c", "\x85", "x", "-", "+", ".", ",", ":", "/", "0", "9", "e", "E", "T",
    "Z", "é", "\u0661", "'", "\u212a", "\x00", "(", ")", "f", "_", "00", "\ufffd",
]  # fmt: skip
_BAD = [
    "",
    " ",
    "abc",
    "n/a",
    "N/A",
    "null",
    "-",
    "--",
    "?",
    "NaN",
    "unknown",
    "1.2.3",
    "#REF!",
    "none",
    "TRUE",
    "0x1F",
    "1_000",
]

KINDS: list[pa.DataType] = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(),
    pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.decimal128(10, 2), pa.decimal128(38, 18),
    pa.decimal128(38, 0), pa.decimal128(5, 5), pa.decimal128(3, 0), pa.string(), pa.binary(), pa.list_(pa.int32()),
    pa.null(),
]  # fmt: skip
TIMES = [kind for kind in KINDS if pa.types.is_temporal(kind)]  # most forms, and so most cases


@dataclass
class Case:
    """A column of texts, and how to read it."""

    kind: pa.DataType
    rules: Rules
    sample: Callable[[random.Random], str]


def random_case(rng: random.Random) -> Case:
    """A type with rules that fit it, and texts that are values of it, more often than not."""
    kind = rng.choice(rng.choice([KINDS, TIMES]))
    rules = Rules(time_zone=rng.choice(ZONES))
    if pa.types.is_floating(kind) and rng.random() < 0.3:
        names = rng.sample(["NA", "-1", "0", "inf", "+", "nan", "-Inf", "∞", "1e5", "NaN", ""], 3)
        rules = Rules(nan_value=names[0], positive_inf=names[1], negative_inf=names[2])
    if is_number(kind):
        rules = replace(rules, exact_numbers=rng.random() < 0.2, locale=rng.choice(LOCALES))
    if pa.types.is_temporal(kind) and rng.random() < 0.6:
        locale = rng.choice(LOCALES)
        pattern, sample = random_pattern(rng, locale)
        formats = dict.fromkeys(("date_format", "time_format", "timestamp_format", "timestamp_ntz_format"), pattern)
        rules = Rules(**formats, time_zone=rules.time_zone, locale=locale)
        return Case(kind, rules, sample)
    if pa.types.is_decimal(kind):
        return Case(kind, rules, lambda rng: decimal_of(rng, rules.symbols))
    return Case(kind, rules, SAMPLERS.get(kind, any_text))


def random_texts(rng: random.Random, case: Case, count: int) -> list[str | None]:
    """Values as the case writes them, mutated ones, bad ones, and nulls."""
    texts: list[str | None] = []
    for _ in range(count):
        chance = rng.random()
        if chance < 0.03:
            texts.append(None)
        elif chance < 0.1:
            texts.append(rng.choice(_BAD))
        elif chance < 0.13:
            texts.append(SAMPLERS[rng.choice(list(SAMPLERS))](rng))
        elif chance < 0.4:
            texts.append(mutated(rng, case.sample(rng)))
        else:
            texts.append(case.sample(rng))
    return texts


def mutated(rng: random.Random, text: str) -> str:
    """The text with one to three changes."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(_NOISE) + text[at + rng.randint(0, 2) :]
    return text


def blanked(rng: random.Random, text: str) -> str:
    return rng.choice(["", " ", "\t "]) + text + rng.choice(["", " ", " \t"]) if rng.random() < 0.1 else text


def any_text(rng: random.Random) -> str:
    return rng.choice(_BAD) + random_digits(rng, 0, 3)


def integer_text(rng: random.Random) -> str:
    edge = rng.choice([8, 16, 32, 64])
    near = str(rng.choice([-1, 1]) * (1 << (edge - 1)) + rng.randint(-2, 2))
    sign = rng.choice(["", "", "", "-", "+"])
    return blanked(
        rng,
        rng.choice(
            [
                near,
                sign + random_digits(rng, 1, 5),
                sign + random_digits(rng, 1, 21),
                sign + "0" * rng.randint(0, 39) + "7",
            ]
        ),
    )


def float_text(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return rng.choice(["", "-", "+"]) + rng.choice(
            ["inf", "Inf", "INFINITY", "nan", "NaN", "nan(1)", "nan()", "Infinity", "NA", "∞"]
        )
    if rng.random() < 0.2:
        return repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 308))
    if rng.random() < 0.1:  # halfway between two neighbours
        return str((rng.getrandbits(54) | 1) << rng.randint(0, 60))
    whole, part = random_digits(rng, 0, rng.choice([3, 20])), random_digits(rng, 0, rng.choice([3, 20]))
    text = rng.choice(["", "", "-", "+"]) + whole + rng.choice(["", ".", "."]) + part
    if rng.random() < 0.3:
        text += rng.choice("eE") + rng.choice(["", "-", "+"]) + random_digits(rng, 0, rng.choice([1, 2, 3, 3, 22]))
    return blanked(rng, text + (rng.choice("fFdD") if rng.random() < 0.05 else ""))


def decimal_text(rng: random.Random) -> str:
    text = float_text(rng)
    if rng.random() < 0.3:
        groups = ",".join([random_digits(rng, 1, 3), *(random_digits(rng, 3, 3) for _ in range(rng.randint(1, 4)))])
        text = (
            rng.choice(["", "-", "+"])
            + groups
            + rng.choice(["", "", ".", "." + random_digits(rng, 1, 4), "e2", "e-1,0", ".5e,1"])
        )
    if rng.random() < 0.02:
        text = (
            rng.choice(["1", "0", "0.00", "-5.5"])
            + "e"
            + rng.choice(["", "-"])
            + str(rng.choice([10**18, 2 * 10**18, 999_999, 10**30]) + rng.randint(-4, 4))
        )
    if rng.random() < 0.02:
        text = "0" * rng.randint(380, 402) + text
    return text


def decimal_of(rng: random.Random, symbols: NumberSymbols | None) -> str:
    """A decimal, most often with the symbols of a locale."""
    text = decimal_text(rng)
    if symbols is None or rng.random() < 0.1:
        return text
    if rng.random() < 0.2:
        text = f"{random_digits(rng, 1, 2)},{random_digits(rng, 2, 2)},{random_digits(rng, 3, 3)}.{rng.randint(0, 99)}"
    said = {"-": symbols.minus, ".": symbols.decimal, ",": symbols.grouping}
    if rng.random() < 0.5:
        said |= {str(digit): chr(ord(symbols.zero) + digit) for digit in range(10)}
    return "".join(said.get(each, each) for each in text)


def boolean_text(rng: random.Random) -> str:
    return rng.choice(["true", "false", "True", "FALSE", "yes", "1", "t", " true", "tRuE"])


def date_text(rng: random.Random) -> str:
    year = rng.choice([rng.randint(1900, 2100), rng.randint(0, 9999), 1, 9999])
    month, day = rng.randint(0, 13) if rng.random() < 0.1 else rng.randint(1, 12), rng.randint(1, 31)
    form = rng.choice(
        ["{:04}-{:02}-{:02}"] * 4
        + ["{:04}-{}-{}", "{:04}-{:02}", "{:04}", "{:04}-{:02}-{:02}T", "{:04}-{:02}-{:02} x", "{}-{}-{}"]
    )
    return (
        rng.choice(["", "", "", " ", "\u00a0", "\x1f"])
        + form.format(year, month, day)
        + rng.choice(["", "", "", "\n", "\u2003"])
    )


def time_text(rng: random.Random) -> str:
    """A time of day: Spark takes blanks and control characters around it, a letter before it, and AM or PM after it."""
    most = 61 if rng.random() < 0.1 else 59
    hour = rng.randint(0, 12 if rng.random() < 0.5 else 25)
    form = rng.choice(["{:02}:{:02}:{:02}"] * 4 + ["{}:{}", "{}:{}:{}", "{:02}:{:02}:{:02}.", "T{}", "T{}:{}", "{}"])
    text = form.format(hour, rng.randint(0, most), rng.randint(0, most))
    if rng.random() < 0.4:
        text += "." + random_digits(rng, 0, rng.choice([3, 6, 9, 30]))
    if rng.random() < 0.3:
        text += rng.choice(["", " ", "\t"]) + rng.choice(["AM", "PM", "am", "pM", "a"])
    return rng.choice(["", "", "", " ", "\x1f", "\x7f", "\u00a0"]) + text + rng.choice(["", "", "", " ", "\n", "Z"])


def time_near_a_change(rng: random.Random) -> str:
    """A second before, at or after a time at which clocks are moved in one of the zones, now or 400 years later."""
    moved = rng.choice(CHANGES) + timedelta(seconds=rng.choice([-3600, -1, 0, 1, 3600]))
    return moved.replace(year=moved.year + rng.choice([0, 0, 400, 800])).strftime("%Y-%m-%d %H:%M:%S")


def timestamp_text(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return time_near_a_change(rng)
    text = (
        date_text(rng)
        if rng.random() < 0.2
        else f"{rng.randint(1, 9999):04}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    )
    most = 60 if rng.random() < 0.1 else 59
    hour, minute, second = rng.randint(0, most - 36), rng.randint(0, most), rng.randint(0, most)
    form = rng.choice(
        ["{:02}:{:02}:{:02}"] * 4 + ["{}:{}:{}", "{:02}", "{:02}:{:02}", "{:02}:{:02}:{:02}.", "", "{:02}{:02}{:02}"]
    )
    text += rng.choice("TT  t") + form.format(hour, minute, second)
    if rng.random() < 0.4:
        text += "." + random_digits(rng, 0, rng.choice([3, 6, 9, 11]))
    if rng.random() < 0.4:
        text += rng.choice(["", "", " ", "\u00a0", "  "]) + rng.choice(NAMED_ZONES)
    return text + rng.choice(["", "", "", " ", "\n"])


def base64_text(rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(rng.randint(0, 8))).decode() + rng.choice(["", "", "", "=", "==", "A"])


SAMPLERS: dict[pa.DataType, Callable[[random.Random], str]] = {
    pa.int8(): integer_text, pa.int16(): integer_text, pa.int32(): integer_text, pa.int64(): integer_text,
    pa.float32(): float_text, pa.float64(): float_text, pa.bool_(): boolean_text, pa.date32(): date_text,
    pa.time64("us"): time_text, pa.timestamp("us"): timestamp_text, pa.timestamp("us", "UTC"): timestamp_text,
    pa.binary(): base64_text,
}  # fmt: skip


def json_number(rng: random.Random) -> str:
    """A number as JSON writes it, or a name that stands for one."""
    if rng.random() < 0.05:
        return rng.choice(["NaN", "Infinity", "-Infinity", "+Infinity", "+INF", "-INF", "-NaN", "Inf"])
    whole = str(int(random_digits(rng, 1, rng.choice([2, 5, 12, 19, 22, 45]))))
    part = "." + random_digits(rng, 1, rng.choice([2, 20])) if rng.random() < 0.4 else ""
    power = rng.choice("eE") + rng.choice(["", "-", "+"]) + random_digits(rng, 1, 3) if rng.random() < 0.2 else ""
    return rng.choice(["", "-"]) + whole + part + power
