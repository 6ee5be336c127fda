"""Size of the next window, and number of its readers: pure functions.

The number of readers depends on the bytes and blocks of the window alone, and is logged with it. A micro-batch
may have as many tasks as it likes, so no memory of earlier numbers is needed: no cooling down, no powers of two.
Executors follow the tasks through Spark's dynamic allocation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from splitscan.streaming.windows import FileWork

ANY = 1 << 62
"""A limit that nothing reaches."""


class Limits(NamedTuple):
    """Most that one window reads. A window that would be empty otherwise takes one block more than its bytes allow."""

    blocks: int = ANY
    size_bytes: int = ANY
    files: int = ANY

    @classmethod
    def of(cls, *given: int | None) -> Self:
        """The limits that are given; ``None`` for any number."""
        return cls(*(ANY if most is None else most for most in given))

    def minus(self, blocks: int, size_bytes: int, *, is_new: bool) -> Limits:
        """Limits of what is left after some blocks of a file, which may be a new one."""
        return Limits(max(0, self.blocks - blocks), max(0, self.size_bytes - size_bytes), self.files - is_new)


def plan_window(number: int, begun: Sequence[FileWork], fresh: Sequence[FileWork], limits: Limits) -> dict[str, int]:
    """Choose blocks for one window.

    Guarantees: no limit is exceeded, but for the first block of a window, which is taken however long it is (and but
    for files that are indivisible); there is something in the window if there is anything to plan; a file's blocks are
    taken in order. Neither a huge file nor a crowd of small ones is starved: half of every window belongs to the files
    that are begun, half to those that are not, in turns the larger half and the first block; what one side does not
    need goes to the other. A file takes half of what is left at most while others of its side wait.

    Args:
        begun: Files of which a part is planned, those that were served longest ago first.
        fresh: Files of which nothing is planned, oldest first.

    Returns:
        How many of its next blocks each file gives, by path, in the order in which they were chosen; none gives 0.

    Example:
        >>> from types import SimpleNamespace
        >>> huge = SimpleNamespace(path="huge", lengths=[10] * 100, indivisible=False)
        >>> small = [SimpleNamespace(path=name, lengths=[1], indivisible=False) for name in "abcd"]
        >>> plan_window(1, [huge], small, Limits(blocks=5))
        {'a': 1, 'b': 1, 'c': 1, 'huge': 2}
    """
    picker = _Picker(limits)
    first, second = (begun, fresh) if number % 2 == 0 else (fresh, begun)
    picker.take(first, Limits(*(-(-most // 2) for most in limits)), shared=True)
    picker.take(second, limits, shared=True)
    picker.take(first, limits, shared=True)
    picker.take(first, limits, shared=False)
    picker.take(second, limits, shared=False)
    return picker.picks


class _Picker:
    def __init__(self, limits: Limits) -> None:
        self.picks: dict[str, int] = {}
        self._left = limits
        self._blocks = 0

    def take(self, works: Iterable[FileWork], most: Limits, *, shared: bool) -> None:
        """Take blocks of *works*, at most as many as *most* allows in this call."""
        budget = Limits(*map(min, most, self._left))
        waiting = list(works)
        for index, work in enumerate(waiting):
            if budget.blocks == 0 or (budget.files == 0 and work.path not in self.picks):
                break
            others_wait = shared and index + 1 < len(waiting)
            budget, is_full = self._take_file(work, budget, others_wait=others_wait)
            if is_full:
                break

    def _take_file(self, work: FileWork, budget: Limits, *, others_wait: bool) -> tuple[Limits, bool]:
        taken = self.picks.get(work.path, 0)
        lengths = work.lengths[taken:]
        if not lengths:
            return budget, False
        if work.indivisible:
            fits = not self._blocks or sum(lengths) <= budget.size_bytes
            count = len(lengths) if fits else 0
        else:
            most = min(budget.blocks, len(lengths))
            if others_wait:
                most = min(most, max(1, budget.blocks // 2))
            count = self._count_fitting(lengths[:most], budget)
        if not count:
            return budget, True
        is_new, spent = taken == 0, sum(lengths[:count])
        self.picks[work.path] = taken + count
        self._blocks += count
        self._left = self._left.minus(count, spent, is_new=is_new)
        return budget.minus(count, spent, is_new=is_new), False

    def _count_fitting(self, lengths: Sequence[int], budget: Limits) -> int:
        left, count = budget.size_bytes, 0
        for length in lengths:
            if length > left and (self._blocks or count):
                break
            left -= length
            count += 1
        return count


def count_readers(size_bytes: int, blocks: int, least: int, most: int | None, target_bytes: int | None) -> int:
    """Number of readers of a window: ``ceil(bytes / target)`` within the bounds, and never more than blocks.

    Without a target it is the least.

    Example:
        >>> [count_readers(size, 1000, 2, 16, 100) for size in (1, 200, 201, 1600, 1_000_000)]
        [2, 2, 3, 16, 16]
        >>> count_readers(1_000_000, 5, 2, 16, 100)
        5
    """
    wanted = least if target_bytes is None else max(least, -(-size_bytes // target_bytes))
    return min(blocks, wanted if most is None else min(wanted, most))


def share_blocks(lengths: Sequence[int], readers: int) -> tuple[int, ...]:
    """Share blocks out among readers: neighbours together, about the same number of bytes each.

    Args:
        lengths: Bytes of each block, in order.
        readers: Number of readers, from 1 to the number of blocks.

    Returns:
        How many blocks each reader gets, at least 1, in order.

    Example:
        >>> share_blocks([5, 5, 5, 5, 20], 3), share_blocks([1, 1], 2), share_blocks([], 0)
        ((3, 1, 1), (1, 1), ())
    """
    total = sum(lengths)
    shares: list[int] = []
    count, seen = 0, 0
    for index, length in enumerate(lengths):
        count += 1
        seen += length
        readers_left, blocks_left = readers - len(shares) - 1, len(lengths) - index - 1
        if readers_left and (blocks_left == readers_left or seen * readers >= total * (len(shares) + 1)):
            shares.append(count)
            count = 0
    if count:
        shares.append(count)
    return tuple(shares)
