"""The confirmed bugs of the systems that splitscan descends from, tried on splitscan from end to end.

B1 to B18 are the block reader's and D1 to D6 the range trackers'; the numbered scenarios are the list of what the
originals could do and what nobody tested there.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cuts import some

import splitscan as ss
from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import SourceChangedError, SplitscanError, UsageError
from splitscan.formats.text.lines import line_format
from splitscan.ranges import ByteKeyRangeTracker, OffsetRangeTracker
from splitscan.reading.block_reader import FramedRecords
from splitscan.reading.block_scan import open_reader
from splitscan.reading.cursor import RecordChunk
from splitscan.testing import MemorySource, check_block_law, check_reader_law, cut_blocks, read_file
from splitscan.testing.faults import ShortReadSource

Write = Callable[..., str]
MIB = 1 << 20


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: bytes, name: str = "a.txt") -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return write_file


def values(scan: ss.Scan, block_bytes: int, order: str = "as planned") -> list[Any]:
    """First columns of all blocks: in the order of the blocks, whatever the order in which they were read."""
    blocks = cut_blocks(scan, block_bytes)
    chosen = list(enumerate(blocks))
    if order == "strided":
        chosen = [pair for first in range(10) for pair in chosen[first::10]]
    elif order == "backwards":
        chosen.reverse()
    elif order == "shuffled":
        random.Random(7).shuffle(chosen)
    found = {index: [b.column(0).to_pylist() for b in open_reader(scan.spec, block)] for index, block in chosen}
    return [value for index in range(len(blocks)) for batch in found[index] for value in batch]


# ------------------------------------------------- the block reader's bugs


def test_b1_text_that_is_not_ascii_is_neither_corrupted_nor_read_for_ever(write: Write) -> None:
    data = "é\nüber\r\n\n☃☃\n𝄞".encode()
    for size in some(range(1, len(data) + 1)):
        assert values(ss.scan_text(write(data)), size) == ["é", "über", "", "☃☃", "𝄞"]


@pytest.mark.parametrize("tail", [1, 8191, 8192, 8193, 65536])
def test_b2_a_last_line_without_terminator_is_read_whatever_its_length(write: Write, tail: int) -> None:
    scan = ss.scan_text(write(b"first\n" + b"x" * tail))
    assert values(scan, MIB) == ["first", "x" * tail]
    assert values(scan, 4096) == ["first", "x" * tail]


@pytest.mark.parametrize("format", [line_format(), line_format(line_sep="||"), line_format(escape="\\")])
def test_b3_a_short_read_is_an_error_and_not_the_end_of_the_file(format: Any) -> None:
    data = b"".join(b"%05d\n" % index for index in range(2000))
    source = ShortReadSource(MemorySource(data), max_bytes=4000)
    block = BlockMetadata(FileMetadata("memory://test", len(data), 0, "v1", "test"), 0, len(data), 0)
    with pytest.raises(SourceChangedError):
        list(FramedRecords(source, block, format, max_record_bytes=MIB, read_bytes=MIB))


def test_b4_no_empty_records_appear_where_a_line_end_straddles_a_buffer() -> None:
    data = b"".join(b"%098d\r\n" % index for index in range(700))
    expected = [b"%098d" % index for index in range(700)]
    for read_bytes in (8192, 16384, 99, 100, 101):
        for block_bytes in (len(data), 9999):
            records = read_file(MemorySource(data), line_format(), block_bytes, read_bytes=read_bytes)
            assert [record.content for record in records] == expected


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_b5_blank_lines_are_records_everywhere_or_nowhere(write: Write, line_end: str) -> None:
    text = line_end.join(["", "", "a", "", "b", "", ""]).encode()
    for size in some(range(1, len(text) + 1)):
        assert values(ss.scan_text(write(text)), size) == ["", "", "a", "", "b", ""]
        assert values(ss.scan_csv(write(text), "x string"), size) == ["a", "b"]


def test_b6_which_bytes_end_a_record_is_for_the_user_to_say(write: Write) -> None:
    assert values(ss.scan_text(write(b"a\rb\nc"), lineSep="\n"), 2) == ["a\rb", "c"]
    assert values(ss.scan_text(write(b"a@#b\n@c@#"), lineSep="@#"), 2) == ["a", "b\n@c"]
    assert values(ss.scan_csv(write(b'"a\nb"\n"c"'), "x string", multiLine=True), 2) == ["a\nb", "c"]


def test_b7_no_block_delivers_a_fragment_of_a_record(write: Write) -> None:
    scan = ss.scan_text(write(b"abcdefghij"))
    for size in range(1, 11):
        assert values(scan, size) == ["abcdefghij"]


def test_b8_records_of_fixed_length_are_not_cut_where_blocks_are(write: Write) -> None:
    scan = ss.scan_fixed(write(b"01234567abcdefghklmnopqr"), 8)
    for size in range(1, 25):
        assert values(scan, size) == [b"01234567", b"abcdefgh", b"klmnopqr"]


def test_b12_blocks_of_two_files_never_read_each_other(write: Write) -> None:
    one, two = write(b"a\nb\n", "1.txt"), write(b"c\nd\n", "2.txt")
    scan = ss.scan_text([one, two], metadataColumns="file_name")
    found = {(row["file_name"], row["value"]) for row in scan.to_arrow().to_pylist()}
    assert found == {("1.txt", "a"), ("1.txt", "b"), ("2.txt", "c"), ("2.txt", "d")}
    assert len({block.block_id for block in cut_blocks(scan, 2)}) == 4
    assert values(scan, 2, "shuffled") == ["a", "b", "c", "d"]


@pytest.mark.slow
@pytest.mark.parametrize("multi_line", [False, True])
def test_b13_a_header_longer_than_the_first_blocks_costs_no_record(write: Write, multi_line: bool) -> None:
    scan = ss.scan_csv(
        write(b"skipped\na_long_header_of_one_column\n1\n2\n3\n"), header=True, skipRows=1, multiLine=multi_line
    )
    for size in range(1, 42):
        assert values(scan, size) == ["1", "2", "3"]
    assert check_block_law(scan, range(1, 42)) == 3


def test_b14_a_file_that_grew_or_was_replaced_is_noticed(write: Write) -> None:
    path = write(b"aa\nbb\ncc-partial")
    scan = ss.scan_text(path)
    blocks = cut_blocks(scan, 8)
    write(b"aa\nbb\ncc-partial-GROWN\ndd\n")
    with pytest.raises(SourceChangedError) as caught:
        list(open_reader(scan.spec, blocks[1]))
    assert path in str(caught.value)


def test_b14_a_file_that_grows_is_read_up_to_its_planned_end_if_the_user_says_so(write: Write) -> None:
    path = write(b"aa\nbb\ncc\n")
    scan = ss.scan_text(path, onFileChange="ignore")
    blocks = cut_blocks(scan, 4)
    write(b"aa\nbb\ncc\ndd\n")
    assert [row for block in blocks for b in open_reader(scan.spec, block) for row in b.column(0).to_pylist()] == [
        "aa",
        "bb",
        "cc",
    ]


@pytest.mark.parametrize("compressed", [gzip.compress(b"1\n2\n" * 1000)], ids=["gzip"])
def test_b18_compressed_bytes_are_never_delivered_as_rows_of_numbers(write: Write, compressed: bytes) -> None:
    scan = ss.scan_csv(write(compressed, "a.csv.gz"), "x int", mode="FAILFAST")
    try:
        rows = scan.to_arrow().column(0).to_pylist()
    except SplitscanError as error:
        assert "a.csv.gz" in str(error)  # noqa: PT017 - reading it right is as good
    else:
        assert rows == [1, 2] * 1000


# ---------------------------------------------- the range trackers' bugs


@pytest.mark.parametrize("data", [b"@#*a@#*b@#*", b"@#*!a@#*!b"])
def test_d1_no_record_is_lost_where_a_long_delimiter_is_cut(write: Write, data: bytes) -> None:
    expected = data.decode().removesuffix("@#*").split("@#*")
    for size in some(range(1, len(data) + 1)):
        assert values(ss.scan_text(write(data), lineSep="@#*"), size) == expected


def test_d2_an_escaped_delimiter_in_front_of_a_real_one_hides_only_itself(write: Write) -> None:
    data = b"a\\\n\nb\nc"
    for size in some(range(1, len(data) + 1)):
        assert values(ss.scan_text(write(data), escape="\\"), size) == ["a\\\n", "b", "c"]
        assert values(ss.scan_text(write(data), escape="\\", lineSep="\n"), size) == ["a\\\n", "b", "c"]


def test_d3_long_keys_are_compared_exactly_and_equal_ones_divide_by_nothing() -> None:
    low, high = b"a" * 50 + b"\x01", b"a" * 50 + b"\x03"
    tracker = ByteKeyRangeTracker(low, high)
    assert tracker.try_return_record_at(True, low)
    assert 0.0 <= tracker.fraction_consumed() <= 1.0
    assert tracker.try_split_at_position(b"a" * 50 + b"\x02")
    assert not tracker.try_return_record_at(True, b"a" * 50 + b"\x02")


def test_d4_a_claim_below_the_start_is_refused_loudly() -> None:
    tracker = OffsetRangeTracker(100, 200)
    with pytest.raises(SplitscanError):
        tracker.try_return_record_at(True, 99)
    assert tracker.try_return_record_at(True, 100)


def test_d5_a_range_that_was_not_begun_is_not_split() -> None:
    assert not ByteKeyRangeTracker(b"a", b"z").try_split_at_position(b"m")
    assert not OffsetRangeTracker(0, 100).try_split_at_position(50)


def test_d6_huge_offsets_stay_in_their_range() -> None:
    start, stop = 2**62, 2**62 + 1000
    tracker = OffsetRangeTracker(start, stop)
    assert tracker.try_return_record_at(True, start)
    for fraction in (0.001, 0.5, 0.999):
        assert start < tracker.position_at_fraction(fraction) < stop


# ---------------------------------------------------------- parity list

LINES = [f"2020-01-{index % 28 + 1:02d},{index:04d},".ljust(122, "x") for index in range(1000)]
RTD = ("\n".join(LINES) + "\n").encode()  # 1000 lines of 123 bytes
ORDERS = ("as planned", "strided", "backwards", "shuffled")


def test_1_and_4_one_block_gives_all_records_in_order(write: Write) -> None:
    assert len(RTD) == 123_000
    assert values(ss.scan_text(write(RTD)), len(RTD)) == LINES


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_2_3_5_and_6_blocks_in_any_order_give_every_record_once(write: Write, order: str) -> None:
    scan = ss.scan_text(write(RTD))
    assert len(cut_blocks(scan, 1000)) == 123
    assert values(scan, 1000, order) == LINES
    table = ss.scan_csv(write(RTD), "d date, n int, x string", multiLine=True)
    assert len(values(table, 1000, order)) == 1000


def test_7_slices_put_together_are_the_file(write: Write) -> None:
    slices = values(ss.scan_slices(write(RTD), sliceSize=1500), 1000)
    assert b"".join(slices) == RTD
    assert {len(piece) for piece in slices} == {1500}


def test_14_lines_are_lines_whatever_the_blocks(write: Write) -> None:
    paths = [write(b"1234\n567890\nabcde\nfgh\ni\njklmop", "1"), write(b"qr\nstuvw\nxyz\n", "2")]
    expected = ["1234", "567890", "abcde", "fgh", "i", "jklmop", "qr", "stuvw", "xyz"]
    for size in (3, 8, 1000):
        assert values(ss.scan_text(paths), size) == expected


def test_15_records_of_fixed_length_are_counted_from_the_start_of_the_file(write: Write) -> None:
    paths = [write(b"1234\n567890\nabcde\nfgh\ni\njklmop", "1"), write(b"qr\nstuvw\nxyz\n", "2")]
    expected = [b"1234\n567", b"890\nabcd", b"e\nfgh\ni\n", b"jklmop", b"qr\nstuvw", b"\nxyz\n"]
    for size in (3, 8, 1000):
        assert values(ss.scan_fixed(paths, 8), size) == expected


@pytest.mark.parametrize("options", [{}, {"recordLength": 0}, {"recordLength": -1}])
def test_16_fixed_length_without_a_length_is_refused_before_anything_is_read(options: Any) -> None:
    with pytest.raises(UsageError, match="recordLength"):
        ss.scan("/does/not/exist", "fixed", **options)


@pytest.mark.parametrize("order", ORDERS)
def test_17_fixed_records_of_a_file_come_in_any_order_of_blocks(write: Write, order: str) -> None:
    assert values(ss.scan_fixed(write(RTD), 123), 1000, order) == [(line + "\n").encode() for line in LINES]


def test_18_blocks_of_one_file_can_stay_together_in_a_task(write: Write) -> None:
    scan = ss.scan_text([write(RTD, "1"), write(RTD, "2")], blockSize=10_000, taskSize="123k", openCostInBytes=0)
    tasks = scan.tasks(scan.plan())
    for task in tasks:
        assert [block.start for block in task] == sorted(block.start for block in task)
    assert [block for task in tasks for block in task] == scan.plan()


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_49_and_50_a_line_end_at_every_offset_of_a_boundary(line_end: bytes) -> None:
    data = line_end.join([b"ab", b"", b"cdefg", b"h", b"", b""])
    assert check_reader_law(line_format(), data, range(1, len(data) + 1), range(1, 6)) == 5


def test_51_a_long_tail_without_line_end_is_one_record(write: Write) -> None:
    tail = "y" * 20_000
    assert values(ss.scan_text(write(b"x\n" + tail.encode())), 8192) == ["x", tail]


def test_52_lines_longer_than_blocks_and_buffers_are_read_once() -> None:
    data = b"\n".join([b"a" * 20_000, b"b", b"c" * 9000]) + b"\n"
    records = read_file(MemorySource(data), line_format(), 1000, read_bytes=700)
    assert [(record.offset, len(record.content)) for record in records] == [(0, 20_000), (20_001, 1), (20_003, 9000)]


def test_53_bytes_that_are_no_text_stay_in_their_record(write: Write) -> None:
    data = b"\xff\n\0a\n\xc3\n\xe2\x98\n"
    for size in some(range(1, len(data) + 1)):
        assert values(ss.scan_text(write(data)), size) == ["\ufffd", "\0a", "\ufffd", "\ufffd"]


def test_55_and_56_nothing_and_next_to_nothing(write: Write) -> None:
    assert values(ss.scan_text(write(b"")), 1) == []
    assert ss.scan_text(write(b"")).count() == 0
    assert values(ss.scan_text(write(b"\n")), 1) == [""]
    assert values(ss.scan_text(write(b"\n\n\n\n")), 1) == ["", "", "", ""]
    assert values(ss.scan_csv(write(b"\n\n\n\n"), "x int"), 1) == []


def test_57_a_file_deleted_before_it_is_read_names_itself(write: Write) -> None:
    path = write(b"a\nb\n")
    scan = ss.scan_text(path)
    blocks = cut_blocks(scan, 2)
    Path(path).unlink()
    with pytest.raises(SplitscanError) as caught:
        list(open_reader(scan.spec, blocks[0]))
    assert path in str(caught.value)


def test_58_every_read_leaves_the_source_closed_and_owns_what_it_delivers() -> None:
    data = b"a\nbb\nccc\n"
    source = MemorySource(data)
    block = BlockMetadata(FileMetadata("memory://test", len(data), 0, "v1", "test"), 2, 5, 1)
    reader = FramedRecords(source, block, line_format(), max_record_bytes=9, read_bytes=9, with_digest=True)
    records = [bytes(step.data) for step in reader if isinstance(step, RecordChunk)]
    assert (records, tuple(reader.span)) == ([b"bb\n"], (2, 5))
