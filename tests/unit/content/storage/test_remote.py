import uuid
from datetime import UTC, datetime

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractFileSystem

from splitscan.content.storage import locate, open_source, open_tree
from splitscan.content.storage.remote import RemoteByteSource, remote_fingerprint, resolve
from splitscan.errors import SourceChangedError, SourceError, SourceMissingError, UsageError


@pytest.fixture
def root():
    uri = f"memory://{uuid.uuid4().hex}"
    yield uri
    fsspec.filesystem("memory").rm(uri, recursive=True)


def _put(uri, data):
    fsspec.filesystem("memory").pipe_file(uri, data)
    return uri


def _source(uri):
    return RemoteByteSource(locate(uri), {})


def test_names_with_glob_characters_spaces_and_percent_signs_are_literal(root):
    for name in ("a b.csv", "a%20b.csv", "x[1].csv", "{a,b}.csv", "st*r.csv", "ä.csv"):
        uri = _put(f"{root}/{name}", name.encode())
        assert open_source(uri).read_at(0, 99) == name.encode()


def test_short_answers_are_completed_and_failures_retried(root, monkeypatch):
    uri = _put(f"{root}/a", b"0123456789")
    real, failures = MemoryFileSystem.cat_file, [ConnectionResetError("reset")]

    def stingy(self, path, start=None, end=None, **_):
        if start == 3 and failures:
            raise failures.pop()
        return real(self, path, start=start, end=min(end, start + 3))

    monkeypatch.setattr(MemoryFileSystem, "cat_file", stingy)
    assert _source(uri).read_at(0, 10) == b"0123456789"
    assert failures == []


def test_a_failure_that_stays_names_file_and_offset(root, monkeypatch):
    uri = _put(f"{root}/a", b"0123456789")
    source = _source(uri)

    def broken(*_, **__):
        raise TimeoutError("slow")

    monkeypatch.setattr(MemoryFileSystem, "cat_file", broken)
    with pytest.raises(SourceError) as caught:
        source.read_at(4, 2)
    assert f"where: {uri}, byte 4" in str(caught.value)


def test_an_object_that_became_shorter_is_an_error(root):
    uri = _put(f"{root}/a", b"0123456789")
    source = _source(uri)
    _put(uri, b"0123")
    with pytest.raises(SourceChangedError, match=r"\[source-truncated\]"):
        source.read_at(2, 8)


def test_a_storage_that_ignores_ranges_is_refused(root, monkeypatch):
    uri = _put(f"{root}/a", b"0123456789")
    monkeypatch.setattr(MemoryFileSystem, "cat_file", lambda *_, **__: b"0123456789")
    with pytest.raises(SourceError, match=r"\[range-ignored\]"):
        _source(uri).read_at(4, 2)


def test_a_storage_that_does_not_know_the_length_is_refused(root, monkeypatch):
    uri = _put(f"{root}/a", b"0123456789")
    monkeypatch.setattr(MemoryFileSystem, "info", lambda *_, **__: {"name": "a", "type": "file", "size": None})
    with pytest.raises(SourceError, match=r"\[size-unknown\]"):
        _source(uri)


def test_without_a_ranged_request_of_its_own_a_file_system_is_read_uncached(root, monkeypatch):
    uri = _put(f"{root}/a", b"0123456789")
    source, modes = _source(uri), []
    real = MemoryFileSystem.open
    monkeypatch.setattr(MemoryFileSystem, "cat_file", AbstractFileSystem.cat_file)

    def noted(self, path, mode="rb", **options):
        modes.append(options)
        return real(self, path, mode, **options)

    monkeypatch.setattr(MemoryFileSystem, "open", noted)
    assert source.read_at(4, 3) == b"456"
    assert modes == [{"cache_type": "none"}]


def test_missing_files_directories_and_unknown_schemes_are_told_apart(root):
    _put(f"{root}/d/a", b"1")
    with pytest.raises(SourceMissingError, match="it does not exist"):
        open_source(f"{root}/nope")
    with pytest.raises(SourceError, match=r"\[not-a-file\]"):
        open_source(f"{root}/d")
    with pytest.raises(UsageError, match=r"no file system for nosuch:// paths \[bad-storage\]"):
        open_source("nosuch://x/y")


