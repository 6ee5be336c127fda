"""Rows without values: found and counted, and nothing decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import InvariantError, RecordError, SchemaError
from splitscan.formats.csv.decoder import CsvArrayDecoder, CsvDecoder
from splitscan.formats.decoding.values import ValueDecoder
from splitscan.formats.json.decoder import JsonDecoder
from splitscan.reading import block_scan
from splitscan.testing.scan_laws import check_block_law

CSV = b'a,b\n1,"x\ny"\nbad\n3,4\n'
JSON = b'{"a":1}\n{"a":\n{"a":3}\n'
CASES: dict[str, tuple[bytes, dict[str, Any], int]] = {
    "csv": (CSV, {"format": "csv", "header": True, "multiLine": True}, 3),
    "array": (CSV, {"format": "csv", "columnsArray": True, "multiLine": True}, 4),
    "json": (JSON, {"format": "json"}, 3),
    "text": (b"a\nb\n", {"format": "text"}, 2),
}


@pytest.fixture
def undecodable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise InvariantError("a value is decoded")

    for decoder in (CsvDecoder, CsvArrayDecoder, JsonDecoder, ValueDecoder):
        monkeypatch.setattr(decoder, "decode", refuse)
    monkeypatch.setattr(block_scan, "scan_document", lambda _: None)  # the kernel's own loop asks no decoder


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_decoded_where_nothing_of_the_records_is_delivered(
    tmp_path: Path, case: str, request: pytest.FixtureRequest
) -> None:  # parity 20, 81, 88, 101
    data, options, rows = CASES[case]
    path = tmp_path / "a"
    path.write_bytes(data)
    scan = ss.scan(str(path), **options)
    assert scan.to_arrow().num_rows == rows
    request.getfixturevalue("undecodable")
    assert scan.count() == scan.select().to_arrow().num_rows == rows
    narrow = scan.select("filename", "record_offset", "dir0").to_arrow()
    assert (narrow.num_rows, set(narrow["filename"].to_pylist())) == (rows, {"a"})
    if case != "array":
        assert ss.scan(str(path), schema=pa.schema([]), **options).to_arrow().num_rows == rows
    with pytest.raises(InvariantError, match="a value is decoded"):
        scan.to_arrow()


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_a_schema_without_columns_says_nothing_about_the_number_of_fields(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    scan = ss.scan_csv(str(path), pa.schema([]), multiLine=True, header=True, mode=mode)
    assert check_block_law(scan, [1, 4, 100]) == scan.count() == 3
    path.write_bytes(b'a,b\n1,"x\ny\n')
    one_line = ss.scan_csv(str(path), pa.schema([]), header=True, mode=mode)
    if mode == "FAILFAST":
        with pytest.raises(RecordError, match="inside quotes"):
            one_line.count()
    else:
        assert one_line.count() == one_line.to_arrow().num_rows == {"PERMISSIVE": 2}.get(mode, 1)


def test_broken_records_are_reported_to_whoever_listens_whatever_is_delivered(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    scan = ss.scan_csv(str(path), "a string, b string", header=True, multiLine=True)
    for chosen in (scan, scan.select(), scan.select("filename"), scan.select("b")):
        rejects: list[Any] = []
        assert sum(batch.num_rows for batch in chosen.to_batches(rejects.append)) == 3
        assert [reject.raw for reject in rejects] == [b"bad"]


def test_a_header_that_disagrees_is_an_error_whatever_is_delivered(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    with pytest.raises(SchemaError, match="header"):
        ss.scan_csv(str(path), "x string, y string", header=True, multiLine=True).select().to_arrow()
