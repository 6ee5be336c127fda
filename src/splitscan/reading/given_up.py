"""Records that are given up while records are looked for: they are no rows, and somebody must say so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

from splitscan.blocks import FileMetadata, Reject
from splitscan.content.storage import redact
from splitscan.errors import Advice
from splitscan.options import ReadOptions
from splitscan.reading.cursor import UnreadableRecords
from splitscan.reading.new_columns import NewColumns, OnNewColumns
from splitscan.reading.oddities import OddRecords, total_oddities

_LOG = logging.getLogger("splitscan")
_OTHER_REASON = "the reader context rejects the record"
_REASONS = {
    "record-too-long": "the record is longer than maxRecordBytes={limit}",
    "unclosed-quote": "a quote is opened and never closed",
    "unfinished-record": "a bracket is opened and never closed",
}

_BEGINS = "begins at byte"
_WITH_NULLS = "breaks a rule, and has nulls where its values do not fit"


class RejectWords(NamedTuple):
    """Warnings of records that break a rule: of one, of several, and what to do."""

    one: str
    several: str
    advice: Advice


LOST = RejectWords(
    "1 record is no row",
    "{records} records are no rows",
    Advice("mode=FAILFAST stops there, and an ingest keeps them as rejects"),
)
"""Of those that are no rows."""

DELIVERED = RejectWords(
    f"1 record {_WITH_NULLS}",
    f"each of {{records}} records {_WITH_NULLS}",
    Advice("scan.rejects() lists them, rejectReasonColumn=_reject_reason says why in each row"),
)
"""Of those that are rows."""

_DELIVERED_MESSAGES = DELIVERED._replace(advice=Advice("rejectReasonColumn=_reject_reason says why in each row"))

GIVEN_UP = frozenset(_REASONS)
"""Codes of records of record formats that are given up because their end is not known, or too far."""


def reason_of(code: str, max_record_bytes: int) -> str:
    """Reason why a record is no row, one sentence for people."""
    return _REASONS.get(code, _OTHER_REASON).format(limit=max_record_bytes)


class RowCount(NamedTuple):
    """How many rows there are, and which records are none because they were given up or dropped.

    Attributes:
        reason: Why the first of those is none; the code says it where there is no reason.
        path: File of the first of those; empty where there is none.
        offset: Its first byte; -1 where there is none.
    """

    rows: int = 0
    given_up: int = 0
    path: str = ""
    offset: int = -1
    code: str | None = None
    reason: str | None = None
    odd: tuple[OddRecords, ...] = ()


def counted_in(file: FileMetadata, rows: int, given_up: UnreadableRecords) -> RowCount:
    """The rows of one file, or of a part of it, and the records in it that were given up."""
    return RowCount(rows, given_up.records, file.path if given_up.records else "", given_up.offset, given_up.code)


def total(parts: Iterable[RowCount]) -> RowCount:
    """Sum of several counts, in whatever order they come.

    Example:
        >>> total([RowCount(3), RowCount(2, 1, "b", 5, "x"), RowCount(1, 2, "a", 9, "x")])
        RowCount(rows=6, given_up=3, path='a', offset=9, code='x', reason=None, odd=())
    """
    counted = list(parts)
    first = min((part for part in counted if part.given_up), key=lambda part: (part.path, part.offset), default=None)
    return (first or RowCount())._replace(
        rows=sum(part.rows for part in counted),
        given_up=sum(part.given_up for part in counted),
        odd=total_oddities(chain.from_iterable(part.odd for part in counted)),
    )


class RejectCounter:
    """Counts the broken records of a read, and says so once, where nobody else takes them and no column shows them.

    It says in mode ``DROPMALFORMED`` too how many are dropped, and why the first is. It also says which columns the
    scan does not have, and what is odd about records that are read.

    Args:
        on_new_columns: Given these columns; a warning names them if nobody is.
        of_messages: Whether records are messages: they have offsets, and no list of those that are broken.

    Thread safety: none; one read, one of them.
    """

    def __init__(
        self, options: ReadOptions, on_new_columns: OnNewColumns | None = None, *, of_messages: bool = False
    ) -> None:
        self._options, self._on_new_columns = options, on_new_columns
        self._begins, self._said = ("has offset", _DELIVERED_MESSAGES) if of_messages else (_BEGINS, DELIVERED)
        self._records = self._delivered = 0
        self._first: Reject | None = None
        self._first_delivered: Reject | None = None
        self._noticed: list[tuple[str, int, bytes]] = []
        self._oddities: list[OddRecords] = []

    def take(self, count: int, first: Callable[[], Reject]) -> None:
        """Count rejects for which there are no rows; *first* makes the first of them, as for those that are rows."""
        if self._first is None:
            self._first = first()
        self._records += count

    def take_delivered(self, count: int, first: Callable[[], Reject]) -> None:
        """Count rejects for which there are rows that do not show it; *first* is called if it is the first of all."""
        if self._first_delivered is None:
            self._first_delivered = first()
        self._delivered += count

    def notice(self, path: str, start: int, packed: bytes) -> None:
        """Take what a block that begins at *start* has noticed, as its reader packs it."""
        if packed:
            self._noticed.append((path, start, packed))

    def take_oddities(self, found: Iterable[OddRecords]) -> None:
        """Take what is odd about records that were read."""
        self._oddities.extend(found)

    def counted(self, rows: int) -> RowCount:
        """So many rows, with the records that are none."""
        counted, first = RowCount(rows, self._records, odd=tuple(self._oddities)), self._first
        if first is None:
            return counted
        return counted._replace(path=first.path, offset=first.offset, code=first.code, reason=first.reason)

    def report(self) -> None:
        """Log warnings of what there is to warn of, and hand over columns to who takes them."""
        if self._first is not None:
            first = self._first
            _warn(LOST, self._records, _BEGINS, first.path, first.offset, f"{first.reason} [{first.code}]")
        if self._first_delivered is not None:
            first = self._first_delivered
            reason = f"{first.reason} [{first.code}]"
            _warn(self._said, self._delivered, self._begins, first.path, first.offset, reason)
        if self._oddities:
            _warn_of(total_oddities(self._oddities))
        if self._noticed:
            new = NewColumns.of(self._noticed)
            self._noticed.clear()
            if self._on_new_columns is None:
                new.report(self._options)
            else:
                self._on_new_columns(new)


def report_given_up(counted: RowCount, options: ReadOptions) -> int:
    """Log warnings of records that were given up while rows were counted, and of odd ones; the number of rows."""
    if counted.code is not None:
        reason = counted.reason or reason_of(counted.code, options.reading.max_record_bytes)
        _warn(LOST, counted.given_up, _BEGINS, counted.path, counted.offset, f"{reason} [{counted.code}]")
    _warn_of(counted.odd)
    return counted.rows


def _warn_of(oddities: Iterable[OddRecords]) -> None:
    for each in oddities:
        _LOG.warning("%s", Advice(str(each)))


def _warn(said: RejectWords, records: int, begins: str, path: str, offset: int, reason: str) -> None:
    which = said.one if records == 1 else said.several.format(records=records)
    _LOG.warning("%s; the first %s %d of %s: %s. %s", which, begins, offset, redact(path), reason, said.advice)
