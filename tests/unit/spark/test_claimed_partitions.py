"""How many partitions a rebalanced scan has that Spark's planner plans: it does not know how large the cluster is."""

import pytest
from pyspark.sql.types import LongType, StructField, StructType

from splitscan.rebalance.messages import CoordinatorAddress
from splitscan.spark import coordination, source
from splitscan.spark.coordination import RegisteredScan

SLOTS = 2


@pytest.fixture
def partitions_of(tmp_path, monkeypatch):
    """Plan a file of 1000 bytes on a machine with two cores, with a coordinator that knows everything."""
    monkeypatch.setattr("os.cpu_count", lambda: SLOTS)
    told = []

    def take(segments, ranges):
        told.append((segments, ranges))
        return RegisteredScan("s", CoordinatorAddress("127.0.0.1", 1, "t"))

    monkeypatch.setattr(coordination, "register_in_planner", take)
    (tmp_path / "in.csv").write_bytes(b"1,2345678\n" * 100)

    def call(**options):
        given = {"path": str(tmp_path / "in.csv"), "rebalance": "true", "openCostInBytes": "0", **options}
        reader = source.SplitscanDataSource(given).reader(StructType([StructField("id", LongType())]))
        partitions = reader.partitions()
        (planned,) = told
        assert [partition.value.number for partition in partitions] == list(range(len(planned[1])))
        assert [stop - start for start, stop in planned[1]] == [1000 // len(partitions)] * len(partitions)
        return len(partitions)

    return call


def test_one_for_each_core_of_the_machine_at_least(partitions_of):
    assert partitions_of() == SLOTS


def test_as_many_as_there_are_tasks_without_rebalancing_where_that_is_more(partitions_of):
    assert partitions_of(taskSize="100") == 10


def test_as_many_as_are_asked_for_where_that_is_more_still(partitions_of):
    assert partitions_of(taskSize="100", minPartitionNum="20") == 20
