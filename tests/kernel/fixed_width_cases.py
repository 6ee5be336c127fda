"""What the native reading of fixed width must give: the records of the definition, read by the reference decoder."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from tests.kernel import value_cases

from splitscan.formats.decoding.contract import Decoded, NativeDecoder
from splitscan.formats.decoding.rescue import Rescue
from splitscan.formats.fixed.framing import FixedFormat
from splitscan.formats.fixed_width.decoder import FixedWidthDecoder
from splitscan.formats.fixed_width.kernel import with_kernel
from splitscan.formats.fixed_width.options import Field, FixedWidthOptions
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import Frames
from splitscan.formats.text.delimited import line_format

_ENCODINGS = ["UTF-8", "UTF-8", "UTF-8", "ISO-8859-1", "windows-1252", "UTF-16LE", "UTF-32BE", "GBK", "US-ASCII"]
_EXTRA = ["", "", "", " ", "\t", "é", "☃", "\u00a0", "\x85", "𝄞", "\x00", "NULL", "-"]
_LINE_SEPS = [None, None, None, "\n", "|", "@#", "\r\n"]
NOTHING_LEFT = 1 << 40


class Columns:
    """A layout, and how its columns are written."""

    def __init__(self, draw: random.Random) -> None:
        count = draw.randint(0, 5)
        self.cases = [value_cases.random_case(draw) for _ in range(count)]
        self.layout, place = [], draw.choice([1, 1, 1, 3])
        for number in range(max(count, 1)):
            length = draw.choice([1, 3, 8, 10, 26])
            self.layout.append(Field(f'c"{number}', place, length))
            place = max(1, place + length + draw.choice([0, 0, 1, -2, -length]))
        draw.shuffle(self.layout)
        kept = [case for case in self.cases if not (pa.types.is_nested(case.kind) or pa.types.is_null(case.kind))]
        self.fields = tuple(pa.field(each.name, case.kind) for each, case in zip(self.layout, kept, strict=False))
        self.cases = kept[: len(self.fields)]

    def line(self, draw: random.Random) -> str:
        """A record of characters."""
        symbols = [" "] * max(each.stop for each in self.layout)
        for each, case in zip(self.layout, self.cases, strict=False):
            (text,) = value_cases.random_texts(draw, case, 1)
            text = (text or draw.choice(_EXTRA)).replace("\n", " ").replace("\r", " ")
            text = draw.choice([text.ljust(each.length), text.rjust(each.length), text])[: each.length]
            symbols[each.start - 1 : each.start - 1 + len(text)] = text
        line = "".join(symbols)
        if draw.random() < 0.1:
            line = value_cases.mutated(draw, line)
        return line[: draw.randint(0, len(line))] if draw.random() < 0.15 else line


def random_case(draw: random.Random) -> tuple[FixedWidthDecoder, Any, bytes]:
    """A decoder, the format of its files, and one of those."""
    columns, encoding = Columns(draw), resolve_encoding(draw.choice(_ENCODINGS))
    has_length = draw.random() < 0.4
    own = FixedWidthOptions(
        layout=tuple(columns.layout),
        null_value=draw.choice(["", "", "NULL", "-", " -", "é"]),
        ignore_leading_white_space=draw.random() < 0.7,
        ignore_trailing_white_space=draw.random() < 0.7,
        encoding=encoding.name,
    )
    rescue = draw.choice([None, None, Rescue('a/é\\".txt', wanted=draw.random() < 0.8)])
    common = columns.cases[0].rules if columns.cases else value_cases.random_case(draw).rules
    own_rules = {
        column.name: case.rules
        for column, case in zip(columns.fields, columns.cases, strict=True)
        if case is not common
    }
    places = tuple(columns.layout[: len(columns.fields)])
    decoder = FixedWidthDecoder(
        encoding=encoding,
        fields=columns.fields,
        null_value=own.null_value,
        places=places,
        own=own,
        rules=common,
        own_rules=own_rules,
        rescue=rescue,
    )
    lines = [columns.line(draw) for _ in range(draw.choice([0, 1, 2, 5, 12, 150]) if draw.random() < 0.9 else 1100)]
    if has_length:
        length = max(each.stop for each in own.layout) + draw.choice([0, 0, 1, 3])
        decoder = replace(decoder, own=replace(own, record_length=length))
        data = b"".join(line.encode(encoding.codec, "replace")[:length].ljust(length) for line in lines)
        return decoder, FixedFormat(length), damaged(draw, data)
    line_sep = draw.choice(_LINE_SEPS)
    if encoding.longest_bytes > 1 and line_sep not in {None, "\n", "\r\n"}:
        line_sep = None
    text = "".join(line + (line_sep or draw.choice(["\n", "\n", "\r\n", "\r"])) for line in lines)
    return decoder, line_format(line_sep, None, encoding.name), damaged(draw, text.encode(encoding.codec, "replace"))


def damaged(draw: random.Random, data: bytes) -> bytes:
    """The same, or with other bytes in it, or without its end."""
    if data and draw.random() < 0.25:
        for _ in range(draw.randint(1, 4)):
            at = draw.randint(0, len(data) - 1)
            data = data[:at] + bytes([draw.choice([0, 10, 13, 32, 0x80, 0xC3, 0xE2, 0xFF])]) + data[at + 1 :]
    return data[: draw.randint(0, len(data))] if draw.random() < 0.3 else data


def frames_of(format: Any, data: bytes) -> Frames:
    """All records by the reference framer."""
    framer = format.reference_framer()
    for byte in data:
        framer.push(byte)
    framer.finish()
    starts, stops = (np.array([record[i] for record in framer.records], dtype=np.int64) for i in (0, 1))
    short = getattr(format, "short_piece_code", None)
    is_cut = short and len(starts) and stops[-1] - starts[-1] < format.piece_bytes
    return Frames(starts, stops, len(data), {len(starts) - 1: short} if is_cut else {})


def seen_of(decoded: Decoded) -> tuple[list[Any], list[Any]]:
    """Values and faults, to compare."""
    columns = [*decoded.columns, *([] if decoded.rescued is None else [decoded.rescued])]
    for column in columns:
        column.validate(full=True)
    faults = [(fault.record, fault.code, fault.reason) for fault in decoded.faults]
    return [(column.type, repr(column.to_pylist())) for column in columns], faults


def read_all(draw: random.Random, native: NativeDecoder, format: Any, data: bytes) -> tuple[list[Any], list[Any]]:
    """Read a file in calls with limits of all kinds: what they gave, one after the other."""
    rows, faults, position = [], [], 0
    visible = draw.randint(0, len(data))
    records = 0
    while position < len(data):
        view, at_end = memoryview(data)[position:visible], visible == len(data)
        stop = draw.choice([NOTHING_LEFT, max(1, draw.randint(0, len(data)) - position)])
        parsed = native.parse(view, stop=min(stop, max(len(view), 1)), at_end=at_end, max_record_bytes=NOTHING_LEFT)
        if parsed is None:
            frames = format.frame(view, at_end=at_end)
            decoded = native.decode(view, frames)
        else:
            frames, decoded = parsed.frames, parsed.decoded
            assert not parsed.stopped_long
        assert decoded.rows == len(frames)
        columns = [*decoded.columns, *([] if decoded.rescued is None else [decoded.rescued])]
        spans = zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)
        values = zip(*(column.to_pylist() for column in columns), strict=True) if columns else [()] * len(frames)
        rows += [
            ((start + position, stop + position), repr(row)) for (start, stop), row in zip(spans, values, strict=True)
        ]
        faults += [(records + fault.record, fault.code, fault.reason) for fault in decoded.faults]
        records += len(frames)
        assert frames.next_start or not at_end
        position += frames.next_start
        visible = min(len(data), max(visible, position) + draw.choice([0, 1, 7, 100, len(data)]))
        if not frames.next_start:
            visible = min(len(data), visible + 1)
    return rows, faults


def check_case(seed: int) -> Counter[str]:
    """One case of everything; how often which situation was met."""
    draw = random.Random(seed)
    decoder, format, data = random_case(draw)
    native = with_kernel(decoder, format)
    if not isinstance(native, NativeDecoder):
        has_pattern = any(rules.date_format for rules in (decoder.rules, *decoder.own_rules.values()))
        assert has_pattern or (decoder.encoding.longest_bytes > 1 and decoder.own.record_length is not None), decoder
        return Counter(python=1)
    try:
        frames = frames_of(format, data)
        wanted = decoder.decode(memoryview(data), frames)
        values, faults = seen_of(wanted)
        assert seen_of(native.decode(memoryview(data), frames)) == (values, faults)
        columns = [*wanted.columns, *([] if wanted.rescued is None else [wanted.rescued])]
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True)) if columns else [()] * len(frames)
        spans = zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)
        expected = [(span, repr(row)) for span, row in zip(spans, rows, strict=True)]
        found, found_faults = read_all(draw, native, format, data)
        assert found == expected, next(pair for pair in zip(found, expected, strict=False) if pair[0] != pair[1])
        assert found_faults == faults, (found_faults, faults)
    except (AssertionError, StopIteration) as error:
        raise AssertionError(f"{error}\n{decoder}\n{format}\n{data!r}") from error
    met = Counter(records=len(frames), faults=len(faults), lengths=decoder.own.record_length is not None)
    met["rescued"] += wanted.rescued is not None and wanted.rescued.null_count < len(frames)
    met["short"] += any(fault[1] == "short-record" for fault in faults)
    met["wide"] += not data.isascii()
    return met
