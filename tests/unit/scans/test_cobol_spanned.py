"""Records of several segments through whole scans: every cut, missing segments, files that end, limits, options."""

import random
from itertools import product

import pytest
from tests.cuts import some
from tests.unit.scans.test_cobol import codes

import splitscan as ss
from splitscan.testing.scan_laws import check_block_law, check_projection_law

BOOK = """
       01 R.
          05 V PIC 9(2).
          05 T PIC X(30).
          05 K PIC X.
"""
ONLY, FIRST, LAST, MIDDLE = range(4)
SAID = "a record has a first segment, those in the middle, and a last one"


def segment(part, text, more=0):
    return bytes([0, len(text) + more, part, 0]) + text.encode()


def spanned(*texts, more=0):
    """A record of so many segments."""
    parts = [ONLY] if len(texts) == 1 else [FIRST, *[MIDDLE] * (len(texts) - 2), LAST]
    return b"".join(segment(part, text, more) for part, text in zip(parts, texts, strict=True))


def scan_of(path, book=BOOK, **options):
    return ss.scan_cobol(path, book, recfm="V", encoding="ascii", **options)


def values(scan):
    return [(row["V"], row["T"]) for row in scan.to_arrow().to_pylist()]


@pytest.mark.thin(2)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("more", [0, 4])
def test_segments_are_one_record_from_every_cut(write, more):
    none = "" if more else "0"  # a length of 0 is one of the other byte order
    records = [("0", "1ab", "c"), ("02x",), ("03", none), (none, none, "0", "4" + "y" * 30 + "k"), ("05z", "zz")]
    records[3] = records[3] if more else ("0", "4" + "y" * 30 + "k")
    data = b"".join(spanned(*texts, more=more) for texts in records)
    around = {"file_start_offset": 2, "file_end_offset": 3, "is_rdw_part_of_record_length": bool(more)}
    scan = scan_of(write(b"hh" + data + b"ttt"), metadata_columns="record_offset,record_length", **around)
    assert values(scan) == [(1, "abc"), (2, "x"), (3, none or None), (4, "y" * 30), (5, "zzz")]
    rows = scan.to_arrow().to_pylist()
    assert [row["record_offset"] for row in rows[:3]] == [2, 19, 26]
    assert sum(row["record_length"] for row in rows) == len(data)
    assert (codes(scan), scan.count()) == ([], 5)
    check_block_law(scan, [*range(1, len(data) + 6)])
    check_projection_law(scan)
    kinds = scan_of(write(b"hh" + data + b"ttt"), segment_field="K", segment_filter="k", **around)
    assert (values(kinds), kinds.count()) == ([(4, "y" * 30)], 1)  # the item is in the last segment
    check_block_law(kinds, [*range(1, len(data) + 6)])


@pytest.mark.thin(6)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ([(FIRST, "01"), (ONLY, "02"), (ONLY, "03")], [None, (2, None), (3, None)]),
        ([(FIRST, "01"), (FIRST, "02"), (LAST, "a")], [None, (2, "a")]),
        ([(LAST, "01"), (ONLY, "02")], [None, (2, None)]),
        ([(LAST, "01"), (LAST, "01"), (ONLY, "02")], [None, None, (2, None)]),
        ([(MIDDLE, "01"), (MIDDLE, "x"), (LAST, "y"), (ONLY, "02")], [None, (2, None)]),
        ([(MIDDLE, "01"), (FIRST, "02"), (LAST, "a")], [None, (2, "a")]),
        ([(FIRST, "01"), (MIDDLE, "x"), (ONLY, "02")], [None, (2, None)]),
        ([(FIRST, "01"), (LAST, "x"), (MIDDLE, "y"), (LAST, "z")], [(1, "x"), None]),
    ],
)
def test_segments_that_are_no_record_are_one_reject_and_reading_goes_on(write, parts, found):
    data = b"".join(segment(*part) for part in parts)
    scan = scan_of(write(data))
    assert values(scan) == [each or (None, None) for each in found]
    assert codes(scan) == ["missing-segment"] * found.count(None)
    assert scan.count() == len(found)
    rejects = scan.rejects().to_arrow().to_pylist()
    assert {reject["reason"] for reject in rejects} == {SAID}
    for reject in rejects:
        assert reject["raw"] == data[reject["offset"] : reject["offset"] + reject["length"]]
    check_block_law(scan, [*range(1, len(data) + 1)])
    dropped = scan_of(write(data), mode="DROPMALFORMED")
    assert values(dropped) == [each for each in found if each]


