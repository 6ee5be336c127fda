"""Columns of fixed width by the kernel, against the reference decoder."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("splitscan_kernel")

from tests.kernel import fixed_width_cases

CASES = 120


def test_reading_gives_what_the_reference_gives() -> None:
    """At every cut, in lines and in records of a fixed length, and of each difficulty some are met."""
    met: Counter[str] = Counter()
    for seed in range(CASES):
        met += fixed_width_cases.check_case(seed)
    assert all(met[name] > 10 for name in ("records", "faults", "lengths", "rescued", "short", "wide")), met
