"""Records that are read, and not as anybody expects: how many, where the first is, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from splitscan.blocks import BlockMetadata, Oddity
from splitscan.content.storage import ByteSource, redact
from splitscan.formats.contract import DroppedLines, RepeatedHeader
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.framing.frames import Offsets
from splitscan.reading.cursor import RecordChunk
from splitscan.sizes import KIB

NOT_UTF8 = "not-utf8"
"""Code of records with bytes that are no UTF-8."""

HEADER_AGAIN = "header-again"
"""Code of records that are the header of their file again."""

_HEAD_BYTES = 64 * KIB  # in which the first record is looked for

SAID = {
    NOT_UTF8: (
        "record has", "records have", "bytes that are no UTF-8",
        "in texts they became U+FFFD: give their encoding, perhaps encoding=windows-1252",
    ),
    HEADER_AGAIN: (
        "record is", "records are", "the header of the file again",
        "files were joined, and these are rows: leave them out by a condition, or read the parts one by one",
    ),
    "comment-record": (
        "line is", "lines are", "skipped as a comment, with the fields of a record",
        "samples have shown the option comment: to read such lines give comment='', else the one that was found",
    ),
    "skipped-record": (
        "line is", "lines are", "skipped at the head of a file, with the fields of a record",
        "samples have shown the option skipRows or header: where only other files need it, read this one by itself",
    ),
    "header-record": (
        "record looks", "records look", "like the header of a file",
        "samples have shown header=false: if it is one, read its file by itself with header=true, or with skipRows=1",
    ),
}  # fmt: skip
"""By code: of one and of several, what is odd, and what to do."""


def words_of(code: str) -> tuple[str, str]:
    """A warning of one record and of several with an oddity, for ``records`` and ``first``, where the first is."""
    one, several, what, then = SAID[code]
    said = f"{what}, the first at {{first}}; {then} [{code}]"
    return f"{{records}} {one} {said}", f"{{records}} {several} {said}"


class OddRecords(NamedTuple):
    """Records of a scan that have one oddity, and where the first is: in the content of its file."""

    code: str
    records: int
    path: str
    offset: int
    unit: str = "byte"

    def __str__(self) -> str:
        place = f"{redact(self.path)}, {self.unit} {self.offset}"
        one, several = words_of(self.code)
        return (one if self.records == 1 else several).format(records=self.records, first=place)


def total_oddities(parts: Iterable[OddRecords]) -> tuple[OddRecords, ...]:
    """Sum of those of several blocks, by code, in whatever order they come.

    Example:
        >>> total_oddities([OddRecords("x", 2, "b", 5), OddRecords("x", 1, "a", 9), OddRecords("x", 3, "a", 4)])
        (OddRecords(code='x', records=6, path='a', offset=4, unit='byte'),)
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
        are_utf8: Whether records are texts in UTF-8 that are looked at.
        header: Tells the header of the file from other records.
        dropped: Tells of lines that are no records.
    """

    def __init__(
        self,
        *,
        are_utf8: bool,
        header: RepeatedHeader | None,
        dropped: DroppedLines | None,
        source: ByteSource,
        block: BlockMetadata,
    ) -> None:
        self._are_utf8, self._header, self._dropped, self._source = are_utf8, header, dropped, source
        self._start, self._end = block.start, block.file.content_bytes
        self._looks_first = False  # whether the next record is the first of the file, and looked at
        self._last: tuple[int, int] | None = None  # the record before what is looked at
        self._found: dict[str, Oddity] = {}

    @property
    def found(self) -> tuple[Oddity, ...]:
        """Those found so far."""
        return tuple(self._found.values())

    def take(self, step: RecordChunk, most: int | None) -> None:
        """Look at the next records, *most* of them at most."""
        starts, stops = step.frames.starts[:most], step.frames.stops[:most]
        if len(starts):
            self._take_texts(step, starts, stops)
            self._take_first(step.offset + int(starts[0]))
            self._take_headers(step, starts, stops)
            self._take_dropped(step, starts, stops)

    def before(self, preamble: Preamble) -> None:
        """Look at the lines before the first record of the file, if they are of the block, and then at that record."""
        self._looks_first = self._dropped is not None and self._dropped.first and self._start <= preamble.data_start
        if self._dropped is not None and self._start == 0:
            wanted = preamble.data_start + _HEAD_BYTES
            head = bytes(self._source.read_at(0, wanted))
            for code, offset in self._dropped.before(head, preamble, at_end=len(head) < wanted):
                self._count(code, offset)

    def pass_to(self, stop: int) -> None:
        """Look at what lies between the last record and *stop*."""
        if self._dropped is not None and self._last is not None and stop > self._last[1]:
            start, end = self._last
            data = bytes(self._source.read_at(start, stop - start))
            self._look(data[: end - start], data[end - start :], end)
        self._last, self._looks_first = None, False

    def _take_dropped(self, step: RecordChunk, starts: Offsets, stops: Offsets) -> None:
        if self._dropped is None:
            return
        self.pass_to(step.offset + int(starts[0]))
        for i in np.flatnonzero(starts[1:] - stops[:-1] > 2).tolist():  # more than a terminator
            record, gap = (
                bytes(step.data[int(a) : int(b)]) for a, b in ((starts[i], stops[i]), (stops[i], starts[i + 1]))
            )
            self._look(record, gap, step.offset + int(stops[i]))
        self._last = step.offset + int(starts[-1]), step.offset + int(stops[-1])

    def _look(self, record: bytes, gap: bytes, offset: int) -> None:
        if self._dropped is not None:
            for code, place in self._dropped.between(record, gap, offset):
                self._count(code, place)

    def _take_first(self, offset: int) -> None:
        """Look at the first record of the file, and at some after it."""
        if self._dropped is None or not self._looks_first:
            return
        self._looks_first = False
        data = bytes(self._source.read_at(offset, min(_HEAD_BYTES, self._end - offset)))
        code = self._dropped.begins_with_header(data, at_end=len(data) < _HEAD_BYTES)
        if code is not None:
            self._count(code, offset)

    def _take_headers(self, step: RecordChunk, starts: Offsets, stops: Offsets) -> None:
        if (header := self._header) is None:
            return
        data, lengths = np.frombuffer(step.data, np.uint8), stops - starts
        alike = lengths >= header.least_bytes
        alike[alike] = np.isin(data[starts[alike]], header.firsts)
        alike[alike] = np.isin(data[stops[alike] - 1], header.lasts)
        for i in np.flatnonzero(alike).tolist():
            if header.is_again(bytes(step.data[int(starts[i]) : int(stops[i])])):
                self._count(HEADER_AGAIN, step.offset + int(starts[i]))

    def _take_texts(self, step: RecordChunk, starts: Offsets, stops: Offsets) -> None:
        if not self._are_utf8 or is_utf8(step.data[int(starts[0]) : int(stops[-1])]):
            return
        for start, stop in zip(np.asarray(starts).tolist(), np.asarray(stops).tolist(), strict=True):
            try:
                str(step.data[start:stop], "utf-8")
            except UnicodeDecodeError as error:
                self._count(NOT_UTF8, step.offset + start + error.start)

    def _count(self, code: str, offset: int) -> None:
        known = self._found.get(code, Oddity(code, 0, offset))
        self._found[code] = known._replace(records=known.records + 1)


def is_utf8(data: bytes | memoryview) -> bool:
    """True if bytes are UTF-8 from the first to the last."""
    try:
        str(data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def of_file(path: str, found: Sequence[Oddity]) -> Iterable[OddRecords]:
    """Those of a block, with the file that it is of."""
    return (OddRecords(each.code, each.records, path, each.offset) for each in found)
