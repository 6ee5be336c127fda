"""One rebalanced DataFrame in several actions, plans and threads, in part or as a whole: always the same rows."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from io import StringIO

import pytest
from tests.clusters import rebalanced
from tests.clusters.processes import wait_until
from tests.clusters.records import run
from tests.clusters.sabotage import are_held, let_go, load_sabotaged

BOTH = pytest.mark.parametrize("where", ["local_driver", pytest.param("cluster_driver", marks=pytest.mark.large)])


def read_with_log(spark, frame):
    """A run of a frame that was planned last, and the log of its scan."""
    return run(frame), rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


def scans_during(spark, act):
    """What *act* returns, and how many scans were planned meanwhile."""
    before = len(rebalanced.session_coordinator(spark).scans())
    found = act()
    return found, len(rebalanced.session_coordinator(spark).scans()) - before


def use_again(spark, path):
    frame = rebalanced.load(spark, path)

    def act():
        first = run(frame)
        counted = frame.count(), frame.select("id").distinct().count(), frame.filter("id % 2 = 0").count()
        return first, counted, run(frame.select("*")), run(frame.union(frame)), frame.join(frame, "id").count()

    found, scans = scans_during(spark, act)
    return *found, scans, rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


@BOTH
def test_actions_plans_unions_and_joins_of_one_frame_read_the_same_log(request, source, where):
    first, counted, second, both, joined, scans, logs = request.getfixturevalue(where).call(use_again, source.path)
    records = source.content.records
    rebalanced.check(first, logs, source.content, source.offsets)
    assert second == first
    assert counted == (records, records, records // 2)
    assert (both.content.records, both.content.distinct) == (2 * records, records)
    assert both.content.hash == 2 * source.content.hash % (1 << 64)
    assert [offsets for _, offsets in sorted(both.offsets.items())] == 2 * [
        offsets for _, offsets in sorted(first.offsets.items())
    ]
    assert joined == records
    assert scans == 1


def use_in_part(spark, path):
    frame = rebalanced.load(spark, path, blockSize=20_000)

    def act():
        limited = [len(frame.limit(count).collect()) for count in (1, 5, 3000)]
        limited += [len(frame.take(count)) for count in (1, 700)]
        limited.append(frame.first() is not None)
        iterator = frame.toLocalIterator()
        limited.append(len([next(iterator) for _ in range(10)]))
        with redirect_stdout(StringIO()) as shown:
            frame.show(3)
        return limited, len(shown.getvalue().splitlines()) > 3, len(list(frame.toLocalIterator())), run(frame)

    found, scans = scans_during(spark, act)
    return *found, scans, rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


@BOTH
def test_limits_and_iterators_that_stop_early_lose_nothing_of_the_whole(request, source, where):
    limited, shown, iterated, whole, scans, logs = request.getfixturevalue(where).call(use_in_part, source.path)
    assert limited == [1, 5, 3000, 1, 700, True, 10]
    assert shown
    assert iterated == source.content.records
    rebalanced.check(whole, logs, source.content, source.offsets)
    assert scans == 1


def use_at_once(spark, path):
    """Two actions of one frame in two threads, while this one keeps Python's lock to itself.

    Spark may plan a frame twice when two threads ask at once; each action reads one of these scans.
    """
    before = len(rebalanced.session_coordinator(spark).scans())
    frame = load_sabotaged(spark, path, "slow")
    with ThreadPoolExecutor(2) as pool:
        actions = [pool.submit(run, frame) for _ in range(2)]
        while not all(action.done() for action in actions):
            sorted(range(500_000), key=int.__neg__)  # one call that lets nobody else run
    found = [action.result() for action in actions]
    scans = rebalanced.session_coordinator(spark).scans()[before:]
    return found, [rebalanced.logs_of(spark, scan) for scan in scans]


@BOTH
def test_two_actions_at_once_under_a_driver_that_is_busy(request, source, where):
    found, scans = request.getfixturevalue(where).call(use_at_once, source.path)
    assert 1 <= len(scans) <= 2
    for each in found:
        assert each.content == source.content
        assert each.offsets in [rebalanced.offsets_by(logs, source.offsets) for logs in scans]


def use_after_cancelling(spark, path, folder):
    frame = load_sabotaged(spark, path, "held", folder)
    cancelled = threading.Event()

    def act():
        spark.sparkContext.setJobGroup("cancelled", "cancelled", interruptOnCancel=True)
        try:
            run(frame)
        except Exception:
            cancelled.set()

    thread = threading.Thread(target=act)
    thread.start()
    wait_until("readers in both slots", lambda: are_held(folder, 2))
    spark.sparkContext.cancelJobGroup("cancelled")
    thread.join()
    let_go(folder)
    return cancelled.is_set(), run(frame), rebalanced.logs_of(spark, rebalanced.latest_scan(spark))


@BOTH
def test_a_job_that_was_cancelled_and_run_again(request, source, tmp_path, where):
    cancelled, found, logs = request.getfixturevalue(where).call(use_after_cancelling, source.path, tmp_path)
    assert cancelled
    rebalanced.check(found, logs, source.content, source.offsets)


def use_with_filters(spark, path):
    """Spark shares what filters are pushed between the queries of one load; nothing may come of it."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = rebalanced.load(spark, path)
        few, many = frame.filter("id < 10"), frame.filter("id >= 5990")
        return (
            frame.count(),
            few.count(),
            many.count(),
            frame.count(),
            few.union(many).count(),
            *read_with_log(spark, frame),
        )
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@BOTH
def test_filters_on_one_frame_do_not_leak_into_each_other(request, source, where):
    *counts, found, logs = request.getfixturevalue(where).call(use_with_filters, source.path)
    assert counts == [6000, 10, 10, 6000, 20]
    rebalanced.check(found, logs, source.content, source.offsets)
