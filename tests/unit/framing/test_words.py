"""Masks of bytes: the same bits however long the pieces are that they are made of."""

from __future__ import annotations

import random

import numpy as np
import pytest

from splitscan.framing import words
from splitscan.framing.frames import as_units
from splitscan.framing.words import contains, count_of, masks_of, prefix_parity

SIZES = (0, 1, 63, 64, 65, 127, 128, 129, 191, 192, 200)


def bits_of(mask: words.Words) -> list[int]:
    value = int.from_bytes(mask.tobytes(), "little")
    return [at for at in range(len(mask) * 64) if value >> at & 1]


@pytest.mark.parametrize("block", [64, 128, 1 << 20])
@pytest.mark.parametrize("size", SIZES)
def test_a_mask_has_a_bit_for_each_byte_that_is_the_symbol(
    size: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "BLOCK", block)
    for data in (b"x" * size, random.Random(size).choices(b"xXy", k=size)):
        units = np.array(list(data), dtype=np.uint8)
        masks = masks_of(units, (ord("x"), ord("y")))
        assert [bits_of(mask) for mask in masks] == [
            [at for at, symbol in enumerate(data) if symbol == wanted] for wanted in b"xy"
        ]
        assert [len(mask) for mask in masks] == [-(-size // 64)] * 2
        (folded,) = masks_of(units, (ord("x"),), fold=0x20)
        assert bits_of(folded) == [at for at, symbol in enumerate(data) if symbol in b"xX"]


@pytest.mark.parametrize("size", SIZES)
def test_parity_is_that_of_counting(size: int) -> None:
    data = random.Random(size).choices(b"xy", k=size)
    (mask,) = masks_of(np.array(data, dtype=np.uint8), (ord("x"),))
    odd = [at for at in range(size) if data[: at + 1].count(ord("x")) % 2]
    assert [at for at in bits_of(prefix_parity(mask)) if at < size] == odd


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_bytes_are_found_and_counted_in_any_slice_of_any_buffer(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "BLOCK", block)
    data = b"aabba"
    for buffer in (data, memoryview(data), bytearray(data)):
        for start in range(6):
            for stop in range(start, 6):
                units = as_units(buffer, 1, False)[start:stop]
                assert contains(units, ord("b")) == (b"b" in data[start:stop])
                assert count_of(units, ord("b")) == data[start:stop].count(b"b")
