"""What tasks have left and is lost, with executors or alone; executors that are stopped until Spark gives them up."""

import os
from pathlib import Path

import pytest
from pyspark import StorageLevel
from tests.clusters import rebalanced
from tests.clusters.driver import CALL_SECONDS, Driver
from tests.clusters.faults import costly, happened, suffering
from tests.clusters.processes import continue_all, stop_tree, wait_until
from tests.clusters.records import placed, run, run_of
from tests.clusters.sabotage import are_held, let_go, load_sabotaged


@pytest.fixture(scope="module")
def local_driver(tmp_path_factory):
    """One for these tests alone: Spark gives up an executor that lost files, and a local one ends minutes later."""
    driver = Driver(tmp_path_factory.mktemp("driver"), "local[2,4]")
    yield driver
    driver.close()


def kill_an_executor(spark, folder, name):
    """Kill one that runs a task. Returns how many were killed."""
    (folder / name).mkdir()
    suffering(spark.range(0, 4, 1, 4), folder / name, {2: "kill executor"}).count()
    return happened(folder / name, "kill executor at 2")


def shuffle(spark, path, folder, adaptive, what):
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    frame = costly(placed(rebalanced.load(spark, path)), 0.0002).repartition(2, "id")
    found = run(suffering(frame, folder, {3000: what}))
    return found, rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


LOSSES = {"local_driver": "lose shuffle files", "cluster_driver": "kill executor"}


@pytest.mark.parametrize(
    ("where", "adaptive"),
    [
        pytest.param("local_driver", "true", marks=pytest.mark.large),
        ("cluster_driver", "true"),
        pytest.param("cluster_driver", "false", marks=pytest.mark.large),
    ],
)
def test_a_stage_that_is_run_again_because_its_shuffle_files_are_lost(request, source, tmp_path, where, adaptive):
    driver, what = request.getfixturevalue(where), LOSSES[where]
    log = driver.process.log
    before = log.read_text().count("FetchFailed")
    found, logs = driver.call(shuffle, source.path, tmp_path, adaptive, what)
    rebalanced.check(found, logs, source.content, source.offsets)
    assert happened(tmp_path, f"{what} at 3000") == 1
    assert log.read_text().count("FetchFailed") > before


def shuffled(frame):
    """The rows of a frame after a shuffle whose files a later job uses again."""
    pairs = placed(frame).rdd.map(
        lambda row: (row["id"] % 7, (row["partition"], row["place"], row["record_offset"], row["id"], row["text"]))
    )
    return pairs.partitionBy(2).values()


def lose_files(pattern):
    """Remove what tasks of a local master have left on its disk. Returns how many files that were."""
    found = list(Path(os.environ["SPARK_LOCAL_DIRS"]).rglob(pattern))
    for path in found:
        path.unlink()
    return len(found)


def lose_cache_and_shuffle(spark, path, folder, is_local):
    """Runs before and after each loss; the logs of both frames."""
    frame = rebalanced.load(spark, path).persist(
        StorageLevel.DISK_ONLY if is_local else StorageLevel.MEMORY_AND_DISK_DESER
    )
    cached = [run(frame)]
    assert lose_files("rdd_*") if is_local else kill_an_executor(spark, folder, "cache")
    cached.append(run(frame))
    frame.unpersist()

    values = shuffled(rebalanced.load(spark, path))
    kept = [run_of(values.collect())]
    assert lose_files("shuffle_*") if is_local else kill_an_executor(spark, folder, "shuffle")
    kept.append(run_of(values.collect()))
    return (
        cached,
        kept,
        [rebalanced.logs_of(spark, scan) for scan in rebalanced.session_coordinator(spark).scans()[-2:]],
    )


@pytest.mark.large
@pytest.mark.parametrize("where", ["local_driver", "cluster_driver"])
def test_cached_blocks_and_shuffle_files_of_an_earlier_job_that_are_lost(request, source, tmp_path, where):
    driver = request.getfixturevalue(where)
    cached, kept, logs = driver.call(lose_cache_and_shuffle, source.path, tmp_path, where == "local_driver")
    for found, log in zip([*cached, *kept], [logs[0], logs[0], logs[1], logs[1]], strict=True):
        rebalanced.check(found, log, source.content, source.offsets)


def begin_and_keep(spark, path, folder):
    spark.kept = load_sabotaged(spark, path, "held", folder)
    return run(spark.kept)


def run_kept(spark):
    return run(spark.kept), rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


def test_executors_that_are_stopped_until_spark_gives_them_up_and_then_go_on(cluster, cluster_driver, source, tmp_path):
    log = cluster_driver.process.log
    before = log.read_text().count("Lost executor")
    answer = cluster_driver.begin(begin_and_keep, source.path, tmp_path)
    wait_until("readers on both executors", lambda: are_held(tmp_path, rebalanced.PARTITIONS))
    stopped = stop_tree(cluster.executors()[0])
    try:
        wait_until("an executor that is given up", lambda: log.read_text().count("Lost executor") > before)
    finally:
        let_go(tmp_path)
        continue_all(stopped)
    first = answer.result(CALL_SECONDS)
    second, logs = cluster_driver.call(run_kept)
    for found in (first, second):
        rebalanced.check(found, logs, source.content, source.offsets)
