"""Records by a copybook through whole scans: values, places, every block, what fits nothing."""

from decimal import Decimal

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.formats.decoding.contract import format_ddl
from splitscan.testing.scan_laws import check_block_law, check_projection_law

BOOK = """
       01  REC.
           05  ID       PIC 9(4) COMP.
           05  NAME     PIC X(3).
           05  AMOUNT   PIC S9(3)V99 COMP-3.
           05  ITEMS OCCURS 2.
               10  NO   PIC 9(2).
"""
ROWS = b"".join(
    number.to_bytes(2, "big") + f"R{number:02}".encode("cp037") + bytes.fromhex("12345D") + b"\xf1\xf2\xf3\xf4"
    for number in range(7)
)


def book(*items, level="05"):
    return "       01 R.\n" + "".join(f"          {level} {item}.\n" for item in items)


def codes(scan):
    return scan.rejects().to_arrow()["code"].to_pylist()


D = Decimal
VALUES = [
    ("9(3)", "F1F2F3", 123),
    ("S9(3)", "F1F2D3", -123),
    ("S9(3)", "F1F2C3", 123),
    ("S9(3)", "D1F2F3", -123),
    ("9(3)", "F1F2C3", ...),
    ("9(3)", "F1F2D3", ...),
    ("9(3)", "F140F3", ...),
    ("9(3)", "40F1F2", 12),
    ("9(3)", "404040", None),
    ("9(3)", "000000", None),
    ("9(3)", "C1C2C3", ...),
    ("S9(3) SIGN LEADING SEPARATE", "60F1F2F3", -123),
    ("S9(3) SIGN TRAILING SEPARATE", "F1F2F34E", 123),
    ("S9(3) SIGN TRAILING SEPARATE", "F1F2F3F4", ...),
    ("99V99 SIGN IS LEADING SEPARATE CHARACTER", "60F1F2F3F4", D("-12.34")),
    ("S9(5)V99 COMP-3", "0012345D", D("-123.45")),
    ("S9(5)V99 COMP-3", "0012345A", ...),
    ("S9(5)V99 COMP-3", "00123A5C", ...),
    ("9(5) COMP-3", "12345D", ...),
    ("9(4) COMP-3", "01234F", 1234),
    ("9(4) COMP-3", "91234F", ...),
    ("9(4) COMP-3U", "1234", 1234),
    ("9(4) COMP", "FFFF", 65535),
    ("S9(4) COMP", "FFFF", -1),
    ("9(8) BINARY", "FFFFFFFF", ...),
    ("9(9) COMP", "FFFFFFFF", 4294967295),
    ("9(18) COMP", "FFFFFFFFFFFFFFFF", D("18446744073709551615")),
    ("S9(18) COMP-5", "FFFFFFFFFFFFFFFE", -2),
    ("9(8) COMP-9", "01020000", 513),
    ("9(2) COMP-9", "FF", 255),
    ("S9(20) COMP", "FFFFFFFFFFFFFFFFFE", D("-2")),
    ("9(38) COMP", "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", ...),
    ("X(6)", "4040C1C24040", "AB"),
    ("X(3)", "000000", None),
    ("X(3)", "404040", ""),
    ("X(2)", "5A4F", "!|"),
    ("A(2)", "C1C2", "AB"),
    ("N(2)", "00E92603", "é☃"),
    ("9(8).9(2)", "F7F8F94BF0F94040404040", D("789.09")),
    ("9(2).9", "F14BF4", ...),
    ("9PP", "F3", 300),
    ("VPP9", "F3", D("0.003")),
    ("SPPP9(5) COMP-3", "12345D", D("-0.00012345")),
    ("Z(3)9.99", "404040F14BF2F3", D("1.23")),
    ("-9(2)", "60F1F2", -12),
    ("9(2)+", "F1F24E", 12),
    ("$$,$$9.99CR", "5B5B6BF1F2F34BF4F5C3D9", "$$,123.45CR"),
    ("X(3) COMP", "0001FF", b"\x00\x01\xff"),
]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("picture", "data", "value"), VALUES)
def test_bytes_are_the_value_that_the_picture_says(write, picture, data, value):
    data = bytes.fromhex(data)
    if picture == "9(2).9":
        data += b"\xf5"
    scan = ss.scan_cobol(write(data * 3), book(f"A PIC {picture}"))
    assert scan.to_arrow()["A"].to_pylist() == [None if value is ... else value] * 3
    assert codes(scan) == (["bad-value"] * 3 if value is ... else [])


