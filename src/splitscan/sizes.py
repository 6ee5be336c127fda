"""Figures as people write and read them: bytes, seconds, costs, counts."""

from __future__ import annotations

import re

from splitscan.errors import bad_option

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
_LEAST_BYTES_IN_MB = 50_000  # fewer would be 0.0 MB

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

        option: Name to mention when it cannot be understood.

    Returns:
        Whole bytes, rounded down.

    Example:
        >>> parse_size("128 MiB"), parse_size("1.5k"), parse_size(10)
        (134217728, 1536, 10)
    """
    match = _SIZE.fullmatch(str(text))
    factor = _FACTORS.get(match.group(2).lower()) if match else None
    if match is None or factor is None:
        raise bad_option(f"option {option} is not a size", repr(text), "write bytes or a unit, e.g. 64 MiB")
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


def show_bytes(size_bytes: int, of: int | None = None) -> str:
    """Render how much was read or written: in MB (10^6), or in bytes where that would be 0.0 MB; perhaps *of* how much.

    Example:
        >>> show_bytes(71_517_225), show_bytes(62), show_bytes(500_000, of=71_517_225)
        ('71.5 MB', '62 bytes', '0.5 of 71.5 MB')
    """
    if (size_bytes if of is None else of) < _LEAST_BYTES_IN_MB:
        return count_of(size_bytes, "byte") if of is None else f"{size_bytes:,} of {count_of(of, 'byte')}"
    return f"{size_bytes / 1e6:,.1f} MB" if of is None else f"{size_bytes / 1e6:,.1f} of {of / 1e6:,.1f} MB"


def show_speed(size_bytes: int, seconds: float) -> str:
    """Render a speed.

    Example:
        >>> show_speed(71_517_225, 9.8), show_speed(62, 0.5)
        ('7.3 MB/s', '124 bytes/s')
    """
    return f"{show_bytes(round(size_bytes / seconds))}/s"


def show_seconds(seconds: float) -> str:
    """Render a time, with as many digits as mean something.

    Example:
        >>> show_seconds(0.0123), show_seconds(1.234), show_seconds(10), show_seconds(3599), show_seconds(7320)
        ('12 ms', '1.23 s', '10.0 s', '1 h 0 min', '2 h 2 min')
    """
    if seconds < 0.1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 600:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def show_cost(seconds_per_mib: float) -> str:
    """Render what a MiB cost.

    Example:
        >>> show_cost(0.0123), show_cost(2.5), show_cost(350.0), show_cost(1520.0)
        ('12.3 ms/MiB', '2.5 s/MiB', '350 s/MiB', '1,520 s/MiB')
    """
    if seconds_per_mib < 0.995:
        return f"{seconds_per_mib * 1e3:.3g} ms/MiB"
    return f"{seconds_per_mib:.3g} s/MiB" if seconds_per_mib < 999.5 else f"{seconds_per_mib:,.0f} s/MiB"


def count_of(number: int, noun: str) -> str:
    """Render a number and its noun.

    Example:
        >>> count_of(1, "chunk"), count_of(1200, "chunk")
        ('1 chunk', '1,200 chunks')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
