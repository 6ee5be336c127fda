"""Objects are listed by the rules of files, wherever they are stored."""

import uuid
from dataclasses import replace
from itertools import pairwise

import fsspec
import pytest

from splitscan.errors import SourceError, SourceMissingError
from splitscan.options.files import FileOptions
from splitscan.scans.listing import list_files

OPTIONS = FileOptions()
RECURSIVE = replace(OPTIONS, recursive_file_lookup=True)

REMOTE_NAMES = [
    "a.csv", "a/b c%20[1].csv", "a/ä{x}.csv", "k=1/p.csv", "k=1/sub/q.csv", "_tmp/t.csv", "_SUCCESS",
    "z*.csv", "zz.csv",
]  # fmt: skip


@pytest.fixture(params=["memory", "s3"])
def remote(request):
    """Root URI and options of a storage that holds REMOTE_NAMES."""
    if request.param == "memory":
        root, options = f"memory://{uuid.uuid4().hex}", {}
    else:
        root, options = f"{request.getfixturevalue('s3_root')}/in", request.getfixturevalue("s3_options")
    server = fsspec.filesystem(request.param, **options)
    for name in REMOTE_NAMES:
        server.pipe_file(f"{root}/{name}", name.encode())
    yield root, options
    server.rm(root, recursive=True)


@pytest.mark.parametrize(
    ("path", "changes", "expected"),
    [
        ("", {}, ["a.csv", "k=1/p.csv", "k=1/sub/q.csv", "z*.csv", "zz.csv"]),
        (
            "", {"recursive_file_lookup": True},
            ["a.csv", "a/b c%20[1].csv", "a/ä{x}.csv", "k=1/p.csv", "k=1/sub/q.csv", "z*.csv", "zz.csv"],
        ),
        ("/", {"path_glob_filter": "z*"}, ["z*.csv", "zz.csv"]),
        ("/z*.csv", {}, ["z*.csv"]),
        ("/z?.csv", {}, ["z*.csv", "zz.csv"]),
        ("/a/b c%20[1].csv", {}, ["a/b c%20[1].csv"]),
        ("/{a,k=1}/*.csv", {}, ["a/b c%20[1].csv", "a/ä{x}.csv", "k=1/p.csv"]),
        ("/*/*", {"path_glob_filter": "*.csv"}, ["a/b c%20[1].csv", "a/ä{x}.csv", "k=1/p.csv", "k=1/sub/q.csv"]),
    ],
)  # fmt: skip
def test_object_stores_are_listed_by_the_same_rules(remote, path, changes, expected):
    root, storage_options = remote
    listed = list(list_files(root + path, replace(OPTIONS, storage_options=storage_options, **changes)))
    assert [file.path.removeprefix(f"{root}/") for file in listed] == expected
    assert all(left.path < right.path for left, right in pairwise(listed))
    assert all(file.size_bytes == len(file.path.removeprefix(f"{root}/").encode()) for file in listed)
    assert all(file.fingerprint for file in listed)


def test_a_remote_path_that_names_nothing_is_an_error(remote):
    root, storage_options = remote
    for path in ("/nope", "/nope/*", "/*.zip"):
        with pytest.raises(SourceMissingError, match=r"Path does not exist: .*\[path-not-found\]"):
            list_files(root + path, replace(OPTIONS, storage_options=storage_options))


def test_an_object_named_like_its_directory_is_not_a_file(s3_root, s3_options):
    import s3fs

    server = s3fs.S3FileSystem(**s3_options)
    server.call_s3("put_object", Bucket=s3_root[5:], Key="dir/", Body=b"")
    server.pipe_file(f"{s3_root}/dir/a.csv", b"1")
    listed = list_files(f"{s3_root}/dir", replace(RECURSIVE, storage_options=s3_options))
    assert [file.relative_path for file in listed] == ["a.csv"]


@pytest.mark.parametrize(("key", "data"), [("dir//x.csv", b"1"), ("dir/", b"data")])
def test_objects_that_cannot_be_listed_are_told_and_never_passed_over(s3_root, s3_options, key, data):
    import s3fs

    server = s3fs.S3FileSystem(**s3_options)
    server.call_s3("put_object", Bucket=s3_root[5:], Key=key, Body=data)
    server.pipe_file(f"{s3_root}/dir/a.csv", b"1")
    options = replace(OPTIONS, storage_options=s3_options)
    with pytest.raises(SourceError, match=r"\[path-unlistable\]"):
        list(list_files(f"{s3_root}/dir", options))
    assert [file.name for file in list_files(f"{s3_root}/dir/a.csv", options)] == ["a.csv"]


def test_a_second_listing_sees_what_somebody_else_added(s3_root, s3_options):
    import s3fs

    somebody_else = s3fs.S3FileSystem(**s3_options, skip_instance_cache=True)
    options = replace(OPTIONS, storage_options=s3_options)
    for number in (1, 2):
        somebody_else.pipe_file(f"{s3_root}/dir/{number}", b"1")
        assert len(list(list_files(f"{s3_root}/dir", options))) == number


def test_object_names_that_climb_are_refused():
    root = f"memory://{uuid.uuid4().hex}"
    fsspec.filesystem("memory").pipe_file(f"{root}/dir/../evil.csv", b"1")
    with pytest.raises(SourceError, match=r"\[path-escapes\]"):
        list(list_files(f"{root}/dir", replace(RECURSIVE, ignored_path_segment_regex="")))
    fsspec.filesystem("memory").rm(root, recursive=True)


def test_files_of_several_storages_are_listed_together(tmp_path):
    (tmp_path / "a.txt").write_text("a.txt")
    root = f"memory://{uuid.uuid4().hex}"
    fsspec.filesystem("memory").pipe_file(f"{root}/b.txt", b"1")
    assert [file.name for file in list_files([root, tmp_path])] == ["a.txt", "b.txt"]
    fsspec.filesystem("memory").rm(root, recursive=True)
