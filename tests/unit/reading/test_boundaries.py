"""The boundary index: for every block, exactly where its first record starts, and at what cost."""

from __future__ import annotations

from typing import Any

import pytest

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.text.lines import LineFormat
from splitscan.reading import boundaries
from splitscan.reading.boundaries import find_start_nearby, index_file, summarise_block
from splitscan.reading.cursor import Records
from splitscan.testing.faults import MemorySource, RecordingSource
from splitscan.testing.memory_reader import read_range
from splitscan.testing.reader_laws import check_reader_law, plan_file

UTF_8 = resolve_encoding("UTF-8")


def csv(header: bool = False, **settings: Any) -> QuotedFormat:
    return QuotedFormat(CsvGrammar(**{"encoding": UTF_8, "escape": '"', "multi_line": True, **settings}), header)


def starts(data: bytes, format: QuotedFormat, block_bytes: int, max_record_bytes: int = 1000) -> list[int | None]:
    index = plan_file(MemorySource(data), format, block_bytes, max_record_bytes=max_record_bytes, read_bytes=1000)
    return [block.first_record_start for block in index.blocks]


def boundary_behind(data: bytes, position: int, format: QuotedFormat) -> int:
    """By reading from the beginning: the first record at or after *position*, and the gap before it."""
    records = read_range(format, data, 0, len(data), len(data))
    return next((record.start for record in records if record.start >= position), len(data))


@pytest.mark.parametrize("format", [csv(), csv(escape="\\"), csv(sep="||"), csv(line_sep="\n"), csv(comment="%")])
def test_no_record_starts_between_a_block_and_its_first_boundary(format: QuotedFormat) -> None:
    sep = format.dialect.sep.encode()
    data = sep.join([b'"a\nb"', b"c\n\n\r\nd", b'"\n"', b'"e\r\nf"\n"g"', b"h\n"])
    for size in range(1, len(data)):
        for index, found in enumerate(starts(data, format, size)):
            assert found is not None
            assert index * size <= found <= boundary_behind(data, index * size, format)


def test_a_header_is_before_all_boundaries() -> None:
    data = b'"a\nb",c\n1,2\n3,4\n'
    assert starts(data, csv(header=True), 4) == [8, 8, 8, 12]


@pytest.mark.parametrize("inside", [b"x", b"x\n", b'"",""\n'])
def test_blocks_inside_a_long_record_all_point_behind_it(inside: bytes) -> None:
    data = b'a\n"' + inside * 40 + b'"\nb\n'
    behind = len(data) - 2
    found = starts(data, csv(), 10)
    assert found[1:-1] == [behind] * (len(found) - 2)
    assert found[0] == 0


@pytest.mark.parametrize("piece_bytes", [1, 2, 3, 7, 64])
def test_the_size_of_the_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch, piece_bytes: int) -> None:
    data = b'a,"b\nc"\r\n"d""\n",\n\n\r\nx"y\n"z"\n' * 3
    expected = [boundary_behind(data, start, csv()) for start in range(0, len(data), 8)]
    monkeypatch.setattr(boundaries, "PIECE_BYTES", piece_bytes)
    found = starts(data, csv(), 8)
    assert [boundary_behind(data, start or 0, csv()) for start in found] == expected


def test_pieces_are_adjacent_and_cover_the_data() -> None:
    data = b'h\n"a\n",b\r\n""""\r\n' * 20
    file = FileMetadata("memory://test", len(data), 0, "v1", "test")
    source = MemorySource(data)
    blocks = [BlockMetadata(file, s, min(s + 13, len(data)), i) for i, s in enumerate(range(0, len(data), 13))]
    pieces = [piece for block in blocks for piece in summarise_block(source, block, csv(), 2, 1000)]
    assert [piece.start for piece in pieces] == [2, *(piece.stop for piece in pieces[:-1])]
    assert pieces[-1].stop == len(data)
    assert all(piece.summary.length_bytes == piece.stop - piece.start for piece in pieces)


