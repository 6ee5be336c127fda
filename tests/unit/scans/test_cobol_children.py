"""Records with children: every cut, both engines, records without a parent, damage, options."""

import random
from itertools import pairwise

import pytest
from tests.cuts import some
from tests.unit.scans.test_cobol import codes

import splitscan as ss
from splitscan.formats.decoding.contract import format_ddl
from splitscan.testing.scan_laws import check_block_law, check_projection_law

BOOK = """
       01 R.
          05 K PIC X.
          05 A.
             10 X PIC X(2).
          05 B REDEFINES A.
             10 Y PIC 9(2).
          05 C REDEFINES A.
             10 N PIC 9.
             10 Z OCCURS 0 TO 3 DEPENDING ON N PIC X.
          05 D REDEFINES A.
             10 W PIC X(4).
"""
KINDS = {
    "encoding": "ascii", "segment_field": "K", "redefine_segment_id_map": "A => a; B => b; C => c,e; D => d",
    "segment_children": "A => B,D; B => C",
}  # fmt: skip


def headed(*texts):
    return b"".join(len(text).to_bytes(2, "big") + b"\0\0" + text.encode() for text in texts)


def a(x, *lists):
    return {"K": "a", "A": {"X": x, **dict(zip("BD", lists, strict=True))}}


def b(y, *lists):
    return {"Y": y, "C": [{"N": len(items), "Z": items or None} for items in lists]}


FAMILIES = [
    ("a1", [], []),
    ("a2", [b(1, ["p"], ["q", "r", "s"]), b(2)], [{"W": "w1"}, {"W": "long"}]),
    ("a3", [b(3, ["t"])], []),
    ("a4", [], [{"W": "w2"}]),
]
TEXTS = ["aa1", "aa2", "b01", "c1p", "e3qrs", "dw1", "b02", "dlong", "aa3", "b03", "c1t", "aa4", "dw2"]


def read(scan):
    rows = scan.to_arrow().to_pylist()
    for row in rows:
        for each in (row["A"] or {}).get("B", []):
            for child in each["C"]:
                child["Z"] = child["Z"] or None
    return rows


@pytest.mark.thin(3)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("recfm", ["V", "F", "field"])
def test_records_after_a_root_are_lists_in_it(write, recfm):
    options = dict(KINDS)
    if recfm == "F":
        data = "".join(text.ljust(5) for text in TEXTS).encode()
    elif recfm == "V":
        data, options["recfm"] = headed(*TEXTS), "V"
    else:
        data = "".join(f"{text[0]}{len(text)}{text[1:]}" for text in TEXTS).encode()
        options |= {"record_length_field": "L", "rdw_adjustment": 1}
    book = BOOK.replace("K PIC X.", "K PIC X.\n          05 L PIC 9.") if recfm == "field" else BOOK
    scan = ss.scan_cobol(write(b"h" + data + b"tt"), book, file_start_offset=1, file_end_offset=2, **options)
    assert format_ddl(scan.schema).replace("L int, ", "") == (
        "K string, A struct<X: string, B: array<struct<Y: int, C: array<struct<N: int, Z: array<string>>>>>, "
        "D: array<struct<W: string>>>"
    )
    assert [{"K": row["K"], "A": row["A"]} for row in read(scan)] == [a(*family) for family in FAMILIES]
    assert codes(scan) == []
    assert scan.count() == 4
    check_block_law(scan, [*range(1, len(data) + 2)])
    check_projection_law(scan)
    offsets = ss.scan_cobol(write(b"h" + data + b"tt"), book, metadata_columns="record_offset,record_length",
                            file_start_offset=1, file_end_offset=2, **options).to_arrow().to_pylist()  # fmt: skip
    places = [(row["record_offset"], row["record_length"]) for row in offsets]
    assert places[0][0] == 1
    assert sum(length for _, length in places) == len(data)
    assert all(start + length == after for (start, length), (after, _) in pairwise(places))


@pytest.mark.thin(6)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("texts", "found", "reasons"),
    [
        (["b01", "c1p", "aa1"], [None, "1"], ["nothing before it begins a record"]),
        (["b01"], [None], ["nothing before it begins a record"]),
        (["aa1", "c1p"], ["1"], ["column 'K[1]': '0x63' is no child of a segment before it"]),
        (["aa1", "b01", "x??", "dxx"], ["1"], ["column 'K[2]': '0x78' is no child of a segment before it"]),
        (["aa1", "b01", " "], ["1"], ["column 'K[2]': '0x20' is no child of a segment before it"]),
        (["aa1", "b01", "aa2", "c1p", "bxx"], ["1", "2"], ["column 'K[1]': '0x63' is no child of a segment before it"]),
        (["aa1", "bxx", "aa2"], ["1", "2"], ["column 'A.B[0].Y': '0x7878' is no int"]),
        (["aa1", "b01", "c7p"], ["1"], ["column 'A.B[0].C[0].Z': '0x37' is no number of items from 0 to 3"]),
        (["aa1", "c1p", "bxx"], ["1"], ["column 'K[1]': '0x63' is no child of a segment before it"]),
    ],
)
def test_records_that_have_no_parent_are_told_of(write, texts, found, reasons):
    scan = ss.scan_cobol(write(headed(*texts)), BOOK, recfm="V", **KINDS)
    assert [row["A"] and row["A"]["X"][1:] for row in scan.to_arrow().to_pylist()] == found
    assert scan.rejects().to_arrow()["reason"].to_pylist() == reasons
    check_block_law(scan, [*range(1, len(headed(*texts)) + 1)])
    kept = ss.scan_cobol(write(headed(*texts)), BOOK, recfm="V", rescued_data_column="_rescued", **KINDS)
    assert [text is not None for text in kept.to_arrow()["_rescued"].to_pylist()].count(True) == (
        0 if texts[0][0] == "b" else 1
    )
    check_block_law(kept, [*range(1, len(headed(*texts)) + 1)])


