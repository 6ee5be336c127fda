"""What reference framers have in common whose formats leave nothing over: every tail of a file is a record."""

from __future__ import annotations

from abc import ABC, abstractmethod

from splitscan.formats.framing.encodings import Encoding


class TailFramer(ABC):
    """Records between two boundaries each; the last boundary is the end of the stream."""

    def __init__(self) -> None:
        self._offset = 0  # bytes pushed
        self._start = 0  # of the current record
        self._records: list[tuple[int, int]] = []

    @abstractmethod
    def push(self, byte: int) -> None:
        """Take the next byte."""

    def finish(self) -> None:
        """The stream has ended: what is left is the last record."""
        if self._start < self._offset:
            self._records.append((self._start, self._offset))

    @property
    def records(self) -> list[tuple[int, int]]:
        """Content ranges of the records known so far."""
        return self._records

    @property
    def unfinished(self) -> None:
        """Always ``None``: every tail of a file is a record."""
        return None

    def _end_record(self, terminator_bytes: int = 0) -> None:
        """A record, and the terminator after it, ends here."""
        self._records.append((self._start, self._offset - terminator_bytes))
        self._start = self._offset


class UnitFramer(TailFramer):
    """A framer that looks at whole code units."""

    def __init__(self, encoding: Encoding) -> None:
        super().__init__()
        self._encoding = encoding
        self._partial = b""  # bytes of a code unit that is not complete

    def push(self, byte: int) -> None:
        """Take the next byte."""
        self._partial += bytes([byte])
        self._offset += 1
        if len(self._partial) == self._encoding.unit_bytes:
            (unit,) = self._encoding.units(self._partial)
            self._partial = b""
            self._take(unit)

    @abstractmethod
    def _take(self, unit: int) -> None:
        """Take the next code unit, whose last byte was the last one pushed."""