@pytest.mark.usefixtures("engine")
def test_floats_are_those_of_mainframes_unless_an_option_says_another(write):
    path = write(bytes.fromhex("41480000C13C000000000000"))
    items = book("A COMP-1", "B COMP-2")

    def read(**options):
        return tuple(ss.scan_cobol(path, items, **options).to_arrow().to_pylist()[0].values())

    assert read() == (4.5, -3.75)
    assert read(floating_point_format="IEEE754")[0] == 12.5
    swapped = write(bytes.fromhex("000048410000000000003CC1"))
    assert ss.scan_cobol(swapped, items, floating_point_format="IBM_little_endian").to_arrow()["A"].to_pylist() == [4.5]
    huge = ss.scan_cobol(write(bytes.fromhex("7FFFFFFF") + bytes(8)), items)
    assert (huge.to_arrow()["A"].to_pylist(), codes(huge)) == ([None], ["bad-value"])


@pytest.mark.usefixtures("engine")
def test_options_say_how_texts_and_signs_are_read(write):
    def read(data, picture, **options):
        return ss.scan_cobol(write(data), book(f"A PIC {picture}"), **options).to_arrow()["A"].to_pylist()[0]

    blanks = b"\x40\xc1\x40"
    trimmed = [read(blanks, "X(3)", string_trimming_policy=policy) for policy in ("left", "right", "none", "both")]
    assert trimmed == ["A ", " A", " A ", "A"]
    assert read(bytes(3), "X(3)", improved_null_detection=False) == ""
    assert read(b"\xf1\xc2", "9(2)", strict_sign_overpunching=False) == 12
    assert read(b"\xf1\xd2", "9(2)", strict_sign_overpunching=False) is None
    assert read(b"[]", "X(2)", encoding="ascii") == "[]"
    assert read(b"1B", "S9(2)", encoding="ascii") == 12
    assert read(b"1K", "S9(2)", encoding="ascii") == -12
    assert read(b"J1", "S9(2)", encoding="ascii") == -11
    assert read(b"1J1", "S9(3)", encoding="ascii") is None
    assert read(b"\x9f", "X", ebcdic_code_page="cp1140") == "€"
    assert read(b"\xf1\xf2", "9(2)", strict_integral_precision=True) == D(12)


@pytest.mark.usefixtures("engine")
def test_groups_lists_and_redefined_bytes_are_columns(write):
    text = """
       01  REC.
           05  N        PIC 9.
           05  PAIR OCCURS 0 TO 3 TIMES DEPENDING ON N.
               10  K    PIC X.
               10  V    PIC 9(3) COMP-3.
               10  W REDEFINES V PIC X(2).
           05  FILLER   PIC X.
           05  LAST-ONE PIC X VALUE 'x. y'.
               88  IS-GOOD VALUES 'A' THRU 'C'.
    """
    pair = b"\xc1\x12\x3f"
    data = [b"\xf2" + pair * 3 + b"??" for _ in range(1)] + [b"\xf0" + pair * 3 + b"?\xc2"]
    scan = ss.scan_cobol(write(b"".join(data)), text)
    assert format_ddl(scan.schema) == "N int, PAIR array<struct<K: string, V: int, W: string>>, LAST_ONE string"
    first, second = scan.to_arrow().to_pylist()
    assert first["PAIR"] == [{"K": "A", "V": 123, "W": "\x12\x1a"}] * 2 or len(first["PAIR"]) == 2
    assert (second["PAIR"], second["LAST_ONE"]) == ([], "B")
    wrong = ss.scan_cobol(write(b"\xf7" + pair * 3 + b"??"), text)
    assert wrong.to_arrow()["PAIR"].to_pylist() == [None]
    assert "number of items from 0 to 3" in wrong.rejects().to_arrow()["reason"].to_pylist()[0]


