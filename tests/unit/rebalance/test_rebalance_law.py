"""The law of rebalancing, for every format: any cuts, dealt to readers in any way, give what one pass gives."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lz4.frame
import pytest
from backports import zstd

import splitscan as ss
from splitscan.rebalance import chunk_reader, planning
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.planning import plan_rebalance
from splitscan.testing.range_laws import DealtChunks, RebalanceCensus, check_rebalance_law, read_log
from splitscan.testing.scan_laws import read_block

pytestmark = pytest.mark.slow

HARD_CSV = (
    "\ufeffid,text\r\n"
    '1,"a\nb, ""c"""\r\n\n2,plain\n'
    '# no comment\n3,"x\r\n\r\ny"\n4,\n5,"tail\n'
    '6"\n7,q"q\n8,\xe9\u20ac\n9,end'
).encode()
HARD_LINES = b"one\\\ntwo\nthree\\\\\n\n\\\n\nfour\\\\\\\nfive\nend\\"
JSON_ARRAY = b' [ {"a": 1, "b": "}, ["},\n{"a": 2, "b": "\\"\n"} ,\n{"b": null}, {"a":\n4}\n, {"a": 5} ]\n'
JSON_LINES = b'{"a": 1, "b": "x"}\n\n{"a": 2}\r\n{"a": "no\n{"b": "\\n"}'
PLACES = ["record_offset", "record_length", "file_name"]


class SplittableLines:
    """A reader of a user's own that reads the lines that begin in its block."""

    splittable = True

    def open(self, negotiator: Any) -> bool:
        self.input, self.block = negotiator.open_input(), negotiator.split
        if self.block.start:
            self.input.seek(self.block.start - 1)
            self.input.readline()
        return True

    def next(self, loader: Any) -> bool:
        if self.input.tell() >= self.block.stop:
            return False
        line = self.input.readline()
        if line:
            loader.append({"line": [line.decode().rstrip("\n")]})
        return bool(line)

    def close(self) -> None:
        pass


class WholeLines(SplittableLines):
    """The same, but whole files only."""

    splittable = False


def one_file(tmp_path: Path, content: bytes, name: str = "a") -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


def hard_csv(path: str, **options: Any) -> ss.Scan:
    return ss.scan_csv(
        path, "id int, text string, _corrupt_record string", header=True, multiLine=True, comment="#",
        metadataColumns=PLACES, escape='"', **options,
    )  # fmt: skip


