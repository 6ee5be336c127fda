"""Records of a fixed number of bytes, and raw slices: starts are computed, never searched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from splitscan.errors import bad_option
from splitscan.formats.framing.contract import SHORT_RECORD, Need, Preamble, Splittability
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Buffer, Frames, WholeReference


@dataclass(frozen=True, slots=True)
class FixedFormat:
    """Records of exactly ``record_length`` bytes, from the first byte of a file on.

    A shorter rest at the end of a file is delivered as a record and flagged ``short-record``.

    Args:
        record_length: Length of each record in bytes.
        encoding: Of records that are text; ``None`` for bytes.

    Raises:
        UsageError: If the length is not positive.

    Example:
        >>> frames = FixedFormat(4).frame(b"aaaabbbbcc", at_end=True)
        >>> frames.starts.tolist(), frames.malformed
        ([0, 4, 8], {2: 'short-record'})
    """

    name: ClassVar[str] = "fixed"
    option: ClassVar[str] = "recordLength"
    splittability: ClassVar[Splittability] = Splittability.ARITHMETIC
    unit_bytes: ClassVar[int] = 1
    may_be_packed: ClassVar[bool | None] = True
    rest_is_a_fault: ClassVar[bool] = True

    record_length: int
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        if self.record_length <= 0:
            raise bad_option(
                f"option {self.option} must be a positive number of bytes",
                str(self.record_length),
                f"set {self.option} to the length of one record in bytes",
            )

    def needs_head(self, start: int) -> bool:
        """Never: the first byte of the file is the first byte of a record."""
        return False

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        return Preamble(0, self)

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Cut *data* into pieces; a rest that is too short is a record only *at_end*."""
        whole, rest_bytes = divmod(len(data), self.record_length)
        has_rest = at_end and rest_bytes > 0
        starts = np.arange(whole + has_rest, dtype=np.int64) * self.record_length
        stops = np.minimum(starts + self.record_length, len(data))
        malformed = {whole: SHORT_RECORD} if has_rest and self.rest_is_a_fault else {}
        return Frames(starts, stops, len(data) if has_rest else whole * self.record_length, malformed)

    def first_start_after(self, position: int, data_start: int) -> int:
        """Offset of the first record that starts at or after *position*.

        Example:
            >>> FixedFormat(8).first_start_after(9, 0), FixedFormat(8).first_start_after(16, 0)
            (16, 16)
        """
        skipped = max(0, position - data_start)
        return data_start + -(-skipped // self.record_length) * self.record_length

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        if len(data) >= self.record_length:
            return self.record_length
        return len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        """Nothing: what remains of a record is known only by what was seen of it.

        A reader never holds more than one record for it; to skip one without reading it, ask
        :meth:`first_start_after`.
        """
        return 0

    def reference_framer(self) -> WholeReference:
        return WholeReference(self._pieces)

    def _pieces(self, data: bytes) -> Iterator[tuple[int, int]]:
        """The definition: so many bytes after so many bytes."""
        for start in range(0, len(data), self.record_length):
            yield start, min(start + self.record_length, len(data))


@dataclass(frozen=True, slots=True)
class SliceFormat(FixedFormat):
    """Raw slices of a file, aligned to its first byte; the last one may be shorter.

    Example:
        >>> frames = SliceFormat(4).frame(b"aaaabbbbcc", at_end=True)
        >>> frames.stops.tolist(), frames.malformed
        ([4, 8, 10], {})
    """

    name: ClassVar[str] = "slice"
    option: ClassVar[str] = "sliceBytes"
    may_be_packed: ClassVar[bool | None] = None
    rest_is_a_fault: ClassVar[bool] = False
