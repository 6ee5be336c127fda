import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from splitscan.content.storage import opening
from splitscan.content.storage.opening import LocalByteSource, LocalTree
from splitscan.errors import SourceChangedError, SourceError, SourceMissingError, UsageError

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def source(file):
    source = LocalByteSource(str(file))
    yield source
    source.close()


@pytest.fixture
def broken(file, monkeypatch):
    """Opens the file with another way to read it."""
    real, opened = os.pread, []

    def open_broken(replacement):
        monkeypatch.setattr(opening.os, "pread", lambda fd, length, offset: replacement(real, fd, length, offset))
        opened.append(LocalByteSource(str(file)))
        return opened[0]

    yield open_broken
    for source in opened:
        source.close()


def test_short_reads_are_completed(broken):
    source = broken(lambda real, fd, length, offset: real(fd, min(length, 7), offset))
    assert source.read_at(3, 1000) == CONTENT[3:1003]
    assert source.read_at(len(CONTENT) - 5, 1000) == CONTENT[-5:]


def test_a_transient_failure_in_the_middle_of_a_read_is_retried(broken):
    left = [OSError(errno.EIO, "hiccup"), OSError(errno.ESTALE, "stale")]

    def flaky(real, fd, length, offset):
        if offset > 3 and left:
            raise left.pop()
        return real(fd, min(length, 10), offset)

    source = broken(flaky)
    assert source.read_at(3, 100) == CONTENT[3:103]
    assert left == []


def test_a_failure_that_stays_names_file_and_offset(broken, file):
    def failing(real, fd, length, offset):
        if offset >= 13:
            raise OSError(errno.EIO, "broken")
        return real(fd, 10, offset)

    source = broken(failing)
    with pytest.raises(SourceError) as caught:
        source.read_at(3, 100)
    assert f"where: {file}, byte 13" in str(caught.value)


def test_a_file_that_became_shorter_is_an_error_and_not_the_end(source, file):
    os.truncate(file, 100)
    assert source.read_at(0, 100) == CONTENT[:100]
    with pytest.raises(SourceChangedError) as caught:
        source.read_at(90, 20)
    assert f"where: {file}, byte 100" in str(caught.value)
    assert "[source-truncated]" in str(caught.value)


def test_bytes_appended_after_opening_are_not_seen(source, file):
    with file.open("ab") as output:
        output.write(b"more")
    assert source.size_bytes == len(CONTENT)
    assert source.read_at(len(CONTENT) - 2, 10) == CONTENT[-2:]


def test_the_fingerprint_tells_versions_apart_but_not_copies(source, file, tmp_path):
    copy = tmp_path / "copy.bin"
    copy.write_bytes(CONTENT)
    status = file.stat()
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    other = LocalByteSource(str(copy))
    assert other.fingerprint == source.fingerprint
    other.close()
    os.utime(copy, ns=(0, status.st_mtime_ns + 1))
    other = LocalByteSource(str(copy))
    assert other.fingerprint != source.fingerprint
    other.close()


def test_missing_files_directories_and_pipes_are_refused_at_once(tmp_path):
    with pytest.raises(SourceMissingError, match="cannot open file: it does not exist"):
        LocalByteSource(str(tmp_path / "nope"))
    with pytest.raises(SourceError, match="only regular files"):
        LocalByteSource(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match=r"\[not-a-file\]"):
        LocalByteSource(str(tmp_path / "pipe"))


def test_an_unreadable_file_is_named(file, monkeypatch):
    def denied(*_):
        raise PermissionError(errno.EACCES, "Permission denied", str(file))

    monkeypatch.setattr(opening.os, "open", denied)
    with pytest.raises(SourceError, match=r"permission denied \[file-unreadable\]") as caught:
        LocalByteSource(str(file))
    assert f"where: {file}" in str(caught.value)


def test_a_closed_source_says_so(file):
    source = LocalByteSource(str(file))
    source.close()
    source.close()
    for length_bytes in (0, 1):
        with pytest.raises(UsageError, match="this source is closed"):
            source.read_at(0, length_bytes)


def test_closing_gives_the_descriptor_back(file):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        LocalByteSource(str(file)).close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_entries_come_in_path_order_of_the_files_below(tmp_path):
    for name in ("a/x", "a.csv", "a-b", "b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
    names = [entry.name for entry in LocalTree().entries(str(tmp_path), lambda *_: True, False)]
    assert names == ["a-b", "a.csv", "a", "b"]
    assert names == [path.split("/")[0] for path in sorted(("a/x", "a.csv", "a-b", "b"))]


def test_only_wanted_names_are_looked_at(tmp_path):
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "good").write_bytes(b"")
    found = LocalTree().entries(str(tmp_path), lambda name, _: name == "good", False)
    assert [entry.name for entry in found] == ["good"]


def test_a_path_that_cannot_be_looked_up_is_an_error(tmp_path):
    with pytest.raises(SourceError, match=r"look up path(.|\n)*File name too long"):
        LocalTree().status(f"{tmp_path}/{'x' * 5000}")


def test_status_finds_nothing_below_a_file(file):
    assert LocalTree().status(f"{file}/x") is None
    assert LocalTree().status(str(file)).size_bytes == len(CONTENT)


@pytest.mark.slow
def test_local_paths_never_import_a_remote_library(file):
    code = (
        "import sys, splitscan.content.storage as s, splitscan.scans.listing as f\n"
        f"x = s.open_source({str(file)!r}); x.read_at(0, 1); x.close(); list(f.list_files({str(file.parent)!r}))\n"
        f"s.open_storage({str(file.parent)!r}).list_names()\n"
        "print([n for n in ('fsspec', 's3fs', 'pandas', 'pyspark') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
