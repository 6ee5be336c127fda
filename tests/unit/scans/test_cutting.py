"""A compressed file that cannot be entered in the middle is divided by offsets of its content, exactly."""

import gzip
import lzma
import random
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import lz4.frame
import pytest
from backports import zstd

import splitscan as ss
from splitscan.blocks import UNKNOWN_END, BlockMetadata, Compression
from splitscan.content.codecs.content import estimate_content_bytes
from splitscan.content.codecs.formats import CODECS
from splitscan.reading import block_reader, boundaries
from splitscan.reading.block_scan import ConsecutiveBlocks
from splitscan.scans.cutting import MOST_SHARES
from splitscan.testing.faults import MemorySource
from splitscan.testing.scan_laws import BlockResult, read_block

from ..reading.compressed_scans import csv_of, json_of, lines_of, odd_csv_of, scans_of

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def short_looks(monkeypatch):
    """Blocks begin far after the head of the file, as seen by who looks at what is right before them."""
    monkeypatch.setattr(boundaries, "LOOKS_BYTES", (40, 160))


CSV, ODD_CSV, LINES = csv_of(100), odd_csv_of(30), lines_of(100)
SCANS = {
    **scans_of(CSV, ODD_CSV, json_of(80), LINES),
    "lines": (LINES, ss.scan_text),
    "delimited": (LINES, lambda path, **options: ss.scan_text(path, lineSep="ne ", **options)),
}


def shares_of(file, cuts):
    bounds = [0, *sorted(set(cuts) - {0}), UNKNOWN_END]
    known = replace(file, compression=Compression("gzip"))
    return [BlockMetadata(known, *bounds, i) for i, bounds in enumerate(pairwise(bounds))]


def read_in_turn(scan, blocks):
    """What one task gives of blocks that follow each other: by now they are decompressed once."""
    results = []
    with closing(ConsecutiveBlocks(scan.spec)) as consecutive:
        for block in blocks:
            rejects = []
            read = consecutive.open(block, on_reject=rejects.extend, with_digest=True)
            rows = [row for batch in read for row in batch.to_pylist()]
            results.append(BlockResult(rows, rejects, replace(read.report, block=block)))
    return results


def check_shares(scan, cuts, content_bytes):
    expected = scan.to_arrow().to_pylist()
    results = [read_block(scan, block) for block in shares_of(scan.files()[0], cuts)]
    assert [row for result in results for row in result.rows] == expected, cuts
    assert read_in_turn(scan, shares_of(scan.files()[0], cuts)) == results, cuts
    position = 0
    for result in results:
        if result.report.span_start == result.report.span_stop:  # no record starts in this share
            assert not result.rows, cuts
            continue
        assert result.report.span_start == position, cuts
        position = result.report.span_stop
    assert (position, results[-1].report.content_bytes) == (content_bytes, content_bytes)
    assert [result.report.content_bytes for result in results[:-1]] == [None] * (len(results) - 1)


@pytest.fixture(params=SCANS)
def known(request, tmp_path):
    """A scan of a compressed file, and the length of its content."""
    data, scan_of = SCANS[request.param]
    path = tmp_path / "a.dat.gz"
    path.write_bytes(gzip.compress(data))
    return scan_of(str(path), metadata_columns=["record_offset", "record_length"]), len(data)


