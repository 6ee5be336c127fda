"""Members of zip files that hold several frames or streams, one after the other."""

from __future__ import annotations

from collections.abc import Callable

from splitscan.content.codecs.contract import Decoder


class FollowingFrames:
    """Decompresses frame after frame up to the end of the member; zeros may follow the last one.

    Where the end is, the archive tells.

    Args:
        make_decoder: A decoder for one frame.
        stored_bytes: How many bytes of the archive are the member's.
    """

    def __init__(self, make_decoder: Callable[[], Decoder], stored_bytes: int) -> None:
        self._make_decoder = make_decoder
        self._inner = make_decoder()
        self._left_bytes = stored_bytes  # not fed yet
        self._behind = b""  # fed, and after the end of a frame

    @property
    def eof(self) -> bool:
        """Whether the end of the last frame was reached."""
        return self._inner.eof and not self._behind and not self._left_bytes

    @property
    def needs_input(self) -> bool:
        """Whether it can give nothing more before it is fed."""
        return not self._behind and (self._inner.eof or self._inner.needs_input)

    @property
    def unused_data(self) -> bytes:
        """Nothing: what is fed is all of one member."""
        return b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes."""
        self._left_bytes -= len(data)
        if self._inner.eof:
            data, self._behind = (self._behind + data).lstrip(b"\0"), b""  # no frame begins with zeros: they fill up
            if not data:
                return b""
            self._inner = self._make_decoder()
        piece = self._inner.decompress(data, max_length)
        if self._inner.eof:
            self._behind = self._inner.unused_data or b""
        return piece
