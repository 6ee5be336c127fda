"""The replay law: planning a window twice gives the same blocks, whatever happened to the files since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from splitscan.blocks import BlockMetadata
from splitscan.testing.equality import must_equal


class PlannedWindow(Protocol):
    """What the law looks at in a window."""

    @property
    def number(self) -> int:
        """From 1 on."""

    def tasks(self) -> Sequence[Sequence[BlockMetadata]]:
        """The blocks of every task."""


def check_replay_law(
    read_window: Callable[[int], PlannedWindow], windows: Iterable[int], disturb: Callable[[], object]
) -> int:
    """Check that windows are the same before and after something happened to the files, and that they tile them.

    Args:
        read_window: Gives a window that was planned before, as another process would after a failure.
        windows: Numbers of the windows, ascending from the first.
        disturb: Appends to, replaces, renames, deletes or adds files.

    Returns:
        The number of blocks that were compared.

    Raises:
        AssertionError: If a window changes; if the blocks of one version of a file leave a gap or overlap.

    Example:
        >>> from types import SimpleNamespace
        >>> from splitscan.blocks import FileMetadata
        >>> file = FileMetadata("/in/a", 4, 0, "4-0", "a")
        >>> blocks = [BlockMetadata(file, 0, 2, 0), BlockMetadata(file, 2, 4, 1)]
        >>> log = {n: SimpleNamespace(number=n, tasks=lambda n=n: [(blocks[n - 1],)]) for n in (1, 2)}
        >>> check_replay_law(log.__getitem__, [1, 2], disturb=lambda: None)
        2
    """
    before = [read_window(number) for number in windows]
    disturb()
    compared = 0
    positions: dict[str, int] = {}
    for window in before:
        planned = [list(task) for task in window.tasks()]
        again = [list(task) for task in read_window(window.number).tasks()]
        must_equal(planned, again, f"replay law, window {window.number}")
        for block in (block for task in planned for block in task):
            expected = positions.get(block.file.path, 0)
            assert block.start in {expected, 0}, f"window {window.number} plans {block} where {expected} is next"
            assert block.stop > block.start, f"window {window.number} plans an empty block: {block}"
            positions[block.file.path] = block.stop
            compared += 1
    return compared
