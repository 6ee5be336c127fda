"""Credentials in paths: tasks need them, and the coordinator is not told of them."""

from dataclasses import replace

import pytest

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.formats.fixed.framing import FixedFormat
from splitscan.formats.registry import parse_options
from splitscan.rebalance.chunk_reader import parts_of
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.claim_values import Chunk
from splitscan.rebalance.planning import plan_ranges

PATHS = [
    "s3://AKIA7:s3cr/et@bucket/day=1/a.csv",
    "s3://AKIA7:s3cr/et@bucket/day=2/a.csv",
    "s3://AKIA8:oth3r@bucket/a.csv",
    "https://host/a.csv?X-Amz-Signature=abc987&x=1",
    "hdfs://host:8020/a@b.csv",
    "/data/1/0/a.csv",
]
SECRETS = ["AKIA7", "s3cr", "AKIA8", "oth3r", "abc987"]


def blocks_of(paths):
    for path in paths:
        file = FileMetadata(path, 20, 0, "20-0", path.rpartition("@")[2])
        yield from (BlockMetadata(file, 0, 10, 0), BlockMetadata(file, 10, 20, 1))


def plan_of(paths):
    options = parse_options("fixed", {"recordLength": 5})
    return plan_ranges(list(blocks_of(paths)), FixedFormat(5), 2, options.files)


def test_the_coordinator_is_told_of_no_secret_and_tasks_find_every_path():
    plan = plan_of(PATHS)
    told = repr(plan)
    assert [secret for secret in SECRETS if secret in told] == []
    assert "day=2" in told
    assert plan.secrets == ("AKIA7:s3cr/et", "AKIA8:oth3r", "abc987")
    space = PositionSpace(plan.segments)
    chunk = Chunk(0, 0, space.total, space.pieces(0, space.total))
    assert [part.block for part in parts_of(chunk, plan.secrets, by_block=True)] == list(blocks_of(PATHS))


def test_two_plans_of_the_same_files_do_not_mix_their_secrets():
    """What readers keep of texts that they have read is kept for its secrets."""
    found = []
    for name in ("first", "second"):
        plan = plan_of([f"s3://key:{name}@bucket/a.csv"])
        pieces = PositionSpace(plan.segments).pieces(0, 20)
        found += [part.block.file.path for part in parts_of(Chunk(0, 0, 20, pieces), plan.secrets)]
    assert found == ["s3://key:first@bucket/a.csv", "s3://key:second@bucket/a.csv"]


@pytest.mark.parametrize("path", PATHS)
def test_a_plan_without_its_secrets_reads_nothing_or_all(path):
    plan = plan_of([path])
    pieces = PositionSpace(plan.segments).pieces(0, 20)
    if not plan.secrets:
        assert [part.block.file.path for part in parts_of(Chunk(0, 0, 20, pieces), ())] == [path]
        return
    with pytest.raises(IndexError):
        list(parts_of(Chunk(0, 0, 20, pieces), replace(plan, secrets=()).secrets))
