from pathlib import Path

import pytest

from splitscan.blocks import FileMetadata
from splitscan.errors import SourceChangedError, SourceMissingError
from splitscan.sources import list_files
from splitscan.storage import check_unchanged, open_source


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
