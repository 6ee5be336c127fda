"""Why records are broken: a column that says it for each row, the rejects of a scan as rows, and a warning of both."""

from __future__ import annotations

import gzip
import logging
import random

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.reading.rejects import REJECTED

DATA = b"1,a\r\nx,b\r\n3,c,d\n\r4,e\n5," + b"y" * 3000 + b"\n6,f\n"
SCHEMA = "n int, t string"
WIDE = "[field-count] the record has 3 fields where 2 are expected"
LONG = "[record-too-long] the record is longer than maxRecordBytes=1000"


def put(tmp_path, data: bytes = DATA):
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    return path


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("block_size", [7, 40, "1 MiB"])
def test_a_column_says_why_a_record_is_broken(tmp_path, block_size):
    scan = ss.scan_csv(
        put(tmp_path), SCHEMA, rejectReasonColumn="_reject_reason", max_record_bytes=1000, block_size=block_size
    )
    rows = scan.to_arrow().to_pylist()
    assert [(row["n"], row["_reject_reason"]) for row in rows] == [
        (1, None),
        (None, "[bad-value] column 'n': 'x' is no int"),
        (3, WIDE),
        (4, None),
        (None, LONG),
        (6, None),
    ]
    assert scan.count() == 6
    assert scan.select("_reject_reason", "t").to_arrow().column(0).to_pylist() == [
        row["_reject_reason"] for row in rows
    ]


@pytest.mark.usefixtures("engine")
def test_the_reasons_of_a_random_file_are_those_of_its_rejects(tmp_path):
    draw = random.Random(5)
    lines = [draw.choice([b"1,a", b"x,b", b"1", b"1,2,3", b'"1,"",b', b"", b"7,\xff"]) for _ in range(2000)]
    scan = ss.scan_csv(
        put(tmp_path, b"\n".join(lines)), SCHEMA, reject_reason_column="why", metadata_columns=["record_offset"]
    )
    seen = [
        (row["record_offset"], row["why"])
        for blocks in (scan, ss.scan(scan.files()[0].path, "csv", SCHEMA, rejectReasonColumn="why", blockSize=37,
                                     metadataColumns=["record_offset"]))
        for row in blocks.to_arrow().to_pylist()
        if row["why"] is not None
    ]  # fmt: skip
    told = [(row["offset"], f"[{row['code']}] {row['reason']}") for row in scan.rejects().to_arrow().to_pylist()]
    assert len(told) > 500
    assert seen == told + told


def test_in_other_modes_it_says_what_is_left_to_say(tmp_path):
    path = put(tmp_path)
    dropped = ss.scan_csv(path, SCHEMA, mode="DROPMALFORMED", rejectReasonColumn="why", max_record_bytes=1000)
    assert [why for why in dropped.to_arrow()["why"].to_pylist() if why] == ["[bad-value] column 'n': 'x' is no int"]
    whole = ss.scan_csv(put(tmp_path, b"1,a\n"), SCHEMA, mode="FAILFAST", rejectReasonColumn="why")
    assert whole.to_arrow()["why"].to_pylist() == [None]


@pytest.mark.parametrize(
    ("format", "data", "options"),
    [
        ("json", b'{"n":1}\n{"n":"x"}\n[\n', {}),
        ("json", b'[{"n":1},{"n":"x"},3]', {"multiLine": True}),
        ("xml", b"<r><n>1</n></r><r><n>x</n></r><r><n>1</r>", {"rowTag": "r"}),
        ("fixed_width", b"1\nx\n1\n", {"layout": "n 1 1 int"}),
    ],
)
@pytest.mark.usefixtures("engine")
def test_formats_say_it_alike(tmp_path, format, data, options):
    path = tmp_path / "a"
    path.write_bytes(data)
    schema = None if format == "fixed_width" else "n int"
    scan = ss.scan(path, format, schema, rejectReasonColumn="why", **options)
    whys = [why for why in scan.to_arrow()["why"].to_pylist() if why]
    assert whys == [f"[{row['code']}] {row['reason']}" for row in scan.rejects().to_arrow().to_pylist()]
    assert "column 'n': " in whys[0]


