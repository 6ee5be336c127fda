"""A file that stays open: opened once, its head read once, entered anywhere by framing."""

from __future__ import annotations

from math import inf

import pytest

from splitscan.blocks import FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.reading.opened_file import OpenedFile
from splitscan.testing import MemorySource, RecordingSource

CONTENT = b'a,b\n1,"x\n\ny"\n\n2,"' + b"z" * 40 + b'"\n3,"\n"\n'
STARTS = [4, 14, 59]
FORMAT = QuotedFormat(CsvGrammar(resolve_encoding("UTF-8"), multi_line=True), header=True)


class Storage:
    """Counts how often the file is opened."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.opened: list[RecordingSource] = []

    def open(self) -> ByteSource:
        self.opened.append(RecordingSource(MemorySource(self.content)))
        return self.opened[-1]


def opened(storage: Storage, max_record_bytes: int = 1000, fresh_seconds: float = inf) -> OpenedFile:
    file = FileMetadata("f", len(storage.content), 0, "v1", "f")
    return OpenedFile(file, storage.open, max_record_bytes=max_record_bytes, read_bytes=16, fresh_seconds=fresh_seconds)


def test_it_is_opened_when_it_is_needed_and_once() -> None:
    storage = Storage(CONTENT)
    file = opened(storage)
    assert storage.opened == []
    first = file.lend()
    first.close()
    assert file.lend().read_at(0, 3) == b"a,b"
    assert len(storage.opened) == 1


def test_it_is_closed_once_and_opened_again_where_somebody_reads_on() -> None:
    storage = Storage(CONTENT)
    file = opened(storage)
    file.lend().read_at(0, 3)
    file.close()
    file.close()
    assert [source.closes for source in storage.opened] == [1]
    assert file.lend().read_at(0, 3) == b"a,b"
    file.close()
    assert [source.closes for source in storage.opened] == [1, 1]


def test_the_head_is_read_once() -> None:
    storage = Storage(CONTENT)
    file = opened(storage)
    assert [file.preamble(FORMAT, start).data_start for start in (20, 0, 30, 20, 0)] == [4] * 5
    assert len(storage.opened[0].reads) == 2  # for a range inside the file, and for one from its start on
    storage = Storage(CONTENT)
    file = opened(storage)
    assert [file.preamble(FORMAT, start).data_start for start in (0, 20, 30, 0)] == [4] * 4
    assert len(storage.opened[0].reads) == 1  # whoever has begun the file knows all of its head


def test_a_file_that_was_opened_long_ago_is_opened_again() -> None:
    storage = Storage(CONTENT)
    file = opened(storage, fresh_seconds=-1.0)
    file.lend()
    file.lend()
    assert len(storage.opened) == 2


@pytest.mark.parametrize("boundary", [0, 4, 14])
def test_the_first_record_from_any_position_on(boundary: int) -> None:
    file = opened(Storage(CONTENT))
    for position in range(boundary, len(CONTENT) + 1):
        wanted = next((start for start in STARTS if start >= max(position, boundary)), len(CONTENT))
        assert file.first_record_start(FORMAT, boundary, position) == wanted, position


def test_a_record_that_is_given_up_has_a_start_too() -> None:
    file = opened(Storage(CONTENT), max_record_bytes=20)
    assert [file.first_record_start(FORMAT, 0, position) for position in (5, 14, 15)] == [14, 14, 59]
