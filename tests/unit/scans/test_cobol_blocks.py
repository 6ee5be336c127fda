"""Records in blocks with lengths in front, through whole scans: every cut, both byte orders, damage, index."""

import gzip
import random
from itertools import accumulate

import pytest
from tests.cuts import some
from tests.unit.scans.test_cobol import LINE, TEXTS, codes, headed

import splitscan as ss
from splitscan.formats.cobol.headers import BlockedRecords
from splitscan.testing.scan_laws import check_block_law, check_projection_law


def block(*records, big=True, counts_itself=False, extended=False):
    """Records in a block."""
    data = b"".join(records)
    number = len(data) + 4 * counts_itself
    if extended:
        header = (number | 1 << 31).to_bytes(4, "big" if big else "little")
    else:
        header = number.to_bytes(2, "big") + b"\0\0" if big else b"\0\0" + number.to_bytes(2, "little")
    return header + data


@pytest.mark.thin(3)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("big", [True, False])
@pytest.mark.parametrize("extended", [True, False])
def test_records_of_blocks_are_found_from_every_cut(write, big, extended):
    inner = [headed(text, big=big) for text in TEXTS]
    data = b"".join(
        block(*part, big=big, extended=extended)
        for part in (inner[:2], inner[2:3], [] if extended else inner[3:3], inner[3:])
    )
    if not extended:
        data = data.replace(b"\0\0\0\0", b"")
    path = write(b"hh" + data + b"ttt")
    around = {"file_start_offset": 2, "file_end_offset": 3, "recfm": "VB"}
    if extended and not big:
        around["is_bdw_big_endian"] = False
    scan = ss.scan_cobol(path, LINE, metadata_columns="record_offset,record_length", **around)
    rows = scan.to_arrow().to_pylist()
    assert [row["V"] for row in rows] == [1, 2, 3, None, 4, 5]
    assert [(row["record_offset"], row["record_length"]) for row in rows[:3]] == [(6, 9), (15, 7), (26, 8)]
    assert scan.count() == 6
    check_block_law(scan, [*range(1, 40), 64])
    check_projection_law(scan)
    assert ss.scan_cobol(path, LINE, is_rdw_big_endian=big, **around).to_arrow().num_rows == 6
    kinds = ss.scan_cobol(path, LINE, segment_field="K", segment_filter="A", **around)
    assert kinds.to_arrow()["V"].to_pylist() == [1, 3, 5]
    assert kinds.count() == 3
    check_block_law(kinds, [*range(1, 40), 64])


@pytest.mark.usefixtures("engine")
def test_lengths_may_count_themselves(write):
    path = write(b"\0\x0b\0\0\0\7\0\0\xc1\xf0\xf1")
    scan = ss.scan_cobol(path, LINE, recfm="VB", rdw_adjustment=-4, bdw_adjustment=-4)
    assert scan.to_arrow().to_pylist() == [{"K": "A", "V": 1, "G": {"W": None}}]
    assert codes(scan) == []
    wrong = ss.scan_cobol(path, LINE, recfm="VB")
    assert set(codes(wrong)) <= {"bad-record-header", "short-record"}
    assert codes(wrong)


A, B, C = (headed(text) for text in ("A01xx", "B02", "A03y"))
OVERRUN = b"\0\x20\0\0" + b"\xc1\xf0\xf1"
DAMAGED = [
    (block(A, OVERRUN) + block(B), ["bad-record-header"], [1, None, 2]),
    (block(A, b"\0\0\0\0abcdef") + block(B), ["bad-record-header"], [1, None, 2]),
    (block(A, b"\0\4\1\0abcdef") + block(B), ["bad-record-header"], [1, None, 2]),
    (block(A, b"xy") + block(B), ["bad-record-header"], [1, None, 2]),
    (block(b"?????") + block(b"!") + block(B), ["bad-record-header"] * 2, [None, None, 2]),
    (block(A) + b"\0\0\0\0" + block(B), ["bad-record-header"], [1, None]),
    (block(A) + b"\0\7\1\0" + block(B), ["bad-record-header"], [1, None]),
    (block(A, B)[:-2], ["short-record"], [1, None]),
    (block(A, B)[:-6], ["short-record"], [1, None]),
    (block(A) + b"\0\7\0", ["short-record"], [1, None]),
    (block(A, C, b"\0")[:-1], ["short-record"], [1, 3, None]),
    (block(A, OVERRUN)[:-1], ["bad-record-header"], [1, None]),
]


