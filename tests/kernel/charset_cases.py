"""CSV in other encodings than UTF-8: what is found and decoded in one go, and what the reference makes of it."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
from tests.kernel.csv_cases import random_data, random_dialect
from tests.kernel.csv_parsing import NOTHING_LEFT, Case, frames_of

from splitscan.formats.csv.kernel import arrays_with_kernel, with_kernel
from splitscan.formats.decoding.contract import Decoded, NativeDecoder, Parsed
from splitscan.formats.framing.frames import Frames

ENCODINGS = ("ISO-8859-15", "windows-1252", "windows-1254", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE")


def check_case(seed: int) -> Counter[str]:
    """Read a file piece by piece as the reader of a block does; how often which situation was met."""
    draw = random.Random(seed)
    dialect = random_dialect(draw, ENCODINGS)
    data = random_data(draw, dialect, draw.choice([4, 12, 60]))
    case = Case.of_arrays(draw, dialect) if draw.random() < 0.2 else Case.of_columns(draw, dialect)
    decoder = with_kernel(case.decoder) if case.arrays is None else arrays_with_kernel(case.arrays)
    assert isinstance(decoder, NativeDecoder)
    return _read(draw, case, decoder, data)


def _read(draw: random.Random, case: Case, decoder: NativeDecoder, data: bytes) -> Counter[str]:
    met, frames = Counter[str](), frames_of(case.dialect, data)
    most = draw.choice([NOTHING_LEFT, NOTHING_LEFT, draw.randint(1, 40)])
    position, visible = 0, draw.randint(0, len(data))
    while position < len(data):
        at_end, piece = visible == len(data), memoryview(data)[position:visible]
        stop = draw.randint(1, max(1, len(piece)))
        parsed = decoder.parse(piece, stop=stop, at_end=at_end, max_record_bytes=most) if piece else None
        rest = _between(frames, position, len(data))
        if parsed is not None:
            met.update({"parsed": 1, "fault": len(parsed.decoded.faults), "not ascii": not bytes(piece).isascii()})
            met["wide"] += case.dialect.encoding.unit_bytes > 1
            step = parsed.frames.next_start
            _compare(case, data, position, stop, parsed, _between(frames, position, position + step))
            assert all((parsed.frames.stops - parsed.frames.starts) <= most)
        else:
            met["none"] += 1
            first = rest.head(1, int(rest.starts[1]) if len(rest) > 1 else len(data))
            step = first.next_start - position if len(first) else len(data) - position
            if position + step > visible:
                step = 0
            elif len(first):
                _alike(decoder.decode(memoryview(data), first), case.wanted(data, first))
        if not step and at_end:
            assert not len(rest)
            break
        position += step
        visible = max(position, visible if step else min(len(data), visible + draw.choice([1, 7, 100])))
    return met


def _compare(case: Case, data: bytes, position: int, stop: int, parsed: Parsed, expected: Frames) -> None:
    found = parsed.frames
    assert not parsed.stopped_long
    assert (found.starts + position).tolist() == expected.starts.tolist()
    assert (found.stops + position).tolist() == expected.stops.tolist()
    assert found.malformed == expected.malformed
    assert all(start < stop for start in found.starts.tolist())
    if len(expected):
        _alike(parsed.decoded, case.wanted(data, expected))


def _between(frames: Frames, start: int, stop: int) -> Frames:
    """The records that start there."""
    inside = (frames.starts >= start) & (frames.starts < stop)
    first = int((frames.starts < start).sum())
    malformed = {
        record - first: code for record, code in frames.malformed.items() if 0 <= record - first < inside.sum()
    }
    return Frames(frames.starts[inside], frames.stops[inside], frames.next_start, malformed)


def _alike(found: Decoded, wanted: Decoded | None) -> None:
    assert wanted is not None
    assert found.rows == wanted.rows
    for one, other in zip(found.columns, wanted.columns, strict=True):
        assert repr(one.to_pylist()) == repr(other.to_pylist())
    assert list(found.faults) == list(wanted.faults)
    kept = [None if each is None else pa.array(each).to_pylist() for each in (found.rescued, wanted.rescued)]
    assert kept[0] == kept[1]
