"""A block to be read, what is wanted of it, and what every reader of blocks offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, Damage, Oddity, Reject
from splitscan.content.storage import ByteSource, check_unchanged
from splitscan.errors import InvariantError, RecordError, SourceError, SourceMissingError, SplitscanError, Where
from splitscan.options import Mode, OnFileChange
from splitscan.reading.contents import open_content
from splitscan.reading.given_up import RejectCounter, RowCount
from splitscan.reading.new_columns import Noticing
from splitscan.reading.oddities import of_file
from splitscan.reading.opened_file import OpenedFile
from splitscan.reading.rejects import OnRejects, RejectBatch
from splitscan.reading.spec import Constant, ScanSpec

Watch: TypeAlias = Callable[[BlockMetadata, ByteSource], ByteSource]
"""Given a block and its open file; what it returns is read in place of that."""


@dataclass(frozen=True)
class BlockRequest:
    """Request for one block.

    Attributes:
        on_reject: Given the records that break a rule, in order. Where there is none, nothing is decoded and
            no reject counted if no column holds anything of the records (mode PERMISSIVE).
        planned: The planned block that metadata columns speak of, where *block* is a part of it.
        losses: Counts the rejects where *on_reject* does not take them, and is told of new columns.
        watch: Given the file when it is opened, and what is read of it from then on.
    """

    spec: ScanSpec
    block: BlockMetadata
    on_reject: OnRejects | None = None
    with_digest: bool = False
    limit: int | None = None
    planned: BlockMetadata | None = None
    opened: OpenedFile | None = None
    losses: RejectCounter | None = None
    watch: Watch | None = None

    @cached_property
    def constants(self) -> dict[str, Constant]:
        """Columns with one value for all records of the block, or of a part of it."""
        return self.spec.constants(self.planned or self.block)

    @property
    def wants_faults(self) -> bool:
        """True if somebody takes broken records, or counts them because no column shows them."""
        spec = self.spec
        mode = spec.options.reading.mode
        if self.on_reject is not None or self.losses is None or mode is Mode.FAILFAST:
            return self.on_reject is not None
        return mode is Mode.DROPMALFORMED or not (spec.shows_faults or spec.delivers_no_value)

    def open_source(self) -> ByteSource:
        """Open the file, and make sure that it is the one that was planned."""
        files = self.spec.options.files
        source = open_content(self.block, files, self.spec.reading) if self.opened is None else self.opened.lend()
        try:
            if files.on_file_change is OnFileChange.FAIL:
                check_unchanged(self.block.file, source)
        except BaseException:
            source.close()
            raise
        if self.watch is None or self.opened is not None:
            return source
        return self.watch(self.block, source)


def failed_to_read(error: Exception, where: Where) -> SplitscanError:
    """Convert an error of Arrow or of the system to one of ours."""
    kind = SourceError if isinstance(error, OSError) else RecordError
    return kind(
        "a block could not be read",
        where,
        seen=f"{type(error).__name__}: {error}",
        fix="check that the file can be read; for values that no column of Arrow can hold, give another schema",
        code="reader-failed",
    )


class BlockReader(ABC):
    """Reads the block of a request, and reports it. Iterate once: the batches have exactly the schema of the scan.

    Attributes:
        result: The line of the ledger, or ``None`` if the block was not read to its end.
    """

    def __init__(self, request: BlockRequest) -> None:
        self._request, self._spec, self._block = request, request.spec, request.block
        self._rejected = 0
        self.result: BlockReport | None = None

    @property
    def report(self) -> BlockReport:
        """The line of the ledger; known once the block was read to its end, without a limit."""
        if self.result is None:
            raise InvariantError("a block is reported after it was read to its end", self._block.where())
        return self.result

    @property
    @abstractmethod
    def passed_bytes(self) -> int:
        """Bytes of the block that were read so far; 0 to the end where a reader of the user's own does not say."""

    @abstractmethod
    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Exactly the records whose first byte lies in the block, in order.

        Raises:
            SourceError: If the file cannot be read or has changed.
            RecordError: In mode FAILFAST, for the first record that breaks a rule.
            SchemaError: If a header disagrees, or a column that must not be null is.
        """

    def count(self) -> RowCount:
        """Number of rows that iteration would give, by framing alone where that can tell. Call it instead."""
        return RowCount(sum(batch.num_rows for batch in self))

    # --------------------------------------------------------------- rejects

    def _hand_on(self, rejects: Sequence[Reject]) -> None:
        """Count the next rejects, in order, and hand them on."""
        self._rejected += len(rejects)
        if self._request.on_reject is not None:
            self._request.on_reject(rejects)
        else:
            self._count_lost(rejects, np.fromiter((reject.delivered for reject in rejects), np.bool_, len(rejects)))

    def _hand_on_columns(self, rejects: RejectBatch, given_up: npt.NDArray[np.bool_]) -> None:
        """Hand on the next rejects as objects only where somebody takes them; those *given_up* count in any case."""
        if self._request.on_reject is not None:
            self._hand_on(rejects)
        else:
            self._rejected += int((given_up | ~rejects.delivered).sum())
            self._count_lost(rejects, rejects.delivered)

    def _count_lost(self, rejects: Sequence[Reject], delivered: npt.NDArray[np.bool_]) -> None:
        for some, count in ((~delivered, self._count_dropped), (delivered, self._count_delivered)):
            if some.any():
                count(int(some.sum()), partial(rejects.__getitem__, int(some.argmax())))

    def _count_dropped(self, count: int, first: Callable[[], Reject]) -> None:
        """Count rejects that are no rows, where nobody takes them; see :meth:`RejectCounter.take`."""
        if self._request.losses is not None:
            self._request.losses.take(count, first)

    def _count_delivered(self, count: int, first: Callable[[], Reject]) -> None:
        """Count rejects that are rows, where nobody takes them; see :meth:`RejectCounter.take_delivered`."""
        if self._request.losses is not None and not self._spec.shows_faults:
            self._request.losses.take_delivered(count, first)


class FileBlockReader(BlockReader):
    """Reads the records of one block of an open file, however they are found."""

    _noticing: Noticing | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._request.limit == 0:
            return
        with self._failing():
            try:
                source = self._request.open_source()
            except SourceMissingError as error:
                self._reject_missing(error)
                return
            with closing(source):
                try:
                    self._open(source)
                    yield from self._read(source)
                finally:
                    if (losses := self._request.losses) is not None:
                        path = self._block.file.path
                        if self._noticing is not None:
                            losses.notice(path, self._block.start, self._noticing.packed())
                        losses.take_oddities(of_file(path, self._odd()))

    def count(self) -> RowCount:
        if self._spec.options.reading.mode is not Mode.PERMISSIVE:
            return super().count()
        with self._failing():
            try:
                source = self._request.open_source()
            except SourceMissingError as error:
                self._reject_missing(error)
                return RowCount()
            with closing(source):
                self._open(source)
                return self._count(source)

    def _reject_missing(self, error: SourceMissingError) -> None:
        """Make all of the block one reject where its file is gone, and may be, so that nothing is lost silently."""
        if not self._spec.options.files.ignore_missing_files:
            raise error
        self._hand_on(
            [self._reject_of_bytes(self._block.start, self._block.length_bytes, error.reason_code, error.rule)]
        )
        if self._request.limit is None:
            self.result = BlockReport(
                self._block, self._block.start, self._block.stop, 0, self._rejected, "", missing=True
            )

    def _reject_damage(self, damage: Damage) -> None:
        """Make what is lost of a damaged file one reject, in every mode."""
        self._hand_on([self._reject_of_bytes(damage.content_offset, 0, damage.code, str(damage))])

    def _reject_of_bytes(self, offset: int, length: int, code: str, reason: str) -> Reject:
        return Reject(self._block.file.path, offset, length, code, reason, b"", delivered=False)

    def _report_end(
        self, start: int, stop: int, rows: int, digest: str, content_bytes: int | None, *, damage: Damage | None
    ) -> None:
        """Make the line of the ledger, once the block was read to its end."""
        self.result = BlockReport(
            self._block, start, stop, rows, self._rejected, digest,
            content_bytes=content_bytes, damage=damage,
            noticed=b"" if self._noticing is None else self._noticing.packed(),
            oddities=self._odd(),
        )  # fmt: skip

    @abstractmethod
    def _open(self, source: ByteSource) -> None:
        """Begin to read the block of an open file."""

    @abstractmethod
    def _read(self, source: ByteSource) -> Iterator[pa.RecordBatch]:
        """The records of the block; at their end there is a result."""

    @abstractmethod
    def _count(self, source: ByteSource) -> RowCount:
        """Count the records by framing."""

    @abstractmethod
    def _odd(self) -> tuple[Oddity, ...]:
        """Oddities of the records so far."""

    @abstractmethod
    def _failing(self) -> AbstractContextManager[None]:
        """Raise all that fails as one of our errors, with the place that was reached."""
