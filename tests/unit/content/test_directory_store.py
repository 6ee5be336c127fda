"""What is believed of a directory that was kept of a compressed archive: what was written, of the same archive."""

from dataclasses import replace

import pytest

from splitscan.blocks import FileMetadata
from splitscan.content.archives.directory import Archive
from splitscan.content.archives.member import ArchiveMember, MemberEncoding, MemberFault
from splitscan.content.codecs.formats import CODECS
from splitscan.content.kept import DirectoryStore, JsonCache
from splitscan.testing.faults import MemorySource

GZIP = CODECS["gzip"]
FILE = FileMetadata("/data/a.tgz", 4000, 1_000_000_000_000_000, "v1", "a.tgz")
SOURCE = MemorySource(bytes(i * i % 251 for i in range(4000)))


def member(name, offset, content_bytes, fault=None, head=b""):
    return ArchiveMember(
        name, MemberEncoding(codec="gzip"), offset, content_bytes, content_bytes, fault=fault, head=head
    )


ARCHIVE = Archive(
    "tar",
    (
        member("a", 512, 0),
        member("b", 512, 100, head=b"\x1f\x8b"),
        member("../c", 612, 388, MemberFault("path-escapes", "leads out")),
    ),
    (("l", "a link"),),
    1000,
)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path))
    return JsonCache("archives")


@pytest.fixture
def store(kept):
    """Its files are those of *kept*."""
    return DirectoryStore()


def test_what_was_kept_is_found_by_path_version_and_codec_alone(store):
    assert store.load(SOURCE, FILE, GZIP) is None
    store.save(SOURCE, FILE, GZIP, ARCHIVE)
    assert store.load(SOURCE, FILE, GZIP) == ARCHIVE
    assert store.load(SOURCE, FILE, CODECS["zstd"]) is None
    other = FileMetadata(FILE.path, FILE.size_bytes, FILE.modified_us, "v2", FILE.relative_path)
    assert store.load(SOURCE, other, GZIP) is None


@pytest.mark.parametrize("offset", [0, 63, 4000 - 64, 3999])
def test_other_bytes_at_an_end_are_another_archive(store, offset):
    store.save(SOURCE, FILE, GZIP, ARCHIVE)
    data = bytearray(SOURCE.read_at(0, 4000))
    data[offset] ^= 1
    assert store.load(MemorySource(bytes(data)), FILE, GZIP) is None
    data[offset] ^= 1
    assert store.load(MemorySource(bytes(data[:2000] + b"?" + data[2000:])), FILE, GZIP) is None


def test_of_a_version_that_may_change_unseen_and_of_very_many_members_nothing_is_kept(store):
    young = FileMetadata(FILE.path, FILE.size_bytes, 0, FILE.fingerprint, FILE.relative_path)
    store.save(SOURCE, young, GZIP, ARCHIVE)
    assert store.load(SOURCE, young, GZIP) is None
    store.save(SOURCE, FILE, GZIP, replace(ARCHIVE, members=ARCHIVE.members[:1] * 100_001))
    assert store.load(SOURCE, FILE, GZIP) is None


def test_a_directory_that_is_not_as_it_was_written_is_not_believed(store, kept):
    store.save(SOURCE, FILE, GZIP, ARCHIVE)
    (path,) = kept.directory.iterdir()
    whole = path.read_text()
    for damaged in (whole.replace("512", "513"), whole[:-1], whole + " ", "", whole.partition("\n")[2]):
        path.write_text(damaged)
        assert store.load(SOURCE, FILE, GZIP) is None
    path.write_text(whole)
    assert store.load(SOURCE, FILE, GZIP) == ARCHIVE
