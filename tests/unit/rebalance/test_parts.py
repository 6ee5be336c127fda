"""Files that a reader of chunks opens."""

import gzip
import random

import pytest
from backports import zstd

from splitscan.errors import SourceChangedError, SourceError
from splitscan.rebalance.reading import parts
from splitscan.rebalance.reading.planning import plan_blocks
from splitscan.scan import ScanPlanner


def test_a_file_that_is_not_the_one_that_was_planned_is_closed(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("1,a\n2,b\n")
    scan = ScanPlanner.of(str(path), "csv", "id long, text string")
    (planned,) = scan.files()
    closed = []

    def open_source(*given):
        source = right(*given)
        close = source.close
        monkeypatch.setattr(source, "close", lambda: (closed.append(source), close()), raising=False)
        return source

    right = parts.open_listed
    monkeypatch.setattr(parts, "open_listed", open_source)
    path.write_text("1,a\n2,b\n3,c\n")
    with pytest.raises(SourceChangedError):
        parts.Entries(scan.spec).open(planned).lend()
    assert len(closed) == 1


def test_a_file_that_has_become_a_compressed_one_is_not_read_in_pieces(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,a\n2,b\n")
    scan = ScanPlanner.of(str(path), "csv", "id long, text string")
    (planned,) = scan.files()
    path.write_bytes(gzip.compress(b"1,a\n2,b\n"))
    with pytest.raises(SourceError, match="compressed-input"):
        parts.Entries(scan.spec).open(planned).lend()


def test_a_compressed_file_moves_member_by_member_however_large_blocks_are(tmp_path):
    long = zstd.compress(random.Random(1).randbytes(3 << 20).hex().encode())
    (tmp_path / "a.zst").write_bytes(2 * long + zstd.compress(b"end"))
    scan = ScanPlanner.of(str(tmp_path), "text", options={"blockSize": "1g"})
    assert len(scan.plan()) == 1
    assert len(plan_blocks(scan)) == 2
