"""Masks of one bit per byte, packed into machine words: the tools of the word-parallel scanners.

Bit i of word w stands for byte ``64 * w + i``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from splitscan.framing.frames import Offsets

Words = npt.NDArray[np.uint64]
Units = npt.NDArray[Any]

WORD_BITS = 64
BLOCK = 1 << 20  # bytes are looked at piecewise: long enough for threads to run side by side, short enough for caches

NEAR_WORDS = 64  # the first and the last bit are usually near the ends

_ONE = np.uint64(1)
_TOP = np.uint64(WORD_BITS - 1)
_ZERO = np.uint64(0)
_SHIFTS = tuple(np.uint64(shift) for shift in (2, 4, 8, 16, 32))


def masks_of(units: Units, symbols: tuple[int, ...], fold: int = 0) -> list[Words]:
    """One mask per symbol: where ``unit | fold == symbol``.

    Args:
        units: Bytes.
        symbols: What to look for.
        fold: Bits that make no difference, such as 0x20 between ``[`` and ``{``.
    """
    found = [np.empty(-(-len(units) // WORD_BITS), dtype=np.uint64) for _ in symbols]
    hits = np.empty(min(len(units) + -len(units) % WORD_BITS, BLOCK), dtype=bool)
    folded = np.empty(len(hits) if fold else 0, dtype=np.uint8)
    for start in range(0, len(units), BLOCK):
        piece = units[start : start + BLOCK]
        hits = hits[: len(piece) + -len(piece) % WORD_BITS]
        hits[len(piece) :] = False
        if fold:
            piece = np.bitwise_or(piece, fold, out=folded[: len(piece)])
        words = slice(start // WORD_BITS, (start + len(hits)) // WORD_BITS)
        for symbol, mask in zip(symbols, found, strict=True):
            np.equal(piece, symbol, out=hits[: len(piece)])
            mask[words] = np.packbits(hits, bitorder="little").view(np.uint64)
    return found


def contains(units: Units, symbol: int) -> bool:
    """Whether some unit is *symbol*; fastest for an array of bytes over a ``bytes`` object."""
    base: Any = units.base
    whole = base.obj if isinstance(base, memoryview) else base
    if isinstance(whole, bytes) and units.itemsize == 1 and units.flags.c_contiguous:
        start = _address(units) - _address(np.frombuffer(whole, dtype=np.uint8))
        return whole.find(symbol, start, start + len(units)) >= 0
    hits = np.empty(min(len(units), BLOCK), dtype=bool)
    for start in range(0, len(units), BLOCK):
        piece = units[start : start + BLOCK]
        if np.equal(piece, symbol, out=hits[: len(piece)]).any():
            return True
    return False


def _address(units: Units) -> int:
    return int(units.__array_interface__["data"][0])


def count_of(units: Units, symbol: int) -> int:
    """How many units are *symbol*."""
    hits = np.empty(min(len(units), BLOCK), dtype=bool)
    count = 0
    for start in range(0, len(units), BLOCK):
        piece = units[start : start + BLOCK]
        count += int(np.count_nonzero(np.equal(piece, symbol, out=hits[: len(piece)])))
    return count


def prefix_parity(bits: Words) -> Words:
    """For every bit, the parity of the bits up to and including it."""
    moved = np.left_shift(bits, _ONE)
    parity = np.bitwise_xor(bits, moved)
    for shift in _SHIFTS:
        np.left_shift(parity, shift, out=moved)
        parity ^= moved
    np.right_shift(parity, _TOP, out=moved)
    np.bitwise_xor.accumulate(moved, out=moved)
    np.subtract(_ZERO, moved, out=moved)
    parity[1:] ^= moved[:-1]
    return parity


def moved_on(bits: Words) -> Words:
    """Each bit moved to the byte behind it."""
    moved = bits << _ONE
    moved[1:] |= bits[:-1] >> _TOP
    return moved


def positions_of(bits: Words) -> Offsets:
    """Where the bits are, in order."""
    octets = bits.view(np.uint8)
    step = BLOCK // 8
    found = [
        np.flatnonzero(np.unpackbits(octets[start : start + step], bitorder="little").view(np.bool_)) + start * 8
        for start in range(0, len(octets), step)
    ]
    return np.concatenate(found) if len(found) > 1 else found[0] if found else np.empty(0, dtype=np.int64)


def lowest(bits: Words) -> int | None:
    """Where the first bit is."""
    for start, stop in ((0, NEAR_WORDS), (NEAR_WORDS, len(bits))):
        if np.bitwise_or.reduce(bits[start:stop]):
            first = start + int(np.flatnonzero(bits[start:stop])[0])
            word = int(bits[first])
            return first * WORD_BITS + (word & -word).bit_length() - 1
    return None


def highest(bits: Words) -> int | None:
    """Where the last bit is."""
    near = max(len(bits) - NEAR_WORDS, 0)
    for start, stop in ((near, len(bits)), (0, near)):
        if np.bitwise_or.reduce(bits[start:stop]):
            last = start + int(np.flatnonzero(bits[start:stop])[-1])
            return last * WORD_BITS + int(bits[last]).bit_length() - 1
    return None


def without(bits: Words, positions: Offsets) -> Words:
    """The mask without the bits at *positions*, all of which are set."""
    cleared = bits.copy()
    np.bitwise_xor.at(cleared, positions // WORD_BITS, _ONE << (positions % WORD_BITS).astype(np.uint64))
    return cleared
