"""What native parsers of any format must give: the rows of the definition, in calls of any size."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from tests.kernel.native_faults import Seen, native_faults

from splitscan.formats.decoding.contract import Decoded
from splitscan.formats.framing.frames import Frames

Records = list[tuple[int, int]]
Fields = tuple[pa.Field, ...]
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


def check_rows(wanted: Decoded, rows: Rows, reason: Callable[[Seen], tuple[int, str, str]]) -> None:
    """Values, faults and rescued texts are those of the definition."""
    for number, column in enumerate([*wanted.columns, *([] if wanted.rescued is None else [wanted.rescued])]):
        found = rows.column(number)
        assert all(batch.column(number).type == column.type for batch in rows.batches)
        for row, (one, other) in enumerate(zip(found, column.to_pylist(), strict=True)):
            assert row in rows.undecided or repr(one) == repr(other), (number, row, one, other)
    found_faults = [reason(fault) for fault in rows.faults]
    expected = [
        (fault.record, fault.code, fault.reason) for fault in wanted.faults if fault.record not in rows.undecided
    ]
    assert found_faults == expected, (found_faults, expected)


def check_framed(parser: Any, data: bytes, frames: Frames, rows: Rows) -> None:
    """Records whose positions are known are read as those that are found."""
    starts, stops = frames.starts.astype("<i8").tobytes(), frames.stops.astype("<i8").tobytes()
    framed = Rows()
    framed.add(parser.parse_framed(data, starts, stops), 0)
    assert (framed.records, framed.faults, framed.undecided) == (rows.records, rows.faults, rows.undecided)
    for number in range(framed.batches[0].num_columns):
        assert repr(framed.column(number)) == repr(rows.column(number))


def check_projection(
    draw: random.Random, parser_of: Callable[[tuple[pa.Field, ...]], Any], fields: Fields, data: bytes, rows: Rows
) -> None:
    """Some of the columns: the same rows, values and structural faults."""
    chosen = [number for number in range(len(fields)) if draw.random() < 0.5]
    parser = parser_of(tuple(fields[number] for number in chosen))
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
