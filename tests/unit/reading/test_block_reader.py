"""The block reader: exactly the records of its range, few bytes beside it, and bounded memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError, RecordError, SourceChangedError
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.fixed.framing import FixedFormat, SliceFormat
from splitscan.formats.framing.contract import RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.text.lines import line_format
from splitscan.reading.block_reader import FramedRecords
from splitscan.reading.cursor import RecordChunk, Skipped
from splitscan.testing.faults import MemorySource, RecordingSource, TruncatedSource
from splitscan.testing.reader_laws import check_reader_law, plan_file, read_file

MIB = 1 << 20
UTF_8 = resolve_encoding("UTF-8")


def csv(**settings: Any) -> QuotedFormat:
    header, skip = settings.pop("header", False), settings.pop("skip_lines", 0)
    return QuotedFormat(CsvGrammar(**{"encoding": UTF_8, "escape": '"', "multi_line": True, **settings}), header, skip)


CASES: list[tuple[RecordFormat, bytes]] = [
    (line_format(), "a\nbb\r\n\r\n\rccc\n\n☃☃\nd".encode()),
    (line_format(), b"\xef\xbb\xbfa\nb"),
    (line_format(escape="\\"), b"a\\\nb\\\\\nc\\\\\\\n\\\r\nd"),
    (line_format(line_sep="||", escape="\\"), b"a|||b\\||||c||||"),
    (line_format(encoding="UTF-16"), b"\xff\xfe" + "a\r\n\u0a0a\nb\n".encode("utf-16-le")),
    (FixedFormat(3), b"aaabbbcccdd"),
    (SliceFormat(4), b"aaaabbbbcc"),
    (csv(), b'a,"b\nc"\r\n"""\n",\n\n\r\nx"y\n"z'),
    (csv(header=True, skip_lines=1), b'\xef\xbb\xbfskip "me\n\n"h\n1",h2\n\n1,"\n2"\n3,4'),
    (csv(comment="#", escape="\\"), b'#"\n"a\n\\"#"\n#\n#x\n\nb\n#'),
    (csv(multi_line=False, header=True), b'h\na,"b\nc"\n\n\nd'),
    (csv(sep="||", line_sep="|@"), b'a|||@"|@"||b|@||@'),
    (
        csv(encoding=resolve_encoding("UTF-16"), header=True),
        b"\xfe\xff" + 'h\r\n"a\n\u0a22"\n\nb\n'.encode("utf-16-be"),
    ),
    (csv(quote=None), b'a"\n\n"b\r\n'),
]


IDS = [f"{index} {format.name}" for index, (format, _) in enumerate(CASES)]


@pytest.mark.slow
@pytest.mark.parametrize(("format", "data"), CASES, ids=IDS)
def test_every_block_size_and_every_read_size_gives_what_one_pass_gives(format: RecordFormat, data: bytes) -> None:
    assert check_reader_law(format, data, range(1, len(data) + 1), (1, 2, 5, 1000)) > 1


@pytest.mark.slow
@pytest.mark.parametrize(("format", "data"), CASES, ids=IDS)
def test_records_that_are_too_long_are_given_up_at_the_same_places_in_any_blocks(
    format: RecordFormat, data: bytes
) -> None:
    for longest in (1, 2, 4, 8):
        check_reader_law(format, data, (1, 2, 3, 5, 8, 13), (1, 1000), longest)


def test_an_unclosed_quote_costs_one_record_whatever_the_blocks() -> None:
    rows = [b'5,"open' if index == 5 else b"%d,row %d" % (index, index) for index in range(20_000)]
    data = b"\n".join(rows) + b"\n"
    expected = [row for row in rows if row != b'5,"open']
    source = MemorySource(data)
    for size in (len(data), 100_000, 4_099):
        records = read_file(source, csv(), size, max_record_bytes=4096)
        assert [record.content for record in records if not record.skipped_bytes] == expected
        assert [(record.offset, record.code) for record in records if record.skipped_bytes] == [(40, "record-too-long")]


def test_a_quote_that_stays_open_to_the_end_is_named_so() -> None:
    data = b'a\n5,"open\nb\nc\n'
    for size in range(1, len(data) + 1):
        records = read_file(MemorySource(data), csv(), size)
        assert [(record.content[:5], record.code) for record in records] == [
            (b"a", None), (b'5,"op', "unclosed-quote"), (b"b", None), (b"c", None),
        ]  # fmt: skip


