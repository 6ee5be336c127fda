"""What finds the records of CSV: the kernel where it is installed, else the reference."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

from splitscan.engine import kernel
from splitscan.formats.csv.dialect import Dialect
from splitscan.formats.csv.reference import UNCLOSED_QUOTE, ReferenceFraming
from splitscan.formats.framing.frames import Buffer, Counted, Frames, Run, Summary
from splitscan.formats.framing.native import as_bytes, frames_of


class CsvFraming(Protocol):
    """Finds records of one dialect. Every answer is the reference's."""

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """The complete records at the front of *data*, which begins at a record start."""

    def count(self, data: Buffer) -> Counted:
        """How many records ``frame(data, at_end=False)`` finds."""

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """What *data* does to a parser, for each state in which it may come to it."""

    def last_split_point(self, data: bytes) -> int | None:
        """The last record boundary that *data* shows whatever comes before it."""


class NativeFraming:
    """The kernel's answers as Python's types.

    Args:
        native: The kernel's class for the dialect.

    Thread safety: immutable; calls run beside each other.
    """

    def __init__(self, native: Any) -> None:
        self._native = native

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """The complete records at the front of *data*."""
        starts, stops, malformed, next_start = self._native.frame(*as_bytes(data), at_end)
        return frames_of(starts, stops, malformed, next_start, UNCLOSED_QUOTE)

    def count(self, data: Buffer) -> Counted:
        """How many complete records there are."""
        return Counted(*self._native.count(*as_bytes(data), False))

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """What *data* does to a parser."""
        runs = self._native.summarise(*as_bytes(data), before, after, mark)
        return Summary(len(data), tuple(None if run is None else Run(*run) for run in runs))

    def last_split_point(self, data: bytes) -> int | None:
        """The last record boundary that *data* shows."""
        found: int | None = self._native.last_split_point(data)
        return found


def native_csv(dialect: Dialect, *, trim_trailing: bool = False) -> Any | None:
    """The kernel's class for a dialect; ``None`` without a kernel, or where it does not know the dialect."""
    module = kernel()
    if module is None:
        return None
    encode = dialect.encoding.encode
    try:
        return module.Csv(
            sep=encode(dialect.sep),
            quote=dialect.quote_unit,
            escape=dialect.escape_unit,
            doubled=dialect.doubled,
            comment=dialect.comment_unit,
            line_sep=None if dialect.line_sep is None else encode(dialect.line_sep),
            multi_line=dialect.multi_line,
            trim_leading=dialect.trim_leading,
            trim_trailing=trim_trailing,
            unit_bytes=dialect.encoding.unit_bytes,
            big_endian=dialect.encoding.big_endian,
        )
    except module.Unsupported:
        return None


def framing_of(dialect: Dialect) -> CsvFraming:
    """What finds the records of a dialect."""
    return ReferenceFraming(dialect) if kernel() is None else _native_framing(dialect)


@lru_cache(maxsize=64)
def _native_framing(dialect: Dialect) -> CsvFraming:
    native = native_csv(dialect)
    return ReferenceFraming(dialect) if native is None else NativeFraming(native)
