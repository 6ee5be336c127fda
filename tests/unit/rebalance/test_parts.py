"""Files that a reader of chunks opens."""

import gzip
import random

import pytest
from backports import zstd

from splitscan.api.files import Scan
from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import SourceChangedError, SourceError
from splitscan.rebalance import chunk_reader
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.claim_values import Chunk
from splitscan.rebalance.planning import plan_blocks, plan_rebalance
from splitscan.testing.faults import MemorySource


def test_a_file_that_is_not_the_one_that_was_planned_is_closed(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("1,a\n2,b\n")
    scan = Scan.of(str(path), "csv", "id long, text string")
    (planned,) = scan.files()
    closed = []

    def open_source(*given):
        source = right(*given)
        close = source.close
        monkeypatch.setattr(source, "close", lambda: (closed.append(source), close()), raising=False)
        return source

    right = chunk_reader.open_listed
    monkeypatch.setattr(chunk_reader, "open_listed", open_source)
    path.write_text("1,a\n2,b\n3,c\n")
    with pytest.raises(SourceChangedError):
        chunk_reader.Entries(scan.spec).open(planned).lend()
    assert len(closed) == 1


def test_only_one_file_is_open_at_a_time(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).write_text("1,a\n2,b\n")
    scan = Scan.of(str(tmp_path), "csv", "id long, text string")
    first, second = scan.files()
    sources = {file: MemorySource(b"1,a\n2,b\n", fingerprint=file.fingerprint) for file in (first, second)}
    monkeypatch.setattr(chunk_reader, "open_listed", lambda file, _: sources[file])
    entries = chunk_reader.Entries(scan.spec)
    for file, closed in ((first, [False, False]), (first, [False, False]), (second, [True, False])):
        assert entries.open(file).lend().read_at(0, 2) == b"1,"
        assert [source.closed for source in sources.values()] == closed
    entries.close()
    assert [source.closed for source in sources.values()] == [True, True]


def test_a_file_that_has_become_a_compressed_one_is_not_read_in_pieces(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,a\n2,b\n")
    scan = Scan.of(str(path), "csv", "id long, text string")
    (planned,) = scan.files()
    path.write_bytes(gzip.compress(b"1,a\n2,b\n"))
    with pytest.raises(SourceError, match="compressed-input"):
        chunk_reader.Entries(scan.spec).open(planned).lend()


@pytest.mark.parametrize(("block_size", "planned"), [("1g", 1), ("8m", 2)])
def test_a_compressed_file_moves_member_by_member_however_large_blocks_are(tmp_path, block_size, planned):
    long = zstd.compress(random.Random(1).randbytes(3 << 20).hex().encode())
    (tmp_path / "a.zst").write_bytes(3 * long + zstd.compress(b"end"))
    scan = Scan.of(str(tmp_path), "text", options={"blockSize": block_size})
    assert len(scan.plan()) == planned
    assert len(plan_blocks(scan)) == 3


def test_blocks_of_a_format_that_needs_context_are_short_however_large_blocks_are(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n" * (9 << 18))
    lines, quoted = (Scan.of(str(tmp_path), "csv", options={"multiLine": multi}) for multi in (False, True))
    assert [block.length_bytes >> 20 for block in plan_blocks(lines)] == [9]
    assert [block.length_bytes >> 20 for block in plan_blocks(quoted)] == [4, 4, 1]


def test_a_compressed_file_whose_name_does_not_say_so_moves_as_a_whole(tmp_path, caplog):
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"a\nb\n"))
    (tmp_path / "b.txt").write_bytes(b"a\nb\n")
    plan = plan_rebalance(Scan.of(str(tmp_path), "text"), 1)
    assert [segment.indivisible for segment in plan.segments] == [True, False]
    assert [message for message in caplog.messages if "rebalance" in message] == [
        "rebalance: compressed files cannot be split, so whole ones move between tasks (1 of them)"
    ]


def test_only_a_part_at_the_start_of_a_block_begins_where_the_plan_says():
    block = BlockMetadata(FileMetadata("/a", 90, 0, "90-0", "a"), 30, 60, 1, first_record_start=33)
    space = PositionSpace([chunk_reader.segment_of(block, chunk_reader.PathSecrets())])
    starts = {
        start: [
            part.block.first_record_start
            for part in chunk_reader.parts_of(Chunk(0, start, 20, space.pieces(start, 20)), ())
        ]
        for start in (0, 10)
    }
    assert starts == {0: [33], 10: [None]}
