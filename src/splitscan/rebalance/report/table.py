"""Rows as aligned text, and what a lane did as a line of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def render_table(headings: Sequence[str], rows: Iterable[Sequence[str]], left: frozenset[int] = frozenset()) -> str:
    """Align columns: to the right, or to the left those named by number.

    Example:
        >>> print(render_table(["n", "name"], [["1", "a"], ["10", "bc"]], frozenset({1})))
         n  name
         1  a
        10  bc
    """
    cells = [list(headings), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )
    return "\n".join(lines)


def render_lane(spans: Iterable[tuple[float, float]], seconds: float, width: int) -> str:
    """Draw when something was going on: a character per moment, the fuller the busier.

    Args:
        spans: Start and stop of everything that went on.
        seconds: What the whole line stands for.
        width: Its length in characters.

    Example:
        >>> render_lane([(0.0, 2.0), (3.0, 3.5)], seconds=4.0, width=4)
        '██ ▌'
    """
    if seconds <= 0:
        return ""
    cell = seconds / width
    busy = [0.0] * width
    for start, stop in spans:
        for number in range(max(0, int(start / cell)), min(width, int(stop / cell) + 1)):
            busy[number] += max(0.0, min(stop, (number + 1) * cell) - max(start, number * cell))
    return "".join(_EIGHTHS[min(8, round(8 * part / cell))] for part in busy).rstrip()
