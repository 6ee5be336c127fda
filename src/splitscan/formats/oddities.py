"""Records and lines that are odd, as a format tells them from others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from splitscan.formats.framing.contract import Preamble
from splitscan.formats.framing.frames import Buffer


class DroppedLines(Protocol):
    """Tells which of the lines that options drop look like records; of each its code, and its place."""

    @property
    def first(self) -> bool:
        """True if the first record of a file is looked at."""

    def before(self, head: bytes, preamble: Preamble, *, at_end: bool) -> Iterator[tuple[str, int]]:
        """Lines before the first record, of the first bytes of a file."""

    def between(self, record: bytes, gap: bytes, offset: int) -> Iterator[tuple[str, int]]:
        """Lines after a record; *gap* begins at *offset* with what ends it."""

    def begins_with_header(self, data: bytes, *, at_end: bool) -> str | None:
        """Code of the first record of a file, with which *data* begins, if it looks like a header."""


class Suspects(Protocol):
    """Tells bytes that may hold what is odd from those that hold nothing of it, fast. Picklable."""

    def may_be_in(self, data: Buffer) -> bool:
        """True if these bytes, a part of a file after its head, may hold some of it."""


class RepeatedHeader(Protocol):
    """Tells the header of a file, which may come again, from other records."""

    @property
    def least_bytes(self) -> int:
        """Length of the shortest record that may be the header."""

    @property
    def firsts(self) -> list[int]:
        """Bytes that such a record may begin with."""

    @property
    def lasts(self) -> list[int]:
        """Bytes that it may end with."""

    def is_again(self, record: bytes) -> bool:
        """True if a record is the header, however its names are written."""
