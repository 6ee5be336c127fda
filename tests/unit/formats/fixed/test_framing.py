"""Records of a fixed length and raw slices."""

from __future__ import annotations

import pytest

from splitscan.errors import UsageError
from splitscan.formats.fixed.framing import FixedFormat, SliceFormat
from splitscan.formats.framing.contract import Preamble
from splitscan.testing.memory_reader import FramedRecord, read_range


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"1234\n567890\nabcde\nfgh\ni\njklmop", [b"1234\n567", b"890\nabcd", b"e\nfgh\ni\n", b"jklmop"]),
        (b"qr\nstuvw\nxyz\n", [b"qr\nstuvw", b"\nxyz\n"]),
    ],
)
def test_records_are_the_same_whatever_the_blocks(data: bytes, expected: list[bytes]) -> None:
    for block_bytes in (3, 8, len(data)):
        records: list[FramedRecord] = []
        for start in range(0, len(data), block_bytes):
            records += read_range(FixedFormat(8), data, start, min(start + block_bytes, len(data)))
        assert [record.content for record in records] == expected
        assert [record.code for record in records] == [None] * (len(expected) - 1) + ["short-record"]


def test_a_block_in_the_middle_is_aligned_to_the_file_not_to_itself() -> None:
    data = b"01234567abcdefghklmnopqr"
    read = [[record.content for record in read_range(FixedFormat(8), data, start, start + 10)] for start in (0, 10, 20)]
    assert read == [[b"01234567", b"abcdefgh"], [b"klmnopqr"], []]


def test_a_short_rest_is_undecided_until_the_end() -> None:
    frames = FixedFormat(4).frame(b"aaaabb", at_end=False)
    assert (frames.starts.tolist(), frames.stops.tolist(), frames.next_start) == ([0], [4], 4)
    ended = FixedFormat(4).frame(b"aaaabb", at_end=True)
    assert (ended.starts.tolist(), ended.stops.tolist(), ended.next_start) == ([0, 4], [4, 6], 6)
    assert ended.malformed == {1: "short-record"}


def test_a_short_slice_is_as_good_as_the_others() -> None:
    frames = SliceFormat(4).frame(b"aaaabb", at_end=True)
    assert (frames.starts.tolist(), frames.stops.tolist(), frames.malformed) == ([0, 4], [4, 6], {})


def test_the_next_start_is_computed_also_beyond_four_gibibytes() -> None:
    fixed = FixedFormat(100)
    far = 5 * 2**30
    assert [fixed.first_start_after(position, 0) for position in (0, 1, 99, 100, 101)] == [0, 100, 100, 100, 200]
    assert fixed.first_start_after(far + 1, 0) == -(-(far + 1) // 100) * 100
    assert [fixed.first_start_after(position, 7) for position in (0, 7, 8, 107)] == [7, 7, 107, 107]


def test_slices_and_records_begin_with_the_file() -> None:
    for by_length in (FixedFormat(3), SliceFormat(3)):
        assert not any(by_length.needs_head(start) for start in (0, 1, 100))
        assert by_length.preamble(b"", at_end=False) == Preamble(0, by_length)


def test_giving_up_on_a_record_goes_on_behind_it() -> None:
    assert FixedFormat(4).resume_after(b"aaaabb", at_end=False) == 4
    assert FixedFormat(4).resume_after(b"aaa", at_end=False) is None
    assert FixedFormat(4).resume_after(b"aaa", at_end=True) == 3
    assert FixedFormat(4).droppable(b"aaa") == 0


def test_slices_are_no_records_of_the_same_length() -> None:
    assert (FixedFormat(8).name, SliceFormat(8).name) == ("fixed", "slice")
    assert FixedFormat(8) != SliceFormat(8)


@pytest.mark.parametrize("length", [0, -1])
def test_a_length_that_is_not_positive_is_refused(length: int) -> None:
    with pytest.raises(UsageError, match=r"option recordLength must be a positive number of bytes \[bad-option\]"):
        FixedFormat(length)
    with pytest.raises(UsageError, match=rf"(?s)option sliceBytes must be a positive.*seen:  {length}"):
        SliceFormat(length)