def test_any_shares_give_what_one_reading_gives(known):
    scan, content_bytes = known
    chance = random.Random(1)
    check_shares(scan, [content_bytes // 2], content_bytes)
    check_shares(scan, [content_bytes - 1, content_bytes, content_bytes + 1, content_bytes * 7], content_bytes)
    for _ in range(4):
        check_shares(scan, [chance.randrange(content_bytes + 50) for _ in range(4)], content_bytes)


@pytest.mark.parametrize("name", ["csv with newlines", "odd csv"])
def test_shares_of_which_nothing_near_them_tells_are_found_by_all_that_comes_before(tmp_path, name, monkeypatch):
    data, scan_of = SCANS[name]
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(data))
    scan = scan_of(str(path))
    monkeypatch.setattr(block_reader, "find_start_nearby", lambda *_, **__: None)  # though the head shows split points
    for cuts in ([1, 2], [len(data) // 3, len(data) // 2], [len(data) - 1, len(data)], [len(data) + 1, len(data) * 7]):
        check_shares(scan, cuts, len(data))


@pytest.mark.slow
def test_every_cut_gives_what_one_reading_gives(known):
    scan, content_bytes = known
    for cut in (*range(1, 120), *range(content_bytes // 2, content_bytes // 2 + 20)):
        check_shares(scan, [cut, content_bytes - cut], content_bytes)


@pytest.mark.slow
@pytest.mark.parametrize("max_record_bytes", [8, 20, 64])
def test_records_that_are_too_long_are_given_up_wherever_shares_begin(tmp_path, max_record_bytes):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(ODD_CSV))
    scan = ss.scan_csv(
        str(path), "id string, name string", multiLine=True, escape='"', max_record_bytes=max_record_bytes
    )
    for cut in range(1, len(ODD_CSV), 41):
        check_shares(scan, [cut, cut + 3], len(ODD_CSV))


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress, lz4.frame.compress], ids=["gzip", "zstd", "lz4"])
def test_fast_codecs_are_shared_out_among_a_few(tmp_path, compress):
    content = b"".join(b"%d,%d\n" % (i, i * i % 9973) for i in range(30_000))
    path = tmp_path / "a.csv"
    path.write_bytes(compress(content))
    size = path.stat().st_size
    scan = ss.scan_csv(str(path), "a long, b long")
    for block_bytes, shares in ((size, 1), (size - 1, 2), (size // 3, 4), (100, MOST_SHARES)):
        cut = ss.scan_csv(str(path), "a long, b long", block_size=block_bytes)
        blocks = cut.plan()
        assert len(blocks) == shares
        results = [read_block(cut, block) for block in blocks]
        assert sum(len(result.rows) for result in results) == 30_000
        assert results[-1].report.span_stop == len(content)
        if shares > 1:
            spans = [result.report.span_stop - result.report.span_start for result in results]
            assert max(spans) < 2 * len(content) / shares  # the estimate is good
        assert cut.count() == scan.count() == 30_000


def test_slow_codecs_are_read_in_one_task(tmp_path):
    path = tmp_path / "a.csv.xz"
    path.write_bytes(lzma.compress(CSV, preset=0))
    assert len(ss.scan_csv(str(path), "a string, b string", block_size=100).plan()) == 1


@pytest.mark.parametrize("length", [0, 10, 5 << 20])
def test_estimates_of_short_and_long_content(length):
    content = b"0123456789" * (length // 10)
    data = gzip.compress(content)
    assert estimate_content_bytes(MemorySource(data), CODECS["gzip"], 10_000) == len(content)


def test_a_trailer_that_says_nothing_of_the_whole_is_not_believed():
    content = random.Random(0).randbytes(5 << 20)
    data = gzip.compress(content) + gzip.compress(b"abc")
    assert estimate_content_bytes(MemorySource(data), CODECS["gzip"], 10_000) == pytest.approx(len(content), rel=0.01)


def test_files_that_are_looked_at_together_keep_their_order(tmp_path):
    for i in range(70):
        content = b"%d\n" % i * 500
        (tmp_path / f"{i:02}.txt").write_bytes(gzip.compress(content) if i % 3 else content)
    scan = ss.scan_text(str(tmp_path), block_size=40)
    blocks = scan.plan()
    assert [block.file.path for block in blocks] == sorted(block.file.path for block in blocks)
    assert len({block.file.path for block in blocks}) == 70
    assert [read_block(scan, block).rows[0]["value"] for block in blocks if block.index == 0] == list(
        map(str, range(70))
    )


def test_a_file_that_vanished_is_for_its_reader_to_miss(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_bytes(gzip.compress(random.Random(0).randbytes(250).hex().encode()))
    scan = ss.scan_text(str(tmp_path), block_size=40, ignore_missing_files=True)
    assert len(scan.files()) == 2
    (tmp_path / "a.txt").unlink()
    assert {block.file.name for block in scan.blocks()} == {"a.txt", "b.txt"}
    rows = [row for block in scan.blocks() for row in read_block(scan, block).rows]
    assert rows == ss.scan_text(str(tmp_path)).to_arrow().to_pylist()