@pytest.mark.thin(8)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("data", "found", "values"), DAMAGED)
def test_what_is_no_record_ends_its_block_and_the_next_one_goes_on(write, data, found, values):
    scan = ss.scan_cobol(write(data), LINE, recfm="VB", metadata_columns="record_offset")
    assert (codes(scan), scan.to_arrow()["V"].to_pylist()) == (found, values)
    assert scan.count() == len(values)
    check_block_law(scan, [*range(1, 45)])


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    ("engine", "big", "trailer"),  # each pair of values once
    [
        ("kernel", True, b""), ("kernel", False, b"ttt"), ("reference", True, b"ttt"), ("reference", False, b""),
    ],
    indirect=["engine"],
)  # fmt: skip
@pytest.mark.usefixtures("engine")
def test_every_cut_inside_of_a_block_is_one_reject_after_all_whole_records(write, big, trailer):
    parts = [["A01xx", "B02"], ["A03y"], ["A04", "A05", "B06zz"]]
    blocks = [
        block(*(headed(text, big=big) for text in part), big=big, extended=big and len(part) == 1) for part in parts
    ]
    data, around = b"".join(blocks), {"recfm": "VB", "file_end_offset": len(trailer)}
    block_ends = list(accumulate([0, *map(len, blocks)]))
    edges = {}  # where a record or the length of a block ends: the values before it, and how much of the block is left
    position, values = 0, []
    for part, end in zip(parts, block_ends[1:], strict=True):
        edges[position] = (list(values), 0)
        position += 4
        edges[position] = (list(values), end - position)
        for text in part:
            position += 4 + len(text)
            values.append(int(text[1:3]))
            edges[position] = (list(values), end - position)
    for cut in some(range(len(data) + 1)):
        whole, missing = edges[max(edge for edge in edges if edge <= cut)]
        path = write(data[:cut] + trailer)
        scan = ss.scan_cobol(path, LINE, **around)
        found = scan.rejects().to_arrow().to_pylist()
        rows = scan.to_arrow()["V"].to_pylist()
        assert rows[: len(whole)] == whole
        assert len(rows) == scan.count() == len(whole) + (cut not in block_ends)
        assert [each["code"] for each in found] == ["short-record"] * (cut not in block_ends)
        if cut in edges and missing:
            reason = f"the file ends inside a block: by its length {missing} more bytes follow"
            assert [(each["offset"], each["length"], each["reason"]) for each in found] == [(cut, 0, reason)]
            dropping = ss.scan_cobol(path, LINE, mode="DROPMALFORMED", **around)
            assert dropping.to_arrow()["V"].to_pylist() == whole
            with pytest.raises(ss.SplitscanError, match=f"{missing} more bytes follow"):
                ss.scan_cobol(path, LINE, mode="FAILFAST", **around).to_arrow()
        check_block_law(scan, [1, 20, max(cut - 1, 1)])
        packed = ss.scan_cobol(write(gzip.compress(data[:cut] + trailer), "a.dat.gz"), LINE, **around)
        assert (packed.to_arrow()["V"].to_pylist(), codes(packed)) == (rows, codes(scan))


@pytest.mark.usefixtures("engine")
def test_an_empty_block_and_records_of_other_kinds_at_the_end(write):
    empty = ss.scan_cobol(write(block(A, counts_itself=True) + b"\0\4\0\0"), LINE, recfm="VB", bdw_adjustment=-4)
    assert (empty.to_arrow()["V"].to_pylist(), codes(empty)) == ([1], [])
    cut = write(block(A, B, C)[: -len(C)])
    kinds = ss.scan_cobol(cut, LINE, recfm="VB", segment_field="K", segment_filter="A")
    assert (kinds.to_arrow()["V"].to_pylist(), codes(kinds), kinds.count()) == ([1, None], ["short-record"], 2)
    check_block_law(kinds, [*range(1, 20)])


