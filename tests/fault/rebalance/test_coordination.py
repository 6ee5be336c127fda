"""Where the coordinator of a session runs, and who finds it."""

import pytest
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from tests.clusters.rebalanced import COORDINATOR

from splitscan.rebalance.claim_values import Segment
from splitscan.rebalance.client import Coordinator
from splitscan.spark.coordination import reachable, register_in_planner, register_scan

SEGMENTS = [Segment(100, "a", False)]
RANGES = [(0, 50), (50, 100)]


def register(spark):
    return register_scan(spark, SEGMENTS, RANGES)


def register_in_planner_process(spark):
    """Through a data source, as a query does."""

    class Reader(DataSourceReader):
        def partitions(self):
            return [InputPartition(register_in_planner(SEGMENTS, RANGES))]

        def read(self, partition):
            found = partition.value
            there = reachable(found.address)
            entries = Coordinator(there, 10).entries(found.scan, 0)
            yield found.scan, found.address.to_option(), there.to_option(), str(entries)

    class Source(DataSource):
        @classmethod
        def name(cls):
            return "asks_planner"

        def schema(self):
            return "scan string, address string, there string, entries string"

        def reader(self, schema):
            return Reader()

    spark.dataSource.register(Source)
    return tuple(spark.read.format("asks_planner").load().first())


@pytest.mark.parametrize("where", ["local_driver", pytest.param("cluster_driver", marks=pytest.mark.large)])
def test_drivers_planners_and_tasks_of_one_virtual_machine_share_one_coordinator(request, where):
    driver = request.getfixturevalue(where)
    scan, address, there, entries = driver.call(register_in_planner_process)
    registered = driver.call(register)
    assert registered.scan != scan
    assert registered.address.to_option() == address == there
    assert entries == "[]"
    assert len(driver.process.find(COORDINATOR)) == 1
    assert registered.address.token not in repr(registered)
