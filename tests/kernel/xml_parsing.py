"""What the native parsing of XML must give: the records of the byte-at-a-time framer, read by the exact decoder."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
from tests.kernel.json_cases import is_utf8
from tests.kernel.native_faults import Seen
from tests.kernel.parsing import check_framed, check_long, check_projection, check_rows, read_all
from tests.kernel.xml_cases import Writer, mutated, native_parser, random_decoder

from splitscan.formats.framing.encodings import UTF_8
from splitscan.formats.framing.frames import Frames
from splitscan.formats.xml.decoder import XmlDecoder
from splitscan.formats.xml.grammar import symbols_of
from splitscan.formats.xml.reference import XmlReferenceFramer

CODES = {2: "bad-value", 8: "bad-xml"}
BETWEEN = [
    "\n",
    "\n",
    "",
    " x ",
    "<!-- <r> -->",
    "<b a='<r>'/>",
    "<?p?>",
    "</c>",
    "<!D [",
    "]>",
    "<![CDATA[<r>]]>",
    "\ufeff",
]


def _reason(fault: Seen) -> tuple[int, str, str]:
    """A native fault as Python says it."""
    record, code, column, seen, kind = fault
    reasons = {2: f"column {column!r}: {seen!r} is no {kind}", 8: f"the record is no XML element: {seen}"}
    return record, CODES[code], reasons[code]


def random_records(draw: random.Random, decoder: XmlDecoder) -> bytes:
    """Records of a schema, some of them damaged."""
    writer, parts = Writer(draw, decoder), []
    for _ in range(draw.choice([1, 1, 2, 3, 6])):
        parts += [writer.record(), draw.choice(BETWEEN)]
    data = "".join(parts).encode("utf-8", "replace")
    return mutated(draw, data) if draw.random() < 0.3 else data


def frames_of(decoder: XmlDecoder, data: bytes) -> Frames:
    """All records by the reference framer."""
    framer = XmlReferenceFramer(symbols_of(decoder.own.row_tag, UTF_8))
    for byte in data:
        framer.push(byte)
    framer.finish()
    starts, stops = (np.array([record[i] for record in framer.records], dtype=np.int64) for i in (0, 1))
    return Frames(starts, stops, len(data) if framer.unfinished is None else framer.unfinished)


def check_case(seed: int) -> Counter[str]:
    """One case of everything; how often which situation was met."""
    draw = random.Random(seed)
    decoder = random_decoder(draw)
    data = random_records(draw, decoder)
    parser = native_parser(decoder)
    frames = frames_of(decoder, data)
    wanted = decoder.decode(memoryview(data), frames)
    try:
        rows, position = read_all(draw, parser, data)
        assert rows.records == list(zip(frames.starts.tolist(), frames.stops.tolist(), strict=True))
        assert position == frames.next_start
        check_rows(wanted, rows, _reason)
        check_framed(parser, data, frames, rows)
        check_projection(draw, partial(native_parser, decoder), decoder.fields, data, rows)
        long = check_long(draw, parser, data, frames)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{decoder}\n{data!r}") from error
    met = Counter(long=long, invalid=not is_utf8(data), undecided=len(rows.undecided), records=len(frames))
    met.update({CODES[fault[1]]: 1 for fault in rows.faults})
    met["rescued"] += wanted.rescued is not None and wanted.rescued.null_count < len(frames)
    met["unfinished"] += frames.next_start < len(data)
    met["nested"] += any(pa.types.is_nested(f.type) for f in decoder.fields)
    return met
