"""Records whose lengths are in an item, and those that are as long as their lists: every cut, damage, options."""

import pytest

import splitscan as ss
from splitscan.formats.decoding.contract import format_ddl
from splitscan.testing.scan_laws import check_block_law, check_projection_law

LENGTH = "       01 R.\n          05 K PIC X.\n          05 LEN PIC 9(2).\n          05 T PIC X(9).\n"
LISTS = """
       01 R.
          05 N PIC 9.
          05 G OCCURS 0 TO 2 DEPENDING ON N.
             10 M PIC 9.
             10 T OCCURS 0 TO 3 DEPENDING ON M PIC X.
          05 Z PIC X(2).
"""


def codes(scan):
    return scan.rejects().to_arrow()["code"].to_pylist()


@pytest.mark.thin(3)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("said", "add", "numbers"),
    [
        ("LEN", 0, [5, 3, 12, 4]),
        ("len", 0, [5, 3, 12, 4]),
        ("@LEN - 2", 0, [7, 5, 14, 6]),
        ("LEN * 2 + 1", 0, [2, 1, None, None]),
        ("LEN", 3, [2, 0, 9, 1]),
    ],
)
def test_an_item_says_how_long_a_record_is(write, said, add, numbers):
    texts = ["ab", "", "cdefghijk", "l"]
    rows = [(number, text) for number, text in zip(numbers, texts, strict=True) if number is not None]
    data = b"".join(f"A{number:02}{text}".encode() for number, text in rows)
    options = {"encoding": "ascii", "record_length_field": said, "rdw_adjustment": add}
    scan = ss.scan_cobol(
        write(b"h" + data + b"tt"), LENGTH, file_start_offset=1, file_end_offset=2, **options,
        metadata_columns="record_offset,record_length",
    )  # fmt: skip
    found = scan.to_arrow().to_pylist()
    assert [(row["LEN"], row["T"] or "") for row in found] == rows
    assert codes(scan) == []
    assert scan.count() == len(rows)
    check_block_law(scan, [*range(1, 30)])
    check_projection_law(scan)
    around = ss.scan_cobol(
        write(b"".join(f"<A{number:02}{text}>".encode() for number, text in rows)), LENGTH, **options,
        record_start_offset=1, record_end_offset=1,
    )  # fmt: skip
    assert [row["LEN"] for row in around.to_arrow().to_pylist()] == [number for number, _ in rows]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("data", "found", "values"),
    [
        (b"A03A99ab", ["short-record"], [3, 99]),
        (b"A03Axxab", ["bad-record-header"], [3, None]),
        (b"A03A02ab", ["bad-record-header"], [3, None]),
        (b"A03A0", ["short-record"], [3, None]),
    ],
)
def test_what_says_no_length_ends_a_file_with_a_reject(write, data, found, values):
    scan = ss.scan_cobol(write(data), LENGTH, encoding="ascii", record_length_field="LEN")
    assert (codes(scan), scan.to_arrow()["LEN"].to_pylist()) == (found, values)
    check_block_law(scan, [*range(1, 9)])


@pytest.mark.usefixtures("engine")
def test_a_text_says_by_a_map_how_long_a_record_is(write):
    path = write(b"A01B02xxA03C04yyyy")
    scan = ss.scan_cobol(
        path, LENGTH, encoding="ascii", record_length_field="K", record_length_map={"A": 3, "B": 5, "_": 7}
    )
    assert scan.to_arrow()["T"].to_pylist() == [None, "xx", None, "yyyy"]
    check_block_law(scan, [*range(1, 19)])
    kinds = ss.scan_cobol(
        path, LENGTH, encoding="ascii", record_length_field="K", record_length_map='{"A": 3, "B": 5}',
        segment_field="K", segment_filter="B",
    )  # fmt: skip
    assert (kinds.to_arrow()["LEN"].to_pylist(), codes(kinds)) == ([2, None], ["bad-record-header"])
    check_block_law(kinds, [*range(1, 19)])


def test_records_of_any_length_are_passed_in_bounded_memory(write):
    book = "       01 R.\n          05 LEN PIC 9(6).\n          05 T PIC X(3).\n"
    data = b"000009abc" + b"200000" + b"x" * 199_994 + b"000009def" + b"000009ghi"
    scan = ss.scan_cobol(
        write(data), book, encoding="ascii", record_length_field="LEN", max_record_bytes=1000, read_bytes=4096
    )
    assert (scan.to_arrow()["T"].to_pylist(), codes(scan)) == (["abc", "def", "ghi"], ["record-too-long"])
    check_block_law(scan, [50_000, 70_000])


def lists(*rows):
    """Records whose lists have only the items that there are."""
    return "".join(f"{len(row)}{''.join(f'{len(items)}{items}' for items in row)}z{place % 10}"
                   for place, row in enumerate(rows))  # fmt: skip


ROWS = [["ab", "c"], [], [""], ["abc", "def"], ["", "x"]]


@pytest.mark.thin(2)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("recfm", ["F", "V", "VB", "D"])
def test_lists_have_only_the_items_that_there_are(write, recfm):
    inner = [lists(row) for row in ROWS]
    headed = b"".join(len(text).to_bytes(2, "big") + b"\0\0" + text.encode() for text in inner)
    data = {
        "F": "".join(inner).encode(), "D": "\n".join(inner).encode(), "V": headed,
        "VB": len(headed).to_bytes(2, "big") + b"\0\0" + headed,
    }[recfm]  # fmt: skip
    scan = ss.scan_cobol(write(data), LISTS, encoding="ascii", variable_size_occurs="shift_record", recfm=recfm)
    rows = scan.to_arrow().to_pylist()
    assert [["".join(items["T"]) for items in row["G"]] for row in rows] == ROWS
    assert [row["Z"] for row in rows] == ["z0"] * 5
    assert codes(scan) == []
    check_block_law(scan, [*range(1, 40)])
    check_projection_law(scan)
    assert ss.scan_cobol(write(data), LISTS, "Z string", encoding="ascii", variable_size_occurs="shift_record",
                         recfm=recfm).to_arrow()["Z"].to_pylist() == ["z0"] * 5  # fmt: skip


