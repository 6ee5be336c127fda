"""Records that are read, and not as anybody expects: every door says how many there are and where the first is."""

import gzip
import json
import logging
import re
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.reading.block_documents import scan_document_with_metadata
from splitscan.reading.oddities import NOT_UTF8, OddRecords, total_oddities

LINES = b"1 K\xc3\xa4the\n2 M\xfcller\n3 x\n4 \xff\xfe\n"
FORMATS = {
    "csv": (LINES.replace(b" ", b","), {"schema": "id int, name string"}, 12),
    "quoted": (b'id,name\n1,"a\nb"\n2,"\n\xfc"\n3,\xe9\n', {"header": True, "multi_line": True, "escape": '"'}, 20),
    "array": (LINES, {"format": "csv", "columns_array": True, "sep": " "}, 12),
    "gzip": (gzip.compress(LINES.replace(b" ", b",")), {"format": "csv", "schema": "id int, name string"}, 12),
    "json": (b'{"a": "x"}\n{"a": "\xfc"}\n{"\xe9": 1}\n', {}, 18),
    "array of json": (b'[{"a": "x"}, {"a": "\xfc"}, {"a": "\xe9"}]', {"format": "json", "multi_line": True}, 20),
    "xml": (b"<r><p><t>x</t></p><p><t>\xfc</t></p><p a='\xe9'/></r>", {"row_tag": "p"}, 24),
    "text": (LINES, {}, 12),
    "delimited": (LINES.replace(b"\n", b"|;"), {"format": "text", "line_sep": "|;"}, 13),
    "log": (LINES, {"record_start": r"\d", "record_pattern": r"(?<id>\d) (?<name>.*)"}, 12),
    "fixed_width": (LINES, {"layout": "id 1 1 int, name 3 10"}, 12),
}


def scanned(tmp_path, name, **more):
    content, options, place = FORMATS[name]
    path = tmp_path / ("a.gz" if name == "gzip" else "a")
    path.write_bytes(content)
    return ss.scan(path, **{"format": name if name != "quoted" else "csv", **options, **more}), str(path), place


@pytest.fixture
def warned(caplog):
    def said():
        return [record.getMessage() for record in caplog.records if NOT_UTF8 in record.getMessage()]

    with caplog.at_level(logging.WARNING, logger="splitscan"):
        yield said


@pytest.mark.parametrize("block_size", [5, 1 << 20])
@pytest.mark.parametrize("name", FORMATS)
def test_bytes_that_are_no_utf8_are_said(tmp_path, warned, engine, block_size, name):
    scan, path, place = scanned(tmp_path, name, block_size=block_size)
    expected = OddRecords(NOT_UTF8, 2, path, place)
    assert "\ufffd" in str(scan.to_arrow().to_pylist())
    assert warned() == [str(expected)]
    assert scan.check().odd == (expected,)
    assert not scan.check().ok


DOORS = {
    "to_arrow": lambda scan: scan.to_arrow().num_rows,
    "to_batches": lambda scan: sum(batch.num_rows for batch in scan.to_batches()),
    "head": lambda scan: scan.head(3).num_rows,
    "limit": lambda scan: scan.limit(3).to_arrow().num_rows,
    "pandas": lambda scan: len(scan.to_pandas()),
    "polars": lambda scan: scan.to_polars().height,
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_says_it_and_none_what_it_does_not_read(tmp_path, warned, door):
    scan, *_ = scanned(tmp_path, "csv")
    assert DOORS[door](scan) >= 3
    assert len(warned()) == 1
    assert scan.limit(1).to_arrow().num_rows == 1
    assert len(warned()) == 1
    assert scan.count() == 4
    assert len(warned()) == 1


def test_bytes_of_no_text_and_of_another_encoding_are_not_odd(tmp_path, warned, engine):
    (tmp_path / "a").write_bytes(LINES)
    for scan in (
        ss.scan_fixed(tmp_path / "a", record_length=len(LINES)),
        ss.scan_fixed_width(tmp_path / "a", "id 1 1 int, raw 2 5 binary", record_length=len(LINES)),
        ss.scan_text(tmp_path / "a", encoding="windows-1252"),
    ):
        assert scan.to_arrow().num_rows
        assert scan.check().ok
    assert warned() == []


def test_sums_do_not_depend_on_the_order_of_blocks():
    parts = [OddRecords(code, n, path, n) for n, (code, path) in enumerate(["xb", "xa", "ya", "xa"], 1)]
    whole = total_oddities(parts)
    assert whole == (OddRecords("x", 7, "a", 2), OddRecords("y", 3, "a", 3))
    assert total_oddities(reversed(parts)) == whole
    assert total_oddities([*total_oddities(parts[:2]), *total_oddities(parts[2:])]) == whole


def test_spark_is_told_the_words_for_every_oddity_that_the_kernel_finds(tmp_path):
    source = (Path(__file__).parents[3] / "kernel/core/src/block/oddities.rs").read_text()
    codes = re.findall(r'^pub const \w+: &str = "([a-z0-9-]+)";$', source, re.MULTILINE)
    path = tmp_path / "a.csv"
    path.write_text("1\n")
    document = json.loads(scan_document_with_metadata(ss.scan_csv(path, "k int", dialect="spark").spec))
    source = (Path(__file__).parents[3] / "kernel/jvm/src/tasks.rs").read_text()
    others = re.findall(r'^const (?:LOST|DELIVERED|OTHERS): &str = "([a-z-]+)";$', source, re.MULTILINE)
    warnings = document["words"]["warnings"]
    assert sorted(warnings) == sorted([*codes, *others])
    said = str(OddRecords(NOT_UTF8, 1, "FILE", 6)), str(OddRecords(NOT_UTF8, 2, "FILE", 6))
    for records, (sentence, words) in enumerate(zip(said, warnings[NOT_UTF8], strict=True), 1):
        assert sentence == words.format(records=records, first="FILE, byte 6")
    assert said[1].startswith("2 records have bytes that are no UTF-8, the first at FILE, byte 6; in texts ")
