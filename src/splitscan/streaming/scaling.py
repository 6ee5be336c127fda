"""How many readers a window gets: pure functions of its bytes and blocks, whose result is logged with the window.

A micro-batch may have as many tasks as it likes, so readers need no memory of how many there were: no cooling down,
no powers of two. Executors follow the tasks through Spark's dynamic allocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scaling:
    """Bounds of the number of readers.

    Attributes:
        min_readers: Fewest, where there are blocks enough.
        max_readers: Most; ``None`` for any number.
        target_bytes: What one reader should read.
        follows: Whether the number follows the bytes; otherwise it is ``min_readers``.
    """

    min_readers: int
    max_readers: int | None
    target_bytes: int
    follows: bool = True


def count_readers(size_bytes: int, blocks: int, scaling: Scaling) -> int:
    """Number of readers of a window: ``ceil(bytes / target)`` within the bounds, and never more than blocks.

    Example:
        >>> scaling = Scaling(min_readers=2, max_readers=16, target_bytes=100)
        >>> [count_readers(size, 1000, scaling) for size in (1, 200, 201, 1600, 1_000_000)]
        [2, 2, 3, 16, 16]
        >>> count_readers(1_000_000, blocks=5, scaling=scaling)
        5
    """
    wanted = -(-size_bytes // scaling.target_bytes) if scaling.follows else scaling.min_readers
    bounded = max(scaling.min_readers, wanted)
    if scaling.max_readers is not None:
        bounded = min(bounded, scaling.max_readers)
    return min(blocks, bounded)


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
