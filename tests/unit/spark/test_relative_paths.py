"""Relative paths of the data source: of this directory, except where Python runs in one of Spark Connect's."""

import json

import pytest

from splitscan.errors import UsageError
from splitscan.spark.source import SplitscanDataSource

ARTIFACTS = "SPARK_JOB_ARTIFACT_UUID"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(**options):
    return SplitscanDataSource(options).schema().names


@pytest.mark.parametrize("artifacts", [None, "default"])
def test_row_11_a_relative_path_is_one_of_the_working_directory(folder, monkeypatch, artifacts):
    monkeypatch.delenv(ARTIFACTS, raising=False)
    if artifacts is not None:
        monkeypatch.setenv(ARTIFACTS, artifacts)
    assert names(path="a.csv") == ["_c0"]


@pytest.mark.parametrize("options", [{"path": "a.csv"}, {"paths": json.dumps(["{folder}/a.csv", "./a.csv"])}])
def test_row_11_a_relative_path_of_a_session_of_connect_is_refused(folder, monkeypatch, options):
    monkeypatch.setenv(ARTIFACTS, "0c4e")
    given = {name: value.replace("{folder}", str(folder)) for name, value in options.items()}
    with pytest.raises(UsageError, match=r"(?s)\[bad-path\].*a\.csv.*write the absolute path"):
        names(**given)


def test_row_11_absolute_and_file_paths_of_a_session_of_connect_are_read(folder, monkeypatch):
    monkeypatch.setenv(ARTIFACTS, "0c4e")
    for path in (f"{folder}/a.csv", f"file:{folder}/a.csv", f"file://{folder}/a.csv"):
        assert names(path=path) == ["_c0"]
