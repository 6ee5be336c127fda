"""Coordinators as processes of their own. No Spark."""

import pytest

from splitscan.rebalance.client import Coordinator

from .asking import RANGES, SEGMENTS, running


@pytest.fixture(scope="module")
def shared():
    with running() as process:
        yield process


@pytest.fixture
def scan(shared, request):
    Coordinator(shared.address).create(request.node.name, SEGMENTS, RANGES)
    return request.node.name


@pytest.fixture
def own():
    with running() as process:
        Coordinator(process.address).create("scan", SEGMENTS, RANGES)
        yield process
