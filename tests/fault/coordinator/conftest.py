"""Coordinators as processes of their own. No Spark."""

import pytest

from splitscan.rebalance.client import Coordinator
from splitscan.rebalance.coordinator.process import start_coordinator

from .asking import RANGES, SEGMENTS


@pytest.fixture(scope="module")
def shared():
    with start_coordinator() as process:
        yield process


@pytest.fixture
def scan(shared, request):
    Coordinator(shared.address).create(request.node.name, SEGMENTS, RANGES)
    return request.node.name


@pytest.fixture
def own():
    with start_coordinator() as process:
        Coordinator(process.address).create("scan", SEGMENTS, RANGES)
        yield process