CASES: dict[str, tuple[bytes, Callable[[str], ss.Scan]]] = {
    "csv": (HARD_CSV, hard_csv),
    "csv, long records given up": (HARD_CSV, lambda path: hard_csv(path, maxRecordBytes=6, readBytes=7)),
    "csv, broken records dropped": (HARD_CSV, lambda path: hard_csv(path, mode="DROPMALFORMED")),
    "csv, an unclosed quote": (HARD_CSV + b'\n10,"never\nends\n11,x\n', hard_csv),
    "csv without newlines in quotes": (
        HARD_CSV,
        lambda path: ss.scan_csv(path, "id int, text string", header=True, metadataColumns=PLACES),
    ),
    "csv, columns of the block": (HARD_CSV, lambda path: hard_csv(path).select("id", "block_id", "file_block_start")),
    "csv in UTF-16": (
        HARD_CSV.decode("utf-8").encode("utf-16-le"),
        lambda path: hard_csv(path, encoding="UTF-16LE"),
    ),
    "text, escaped newlines": (HARD_LINES, lambda path: ss.scan_text(path, escape="\\", metadataColumns=PLACES)),
    "text, another delimiter": (b"a||b|c||||d|", lambda path: ss.scan_text(path, lineSep="||")),
    "fixed": (b"abcdefghijk", lambda path: ss.scan_fixed(path, 3, metadataColumns=PLACES)),
    "slices": (b"abcdefghijk", lambda path: ss.scan_slices(path, sliceSize=4)),
    "json lines": (JSON_LINES, lambda path: ss.scan_json(path, "a int, b string", metadataColumns=PLACES)),
    "json array": (
        JSON_ARRAY,
        lambda path: ss.scan_json(path, "a int, b string", multiLine=True, metadataColumns=PLACES),
    ),
    "json, concatenated": (
        JSON_ARRAY.strip(b" []\n").replace(b",\n{", b"\n{"),
        lambda path: ss.scan_json(path, "a int, b string", multiLine=True, readBytes=5),
    ),
    "reader context": (HARD_LINES, lambda path: ss.scan(path, format=ss.ReadAheadLineReaderContext())),
    "reader context with fragments": (HARD_LINES, lambda path: ss.scan(path, format=ss.FixedBytesReaderContext(4))),
    "reader of one's own": (HARD_LINES, lambda path: ss.scan(path, SplittableLines(), "line string")),
    "reader of whole files": (HARD_LINES, lambda path: ss.scan(path, WholeLines(), "line string")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_few_cuts_anywhere(tmp_path: Path, name: str) -> None:
    content, make = CASES[name]
    scan = make(one_file(tmp_path, content))
    chance = random.Random(name)
    cuts = [sorted(chance.sample(range(len(content)), count)) for count in (1, 2, 2, 3, 5, 8)]
    census = check_rebalance_law(scan, cuts, segment_bytes=17)
    assert census.rows
    assert census.chunks > census.deals or name == "reader of whole files"


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_cut_and_a_cut_at_every_byte(tmp_path: Path, name: str) -> None:
    content, make = CASES[name]
    scan = make(one_file(tmp_path, content))
    every = range(1, len(content))
    check_rebalance_law(scan, [[cut] for cut in every[:: 1 + len(every) // 60]], segment_bytes=7)
    for segment_bytes in (1, 10_000):
        check_rebalance_law(scan, [every, every[::2]], segment_bytes=segment_bytes, readers=3)


def in_frames(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda content: b"".join(compress(content[at : at + 11]) for at in range(0, len(content), 11))


COMPRESSED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gz", gzip.compress),
    "zstd": ("zst", zstd.compress),
    "frames of zstd": ("zst", in_frames(zstd.compress)),
    "frames of lz4": ("lz4", in_frames(lz4.frame.compress)),
    "bzip2": ("bz2", bz2.compress),
    "xz": ("xz", lzma.compress),
}


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("name", ["csv", "csv without newlines in quotes", "text, escaped newlines", "json array"])
def test_compressed_content_moves_in_the_pieces_of_its_codec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, codec: str
) -> None:
    content, make = CASES[name]
    suffix, compress = COMPRESSED[codec]
    packed = compress(content)
    scan = make(one_file(tmp_path, packed, f"a.{suffix}"))
    monkeypatch.setattr(planning, "SEGMENT_BYTES", 13)
    plan = plan_rebalance(scan, 1)
    assert plan is not None
    assert all(segment.indivisible for segment in plan.segments)
    assert not codec.startswith("frames") or len(plan.segments) == -(-len(content) // 11)
    total = sum(segment.length for segment in plan.segments)
    census = check_rebalance_law(scan, [range(1, total), range(1, total, 17)], segment_bytes=13, readers=3)
    assert census.rows
    assert census.chunks > 3 * len(plan.segments)


@pytest.mark.parametrize(("codec", "pieces"), [("gzip", 1), ("zstd", 1), ("frames of zstd", 4), ("frames of lz4", 4)])
def test_containers_are_entered_between_their_members_however_large_blocks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, codec: str, pieces: int
) -> None:
    content, make = CASES["text, escaped newlines"]
    suffix, compress = COMPRESSED[codec]
    for name in ("a", "b"):
        one_file(tmp_path, compress(content), f"{name}.{suffix}")
    one_file(tmp_path, content, "c.txt")
    scan = make(str(tmp_path))
    monkeypatch.setattr(planning, "SEGMENT_BYTES", 11)
    plan = plan_rebalance(scan, 1)
    assert plan is not None
    assert [segment.indivisible for segment in plan.segments] == [True] * 2 * pieces + [False]
    assert ("cannot be split" in caplog.text) == (pieces == 1)
    rows = [row for block in planning.plan_blocks(scan) for row in read_block(scan, block).rows]
    assert rows == scan.to_arrow().to_pylist()


@pytest.mark.slow
def test_every_pair_of_cuts_of_a_short_file(tmp_path: Path) -> None:
    content = b'a,b\n1,"x\n,"\n\n2,y\n'
    scan = ss.scan_csv(one_file(tmp_path, content), "a int, b string", header=True, multiLine=True)
    pairs = list(itertools.combinations(range(1, len(content)), 2))
    assert check_rebalance_law(scan, pairs, segment_bytes=5).deals == 3 * len(pairs)


def test_chunks_over_several_files_and_directories(tmp_path: Path) -> None:
    for number, text in enumerate(["1,a\n2,b", "", '3,"c\n', "4,d\n5,e\n"]):
        folder = tmp_path / f"day={number}"
        folder.mkdir()
        (folder / "a.csv").write_text(text)
    scan = ss.scan_csv(str(tmp_path), "id int, text string", multiLine=True, metadataColumns=[*PLACES, "block_id"])
    assert "day" in scan.schema.names
    census = check_rebalance_law(scan, [[cut, cut + 3, cut + 4] for cut in range(18)], segment_bytes=3)
    assert census == RebalanceCensus(54, census.chunks, census.entered, 4)


def test_columns_of_the_block_say_where_the_planned_block_is(tmp_path: Path) -> None:
    scan = ss.scan_text(
        one_file(tmp_path, b"aa\nbb\ncc\ndd\n"), metadataColumns=["file_block_start", "file_block_length"]
    )
    plan = plan_rebalance(scan.cut_at_most(6), 1)
    assert plan is not None
    rows = [
        (row["value"], row["file_block_start"], row["file_block_length"])
        for row in read_log(scan, plan, [(4, 12), (0, 4)])
    ]
    assert rows == [("cc", 6, 6), ("dd", 6, 6), ("aa", 0, 6), ("bb", 0, 6)]


def test_files_that_cannot_be_split_say_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in "ab":
        one_file(tmp_path, b"x\ny\n", name)
    scan = ss.scan(str(tmp_path), WholeLines(), "line string")
    check_rebalance_law(scan, [[1, 2, 3, 4, 5, 6]], segment_bytes=1)
    assert [record.message for record in caplog.records if "rebalance" in record.message] == [
        "rebalance: files of format WholeLines cannot be split, so whole ones move between tasks (2 of them)"
    ]


@pytest.mark.parametrize("block_size", [60, 10_000])
def test_compressed_files_move_as_the_plan_has_them(
    tmp_path: Path, block_size: int, caplog: pytest.LogCaptureFixture
) -> None:
    for name in "ab":
        one_file(tmp_path, gzip.compress(b"".join(b"%d,%d\n" % (n, n * n) for n in range(60))), f"{name}.gz")
    one_file(tmp_path, b"1,2\n3,4\n", "c.csv")
    scan = ss.scan_csv(str(tmp_path), "a int, b int", blockSize=block_size, metadataColumns=PLACES)
    plan = plan_rebalance(scan, 3)
    assert plan is not None
    assert [segment.indivisible for segment in plan.segments] == [True] * (len(plan.segments) - 1) + [False]
    assert "compressed files cannot be split" in caplog.text
    space = PositionSpace(plan.segments)
    rows = [row for log in (plan.ranges[::2], plan.ranges[1::2]) for row in read_log(scan, plan, log)]
    assert sorted(map(repr, rows)) == sorted(map(repr, scan.to_arrow().to_pylist()))
    assert len(rows) == 122
    cut = space.total - 3  # inside the file that is not compressed
    assert len(read_log(scan, plan, [(0, cut)])) + len(read_log(scan, plan, [(cut, space.total)])) == 122


def test_of_very_many_files_none_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        one_file(tmp_path, b"x\ny\n", name)
    monkeypatch.setattr(planning, "MOST_OPENED", 2)
    plan = plan_rebalance(ss.scan_text(str(tmp_path)), 2)
    assert plan is not None
    assert all(segment.indivisible for segment in plan.segments)


@pytest.mark.parametrize("multi_line", [False, True])
def test_a_chunk_that_begins_anew_gives_the_same_batches_whatever_was_read_before(
    tmp_path: Path, multi_line: bool
) -> None:
    """After the edge are blank lines, as many as the reader that comes from before them reads in one go."""
    content = b"1,a\n" * 1000 + b"\n" * 20_000 + b"2,b\n" * 20_000
    scan = ss.scan_csv(one_file(tmp_path, content), "id int, text string", readBytes="16k", multiLine=multi_line)
    plan = plan_rebalance(scan, 1)
    assert plan is not None
    space, edge = PositionSpace(plan.segments), 4001
    reader = chunk_reader.ChunkReader(scan.spec, DealtChunks(space, [(0, edge), (edge, space.total)]).next, ())
    chunks = iter(reader)
    assert sum(batch.num_rows for batch in next(chunks)) == 1000
    reader.begin_anew()
    behind = list(next(chunks))
    alone = list(chunk_reader.ChunkReader(scan.spec, DealtChunks(space, [(edge, space.total)]).next, ()).batches())
    assert behind == alone
    assert len(alone) > 2
    assert sum(batch.num_rows for batch in alone) == 20_000


# --------------------------------------------------------------------- mutants


def breaks(tmp_path: Path, name: str) -> bool:
    content, make = CASES[name]
    scan = make(one_file(tmp_path, content))
    try:
        check_rebalance_law(scan, [[cut, cut + 9] for cut in range(1, len(content), 3)], segment_bytes=1000)
    except AssertionError:
        return True
    return False


def test_a_part_that_is_entered_at_its_cut_breaks_the_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_reader.Entries, "enter", lambda _, part: part.block.starting_at(part.block.start))
    assert breaks(tmp_path, "csv")


def test_a_part_that_follows_any_other_breaks_the_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = chunk_reader.Entries.enter

    def enter(self: chunk_reader.Entries, part: Any) -> Any:
        last = self._last
        return right(self, part) if last is None else part.block.starting_at(max(part.block.start, last.span_stop))

    monkeypatch.setattr(chunk_reader.Entries, "enter", enter)
    assert breaks(tmp_path, "json array")


def test_a_reader_that_passes_over_a_chunk_breaks_the_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = chunk_reader.parts_of
    monkeypatch.setattr(
        chunk_reader, "parts_of", lambda chunk, *given, **named: list(right(chunk, *given, **named))[chunk[0] :]
    )
    assert breaks(tmp_path, "fixed")
