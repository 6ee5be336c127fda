"""What the native framing of JSON must give, by the byte-at-a-time reference and today's Python."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import astuple
from typing import Any

import numpy as np
import splitscan_kernel
from tests.kernel.json_cases import NOISE, Writer, mutated

from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.lines import json_lines
from splitscan.formats.json.paths import BACKSLASH, RecordPath
from splitscan.formats.json.reference import JsonReferenceFramer, JsonReferenceFraming, JsonShape, JsonState

Records = list[tuple[int, int]]

SHAPES = {"values": JsonShape.VALUES, "array": JsonShape.ARRAY, "below": JsonShape.BELOW}
PATHS = [("d", None), ("b", "d", None), (None, "d", None), ("d", None, "b", None)]
AROUND = [
    "]",
    "]}",
    '{"d":[',
    ',"d":[',
    '{"b":',
    '"d"',
    ":",
    ":null",
    ':"x"',
    '"\\u0064":[',
    "[{",
    "}\n",
    ',"x":{"d":[1]}',
    ': [ {"b":[',
]
BETWEEN = ["", "\n", "\n", ",", ",\n", " ", "\x1e", "]", " x ", "}", '"', "{", "\ufeff", "\n\n", "true", "1 2"]


def path_of(draw: random.Random, shape: str) -> RecordPath | None:
    """A path, where records are below one."""
    return RecordPath(draw.choice(PATHS)) if shape == "below" else None


def native_json(shape: str, path: RecordPath | None) -> Any:
    """The kernel's framing."""
    return splitscan_kernel.Json(shape, None if path is None else list(path.steps))


def random_values(draw: random.Random, shape: str) -> bytes:
    """Bytes that are more or less JSON values."""
    if draw.random() < 0.3:
        return "".join(draw.choice(NOISE[:13]) for _ in range(draw.randint(0, 40))).encode()
    writer, parts = Writer(draw, ()), []
    between = draw.choice([BETWEEN, BETWEEN[:7], ["\n"], [",\n  "]])
    if shape == "below":
        between = [*between, *AROUND] if draw.random() < 0.7 else [",", "],'x':1}{'d':["]
    for _ in range(draw.randint(0, 8)):
        parts += [writer.record(), draw.choice(between)]
        if draw.random() < 0.1:
            parts.append(draw.choice([" ", '"', "{", "\\"]) * draw.choice([1, 5, 63, 64, 65, 130]))
    data = "".join(parts).encode()
    return mutated(draw, data) if draw.random() < 0.4 else data


def by_reference(shape: str, path: RecordPath | None, data: bytes, *, at_end: bool) -> tuple[Records, int]:
    """Records, and where the next one starts."""
    framer = JsonReferenceFramer(SHAPES[shape], path)
    for byte in data:
        framer.push(byte)
    between = framer.state is JsonState.BETWEEN
    if at_end:
        framer.finish()
        between = framer.unfinished is None
    return framer.records, len(data) if between else framer.next_start


def framed(json: Any, data: bytes, start: int, end: int, *, at_end: bool) -> tuple[Records, int]:
    """The native answer in the same form; counting must agree."""
    starts, stops, malformed, next_start = json.frame(data, start, end, at_end)
    records = zip(np.frombuffer(starts, "<i8").tolist(), np.frombuffer(stops, "<i8").tolist(), strict=True)
    found = list(records)
    assert (malformed, json.count(data, start, end, at_end)) == ([], (len(found), next_start))
    return found, next_start


def check_cuts(draw: random.Random, json: Any, data: bytes, expected: Records) -> None:
    """Read in pieces, the records are the same."""
    found: Records = []
    position, visible = 0, 0
    while True:
        visible = min(len(data), visible + draw.choice([1, 3, 20, 100]))
        records, step = framed(json, data, position, visible, at_end=visible == len(data))
        found += [(start + position, stop + position) for start, stop in records]
        position += step
        if visible == len(data):
            break
    assert found == expected, (found, expected)


def check_around(draw: random.Random, path: RecordPath, data: bytes) -> None:
    """What is given up below a path, or lies between arrays, is passed as the reference passes it."""
    json, reference = native_json("below", path), JsonReferenceFraming(JsonShape.BELOW, path)
    for at_end in (True, False):
        native_gap = json.gap_bytes(data, 0, len(data), at_end)
        gap = reference.gap_bytes(data, at_end=at_end)
        assert gap == native_gap, (path, data, at_end)
    data = data.lstrip(b" \t\r\n,\x1e")  # reading stands where something begins
    expected = reference.pass_over(data, None)
    assert json.pass_over(data, 0, len(data))[0] == expected.resume, (path, data)
    past, is_open, done, visible = None, False, 0, 0
    while visible < len(data):
        visible = min(len(data), visible + draw.choice([1, 3, 20]))
        resume, dropped, past, is_open = json.pass_over(data, done, visible, past)
        if resume is not None:
            assert done + resume == expected.resume, (path, data, resume)
            return
        done += dropped
    assert expected.resume is None, (path, data, expected)
    assert not data or is_open == expected.is_open, (path, data)