class RepeatingSource:
    """A huge file made of one byte, with a few bytes before and after; it is never in memory."""

    path = "memory://huge"
    fingerprint = "huge"

    def __init__(self, before: bytes, filler: bytes, size_bytes: int, behind: bytes) -> None:
        self._before, self._filler, self._behind = before, filler, behind
        self._filled = size_bytes
        self.size_bytes = len(before) + size_bytes + len(behind)
        self.bytes_read = 0

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        stop = min(offset + length_bytes, self.size_bytes)
        self.bytes_read += stop - offset
        head = self._before[offset:stop]
        low, high = max(offset, len(self._before)), min(stop, len(self._before) + self._filled)
        behind = len(self._before) + self._filled
        tail = self._behind[max(offset - behind, 0) : max(stop - behind, 0)]
        return b"".join((head, self._filler * max(high - low, 0), tail))

    def close(self) -> None:
        pass


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("format", "before", "filler", "behind", "expected"),
    [
        (line_format(), b"a\n", b"x", b"\nb\n", [b"a", b"b"]),
        (line_format(escape="\\"), b"a\n", b"\\", b"\nb\n", [b"a", b"b"]),
        (line_format(line_sep="||"), b"a||", b"x", b"||b||", [b"a", b"b"]),
        (csv(), b"a\n", b"x", b"\nb\n", [b"a", b"b"]),
        (csv(), b'a\n"', b"x", b'"\nb\n', [b"a", b"b"]),
        (csv(comment="#"), b"a\n#", b"x", b"\nb\n", [b"a", b"b"]),
        (csv(), b"a\n", b"\n", b"b\n", [b"a", b"b"]),
    ],
)
def test_a_line_of_any_length_is_skipped_in_bounded_memory(
    format: RecordFormat, before: bytes, filler: bytes, behind: bytes, expected: list[bytes]
) -> None:
    source = RepeatingSource(before, filler, 3 * MIB, behind)
    file = FileMetadata(source.path, source.size_bytes, 0, source.fingerprint, source.path)
    found: list[bytes] = []
    skipped = 0
    tracemalloc.start()
    try:
        reader = FramedRecords(
            source, BlockMetadata(file, 0, file.size_bytes, 0), format, max_record_bytes=MIB // 16, read_bytes=MIB // 16
        )
        for step in reader:
            if isinstance(step, Skipped):
                skipped += 1
            else:
                pairs = zip(step.frames.starts.tolist(), step.frames.stops.tolist(), strict=True)
                found += [bytes(step.data[start:stop]) for start, stop in pairs]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == expected
    assert skipped == (
        (filler == b"x" and b"#" not in before) or filler == b"\\"
    )  # blank lines and comments are no records
    assert peak < 2 * MIB, f"{peak / MIB:.1f} MiB"


def test_comments_of_any_length_belong_to_no_record_whatever_the_blocks() -> None:
    long = b"#" + b'x"' * 4000 + b"\n"
    data = b"a\n" + long + b"\n\r\n" + long + b'"b\n"\n' + long + long
    for size in (len(data), 8001, 4096):
        for read_bytes in (1000, 1 << 20):
            limits = {"max_record_bytes": 3000, "read_bytes": read_bytes}
            records = read_file(MemorySource(data), csv(comment="#"), size, **limits)
            assert [(record.content, record.code) for record in records] == [(b"a", None), (b'"b\n"', None)]


