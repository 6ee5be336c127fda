"""Executors that are lost with what tasks have left on them, or stopped for so long that Spark gives them up."""

import pytest
from tests.clusters import rebalanced
from tests.clusters.driver import CALL_SECONDS
from tests.clusters.faults import costly, happened, suffering
from tests.clusters.processes import continue_all, stop_tree, wait_until
from tests.clusters.records import content, run
from tests.clusters.sabotage import are_held, let_go, load_sabotaged


def kill_an_executor(spark, folder, name):
    """Kill one that runs a task."""
    (folder / name).mkdir()
    assert suffering(spark.range(0, 4, 1, 4), folder / name, {2: "kill executor"}).count() == 4


def shuffle(spark, path, folder, adaptive):
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    frame = costly(rebalanced.load(spark, path), 0.0002).repartition(2, "id")
    found = run(suffering(frame, folder, {3000: "kill executor"}))
    return found.content


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_stage_that_is_run_again_because_its_shuffle_files_are_lost(cluster_driver, source, tmp_path, adaptive):
    log = cluster_driver.process.log
    before = log.read_text().count("FetchFailed")
    assert cluster_driver.call(shuffle, source.path, tmp_path, adaptive) == source.content
    assert happened(tmp_path, "kill executor at 3000") == 1
    assert log.read_text().count("FetchFailed") > before


def lose_cache_and_shuffle(spark, path, folder):
    frame = rebalanced.load(spark, path).persist()
    cached = [run(frame)]
    kill_an_executor(spark, folder, "cache")
    cached.append(run(frame))
    frame.unpersist()

    shuffled = rebalanced.load(spark, path).rdd.map(lambda row: (row["id"] % 7, (row["id"], row["text"])))
    values = shuffled.partitionBy(2).values()
    kept = [content(values.collect())]
    kill_an_executor(spark, folder, "shuffle")
    kept.append(content(values.collect()))
    scans = rebalanced.session_coordinator(spark).scans()
    return cached, kept, rebalanced.logs_of(spark, scans[-2])


def test_cached_blocks_and_shuffle_files_of_an_earlier_job_that_are_lost(cluster_driver, source, tmp_path):
    cached, kept, logs = cluster_driver.call(lose_cache_and_shuffle, source.path, tmp_path)
    for found in cached:
        rebalanced.check(found, logs, source.content, source.offsets)
    assert kept == [source.content, source.content]


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
