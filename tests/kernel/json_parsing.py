"""What the native parsing of JSON must give: the records of the reference framers, each read by the exact parser."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import splitscan_kernel
from tests.kernel.json_cases import Writer, is_utf8, mutated, native_parser, random_decoder
from tests.kernel.json_framing import SHAPES, Records, by_reference
from tests.kernel.native_faults import Seen, native_faults

from splitscan.formats.decoding.contract import Decoded
from splitscan.formats.framing.frames import Frames
from splitscan.formats.json.decoder import JsonDecoder
from splitscan.formats.json.lines import json_lines

CODES = {2: "bad-value", 5: "bad-json", 6: "not-an-object"}
NOTHING_LEFT = 1 << 40


class Rows:
    """What calls of the parser gave."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []
        self.records: Records = []
        self.faults: list[Seen] = []
        self.undecided: set[int] = set()

    def add(self, parsed: Any, offset: int) -> None:
        """Add the answer of one call for data from *offset* on."""
        before = len(self.records)
        batch = pa.record_batch(parsed.batch)
        batch.validate(full=True)
        assert batch.num_rows == parsed.rows
        self.batches.append(batch)
        starts, stops = np.frombuffer(parsed.starts, "<i8") + offset, np.frombuffer(parsed.stops, "<i8") + offset
        self.records += zip(starts.tolist(), stops.tolist(), strict=True)
        assert len(self.records) == before + parsed.rows
        self.faults += [(before + record, *rest) for record, *rest in native_faults(parsed)]
        self.undecided |= {before + record for record in parsed.undecided}

    def column(self, number: int) -> list[Any]:
        """The values of a column."""
        return [value for batch in self.batches for value in batch.column(number).to_pylist()]


def read_all(draw: random.Random, parser: Any, data: bytes) -> tuple[Rows, int]:
    """Read data in calls with limits of all kinds; the rows, and where what is not finished begins."""
    rows, position, visible = Rows(), 0, draw.choice([len(data), draw.randint(0, len(data))])
    prefix = draw.randint(0, 3)
    padded = bytes(prefix) + data
    while True:
        at_end = visible == len(data)
        stop = draw.choice([NOTHING_LEFT, NOTHING_LEFT, draw.randint(0, len(data))])
        most = draw.choice([NOTHING_LEFT, NOTHING_LEFT, draw.randint(0, 3)])
        begin, end = prefix + position, prefix + visible
        parsed = parser.parse(padded, begin, end, prefix + stop, at_end, most, NOTHING_LEFT)
        assert parsed.rows <= most
        rows.add(parsed, position)
        assert all(start < stop for start, _ in rows.records[len(rows.records) - parsed.rows :])
        position += parsed.next_start
        if parsed.stopped == "end":
            assert (at_end, position) == (True, len(data))
            return rows, position
        if parsed.stopped == "owned":
            assert position >= stop
        elif parsed.stopped == "rows":
            assert parsed.rows == most
        else:
            assert parsed.stopped == "input"
            if at_end:
                return rows, position
            visible = min(len(data), visible + draw.choice([1, 7, 100]))


def check_rows(decoder: JsonDecoder, wanted: Decoded, rows: Rows) -> None:
    """Values, faults and rescued texts are those of the definition."""
    for number, column in enumerate([*wanted.columns, *([] if wanted.rescued is None else [wanted.rescued])]):
        found = rows.column(number)
        assert all(batch.column(number).type == column.type for batch in rows.batches)
        for row, (one, other) in enumerate(zip(found, column.to_pylist(), strict=True)):
            assert row in rows.undecided or repr(one) == repr(other), (number, row, one, other)
    found_faults = [_reason(fault) for fault in rows.faults]
    expected = [
        (fault.record, fault.code, fault.reason) for fault in wanted.faults if fault.record not in rows.undecided
    ]
    assert found_faults == expected, (found_faults, expected)


def _reason(fault: Seen) -> tuple[int, str, str]:
    """A native fault as Python says it."""
    record, code, column, seen, kind = fault
    reasons = {
        2: f"column {column!r}: {seen!r} is no {kind}",
        5: f"the record is no JSON value: {seen}",
        6: f"the record is {seen}, not an object",
    }
    return record, CODES[code], reasons[code]


def check_framed(parser: Any, data: bytes, frames: Frames, rows: Rows) -> None:
    """Records whose positions are known are read as those that are found."""
    starts, stops = frames.starts.astype("<i8").tobytes(), frames.stops.astype("<i8").tobytes()
    framed = Rows()
    framed.add(parser.parse_framed(data, starts, stops), 0)
    assert (framed.records, framed.faults, framed.undecided) == (rows.records, rows.faults, rows.undecided)
    for number in range(framed.batches[0].num_columns):
        assert repr(framed.column(number)) == repr(rows.column(number))


def check_projection(draw: random.Random, json: Any, decoder: JsonDecoder, data: bytes, rows: Rows) -> None:
    """Some of the columns: the same rows, values and structural faults."""
    chosen = [number for number in range(len(decoder.fields)) if draw.random() < 0.5]
    parser = native_parser(json, decoder, tuple(decoder.fields[number] for number in chosen))
    some = Rows()
    some.add(parser.parse(data, 0, len(data), len(data), True, NOTHING_LEFT, NOTHING_LEFT), 0)
    assert some.records == rows.records
    assert [fault for fault in some.faults if fault[1] != 2] == [
        fault for fault in rows.faults if fault[1] != 2 and fault[0] not in some.undecided
    ]
    unsure = some.undecided | rows.undecided
    for number, column in enumerate(chosen):
        pairs = zip(some.column(number), rows.column(column), strict=True)
        assert all(row in unsure or repr(one) == repr(other) for row, (one, other) in enumerate(pairs))


def check_long(draw: random.Random, parser: Any, data: bytes, frames: Frames) -> bool:
    """The parser stops before the first record that is too long."""
    lengths = (frames.stops - frames.starts).tolist()
    most = draw.randint(0, max(lengths, default=0))
    parsed = parser.parse(data, 0, len(data), len(data), True, NOTHING_LEFT, most)
    first = next((i for i, length in enumerate(lengths) if length > most), None)
    part = parser.parse(data, 0, draw.randint(0, len(data)), len(data), False, NOTHING_LEFT, most)
    if first is None:
        assert parsed.stopped != "long"
        return False
    assert (parsed.stopped, parsed.rows, parsed.next_start) == ("long", first, frames.starts[first])
    assert part.rows <= first
    return True


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
        check_rows(decoder, wanted, rows)
        check_framed(parser, data, frames, rows)
        check_projection(draw, json, decoder, data, rows)
        long = check_long(draw, parser, data, frames)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{kind} {decoder}\n{data!r}") from error
    met = Counter(long=long, invalid=not is_utf8(data), undecided=len(rows.undecided), records=len(frames))
    met.update({CODES[fault[1]]: 1 for fault in rows.faults})
    met["rescued"] += wanted.rescued is not None and wanted.rescued.null_count < len(frames)
    met["unfinished"] += frames.next_start < len(data)
    met["nested"] += any(pa.types.is_nested(f.type) for f in decoder.fields)
    return met
