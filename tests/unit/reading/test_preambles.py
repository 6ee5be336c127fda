"""Heads of files: as much is read as the format needs, and no more."""

from __future__ import annotations

import pytest

from splitscan.blocks import FileMetadata
from splitscan.errors import RecordError, SourceChangedError
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.text.lines import LineFormat
from splitscan.reading import contents
from splitscan.reading.contents import read_preamble
from splitscan.testing.faults import MemorySource, RecordingSource

CSV = QuotedFormat(CsvGrammar(resolve_encoding("UTF-8"), escape='"', multi_line=True), header=True)


def file_of(data: bytes) -> FileMetadata:
    return FileMetadata("memory://test", len(data), 0, "v1", "test")


@pytest.mark.parametrize("length", [1, 65_535, 65_536, 65_537, 300_000])
def test_a_header_of_any_length_is_read_in_growing_reads(length: int) -> None:
    data = b'"' + b"x" * length + b'",b\n1,2\n'
    source = RecordingSource(MemorySource(data))
    preamble = read_preamble(source, file_of(data), CSV)
    assert preamble.header == ("x" * length, "b")
    assert preamble.data_start == length + 5
    assert sum(size for _, size in source.reads) <= max(5 * len(data), 65_536)


def test_a_head_larger_than_any_header_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "LONGEST_HEAD_BYTES", 65_536)
    data = b'"' + b"x" * 70_000
    with pytest.raises(RecordError, match="the header does not end within 65536 bytes") as caught:
        read_preamble(MemorySource(data), file_of(data), CSV)
    assert caught.value.reason_code == "bad-header"
    assert "memory://test, byte 0" in str(caught.value)


def test_a_file_shorter_than_planned_is_noticed_in_its_head() -> None:
    with pytest.raises(SourceChangedError, match="became shorter"):
        read_preamble(MemorySource(b"a,b\n"), file_of(b"a,b\n1,2\n"), CSV)


def test_the_byte_order_of_a_file_is_known_behind_its_head() -> None:
    wide = LineFormat(resolve_encoding("UTF-16"))
    for data, big_endian in ((b"\xff\xfea\0", False), (b"\xfe\xff\0a", True), (b"\0a", True)):
        preamble = read_preamble(MemorySource(data), file_of(data), wide)
        assert isinstance(preamble.format, LineFormat)
        assert preamble.format.encoding.big_endian is big_endian
        assert preamble.data_start == (2 if len(data) > 2 else 0)
