from __future__ import annotations

import sys

import pytest

pytest.importorskip("splitscan_kernel")

from tests.kernel import fuzz


def test_cases_are_dealt_to_all_checks_and_differences_decide_the_exit_code(capsys, monkeypatch):
    seeds = {"a": [], "b": []}

    def differs(seed):
        seeds["b"].append(seed)
        assert seed != 12, "what was seen"

    monkeypatch.setattr(fuzz, "CHECKS", {"a": fuzz.Check(3, seeds["a"].append), "b": fuzz.Check(1, differs)})
    monkeypatch.setattr(sys, "argv", ["fuzz", "--cases", "14", "--seed", "10"])
    assert fuzz.main() == 1
    assert seeds == {"a": list(range(10, 21)), "b": [10, 11, 12]}
    told = capsys.readouterr().out
    assert "b, seed 12: AssertionError: what was seen" in told
    assert told.endswith("a: 11 cases, 0 differences\nb: 3 cases, 1 differences\ntogether: 14 cases, 1 differences\n")

    monkeypatch.setattr(sys, "argv", ["fuzz", "--cases", "5", "--only", "a"])
    assert fuzz.main() == 0
    assert capsys.readouterr().out == "a: 5 cases, 0 differences\ntogether: 5 cases, 0 differences\n"


def test_each_check_of_the_command_compares():
    assert sum(check.share for check in fuzz.CHECKS.values()) == 1000
    for check in fuzz.CHECKS.values():
        for seed in range(5):
            check.compare(seed)
