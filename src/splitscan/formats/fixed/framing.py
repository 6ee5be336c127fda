"""Records of a fixed number of bytes, and raw slices: starts are computed, never searched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import Need, Preamble, Splittability
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Buffer, Frames, TailFramer

SHORT_RECORD = "short-record"  # reject code of a last record that the file cuts off


class _EqualPieces(ABC):
    """Base of the two formats: a file is cut into pieces of equal length from its first byte on."""

    __slots__ = ()

    name: ClassVar[str]
    splittability = Splittability.ARITHMETIC
    unit_bytes = 1
    short_piece_code: ClassVar[str | None] = None
    """Reject code of a shorter rest at the end of a file; ``None`` where it is as good as the others."""

    @property
    @abstractmethod
    def piece_bytes(self) -> int:
        """Length of each piece in bytes."""

    def needs_head(self, start: int) -> bool:
        """Never: the first byte of the file is the first byte of a record."""
        return False

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Records begin at the first byte of the file."""
        return Preamble(0, self)

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Cut *data* into pieces; a rest that is too short is a record only *at_end*."""
        whole, rest_bytes = divmod(len(data), self.piece_bytes)
        has_rest = at_end and rest_bytes > 0
        starts = np.arange(whole + has_rest, dtype=np.int64) * self.piece_bytes
        stops = np.minimum(starts + self.piece_bytes, len(data))
        malformed = {whole: self.short_piece_code} if has_rest and self.short_piece_code else {}
        return Frames(starts, stops, len(data) if has_rest else whole * self.piece_bytes, malformed)

    def first_start_after(self, position: int, data_start: int) -> int:
        """Offset of the first piece that starts at or after *position*.

        Example:
            >>> FixedFormat(8).first_start_after(9, 0), FixedFormat(8).first_start_after(16, 0)
            (16, 16)
        """
        skipped = max(0, position - data_start)
        return data_start + -(-skipped // self.piece_bytes) * self.piece_bytes

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        if len(data) >= self.piece_bytes:
            return self.piece_bytes
        return len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        """Nothing: what remains of a piece is known only by what was seen of it.

        A reader never holds more than one piece for it; to skip one without reading it, ask
        :meth:`first_start_after`.
        """
        return 0

    def reference_framer(self) -> FixedReferenceFramer:
        return FixedReferenceFramer(self.piece_bytes)


@dataclass(frozen=True, slots=True)
class FixedFormat(_EqualPieces):
    """Records of exactly ``record_length`` bytes.

    A shorter rest at the end of a file is delivered as a record and flagged ``short-record``.

    Args:
        record_length: Length of each record in bytes.

    Raises:
        UsageError: If the length is not positive.

    Thread safety: immutable.
    Pickling: plain values only.

    Example:
        >>> frames = FixedFormat(4).frame(b"aaaabbbbcc", at_end=True)
        >>> frames.starts.tolist(), frames.malformed
        ([0, 4, 8], {2: 'short-record'})
    """

    name = "fixed"
    short_piece_code = SHORT_RECORD
    may_be_packed = True

    record_length: int

    def __post_init__(self) -> None:
        _check_positive("recordLength", self.record_length)

    @property
    def piece_bytes(self) -> int:
        return self.record_length


@dataclass(frozen=True, slots=True)
class FixedTextFormat(FixedFormat):
    """Records of exactly ``record_length`` bytes that are all text.

    Args:
        encoding: Of the file.

    Thread safety: immutable.
    Pickling: plain values only.
    """

    encoding: Encoding


@dataclass(frozen=True, slots=True)
class SliceFormat(_EqualPieces):
    """Raw slices of a file, ``slice_bytes`` each, aligned to its first byte; the last one may be shorter.

    Args:
        slice_bytes: Length of each slice in bytes.

    Raises:
        UsageError: If the length is not positive.

    Thread safety: immutable.
    Pickling: plain values only.

    Example:
        >>> frames = SliceFormat(4).frame(b"aaaabbbbcc", at_end=True)
        >>> frames.stops.tolist(), frames.malformed
        ([4, 8, 10], {})
    """

    name = "slice"

    slice_bytes: int

    def __post_init__(self) -> None:
        _check_positive("sliceBytes", self.slice_bytes)

    @property
    def piece_bytes(self) -> int:
        return self.slice_bytes


class FixedReferenceFramer(TailFramer):
    """The definition of both formats: count bytes."""

    def __init__(self, piece_bytes: int) -> None:
        super().__init__()
        self._piece_bytes = piece_bytes

    def push(self, byte: int) -> None:
        self._offset += 1
        if self._offset - self._start == self._piece_bytes:
            self._end_record()


def _check_positive(option: str, length_bytes: int) -> None:
    if length_bytes <= 0:
        raise UsageError(
            f"option {option} must be a positive number of bytes", seen=str(length_bytes),
            fix=f"set {option} to the length of one record in bytes", code="bad-option",
        )  # fmt: skip
