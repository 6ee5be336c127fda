"""Records that are given up: each is a row, or somebody says that it is none; counting agrees with reading."""

from __future__ import annotations

import gzip
import logging
import lzma
import random
from pathlib import Path

import pyarrow as pa
import pytest
from tests.counting import steps_of

import splitscan as ss
from splitscan.engine import kernel
from splitscan.errors import RecordError
from splitscan.reading.given_up import GIVEN_UP
from splitscan.testing import check_block_law

LONG = b"x" * 5000
LIMIT = {"max_record_bytes": 1000}
CSV_OPEN = b"".join(b'%d,"x\ny"\n' % i for i in range(300)) + b'5,"open\n' + b"".join(b"%d,z\n" % i for i in range(300))
BLANKS = b"1,2\n3," + b"x" * 1100 + b"\n" * 1400 + b"3," + LONG + b"\n4,5\n"  # a block of 2000 bytes ends in them


def lines(form: bytes) -> bytes:
    """600 records of which two are too long."""
    return b"".join(form % (LONG if i in {210, 450} else b"%05d" % i) for i in range(600))


CASES = [
    ("csv", lines(b"1,%s\n"), {"schema": "a int, b string"}, ("record-too-long", 2, 210 * 8)),
    ("csv", lines(b"1,%s\n"), {"schema": "a int, b string", "multi_line": True}, ("record-too-long", 2, 210 * 8)),
    ("csv", CSV_OPEN, {"schema": "a int, b string", "multi_line": True}, ("record-too-long", 1, 2890)),
    ("csv", BLANKS, {"schema": "a int, b int"}, ("record-too-long", 2, 4)),
    ("csv", b'1,2\n3,"open\n', {"schema": "a int, b int", "multi_line": True}, ("unclosed-quote", 1, 4)),
    ("text", lines(b"%s\n"), {}, ("record-too-long", 2, 210 * 6)),
    ("json", lines(b'{"a":"%s"}\n'), {"schema": "a string"}, ("record-too-long", 2, 210 * 14)),
    ("json", lines(b'{"a":"%s"}\n'), {"schema": "a string", "multi_line": True}, ("record-too-long", 2, 210 * 14)),
    ("json", b'{"a":1}\n{"a":\n', {"schema": "a int", "multi_line": True}, ("unfinished-record", 1, 8)),
]


def told(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if " no row" in record.getMessage()]


@pytest.mark.parametrize("block_size", [300, 2000, "1 MiB"])
@pytest.mark.parametrize(("record_format", "data", "options", "expected"), CASES)
def test_counting_gives_the_number_of_reading_and_both_name_the_first_record_that_is_given_up(
    record_format, data, options, expected, block_size, tmp_path, caplog
):
    code, lost, first = expected
    path = tmp_path / "a"
    path.write_bytes(data)
    scan = ss.scan(path, format=record_format, block_size=block_size, **LIMIT, **options)
    rejects = []
    with caplog.at_level(logging.WARNING, "splitscan"):
        rows = sum(batch.num_rows for batch in scan.to_batches(rejects.append))
        assert told(caplog) == []  # whoever takes the rejects knows
        assert scan.to_arrow().num_rows == scan.count() == rows
    assert [reject.offset for reject in rejects][:1] == [first]
    assert len(rejects) == lost
    by_reading, by_counting = told(caplog)
    assert by_reading == by_counting
    which = "1 record is no row" if lost == 1 else f"{lost} records are no rows"
    assert by_counting.startswith(f"{which}; the first begins at byte {first} of {path}: ")
    assert f"[{code}]" in by_counting


def test_the_first_record_of_several_files_is_that_of_the_first_file(tmp_path, caplog):
    for name in "ba":
        (tmp_path / name).write_bytes(LONG + b"\n1\n")
    with caplog.at_level(logging.WARNING, "splitscan"):
        assert ss.scan_text(tmp_path, **LIMIT).count() == 2
    assert told(caplog)[0].startswith(f"2 records are no rows; the first begins at byte 0 of {tmp_path / 'a'}: ")


def test_nothing_is_said_where_no_record_is_missed(tmp_path, caplog):
    path = tmp_path / "a"
    path.write_bytes(lines(b"%s\n"))
    with caplog.at_level(logging.WARNING, "splitscan"):
        assert ss.scan_text(path, limit=100, **LIMIT).count() == 100
        assert ss.scan_text(path, limit=100, **LIMIT).to_arrow().num_rows == 100
        assert ss.scan_text(path).count() == 600
    assert told(caplog) == []
    with caplog.at_level(logging.WARNING, "splitscan"):
        assert ss.scan_text(path, mode="DROPMALFORMED", **LIMIT).count() == 598
    assert told(caplog)[0].startswith("2 records are no rows")
    with pytest.raises(RecordError):
        ss.scan_text(path, mode="FAILFAST", **LIMIT).count()


