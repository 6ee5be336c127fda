"""The connector on a cluster whose executors are killed while they read, with copies of slow tasks: rows once."""

import pytest
from tests.clusters.faults import happened, suffering
from tests.clusters.records import OPTIONS, SCHEMA, run, write_records

import splitscan as ss
from splitscan.spark.connector import connector_jar

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.slow,
    pytest.mark.skipif(connector_jar() is None, reason="the connector was not built"),
]

FAULTS = {100: "kill executor", 1500: "dawdle", 2800: "raise", 3500: "kill executor"}


def read(spark, path, folder, name):
    if name == "to_spark":
        frame = ss.scan_csv(path, SCHEMA, block_size="16 KiB", min_partitions=8, **OPTIONS).to_spark(spark)
    else:
        ss.register(spark)
        reader = spark.read.format("splitscan").option("blockSize", "16 KiB").options(minPartitionNum=8, **OPTIONS)
        frame = reader.schema(SCHEMA).load(str(path))
    assert "BatchScan splitscan" in frame._jdf.queryExecution().toString()
    return run(suffering(frame, folder, FAULTS)), frame.count()


@pytest.mark.parametrize("name", ["to_spark", "load"])
def test_executors_that_are_killed_and_copies_of_tasks_cost_and_double_no_record(cluster_driver, tmp_path, name):
    known = write_records(tmp_path / "in.csv", 4000)
    found, count = cluster_driver.call(read, tmp_path / "in.csv", tmp_path, name)
    assert found.content == known
    assert count == known.records
    assert all(happened(tmp_path, f"{what} at {number}") == 1 for number, what in FAULTS.items())
