"""Time contenders in turn, A B C A B C, and watch the memory of Spark's Python workers meanwhile."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_SECONDS = 0.1  # the watching thread runs on the cores that are measured


@dataclass
class Samples:
    """What was measured of one contender.

    Attributes:
        seconds: Wall time of each counted run.
        answers: What each run returned; they must agree.
        worker_mb: Largest resident size that one Python worker of Spark reached, in MB.
        driver_cpu: CPU seconds of this process in each counted run: all of a work that is done in its threads.
    """

    seconds: list[float] = field(default_factory=list)
    driver_cpu: list[float] = field(default_factory=list)
    answers: list[object] = field(default_factory=list)
    worker_mb: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def interleave(contenders: Mapping[str, Callable[[], object]], runs: int) -> dict[str, Samples]:
    """Run every contender once to warm up, then *runs* times in turn."""
    samples = {name: Samples() for name in contenders}
    for round_number in range(runs + 1):
        for name, run in contenders.items():
            with _WorkerMemory() as memory:
                started, started_cpu = time.perf_counter(), time.process_time()
                answer = run()
                seconds, cpu = time.perf_counter() - started, time.process_time() - started_cpu
            if round_number:
                samples[name].driver_cpu.append(cpu)
                samples[name].seconds.append(seconds)
                samples[name].answers.append(answer)
                samples[name].worker_mb = max(samples[name].worker_mb, memory.peak_mb)
    return samples


class _WorkerMemory:
    """Samples the resident size of processes that look like Spark's Python workers."""

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _WorkerMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            for process in Path("/proc").glob("[0-9]*"):
                self.peak_mb = max(self.peak_mb, _worker_mb(process))


def _worker_mb(process: Path) -> float:
    try:
        if b"pyspark" not in (process / "cmdline").read_bytes() or b"java" in (process / "cmdline").read_bytes():
            return 0.0
        pages = int((process / "statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * 4096 / 1e6
