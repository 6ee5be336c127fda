"""A decoder around another, whose input or content it changes or verifies."""

from __future__ import annotations

from abc import ABC, abstractmethod

from splitscan.content.codecs.contract import Decoder


class DecoderAround(ABC):
    """A decoder that takes what another needs, and ends where that one ends.

    Args:
        inner: The other one.
    """

    def __init__(self, inner: Decoder) -> None:
        self._inner = inner

    @property
    def eof(self) -> bool:
        """Whether the end of the member was reached."""
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        """Whether it can give nothing more before it is fed."""
        return self._inner.needs_input

    @property
    def unused_data(self) -> bytes | None:
        """What was fed and lies after the end of the member."""
        return self._inner.unused_data

    @abstractmethod
    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes."""
