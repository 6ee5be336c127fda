"""Files of another reader of COBOL give its rows, but for the differences that docs/cobol.md lists."""

import base64
import json
import re
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import splitscan as ss

FILES = Path(__file__).parent / "cobrix"
_OTHERS = re.compile(r"[^ -Z\\_a-~]")
_GENERATED = re.compile(r"File_Id|Record_Id|Record_Byte_Length|Seg_Id\d")


def expected(name: str) -> list[dict[str, Any]]:
    text = (FILES / name).read_text(encoding="utf-8")
    rows, place, decoder = [], 0, json.JSONDecoder(parse_float=Decimal, strict=False)
    while (place := text.find("{", place)) >= 0:
        row, place = decoder.raw_decode(text, place)
        rows.append({key: plain(value) for key, value in row.items() if not _GENERATED.fullmatch(key)})
    return rows


def plain(value: Any) -> Any:
    """A value without nulls, and without characters on which the code pages do not agree."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        value = base64.b64encode(value).decode()
    return _OTHERS.sub(" ", value).strip() if isinstance(value, str) else value


SEGMENTS = {"segmentField": "SEGMENT-ID", "redefineSegmentIdMap": "STATIC-DETAILS => C,D; CONTACTS => P"}
HEADERS: dict[str, Any] = {"recfm": "V", "improvedNullDetection": False}
KEPT = {"encoding": "ascii", "schemaRetentionPolicy": "keep_original"}
TYPES = {"floatingPointFormat": "IEEE754"}
SIGNED = {"segmentField": "SIGNATURE", "segmentFilter": "S9276511"}
UNTRIMMED = {"stringTrimmingPolicy": "none"}
MAPPINGS = {"occursMappings": '{"DETAIL1":{"A":0,"B":1},"DETAIL2":{"A":1,"B":2}}'}
BE = {"recfm": "V", "isRdwBigEndian": True, "improvedNullDetection": False}
COMPANIES = "COMPANY => 1; DEPT => 2; EMPLOYEE => 3; OFFICE => 4; CUSTOMER => 5; CONTACT => 6; CONTRACT => 7"
FAMILY = "COMPANY => DEPT,CUSTOMER; DEPT => EMPLOYEE,OFFICE; CUSTOMER => CONTACT,CONTRACT"
SHAPES = "COMPANY => C; PERSON => P; PO-BOX => B"
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "1": ("test1_copybook.cob", "test1.dat", {}),
    "1a": ("test1a_copybook.cob", "test1.dat", {"recordStartOffset": 2, "recordEndOffset": 27}),
    **{
        f"3_{policy}": ("test3_copybook.cob", "test3_none.dat", {**SIGNED, "stringTrimmingPolicy": policy})
        for policy in ("none", "left", "right", "both")
    },
    "4": ("test4_copybook.cob", "test4.dat", {"recfm": "V", "encoding": "ascii"}),
    "5": ("test5_copybook.cob", "test5.dat", HEADERS),
    "5b": ("test5_copybook.cob", "test5b.dat", BE),
    "5c": ("test5_copybook.cob", "test5.dat", {"recfm": "V", **SEGMENTS}),
    "5d": (
        "test5d_copybook.cob", "test5d.dat",
        {"recordLengthField": "RECORD-LENGTH", "rdwAdjustment": 4, "improvedNullDetection": False},
    ),
    "7": ("test7_fillers.cob", "test7.dat", {"dropGroupFillers": True}),
    "7a": ("test7_fillers.cob", "test7.dat", {}),
    "7b": ("test7_fillers.cob", "test7.dat", {"dropValueFillers": False, "dropGroupFillers": True}),
    "8p": ("test8_copybook.cob", "test8p.dat", {}),
    "8n": ("test8_copybook.cob", "test8p.dat", UNTRIMMED),
    "9_cp037": ("test9_copybook.cob", "test9.dat", {"encoding": "cp037"}),
    **{
        f"9_{page}": ("test9_copybook.cob", "test9.dat", {"encoding": page, **UNTRIMMED})
        for page in ("cp273", "cp500", "cp1140", "cp1141", "cp1148")
    },
    "10": ("test10_copybook.cob", "test10.dat", {**KEPT, "nonTerminals": "NAME,ACCOUNT-NO"}),
    "13a": ("test13a_file_header_footer.cob", "TRAN2.JUN24.DATA.dat", {"fileStartOffset": 10, "fileEndOffset": 12}),
    "13b": (
        "test13b_vrl_file_headers.cob", "COMP.DETAILS.JUN02.DATA.RDW.BE.dat",
        {**BE, "fileStartOffset": 100, "fileEndOffset": 120},
    ),
    "14": (
        "test14_copybook.cob", "COMP.DETAILS.JUL02.DATA.dat",
        {"recfm": "V", "isRdwPartOfRecordLength": True, **SEGMENTS},
    ),
    "16": (
        "test16_fix_len_segments.cob", "ENTITY.DB.AUG12.DATA.FIX.LEN.dat",
        {"segmentField": "SEGMENT_ID", "redefineSegmentIdMap": SHAPES},
    ),
    "17a": (
        "test17_hierarchical.cob", "test17a.dat",
        {"recfm": "V", "segmentField": "SEGMENT_ID", "redefineSegmentIdMap": COMPANIES},
    ),
    "17c": (
        "test17_hierarchical.cob", "test17c.dat",
        {"recfm": "V", "segmentField": "SEGMENT_ID", "redefineSegmentIdMap": COMPANIES, "segmentChildren": FAMILY},
    ),
    "19": ("test19_display_num.cob", "test19.dat", {"improvedNullDetection": False}),
    "21": ("test21_copybook.cob", "test21.dat", {**KEPT, "variableSizeOccurs": "shift_record"}),
    "24b": ("test24_copybook.cob", "test24b.dat", {**TYPES, "debug": "raw"}),
    "25": ("test25_copybook.cob", "test25.dat", {**KEPT, **MAPPINGS, "variableSizeOccurs": "shift_record"}),
    "25_2": ("test25_copybook.cob", "test25_2.dat", {**KEPT, **MAPPINGS}),
    "40": ("test24_copybook.cob", "test24b.dat", TYPES),
}  # fmt: skip
"""Their tests, and how their files are read here."""

WHOLE = {"13a": 50, "13b": 20, "14": 100, "16": 50, "17c": 4, "19": 7}
"""Rows of the files of which no rows were left out."""

DIFFERENT = {
    "4": {
        "CONTACTS.PHONE_NUMBER", "CONTACTS.CONTACT_PERSON", "STATIC_DETAILS.ADDRESS",
        "STATIC_DETAILS.TAXPAYER.TAXPAYER_STR",
    },
    "19": {"WS_AMOUNT_FRACTION"},
}  # fmt: skip
"""Columns with other values: control characters of ASCII are dropped there, and a decimal of blanks is 0."""


def differences(found: Any, wanted: Any, path: str = "") -> Iterator[str]:
    """Paths of the values that differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in {**found, **wanted}:
            yield from differences(found.get(name), wanted.get(name), f"{path}.{name}".lstrip("."))
    elif isinstance(found, float) and isinstance(wanted, Decimal):
        single = struct.unpack("f", struct.pack("f", float(wanted)))[0]
        if found not in {float(wanted), single}:
            yield path
    elif found != wanted:
        yield path


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_the_other_reader(case, engine):
    book, data, options = CASES[case]
    found = ss.scan_cobol(str(FILES / data), str(FILES / book), block_bytes=700, **options).to_arrow().to_pylist()
    wanted = expected(f"test{case}.txt")
    if case in {"13a", "7", "7a", "7b"}:
        found.sort(key=lambda row: (row.get("COMPANY_ID") or "", row["AMOUNT"]))
    assert len(found) == WHOLE.get(case, len(wanted))
    paths = {path for row, other in zip(found, wanted, strict=False) for path in differences(plain(row), other)}
    assert paths == DIFFERENT.get(case, set())
