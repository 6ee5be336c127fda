"""Numbers as PostgreSQL keeps them, in groups of four decimal digits, as decimals: all of a batch at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MOST_DIGITS = 18
"""Numbers of more digits do not fit into 64 bits, which is what is calculated with."""

_GROUP_DIGITS = 4
_HEADER_WORDS = 4  # of 16 bits: how many groups follow, the power of 10000 of the first one, the sign, digits shown
_NEGATIVE, _NOT_A_NUMBER = 0x4000, 0x8000  # of the sign; infinities have the second one as well


def decimals(sent: pa.BinaryArray, kind: pa.Decimal128Type) -> pa.Decimal128Array:
    r"""Numbers as ``numeric_send`` gives them.

    Args:
        sent: The numbers.
        kind: Declared digits of all of them, at most :data:`MOST_DIGITS`.

    Raises:
        ArrowInvalid: For NaN, an infinity, and a number that has more digits.

    Example:
        >>> sent = [b"\0\2\0\0\0\0\0\2\0\1\23\x88", None, b"\0\1\xff\xff\x40\0\0\2\1\xf4"]
        >>> decimals(pa.array(sent), pa.decimal128(5, 2)).to_pylist()
        [Decimal('1.50'), None, Decimal('-0.05')]
    """
    count = len(sent)
    _, offsets_buffer, data = sent.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32, count + 1, sent.offset * 4) // 2
    first, behind = (int(offsets[0]), int(offsets[-1])) if count else (0, 0)
    words = np.zeros(behind - first + _HEADER_WORDS, np.uint16)  # nulls have no words, and may stand at the end
    if behind > first:
        words[:-_HEADER_WORDS] = np.frombuffer(data, ">u2", behind - first, first * 2)
    starts, lengths = offsets[:-1] - first, np.diff(offsets)
    signs = np.where(lengths > 0, words[starts + 2], 0)
    if (signs & _NOT_A_NUMBER).any():
        raise pa.ArrowInvalid("NaN or infinity")
    values = _unscaled(words, starts, lengths - _HEADER_WORDS, kind)
    np.negative(values, out=values, where=signs == _NEGATIVE)
    halves = np.empty((count, 2), np.int64)
    halves[:, 0] = values
    halves[:, 1] = values >> 63
    valid = sent.is_valid().buffers()[1] if sent.null_count else None
    return pa.Array.from_buffers(kind, count, [valid, pa.py_buffer(halves)])


def _unscaled(
    words: npt.NDArray[np.uint16], starts: npt.NDArray[np.int32], groups: npt.NDArray[np.int32], kind: pa.Decimal128Type
) -> npt.NDArray[np.int64]:
    """The numbers without sign, times ten to the scale."""
    lowest = -(-kind.scale // _GROUP_DIGITS)  # how many groups after the point
    highest = -(-(kind.precision - kind.scale) // _GROUP_DIGITS)  # and before it
    shifts = np.arange(-lowest, highest) * _GROUP_DIGITS + kind.scale
    factors = 10 ** np.maximum(shifts, 0)
    divisor = 10 ** max(0, -int(shifts[0]))  # digits of the last group that are after the scale: zeros
    most = 10 ** np.clip(kind.precision - shifts, 0, _GROUP_DIGITS)
    first_powers = words[starts + 1].astype(np.int16).astype(np.int32) + lowest
    values = np.zeros(len(starts), np.int64)
    for number in range(max(0, int(groups.max(initial=0)))):
        rows = slice(None) if (groups > number).all() else np.flatnonzero(groups > number)
        digits = words[starts[rows] + (_HEADER_WORDS + number)].astype(np.int64)
        powers = first_powers[rows] - number
        if powers.min() < 0 or powers.max() >= len(shifts) or (digits >= most[powers]).any():
            raise pa.ArrowInvalid(f"a number of more digits than {kind} has")
        if divisor > 1:
            last = powers == 0
            whole, rest = np.divmod(digits[last], divisor)
            if rest.any():
                raise pa.ArrowInvalid(f"a number of more digits than {kind} has")
            digits[last] = whole
        values[rows] += digits * factors[powers]
    return values
