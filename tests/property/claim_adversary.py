"""An adversary that plays Spark, a bad network, and time, against protocols that divide a range between partitions.

It launches attempts of any partition at any moment (retry, speculation, another action, a lost cache), stops them for
ever or for a while, lets actions with LIMIT take what an attempt has delivered so far, and loses, repeats and reorders
messages. Then every partition is run to its end, and what any attempt delivered is judged.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from splitscan.rebalance import messages
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.claim_values import Chunk, ChunkStats, Segment, Sizing
from splitscan.rebalance.claims import ClaimLog
from splitscan.rebalance.coordinator import Answerer

Ranges = list[tuple[int, int]]


@dataclass(frozen=True)
class Setting:
    """How the adversary plays."""

    name: str
    partitions: int = 3
    positions: int = 24
    steps: int = 50
    attempts: int = 7  # launched before the final ones
    launch: float = 0.2
    kill: float = 0.05
    limit: float = 0.1  # LIMIT takes what an attempt has
    lose: float = 0.15
    repeat: float = 0.15
    indivisible: float = 0.0  # part of the segments


@dataclass(eq=False)
class Attempt:
    """One run of a partition's task."""

    partition: int
    action: int
    output: Ranges = field(default_factory=list)
    index: int = 0
    alive: bool = True
    ended: bool = False
    memory: Any = None  # of the protocol


class SharingProtocol(Protocol):
    """What is attacked."""

    def started(self, attempt: Attempt) -> None: ...

    def step(self, attempt: Attempt) -> None:
        """Let one thing happen to *attempt*, which is alive and has not ended."""

    def settle(self) -> None:
        """From now on nothing is lost."""


def play(
    rng: random.Random, setting: Setting, make: Callable[[random.Random, Setting], SharingProtocol]
) -> tuple[str | None, SharingProtocol]:
    """One run: what went wrong, if anything did, and the protocol as it was at the end."""
    protocol = make(rng, setting)
    attempts: list[Attempt] = []
    taken: list[tuple[int, int, Ranges]] = []  # action, partition, rows that LIMIT took
    action = 0

    def launch(partition: int) -> Attempt:
        attempt = Attempt(partition, action)
        protocol.started(attempt)
        attempts.append(attempt)
        return attempt

    running = [launch(rng.randrange(setting.partitions))]
    chance = rng.random
    for _ in range(setting.steps):
        drawn = chance()
        if drawn < setting.launch or not running:
            if len(attempts) < setting.attempts:
                action += chance() < 0.2
                running.append(launch(int(chance() * setting.partitions)))
            continue
        place = int(chance() * len(running))
        attempt = running[place]
        if drawn < setting.launch + setting.kill:
            attempt.alive = False
        elif drawn < setting.launch + setting.kill + setting.limit and attempt.output:
            taken.append((attempt.action, attempt.partition, list(attempt.output)))  # and it goes on, as a zombie
        else:
            protocol.step(attempt)
        if attempt.ended or not attempt.alive:
            running[place] = running[-1]
            running.pop()
    protocol.settle()
    last = [launch(partition) for partition in range(setting.partitions)]
    running += last
    while running:
        attempt = running[int(chance() * len(running))]
        protocol.step(attempt)
        if attempt.ended or not attempt.alive:
            running.remove(attempt)
            if not attempt.ended and attempt in last:  # fenced: Spark tries again
                last.append(launch(attempt.partition))
                running.append(last[-1])
    return judge(setting, attempts, taken), protocol


def judge(setting: Setting, attempts: list[Attempt], taken: list[tuple[int, int, Ranges]]) -> str | None:
    """Every choice of completed attempts, one per partition, is the whole once; LIMIT never takes a row twice."""
    complete: dict[int, Ranges] = {}
    for attempt in attempts:
        if attempt.ended:
            rows = canonical(attempt.output)
            if complete.setdefault(attempt.partition, rows) != rows:
                return "two attempts of a partition differ"
    reached = 0
    for start, stop in sorted(piece for output in complete.values() for piece in output):
        if start != reached:
            return "rows are missing" if start > reached else "rows are there twice"
        reached = stop
    if reached != setting.positions:
        return "rows are missing"
    for action, partition, output in taken:
        for other in attempts:
            if (
                other.action == action
                and other.ended
                and other.partition != partition
                and overlap(output, other.output)
            ):
                return "a LIMIT took rows twice"
        for other_action, other_partition, other_output in taken:
            if other_action == action and other_partition != partition and overlap(output, other_output):
                return "a LIMIT took rows twice"
    return None


