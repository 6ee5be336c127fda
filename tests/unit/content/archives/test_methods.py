"""Members of zip files that are compressed by other methods than deflate."""

import bz2
import lzma
import zipfile
import zlib

import pytest
from backports import zstd

import splitscan as ss
from splitscan.errors import SourceError
from splitscan.scans.cutting import describe_cut
from splitscan.testing.scan_laws import check_ledger_law, read_block

from ...reading.compressed_scans import METADATA, SCANS
from .packed import zip_of
from .test_listing import zip_entry
from .test_scans import DAMAGE, LINES, shared_out

LZMA_HEADER = bytes.fromhex("0914 0500 5d00100000")
UNMARKED = {  # made by XZ for Java, which was told the lengths: there is no mark after the end
    b"1\n22\n333\n4444x": LZMA_HEADER + bytes.fromhex("0018828292392364ef6bb3a1237d9800"),
    b"": LZMA_HEADER + bytes(5),
}


def zip_by(method, content, packed, flags=0):
    """A zip file whose last member is compressed by a method that Python's library cannot write."""
    stored = zip_of({"before": b"0\n", "y.csv": packed})
    return zip_entry(stored, method=method, content=len(content), crc=zlib.crc32(content), flags=flags)


SKIPPED = b"\x50\x2a\x4d\x18\x03\0\0\0abc"  # a frame that holds nothing


def of_frames(compress, data):
    """Three frames, of which one is empty."""
    half = len(data) // 2
    return compress(data[:half]) + compress(b"") + compress(data[half:])


ZIP = {
    "bzip2": lambda data: zip_of({"before": b"0\n", "y.csv": data}, zipfile.ZIP_BZIP2),
    "lzma": lambda data: zip_of({"before": b"0\n", "y.csv": data}, zipfile.ZIP_LZMA),
    "zstd": lambda data: zip_by(93, data, zstd.compress(data)),
    "zstd of old": lambda data: zip_by(20, data, zstd.compress(data)),
    "xz": lambda data: zip_by(95, data, lzma.compress(data)),
    "zstd of frames": lambda data: zip_by(93, data, SKIPPED + of_frames(zstd.compress, data) + SKIPPED),
    "bzip2 of streams": lambda data: zip_by(12, data, of_frames(bz2.compress, data)),
    "xz of streams": lambda data: zip_by(95, data, of_frames(lzma.compress, data)),
    "bzip2 of another make": lambda data: zip_by(12, data, bz2.compress(data, 1)),
}