@pytest.mark.parametrize("refusal", [ValueError, KeyError, AttributeError])  # KeyError: two names of one option
def test_a_refused_option_is_told_without_showing_secrets(refusal):
    class Refusing(AbstractFileSystem):
        protocol = "refusing"

        def __init__(self, **options):
            raise refusal(f"cannot use {options}")

    fsspec.register_implementation("refusing", Refusing, clobber=True)
    with pytest.raises(UsageError, match=r"\[bad-storage\]") as caught:
        resolve(locate("refusing://b/k"), {"secret": "hunter22", "region": "north"})
    assert "north" in str(caught.value)
    assert "hunter22" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_native_library_is_told():
    class Native(AbstractFileSystem):
        protocol = "native"

        def __init__(self, **options):
            raise OSError("Unable to load libhdfs")

    fsspec.register_implementation("native", Native, clobber=True)
    with pytest.raises(UsageError, match=r"(?s)native:// paths \[bad-storage\].*Unable to load libhdfs"):
        resolve(locate("native://b/k"), {})


def test_listing_and_opening_agree_on_the_fingerprint(root):
    uri = _put(f"{root}/a", b"123")
    listed = next(open_tree(locate(root)).entries(root, lambda *_: True, False))
    assert (listed.path, listed.size_bytes, listed.fingerprint) == (uri, 3, open_source(uri).fingerprint)
    _put(uri, b"124")
    assert open_source(uri).fingerprint != listed.fingerprint


@pytest.mark.parametrize(
    ("info", "fingerprint"),
    [
        ({"size": 3, "ETag": '"abc"', "LastModified": 1}, "3-abc"),
        ({"size": 3, "etag": "abc"}, "3-abc"),
        ({"size": 3, "mtime": 1.5}, "3-1500000"),
        ({"size": 3, "LastModified": datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)}, "3-1000005"),
        ({"size": 3, "updated": "1970-01-01T00:00:02Z"}, "3-2000000"),
        ({"size": 3, "Last-Modified": "Thu, 01 Jan 1970 00:00:03 GMT"}, "3-3000000"),
        ({"size": 3}, "3-0"),
    ],
)
def test_a_fingerprint_is_size_and_etag_or_else_time(info, fingerprint):
    assert remote_fingerprint(info) == fingerprint


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("uri", "name", "below"),
    [
        ("memory://x/y", "/x/y", "memory://x/y/z"),
        ("memory://x", "/x", "memory://x/z"),
        ("s3://b/k", "b/k", "s3://b/k/z"),
        ("s3://b", "b", "s3://b/z"),
    ],
)
def test_names_of_the_file_system_become_uris_of_the_same_bucket(uri, name, below):
    remote = resolve(locate(uri), {"anon": True} if uri.startswith("s3") else {})
    assert remote.name == name
    assert remote.uri(name) == uri
    assert remote.uri(name + "/z") == below


def test_an_object_store_is_read_listed_and_told_apart(s3_root, s3_options):
    import s3fs

    server = s3fs.S3FileSystem(**s3_options)
    uri = f"{s3_root}/dir/a b%20ä[1].csv"
    server.pipe_file(uri, b"hello")
    source = open_source(uri.replace("s3://", "s3a://"), s3_options)
    assert (source.path, source.read_at(1, 3), source.read_at(4, 9), source.read_at(5, 1)) == (uri, b"ell", b"o", b"")
    tree = open_tree(locate(s3_root), s3_options)
    (directory,) = tree.entries(s3_root, lambda *_: True, False)
    assert (directory.path, directory.is_directory) == (f"{s3_root}/dir", True)
    (file,) = tree.entries(directory.path, lambda *_: True, False)
    assert (file.path, file.size_bytes, file.fingerprint) == (uri, 5, source.fingerprint)
    assert file.modified_us > 0
    server.pipe_file(uri, b"hallo")
    (file,) = tree.entries(directory.path, lambda *_: True, False)
    assert file.fingerprint != source.fingerprint
    with pytest.raises(SourceMissingError):
        open_source(f"{s3_root}/nope", s3_options)
    assert tree.status(f"{s3_root}/nope") is None
