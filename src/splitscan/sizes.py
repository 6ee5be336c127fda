"""Parse and print byte counts: ``"128 MiB"`` and back."""

from __future__ import annotations

import re

from splitscan.errors import UsageError

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

_FACTORS = {
    "": 1, "b": 1,
    "k": KIB, "kb": KIB, "kib": KIB,
    "m": MIB, "mb": MIB, "mib": MIB,
    "g": GIB, "gb": GIB, "gib": GIB,
    "t": 1024 * GIB, "tb": 1024 * GIB, "tib": 1024 * GIB,
}  # fmt: skip
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_size(text: str | int, option: str = "size") -> int:
    """Turn a size into bytes. Units are binary, as in Spark: ``128m`` is 128 MiB.

    Args:
        text: A number of bytes, or a number with a unit (``k``, ``MB``, ``GiB`` ...), any case.
        option: Name to mention when it cannot be understood.

    Returns:
        Whole bytes, rounded down.

    Raises:
        UsageError: If *text* is not a size.

    Example:
        >>> parse_size("128 MiB"), parse_size("1.5k"), parse_size(10)
        (134217728, 1536, 10)
    """
    match = _SIZE.fullmatch(str(text))
    factor = _FACTORS.get(match.group(2).lower()) if match else None
    if match is None or factor is None:
        raise UsageError(
            f"option {option} is not a size", seen=repr(text), fix="write bytes or a unit, e.g. 64 MiB",
            code="bad-option",
        )  # fmt: skip
    whole, _, fraction = match.group(1).partition(".")
    scale = 10 ** len(fraction)
    return int(whole + fraction) * factor // int(scale)


def format_size(size_bytes: int) -> str:
    """Render a byte count for people.

    Example:
        >>> format_size(134217728), format_size(1536), format_size(10)
        ('128.0 MiB', '1.5 KiB', '10 B')
    """
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < KIB:
            return f"{size_bytes} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= KIB
    return f"{value:.1f} TiB"