def check_summary(draw: random.Random, shape: str, path: RecordPath | None, data: bytes) -> Counter[str]:
    """Summaries are those of today's Python, wherever that has one, and what the reference does from each state."""
    low = draw.randint(0, len(data))
    high = draw.randint(low, len(data))
    while low < high and low and data[low - 1] == BACKSLASH:
        low += 1
    before, mark = data[max(0, low - draw.choice([0, 1, 64])) : low], draw.randint(0, high - low + 1)
    found = native_json(shape, path).summarise(data, low, high, before, data[high:], mark)
    expected = JsonFormat(shape=SHAPES[shape], path=path).summarise(data[low:high], before, data[high:], mark)
    for one, run in zip(found, expected.runs, strict=True):
        assert run is None or one == astuple(run)[: len(one)], (data[low:high], before, mark, one, run)
    depth, in_string = draw.choice([0, 0, 1, 1, 2, 3, 9]), draw.random() < 0.3
    before = b"{" + b"[" * (depth - 1) if depth else b""
    if depth:
        before = before[:1] + b'"":' + before[1:] + (b'"' if in_string else b"")
        check_run(shape, path, before, data[low:high], 2 * depth + in_string, mark)
    else:
        check_run(shape, path, draw.choice([b"", b"{}"]), data[low:high], 0, mark)
    told = sum(run is not None for run in found)
    return Counter(told=told, untold=len(found) - told)


def check_run(shape: str, path: RecordPath | None, before: bytes, piece: bytes, state: int, mark: int) -> None:
    """What a summary tells for one state is what the reference does after bytes that lead to this state."""
    run = native_json(shape, path).summarise(piece, 0, len(piece), before, b"", mark)[state]
    if run is None:
        return
    framer = JsonReferenceFramer(SHAPES[shape], path)
    for byte in before:
        framer.push(byte)
    assert framer.summary_state == state
    starts = set()
    for at, byte in enumerate(piece):
        was, start = framer.state, framer.next_start
        framer.push(byte)
        if framer.state is not JsonState.BETWEEN and (was is JsonState.BETWEEN or framer.next_start != start):
            starts.add(at)
    after = framer.summary_state
    marked = min((start for start in starts if start >= mark), default=None)
    expected = (after, min(starts, default=None), max(starts, default=None), marked, len(starts))
    assert run == expected, (shape, before, piece, state, mark, run, expected)


def check_open(draw: random.Random, shape: str, data: bytes) -> int:
    """Which values are too long or do not end, of those that reading may go on with where others are given up."""
    longest = draw.choice([0, 3, 10, 40, 1 << 30])
    json = splitscan_kernel.Json(shape)
    found = np.frombuffer(json.open_starts(data, 0, len(data), longest), "<i8").tolist()
    assert found == JsonReferenceFraming(SHAPES[shape]).open_starts(data, longest).tolist(), (data, longest)
    lines = [at + 1 for at in range(len(data) - 1) if data[at : at + 2] == b"\n{"]
    for start in {*found, *lines}:
        records, _ = framed(json, data, start, len(data), at_end=False)
        is_good = bool(records) and records[0][1] - records[0][0] <= longest
        assert is_good is (start not in found), (shape, data, longest, start, records)
    return len(found)


def check_values(draw: random.Random) -> Counter[str]:
    """Values, one after the other or in an array."""
    shape = draw.choice(["values", "array", "below"])
    data, path = random_values(draw, shape), path_of(draw, shape)
    json = native_json(shape, path)
    cut = draw.randint(0, len(data))
    for end, at_end in ((len(data), True), (cut, False)):
        expected = by_reference(shape, path, data[:end], at_end=at_end)
        found = framed(json, data, 0, end, at_end=at_end)
        assert found == expected, (shape, path, data[:end], at_end, found, expected)
    records, next_start = by_reference(shape, path, data, at_end=True)
    check_cuts(draw, json, data, records)
    if path is not None:
        check_around(draw, path, data)
    opened = 0 if path is not None else check_open(draw, shape, data)
    met = Counter(records=len(records), unfinished=next_start < len(data), opened=opened, below=path is not None)
    return met + check_summary(draw, shape, path, data)


def check_lines(draw: random.Random) -> Counter[str]:
    """Lines that hold more than white space, in encodings of all widths."""
    encoding = resolve_encoding(draw.choice(["UTF-8", "UTF-8", "UTF-16LE", "UTF-32BE", "ISO-8859-1"]))
    line_sep = draw.choice([None, None, "\n", "|", "@#"])
    text = "".join(
        draw.choice(["{", "}", " ", "\n", "\r", "\t", "|", "@", "#", "a", "\x00", "é"])
        for _ in range(draw.randint(0, 30))
    )
    data = encoding.encode(text) + bytes(draw.randint(0, 1))
    format = json_lines(line_sep, encoding.name)
    written = None if line_sep is None else encoding.encode(line_sep)
    json = splitscan_kernel.Json.lines(written, encoding.unit_bytes, encoding.big_endian)
    framer = format.reference_framer()
    for byte in data:
        framer.push(byte)
    framer.finish()
    found, _ = framed(json, data, 0, len(data), at_end=True)
    assert found == framer.records, (encoding.name, line_sep, data, found, framer.records)
    end = draw.randint(0, len(data))
    part = format.frame(data[:end], at_end=False)
    expected = list(zip(part.starts.tolist(), part.stops.tolist(), strict=True)), part.next_start
    assert framed(json, data, 0, end, at_end=False) == expected, (encoding.name, line_sep, data[:end])
    if encoding.unit_bytes == 1:
        check_cuts(draw, json, data, found)
    return Counter(lines=len(found), wide=encoding.unit_bytes > 1)


def check_case(seed: int) -> Counter[str]:
    """One case of everything; how often which situation was met."""
    draw = random.Random(seed)
    return check_values(draw) if draw.random() < 0.8 else check_lines(draw)
