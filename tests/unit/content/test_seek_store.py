"""What is believed of a seek index that was kept: what was written of this file, and of no other one."""

import pytest

from splitscan.blocks import FileMetadata, SeekPoint
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


def test_points_that_are_not_as_they_were_written_are_not_believed(store, kept):
    assert store.save(SOURCE, FILE, "gzip", TABLE)
    (path,) = kept.directory.iterdir()
    whole = path.read_text()
    for damaged in (whole.replace("1600", "1601"), whole[:-1], whole + " ", "", whole.partition("\n")[2], "é"):
        path.write_text(damaged)
        assert store.load(SOURCE, FILE, "gzip") is None
    path.write_text(whole)
    assert store.load(SOURCE, FILE, "gzip") == TABLE


@pytest.mark.parametrize("modified_us", [0, 4_000_000_000_000_000])
def test_a_version_that_may_change_unseen_is_not_kept(store, modified_us):
    young = FileMetadata(FILE.path, FILE.size_bytes, modified_us, FILE.fingerprint, FILE.relative_path)
    assert not store.save(SOURCE, young, "gzip", TABLE)
    assert store.load(SOURCE, young, "gzip") is None
