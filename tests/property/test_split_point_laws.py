"""What is right before a block tells of its first record what all that comes before it tells."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from splitscan.blocks import UNKNOWN_END, BlockMetadata, Compression, FileMetadata, SeekPoint
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.reading import boundaries
from splitscan.reading.boundaries import find_start_nearby
from splitscan.reading.cursor import RecordCursor, Records, steps_until
from splitscan.testing.faults import MemorySource
from splitscan.testing.strategies import files_of

UTF_8 = resolve_encoding("UTF-8")
FORMATS = [
    QuotedFormat(CsvGrammar(UTF_8, **{"escape": '"', "multi_line": True, **settings}))
    for settings in (
        {},
        {"escape": "\\"},
        {"escape": "\\", "escape_escape": "^"},
        {"escape": "\\", "escape_escape": ""},
        {"escape": None},
        {"line_sep": "\n"},
        {"trim_leading": True},
        {"comment": "#"},
    )
]
LINES = [b'1,"Ann",2\n', b'1,"A\n', b'nn",2\r\n', b'a"b,"c\r"d\n', b'"\n', b"1,2\n"]
WORDS = [b"a", b",", b'"', b'""', b"\n", b"\r", b"\\", b" ", b"#", *LINES, *LINES]
HEAD = b"h\n"


def starts_from(data: bytes, file: FileMetadata, format: QuotedFormat, position: int, most: int) -> list[int]:
    """Where records start, those that are given up too, if reading begins at *position*."""
    cursor = RecordCursor(Records(MemorySource(data), file, Preamble(0, format), most, 16), position)
    return [start for step in steps_until(cursor, len(data)) for start in step.record_offsets.tolist()]


@given(
    records=files_of(WORDS, max_words=30),
    format=st.sampled_from(FORMATS),
    most=st.sampled_from([4, 9, 30, 1000]),
    looks=st.sampled_from([(4, 12), (12, 40), (1000,)]),
    known=st.booleans(),
    draw=st.data(),
)
def test_a_start_that_is_told_by_the_bytes_before_it_is_the_true_one(
    records: bytes, format: QuotedFormat, most: int, looks: tuple[int, ...], known: bool, draw: st.DataObject
) -> None:
    data = HEAD + records
    start = draw.draw(st.integers(1, len(data)))
    entry = draw.draw(st.sampled_from([0, 0, 0, start // 2]))
    compression = Compression("gzip", len(data) if known else UNKNOWN_END)
    file = FileMetadata("memory://test", 9, 0, "9-0", "test", compression)
    block = BlockMetadata(file, start, file.content_bytes, 1, seek=SeekPoint(0, entry))
    preamble = Preamble(len(HEAD), format)
    with patch.object(boundaries, "LOOKS_BYTES", looks):
        found = find_start_nearby(Records(MemorySource(data), block.file, preamble, most, 16), block)
    event("not told" if found is None else "told")
    if found is not None:
        rest = [each for each in starts_from(data, file, format, len(HEAD), most) if each >= start]
        assert found >= start
        assert starts_from(data, file, format, found, most) == rest


@pytest.mark.parametrize(("before", "told"), [(b'1,"Ann",2\n', True), (b"1,Ann,2\n", False), (b'1,"",2\n', False)])
def test_lines_with_a_quoted_field_tell_and_others_do_not(before: bytes, told: bool) -> None:
    data = HEAD + before * 40 + b"3,4\n"
    file = FileMetadata("memory://test", len(data), 0, "9-0", "test")
    block = BlockMetadata(file, len(data) - 6, len(data), 1)
    with patch.object(boundaries, "LOOKS_BYTES", (25, 60)):
        preamble = Preamble(len(HEAD), FORMATS[0])
        found = find_start_nearby(Records(MemorySource(data), block.file, preamble, 99, 16), block)
    assert found == (len(data) - 4 if told else None)
