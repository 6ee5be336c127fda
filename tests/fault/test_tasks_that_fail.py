"""Tasks that raise, hang, or whose worker or executor is killed: every road that cuts before it reads."""

import pyarrow.parquet as pq
import pytest

import splitscan as ss
from splitscan.jobs import verify

from ..clusters.driver import CALL_SECONDS
from ..clusters.faults import happened, suffering
from ..clusters.processes import wait_until
from ..clusters.records import OPTIONS, SCHEMA, content, run, write_records

RECORDS = 6000
BLOCKS = {"blockSize": 16_000, "taskSize": 64_000, "openCostInBytes": 0}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "a.csv"
    return str(path), write_records(path, RECORDS)


def scanned(spark, path):
    scan = ss.scan_csv(path, SCHEMA, metadata_columns=["record_offset"], **OPTIONS, **BLOCKS)
    return scan.to_spark(spark)


def loaded(spark, path):
    reader = spark.read.format("splitscan").options(header=True, multiLine=True, escape='"', **BLOCKS)
    return reader.schema(SCHEMA + ", record_offset long").options(metadataColumns="record_offset").load(path)


def read_with_faults(spark, path, open_frame, folder, faults, times=1):
    return run(suffering(open_frame(spark, path), folder, faults, times))


def check(found, expected):
    assert found.content == expected
    assert len(found.offsets) > 4
    for offsets in found.offsets.values():
        assert offsets == sorted(offsets)
    assert sorted(found.offsets, key=lambda each: found.offsets[each][0]) == sorted(found.offsets)


FAULTS = {
    "local_driver": {0: "raise", 3000: "kill worker", RECORDS - 1: "raise"},
    "cluster_driver": {0: "raise", 1000: "dawdle", 2000: "kill worker", 4000: "kill executor", 5999: "kill worker"},
}


@pytest.mark.parametrize(
    ("where", "open_frame"),
    [
        *((where, loaded) for where in FAULTS),
        ("local_driver", scanned),
        pytest.param("cluster_driver", scanned, marks=pytest.mark.large),
    ],
)
def test_tasks_that_fail_are_tried_again_and_rows_are_those_of_the_file(request, source, tmp_path, where, open_frame):
    path, expected = source
    faults = FAULTS[where]
    driver = request.getfixturevalue(where)
    check(driver.call(read_with_faults, path, open_frame, tmp_path, faults), expected)
    assert all(happened(tmp_path, f"{what} at {number}") == 1 for number, what in faults.items())


def test_a_task_that_hangs_is_overtaken_by_its_copy(cluster_driver, source, tmp_path):
    """Alone: Spark starts one copy of a task, and no other one if that fails."""
    path, expected = source
    check(cluster_driver.call(read_with_faults, path, loaded, tmp_path, {1000: "hang"}), expected)
    assert happened(tmp_path, "hang at 1000") == 1


def count_and_ingest(spark, path, out, marks):
    """Ingest in parts so small that it takes a while, and count; tell when a few parts are there."""

    def tell(progress):
        if progress.blocks_done > 3:
            (marks / "some-0").touch()

    scan = ss.scan_csv(path, SCHEMA, **OPTIONS, blockSize=4_000, taskSize=8_000, openCostInBytes=0)
    report = scan.ingest(spark, out, on_progress=tell)
    return scan.count(spark), report.rows


@pytest.mark.parametrize("victims", ["executors", pytest.param("python_workers", marks=pytest.mark.large)])
def test_an_ingest_and_a_count_on_a_cluster_survive_what_is_killed_meanwhile(
    source, tmp_path, cluster, cluster_driver, victims
):
    path, expected = source
    out = tmp_path / "out"
    answer = cluster_driver.begin(count_and_ingest, path, str(out), tmp_path)
    wait_until("some parts", lambda: happened(tmp_path, "some"))
    killed = wait_until("a victim", getattr(cluster, victims))[-1]
    killed.kill()
    assert answer.result(CALL_SECONDS) == (expected.records, expected.records)
    wait_until("its end", lambda: not killed.is_running)
    report = verify(out, deep=True)
    assert report.problems == report.notes == ()
    assert content((row["id"], row["text"]) for row in pq.read_table(out).to_pylist()) == expected