@pytest.mark.usefixtures("engine")
def test_what_does_not_fit_is_said_with_its_bytes_and_kept(write):
    bad = bytearray(ROWS)
    bad[12 + 7] = 0xFF
    bad[12 + 9] = 0xFF
    path = write(bytes(bad))
    scan = ss.scan_cobol(path, BOOK, reject_reason_column="why", rescued_data_column="rest")
    row = scan.to_arrow().to_pylist()[1]
    assert (row["AMOUNT"], row["ITEMS"]) == (None, [{"NO": None}, {"NO": 34}])
    assert row["rest"] == f'{{"AMOUNT":"0x1234FF","ITEMS[0].NO":"0xF1FF","_file_path":"{path}"}}'
    rejects = ss.scan_cobol(path, BOOK).rejects().to_arrow().to_pylist()
    assert [(each["offset"], each["reason"]) for each in rejects] == [
        (12, "column 'AMOUNT': '0x1234FF' is no decimal(5,2)")
    ]
    with pytest.raises(ss.RecordError, match="AMOUNT"):
        ss.scan_cobol(path, BOOK, mode="FAILFAST").to_arrow()


@pytest.mark.usefixtures("engine")
def test_a_record_that_the_file_cuts_off_is_a_reject_with_its_place(write):
    scan = ss.scan_cobol(write(ROWS[:-3]), BOOK)
    last = scan.to_arrow().to_pylist()[-1]
    assert (last["NAME"], last["ITEMS"]) == ("R06", [{"NO": None}])
    (reject,) = scan.rejects().to_arrow().to_pylist()
    assert (reject["code"], reject["offset"], reject["length"]) == ("short-record", 72, 9)
    assert ss.scan_cobol(write(ROWS[:-3]), BOOK, mode="DROPMALFORMED").count() == 6


@pytest.mark.parametrize("cut", [0, 3])
def test_every_block_size_gives_the_same(write, cut):
    path = write(b"header" + ROWS[: len(ROWS) - cut] + b"the trailer")
    scan = ss.scan_cobol(path, BOOK, metadata_columns="record_offset", file_start_offset=6, file_end_offset=11)
    assert scan.count() == 7
    check_block_law(scan, [*range(1, 30), 64, 200])
    check_projection_law(scan)


def test_files_shorter_than_header_and_trailer_have_no_records(write):
    for data in (b"", b"abc", b"header" + b"the trailer", b"headerthe trail"):
        scan = ss.scan_cobol(write(data), BOOK, file_start_offset=6, file_end_offset=11)
        assert (scan.to_arrow().num_rows, scan.count()) == (0, 0)
        check_block_law(scan, [1, 2, 5, 100])


def test_bytes_like_a_byte_order_mark_are_those_of_a_record(write):
    scan = ss.scan_cobol(write(b"\xef\xbb\xbf\xf1"), book("A PIC X(3)", "B PIC 9"))
    assert scan.to_arrow()["B"].to_pylist() == [1]


def test_a_copybook_may_be_a_file_and_its_columns_may_be_wider(write):
    path = write(BOOK.encode(), "a.cob")
    scan = ss.scan_cobol(write(ROWS), path, "amount decimal(9,2), id bigint")
    assert scan.to_arrow().to_pylist()[2] == {"amount": D("-123.45"), "id": 2}
    nested = ss.scan_cobol(write(ROWS), path, pa.schema([("ITEMS", pa.list_(pa.struct([("NO", pa.decimal128(10))])))]))
    assert nested.to_arrow()["ITEMS"].to_pylist()[0] == [{"NO": 12}, {"NO": 34}]
    for schema in ("id smallint", "NAME int", "amount double", "items string", "x int", "items array<struct<x: int>>"):
        with pytest.raises(ss.UsageError, match="bad-schema"):
            ss.scan_cobol(write(ROWS), path, schema).to_arrow()
    with pytest.raises(ss.UsageError, match="recordLength leaves no room"):
        ss.scan_cobol(write(ROWS), path, record_length=11)
    with pytest.raises(ss.UsageError, match="path that can be read"):
        ss.scan_cobol(write(ROWS), "nowhere.cob")


