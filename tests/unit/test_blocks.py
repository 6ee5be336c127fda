from __future__ import annotations

import dataclasses
import io
import pickle

import pytest
from fsspec.utils import read_block
from hypothesis import given
from hypothesis import strategies as st

from splitscan.blocks import BlockMetadata, ByteRange, FileMetadata
from splitscan.formats.text.lines import LineFormat
from splitscan.testing.memory_reader import read_range

FILE = FileMetadata("/data/in/a.csv", 100, 1_700_000_000_000_000, "100-1", "a.csv")
PEOPLE = b"Alice, 100\nBob, 200\nCharlie, 300"


def block(start: int = 0, stop: int = 40, file: FileMetadata = FILE) -> BlockMetadata:
    return BlockMetadata(file, start, stop, index=0)


def test_a_range_is_a_half_open_pair() -> None:
    assert ByteRange(4, 10).length_bytes == 6
    assert tuple(ByteRange(4, 10)) == (4, 10)


@pytest.mark.parametrize(
    ("path", "name"),
    [("/data/a.csv", "a.csv"), ("s3://bucket/dir/a.csv", "a.csv"), ("a.csv", "a.csv"), ("/data/dir/", "dir")],
)
def test_a_file_is_named_by_the_last_component_of_its_path(path: str, name: str) -> None:
    assert dataclasses.replace(FILE, path=path).name == name


def test_a_block_is_last_when_it_reaches_the_planned_end_of_the_file() -> None:
    assert not block(0, 99).is_last
    assert block(0, 100).is_last
    assert block(0, 101).is_last


def test_the_identity_of_a_block_is_pinned_because_plans_and_ledgers_keep_it() -> None:
    assert block().block_id == 8_822_647_538_451_824_191


def test_the_identity_depends_on_path_version_and_range_and_on_nothing_else() -> None:
    other_files = [dataclasses.replace(FILE, path="/data/in/b.csv"), dataclasses.replace(FILE, fingerprint="100-2")]
    different = [block(), block(1, 40), block(0, 41), *(block(file=file) for file in other_files)]
    assert len({each.block_id for each in different}) == len(different)
    same = dataclasses.replace(FILE, modified_us=0, relative_path="x")
    assert BlockMetadata(same, 0, 40, index=7, first_record_start=3).block_id == block().block_id


@given(st.text(), st.integers(0, 2**63), st.integers(0, 2**63))
def test_the_identity_is_a_column_value_of_any_engine(path: str, start: int, stop: int) -> None:
    assert 0 <= block(start, stop, dataclasses.replace(FILE, path=path)).block_id < 2**63


def test_a_path_that_is_no_unicode_has_an_identity_too() -> None:
    assert block(file=dataclasses.replace(FILE, path="/data/\udcff.csv")).block_id != block().block_id


def test_a_computed_record_start_is_filled_into_a_copy() -> None:
    planned = block()
    assert planned.starting_at(7).first_record_start == 7
    assert planned.first_record_start is None
    assert planned.starting_at(7).block_id == planned.block_id


def test_blocks_are_frozen_and_travel() -> None:
    planned = block().starting_at(7)
    assert pickle.loads(pickle.dumps(planned)) == planned
    with pytest.raises(dataclasses.FrozenInstanceError):
        planned.start = 1  # type: ignore[misc]


def records_of(start: int, stop: int) -> list[bytes]:
    records = read_range(LineFormat(), PEOPLE, start, stop)
    return [record.content for record in records]


def test_a_record_belongs_to_the_range_of_its_first_byte_and_not_to_the_one_before_as_in_fsspec() -> None:
    bob = PEOPLE.index(b"Bob")
    assert bob == 11
    assert read_block(io.BytesIO(PEOPLE), 0, bob, b"\n") == b"Alice, 100\nBob, 200\n"  # fsspec, dask: (start, stop]
    assert read_block(io.BytesIO(PEOPLE), bob, bob, b"\n") == b"Charlie, 300"
    assert records_of(0, bob) == [b"Alice, 100"]  # splitscan: [start, stop)
    assert records_of(0, bob + 1) == [b"Alice, 100", b"Bob, 200"]
    assert records_of(bob, len(PEOPLE)) == [b"Bob, 200", b"Charlie, 300"]
    assert records_of(bob + 1, len(PEOPLE)) == [b"Charlie, 300"]
