import os
import uuid
from pathlib import Path

import fsspec
import pytest

from splitscan.content.storage import Storage, destination, open_storage
from splitscan.content.storage.destination import check_name
from splitscan.errors import IngestError, SourceMissingError, UsageError

KINDS = ["local", "memory", "s3"]
LARGE = os.urandom(6 * 1024 * 1024)  # more than one part of a multipart upload


@pytest.fixture(params=KINDS)
def storage(request, tmp_path):
    if request.param == "local":
        yield open_storage(tmp_path / "dest")
    elif request.param == "memory":
        uri = f"memory://{uuid.uuid4().hex}"
        yield open_storage(uri)
        if fsspec.filesystem("memory").exists(uri):
            fsspec.filesystem("memory").rm(uri, recursive=True)
    else:
        yield open_storage(f"{request.getfixturevalue('s3_root')}/dest", request.getfixturevalue("s3_options"))


def test_a_storage_fulfils_its_contract(storage):
    assert isinstance(storage, Storage)
    assert storage.path_of("a/b") == f"{storage.root}/a/b"
    assert storage.path_of("") == storage.root


def test_what_was_written_is_read_listed_and_replaced(storage):
    assert storage.list_names() == []
    assert not storage.exists("a/b [1]{x}*.txt")
    storage.write_bytes_atomic("a/b [1]{x}*.txt", b"one")
    storage.write_bytes_atomic("a/b [1]{x}*.txt", b"two")
    storage.write_bytes_atomic("a/c/d.txt", b"")
    storage.write_bytes_atomic("z.txt", b"z")
    assert storage.read_bytes("a/b [1]{x}*.txt") == b"two"
    assert storage.read_bytes("a/c/d.txt") == b""
    assert storage.list_names() == ["a/", "z.txt"]
    assert storage.list_names("a") == ["b [1]{x}*.txt", "c/"]
    assert storage.exists("a")
    assert storage.exists("a/c/d.txt")


def test_reading_what_is_not_there_is_told(storage):
    with pytest.raises(SourceMissingError) as caught:
        storage.read_bytes("nope")
    assert storage.path_of("nope") in str(caught.value)


def test_exactly_one_creator_wins(storage):
    assert storage.try_create("log/1", b"mine")
    assert not storage.try_create("log/1", b"yours")
    assert storage.read_bytes("log/1") == b"mine"
    assert storage.list_names("log") == ["1"]


def test_a_stream_appears_whole_when_its_block_ends(storage):
    with storage.open_output("s/out.bin") as output:
        output.write(LARGE[:4_000_000])
        output.write(LARGE[4_000_000:])
        assert "out.bin" not in storage.list_names("s")
    assert storage.read_bytes("s/out.bin") == LARGE
    assert storage.list_names("s") == ["out.bin"]


def test_parquet_is_written_straight_into_a_stream(storage):
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": list(range(1000))})
    with storage.open_output("p/x.parquet") as output, pq.ParquetWriter(output, table.schema) as writer:
        writer.write_table(table)
    with storage.open_output("p/y.parquet") as output:
        pq.write_table(table, output)
    for name in ("p/x.parquet", "p/y.parquet"):
        assert pq.read_table(io.BytesIO(storage.read_bytes(name))).equals(table)


@pytest.mark.parametrize("data", [b"few bytes", LARGE])
def test_a_stream_that_fails_leaves_nothing_and_keeps_what_was_there(storage, data):
    storage.write_bytes_atomic("s/out.bin", b"old")

    def interrupted():
        with storage.open_output("s/out.bin") as output:
            output.write(data)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert storage.read_bytes("s/out.bin") == b"old"
    assert storage.list_names("s") == ["out.bin"]


