"""Runs of escape units."""

from __future__ import annotations

import numpy as np
import pytest

from splitscan.formats.text.terminated import droppable_before, keep_unescaped, run_before

ESCAPE = ord("/")


def units(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("nnn", [0, 1, 2]),
        ("/n", []),
        ("//n", [2]),
        ("///n", []),
        ("n/n//n", [0, 5]),
        ("/an", [2]),
        ("//", []),
        ("", []),
    ],
)
def test_only_positions_behind_even_runs_are_kept(text: str, kept: list[int]) -> None:
    positions = np.flatnonzero(units(text) == ord("n"))
    assert keep_unescaped(units(text), positions, ESCAPE).tolist() == kept
    assert keep_unescaped(units(text), positions, None).tolist() == positions.tolist()


@pytest.mark.parametrize("length", [0, 1, 2, 4095, 4096, 4097, 10_000])
def test_a_run_is_counted_whole(length: int) -> None:
    text = units("a" + "/" * length + "b")
    assert run_before(text, length + 1, ESCAPE) == length
    assert run_before(text[1:], length, ESCAPE) == length
    assert run_before(text, length + 2, ESCAPE) == 0
    assert run_before(text, length + 1, None) == 0


def test_an_open_escape_is_kept_and_closed_ones_go() -> None:
    assert droppable_before(units("a///"), 4, ESCAPE) == 3
    assert droppable_before(units("a//"), 3, ESCAPE) == 3
    assert droppable_before(units("a///"), 3, ESCAPE) == 3
    assert droppable_before(units("a///"), 4, None) == 4
