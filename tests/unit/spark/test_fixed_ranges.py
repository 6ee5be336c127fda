"""Where there can be no coordinator, planning goes on by fixed ranges, and says so."""

from unittest.mock import MagicMock

import pytest
from pyspark.errors import AnalysisException

from splitscan.errors import RebalanceError
from splitscan.rebalance.claim_values import Segment
from splitscan.rebalance.client import Connection
from splitscan.rebalance.coordinator_process import SharedCoordinator
from splitscan.rebalance.messages import CoordinatorAddress
from splitscan.spark import coordination
from splitscan.spark.coordination import RebalanceWarning, has_coordinator, register_in_planner, register_scan


class Server:
    """A session of Spark Connect whose server knows no data sources."""

    @property
    def dataSource(self):  # noqa: N802 - as Spark calls it
        raise AnalysisException("no Python on this server")


def test_a_connect_server_that_cannot_run_the_registry_is_a_warning(monkeypatch):
    monkeypatch.setattr(coordination, "classic_context", lambda spark: None)
    with pytest.warns(RebalanceWarning, match=r"fixed ranges(?s:.)*AnalysisException: no Python on this server"):
        assert register_scan(Server(), [Segment(1)], [(0, 1)]) is None


def test_a_planner_without_a_folder_for_temporary_files_warns(monkeypatch, tmp_path):
    monkeypatch.setattr(coordination, "find_jvm", lambda: 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nothing"))
    with pytest.warns(RebalanceWarning, match="TMPDIR"):
        assert register_in_planner([Segment(1)], [(0, 1)]) is None


def test_other_errors_are_not_taken_for_that(monkeypatch):
    def fail():
        raise ZeroDivisionError

    monkeypatch.setattr(coordination, "find_jvm", fail)
    with pytest.raises(ZeroDivisionError):
        register_in_planner([Segment(1)], [(0, 1)])


class TestWhetherThereIsACoordinator:
    """It is asked whether it answers, and told of no scan."""

    @pytest.fixture
    def asked(self, monkeypatch):
        address = CoordinatorAddress("127.0.0.1", 1, "t")
        found = SharedCoordinator(address, address)
        monkeypatch.setattr(coordination, "shared_coordinator", lambda *_: found)
        monkeypatch.setattr(coordination, "find_jvm", lambda: 1)
        calls = []
        monkeypatch.setattr(Connection, "call", lambda _, request: calls.append(request["op"]) or {})
        return calls

    def test_of_a_classic_session(self, monkeypatch, asked):
        monkeypatch.setattr(coordination, "classic_context", lambda spark: MagicMock())
        assert has_coordinator(None)
        assert asked == ["ping"]

    def test_of_a_driver_that_has_none(self, monkeypatch, asked):
        monkeypatch.setattr(coordination, "classic_context", lambda spark: MagicMock())
        monkeypatch.setattr(Connection, "call", lost)
        with pytest.warns(RebalanceWarning, match="it is gone"):
            assert not has_coordinator(None)

    def test_beside_a_server_of_connect(self, asked):
        (partition,) = coordination.RegistrySource({}).reader(None).partitions()
        assert list(coordination.RegistrySource({}).reader(None).read(partition)) == [(None, None, None)]
        assert asked == ["ping"]

    def test_beside_a_server_of_connect_that_has_none(self, monkeypatch, asked):
        monkeypatch.setattr(Connection, "call", lost)
        (partition,) = coordination.RegistrySource({}).reader(None).partitions()
        assert "it is gone" in partition.value[2]


def lost(*_):
    raise RebalanceError("the coordinator answers", seen="it is gone", code="coordinator-lost")
