"""A timeline as plain values: lanes, bars on them, arrows between them. What is drawn, not how."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field


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