@pytest.fixture
def put(tmp_path):
    def write(data, name="a.zip"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


@pytest.mark.thin(4)
@pytest.mark.parametrize("method", ZIP)
def test_members_hold_the_records_of_the_files_that_were_packed(put, method):
    for content, scan_of in (SCANS[name] for name in ("csv with newlines", "escaped lines", "json")):
        expected = scan_of(put(content, "plain"), metadata_columns=METADATA).to_arrow()
        path = put(ZIP[method](content))
        for block_bytes in (97, 1_000_000):
            scan = scan_of(path, archive_path_filter="y*", metadata_columns=METADATA, block_size=block_bytes)
            assert scan.to_arrow().equals(expected)
            assert scan.count() == expected.num_rows
    assert ss.scan_text(put(ZIP[method](b"")), archive_path_filter="*").count() == 1


@pytest.mark.parametrize("content", UNMARKED)
def test_lzma_without_an_end_mark_ends_where_the_directory_says(put, content):
    path = put(zip_by(14, content, UNMARKED[content]))
    table = ss.scan_text(path, archive_path_filter="y*").to_arrow()
    assert table["value"].to_pylist() == content.decode().split("\n") if content else table.num_rows == 0
    marked = put(zip_by(14, content, UNMARKED[content], flags=2), "b.zip")
    with pytest.raises(SourceError, match=r"\[truncated-container\]|\[corrupt-container\]"):
        ss.scan_text(marked, archive_path_filter="y*").to_arrow()


@pytest.mark.parametrize("method", ["zstd", "bzip2"])
def test_any_cut_of_a_member_gives_what_one_reading_gives(put, method):
    path = put(ZIP[method](LINES[:300]))
    scan = ss.scan_text(path, archive_path_filter="y*", metadata_columns=METADATA)
    expected = scan.to_arrow().to_pylist()
    for cut in range(1, 300, 7):
        results = [read_block(scan, block) for block in shared_out(scan, [cut], f"{method} in zip")]
        assert [row for result in results for row in result.rows] == expected, cut
        check_ledger_law(scan, [result.report for result in results])


def test_the_plan_says_how_a_member_is_read(put):
    for method, cut in (("zstd", "zstd in zip: one stream"), ("lzma", "whole")):
        blocks = ss.scan_text(put(ZIP[method](LINES)), archive_path_filter="y*", block_size=100).plan()
        assert describe_cut(blocks[0]).startswith(cut)


def test_what_follows_the_last_frame_is_a_frame_or_zeros(put):
    packed = of_frames(zstd.compress, LINES)
    expected = ss.scan_text(put(zip_by(93, LINES, packed)), archive_path_filter="y*").to_arrow()
    assert expected.num_rows == LINES.count(b"\n")
    filled = put(zip_by(93, LINES, packed + bytes(9)))
    assert ss.scan_text(filled, archive_path_filter="y*").to_arrow().equals(expected)
    for wrong, code in ((packed + b"x", "corrupt"), (packed[:-1], "truncated"), (packed + zstd.compress(b"1")[:5], "")):
        with pytest.raises(SourceError, match=rf"{code}.*-container\]"):
            ss.scan_text(put(zip_by(93, LINES, wrong)), archive_path_filter="y*").to_arrow()


def test_after_deflate_and_lzma_there_are_only_zeros(put):
    raw = zlib.compressobj(wbits=-15)
    deflated, of_lzma = raw.compress(LINES) + raw.flush(), next(iter(UNMARKED))
    for method, content, packed in ((8, LINES, deflated), (14, of_lzma, UNMARKED[of_lzma])):
        for more in (b"", bytes(9)):
            scan = ss.scan_text(put(zip_by(method, content, packed + more)), archive_path_filter="y*")
            assert scan.to_arrow().num_rows == len(content.splitlines())
        for wrong in (b"x", bytes(9) + b"x", packed):
            path = put(zip_by(method, content, packed + wrong))
            with pytest.raises(SourceError, match=r"no member follows the last one \[corrupt-container\]"):
                ss.scan_text(path, archive_path_filter="y*").to_arrow()


@pytest.mark.parametrize("method", ["bzip2", "lzma", "zstd", "zstd of frames", "xz"])
def test_a_member_that_is_damaged_or_not_what_its_directory_says_fails(put, method):
    data = ZIP[method](LINES)
    wrong = {"crc": zip_entry(data, crc=1), "longer": zip_entry(data, content=len(LINES) + 1),
             "shorter": zip_entry(data, content=len(LINES) - 1)}  # fmt: skip
    at = data.index(b"y.csv") + 200
    wrong["damaged"] = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
    for what, each in wrong.items():
        path = put(each)
        with pytest.raises(SourceError, match=r"\[(corrupt|truncated)-container\]") as caught:
            ss.scan_text(path, archive_path_filter="*").to_arrow()
        assert f"{path}!/y.csv" in str(caught.value), what
    scan = ss.scan_text(path, archive_path_filter="*", ignore_corrupt_files=True)
    rejects = []
    batches = list(scan.to_batches(rejects.append))
    assert batches[0]["value"][0].as_py() == "0"
    assert [(reject.path, reject.code in DAMAGE) for reject in rejects] == [(f"{path}!/y.csv", True)]


def test_lzma_that_wants_too_much_memory_or_is_none_is_refused(put):
    for header in (b"\x09\x14\x05\x00\x5d\xff\xff\xff\xff", b"\x09\x14\x06\x00\x5d\x00\x10\x00\x00"):
        path = put(zip_by(14, LINES, header + bytes(100)))
        with pytest.raises(SourceError, match=r"\[corrupt-container\]"):
            ss.scan_text(path, archive_path_filter="y*").to_arrow()
