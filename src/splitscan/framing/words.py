"""Masks of one bit per byte, packed into machine words: the tools of the word-parallel scanners.

Bit i of word w stands for byte ``64 * w + i``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from splitscan.framing.frames import Flags, Offsets, Units

Words = npt.NDArray[np.uint64]

WORD_BITS = 64
BLOCK = 1 << 19  # bytes are looked at piecewise: short enough for caches, long enough for threads to run side by side

NEAR_WORDS = 64  # the first and the last bit are usually near the ends

_ONE = np.uint64(1)
_TOP = np.uint64(WORD_BITS - 1)
_SHIFTS = tuple(np.uint64(shift) for shift in (2, 4, 8, 16, 32))


def masks_of(units: Units, symbols: tuple[int, ...], fold: int = 0) -> list[Words]:
    """One mask per symbol: where ``unit | fold == symbol``.

    Args:
        units: Bytes.
        symbols: What to look for.
        fold: Bits that make no difference, such as 0x20 between ``[`` and ``{``.
    """
    found = [np.empty(-(-len(units) // WORD_BITS), dtype=np.uint64) for _ in symbols]
    hits = room_for(len(units))
    folded = np.empty(len(hits) if fold else 0, dtype=np.uint8)
    for start in range(0, len(units), BLOCK):
        piece = units[start : start + BLOCK]
        if fold:
            piece = np.bitwise_or(piece, fold, out=folded[: len(piece)])
        for symbol, mask in zip(symbols, found, strict=True):
            mark(mask, start, piece, symbol, hits)
    return found


def room_for(size: int) -> Flags:
    """A flag for each unit of a block, and up to the end of its last word, where *size* units are in all blocks."""
    return np.empty(min(size + -size % WORD_BITS, BLOCK), dtype=bool)


def mark(mask: Words, at: int, units: Units, symbol: int, hits: Flags) -> None:
    """Set the bits of those units that are a symbol, and clear those of the others.

    Args:
        mask: What is filled.
        at: The unit of the mask that the first one is, a multiple of 64. Bits behind the last one, up to the end of
            its word, are cleared.
        units: Bytes, no more than a block.
        symbol: What to look for.
        hits: Room to work in, from :func:`room_for`.
    """
    size = len(units)
    if size % WORD_BITS:
        hits = hits[: size + -size % WORD_BITS]
        hits[size:] = False
    np.equal(units, symbol, out=hits[:size])
    octets = np.packbits(hits[: size + -size % WORD_BITS], bitorder="little")
    mask[at // WORD_BITS : at // WORD_BITS + len(octets) // 8] = octets.view(np.uint64)


def mark_one(mask: Words, at: int) -> None:
    """Set one bit."""
    mask[at // WORD_BITS] |= _ONE << np.uint64(at % WORD_BITS)


class Search:
    """Looks for symbols in parts of a stretch; fastest for bytes over a ``bytes`` object."""

    __slots__ = ("_start", "_units", "_whole")
    _whole: bytes | None

    def __init__(self, units: Units) -> None:
        base: Any = units.base
        while isinstance(base, memoryview | np.ndarray):
            base = base.obj if isinstance(base, memoryview) else base.base
        self._units, self._whole, self._start = units, None, 0
        if isinstance(base, bytes) and units.itemsize == 1 and units.flags.c_contiguous:
            self._whole, self._start = base, _address(units) - _address(np.frombuffer(base, dtype=np.uint8))

    def finds(self, symbol: int, start: int, stop: int) -> bool:
        """Whether one of the units from *start* to *stop* is *symbol*."""
        if self._whole is not None:
            return self._whole.find(symbol, self._start + start, self._start + stop) >= 0
        return any(
            np.equal(self._units[low : min(low + BLOCK, stop)], symbol).any() for low in range(start, stop, BLOCK)
        )


def contains(units: Units, symbol: int) -> bool:
    """Whether some unit is *symbol*."""
    return Search(units).finds(symbol, 0, len(units))


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
    odd = parity.view(np.int64) < 0  # of each word: whether it turns over all that are behind it
    if len(odd) > WORD_BITS:
        room = np.zeros(len(odd) + -len(odd) % WORD_BITS, dtype=bool)
        room[: len(odd)] = odd
        turns = prefix_parity(np.packbits(room, bitorder="little").view(np.uint64))
        odd = np.unpackbits(turns.view(np.uint8), count=len(odd), bitorder="little").view(np.bool_)
    else:
        odd = np.logical_xor.accumulate(odd)
    parity[1:] ^= np.negative(odd[:-1].view(np.int8)).astype(np.int64).view(np.uint64)
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