@pytest.mark.usefixtures("engine")
def test_a_file_that_ends_inside_of_a_record_ends_with_one_reject(write):
    record = spanned("0", "1ab", "c")
    data = spanned("07", "q") + record
    for size in some(range(len(data) - len(record) + 1, len(data))):
        scan = scan_of(write(data[:size]))
        assert (values(scan)[0], codes(scan), scan.count()) == ((7, "q"), ["short-record"], 2)
        (reject,) = scan.rejects().to_arrow().to_pylist()
        assert reject["raw"] == data[len(data) - len(record) : size]
        check_block_law(scan, [*range(1, size + 1)])
    lost = scan_of(write(data + segment(FIRST, "08") + b"\0\0\0\0" + record))
    assert codes(lost) == ["missing-segment", "bad-record-header"]
    check_block_law(lost, [*range(1, 60)])


@pytest.mark.thin(4)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("header", "options"),
    [
        (b"\0\3\1\0", {"is_rdw_big_endian": False}),
        (b"\0\3\1\1", {}),
        (b"\0\3\4\0", {}),
        (b"\1\0\3\1", {}),
        (b"\0\1\3\0", {"recfm": "VB"}),
    ],
)
def test_other_headers_are_none_of_segments(write, header, options):
    data = header + b"01a" + segment(LAST, "02")
    data = (b"\0" + bytes([len(data)]) + b"\0\0" + data) if "recfm" in options else data
    scan = ss.scan_cobol(write(data), BOOK, encoding="ascii", **{"recfm": "V", **options})
    assert codes(scan) == ["bad-record-header"]
    check_block_law(scan, [*range(1, 20)])


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
def test_segments_without_an_end_are_passed_in_bounded_memory(write):
    endless = segment(FIRST, "01") + segment(MIDDLE, "x" * 200) * 2_000
    limits = {"max_record_bytes": 1_000, "read_bytes": 4_096}
    for rest, found in (
        (segment(LAST, "y") + spanned("02", "z"), ["record-too-long"]),
        (spanned("02", "z"), ["record-too-long"]),
        (spanned("02", "z" * 30) + segment(MIDDLE, "x" * 200) * 9, ["record-too-long"] * 2),
        (b"\0\0\0\0", ["record-too-long", "bad-record-header"]),
        (b"", ["record-too-long"]),
    ):
        scan = scan_of(write(endless + rest), **limits)
        assert codes(scan) == found
        assert [value for value, _ in values(scan) if value is not None] == [2] * (b"02" in rest)
        check_block_law(scan, [50_000, 100_001, 407_999])


@pytest.mark.thin(3)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("most", range(6, 24, 3))
def test_a_limit_is_the_same_at_every_cut(write, most):
    data = b"".join([
        spanned("01", "a"), spanned("02abcd"), segment(FIRST, "03ab"), spanned("04", "abcdef", "a"),
        segment(MIDDLE, "05"), segment(LAST, "x"), spanned("06"),
    ])  # fmt: skip
    scan = scan_of(write(data), max_record_bytes=most)
    check_block_law(scan, [*range(1, len(data) + 1)])
    check_block_law(scan_of(write(data), max_record_bytes=most, read_bytes=5), [*range(1, len(data) + 1, 4)])


def test_items_of_lists_may_be_in_any_segment(write):
    book = (
        BOOK + "          05 N PIC 9.\n          05 L OCCURS 0 TO 3 DEPENDING ON N PIC X(2).\n          05 Z PIC X.\n"
    )
    text = "01" + "t" * 30 + "k2aabbz"
    for engine, first, second in product(("kernel", "reference"), (1, 20, 33, 35), (36, 38)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SPLITSCAN_ENGINE", engine)
            data = spanned(text[:first], text[first:second], text[second:]) + spanned(text)
            scan = scan_of(write(data), book, variable_size_occurs="shift_record")
            one, other = scan.to_arrow().to_pylist()
            assert one == other
            assert (one["L"], one["Z"]) == (["aa", "bb"], "z")


def test_random_segments_give_the_same_at_every_cut_in_both_engines(write, monkeypatch):
    for seed in some(range(30)):
        draw = random.Random(seed)
        parts = draw.choices(range(4), weights=[2, 3, 3, 2], k=draw.randrange(1, 25))
        texts = [f"{draw.randrange(100):02}" + "x" * draw.randrange(4) for _ in parts]
        data = b"".join(segment(*each) for each in zip(parts, texts, strict=True))
        path, found = write(data[: len(data) - draw.choice([0, 0, 3])]), []
        most = draw.choice([100_000, draw.randrange(4, 40)])
        for engine in ("kernel", "reference"):
            monkeypatch.setenv("SPLITSCAN_ENGINE", engine)
            scan = scan_of(path, rescued_data_column="_rescued", max_record_bytes=most)
            found.append((scan.to_arrow().to_pylist(), scan.rejects().to_arrow().to_pylist()))
            check_block_law(scan, draw.sample(range(1, 90), 4))
        assert found[0] == found[1]
