"""The page of parity: every scenario and every limitation once, and every test that it names is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "scan-framework-parity.md"
SCENARIOS, LIMITATIONS = PAGE.read_text(encoding="utf-8").split("## Limitations of the ancestor")
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
REFERENCE = re.compile(r"`(tests/[\w/.-]+\.py)::(\w+)`")
REFERENCES = sorted(set(REFERENCE.findall(SCENARIOS + LIMITATIONS)))


@cache
def names_in(path: str) -> frozenset[str]:
    """Names of the tests of a file, which is read and not imported."""
    tree = ast.parse((PROJECT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("text", "last"), [(SCENARIOS, 113), (LIMITATIONS, 28)], ids=["scenarios", "limitations"])
def test_every_number_is_there_once_and_in_order(text: str, last: int) -> None:
    assert [int(number) for number, _, _ in ROW.findall(text)] == list(range(1, last + 1))
    assert len(re.findall(r"^\| *\d", text, re.MULTILINE)) == last  # none is written so that it is not seen


def test_every_scenario_has_a_test_or_a_reason() -> None:
    for number, _, here in ROW.findall(SCENARIOS + LIMITATIONS):
        assert REFERENCE.search(here), f"{number} names no test: {here}"


@pytest.mark.thin(40)
@pytest.mark.parametrize(("path", "name"), REFERENCES, ids=lambda part: part.rpartition("/")[2])
def test_every_test_that_is_named_exists(path: str, name: str) -> None:
    assert name.startswith("test_")
    assert name in names_in(path)


def test_nothing_that_looks_like_a_test_is_overlooked() -> None:
    whole = SCENARIOS + LIMITATIONS
    assert whole.count("tests/") == whole.count("::") == len(REFERENCE.findall(whole))
