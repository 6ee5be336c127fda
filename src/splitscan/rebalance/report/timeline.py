"""What is shown, not how it is drawn: lanes, bars, arrows; figures and rows as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from splitscan.sizes import MIB


def show_seconds(seconds: float) -> str:
    """A time, with as many digits as mean something.

    Example:
        >>> show_seconds(0.0123), show_seconds(1.234), show_seconds(10), show_seconds(3599), show_seconds(7320)
        ('12 ms', '1.23 s', '10.0 s', '1 h 0 min', '2 h 2 min')
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


@dataclass(frozen=True, slots=True)
class Lane:
    """One reader.

    Attributes:
        name: What it is called, to the left of its bars.
        note: What there is to say of it, to the right.
    """

    name: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that a reader did for a while.

    Attributes:
        lane: Number of its lane, from 0.
        start: When it began, in seconds.
        stop: When it was done.
        cost: Seconds per MiB, which chooses its colour; ``None`` where nobody knows.
        title: What is shown of it on demand.
    """

    lane: int
    start: float
    stop: float
    cost: float | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """Something that moved from one lane to another.

    Attributes:
        seconds: When.
        source: Number of the lane that gave it.
        target: Number of the lane that took it.
        title: What is shown of it on demand.
    """

    seconds: float
    source: int
    target: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Who did what, and when.

    Attributes:
        title: What it shows.
        lanes: From the top to the bottom.
        bars: In any order.
        arrows: In any order.
        seconds: When the last bar ends.
        ideal: When it would have ended if nobody had ever been idle; ``None`` where nobody knows.
        subtitle: The result in one line.
    """

    title: str
    lanes: Sequence[Lane]
    bars: Sequence[Bar]
    arrows: Sequence[Arrow] = field(default=())
    seconds: float = 0.0
    ideal: float | None = None
    subtitle: str = ""


@dataclass(frozen=True, slots=True)
class CostScale:
    """Sorts costs into classes of equal ratio, from the cheapest to the dearest.

    Attributes:
        least: The cheapest.
        most: The dearest.
        classes: How many classes there are.

    Example:
        >>> scale = CostScale(0.1, 10.0, classes=4)
        >>> scale.class_of(0.1), scale.class_of(0.5), scale.class_of(10.0), scale.class_of(99.0)
        (0, 1, 3, 3)
    """

    least: float
    most: float
    classes: int

    @classmethod
    def of(cls, costs: Iterable[float | None], classes: int) -> CostScale:
        """The scale for these costs. The most extreme hundredth at both ends is left out: one pause is no region."""
        known = sorted(cost for cost in costs if cost is not None and cost > 0)
        if not known:
            return cls(1.0, 1.0, classes)
        spare = len(known) // 100
        return cls(known[spare], known[-1 - spare], classes)

    @property
    def is_even(self) -> bool:
        """Whether all costs are so much alike that colours would only show noise."""
        return self.most < self.least * _ALIKE

    def class_of(self, cost: float) -> int:
        """Number of the class of a cost, from 0."""
        if self.is_even:
            return self.classes // 2
        if cost <= self.least:
            return 0
        share = math.log(cost / self.least) / math.log(self.most / self.least)
        return min(self.classes - 1, int(share * self.classes))


_ALIKE = 1.3


def ticks(seconds: float, wanted: int = 8) -> Iterator[float]:
    """Round moments from 0 on, about as many as wanted.

    Example:
        >>> list(ticks(11.9, 6))
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    step = tick_step(seconds, wanted)
    for number in range(int(seconds / step + 1e-9) + 1):
        yield number * step


def tick_step(seconds: float, wanted: int) -> float:
    """The distance between two ticks: 1, 2 or 5 times a power of ten."""
    if seconds <= 0:
        return 1.0
    rough = seconds / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    return next((factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= rough * 0.999), 10.0 * power)


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