def overlap(one: Ranges, other: Ranges) -> bool:
    return any(a < d and c < b for a, b in one for c, d in other)


SIZINGS = tuple(
    Sizing(min_positions=low, max_positions=high, first_positions=low, min_seconds=seconds)
    for low, high in ((1, 3), (1, 16), (4, 8))
    for seconds in (0.001, 1.0)
)


class ClaimLogOverBadNetwork:
    """The real claim log. Each attempt sends its request, perhaps several times, and believes any answer to it."""

    def __init__(self, rng: random.Random, setting: Setting, key: Callable[[Attempt], str] = lambda _: "scan") -> None:
        self._random = rng.random
        self._lose, self._repeat = setting.lose, setting.repeat
        self._key = key
        self.log = ClaimLog(SIZINGS[int(rng.random() * len(SIZINGS))])
        self._segments = segments_of(rng, setting)
        self._ranges = PositionSpace(self._segments).even_ranges(setting.partitions)
        self._known: set[str] = set()
        self._flying: list[tuple[Attempt, int, bool, Chunk | None]] = []  # attempt, index, is an answer, the answer
        self._now = 0.0
        self._settled = False

    def started(self, attempt: Attempt) -> None:
        key = self._key(attempt)
        if key not in self._known:
            self._known.add(key)
            self.log.create(key, self._segments, self._ranges)

    def step(self, attempt: Attempt) -> None:
        if self._settled:
            self._believe(attempt, attempt.index, self._answer(attempt, attempt.index))
            return
        flying, chance = self._flying, self._random
        if not flying or chance() < 0.3:
            flying.append((attempt, attempt.index, False, None))
            return
        place = int(chance() * len(flying))  # any message, of anybody, dead or alive
        message = flying[place]
        drawn = chance()
        if drawn >= self._repeat:
            flying[place] = flying[-1]
            flying.pop()
        if drawn < 1 - self._lose:
            sender, index, is_answer, chunk = message
            if is_answer:
                self._believe(sender, index, chunk)
            else:
                flying.append((sender, index, True, self._answer(sender, index)))

    def settle(self) -> None:
        self._settled = True

    def _answer(self, attempt: Attempt, index: int) -> Chunk | None:
        chance = self._random
        self._now += chance()
        stats = ChunkStats(chance()) if index and chance() < 0.8 else None
        return self.log.next(self._key(attempt), attempt.partition, index, stats, self._now)

    @staticmethod
    def _believe(attempt: Attempt, index: int, chunk: Chunk | None) -> None:
        if attempt.alive and not attempt.ended and attempt.index == index:
            if chunk is None:
                attempt.ended = True
            else:
                attempt.output.append((chunk.start, chunk.stop))
                attempt.index += 1


class LogBehindMessages:
    """A claim log that is asked in JSON, as by a reader in another process."""

    def __init__(self, log: ClaimLog) -> None:
        self._log = log
        self._now = 0.0
        self._answerer = Answerer(log, clock=lambda: self._now)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def next(self, scan: str, partition: int, index: int, stats: ChunkStats | None, now: float) -> Chunk | None:
        self._now = now
        request = {"op": "next", "scan": scan, "partition": partition, "index": index}
        line = messages.encode({**request, "stats": stats})
        answer = messages.decode(self._answerer.answer(line))
        return None if answer.get("end") is True else messages.decode_chunk(answer.get("chunk"))


def segments_of(rng: random.Random, setting: Setting) -> list[Segment]:
    if not setting.indivisible:
        return [Segment(setting.positions)]
    cuts = sorted({0, setting.positions, *(rng.randrange(setting.positions) for _ in range(5))})
    return [Segment(stop - start, "", rng.random() < setting.indivisible) for start, stop in pairwise(cuts)]


def log_keyed_by_stage(rng: random.Random, setting: Setting) -> SharingProtocol:
    """Wrong: each action, so each stage, has a log of its own."""
    return ClaimLogOverBadNetwork(rng, setting, key=lambda attempt: str(attempt.action))