def test_clean_data_is_indexed_by_the_summaries_alone() -> None:
    data = b'1,"a\nb"\n' * 5000
    source = RecordingSource(MemorySource(data))
    file = FileMetadata("memory://test", len(data), 0, "v1", "test")
    blocks = [BlockMetadata(file, s, min(s + 4096, len(data)), i) for i, s in enumerate(range(0, len(data), 4096))]
    pieces = [piece for block in blocks for piece in summarise_block(source, block, csv(), 0, 1 << 20)]
    source.reads.clear()
    index = index_file(Records(source, blocks[0].file, Preamble(0, csv()), 1 << 20, 1 << 20), blocks, pieces)
    assert [block.first_record_start for block in index.blocks] == [-(-block.start // 8) * 8 for block in blocks]
    assert index.records == 5000
    assert source.reads == []


def test_a_stray_quote_needs_no_reading() -> None:
    data = b'1,"a\nb"\n' * 4000 + b'2,x"y\n' + b'1,"a\nb"\n' * 4000
    source = RecordingSource(MemorySource(data))
    file = FileMetadata("memory://test", len(data), 0, "v1", "test")
    blocks = [BlockMetadata(file, s, min(s + 4000, len(data)), i) for i, s in enumerate(range(0, len(data), 4000))]
    pieces = [piece for block in blocks for piece in summarise_block(source, block, csv(), 0, 1 << 20)]
    source.reads.clear()
    index = index_file(Records(source, blocks[0].file, Preamble(0, csv()), 1 << 20, 1000), blocks, pieces)
    assert [block.first_record_start for block in index.blocks] == [
        boundary_behind(data, block.start, csv()) for block in blocks
    ]
    assert index.records == 8001
    assert source.reads == []


def test_where_summaries_do_not_tell_the_file_is_read_until_they_do_again() -> None:
    row, too_long = b'1,"a\nb"\n', b'2,"' + b"x" * 3000 + b'"\n'
    data = row * 1000 + too_long + row * 10_000
    source = RecordingSource(MemorySource(data))
    file = FileMetadata("memory://test", len(data), 0, "v1", "test")
    blocks = [BlockMetadata(file, s, min(s + 4000, len(data)), i) for i, s in enumerate(range(0, len(data), 4000))]
    pieces = [piece for block in blocks for piece in summarise_block(source, block, csv(), 0, 1000)]
    source.reads.clear()
    index = index_file(Records(source, blocks[0].file, Preamble(0, csv()), 1000, 4000), blocks, pieces)
    behind = 8000 + len(too_long)
    assert [block.first_record_start for block in index.blocks] == [
        block.start if block.start <= 8000 else behind + max(0, -(-(block.start - behind) // 8) * 8) for block in blocks
    ]
    assert (index.records, index.given_up.records) == (11_000, 1)
    assert 0 < sum(length for _, length in source.reads) < len(data) / 2


def test_a_block_is_summarised_from_its_beginning_on_and_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundaries, "PIECE_BYTES", 10_000)
    source = RecordingSource(MemorySource(b'1,"a\nb"\n' * 10_000))
    file = FileMetadata("memory://test", source.size_bytes, 0, "v1", "test")
    summarise_block(source, BlockMetadata(file, 20_000, 70_000, 1), csv(), 0, 1 << 20)
    reached = 0
    for offset, length in source.reads:
        assert offset >= reached - 10_000 - 3 * 4096  # a piece, and looks around both its ends
        reached = max(reached, offset + length)
    assert reached >= 70_000


def test_a_last_record_that_is_too_long_is_given_up_line_by_line() -> None:
    data = b'a\n"' + b"b\n" * 30 + b'"'
    assert check_reader_law(csv(), data, (1, 5, 20), max_record_bytes=10) == 32
    found = starts(data, csv(), 5, max_record_bytes=10)
    assert found == [0, *(start | 1 for start in range(5, len(data), 5))]  # the lines begin at odd offsets


def test_a_format_without_summaries_has_no_index() -> None:
    file = FileMetadata("memory://test", 4, 0, "v1", "test")
    records = Records(MemorySource(b"a\nb\n"), file, Preamble(0, LineFormat()), 1, 1)
    with pytest.raises(InvariantError, match="format lines has no boundary index"):
        index_file(records, [BlockMetadata(file, 0, 4, 0)], [])


def test_a_look_before_a_block_far_into_the_file_finds_its_first_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundaries, "LOOKS_BYTES", (40,))
    data = b'1,"a\nb",2\n' * 50
    file = FileMetadata("memory://test", len(data), 0, "v1", "test")
    for start in range(100, 200):
        source = RecordingSource(MemorySource(data))
        block = BlockMetadata(file, start, start + 50, 1)
        found = find_start_nearby(Records(source, file, Preamble(0, csv()), 1000, 100), block)
        assert found == boundary_behind(data, start, csv())
        assert min(source.reads)[0] == start - 40
