"""Figures as people read them."""

from __future__ import annotations

from splitscan.sizes import MIB


def show_seconds(seconds: float) -> str:
    """A time, with as many digits as mean something.

    Example:
        >>> show_seconds(0.0123), show_seconds(1.234), show_seconds(61.23), show_seconds(3723)
        ('12 ms', '1.23 s', '61.2 s', '1 h 2 min')
    """
    if seconds < 0.1:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 600:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def show_cost(seconds_per_mib: float) -> str:
    """What a MiB cost.

    Example:
        >>> show_cost(0.0123), show_cost(2.5), show_cost(350.0)
        ('12.3 ms/MiB', '2.5 s/MiB', '350 s/MiB')
    """
    if seconds_per_mib < 0.995:
        return f"{seconds_per_mib * 1e3:.3g} ms/MiB"
    return f"{seconds_per_mib:.3g} s/MiB"


def show_bytes(count: int) -> str:
    """A number of bytes.

    Example:
        >>> show_bytes(512), show_bytes(70_000), show_bytes(5 << 20), show_bytes(3 << 30)
        ('512 B', '68.4 KiB', '5.0 MiB', '3.0 GiB')
    """
    if count < 1024:
        return f"{count} B"
    for unit, size in (("GiB", 1024 * MIB), ("MiB", MIB)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count / 1024:.1f} KiB"


def count_of(number: int, noun: str) -> str:
    """A number and its noun.

    Example:
        >>> count_of(1, "chunk"), count_of(1200, "chunk")
        ('1 chunk', '1,200 chunks')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
