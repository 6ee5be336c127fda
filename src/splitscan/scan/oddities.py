"""Records that are read, and not as anybody expects: how many, where the first is, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from splitscan.blocks import Oddity
from splitscan.content.storage import redact
from splitscan.read.cursor import RecordChunk
from splitscan.sizes import count_of

NOT_UTF8 = "not-utf8"
"""Code of records with bytes that are no UTF-8."""


class OddRecords(NamedTuple):
    """Records of a scan that have one oddity.

    Attributes:
        code: Which.
        records: How many records have it.
        path: The file of the first.
        offset: Where it is there, in the content of the file.
    """

    code: str
    records: int
    path: str
    offset: int

    def __str__(self) -> str:
        place = f"{redact(self.path)}, byte {self.offset}"
        return (
            f"{count_of(self.records, 'record')} {'has' if self.records == 1 else 'have'} bytes that are no UTF-8, the "
            f"first at {place}; in texts they became U+FFFD: give the encoding of the files, perhaps "
            f"encoding=windows-1252 [{self.code}]"
        )


def total_oddities(parts: Iterable[OddRecords]) -> tuple[OddRecords, ...]:
    """Sum of those of several blocks, by code, in whatever order they come.

    Example:
        >>> total_oddities([OddRecords("x", 2, "b", 5), OddRecords("x", 1, "a", 9), OddRecords("x", 3, "a", 4)])
        (OddRecords(code='x', records=6, path='a', offset=4),)
    """
    sums: dict[str, OddRecords] = {}
    for each in parts:
        known = sums.get(each.code, each._replace(records=0))
        first = min(known, each, key=lambda odd: (odd.path, odd.offset))
        sums[each.code] = first._replace(records=known.records + each.records)
    return tuple(sums[code] for code in sorted(sums))


class Oddities:
    """Counts the oddities of one block.

    Args:
        are_utf8: Whether records are texts in UTF-8.

    Thread safety: none.
    """

    def __init__(self, *, are_utf8: bool) -> None:
        self._are_utf8 = are_utf8
        self._found: dict[str, Oddity] = {}

    @property
    def found(self) -> tuple[Oddity, ...]:
        """Those found so far."""
        return tuple(self._found.values())

    def take(self, step: RecordChunk, most: int | None) -> None:
        """Look at the next records.

        Args:
            step: The records.
            most: How many of them are wanted; ``None`` for all.
        """
        starts, stops = step.frames.starts[:most], step.frames.stops[:most]
        if not self._are_utf8 or not len(starts) or _is_utf8(step.data[int(starts[0]) : int(stops[-1])]):
            return
        for start, stop in zip(np.asarray(starts).tolist(), np.asarray(stops).tolist(), strict=True):
            try:
                str(step.data[start:stop], "utf-8")
            except UnicodeDecodeError as error:
                self._count(NOT_UTF8, step.offset + start + error.start)

    def _count(self, code: str, offset: int) -> None:
        known = self._found.get(code, Oddity(code, 0, offset))
        self._found[code] = known._replace(records=known.records + 1)


def _is_utf8(data: bytes | memoryview) -> bool:
    try:
        str(data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def of_file(path: str, found: Sequence[Oddity]) -> Iterable[OddRecords]:
    """Those of a block, with the file that it is of."""
    return (OddRecords(each.code, each.records, path, each.offset) for each in found)
