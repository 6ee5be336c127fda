"""The seek table of zstd's seekable format: the length of every frame, in a skippable frame at the end of the file.

Frames that were written as a stream do not say how much they hold; the table does. It is compared, frame by frame,
with what is decompressed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.contract import Decoder, FileBytes, MemberTable, container_error
from splitscan.content.codecs.listed_parts import ListedParts

_FRAME_MAGIC = b"\x5e\x2a\x4d\x18"
_FOOTER_MAGIC = b"\xb1\xea\x92\x8f"
_HEADER_BYTES, _FOOTER_BYTES = 8, 9
_RESERVED_BITS = 0x7C


@dataclass(frozen=True, slots=True)
class _SeekTable:
    """Length of each frame, and of what it holds; and the length of the table's own frame."""

    frames: tuple[tuple[int, int], ...]
    table_bytes: int

    @property
    def offsets(self) -> list[int]:
        """Where the frames begin, and where the last one ends."""
        return [*accumulate((length for length, _ in self.frames), initial=0)]


def find_seekable_frames(file: FileBytes) -> MemberTable | None:
    """The frames of a zstd file by its seek table; ``None`` if it has none."""
    table = _read_table(file)
    if table is None:
        return None
    points, content_offset = [], 0
    for offset, (_, content_bytes) in zip(table.offsets, table.frames, strict=False):
        if content_bytes:
            points.append(SeekPoint(offset * 8, content_offset, ""))
        content_offset += content_bytes
    return MemberTable(tuple(points), content_offset)


def resume_seekable(file: FileBytes, point: SeekPoint, make_decoder: Callable[[], Decoder]) -> Decoder:
    """A decoder from one frame to the end of the file, that compares the table with what it finds.

    Raises:
        SourceError: If no frame begins there.
    """
    table = _read_table(file)
    offset = point.bit_offset // 8
    if table is None or offset not in table.offsets[:-1]:
        raise container_error(
            file, "zstd", "no frame begins where one was planned", offset, point.content_offset, "another seek table"
        )
    return TabledFrames(table.frames[table.offsets.index(offset) :], table.table_bytes, make_decoder)


class TabledFrames(ListedParts):
    """Decompresses frames that a seek table lists, and passes the table.

    Args:
        frames: Length of each frame, and of what it holds.
        table_bytes: Length of what follows the last.
        make_decoder: A decoder for one frame.
    """

    def __init__(
        self, frames: Sequence[tuple[int, int]], table_bytes: int, make_decoder: Callable[[], Decoder]
    ) -> None:
        super().__init__(frames, table_bytes)
        self._make_decoder = make_decoder
        self._left_content = 0  # of the current frame

    def _decompress_part(self, max_length: int) -> bytes:
        if self._inner is None:
            self._left_bytes, self._left_content = self._parts.popleft()
            self._inner = self._make_decoder()
        inner = self._inner
        taken = self._take() if inner.needs_input else b""
        piece = inner.decompress(taken, max_length)
        self._left_content -= len(piece)
        if inner.eof:
            if self._left_bytes or self._left_content or inner.unused_data:
                raise ValueError("a frame is not as long as the seek table says")
            self._inner = None
        elif self._left_content < 0 or (not self._left_bytes and inner.needs_input):
            raise ValueError("a frame is longer than the seek table says")
        return piece


def _read_table(file: FileBytes) -> _SeekTable | None:
    footer = file.read_at(max(file.size_bytes - _FOOTER_BYTES, 0), _FOOTER_BYTES)
    if footer[5:] != _FOOTER_MAGIC or footer[4] & _RESERVED_BITS:
        return None
    count = int.from_bytes(footer[:4], "little")
    numbers = 3 if footer[4] & 0x80 else 2  # the third is a checksum of what the frame holds; most writers leave it out
    table_bytes = _HEADER_BYTES + 4 * numbers * count + _FOOTER_BYTES
    if table_bytes > file.size_bytes:
        return None
    table = file.read_at(file.size_bytes - table_bytes, table_bytes)
    if table[:4] != _FRAME_MAGIC or int.from_bytes(table[4:8], "little") != table_bytes - _HEADER_BYTES:
        return None
    entries = np.frombuffer(table, "<u4", numbers * count, _HEADER_BYTES).reshape(count, numbers)
    frames = tuple((int(length), int(content)) for length, content in entries[:, :2].tolist())
    if sum(length for length, _ in frames) + table_bytes != file.size_bytes:
        return None
    return _SeekTable(frames, table_bytes)
