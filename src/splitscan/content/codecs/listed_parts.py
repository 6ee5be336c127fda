"""Decompress parts that a list inside the file gives the lengths of, and pass the list."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence

from splitscan.content.codecs.contract import Decoder


class ListedParts(ABC):
    """A decoder of the parts of a container, one after the other, up to the end of what follows them.

    Args:
        parts: Length of each part, and of what it holds.
        tail_bytes: Length of what follows the last.
    """

    def __init__(self, parts: Sequence[tuple[int, int]], tail_bytes: int) -> None:
        self._parts = deque(parts)
        self._tail_bytes = tail_bytes
        self._pending = b""
        self._inner: Decoder | None = None
        self._left_bytes = 0  # of the current part that were not fed yet

    @property
    def eof(self) -> bool:
        """Whether the end was reached."""
        return self._inner is None and not self._parts and not self._tail_bytes

    @property
    def needs_input(self) -> bool:
        """Whether it can give nothing more before it is fed."""
        return not self._pending and (self._inner is None or self._inner.needs_input)

    @property
    def unused_data(self) -> bytes:
        """What was fed and lies after the end."""
        return self._pending if self.eof else b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes."""
        self._pending += data
        if self._inner is None and not self._parts:
            passed = min(self._tail_bytes, len(self._pending))
            self._tail_bytes -= passed
            self._pending = self._pending[passed:]
            return b""
        return self._decompress_part(max_length)

    @abstractmethod
    def _decompress_part(self, max_length: int) -> bytes:
        """Go on with the current part, or begin the next; ``_inner`` is ``None`` once it has ended."""

    def _take(self) -> bytes:
        """What was fed of the current part."""
        taken, self._pending = self._pending[: self._left_bytes], self._pending[self._left_bytes :]
        self._left_bytes -= len(taken)
        return taken