@pytest.mark.thin(2)
@pytest.mark.parametrize("settings", [{}, {"line_sep": "\n"}, {"line_sep": "\r\n"}, {"line_sep": "@"}])
def test_a_million_blank_lines_at_the_end_of_a_block_are_passed_over_at_once(settings: Any) -> None:
    line_sep = settings.get("line_sep", "\r\n").encode()
    data = b"a" + line_sep * 1_000_000 + b"b"
    for format in (csv(**settings), csv(multi_line=False, **settings)):
        records = read_file(MemorySource(data), format, len(data) // 3)
        assert [record.content for record in records] == [b"a", b"b"]


@pytest.mark.parametrize(
    "format", [line_format(), line_format(line_sep="||"), csv(), csv(multi_line=False), FixedFormat(7)]
)
def test_a_block_reads_its_own_bytes_and_little_else(format: RecordFormat) -> None:
    terminator = b"||" if format == line_format(line_sep="||") else b"\n"
    data = (b"123456" + terminator) * 600_000
    source = RecordingSource(MemorySource(data))
    blocks = plan_file(source, format, MIB, max_record_bytes=MIB, read_bytes=256 * 1024).blocks
    source.reads.clear()
    reader = FramedRecords(source, blocks[2], format, max_record_bytes=MIB, read_bytes=256 * 1024)
    assert sum(len(step.frames) for step in reader if isinstance(step, RecordChunk)) > 100_000
    low = min(offset for offset, _ in source.reads)
    high = max(offset + length for offset, length in source.reads)
    assert blocks[2].start - 8192 <= low
    assert high <= blocks[2].stop + 128 * 1024
    assert sum(length for _, length in source.reads) <= MIB + 256 * 1024


def test_the_first_block_reads_the_head_twice_at_most() -> None:
    source = RecordingSource(MemorySource(b"h1,h2\n" + b"1,2\n" * 500_000))
    block = plan_file(source, csv(header=True), MIB, max_record_bytes=MIB, read_bytes=MIB).blocks[0]
    source.reads.clear()
    list(FramedRecords(source, block, csv(header=True), max_record_bytes=MIB, read_bytes=MIB))
    assert sum(length for _, length in source.reads) <= MIB + 256 * 1024


@pytest.mark.parametrize("format", [line_format(), csv(), csv(header=True), FixedFormat(4), SliceFormat(4)])
def test_a_file_that_became_shorter_is_an_error_and_never_an_end(format: RecordFormat) -> None:
    data = b"abc\n" * 100
    source = TruncatedSource(MemorySource(data), 150)
    file = FileMetadata("memory://test", len(data), 0, "v1", "test")
    for block in (
        BlockMetadata(file, 0, 400, 0),
        BlockMetadata(file, 100, 200, 1, 100),
        BlockMetadata(file, 200, 300, 2, 200),
    ):
        with pytest.raises(SourceChangedError, match="became shorter") as caught:
            list(FramedRecords(source, block, format, max_record_bytes=MIB, read_bytes=64))
        assert caught.value.reason_code == "source-truncated"
        assert "of 400 planned" in str(caught.value) or "400 were planned" in str(caught.value)


def test_a_block_that_needs_the_index_and_has_none_is_refused() -> None:
    file = FileMetadata("memory://test", 8, 0, "v1", "test")
    reader = FramedRecords(
        MemorySource(b"a\nb\nc\nd\n"), BlockMetadata(file, 3, 8, 1), csv(), max_record_bytes=9, read_bytes=9
    )
    with pytest.raises(InvariantError, match="needs the boundary index") as caught:
        list(reader)
    assert "block [3, 8)" in str(caught.value)


def test_the_span_is_not_known_before_the_block_was_read() -> None:
    file = FileMetadata("memory://test", 4, 0, "v1", "test")
    reader = FramedRecords(
        MemorySource(b"a\nb\n"), BlockMetadata(file, 0, 4, 0), line_format(), max_record_bytes=9, read_bytes=9
    )
    with pytest.raises(InvariantError, match="known only after"):
        _ = reader.span
    list(reader)
    assert tuple(reader.span) == (0, 4)
    assert reader.digest == ""


def test_a_header_that_never_ends_names_the_file() -> None:
    file = FileMetadata("memory://broken", 8, 0, "v1", "test")
    with pytest.raises(RecordError, match="the header's quotes never close") as caught:
        FramedRecords(
            MemorySource(b'"a,b\n1,2'), BlockMetadata(file, 0, 8, 0), csv(header=True), max_record_bytes=9, read_bytes=9
        )
    assert "memory://broken, byte 0" in str(caught.value)


def test_a_record_that_begins_before_the_block_is_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    format, data = line_format(), b"aa\nbb\ncc\n"
    monkeypatch.setattr(type(format), "first_start", lambda *args, **more: -3)
    block = BlockMetadata(FileMetadata("a", len(data), 0, "v", "a"), 6, 9, 1)
    reader = FramedRecords(
        MemorySource(data, path="a", fingerprint="v"), block, format, max_record_bytes=9, read_bytes=9
    )
    with pytest.raises(InvariantError, match=r"no record that starts before it[^@]*seen:  a record at 3"):
        list(reader)
