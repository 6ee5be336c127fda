"""Time contenders in turn, A B C A B C, and watch what their processes use meanwhile."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.processes import Usage, Watch

Contender = Callable[[], object]
"""Does a work and returns its answer; or a callable that finds the answer afterwards, when nothing is measured."""

Work = Mapping[str, Contender]
"""Contenders by their names; all have to give the same answer."""


@dataclass(frozen=True)
class Timed:
    """The answer of a contender that took the time itself, of a part of what it did."""

    answer: object
    seconds: float


@dataclass
class Samples:
    """What was measured of one contender.

    Attributes:
        seconds: Wall time of each counted run.
        usage: What the processes used in each counted run.
        answers: What each run returned; they must agree.
    """

    seconds: list[float] = field(default_factory=list)
    usage: list[Usage] = field(default_factory=list)
    answers: list[object] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Median wall time in seconds."""
        return statistics.median(self.seconds)

    def cpu(self, role: str) -> float:
        """Median CPU seconds of a role."""
        return statistics.median(usage.cpu_seconds.get(role, 0.0) for usage in self.usage)

    def peak_mb(self, role: str) -> float:
        """Largest size that a process of a role reached in any run."""
        return max(usage.peak_mb.get(role, 0.0) for usage in self.usage)


def interleave(contenders: Work, runs: int) -> dict[str, Samples]:
    """Run every contender once to warm up, then *runs* times in turn.

    Raises:
        ValueError: If the contenders disagree.
    """
    samples = {name: Samples() for name in contenders}
    for round_number in range(runs + 1):
        for name, run in contenders.items():
            with Watch() as watch:
                started = time.perf_counter()
                answer = run()
                seconds = time.perf_counter() - started
            if isinstance(answer, Timed):
                answer, seconds = answer.answer, answer.seconds
            if callable(answer):
                answer = answer()
            if round_number:
                samples[name].usage.append(watch.usage)
                samples[name].seconds.append(seconds)
            samples[name].answers.append(answer)
    found = {name: {repr(answer) for answer in sample.answers} for name, sample in samples.items()}
    if len(set().union(*found.values())) > 1:
        raise ValueError(f"the contenders disagree: {found}")
    return samples