def test_files_and_folders_are_renamed(storage):
    storage.write_bytes_atomic("from/a", b"a")
    storage.write_bytes_atomic("from/sub/b [1]", b"b")
    storage.rename("from", "to/deep")
    assert storage.list_names("to/deep") == ["a", "sub/"]
    assert storage.read_bytes("to/deep/sub/b [1]") == b"b"
    assert storage.list_names("from") == []
    storage.rename("to/deep/a", "to/x")
    assert storage.read_bytes("to/x") == b"a"
    with pytest.raises(SourceMissingError):
        storage.rename("nope", "to/y")


def test_a_tree_is_deleted_and_its_neighbours_stay(storage):
    for name in ("t/a", "t/sub/b [1]*", "tt/a", "t.txt"):
        storage.write_bytes_atomic(name, b"x")
    storage.delete_tree("t")
    storage.delete_tree("t")
    storage.delete_tree("t.txt")
    assert storage.list_names() == ["tt/"]


@pytest.mark.parametrize("name", ["", "/", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/.", "a\0b", ".."])
def test_no_name_leads_out_of_the_folder(storage, name):
    for act in (
        storage.read_bytes,
        storage.delete_tree,
        lambda n: storage.write_bytes_atomic(n, b""),
        lambda n: storage.open_output(n).__enter__(),
    ):
        with pytest.raises(UsageError, match=r"\[path-escapes\]"):
            act(name)
    with pytest.raises(UsageError):
        storage.rename("a", name)


def test_a_trailing_slash_is_dropped():
    assert check_name("a/b/") == "a/b"
    assert check_name("", allow_root=True) == ""


@pytest.fixture
def trace(monkeypatch):
    """What is synced and renamed, in order; folders by name."""
    steps = []
    real_fsync, real_replace = os.fsync, Path.replace

    def fsync(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        steps.append(f"sync {path.name}/" if path.is_dir() else "sync file")
        real_fsync(descriptor)

    monkeypatch.setattr(destination.os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", lambda self, target: (steps.append("rename"), real_replace(self, target)))
    return steps


def test_local_files_are_synced_before_they_appear(tmp_path, trace):
    storage = open_storage(tmp_path / "dest")
    storage.write_bytes_atomic("x/y/a", b"1")
    assert trace == [f"sync {tmp_path.name}/", "sync dest/", "sync x/", "sync file", "rename", "sync y/"]
    del trace[:]
    storage.write_bytes_atomic("x/y/b", b"1")
    assert trace == ["sync file", "rename", "sync y/"]


def test_local_names_are_synced_where_they_come_and_where_they_go(tmp_path, trace):
    storage = open_storage(tmp_path)
    storage.write_bytes_atomic("from/a", b"1")
    del trace[:]
    storage.rename("from/a", "to/a")
    storage.rename("to/a", "to/b")
    new_folder = [f"sync {tmp_path.name}/"]
    assert trace == [*new_folder, "rename", "sync to/", "sync from/", "rename", "sync to/"]


def test_a_local_failure_names_the_destination_and_leaves_no_temporary_file(tmp_path, monkeypatch):
    storage = open_storage(tmp_path)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(destination.os, "fsync", full)
    with pytest.raises(IngestError) as caught:
        storage.write_bytes_atomic("a", b"1")
    assert f"where: {tmp_path}/a" in str(caught.value)
    assert "No space left" in str(caught.value)
    assert storage.list_names() == []


def test_deleting_a_link_keeps_what_it_leads_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "kept").write_bytes(b"1")
    (tmp_path / "dest").mkdir()
    (tmp_path / "dest" / "link").symlink_to(tmp_path / "real")
    open_storage(tmp_path / "dest").delete_tree("link")
    assert (tmp_path / "real" / "kept").exists()
    assert not os.path.lexists(tmp_path / "dest" / "link")


def test_two_local_writers_of_one_name_do_not_mix(tmp_path):
    storage = open_storage(tmp_path)
    with storage.open_output("a") as first, storage.open_output("a") as second:
        first.write(b"1" * 100)
        second.write(b"2" * 50)
    assert storage.read_bytes("a") == b"1" * 100
    assert storage.list_names() == ["a"]
