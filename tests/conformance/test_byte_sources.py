"""Every ByteSource passes the shipped contract check, and the check catches sources that break it."""

import os
import tarfile
import uuid
import zipfile

import fsspec
import pytest

from splitscan.content.archives import opening as archives
from splitscan.content.storage import SHORT_BYTES, ByteSource, open_source, read_at_once
from splitscan.testing.faults import (
    ChangingSource,
    FailingSource,
    MemorySource,
    RecordingSource,
    ShortReadSource,
    SlowSource,
    TruncatedSource,
    WrappedSource,
    check_byte_source,
)

CONTENT = bytes(range(256)) * 300 + b"tail without newline"
assert len(CONTENT) <= SHORT_BYTES


KINDS = ["local", "file uri", "memory", "s3", "s3a", "in memory", "recorded", "slow", "short", "tar", "zip"]


@pytest.fixture(params=KINDS)
def opener(request, tmp_path):
    """A function that opens one file of CONTENT again, for each implementation."""
    kind = request.param
    if kind in {"local", "file uri", "recorded", "slow", "short"}:
        path = tmp_path / "a b%20ä[1].bin"
        path.write_bytes(CONTENT)
        wrap = {
            "recorded": RecordingSource,
            "slow": lambda inner: SlowSource(inner, 1, sleep=lambda _: None),
            "short": read_at_once,
        }.get(kind)
        if wrap:
            return lambda: wrap(open_source(path))
        return lambda: open_source(path if kind == "local" else f"file:{path}")
    if kind == "tar":
        (tmp_path / "member").write_bytes(CONTENT)
        with tarfile.open(tmp_path / "a.tar", "w") as archive:
            archive.add(tmp_path / "member", "ä/b.bin")
        return lambda: archives.open_source(tmp_path / "a.tar!/ä/b.bin")
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("ä/b.bin", CONTENT)
            archive.writestr("c.bin", b"behind")
        return lambda: archives.open_source(tmp_path / "a.zip!/ä/b.bin")
    if kind == "in memory":
        return lambda: MemorySource(CONTENT)
    if kind == "memory":
        uri, options = f"memory://{uuid.uuid4().hex}/a b%20ä[1].bin", {}
    else:
        uri, options = f"{request.getfixturevalue('s3_root')}/a b%20ä[1].bin", request.getfixturevalue("s3_options")
    fsspec.filesystem(uri.partition(":")[0], **options).pipe_file(uri, CONTENT)
    spelled = uri.replace("s3://", "s3a://") if kind == "s3a" else uri
    return lambda: open_source(spelled, options)


def test_every_source_keeps_the_contract(opener):
    check_byte_source(opener, CONTENT)


class _OffByOne(WrappedSource):
    def read_at(self, offset, length_bytes):
        return self.inner.read_at(offset + 1, length_bytes)


class _NeverClosed(WrappedSource):
    def close(self):
        pass


class _Views(WrappedSource):
    def read_at(self, offset, length_bytes):
        return memoryview(self.inner.read_at(offset, length_bytes))


class _FreshFingerprint(WrappedSource):
    @property
    def fingerprint(self):
        return uuid.uuid4().hex


class _WrongSize(WrappedSource):
    @property
    def size_bytes(self):
        return self.inner.size_bytes + 1


class _Lenient(WrappedSource):
    def read_at(self, offset, length_bytes):
        return self.inner.read_at(max(0, offset), max(0, length_bytes))


class _SharedPosition(WrappedSource):
    """Seeks and reads in two steps, as a plain file object does."""

    position = 0

    def read_at(self, offset, length_bytes):
        self.position = offset
        if length_bytes == len(CONTENT) // 2:
            os.sched_yield()
            self.position = 0  # what another thread would leave behind
        return self.inner.read_at(self.position, length_bytes)


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (_OffByOne, "not the file's"),
        (_NeverClosed, "after close"),
        (_Views, "must return bytes"),
        (_FreshFingerprint, "one fingerprint"),
        (_WrongSize, "size_bytes"),
        (_Lenient, "negative"),
        (_SharedPosition, "several threads"),
        (lambda inner: ShortReadSource(inner, 1000), "not the file's"),
        (lambda inner: TruncatedSource(inner, 1000), "not the file's"),
        (lambda inner: ChangingSource(inner, MemorySource(CONTENT[::-1]), good_reads=5), "not the file's"),
    ],
    ids=[
        "off by one",
        "never closed",
        "views",
        "fresh fingerprint",
        "wrong size",
        "lenient",
        "shared position",
        "short reads",
        "truncated",
        "changing",
    ],
)
def test_the_check_catches_sources_that_break_the_contract(broken, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_byte_source(lambda: broken(MemorySource(CONTENT)), CONTENT)


def test_the_check_does_not_hide_failures():
    with pytest.raises(ConnectionResetError):
        check_byte_source(
            lambda: FailingSource(MemorySource(CONTENT), good_reads=3, error=ConnectionResetError), CONTENT
        )


def test_the_check_needs_something_to_check():
    with pytest.raises(ValueError, match="at least 2 bytes"):
        check_byte_source(lambda: MemorySource(b"x"), b"x")


def test_a_class_without_the_members_is_no_source():
    assert not isinstance(object(), ByteSource)
    assert isinstance(MemorySource(b""), ByteSource)
