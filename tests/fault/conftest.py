"""Places where Spark runs whose processes may be killed: each is started when a test first asks for it."""

import pytest

from ..clusters.driver import Driver
from ..clusters.processes import wait_until
from ..clusters.standalone import SMALL_SETTINGS, StandaloneCluster

PLACES = {"cluster", "cluster_driver", "small_cluster_driver", "local_driver"}


def pytest_collection_modifyitems(items):
    for item in items:
        chosen = {item.callspec.params.get("where")} if hasattr(item, "callspec") else set()
        if PLACES & (set(item.fixturenames) | chosen):
            for mark in (pytest.mark.spark, pytest.mark.fault, pytest.mark.slow):
                item.add_marker(mark)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A standalone cluster of two workers."""
    started = StandaloneCluster(tmp_path_factory.mktemp("cluster") / "files")
    yield started
    started.close()


@pytest.fixture(scope="session")
def _application(cluster):
    driver = cluster.driver()
    yield driver
    driver.close()


@pytest.fixture
def cluster_driver(cluster, _application):
    """An application on the cluster, with an executor on each worker: those that were killed have been replaced."""
    wait_until(
        "executors that Spark knows",
        lambda: (ids := cluster.executor_ids()) and ids == _application.call(known_executors),
    )
    return _application


def known_executors(spark):
    """Which executors may be given tasks."""
    ids = spark.sparkContext._jsc.sc().getExecutorIds()
    return {ids.apply(number) for number in range(ids.size())}


@pytest.fixture
def small_cluster_driver(cluster, tmp_path_factory):
    """An application beside that one, for a test that ends it, or lets its jobs fail."""
    driver = Driver(tmp_path_factory.mktemp("driver"), cluster.master, SMALL_SETTINGS)
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def local_driver(tmp_path_factory):
    """An application that runs its tasks itself, two at a time, and tries each four times."""
    driver = Driver(tmp_path_factory.mktemp("driver"), "local[2,4]")
    yield driver
    driver.close()
