import errno
import os
from pathlib import Path

import pytest

from splitscan.blocks import FileMetadata
from splitscan.content.storage import check_unchanged, open_source, opening, prefix_fingerprint
from splitscan.errors import SourceChangedError, SourceError, SourceMissingError
from splitscan.scans.listing import list_files


def test_paths_of_every_spelling_open_the_same_file(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    for path in ("a.csv", tmp_path / "a.csv", f"file:{tmp_path}/a.csv", f"file://{tmp_path}/a.csv"):
        source = open_source(path)
        assert source.path == str(Path.cwd() / "a.csv")
        source.close()


def test_a_planned_file_that_is_the_same_passes(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x")
    (file,) = list_files(tmp_path)
    source = open_source(file.path)
    check_unchanged(file, source)
    source.close()


def test_a_planned_file_that_changed_is_told_with_both_fingerprints_and_the_way_out(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"x")
    (file,) = list_files(tmp_path)
    (tmp_path / "a.csv").write_bytes(b"xy")
    source = open_source(file.path)
    with pytest.raises(SourceChangedError) as caught:
        check_unchanged(file, source)
    source.close()
    text = str(caught.value)
    assert f"where: {file.path}" in text
    assert file.fingerprint in text
    assert source.fingerprint in text
    assert "onFileChange=fail" in text
    assert "onFileChange=ignore" in text


def test_a_planned_file_that_vanished_is_missing(tmp_path):
    gone = FileMetadata(str(tmp_path / "gone"), 1, 0, "1-0", "gone")
    with pytest.raises(SourceMissingError, match="ignoreMissingFiles=true"):
        open_source(gone.path)


@pytest.fixture
def growing(tmp_path):
    """A file as it was planned while it grew, with others around it."""
    for name, data in {"app.log": b"a" * 2000, "app.log.1": b"b" * 3000, "other": b"a" * 1500 + b"c" * 900}.items():
        (tmp_path / name).write_bytes(data)
    path = tmp_path / "app.log"
    source = open_source(path)
    file = FileMetadata(str(path), 1800, 0, prefix_fingerprint(source, 1800), "app.log")
    source.close()
    return file


@pytest.mark.parametrize("successor", [None, b"", b"z" * 5000])
def test_a_growing_file_that_was_renamed_is_found_by_what_it_holds(growing, tmp_path, successor):
    (tmp_path / "app.log").rename(tmp_path / "app.log.2")
    if successor is not None:
        (tmp_path / "app.log").write_bytes(successor)
    source = open_source(growing.path, planned=growing)
    assert source.path == str(tmp_path / "app.log.2")
    check_unchanged(growing, source)
    source.close()


def test_of_the_files_around_a_renamed_one_none_is_opened_that_is_too_short(growing, tmp_path, monkeypatch):
    (tmp_path / "app.log").unlink()
    (tmp_path / "z").write_bytes(b"a" * 1800)
    (tmp_path / "app.log.0").write_bytes(b"a" * 1799)
    (tmp_path / "app.log.folder").mkdir()
    opened = []
    monkeypatch.setattr(opening, "open_source", lambda path, _: opened.append(Path(path).name) or open_source(path))
    open_source(growing.path, planned=growing).close()
    assert opened == ["app.log", "app.log.1", "other", "z"]


def test_others_that_cannot_be_read_are_told_only_if_no_file_is_the_renamed_one(growing, tmp_path, monkeypatch):
    (tmp_path / "app.log").rename(tmp_path / "z")
    really = os.open

    def refuse(path, *given, **named):
        if str(path).endswith(("app.log.1", "other")):
            raise PermissionError(errno.EACCES, "shut")
        return really(path, *given, **named)

    monkeypatch.setattr(os, "open", refuse)
    source = open_source(growing.path, planned=growing)
    assert source.path == str(tmp_path / "z")
    source.close()
    (tmp_path / "z").unlink()
    with pytest.raises(SourceError, match="shut") as caught:
        open_source(growing.path, planned=growing)
    assert str(tmp_path / "app.log.1") in str(caught.value)


def test_of_the_files_around_a_renamed_one_none_counts_that_becomes_shorter(growing, tmp_path, monkeypatch):
    (tmp_path / "app.log").rename(tmp_path / "z")

    def cut(source, size_bytes):
        if source.path.endswith("app.log.1"):
            raise SourceChangedError("it became shorter")
        return prefix_fingerprint(source, size_bytes)

    monkeypatch.setattr(opening, "prefix_fingerprint", cut)
    source = open_source(growing.path, planned=growing)
    assert source.path == str(tmp_path / "z")
    source.close()
    (tmp_path / "z").unlink()
    (tmp_path / "other").unlink()
    with pytest.raises(SourceMissingError):
        open_source(growing.path, planned=growing)


def test_a_growing_file_that_is_nowhere_any_more_is_missing_or_another_one(growing, tmp_path):
    (tmp_path / "app.log").unlink()
    with pytest.raises(SourceMissingError):
        open_source(growing.path, planned=growing)
    (tmp_path / "app.log").write_bytes(b"z" * 5000)
    source = open_source(growing.path, planned=growing)
    with pytest.raises(SourceChangedError, match="it was replaced"):
        check_unchanged(growing, source)
    source.close()
