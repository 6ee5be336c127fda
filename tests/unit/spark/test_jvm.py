"""What a planner finds out about its driver, and where a coordinator listens because of it."""

import os
import socket
import sys
from collections import Counter

import pytest

from splitscan.errors import RebalanceError
from splitscan.rebalance.coordinator_process import ListenAddress
from splitscan.rebalance.messages import CoordinatorAddress
from splitscan.spark import coordination
from splitscan.spark.coordination import reachable

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

EXECUTORS = ["java", "dispatcher-Coar"]
OUTER = ListenAddress("10.0.0.5", "10.0.0.5")
EVERYWHERE = ListenAddress("0.0.0.0", socket.gethostname())


def listening(family, address):
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.bind((address, 0))
    opened.listen()
    return opened


def test_the_addresses_that_a_process_listens_on_are_read_from_the_kernel():
    before = coordination.listened_addresses(os.getpid())
    with listening(socket.AF_INET, "127.0.0.3"), listening(socket.AF_INET6, "::ffff:127.0.0.4"):
        assert coordination.listened_addresses(os.getpid()) - before == {"127.0.0.3": 1, "127.0.0.4": 1}
    with listening(socket.AF_INET6, "::"):
        assert "0.0.0.0" in coordination.listened_addresses(os.getpid())
    assert coordination.listened_addresses(os.getpid()) == before


@pytest.mark.parametrize(
    ("threads", "bound", "place"),
    [
        (["java", "main"], {"10.0.0.5": 2}, ListenAddress()),
        (EXECUTORS, {"10.0.0.5": 2, "127.0.0.1": 1}, OUTER),
        (EXECUTORS, {"10.0.0.5": 2, "0.0.0.0": 1}, OUTER),
        (EXECUTORS, {"127.0.0.1": 3}, ListenAddress()),
        (EXECUTORS, {"127.0.0.1": 3, "0.0.0.0": 1}, ListenAddress()),  # Spark's UI
        (EXECUTORS, {"127.0.0.1": 2, "0.0.0.0": 2}, ListenAddress()),  # ... and the server of Spark Connect
        (EXECUTORS, {"127.0.0.1": 1, "127.0.0.3": 2, "0.0.0.0": 1}, ListenAddress("127.0.0.3", "127.0.0.3")),
        (EXECUTORS, {"127.0.0.1": 1, "0.0.0.0": 2}, EVERYWHERE),  # the gateway of PySpark alone
        (EXECUTORS, {"127.0.0.1": 2, "0.0.0.0": 3}, EVERYWHERE),  # ... and a debugger
        (EXECUTORS, {"10.0.0.5": 2, "10.1.0.5": 2}, EVERYWHERE),
        (EXECUTORS, {}, EVERYWHERE),
    ],
)
def test_a_coordinator_listens_where_its_driver_does_and_only_on_loopback_without_executors(
    monkeypatch, threads, bound, place
):
    monkeypatch.setattr(coordination, "thread_names", lambda process: iter(threads))
    monkeypatch.setattr(coordination, "listened_addresses", lambda process: Counter(bound))
    assert coordination.choose_place(1) == place


def test_threads_of_a_process_are_known_by_name():
    assert any(name.strip() for name in coordination.thread_names(os.getpid()))
    assert coordination.choose_place(os.getpid()) == ListenAddress()


def test_without_a_virtual_machine_above_there_is_no_place_for_a_coordinator():
    with pytest.raises(RebalanceError, match=r"\[coordinator-failed\](?s:.)*no ancestor of this process"):
        coordination.find_jvm()


class Context:
    def __init__(self, host):
        self._host = host

    def getLocalProperty(self, name):  # noqa: N802 - as Spark calls it
        assert name == "spark.driver.host"
        return self._host


@pytest.mark.parametrize(
    ("advertised", "driver", "used"),
    [
        ("127.0.0.1", "driver.example", "127.0.0.1"),  # tasks run in the driver itself
        ("planner.example", "driver.example", "driver.example"),
        ("planner.example", None, "planner.example"),
    ],
)
def test_a_task_finds_the_coordinator_where_it_finds_its_driver(monkeypatch, advertised, driver, used):
    monkeypatch.setattr(coordination.TaskContext, "get", lambda: Context(driver))
    assert reachable(CoordinatorAddress(advertised, 4000, "t")) == CoordinatorAddress(used, 4000, "t")


def test_a_plan_travels_as_the_text_of_an_option():
    segments, ranges = (
        [coordination.Segment(10, '["a"]', True), coordination.Segment(5, "é", False)],
        [(0, 10), (10, 15)],
    )
    assert coordination.unpack_plan(coordination.pack_plan(segments, ranges)) == (segments, ranges)
