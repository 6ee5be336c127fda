"""Checked by mypy, never run: the values and errors of the public API have the types that the documentation says."""

from typing import assert_type

from splitscan.blocks import BlockMetadata, ByteRange, FileMetadata
from splitscan.errors import SplitscanError, UsageError, Where
from splitscan.ranges import ByteKeyRangeTracker, OffsetRangeTracker
from splitscan.sizes import format_size, parse_size


def ranges_are_pairs_of_offsets(range: ByteRange) -> None:
    start, stop = range
    assert_type(start, int)
    assert_type(stop, int)
    assert_type(range.length_bytes, int)


def blocks_name_their_file(block: BlockMetadata) -> None:
    assert_type(block.file, FileMetadata)
    assert_type(block.first_record_start, int | None)
    assert_type(block.block_id, int)
    assert_type(block.starting_at(0), BlockMetadata)


def trackers_answer_and_never_raise_a_refusal(offsets: OffsetRangeTracker, keys: ByteKeyRangeTracker) -> None:
    assert_type(offsets.try_return_record_at(True, 0), bool)
    assert_type(offsets.try_split_at_position(10), bool)
    assert_type(offsets.fraction_consumed(), float)
    assert_type(keys.try_return_record_at(True, b"a"), bool)
    assert_type(keys.try_split_at_position(b"m"), bool)


def errors_carry_their_facts(error: SplitscanError) -> None:
    assert_type(error.rule, str)
    assert_type(error.where, Where | None)
    assert_type(error.seen, str | None)
    assert_type(error.fix, str | None)
    assert_type(error.reason_code, str)
    assert_type(error.exit_code, int)


def a_usage_error_is_a_value_error(error: UsageError) -> ValueError:
    return error


def sizes_are_whole_bytes() -> None:
    assert_type(parse_size("1 MiB"), int)
    assert_type(format_size(1024), str)