class LogWithGiveBack:
    """Wrong unless *careful*: a reader gives back the end of its latest chunk, though another attempt may hold it."""

    def __init__(self, rng: random.Random, setting: Setting, careful: bool = False) -> None:
        self._random = rng.random
        self._careful = careful
        ranges = PositionSpace([Segment(setting.positions)]).even_ranges(setting.partitions)
        self._own = [list(bounds) for bounds in ranges]
        self._logs: list[list[list[int]]] = [[] for _ in ranges]
        self._sealed = [False] * len(ranges)
        self._holders: dict[tuple[int, int], set[Attempt]] = {}

    def started(self, attempt: Attempt) -> None:
        attempt.memory = [0, 0]  # position in the chunk, and its end as this attempt knows it

    def settle(self) -> None: ...

    def step(self, attempt: Attempt) -> None:
        p, log = attempt.partition, self._logs[attempt.partition]
        position, stop = attempt.memory
        if position < stop:
            if self._random() < 0.3:
                self._give_back(attempt)
            else:
                attempt.memory[0] = min(stop, position + 1 + int(self._random() * 4))
                attempt.output.append((position, attempt.memory[0]))
        elif attempt.index < len(log) or self._claim(p):
            self._holders.setdefault((p, attempt.index), set()).add(attempt)
            attempt.memory = list(log[attempt.index])
            attempt.index += 1
        else:
            attempt.ended = True

    def _claim(self, p: int) -> bool:
        if self._sealed[p]:
            return False
        own = self._own[p]
        if own[0] == own[1]:
            victims = [v for v, log in enumerate(self._logs) if log and not self._sealed[v] and v != p]
            victim = max(victims, key=lambda v: self._own[v][1] - self._own[v][0], default=None)
            if victim is None or self._own[victim][0] == self._own[victim][1]:
                self._sealed[p] = True
                return False
            low, high = self._own[victim]
            middle = low + (high - low) // 2
            self._own[victim], self._own[p] = [low, middle], [middle, high]
            own = self._own[p]
        stop = min(own[1], own[0] + 8)
        self._logs[p].append([own[0], stop])
        own[0] = stop
        return True

    def _give_back(self, attempt: Attempt) -> None:
        p, last = attempt.partition, attempt.index - 1
        position, stop = attempt.memory
        alone = self._holders[p, last] == {attempt}
        latest = attempt.index == len(self._logs[p]) and self._logs[p][last][1] == stop == self._own[p][0]
        if latest and not self._sealed[p] and (alone or not self._careful):
            attempt.memory[1] = self._logs[p][last][1] = self._own[p][0] = position


class SplitOfRunningReaders:
    """Wrong: a running reader gives the rest of its range away. With fences, who missed that may not end."""

    def __init__(self, rng: random.Random, setting: Setting, fenced: bool) -> None:
        self._random = rng.random
        self._fenced = fenced
        ranges = PositionSpace([Segment(setting.positions)]).even_ranges(setting.partitions)
        self._ranges = [[list(bounds)] for bounds in ranges]  # of each partition: its own one, and what it took
        self._version = [0] * len(ranges)
        self._sealed = [False] * len(ranges)
        self._attempts: list[Attempt] = []

    def started(self, attempt: Attempt) -> None:
        # memory: version, position, and the stop that this attempt knows for the range it is in
        attempt.memory = [self._version[attempt.partition], *self._ranges[attempt.partition][0]]
        self._attempts.append(attempt)

    def settle(self) -> None: ...

    def step(self, attempt: Attempt) -> None:
        p, memory = attempt.partition, attempt.memory
        _, position, stop = memory
        if position < stop:
            memory[1] = min(stop, position + 1 + int(self._random() * 4))
            attempt.output.append((position, memory[1]))
            return
        stale = memory[0] != self._version[p]
        if attempt.index + 1 == len(self._ranges[p]) and not (self._sealed[p] or (stale and self._fenced)):
            self._steal_for(p)
        if attempt.index + 1 < len(self._ranges[p]):
            attempt.index += 1
            memory[1:] = self._ranges[p][attempt.index]
        elif stale and self._fenced:
            attempt.alive = False
        else:
            self._sealed[p] = attempt.ended = True

    def _steal_for(self, thief: int) -> None:
        for victim in self._attempts:
            p, (version, position, stop) = victim.partition, victim.memory
            busy = victim.alive and not victim.ended and stop - position > 1
            if p != thief and busy and not self._sealed[p] and (version == self._version[p] or not self._fenced):
                cut = position + (stop - position + 1) // 2
                self._version[p] += 1
                victim.memory[0], victim.memory[2] = self._version[p], cut
                self._ranges[p][victim.index][1] = cut
                self._ranges[thief].append([cut, stop])
                return


def canonical(output: Ranges) -> Ranges:
    """The same rows in the same order, without the places where a reader paused."""
    merged: Ranges = []
    for start, stop in output:
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return merged
