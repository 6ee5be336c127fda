"""What is asked of records, without files: no file is listed to know options, format and columns."""

import pickle

import pyarrow as pa
import pytest

from splitscan.api.files import Scan
from splitscan.errors import SchemaError
from splitscan.scans.request import ReadRequest


class Silent:
    """A reader that declares no columns."""

    def open(self, negotiator):
        raise AssertionError("opened to find columns, where there is no file")

    def next(self, loader):
        return False

    def close(self):
        pass


def test_a_schema_names_the_columns():
    asked = ReadRequest.of("csv", "id long, text string", {"sep": ";"})
    assert asked.columns().schema.names == asked.spec(asked.columns().schema).schema.names == ["id", "text"]


def test_columns_that_only_files_show_are_not_known():
    assert ReadRequest.of("csv").columns() is None
    assert ReadRequest.of(Silent).columns() is None


def test_a_reader_without_columns_reads_nothing_to_find_some():
    with pytest.raises(SchemaError, match="no file has a record"):
        ReadRequest.of(Silent).found_in(())


def test_provided_columns_are_known_without_files():
    found = ReadRequest.of(Silent, None, {"providedSchema": "id bigint"}).found_in(())
    assert found.schema == pa.schema([("id", pa.int64())])


def test_chosen_files_stay_chosen_in_another_process(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("1\n")
    scan = Scan.of(tmp_path, "csv", "id long")
    one = scan.with_files(scan.files()[:1])
    (tmp_path / "c").write_text("1\n")
    assert [file.relative_path for file in pickle.loads(pickle.dumps(one)).files()] == ["a"]
    assert len(pickle.loads(pickle.dumps(scan)).files()) == 3
