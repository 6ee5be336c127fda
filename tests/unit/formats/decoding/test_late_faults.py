"""Faults that are put into words only where somebody looks at them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from splitscan.formats.decoding.contract import BAD_VALUE, Decoded, Fault, LateFaults


def test_only_the_faults_that_somebody_looks_at_are_put_into_words() -> None:
    described: list[int] = []

    def describe(raw: tuple[Any, ...]) -> Fault:
        described.append(raw[0])
        return Fault(raw[0], BAD_VALUE, raw[1], False)

    faults = LateFaults([(1, "a"), (4, "b"), (7, "c")], describe)
    decoded = Decoded([pa.nulls(9)], 9, faults)
    assert (len(faults), decoded.broken, described) == (3, [1, 4, 7], [])
    assert [fault.reason for fault in faults[:1]] == ["a"]
    assert faults[2].reason == "c"
    assert described == [1, 7]
    assert faults == [Fault(1, BAD_VALUE, "a", False), Fault(4, BAD_VALUE, "b", False), Fault(7, BAD_VALUE, "c", False)]