@pytest.mark.thin(4)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("end", "found"),
    [
        (b"\0\0\0\0abc", ["bad-record-header"]),
        (b"\0\7\1\0abc", ["bad-record-header"]),
        (b"\0\7\0\0b", ["short-record"]),
        (b"\0\7", ["short-record"]),
        (b"\0\3\0\0aa", ["short-record"]),
    ],
)
def test_a_record_that_the_file_cuts_off_is_no_child(write, end, found):
    scan = ss.scan_cobol(write(headed("aa1", "b01", "aa2", "b02") + end), BOOK, recfm="V", **KINDS)
    rows = scan.to_arrow().to_pylist()
    assert [row["A"]["X"] for row in rows[:2]] == ["a1", "a2"]
    assert [len(row["A"]["B"]) for row in rows[:2]] == [1, 1]
    assert (len(rows), scan.count(), codes(scan)) == (3, 3, found)
    check_block_law(scan, [*range(1, 40)])


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
def test_a_root_with_too_many_children_is_passed_in_bounded_memory(write):
    many = headed("aa1", *["b01", "c1p"] * 5_000, "aa2", "b02")
    scan = ss.scan_cobol(write(many), BOOK, recfm="V", max_record_bytes=1_000, read_bytes=4_096, **KINDS)
    assert ([row["A"]["X"] for row in scan.to_arrow().to_pylist()], codes(scan)) == (["a2"], ["record-too-long"])
    check_block_law(scan, [20_000, 30_000, 69_990])
    long = headed("aa1", "d" + "w" * 20_000, "aa2", "b02", "aa3" + "x" * 9_000, "aa4")
    scan = ss.scan_cobol(write(long), BOOK, recfm="V", max_record_bytes=1_000, read_bytes=4_096, **KINDS)
    assert [row["A"]["X"] for row in scan.to_arrow().to_pylist()] == ["a2", "a4"]
    assert codes(scan) == ["record-too-long"] * 2
    check_block_law(scan, [5_000, 15_000, 20_020, 25_000])


def test_random_files_give_the_same_at_every_cut_in_both_engines(write, monkeypatch):
    for seed in some(range(20)):
        draw = random.Random(seed)
        kinds = draw.choices("aabbbccedx", k=draw.randrange(1, 25))
        texts = [kind + "".join(draw.choices("012xy", k=draw.randrange(5))) for kind in kinds]
        path, found = write(headed(*texts)), []
        for engine in ("kernel", "reference"):
            monkeypatch.setenv("SPLITSCAN_ENGINE", engine)
            scan = ss.scan_cobol(path, BOOK, recfm="V", rescued_data_column="_rescued", **KINDS)
            found.append((scan.to_arrow().to_pylist(), scan.rejects().to_arrow().to_pylist()))
            check_block_law(scan, draw.sample(range(1, 90), 4))
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"segment_children": "A => B; B => C"}, "one group is no child of another"),
        ({"segment_children": "A => B,D; B => C; C => A"}, "one group is no child of another"),
        ({"segment_children": "A => D; B => C; C => B"}, "no group is in itself"),
        ({"segment_children": "A => B,D; D => C; B => C"}, "the child of one other"),
        ({"segment_children": "A => B,D,E; B => C"}, "the child of one other"),
        ({"segment_children": "A"}, "COMPANY => 1"),
        ({"redefine_segment_id_map": ""}, "one group is no child of another"),
        ({"redefine_segment_id_map": "A => a; B => b; C => c; D => d; E => e"}, "groups that are columns"),
        ({"recfm": "VB"}, "recfm=F, FB and V"),
        ({"recfm": "D"}, "recfm=F, FB and V"),
        ({"segment_filter": "a"}, "all kinds of records"),
        ({"segment_field": None}, "segmentField"),
        ({"variable_size_occurs": "shift_record"}, "max_size|REDEFINES"),
        ({"record_length": 9}, "records of a fixed length|leaves no room"),
    ],
)
def test_what_is_no_hierarchy_is_refused(write, options, said):
    options = {name: value for name, value in (KINDS | options).items() if value is not None}
    with pytest.raises(ss.UsageError, match=said):
        ss.scan_cobol(write(b""), BOOK, **options)
