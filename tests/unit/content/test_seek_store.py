"""What is believed of a seek index that was kept: whatever can be the points of this file, and of no other one."""

import json

import pytest

from splitscan.blocks import FileMetadata, SeekPoint
from splitscan.content import kept as stores
from splitscan.content.codecs.contract import MemberTable
from splitscan.content.kept import JsonCache, SeekStore
from splitscan.testing.faults import MemorySource

FILE = FileMetadata("/data/a.gz", 4000, 1_000_000_000_000_000, "v1", "a.gz")
SOURCE = MemorySource(bytes(i * i % 251 for i in range(4000)))
POINTS = tuple(SeekPoint(number * 1600, number * 5000, None if number % 3 == 0 else "ab") for number in range(20))
TABLE = MemberTable(POINTS, 100_000)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path))
    return JsonCache("seek")


@pytest.fixture
def store(kept):
    """Its files are those of *kept*."""
    return SeekStore()


def test_what_was_kept_is_found_by_path_version_and_codec_alone(store):
    assert store.load(SOURCE, FILE, "gzip") is None
    assert store.save(SOURCE, FILE, "gzip", TABLE)
    assert store.load(SOURCE, FILE, "gzip") == TABLE
    assert store.load(SOURCE, FILE, "bzip2") is None
    other = FileMetadata(FILE.path, FILE.size_bytes, FILE.modified_us, "v2", FILE.relative_path)
    assert store.load(SOURCE, other, "gzip") is None


class Counting(MemorySource):
    def __init__(self, data):
        super().__init__(data)
        self.reads = []

    def read_at(self, offset, length_bytes):
        self.reads.append((offset, length_bytes))
        return super().read_at(offset, length_bytes)


def test_points_are_looked_at_in_few_reads_and_both_ends_with_them(store):
    data = SOURCE.read_at(0, 4000)
    store.save(SOURCE, FILE, "gzip", TABLE)
    counting = Counting(data)
    assert store.load(counting, FILE, "gzip") == TABLE
    assert counting.reads[0] == (0, 64)
    assert counting.reads[-1] == (4000 - 64, 64)
    assert counting.reads[1:-1] == [(point.bit_offset // 8, 64) for point in POINTS[::4]]


@pytest.mark.parametrize("offset", [0, 63, 4000 - 64, 3999, *(point.bit_offset // 8 for point in POINTS[4::4])])
def test_other_bytes_where_it_looks_are_another_file(store, offset):
    store.save(SOURCE, FILE, "gzip", TABLE)
    data = bytearray(SOURCE.read_at(0, 4000))
    data[offset] ^= 1
    assert store.load(MemorySource(bytes(data)), FILE, "gzip") is None


def test_a_file_shorter_than_what_it_looks_at_is_kept_too(store):
    small, table = MemorySource(b"tiny"), MemberTable((SeekPoint(0, 0), SeekPoint(31, 1)), 1)
    assert store.save(small, FILE, "gzip", table)
    counting = Counting(b"tiny")
    assert store.load(counting, FILE, "gzip") == table
    assert counting.reads == [(0, 64), (0, 64), (3, 64), (0, 64)]


def path_of_kept(store, kept):
    """Keep the points of the file: where they are."""
    assert store.save(SOURCE, FILE, "gzip", TABLE)
    (path,) = kept.directory.iterdir()
    return path


@pytest.fixture
def says(monkeypatch, store, kept):
    """What is found when a kept file says this of a file of 1000 bytes, and its witness is right."""
    monkeypatch.setattr(stores, "_witness_of_points", lambda *_: "right")
    kept_path = path_of_kept(store, kept)

    def found(points, content_bytes=100):
        plain = {"points": points, "content_bytes": content_bytes, "witness": "right"}
        kept_path.write_text(json.dumps(plain))
        return store.load(MemorySource(bytes(1000)), FILE, "gzip")

    return found


def test_points_that_can_be_are_taken_to_the_last_bit_and_byte(says):
    assert says([[0, 0, None], [1, 1, "x"], [7999, 100, None]]) == MemberTable(
        (SeekPoint(0, 0), SeekPoint(1, 1, "x"), SeekPoint(7999, 100)), 100
    )
    assert says([[0, 0, None]], 0) == MemberTable((SeekPoint(0, 0),), 0)


@pytest.mark.parametrize(
    "points",
    [
        [],
        None,
        {"0": 0},
        [[0, 0, None], "ab"],
        [[0, 0, None], [5, 5]],
        [[0, 0, None], [5, 5, None, None]],
        [[0, 0, None], [5.0, 5, None]],
        [[0, 0, None], [5, 5.0, None]],
        [[0, 0, None], [5, True, None]],
        [[0, 0, None], [5, 5, 5]],
        [[1, 0, None]],
        [[0, 1, None]],
        [[0, 0, "state"]],
        [[-1, 0, None]],
        [[0, 0, None], [5, 5, None], [5, 6, None]],
        [[0, 0, None], [5, 5, None], [6, 5, None]],
        [[0, 0, None], [5, 5, None], [4, 6, None]],
        [[0, 0, None], [5, 5, None], [6, 4, None]],
        [[0, 0, None], [8000, 5, None]],
        [[0, 0, None], [5, 101, None]],
    ],
)
def test_points_that_cannot_be_are_not_believed_whatever_their_witness(says, points):
    assert says(points) is None


@pytest.mark.parametrize("content_bytes", [None, "100", 100.0, True])
def test_a_length_that_cannot_be_is_not_believed(says, content_bytes):
    assert says([[0, 0, None]], content_bytes) is None


def test_a_kept_file_that_says_nothing_is_none(store, kept):
    path = path_of_kept(store, kept)
    for said in ({}, {"points": [[0, 0, None]], "content_bytes": 9}):
        path.write_text(json.dumps(said))
        assert store.load(SOURCE, FILE, "gzip") is None


@pytest.mark.parametrize("modified_us", [0, 4_000_000_000_000_000])
def test_a_version_that_may_change_unseen_is_not_kept(store, modified_us):
    young = FileMetadata(FILE.path, FILE.size_bytes, modified_us, FILE.fingerprint, FILE.relative_path)
    assert not store.save(SOURCE, young, "gzip", TABLE)
    assert store.load(SOURCE, young, "gzip") is None
