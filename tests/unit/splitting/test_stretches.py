"""What plans tell readers of records beforehand is little, however many pieces a file was summarised in."""

import random

import pytest

import splitscan as ss
from splitscan.blocks import Stretch
from splitscan.rebalance.reading.planning import plan_rebalance
from splitscan.spark.payloads import pack_payload
from splitscan.splitting import stretches as module
from splitscan.splitting.stretches import share_out
from splitscan.testing.scan_laws import read_block

RECORD = b'12,"a\nb"\n'
RECORDS = 8000
STRAY = b'12,x"y\n'  # such quotes are not structural: no stretch reaches over them


def file_of(tmp_path, content, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


def scan_of(path, block_size="40k"):
    return ss.scan_csv(path, "id int, text string", multiLine=True, maxRecordBytes=64, blockSize=block_size)


def test_tiny_records_at_the_most_do_not_swell_the_plan(tmp_path):
    scan = scan_of(file_of(tmp_path, RECORD * RECORDS))
    first, second = scan.plan()
    for block in (first, second):
        assert len(block.stretches) == 1
        assert len(pack_payload([block])) < 300
    assert first.stretches[0].records + second.stretches[0].records > RECORDS - 30
    plan = plan_rebalance(scan, 2)
    assert sum(len(segment.text) for segment in plan.segments) < 600
    assert scan.count() == sum(read_block(scan, block).report.rows for block in (first, second)) == RECORDS


def test_where_very_many_stretches_cannot_be_joined_readers_are_told_of_none(tmp_path, monkeypatch):
    content = (RECORD * 30 + STRAY) * 60
    scan, other = (scan_of(file_of(tmp_path, content, name), "9k") for name in ("a.csv", "b.csv"))
    blocks = scan.plan()
    assert [block.stretches for block in blocks] == [()] * 2
    monkeypatch.setattr(module, "_MOST", 10_000)
    told = other.plan()
    assert all(len(block.stretches) > 20 for block in told)
    rows = [[read_block(each, block).rows for block in read] for each, read in ((scan, blocks), (other, told))]
    assert rows[0] == rows[1]
    assert sum(map(len, rows[0])) == 60 * 31


def many(chance):
    """Neighbours and gaps in random order."""
    start = 0
    for _ in range(chance.randrange(1, 30)):
        start += chance.choice([0, 0, 0, 5])
        stop = start + chance.randrange(1, 40)
        yield Stretch(start, stop, chance.randrange(start, stop), chance.randrange(1, 9))
        start = stop


@pytest.mark.parametrize("seed", range(50))
def test_what_is_joined_says_the_same(seed, monkeypatch):
    monkeypatch.setattr(module, "_MOST", 100)
    chance = random.Random(seed)
    known = list(many(chance))
    read_bytes = chance.choice([10, 30, 1000])
    bounds = sorted({0, *(chance.randrange(1, 600) for _ in range(3)), 2000})
    whole = [stretch for stretch in known if not any(stretch.start < bound < stretch.stop for bound in bounds)]
    shares = list(share_out(known, bounds, read_bytes))
    assert len(shares) == len(bounds) - 1
    joined = [stretch for share in shares for stretch in share]
    assert sum(stretch.records for stretch in joined) == sum(stretch.records for stretch in whole)
    assert [stretch.start for stretch in joined] == sorted(stretch.start for stretch in joined)
    for stretch in joined:
        inside = [each for each in whole if stretch.start <= each.start < stretch.stop]
        assert sum(each.stop - each.start for each in inside) == stretch.stop - stretch.start
        assert stretch.last == inside[-1].last
        assert stretch.stop - stretch.start <= 2 * read_bytes or inside == [stretch]
