"""Text and records of fixed length: random cases, and what the kernel makes of them otherwise than the reference."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import splitscan_kernel

from splitscan.formats.framing.encodings import Encoding, resolve_encoding
from splitscan.formats.text.delimited import DelimitedFormat, LineFormat, line_format

NO_LIMIT = 1 << 40
WIDE = ("UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE")
SINGLE_BYTES = ("US-ASCII", "ISO-8859-1", "windows-1252", "windows-1253", "KOI8-R", "IBM850", "ptcp154", "cp1006")
ENCODINGS = ("UTF-8", *WIDE, *SINGLE_BYTES)
DELIMITERS = (None, None, None, "\n", "|", "||", "|a|", "\r\n", "abab", "\n\n", "§", "§a§")
LETTERS = "aab||\\\\\r\n\n§é€😀 "
SHORT_RECORD_NUMBER = 7


@dataclass(frozen=True)
class Case:
    """Text in some encoding, as messy as it comes, and what a call may read of it."""

    encoding: str
    delimiter: str | None
    escape: str | None
    data: bytes
    margin: int
    at_end: bool
    stop: int
    rows: int
    record_bytes: int
    binary: bool


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
        chance.randrange(len(data) + 2) if chance.random() < 0.5 else NO_LIMIT,
        chance.randrange(5) if chance.random() < 0.3 else NO_LIMIT,
        chance.randrange(20) if chance.random() < 0.3 else NO_LIMIT,
        chance.random() < 0.1,
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

    kind = pa.binary() if case.binary else pa.string()
    values = [
        case.data[slice(*span)] if case.binary else text_of(case.data[slice(*span)], encoding) for span in records
    ]
    for columns in (1, 0):
        parser = splitscan_kernel.LinesParser(lines, charset_of(encoding), schema_of(kind, columns))
        found = parser.parse(data, start, end, case.stop + start, case.at_end, case.rows, case.record_bytes)
        yield from differences_of_parsed(case, found, records, next_start, values if columns else None)


def differences_of_whole(case: Case) -> Iterator[str]:
    """Whether the file as one text, decoded at once, has the records that the kernel finds in its bytes."""
    encoding = resolve_encoding(case.encoding)
    format = line_format(case.delimiter, case.escape, case.encoding)
    try:
        lines = kernel_lines(format)
    except splitscan_kernel.Unsupported:
        return
    starts, stops, _, _ = lines.frame(case.data, 0, len(case.data), True)
    texts = case.data.decode(encoding.codec, "replace").encode()
    twin = line_format(case.delimiter, case.escape, "UTF-8")
    spans, _ = reference_records(twin, texts, at_end=True)
    expected = [texts[slice(*span)] for span in spans]
    utf8, starts, stops = charset_of(encoding).transcode(case.data, starts, stops)
    found = [utf8[slice(*span)] for span in pairs(starts, stops)]
    if found != expected or b"".join(record + b"\n" for record in found) != utf8:
        yield f"transcode: {found} instead of {expected}"
    parser = splitscan_kernel.LinesParser(lines, charset_of(encoding), schema_of(pa.string(), 1))
    framed = parser.parse_framed(utf8, starts, stops)
    if column_of(framed) != [text.decode() for text in expected]:
        yield f"parse_framed: {column_of(framed)}"


def differences_of_parsed(
    case: Case, found: Any, records: list[tuple[int, int]], next_start: int, values: list[Any] | None
) -> Iterator[str]:
    """Compare with what a reader would do that looks at one record after the other."""
    count, stopped = 0, None
    while stopped is None:
        at = records[count][0] if count < len(records) else next_start
        if at >= len(case.data) and case.at_end:
            stopped = "end"
        elif at >= case.stop:
            stopped = "owned"
        elif count == case.rows:
            stopped = "rows"
        elif count == len(records):
            stopped = "input"
        elif records[count][1] - at > case.record_bytes:
            stopped = "long"
        else:
            count += 1
    expected = (records[:count], at, stopped, count)
    seen = (pairs(found.starts, found.stops), found.next_start, found.stopped, found.rows)
    if seen != expected:
        yield f"parse: {seen} instead of {expected}"
    batch = pa.record_batch(found.batch)
    batch.validate(full=True)
    if batch.num_rows != count or batch.num_columns != (values is not None):
        yield f"parse: a batch of {batch.num_rows} rows and {batch.num_columns} columns"
    if values is not None and column_of(found) != values[:count]:
        yield f"parse: {column_of(found)} instead of {values[:count]}"
    if (found.malformed, found.counts, found.undecided) != ([], [], []):
        yield "parse: more than records"


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


@cache
def charset_of(encoding: Encoding) -> splitscan_kernel.Charset:
    """The kernel's charset of an encoding; tables are those of Python's codecs."""
    if encoding.unit_bytes > 1 or encoding.codec == "utf-8":
        return splitscan_kernel.Charset(encoding.unit_bytes, encoding.big_endian)
    return splitscan_kernel.Charset(table=bytes(range(256)).decode(encoding.codec, "replace"))


def schema_of(kind: pa.DataType, columns: int) -> pa.Schema:
    """A schema of no column or one."""
    return pa.schema([pa.field("value", kind)][:columns])


def text_of(data: bytes, encoding: Encoding) -> str:
    """The definition of a text."""
    return data.decode(encoding.codec, "replace")


def pairs(starts: bytes, stops: bytes) -> list[tuple[int, int]]:
    """Positions as numbers."""
    return list(zip(*(np.frombuffer(each, "<i8").tolist() for each in (starts, stops)), strict=True))


def column_of(found: Any) -> list[Any]:
    """The only column."""
    values: list[Any] = pa.record_batch(found.batch).column(0).to_pylist()
    return values


CHECKS: tuple[Callable[[Case], Iterator[str]], ...] = (differences_of_text, differences_of_whole)


def differences(cases: int, seed: int) -> Iterator[tuple[Case, str]]:
    """Differences in so many random cases; each check counts as a case."""
    chance = random.Random(seed)
    for number in range(cases):
        if number % len(CHECKS) == 0:
            case = random_case(chance)
        for difference in CHECKS[number % len(CHECKS)](case):
            yield case, difference