@pytest.mark.thin(2)
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("trailer", [b"", b"ttt"])
def test_a_record_that_is_too_long_and_the_end_of_its_block_are_one_reject(write, trailer):
    long = headed("B02" + "x" * 90)
    around = {"recfm": "VB", "max_record_bytes": 50, "file_end_offset": len(trailer)}
    scan = ss.scan_cobol(write(block(A, long, C)[: -len(C)] + trailer), LINE, **around)
    assert (scan.to_arrow()["V"].to_pylist(), codes(scan)) == ([1], ["record-too-long"])
    check_block_law(scan, [1, 7, 30, 200])


@pytest.mark.usefixtures("engine")
def test_the_last_whole_record_before_damage_is_read(write):
    data = block(A, B, C)
    packed = gzip.compress(data[: -len(C)], compresslevel=0)[:-8]
    scan = ss.scan_cobol(write(packed, "a.dat.gz"), LINE, recfm="VB", ignore_corrupt_files=True)
    assert scan.to_arrow()["V"].to_pylist() == [1, 2]
    assert codes(scan) == ["truncated-container"]
    assert scan.count() == 2


def test_long_records_and_lost_blocks_are_passed_in_bounded_memory(write):
    long = headed("B02" + "x" * 30_000)
    lost = block(b"\0\0\0\0" + bytes(range(256)) * 800, extended=True)
    path = write(block(A, long, C) + lost + block(B) + b"\0\0\0\0" + bytes(100_000) + A)
    scan = ss.scan_cobol(path, LINE, recfm="VB", max_record_bytes=1000, read_bytes=4096)
    assert (scan.to_arrow()["V"].to_pylist(), codes(scan)) == ([1, 3, 2], ["record-too-long"] * 3)
    check_block_law(scan, [5_000, 29_000, 70_000, 200_000])


@pytest.mark.slow
def test_random_files_of_blocks_give_the_same_at_every_cut(write):
    for seed in range(25):
        draw = random.Random(seed)
        data, texts = b"", []
        for _ in range(draw.randint(0, 8)):
            part = [f"A{draw.randrange(100):02}{'x' * draw.randrange(9)}" for _ in range(draw.randint(1, 4))]
            texts += part
            data += block(*(headed(text) for text in part), extended=draw.random() < 0.3)
        scan = ss.scan_cobol(write(data), LINE, recfm="VB", metadata_columns="record_offset")
        assert scan.to_arrow()["V"].to_pylist() == [int(text[1:3]) for text in texts]
        check_block_law(scan, draw.sample(range(1, 60), 6))


def test_an_index_reads_only_the_lengths_of_blocks(write):
    data = block(*[headed("A01xx")] * 100) * 300
    scan = ss.scan_cobol(write(data), LINE, recfm="VB", block_bytes=50_000)
    starts = range(0, len(data), 904)
    firsts = [block.first_record_start for block in scan.plan()][1:]
    assert firsts == [next(start for start in starts if start >= cut) for cut in range(50_000, len(data), 50_000)]
    assert scan.count() == 30_000


def test_a_position_inside_of_a_block_is_told_by_the_bytes_before_it():
    format = BlockedRecords()
    data = block(A, B) + block(C)
    left = [format.after(data[:place]).left_bytes for place in (0, 4, 4 + len(A), 4 + len(A + B), 8 + len(A + B))]
    assert left == [0, len(A + B), len(B), 0, len(C)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"recfm": "V", "is_bdw_big_endian": True}, "recfm=VB"),
        ({"bdw_adjustment": -4}, "recfm=VB"),
        ({"recfm": "VB", "record_length": 9}, "records of a fixed length"),
    ],
)
def test_options_of_blocks_are_refused_without_blocks(write, options, said):
    with pytest.raises(ss.UsageError, match=said):
        ss.scan_cobol(write(b""), LINE, **options)