LINE = "       01 R.\n          05 K PIC X.\n          05 V PIC 9(2).\n          05 G.\n             10 W PIC X(2).\n"


def headed(*texts, big=True):
    def header(size):
        return size.to_bytes(2, "big") + b"\0\0" if big else b"\0\0" + size.to_bytes(2, "little")

    return b"".join(header(len(text)) + text.encode("cp037") for text in texts)


TEXTS = ["A01xx", "B02", "A03y", "C", "B04zz", "A05ww"]


@pytest.mark.thin(1)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("big", [True, False])
def test_records_behind_their_lengths_are_found_from_every_block(write, big):
    path = write(b"hh" + headed(*TEXTS, big=big) + b"ttt")
    around = {"file_start_offset": 2, "file_end_offset": 3, "recfm": "V"}
    scan = ss.scan_cobol(path, LINE, metadata_columns="record_offset,record_length", **around)
    rows = scan.to_arrow().to_pylist()
    assert [(row["K"], row["V"], row["G"]["W"]) for row in rows] == [
        ("A", 1, "xx"), ("B", 2, None), ("A", 3, "y"), ("C", None, None), ("B", 4, "zz"), ("A", 5, "ww")
    ]  # fmt: skip
    assert [(row["record_offset"], row["record_length"]) for row in rows[:2]] == [(2, 9), (11, 7)]
    assert scan.count() == 6
    check_block_law(scan, [*range(1, 30), 64])
    check_projection_law(scan)
    assert ss.scan_cobol(path, LINE, is_rdw_big_endian=big, **around).to_arrow().num_rows == 6
    other = ss.scan_cobol(path, LINE, is_rdw_big_endian=not big, **around)
    assert codes(other) == ["bad-record-header"]


@pytest.mark.thin(4)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("data", "options", "code", "names"),
    [
        (headed("A01xx") + b"\0\0\0\0abc", {}, "bad-record-header", ["A", None]),
        (headed("A01xx") + b"\0\7\4\0abc", {}, "bad-record-header", ["A", None]),
        (headed("A01xx") + b"\0\2\0\0\xc1\xf0", {"rdw_adjustment": -4}, "bad-record-header", [None]),
        (headed("A01xx") + b"\0\7\0\0\xc1\xf0", {}, "short-record", ["A", "A"]),
        (headed("A01xx") + b"\xff\xff\0\0" + b"\xc1", {}, "short-record", ["A", "A"]),
        (headed("A01xx") + b"\0\7", {}, "short-record", ["A", None]),
        (b"\0\7\0\0\xc1\xf0\xf1", {"is_rdw_part_of_record_length": True}, None, ["A"]),
        (b"\0\4\0\0", {"is_rdw_part_of_record_length": True}, None, [None]),
    ],
)
def test_lengths_that_are_none_end_a_file_with_a_reject(write, data, options, code, names):
    scan = ss.scan_cobol(write(data), LINE, recfm="V", **options)
    found = scan.to_arrow()["K"].to_pylist()
    if "rdw_adjustment" in options:
        found = found[-1:]
    assert (found, codes(scan)[-1:]) == (names, [code] if code else [])
    check_block_law(scan, [*range(1, 14)])


def test_what_follows_a_header_that_is_none_is_passed_in_bounded_memory(write):
    path = write(headed("A01xx") + bytes(300_000) + headed("A01xx"))
    scan = ss.scan_cobol(path, LINE, recfm="V", max_record_bytes=1000, read_bytes=4096)
    assert (scan.to_arrow()["K"].to_pylist(), codes(scan)) == (["A"], ["record-too-long"])
    check_block_law(scan, [70_000, 200_000])
    long = ss.scan_cobol(write(headed("A01xx", "B02" + "x" * 60_000, "A03")), LINE, recfm="V", max_record_bytes=1000)
    assert (long.to_arrow()["V"].to_pylist(), codes(long)) == ([1, 3], ["record-too-long"])
    check_block_law(long, [500, 1_000, 30_000])


