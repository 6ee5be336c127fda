import os
from pathlib import Path

import pytest

from splitscan.content.storage.contract import Location, is_inside, locate
from splitscan.errors import UsageError


@pytest.mark.parametrize(
    ("path", "scheme", "canonical"),
    [
        ("/a/b.csv", "file", "/a/b.csv"),
        ("/a//b/./c/", "file", "/a/b/c"),
        ("/", "file", "/"),
        ("file:/a/b.csv", "file", "/a/b.csv"),
        ("file:///a/b.csv", "file", "/a/b.csv"),
        ("FILE:///a/b.csv", "file", "/a/b.csv"),
        ("file://localhost/a/b.csv", "file", "/a/b.csv"),
        ("/a/with space/ä%20[1]{x}.csv", "file", "/a/with space/ä%20[1]{x}.csv"),
        ("/a/c:d.csv", "file", "/a/c:d.csv"),
        ("s3://bucket/a//b.csv", "s3", "s3://bucket/a//b.csv"),
        ("s3a://bucket/dir/", "s3", "s3://bucket/dir"),
        ("S3N://bucket", "s3", "s3://bucket"),
        ("memory://x/y", "memory", "memory://x/y"),
        ("hdfs://host:8020/a@b", "hdfs", "hdfs://host:8020/a@b"),
        (
            "abfss://container@account.dfs.core.windows.net/a",
            "abfss",
            "abfss://container@account.dfs.core.windows.net/a",
        ),
    ],
)
def test_each_spelling_has_one_canonical_form(path, scheme, canonical):
    assert locate(path) == Location(scheme, canonical)
    assert locate(canonical) == Location(scheme, canonical)


def test_relative_paths_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert locate("x/./y.csv").path == f"{Path.cwd()}/x/y.csv"
    assert locate(Path("x")).path == f"{Path.cwd()}/x"
    assert locate(".").path == str(Path.cwd())


def test_dots_behind_a_link_lead_where_the_kernel_goes(tmp_path):
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    assert locate(f"{tmp_path}/link/../x").path == f"{os.path.realpath(tmp_path)}/real/x"


def test_a_percent_sign_is_literal_and_decoded_only_when_nothing_else_exists(tmp_path):
    (tmp_path / "a b.csv").write_bytes(b"")
    assert locate(f"file:{tmp_path}/a%20b.csv").path == f"{tmp_path}/a b.csv"
    (tmp_path / "a%20b.csv").write_bytes(b"")
    assert locate(f"file:{tmp_path}/a%20b.csv").path == f"{tmp_path}/a%20b.csv"
    assert locate(f"{tmp_path}/a%20b.csv").path == f"{tmp_path}/a%20b.csv"


@pytest.mark.parametrize("path", ["", "  ", "a\0b", 7, None, "file://host/a"])
def test_a_path_without_meaning_is_refused(path):
    with pytest.raises((UsageError, TypeError)):
        locate(path)


@pytest.mark.parametrize(
    "path",
    [
        "s3://AKIA:s3cr/et@bucket/a.csv",
        "sftp://me:12345s3cr@host/a.csv",
        "s3a://AKIA:s3cr@bucket",
        "simplecache::https://AKIA:s3cr@host/x",
        "AKIA:s3cr@host/x",
        "https://s3cr@host/x",
    ],
)
def test_a_path_that_carries_a_password_is_refused_without_showing_it(path):
    with pytest.raises(UsageError) as caught:
        locate(path)
    text = str(caught.value)
    assert "[credentials-in-path]" in text
    assert "***@" in text
    assert not any(secret in text for secret in ("s3cr", "AKIA"))


def test_a_file_whose_name_looks_like_a_password_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "me:secret@host").write_bytes(b"")
    for name in ("me:secret@host", "./me:other@host"):
        assert locate(name).path.startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("path", "root", "inside"),
    [
        ("/a/b", "/a", True), ("/a", "/a", True), ("/ab", "/a", False), ("/a/../b", "/a", False), ("/x", "/", True),
        ("s3://b/k", "s3://b", True), ("s3://b2/k", "s3://b", False), ("/a/b..c", "/a", True),
    ],
)  # fmt: skip
def test_inside_means_below_or_equal_and_no_way_up(path, root, inside):
    assert is_inside(path, root) is inside


@pytest.mark.parametrize("path", ["dbfs:/x/a.csv", "dbfs:///x/a.csv", "DBFS:/x/a.csv"])
def test_row_11_a_path_of_dbfs_is_refused_with_what_to_write(path):
    with pytest.raises(UsageError, match=r"(?s)\[bad-path\].*write /dbfs/x/a.csv, or"):
        locate(path)
