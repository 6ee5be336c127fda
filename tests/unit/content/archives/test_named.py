"""A member of an archive, or a directory of them, named as a path."""

import gzip
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import fsspec
import pytest

import splitscan as ss
from splitscan.cli import main
from splitscan.content.archives import opening
from splitscan.content.archives.opening import open_source
from splitscan.errors import SourceError, SourceMissingError, UsageError
from splitscan.options.files import FileOptions
from splitscan.options.stream import StreamOptions
from splitscan.scans.listing import list_files
from splitscan.streaming.planner import StreamPlanner

from .packed import tar_of, zip_of

MEMBERS = {"x/y.csv": b"1\n", "x/a=7/z.csv": b"2\n3\n", "xx.csv": b"4\n", "x/_hidden": b"5\n", "top.csv": b"6\n"}
ARCHIVES = {"a.zip": zip_of(MEMBERS), "b.tar": tar_of(MEMBERS), "c.tar.gz": gzip.compress(tar_of(MEMBERS))}


@pytest.fixture
def folder(tmp_path):
    for name, data in ARCHIVES.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def listed(paths, **options):
    return [file.relative_path for file in list_files(paths, FileOptions(**options))]


@pytest.mark.parametrize("archive", ARCHIVES)
def test_a_member_or_a_directory_of_them_is_a_path(folder, archive, capsys):
    path = f"{folder}/{archive}!/x/y.csv"
    (file,) = list_files(path)
    assert (file.path, file.name, file.relative_path) == (path, "y.csv", "y.csv")
    scan = ss.scan_csv(path, "n int", metadata_columns=["file_path"])
    assert scan.to_arrow().to_pylist() == [{"n": 1, "file_path": path}]
    assert scan.count() == 1
    below = ss.scan_csv(f"{folder}/{archive}!/x", "n int")
    assert sorted(row["n"] for row in below.to_arrow().to_pylist()) == [1, 2, 3]
    assert {row["a"] for row in below.to_arrow().to_pylist()} == {None, 7}
    assert main(["count", path, "--format", "csv"]) == 0
    assert capsys.readouterr().out == "1\n"


def test_a_real_file_of_that_name_comes_first(folder):
    (folder / "d.zip!").mkdir()
    (folder / "d.zip!" / "x.csv").write_bytes(b"9\n")
    (folder / "d.zip").write_bytes(zip_of({"x.csv": b"1\n", "y.csv": b"2\n"}))
    for path, value in (("x.csv", "9"), ("[x].csv", "9"), ("y.csv", "2")):
        assert ss.scan_text(f"{folder}/d.zip!/{path}").to_arrow()["value"].to_pylist() == [value], path
    for path, value in (("x.csv", b"9\n"), ("y.csv", b"2\n")):
        with closing(open_source(f"{folder}/d.zip!/{path}")) as source:
            assert source.read_at(0, 9) == value


def test_filters_hidden_names_and_base_path_hold_for_it_too(folder):
    path = f"{folder}/a.zip!/x"
    assert sorted(listed(path)) == ["a=7/z.csv", "y.csv"]
    assert listed(path, archive_path_filter="*y.csv") == ["y.csv"]
    assert listed(path, base_path=str(folder)) == ["a.zip!/x/a=7/z.csv", "a.zip!/x/y.csv"]
    assert listed(f"{path}/_hidden") == []
    assert listed(path, modified_after_us=1 << 60) == []
    assert listed(path, path_glob_filter="*.csv") == []  # asked of the archive
    assert listed(path, path_glob_filter="a.*") == ["a=7/z.csv", "y.csv"]


def test_several_are_listed_once_each_and_in_order(folder):
    paths = [f"{folder}/c.tar.gz!/top.csv", f"{folder}/a.zip!/xx.csv", f"{folder}/a.zip!/xx.csv", f"{folder}/b.tar"]
    assert [file.path.removeprefix(str(folder)) for file in list_files(paths)] == [
        "/a.zip!/xx.csv", "/b.tar", "/c.tar.gz!/top.csv"
    ]  # fmt: skip
    twice = [f"{folder}/a.zip", f"{folder}/a.zip!/x/y.csv"]
    found = [file.path for file in list_files(twice, FileOptions(archive_path_filter="*"))]
    assert len(found) == len(set(found)) == 4


def test_wildcards_choose_archives(folder):
    (folder / "b.zip").write_bytes(ARCHIVES["a.zip"])
    (folder / "z.zip").write_bytes(zip_of({"other": b"1\n"}))
    paths = [file.path.removeprefix(str(folder)) for file in list_files(f"{folder}/*.zip!/x/y.csv")]
    assert paths == ["/a.zip!/x/y.csv", "/b.zip!/x/y.csv"]


@pytest.mark.parametrize("path", ["a.zip!/nothing", "a.zip!/x/y", "z.zip!/x", "a.csv!/x", "a.zip!/", "*.7z!/x"])
def test_what_is_not_there_is_an_error(folder, path):
    with pytest.raises(SourceMissingError, match=r"Path does not exist"):
        listed(f"{folder}/{path}")


def test_members_that_cannot_be_read_are_errors(folder):
    (folder / "e.zip").write_bytes(zip_of({"x": b"1\n", "./x": b"2\n"}))
    with pytest.raises(SourceError, match=r"\[duplicate-member\]"):
        listed(f"{folder}/e.zip!/x")
    (folder / "f.csv.zip").write_bytes(b"no archive\n")
    with pytest.raises(SourceMissingError):
        listed(f"{folder}/f.csv.zip!/x")


def test_the_path_cannot_lead_out_of_the_archive(folder):
    (folder / "secret.csv").write_bytes(b"7\n")
    assert [file.path for file in list_files(f"{folder}/a.zip!/../secret.csv")] == [f"{folder}/secret.csv"]
    with pytest.raises(SourceMissingError):
        listed(f"{folder}/a.zip!/../../etc/nothing")


def test_other_storage_has_members_too():
    fsspec.filesystem("memory").pipe("/named/a.zip", ARCHIVES["a.zip"])
    assert ss.scan_text("memory://named/a.zip!/x/y.csv").to_arrow()["value"].to_pylist() == ["1"]


def test_a_stream_follows_no_member(folder):
    scan = ss.scan_text(f"{folder}/a.zip!/xx.csv")
    planner = StreamPlanner(scan, replace(StreamOptions(), state_location=str(folder / "state")))
    with pytest.raises(UsageError, match="archivePathFilter has no meaning for a stream"):
        planner.freeze()


def test_directories_of_archives_are_read_at_the_same_time_and_those_used_last_are_kept(tmp_path, monkeypatch):
    together, read, found = threading.Barrier(2, timeout=10), [], opening.read_directory

    def read_directory(archive, kind):
        read.append(archive.path[-5])
        if len(read) <= 2:
            together.wait()
        return found(archive, kind)

    monkeypatch.setattr(opening, "_DIRECTORIES", {})
    monkeypatch.setattr(opening, "read_directory", read_directory)
    for name in "abcde":
        (tmp_path / f"{name}.zip").write_bytes(zip_of({"x": b"1"}))

    def open_member(name):
        open_source(f"{tmp_path}/{name}.zip!/x").close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(open_member, "ab"))
    assert sorted(read) == ["a", "b"]
    for name in "abcdaeab":
        open_member(name)
    assert "".join(read[2:]) == "cdeb"
