"""Rebalanced ingests whose tasks raise, and lose their processes: each record once, in the order of the log."""

import pyarrow.parquet as pq
import pytest
from tests.clusters import rebalanced
from tests.clusters.faults import happened
from tests.clusters.lines import SCHEMA, SufferingLines, write_lines
from tests.clusters.records import run_of

import splitscan as ss
from splitscan.jobs import verify

RECORDS = 2000
FAULTS = {
    "local_driver": {0: "raise", 700: "kill worker", 1400: "raise"},
    "cluster_driver": {0: "raise", 700: "kill worker", 1400: "kill executor"},
}


def ingest(spark, path, destination, folder, faults):
    scan = ss.scan(path, SufferingLines(folder, faults), SCHEMA, task_size="10k", min_partitions=rebalanced.PARTITIONS)
    report = scan.ingest(spark, destination, rebalance=True)
    again = scan.ingest(spark, destination, rebalance=True).nothing_to_do
    return report.rows, report.rebalance, again, rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


def rows_in(destination):
    """The rows as a run of a frame has them: files in the order of the entries that name them."""
    place = 0
    for path in sorted(destination.glob("part-*.parquet")):
        partition = int(path.name.split("-")[3])
        for row in pq.read_table(path).to_pylist():
            yield partition, place, row["record_offset"], row["id"], row["text"]
            place += 1


@pytest.mark.parametrize("where", ["local_driver", pytest.param("cluster_driver", marks=pytest.mark.large)])
def test_an_ingest_whose_tasks_and_executors_are_lost_delivers_what_its_log_says(request, tmp_path, where):
    content, offsets = write_lines(tmp_path / "a.txt", RECORDS)
    faults, destination = FAULTS[where], tmp_path / "out"
    driver = request.getfixturevalue(where)
    rows, report, again, logs = driver.call(ingest, str(tmp_path / "a.txt"), destination, tmp_path, faults)
    assert (rows, again) == (RECORDS, True)
    rebalanced.check(run_of(rows_in(destination)), logs, content, offsets)
    assert verify(destination, deep=True).ok
    assert report.finished
    assert report.claimed_bytes == (tmp_path / "a.txt").stat().st_size
    assert all(happened(tmp_path, f"{what} at {number}") == 1 for number, what in faults.items())
