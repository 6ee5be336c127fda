"""What the native parsing of CSV must give, by the slow path of today's Python: the definition of fields and faults."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import splitscan_kernel
from tests.kernel.csv_cases import mixed_data, native, random_data, random_dialect
from tests.kernel.csv_framing import Reading
from tests.kernel.json_cases import is_utf8
from tests.kernel.native_faults import native_faults

from splitscan.formats.csv.decoder import CsvArrayDecoder, CsvDecoder, CsvLayout, text_of_blank
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.csv.reference import UNCLOSED_QUOTE
from splitscan.formats.decoding.contract import Decoded
from splitscan.formats.decoding.rescue import Rescue, tail_of
from splitscan.formats.framing.frames import Frames
from splitscan.options import BlankAs

KINDS = [
    pa.string(), pa.string(), pa.string(), pa.binary(), pa.bool_(), pa.int8(), pa.int32(), pa.int64(), pa.float64(),
    pa.decimal128(9, 2), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"),
]  # fmt: skip
CODES = {1: "field-count", 2: "bad-value", 3: "unclosed-quote", 4: "field-too-long"}
NOTHING_LEFT = 1 << 40
LIST = pa.list_(pa.string())


@dataclass
class Case:
    """A native parser, and what it must give."""

    dialect: CsvGrammar
    parser: Any
    decoder: CsvDecoder
    arrays: CsvArrayDecoder | None = None

    @classmethod
    def of_columns(cls, draw: random.Random, dialect: CsvGrammar) -> Case:
        """Some fields as columns, with all that a layout can say."""
        names = ["a", 'b"', "c\n", "é"][: draw.randint(1, 4)]
        kinds = tuple(draw.choice(KINDS) for _ in names)
        fields = list(range(len(names)))
        wanted = draw.sample(fields, draw.randint(0, len(fields)))
        rescue = draw.choice([None, None, Rescue("a/é\\.csv", draw.randint(1, 6), wanted=draw.random() < 0.8)])
        rest = [i for i in fields if i not in wanted]
        unmatched = sorted(draw.sample(rest, draw.randint(0, len(rest)))) if rescue else []
        blanks = {i: draw.choice(list(BlankAs)) for i in fields if draw.random() < 0.1}
        layout = CsvLayout(
            tuple(names), kinds, tuple(wanted), draw.randint(1, len(names)), tuple(unmatched), blanks=blanks
        )
        texts = _meaning(draw)
        csv = native(dialect.in_utf8, trim_trailing=texts["trim_trailing"])
        parser = splitscan_kernel.CsvParser(
            csv,
            pa.schema([(names[i], kinds[i]) for i in wanted]),
            names=names,
            wanted=wanted,
            least=layout.least,
            null_value=texts["null_value"],
            empty_value=texts["empty_value"],
            max_field_chars=texts["max_field_chars"],
            blanks={i: text_of_blank(blank, kinds[i]) for i, blank in blanks.items()},
            rescue=None if rescue is None else (unmatched, rescue.max_fields, tail_of(rescue.path), rescue.wanted),
        )
        return cls(dialect, parser, _decoder(dialect, layout, texts, rescue))

    @classmethod
    def of_arrays(cls, draw: random.Random, dialect: CsvGrammar) -> Case:
        """All fields, or some, as the items of a list."""
        texts = _meaning(draw)
        elements = draw.choice([None, None, tuple(draw.sample(range(5), draw.randint(0, 3)))])
        most, wanted = draw.randint(1, 6), draw.random() < 0.9
        decoder = _decoder(dialect, CsvLayout(("columns",), (LIST,), ()), texts, None)
        parser = splitscan_kernel.CsvParser.arrays(
            native(dialect.in_utf8, trim_trailing=texts["trim_trailing"]),
            pa.schema([("columns", LIST)] if wanted else []),
            max_fields=most,
            elements=None if elements is None else list(elements),
            null_value=texts["null_value"],
            empty_value=texts["empty_value"],
            max_field_chars=texts["max_field_chars"],
        )
        return cls(dialect, parser, decoder, CsvArrayDecoder(decoder, LIST, most, elements, wanted=wanted))

    def wanted(self, data: bytes, frames: Frames) -> Decoded | None:
        """The definition; ``None`` without records."""
        if not len(frames):
            return None
        return (self.arrays or self.decoder).decode(memoryview(data), frames)


def _meaning(draw: random.Random) -> dict[str, Any]:
    return {
        "null_value": draw.choice(["", "", "", "a", "é", "12"]),
        "empty_value": draw.choice(["", "", "", "a", "empty", "\t"]),
        "trim_trailing": draw.random() < 0.3,
        "max_field_chars": draw.choice([None, None, None, 1, 3]),
    }


def _decoder(dialect: CsvGrammar, layout: CsvLayout, texts: dict[str, Any], rescue: Rescue | None) -> CsvDecoder:
    return CsvDecoder(dialect, layout, trim_leading=dialect.trim_leading, rescue=rescue, **texts)


@dataclass
class Rows:
    """What calls of the parser gave."""

    batches: list[pa.RecordBatch]
    records: list[tuple[int, int]]
    faults: list[tuple[int, int, str, str]]
    counts: dict[int, int]
    malformed: list[int]

    @classmethod
    def none(cls) -> Rows:
        return cls([], [], [], {}, [])

    def add(self, parsed: Any, offset: int) -> None:
        """Add the answer of one call for data from *offset* on."""
        before = len(self.records)
        batch = pa.record_batch(parsed.batch)
        batch.validate(full=True)
        assert batch.num_rows == parsed.rows
        self.batches.append(batch)
        starts, stops = np.frombuffer(parsed.starts, "<i8") + offset, np.frombuffer(parsed.stops, "<i8") + offset
        self.records += zip(starts.tolist(), stops.tolist(), strict=True)
        self.faults += [
            (before + record, code, column, seen) for record, code, column, seen, _ in native_faults(parsed)
        ]
        self.counts |= {before + record: count for record, count in parsed.counts}
        self.malformed += [before + record for record in parsed.malformed]
        assert parsed.undecided == []

    def column(self, number: int) -> list[Any]:
        return [value for batch in self.batches for value in batch.column(number).to_pylist()]


def frames_of(dialect: CsvGrammar, data: bytes) -> Frames:
    """All records by the reference machine."""
    records, malformed, next_start = Reading.of(dialect, data).frames(data, at_end=True)
    starts, stops = (np.array([record[i] for record in records], dtype=np.int64) for i in (0, 1))
    return Frames(starts, stops, next_start, dict.fromkeys(malformed, UNCLOSED_QUOTE))


def read_all(draw: random.Random, case: Case, data: bytes) -> Rows:
    """Read data in calls with limits of all kinds: deliveries, ranges, rows."""
    rows, position, visible = Rows.none(), 0, draw.randint(0, len(data))
    prefix = draw.randint(0, 3)
    padded = bytes(prefix) + data
    while True:
        at_end = visible == len(data)
        stop = draw.choice([NOTHING_LEFT, draw.randint(0, len(data))])
        most = draw.choice([NOTHING_LEFT, draw.randint(0, 3)])
        begin, end = prefix + position, prefix + visible
        parsed = case.parser.parse(padded, begin, end, prefix + stop, at_end, most, NOTHING_LEFT)
        assert parsed.rows <= most
        rows.add(parsed, position)
        assert all(start < stop for start, _ in rows.records[len(rows.records) - parsed.rows :])
        position += parsed.next_start
        if parsed.stopped == "end":
            assert (at_end, position) == (True, len(data))
            return rows
        if parsed.stopped == "owned":
            assert position >= stop
        elif parsed.stopped == "rows":
            assert parsed.rows == most
        else:
            assert parsed.stopped == "input"
            if at_end:
                return rows
            visible = min(len(data), visible + draw.choice([1, 7, 100]))


def check_rows(case: Case, data: bytes, frames: Frames, rows: Rows) -> Decoded | None:
    """Values, faults and rescued texts are those of the definition."""
    assert rows.records == list(zip(frames.starts.tolist(), frames.stops.tolist(), strict=True))
    assert rows.malformed == sorted(frames.malformed)
    wanted = case.wanted(data, frames)
    if wanted is None:
        return None
    columns = [*wanted.columns, *([] if wanted.rescued is None else [wanted.rescued])]
    for number, column in enumerate(columns):
        found = rows.column(number)
        for row, (one, other) in enumerate(zip(found, column.to_pylist(), strict=True)):
            assert repr(one) == repr(other), (number, row, one, other)
    found_faults = [_reason(case, fault) for fault in rows.faults]
    expected = [
        (
            fault.record,
            fault.code,
            fault.reason.partition(" is no ")[0] if fault.code == "bad-value" else fault.reason,
        )
        for fault in wanted.faults
    ]
    assert found_faults == expected, (found_faults, expected)
    return wanted


def _reason(case: Case, fault: tuple[int, int, str, str]) -> tuple[int, str, str]:
    """A native fault as Python says it."""
    record, code, column, seen = fault
    if case.arrays is not None:
        count = f"the record has {seen} fields where maxColumns={case.arrays.max_fields} are allowed"
    else:
        count = f"the record has {seen} fields where {len(case.decoder.layout.names)} are expected"
    reasons = {
        1: count,
        2: f"column {column!r}: {seen!r}",
        3: "the line ends inside quotes; with multiLine=true a quoted field may span lines",
        4: f"a field is longer than maxCharsPerColumn={case.decoder.max_field_chars}",
    }
    return record, CODES[code], reasons[code]


def check_framed(case: Case, data: bytes, frames: Frames, rows: Rows) -> None:
    """Records whose positions are known are read as those that are found."""
    starts, stops = frames.starts.astype("<i8").tobytes(), frames.stops.astype("<i8").tobytes()
    framed = Rows.none()
    framed.add(case.parser.parse_framed(data, starts, stops), 0)
    assert (framed.records, framed.faults, framed.counts) == (rows.records, rows.faults, rows.counts)
    assert framed.malformed == rows.malformed
    for number in range(framed.batches[0].num_columns):
        assert repr(framed.column(number)) == repr(rows.column(number))


def check_long(draw: random.Random, case: Case, data: bytes, frames: Frames) -> bool:
    """The parser stops before the first record that is too long."""
    lengths = (frames.stops - frames.starts).tolist()
    most = draw.randint(0, max(lengths, default=0))
    parsed = case.parser.parse(data, 0, len(data), len(data), True, NOTHING_LEFT, most)
    first = next((i for i, length in enumerate(lengths) if length > most), None)
    if first is None:
        assert parsed.stopped != "long"
        return False
    assert (parsed.stopped, parsed.rows, parsed.next_start) == ("long", first, frames.starts[first])
    cut = draw.randint(0, len(data))
    part = case.parser.parse(data, 0, cut, len(data), False, NOTHING_LEFT, most)
    assert part.rows <= first
    return True


def check_case(seed: int) -> Counter[str]:
    """One case of everything; how often which situation was met."""
    draw = random.Random(seed)
    dialect = random_dialect(draw, ["UTF-8"])
    if draw.random() < 0.5:
        data = mixed_data(draw, dialect)
    else:
        data = random_data(draw, dialect, draw.choice([4, 12, 12, 60]) if seed % 10 else 200)
    case = Case.of_arrays(draw, dialect) if draw.random() < 0.25 else Case.of_columns(draw, dialect)
    frames = frames_of(dialect, data)
    try:
        rows = read_all(draw, case, data)
        wanted = check_rows(case, data, frames, rows)
        check_framed(case, data, frames, rows)
        long = check_long(draw, case, data, frames)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{case}\n{data!r}") from error
    met = Counter(long=long, invalid=not is_utf8(data))
    met.update({CODES[code]: 1 for _, code, _, _ in rows.faults})
    met["rescued"] += wanted is not None and wanted.rescued is not None and wanted.rescued.null_count < len(frames)
    return met
