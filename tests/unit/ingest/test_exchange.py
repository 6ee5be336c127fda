import ctypes

import pytest

from splitscan.ingest import exchange
from splitscan.ingest.exchange import can_exchange, exchange_paths


def test_two_directories_trade_places(tmp_path):
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").touch()
    exchange_paths(tmp_path / "left", tmp_path / "right")
    assert (tmp_path / "left/right.txt").exists()
    assert (tmp_path / "right/left.txt").exists()


def test_a_missing_name_is_an_error_and_changes_nothing(tmp_path):
    (tmp_path / "left").mkdir()
    with pytest.raises(FileNotFoundError):
        exchange_paths(tmp_path / "left", tmp_path / "right")
    assert (tmp_path / "left").exists()


def test_trying_it_out_leaves_nothing_behind(tmp_path):
    assert can_exchange(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_the_call_is_recognised(tmp_path, monkeypatch):
    monkeypatch.setattr(exchange.sys, "platform", "other")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    assert not can_exchange(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_cannot_be_worked_in(tmp_path):
    (tmp_path / "file").touch()
    assert not can_exchange(tmp_path / "file")