@pytest.mark.thin(4)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("data", "found", "rows"),
    [
        (b"0z07z0", ["bad-record-header"], 2),
        (b"0z019z0", ["bad-record-header"], 2),
        (b"0z012a", ["short-record"], 2),
        (b"0z0", [], 1),
        (b"", [], 0),
    ],
)
def test_numbers_of_items_that_cannot_be_end_a_file_with_a_reject(write, data, found, rows):
    scan = ss.scan_cobol(write(data), LISTS, encoding="ascii", variable_size_occurs="shift_record")
    assert (codes(scan), scan.to_arrow().num_rows) == (found, rows)
    check_block_law(scan, [*range(1, 9)])


@pytest.mark.usefixtures("engine")
def test_in_records_behind_their_lengths_such_a_number_is_one_bad_value(write):
    data = b"".join(len(text).to_bytes(2, "big") + b"\0\0" + text for text in (b"7xxz1", b"0z2"))
    scan = ss.scan_cobol(write(data), LISTS, encoding="ascii", variable_size_occurs="shift_record", recfm="V")
    assert (codes(scan), scan.to_arrow()["Z"].to_pylist()) == (["bad-value"], [None, "z2"])


@pytest.mark.usefixtures("engine")
def test_items_are_shown_as_bytes_and_groups_as_texts(write):
    book = "       01 R.\n          05 A PIC 9(2) OCCURS 2.\n          05 G.\n             10 B PIC S9(3) COMP-3.\n"
    path = write(b"\xf1\xf2\xf3\xff\x12\x3d")

    def read(**options):
        scan = ss.scan_cobol(path, book, **options)
        return format_ddl(scan.schema), list(scan.to_arrow().to_pylist()[0].values())

    assert read(debug="hex") == (
        "A array<int>, A_debug array<string>, G struct<B: int, B_debug: string>",
        [[12, None], ["F1F2", "F3FF"], {"B": -123, "B_debug": "123D"}],
    )
    assert read(debug="raw")[1][1] == [b"\xf1\xf2", b"\xf3\xff"]
    assert read(debug="string")[1][1][0] == "12"
    assert read(non_terminals="g")[0] == "A array<int>, G struct<B: int>, G_NT string"


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
def test_a_list_of_a_hundred_thousand_items_has_those_that_there_are(write):
    book = "       01 R.\n          05 N PIC 9(6).\n          05 A OCCURS 0 TO 100000 DEPENDING ON N PIC X.\n"
    texts = ["000002ab", "100000" + "c" * 100_000, "100001", "999999", "000003a"]
    data = "".join(text.ljust(100_006) for text in texts).encode()
    scan = ss.scan_cobol(write(data), book, encoding="ascii")
    lengths = [None if items is None else len(items) for items in scan.to_arrow()["A"].to_pylist()]
    assert (lengths, codes(scan)) == ([2, 100_000, None, None, 3], ["bad-value"] * 2)
    moved = ss.scan_cobol(
        write("".join(texts[:2]).encode()), book, encoding="ascii", variable_size_occurs="shift_record"
    )
    assert [len(items) for items in moved.to_arrow()["A"].to_pylist()] == [2, 100_000]


@pytest.mark.slow
def test_a_copybook_of_ten_thousand_items_is_read_in_bounded_time(write):
    items = "".join(f"          05 F{number} PIC 9(3).\n" for number in range(10_000))
    scan = ss.scan_cobol(write(b"\xf1\xf2\xf3" * 20_000), "       01 R.\n" + items, "F9999 int, F0 int")
    assert scan.to_arrow().to_pylist() == [{"F9999": 123, "F0": 123}] * 2


@pytest.mark.parametrize(
    ("book", "options", "said"),
    [
        (LENGTH, {"record_length_field": "NO"}, "recordLengthField names"),
        (LENGTH, {"record_length_field": "LEN / 2"}, "recordLengthField names"),
        (LENGTH, {"record_length_field": "LEN", "recfm": "V"}, "recfm=F"),
        (LENGTH, {"record_length_field": "LEN", "record_length": 20}, "records of a fixed length"),
        (LENGTH, {"record_length_map": '{"A": 1}'}, "needs recordLengthField"),
        (LENGTH, {"record_length_map": '{"A": 0}', "record_length_field": "K"}, "positive whole numbers"),
        (LENGTH, {"record_length_map": "A", "record_length_field": "K"}, "write it like"),
        (LENGTH, {"non_terminals": "K"}, "name groups"),
        (LENGTH, {"occurs_mappings": '{"K": {"A": 1}}'}, "name groups"),
        (LENGTH, {"occurs_mappings": '{"K": {"A": "x"}}'}, "whole numbers"),
        (LISTS, {"variable_size_occurs": "shift_record", "segment_field": "Z"}, "in front of lists"),
        (
            LISTS + "          05 Y REDEFINES Z.\n             10 Q PIC 9.\n"
            "             10 X OCCURS 0 TO 2 DEPENDING ON Q PIC X.\n",
            {"variable_size_occurs": "shift_record"}, "REDEFINES have one length",
        ),
    ],
)  # fmt: skip
def test_options_without_a_meaning_are_refused(write, book, options, said):
    with pytest.raises(ss.UsageError, match=said):
        ss.scan_cobol(write(b""), book, **options)
