"""Places where Spark runs whose processes may be killed: each is started when a test first asks for it."""

import pytest

from ..clusters.driver import Driver
from ..clusters.standalone import StandaloneCluster


def pytest_collection_modifyitems(items):
    for item in items:
        if {"cluster", "cluster_driver", "local_driver"} & set(item.fixturenames):
            for mark in (pytest.mark.spark, pytest.mark.fault, pytest.mark.slow):
                item.add_marker(mark)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A standalone cluster of two workers."""
    started = StandaloneCluster(tmp_path_factory.mktemp("cluster") / "files")
    yield started
    started.close()


@pytest.fixture(scope="session")
def cluster_driver(cluster):
    """An application on the cluster, with an executor on each worker."""
    driver = cluster.driver()
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def local_driver(tmp_path_factory):
    """An application that runs its tasks itself, two at a time, and tries each four times."""
    driver = Driver(tmp_path_factory.mktemp("driver"), "local[2,4]")
    yield driver
    driver.close()
