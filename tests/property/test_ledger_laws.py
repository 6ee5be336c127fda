"""Whole scans of random files: rows, rejects and ledger do not depend on the blocks, nor rows on the projection."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import splitscan as ss
from splitscan.blocks import BlockReport
from splitscan.errors import RecordError, SchemaError, UsageError
from splitscan.testing import check_block_law, check_ledger_law, check_projection_law, cut_blocks, read_block

from .csv_strategies import csv_texts, dialects, separators

pytestmark = pytest.mark.usefixtures("short_looks")

FEW = settings(max_examples=settings().max_examples // 6)
KINDS = ("string", "int", "double", "date", "timestamp", "boolean", "decimal(6,2)", "binary", "timestamp_ntz",
         "time(6)")  # fmt: skip
ODD = ("1", "x", "2020-01-01", "true", "-1.5", "", '""', "NaN", "é", "\ufeff", "0x1")


@st.composite
def csv_scans(draw: st.DrawFn, folder: Path) -> ss.Scan:
    dialect = draw(
        dialects(encodings=["UTF-8", "UTF-8", "UTF-16", "ISO-8859-1"]).filter(lambda d: d.escape is not None)
    )
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    names = "abc"[: len(kinds)]
    for index in range(draw(st.integers(1, 3))):
        value = st.sampled_from(ODD)
        row = st.tuples(*[value] * len(kinds)).map(separators(dialect)[0].join)
        rows = draw(st.lists(st.one_of(row, row, csv_texts(dialect, max_fields=4)), max_size=6))
        text = (dialect.line_sep or "\n").join(rows)
        (folder / f"{index}.csv").write_bytes(text.encode(dialect.encoding.codec, "replace"))
    options: dict[str, Any] = {
        "sep": dialect.sep if dialect.runs else dialect.sep.replace("\\", "\\\\"),
        "quote": dialect.quote or "", "escape": dialect.escape,
        "multiLine": dialect.multi_line, "encoding": dialect.encoding.name, "readBytes": draw(st.integers(1, 50)),
        "ignoreLeadingWhiteSpace": dialect.trim_leading, "maxRecordBytes": draw(st.sampled_from([8, 16, 1000])),
        "mode": draw(st.sampled_from(["PERMISSIVE", "DROPMALFORMED"])), "batchRows": draw(st.integers(1, 5)),
        "metadataColumns": "record_offset,record_length,file_name,block_id",
    }  # fmt: skip
    options |= {name: value for name, value in (("comment", dialect.comment), ("lineSep", dialect.line_sep)) if value}
    schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
    return ss.scan_csv(str(folder), f"{schema}, _corrupt_record string", **options)


@pytest.mark.slow
@FEW
@given(draw=st.data())
def test_blocks_and_projections_change_nothing_about_random_csv(draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        try:
            scan = draw.draw(csv_scans(Path(name)))
            check_block_law(scan, [draw.draw(st.integers(1, 60)), 7])
            check_projection_law(scan)
        except UsageError as error:
            if error.reason_code != "bad-option":  # a dialect that the options refuse
                raise


GARBAGE = st.lists(st.sampled_from([0, 10, 13, 34, 35, 44, 65, 92, 0xA9, 0xC3, 0xD8, 0xFE, 0xFF]), max_size=50).map(
    bytes
)


@FEW
@given(data=GARBAGE, encoding=st.sampled_from(["UTF-8", "UTF-16", "UTF-32", "US-ASCII", "ISO-8859-1"]), draw=st.data())
def test_bytes_that_make_no_sense_are_read_alike_in_every_block(
    data: bytes, encoding: str, draw: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "a").write_bytes(data)
        scans = [
            ss.scan_csv(name, "a string, b int, _corrupt_record string", multiLine=True, escape='"', encoding=encoding),
            ss.scan_csv(name, "a string, b int", multiLine=False, comment="#", encoding=encoding, maxRecordBytes=5),
            ss.scan_text(name, encoding=encoding, escape="/"),
            ss.scan_fixed(name, 3),
        ]
        scan = draw.draw(st.sampled_from(scans))
        check_block_law(scan, [draw.draw(st.integers(1, 20))])
        check_projection_law(scan)


@FEW
@given(draw=st.data(), header=st.sampled_from(["a,b", "b,a", '"a\n",b', "a"]), by_name=st.booleans())
def test_headers_are_judged_alike_in_every_block(draw: st.DataObject, header: str, by_name: bool) -> None:
    rows = draw.draw(st.lists(st.sampled_from(["1,2", '"\n",3', "4", "", "x,5"]), max_size=8))
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "1.csv").write_text("\n".join([header, *rows]), newline="")
        scan = ss.scan_csv(
            name, "a string, b int", header=True, multiLine=True, headerMapping="byName" if by_name else "byPosition"
        )
        try:
            check_block_law(scan, [1, 3, 10])
        except SchemaError as error:
            if error.reason_code != "header-mismatch" or header == "a,b":
                raise
            for block in cut_blocks(scan, 4):
                with pytest.raises(SchemaError):
                    read_block(scan, block)


def test_fail_fast_fails_in_every_plan(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n2\nx\n4\n")
    scan = ss.scan_csv(str(tmp_path), "a int", mode="FAILFAST")
    for size in range(1, 9):
        failed = 0
        for block in cut_blocks(scan, size):
            try:
                read_block(scan, block)
            except RecordError:
                failed += 1
        assert failed == 1


def _reports(tmp_path: Path) -> tuple[ss.Scan, list[BlockReport]]:
    (tmp_path / "a.txt").write_bytes(b"aa\nbb\n\ncc\ndd")
    (tmp_path / "b.txt").write_bytes(b"e\nf\n")
    (tmp_path / "c.txt").write_bytes(b"")
    scan = ss.scan_text(str(tmp_path))
    return scan, [read_block(scan, block).report for block in cut_blocks(scan, 4)]


def test_the_ledger_of_a_whole_scan_tiles_every_file(tmp_path: Path) -> None:
    scan, reports = _reports(tmp_path)
    check_ledger_law(scan, reports)
    check_ledger_law(scan, reports[::-1])


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda reports: reports[1:], "begins"),
        (lambda reports: reports[:-1], "where the last span stops"),
        (lambda reports: [*reports, reports[1]], "begins"),
        (lambda reports: [_changed(reports[0], span_stop=reports[0].span_stop + 1), *reports[1:]], "digest|begins"),
        (lambda reports: [_changed(reports[0], digest="0" * 64), *reports[1:]], "digest"),
        (lambda reports: [report for report in reports if report.block.file.name != "b.txt"], "b.txt"),
    ],
    ids=["first lost", "last lost", "one doubled", "one too long", "other bytes", "file lost"],
)
def test_a_gap_an_overlap_or_other_bytes_break_the_ledger(tmp_path: Path, mistake: Any, message: str) -> None:
    scan, reports = _reports(tmp_path)
    with pytest.raises(AssertionError, match=message):
        check_ledger_law(scan, mistake(reports))


def _changed(report: BlockReport, **changes: Any) -> BlockReport:
    return dataclasses.replace(report, **changes)
