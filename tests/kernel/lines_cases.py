"""Text and records of fixed length: random cases, and what the kernel makes of them otherwise than the reference."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import splitscan_kernel

from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.text.lines import DelimitedFormat, LineFormat, line_format

WIDE = ("UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE")
SINGLE_BYTES = ("US-ASCII", "ISO-8859-1", "windows-1252", "windows-1253", "KOI8-R", "IBM850", "ptcp154", "cp1006")
ENCODINGS = ("UTF-8", *WIDE, *SINGLE_BYTES)
DELIMITERS = (None, None, None, "\n", "|", "||", "|a|", "\r\n", "abab", "\n\n", "§", "§a§")
LETTERS = "aab||\\\\\r\n\n§é€😀 "


@dataclass(frozen=True)
class Case:
    """Text in some encoding, as messy as it comes, and what a call may read of it."""

    encoding: str
    delimiter: str | None
    escape: str | None
    data: bytes
    margin: int
    at_end: bool


def random_case(chance: random.Random) -> Case:
    """A case; most characters mean something to most formats."""
    encoding = chance.choice(ENCODINGS)
    escape = chance.choice([None, None, "\\"])
    delimiter = chance.choice(DELIMITERS)
    try:
        resolve_encoding(encoding).encode(delimiter or "")
    except ValueError:
        delimiter = "|"
    text = "".join(chance.choices(LETTERS, k=chance.randrange(40)))
    data = bytearray(text.encode(resolve_encoding(encoding).codec, "ignore"))
    for _ in range(chance.choice([0, 0, 1, 3])):
        at = chance.randrange(len(data) + 1)
        data[at:at] = bytes(chance.choices(range(256), k=chance.randrange(3)))
    data = data[: len(data) - chance.choice([0, 0, 0, 1, 2, 3])]
    return Case(
        encoding,
        delimiter,
        escape,
        bytes(data),
        chance.choice([0, 0, 3]),
        chance.random() < 0.7,
    )


def differences_of_text(case: Case) -> Iterator[str]:
    """What the kernel answers otherwise than the reference."""
    encoding = resolve_encoding(case.encoding)
    format = line_format(case.delimiter, case.escape, case.encoding)
    try:
        lines = kernel_lines(format)
    except splitscan_kernel.Unsupported:
        if encoding.unit_bytes == 1 or (case.delimiter or "").isascii():
            yield "refused"
        return
    records, next_start = reference_records(format, case.data, at_end=case.at_end)
    data, start, end = within(case.data, case.margin)
    starts, stops, malformed, found_next = lines.frame(data, start, end, case.at_end)
    if (pairs(starts, stops), malformed, found_next) != (records, [], next_start):
        yield f"frame: {pairs(starts, stops)}, {found_next} instead of {records}, {next_start}"
    if (counted := lines.count(data, start, end, case.at_end)) != (len(records), next_start):
        yield f"count: {counted} instead of {len(records)}, {next_start}"


def reference_records(
    format: LineFormat | DelimitedFormat, data: bytes, *, at_end: bool
) -> tuple[list[tuple[int, int]], int]:
    """Records by the definition; for data that may go on, those that no byte that follows can change."""
    if not at_end:
        frames = format.frame(data, at_end=False)
        return list(zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)), frames.next_start
    framer = format.reference_framer()
    for byte in data:
        framer.push(byte)
    framer.finish()
    return framer.records, len(data)


def within(data: bytes, margin: int) -> tuple[bytes, int, int]:
    """The data inside other data that must not be looked at."""
    return b"\n|a\\"[:margin] + data + b"\n|\r\n"[:margin], margin, margin + len(data)


def kernel_lines(format: LineFormat | DelimitedFormat) -> splitscan_kernel.Lines:
    """The kernel's grammar of a format."""
    delimiter = format.delimiter if isinstance(format, DelimitedFormat) else None
    encoding = format.encoding
    return splitscan_kernel.Lines(delimiter, format.escape, encoding.unit_bytes, encoding.big_endian)


def pairs(starts: bytes, stops: bytes) -> list[tuple[int, int]]:
    """Positions as numbers."""
    return list(zip(*(np.frombuffer(each, "<i8").tolist() for each in (starts, stops)), strict=True))


def differences(cases: int, seed: int) -> Iterator[tuple[Case, str]]:
    """Differences in so many random cases."""
    chance = random.Random(seed)
    for _ in range(cases):
        case = random_case(chance)
        for difference in differences_of_text(case):
            yield case, difference