def test_its_name_is_no_other_column(tmp_path):
    path = put(tmp_path, b"why,t\n1,a\n")
    with pytest.raises(UsageError, match="a nullable string column that no file has"):
        _ = ss.scan_csv(path, header=True, rejectReasonColumn="why").schema
    with pytest.raises(UsageError, match="rejectReasonColumn and columnNameOfCorruptRecord name one column"):
        _ = ss.scan_csv(path, SCHEMA, rejectReasonColumn="_corrupt_record").schema
    with pytest.raises(UsageError, match="rejectReasonColumn and rescuedDataColumn name one column"):
        _ = ss.scan_csv(path, SCHEMA, rejectReasonColumn="w", rescuedDataColumn="w").schema
    placed = ss.scan_csv(path, "why string, n int, t string", rejectReasonColumn="why")
    assert placed.schema.names == ["why", "n", "t"]


def test_rejects_are_rows_with_their_lines(tmp_path):
    found = ss.scan_csv(put(tmp_path), SCHEMA, max_record_bytes=1000).rejects()
    assert found.schema == REJECTED
    rows = found.to_arrow().to_pylist()
    assert [(row["line"], row["offset"], row["length"], row["code"], row["delivered"]) for row in rows] == [
        (2, 5, 3, "bad-value", True),
        (3, 10, 5, "field-count", True),
        (6, 21, 3003, "record-too-long", False),
    ]
    assert [row["raw"][:5] for row in rows] == [b"x,b", b"3,c,d", b"5,yyy"]
    assert {row["path"] for row in rows} == {str(tmp_path / "a.csv")}
    assert pa.table(found).num_rows == found.to_pandas().shape[0] == found.to_polars().height == 3


def test_lines_are_those_of_the_content_of_several_files(tmp_path):
    lines = b"".join(b"1,a\n" if i % 3 else b"x,b\n" for i in range(1000))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "b.csv").write_bytes(lines)
    rows = ss.scan_csv(tmp_path, SCHEMA, read_bytes=1000).rejects().to_arrow().to_pylist()
    assert [row["line"] for row in rows] == [*range(1, 1001, 3), *range(1, 1001, 3)]


def test_where_there_are_no_lines_there_is_no_number(tmp_path):
    (tmp_path / "a").write_bytes("x,a\n1,b\n".encode("utf-16-le"))
    (row,) = ss.scan_csv(tmp_path / "a", SCHEMA, encoding="UTF-16LE").rejects().to_arrow().to_pylist()
    assert row["line"] is None


def test_a_file_without_rejects_gives_none_and_failfast_is_an_error(tmp_path):
    assert ss.scan_csv(put(tmp_path, b"1,a\n"), SCHEMA).rejects().to_arrow().num_rows == 0
    assert ss.scan_csv(put(tmp_path, b"x,a\n"), SCHEMA).limit(0).rejects().to_arrow().num_rows == 0
    with pytest.raises(ss.SplitscanError, match="bad-value"):
        ss.scan_csv(put(tmp_path), SCHEMA, mode="FAILFAST").rejects().to_arrow()


@pytest.mark.usefixtures("engine")
def test_rejects_that_no_column_shows_are_a_warning_with_the_first_place(tmp_path, caplog):
    def told(**options) -> list[str]:
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="splitscan"):
            ss.scan_csv(put(tmp_path, b"1,a\nx,b\ny,c\n"), SCHEMA, **options).to_arrow()
        return [record.getMessage() for record in caplog.records]

    (message,) = told()
    assert "each of 2 records breaks a rule" in message
    assert f"byte 4 of {tmp_path / 'a.csv'}: column 'n': 'x' is no int [bad-value]" in message
    assert told(rejectReasonColumn="why") == []
    assert told(mode="DROPMALFORMED") == [message]  # no record is dropped for a value that does not fit
    caplog.clear()
    ss.scan_csv(put(tmp_path, b"1,a\nx,b\n"), SCHEMA + ", _corrupt_record string", header=False).to_arrow()
    list(ss.scan_csv(put(tmp_path), SCHEMA, header=False).limit(1).to_batches())
    list(ss.scan_csv(put(tmp_path, b"x,a\n"), SCHEMA, header=False).to_batches(lambda _: None))
    assert not caplog.records
