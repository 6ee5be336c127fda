"""What the native parsing of JSON must give: the records of the reference framers, each read by the exact parser."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import splitscan_kernel
from tests.kernel.json_cases import Writer, is_utf8, mutated, native_parser, random_decoder
from tests.kernel.json_framing import SHAPES, by_reference
from tests.kernel.native_faults import Seen
from tests.kernel.parsing import check_framed, check_long, check_projection, check_rows, read_all

from splitscan.formats.framing.frames import Frames
from splitscan.formats.json.decoder import JsonDecoder
from splitscan.formats.json.lines import json_lines

CODES = {2: "bad-value", 5: "bad-json", 6: "not-an-object"}


def _reason(fault: Seen) -> tuple[int, str, str]:
    """A native fault as Python says it."""
    record, code, column, seen, kind = fault
    reasons = {
        2: f"column {column!r}: {seen!r} is no {kind}",
        5: f"the record is no JSON value: {seen}",
        6: f"the record is {seen}, not an object",
    }
    return record, CODES[code], reasons[code]


def random_framing(draw: random.Random) -> tuple[str, Any]:
    """Values, an array, or lines."""
    kind = draw.choice(["values", "array", "lines"])
    return kind, splitscan_kernel.Json.lines() if kind == "lines" else splitscan_kernel.Json(kind)


def random_records(draw: random.Random, kind: str, decoder: JsonDecoder) -> bytes:
    """Records of a schema, some of them damaged."""
    writer = Writer(draw, decoder.fields)
    between = {
        "values": ["\n", "\n", " ", "", ",", "\n\n"],
        "array": [",", ",\n", " ,\n  "],
        "lines": ["\n", "\n", "\r\n", "\n \n"],
    }
    parts = []
    for _ in range(draw.choice([1, 1, 2, 3, 6])):
        record = writer.record()
        if kind == "lines" and draw.random() < 0.9:
            record = record.replace("\n", " ").replace("\r", " ")
        parts += [record, draw.choice(between[kind])]
    data = "".join(parts).encode()
    return mutated(draw, data) if draw.random() < 0.3 else data


def frames_of(kind: str, data: bytes) -> Frames:
    """All records by the reference framers."""
    if kind == "lines":
        framer = json_lines(None, "UTF-8").reference_framer()
        for byte in data:
            framer.push(byte)
        framer.finish()
        records, next_start = framer.records, len(data)
    else:
        records, next_start = by_reference(SHAPES[kind], data, at_end=True)
    starts, stops = (np.array([record[i] for record in records], dtype=np.int64) for i in (0, 1))
    return Frames(starts, stops, next_start)


def check_case(seed: int) -> Counter[str]:
    """One case of everything; how often which situation was met."""
    draw = random.Random(seed)
    kind, json = random_framing(draw)
    decoder = random_decoder(draw)
    data = random_records(draw, kind, decoder)
    parser = native_parser(json, decoder)
    frames = frames_of(kind, data)
    wanted = decoder.decode(memoryview(data), frames)
    try:
        rows, position = read_all(draw, parser, data)
        assert rows.records == list(zip(frames.starts.tolist(), frames.stops.tolist(), strict=True))
        assert position == frames.next_start
        check_rows(wanted, rows, _reason)
        check_framed(parser, data, frames, rows)
        parser_of = partial(native_parser, json, decoder)
        check_projection(draw, parser_of, decoder.fields, data, rows)
        long = check_long(draw, parser, data, frames)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{kind} {decoder}\n{data!r}") from error
    met = Counter(long=long, invalid=not is_utf8(data), undecided=len(rows.undecided), records=len(frames))
    met.update({CODES[fault[1]]: 1 for fault in rows.faults})
    met["rescued"] += wanted.rescued is not None and wanted.rescued.null_count < len(frames)
    met["unfinished"] += frames.next_start < len(data)
    met["nested"] += any(pa.types.is_nested(f.type) for f in decoder.fields)
    return met