KEPT = {
    "csv": ({"schema": "a int, b string, _corrupt_record string"}, {"a": None, "b": None}),
    "json": ({"schema": "a string, _corrupt_record string"}, {"a": None}),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("block_size", [300, *(pytest.param(size, marks=pytest.mark.slow) for size in (2000, "1 MiB"))])
@pytest.mark.parametrize(("record_format", "data", "options", "expected"), [case for case in CASES if case[0] in KEPT])
def test_a_record_that_is_given_up_is_a_row_that_shows_how_it_begins_where_there_is_a_column_for_it(
    record_format, data, options, expected, block_size, tmp_path, caplog
):
    code, lost, first = expected
    path = tmp_path / "a"
    path.write_bytes(data)
    schema, nothing = KEPT[record_format]
    places = {"metadata_columns": ["record_offset", "record_length"], "block_size": block_size}
    scan = ss.scan(path, format=record_format, **LIMIT, **{**options, **schema, **places})
    rejects = []
    with caplog.at_level(logging.WARNING, "splitscan"):
        rows = pa.Table.from_batches(scan.to_batches(rejects.append)).to_pylist()
        assert scan.count() == scan.select().to_arrow().num_rows == scan.select("a").to_arrow().num_rows == len(rows)
        assert scan.limit(len(rows) - 1).count() == len(rows) - 1
    assert told(caplog) == []
    assert [row["record_offset"] for row in rows] == sorted(row["record_offset"] for row in rows)
    given_up = [reject for reject in rejects if reject.code in GIVEN_UP]
    assert (given_up[0].code, len(given_up), given_up[0].offset) == (code, lost, first)
    shown = {row["record_offset"]: row for row in rows}
    for reject in given_up:
        beginning = reject.raw.decode()
        place = {"record_offset": reject.offset, "record_length": reject.length_bytes}
        assert shown[reject.offset] == {**nothing, "_corrupt_record": beginning, **place}
        assert reject.delivered
    assert data[first:].startswith(shown[first]["_corrupt_record"].encode())
    assert check_block_law(scan, [100, 1500]) == len(rows)


def test_such_a_row_has_the_default_of_a_column_and_none_where_records_are_dropped(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"1\n" + LONG + b"\n2\n")
    chosen = {"column_options": {"a": {"default": "7"}}, **LIMIT}
    scan = ss.scan_csv(path, schema="a int NOT NULL, _corrupt_record string", **chosen)
    assert scan.to_arrow().to_pydict() == {"a": [1, 7, 2], "_corrupt_record": [None, LONG[:1000].decode(), None]}
    dropping = ss.scan_csv(path, schema="a int, _corrupt_record string", mode="DROPMALFORMED", **LIMIT)
    assert dropping.count() == dropping.to_arrow().num_rows == 2


@pytest.mark.skipif(kernel() is None, reason="the reference gives each up by itself")
def test_rejects_that_nobody_takes_cost_no_python_for_each(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"

    def steps(records: int) -> int:
        path.write_bytes((b"x" * 79 + b"\n") * records)
        return steps_of(lambda: ss.scan_csv(path, "a string, b string", max_record_bytes=60).to_arrow())

    steps(1000)  # what the search finds is kept
    assert steps(2000) < steps(1000) + 500


CUT = [
    ("csv", b"1,%s\n", {"schema": "a int, b string, _corrupt_record string"}),
    ("csv", b'1,"%s"\n', {"schema": "a int, b string, _corrupt_record string", "multi_line": True}),
    ("json", b'{"a":"%s"}\n', {"schema": "a string, _corrupt_record string"}),
    ("json", b'{"a":"%s"}\n', {"schema": "a string, _corrupt_record string", "multi_line": True}),
    ("xml", b"<x><a>%s</a></x>\n", {"schema": "a string, _corrupt_record string", "row_tag": "x"}),
    ("text", b"%s\n", {}),
]
LONGEST = bytes(random.Random(1).choices(range(97, 123), k=40_000))


@pytest.mark.thin(2)
@pytest.mark.parametrize("codec", [gzip, lzma])
@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize(("record_format", "form", "options"), CUT)
def test_a_record_that_damage_cuts_off_is_given_up_if_it_is_too_long_already(
    record_format, form, options, before, codec, engine, tmp_path
):
    content = form % b"z" * before + form % LONGEST
    path = tmp_path / ("a.gz" if codec is gzip else "a.xz")
    path.write_bytes(codec.compress(content)[:-9_000])
    for most, given_up in ((1000, True), (39_999, False)):
        scan = ss.scan(path, record_format, max_record_bytes=most, ignore_corrupt_files=True, **options)
        rejects = []
        rows = sum(batch.num_rows for batch in scan.to_batches(rejects.append))
        assert scan.count() == rows == before + (given_up and "schema" in options)
        codes = ["record-too-long"] * given_up + ["truncated-container"]
        assert [reject.code for reject in rejects] == codes
