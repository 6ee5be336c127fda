"""What a scan takes: paths, columns and limits of every kind that is meant, and an answer to every other kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import splitscan as ss
from splitscan.errors import UsageError


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    return tmp_path / "a.csv"


def test_paths_are_texts_or_path_objects(table: Path) -> None:
    rows = ss.scan_csv(str(table), header=True).to_arrow()
    for paths in (table, table.parent, [table], [str(table)], (path for path in [table])):
        assert ss.scan_csv(paths, header=True).to_arrow() == rows


@pytest.mark.parametrize("paths", [None, 5, b"a.csv", [None], ["a.csv", 5], [b"a.csv"], [["a.csv"]]])
def test_what_is_no_path_is_told(paths: Any) -> None:
    with pytest.raises(UsageError, match=r"\[bad-path\]") as caught:
        ss.scan_csv(paths)
    assert caught.value.seen == repr(paths)


@pytest.mark.parametrize("column", [["a", "b"], 1, None, b"a"])
def test_what_is_no_column_is_told_at_once(table: Path, column: Any) -> None:
    with pytest.raises(UsageError, match=r"\[bad-column-path\]") as caught:
        ss.scan_csv(table, header=True).select(column)
    assert caught.value.seen == repr(column)


@pytest.mark.parametrize("rows", [-1, 1.5, "2", None, float("inf")])
def test_what_is_no_limit_is_told(table: Path, rows: Any) -> None:
    with pytest.raises(UsageError, match=r"\[bad-limit\]") as caught:
        ss.scan_csv(table, header=True).limit(rows)
    assert caught.value.seen == repr(rows)


def test_a_limit_is_any_integer(table: Path) -> None:
    rows: Any = np.int64(2)
    limited = ss.scan_csv(table, header=True).limit(rows)
    assert (limited.count(), limited.to_arrow().num_rows) == (2, 2)


class Settings:
    """A reader that cannot be made without its settings."""

    schema = "a int"

    def __init__(self, width: int) -> None:
        self.width = width

    def open(self, negotiator: Any) -> bool:
        return True

    def next(self, loader: Any) -> bool:
        loader.append({"a": list(range(self.width))})
        return False

    def close(self) -> None:
        pass


class SettingsOfContext:
    """A reader context that cannot be made without its settings."""

    def __init__(self, width: int) -> None:
        self.width = width

    def initialize(self, *_: Any) -> None:
        pass

    def next(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize("kind", [Settings, SettingsOfContext])
def test_a_format_that_needs_arguments_is_passed_as_an_object(table: Path, kind: Any) -> None:
    with pytest.raises(UsageError, match=r"(?s) fails \[bad-format\].*missing 1 required") as caught:
        ss.scan(table, format=kind)
    assert f"format={kind.__name__}(...)" in str(caught.value)
    if kind is Settings:
        assert ss.scan(table, format=Settings(3)).count() == 3


@pytest.mark.parametrize("schema", ["value int", "a string, b string", "value string, _file_path string"])
@pytest.mark.parametrize("options", [{"format": "text"}, {"format": "fixed", "record_length": 4}, {"format": "slices"}])
def test_records_of_one_value_have_one_column_of_its_type(table: Path, options: Any, schema: str) -> None:
    with pytest.raises(UsageError, match=r"one value.*\[bad-schema\]") as caught:
        _ = ss.scan(table, schema=schema, **options).schema

    assert caught.value.seen == schema
    hinted = caught.value.fix.split("'")[1]
    assert ss.scan(table, schema=hinted, **options).count() > 0


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("encoding", "shown"), [("UTF-8", "UTF-8"), ("windows-1252", "windows-1252"), ("UTF-16LE", "UTF-8")]
)
def test_lines_may_be_bytes(tmp_path: Path, encoding: str, shown: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("ä\nb\n".encode(encoding))

    found = ss.scan(path, schema="line binary", format="text", encoding=encoding).to_arrow().to_pylist()

    assert found == [{"line": text.encode(shown)} for text in "äb"]


def test_columns_of_directories_are_no_columns_of_records(tmp_path: Path) -> None:
    (tmp_path / "year=2024").mkdir()
    (tmp_path / "year=2024" / "a.txt").write_text("x\n")

    scan = ss.scan(tmp_path, schema="value string, year int", format="text")
    assert scan.to_arrow().to_pylist() == [{"value": "x", "year": 2024}]