@pytest.mark.thin(2)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("recfm", ["V", "F", "D"])
def test_records_of_other_kinds_are_no_rows(write, recfm):
    lines = {"recfm": "D", "encoding": "ascii"}
    data = {
        "V": (headed(*TEXTS), {"recfm": "V"}),
        "F": ("".join(text.ljust(5) for text in TEXTS).encode("cp037"), {"recfm": "FB"}),
        "D": ("\r\n".join(TEXTS).encode(), lines),
    }
    path, options = write(data[recfm][0]), data[recfm][1]
    for kinds, found in (("A", [1, 3, 5]), ("B,C", [2, None, 4]), ("X", [])):
        scan = ss.scan_cobol(path, LINE, segment_field="K", segment_filter=kinds, **options)
        assert scan.to_arrow()["V"].to_pylist() == found
        assert scan.count() == len(found)
        check_block_law(scan, [*range(1, 12), 40])
    parts = ss.scan_cobol(path, LINE, segment_field="k", redefine_segment_id_map="G => A", **options)
    groups = parts.to_arrow()["G"].to_pylist()
    assert [group is None for group in groups] == [False, True, False, True, True, False]
    check_projection_law(parts)


def test_numbers_of_segments_are_refused_since_all_before_a_record_decides_them(write):
    # Two files that are the same from byte 5 on: Seg_Id1 of their last records would be 1 and 2.
    alone, second = b"Aroot" + b"Bpart", b"Bpart" + b"Bpart"
    book = "       01 R.\n          05 K PIC X.\n          05 T PIC X(4).\n"
    ends = [
        ss.scan_cobol(write(data), book, encoding="ascii", block_bytes=5).to_arrow().to_pylist()[-1]
        for data in (alone, second)
    ]
    assert ends[0] == ends[1] == {"K": "B", "T": "part"}
    for name in ("segment_id_level0", "segmentIdLevel1", "segment_id_root", "generate_record_id"):
        with pytest.raises(ss.UsageError, match="metadataColumns=record_offset"):
            ss.scan_cobol(write(alone), book, **{name: "A"})


@pytest.mark.usefixtures("engine")
def test_lines_of_ebcdic_end_where_an_option_says(write):
    data = "\x85".join(TEXTS).encode("cp037")
    scan = ss.scan_cobol(write(data), LINE, recfm="D", line_sep="\x85")
    assert scan.to_arrow()["V"].to_pylist() == [1, 2, 3, None, 4, 5]
    check_block_law(scan, [*range(1, 12), 40])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"recfm": "VBS"}, "F, FB, V, VB or D"),
        ({"is_rdw_big_endian": True}, "recfm=V"),
        ({"recfm": "V", "record_length": 9}, "records of a fixed length"),
        ({"recfm": "D"}, "lines of EBCDIC need lineSep"),
        ({"line_sep": "x"}, "recfm=D"),
        ({"recfm": "D", "encoding": "ascii", "file_start_offset": 1}, "no header"),
        ({"segment_filter": "A"}, "segmentField"),
        ({"segment_field": "G", "segment_filter": "A"}, "text or a whole number"),
        ({"segment_field": "K", "redefine_segment_id_map": "V => A"}, "groups that are columns"),
        ({"segment_field": "K", "redefine_segment_id_map": "V"}, "COMPANY => 1"),
        ({"encoding": "utf-8"}, "code page"),
        ({"recfm": "D", "line_sep": "☃"}, "no such characters"),
    ],
)
def test_options_that_contradict_each_other_are_refused(write, options, said):
    with pytest.raises(ss.UsageError, match=said):
        ss.scan_cobol(write(b""), LINE, **options)
