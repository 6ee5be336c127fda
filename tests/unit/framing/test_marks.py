"""Masks of CSV: what they say of quotes and lines does not depend on the blocks in which they are made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from splitscan.framing import words
from splitscan.framing.encodings import resolve_encoding
from splitscan.framing.quoted import Dialect, marks
from splitscan.framing.quoted.bits import scan_bits
from splitscan.framing.quoted.fast import scan_positions

RFC, ESCAPED = (Dialect(resolve_encoding("UTF-8"), escape=escape, multi_line=True) for escape in ('"', "\\"))


def scanned(data: bytes, dialect: Dialect) -> list[Any] | None:
    units = np.frombuffer(data, dtype=np.uint8)
    found = scan_bits(units, dialect, first_opens=True, last_closes=True, at_end=False)
    if found is None:
        return None
    return [
        [at.tolist() for at in found.boundaries(inside=inside)]
        + [found.ends_inside(inside=inside), found.bad(inside=inside)]
        for inside in (False, True)
    ]


@given(
    pieces=st.lists(
        st.tuples(st.sampled_from(["x", ",", '"', "\n", "\r", "\r\n", '","', ',"', '",', "é"]), st.integers(1, 70)),
        min_size=1,
        max_size=12,
    )
)
@example(pieces=[("x", 63), (",", 1), ('"', 1), ("x", 70), ('"', 1), ("\n", 1)])
@example(pieces=[('"', 1), ("x", 62), ('"', 1), (",", 1), ("x", 63), ("\n", 1)])
@example(pieces=[("x", 63), ("\r\n", 1), ("x", 70), ('"', 2)])
def test_blocks_make_no_difference(pieces: list[tuple[str, int]]) -> None:
    data = "".join(text * count for text, count in pieces).encode()
    for dialect in (RFC, ESCAPED):
        whole = scanned(data, dialect)
        assert whole is not None
        with pytest.MonkeyPatch.context() as patch:
            for room in (words, marks):
                patch.setattr(room, "BLOCK", 64)
            assert scanned(data, dialect) == whole


def test_an_escape_in_any_block_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (words, marks):
        monkeypatch.setattr(room, "BLOCK", 64)
    for at in range(200):
        data = b"x" * at + b"\\" + b"x" * (200 - at)
        assert scanned(data, ESCAPED) is None
        assert scanned(data, RFC) is not None


@pytest.mark.parametrize("size", [64, 65, 128, 191])
def test_a_carriage_return_and_its_line_feed_may_be_in_two_blocks(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (words, marks):
        monkeypatch.setattr(room, "BLOCK", 64)
    for data in (b"x" * (size - 1) + b"\r\ny\n", b"x" * (size - 1) + b"\ry\n", b"x" * (size - 1) + b"\r"):
        units = np.frombuffer(data, dtype=np.uint8)
        found = scan_bits(units, RFC, first_opens=True, last_closes=True, at_end=False)
        slow = scan_positions(units, 0, len(units), RFC, inside=False, at_start=True, at_end=False)
        assert found is not None
        stops, nexts = found.boundaries(inside=False)
        assert (stops.tolist(), nexts.tolist()) == (slow.stops.tolist(), slow.nexts.tolist())
