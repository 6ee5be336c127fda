"""Tests with many alike cases: some of them each day in `make check`, and all in `make test`."""

import pytest
from tests import conftest


class Case:
    """A test with its marks, as pytest collects it."""

    def __init__(self, nodeid: str, *marks: pytest.MarkDecorator) -> None:
        self.nodeid, self.marks = nodeid, [mark.mark for mark in marks]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.mark)


def quick(cases: list[Case]) -> list[str]:
    conftest._thin(cases)
    return [case.nodeid for case in cases if not case.get_closest_marker("slow")]


def thin(kept: int) -> list[Case]:
    return [Case(f"a.py::test[{number}]", pytest.mark.thin(kept)) for number in range(90)]


def test_some_cases_are_quick_and_in_time_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    for day in range(40):
        monkeypatch.setenv("SPLITSCAN_TESTS_DRAW", str(day))
        drawn = quick(thin(20))
        assert len(drawn) == 20
        assert drawn == quick(thin(20))
        seen.update(drawn)
    assert len(seen) == 90


def test_all_are_quick_if_all_are_asked_for_or_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPLITSCAN_TESTS_DRAW", "day")
    assert len(quick(thin(91))) == 90
    monkeypatch.setenv("SPLITSCAN_TESTS_DRAW", "all")
    assert len(quick(thin(20))) == 90


def test_what_is_slow_is_none_of_those_that_are_kept() -> None:
    cases = thin(20)
    for case in cases[:60]:
        case.add_marker(pytest.mark.slow)
    assert len(quick(cases)) == 20


def test_very_many_cases_are_not_quick_by_accident() -> None:
    cases = [Case(f"a.py::test[{number}]") for number in range(101)]
    with pytest.raises(pytest.UsageError, match=r"a\.py::test has 101 cases: mark it thin"):
        conftest._thin(cases)
    assert len(quick(cases[:100])) == 100
