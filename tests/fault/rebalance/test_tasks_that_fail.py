"""Rebalanced scans whose tasks raise, hang, are killed, copied, run twice or not to their end."""

import pytest
from tests.clusters import rebalanced
from tests.clusters.faults import costly, happened, suffering
from tests.clusters.records import run
from tests.clusters.sabotage import load_sabotaged

FAULTS = {
    "local_driver": {0: "raise", 3000: "kill worker", 5999: "raise"},
    "cluster_driver": {0: "raise", 1000: "dawdle", 2000: "kill worker", 4000: "kill executor", 5999: "kill worker"},
}


def skewed(number):
    return 0.002 if number < 600 else 0.0001


def read_with_faults(spark, path, folder, faults, open_frame=rebalanced.load, times=1):
    frame = costly(open_frame(spark, path), skewed)
    found = run(suffering(frame, folder, faults, times))
    return found, rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


@pytest.mark.parametrize(
    ("where", "open_frame"),
    [
        *((where, rebalanced.load) for where in FAULTS),
        ("local_driver", rebalanced.scan),
        pytest.param("cluster_driver", rebalanced.scan, marks=pytest.mark.large),
    ],
)
def test_tasks_that_fail_are_tried_again_and_read_what_the_log_says(request, source, tmp_path, where, open_frame):
    driver = request.getfixturevalue(where)
    found, logs = driver.call(read_with_faults, source.path, tmp_path, FAULTS[where], open_frame)
    rebalanced.check(found, logs, source.content, source.offsets)
    assert all(happened(tmp_path, f"{what} at {number}") == 1 for number, what in FAULTS[where].items())


@pytest.mark.parametrize(("what", "times"), [("hang", 1), ("outlast copy", 2)])
def test_a_task_and_its_copy_of_which_one_hangs(cluster_driver, source, tmp_path, what, times):
    """Alone: Spark starts one copy of a task, and no other one if that fails."""
    found, logs = cluster_driver.call(read_with_faults, source.path, tmp_path, {1000: what}, times=times)
    rebalanced.check(found, logs, source.content, source.offsets)
    assert happened(tmp_path, f"{what} at 1000") == times


def read_unevenly(spark, path, folder):
    found = run(suffering(load_sabotaged(spark, path, "uneven", folder), folder, {0: "raise", 900: "kill worker"}))
    return found, rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


def test_what_was_taken_over_is_read_once_when_both_sides_fail(local_driver, source, tmp_path):
    found, logs = local_driver.call(read_unevenly, source.path, tmp_path)
    rebalanced.check(found, logs, source.content, source.offsets)
    assert logs.steals
    assert happened(tmp_path, "raise at 0") == happened(tmp_path, "kill worker at 900") == 1


def read_sabotaged(spark, path, folder, what, times):
    found = run(costly(load_sabotaged(spark, path, what, folder, times), skewed))
    return found, rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


@pytest.mark.parametrize("where", ["local_driver", pytest.param("cluster_driver", marks=pytest.mark.large)])
@pytest.mark.parametrize(("what", "times"), [("after end", 2), ("in flight", 3), ("answer lost", 8)])
def test_readers_that_die_or_lose_an_answer_at_the_worst_moment_change_nothing(
    request, source, tmp_path, where, what, times
):
    found, logs = request.getfixturevalue(where).call(read_sabotaged, source.path, tmp_path, what, times)
    rebalanced.check(found, logs, source.content, source.offsets)
    assert happened(tmp_path, what) == times


def read_until_given_up(spark, path, folder):
    """A record whose handling fails three times is read all the same; one for which it fails four times is not."""
    frame = rebalanced.load(spark, path)
    first = run(suffering(frame, folder, {3000: "raise"}, 3))
    try:
        run(suffering(frame, folder, {3001: "raise"}, 4))
        failure = "none"
    except Exception as error:
        failure = str(error)
    return first, failure, run(frame), rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


def test_a_task_that_spark_gives_up_fails_the_job_and_the_next_job_reads_the_same(local_driver, source, tmp_path):
    first, failure, second, logs = local_driver.call(read_until_given_up, source.path, tmp_path)
    assert "InjectedError" in failure
    assert (happened(tmp_path, "raise at 3000"), happened(tmp_path, "raise at 3001")) == (3, 4)
    for found in (first, second):
        rebalanced.check(found, logs, source.content, source.offsets)
