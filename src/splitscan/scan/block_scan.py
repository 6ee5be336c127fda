"""One block as record batches, and the line of the ledger about it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, ByteRange, Damage, Reject
from splitscan.content.storage import ByteSource, digest_of
from splitscan.errors import InvariantError, SourceMissingError, UsageError, Where
from splitscan.read.contents import open_content
from splitscan.read.opened_file import OpenedFile
from splitscan.scan.framework import ManagedReader, OnReject, ScanOperator
from splitscan.scan.given_up import Losses
from splitscan.scan.managed_reading import ManagedReading
from splitscan.scan.readers.plans import reader_plan, shared_plan
from splitscan.scan.readers.record_reader import RecordReader
from splitscan.scan.spec import ScanSpec


class BlockScan:
    """Reads one block and yields batches of exactly ``spec.schema``.

    After the last batch ``report`` holds the line of the ledger; with a limit there is none.

    Args:
        spec: What to deliver.
        block: What to read.
        on_reject: Called for every record that breaks a rule, in order. Where there is none, nothing is decoded and
            no reject counted if no column holds anything of the records (mode PERMISSIVE).
        with_digest: Whether the report carries the digest of the bytes.
        limit: Most rows that are wanted; the reader is told, and is not asked for more. ``None`` for all.
        planned: What metadata columns say of the block, where *block* is a part of a planned one.
        opened: The file of the block, where it stays open for the next one.
        losses: Counts the rejects where *on_reject* does not take them.

    Raises:
        SourceError: If the file cannot be read or has changed.
        RecordError: In mode FAILFAST, for the first record that breaks a rule.
        SchemaError: If a header disagrees, or a column that must not be null is.
    """

    def __init__(
        self,
        spec: ScanSpec,
        block: BlockMetadata,
        *,
        on_reject: OnReject | None = None,
        with_digest: bool = False,
        limit: int | None = None,
        planned: BlockMetadata | None = None,
        opened: OpenedFile | None = None,
        losses: Losses | None = None,
    ) -> None:
        self._losses = losses
        self._spec = spec
        self._block = block
        self._opened = opened
        self._constants = spec.constants(planned or block)
        self._on_reject = on_reject
        self._with_digest = with_digest
        self._limit = limit
        self._rejects = 0
        self._missing = False
        self._report: BlockReport | None = None

    @property
    def report(self) -> BlockReport:
        """What was done; known once iteration has ended, if it had no limit."""
        if self._report is None:
            raise InvariantError("a block is reported after it was read to its end", self._where())
        return self._report

    @property
    def result(self) -> BlockReport | None:
        """The same, or ``None`` if the block was not read to its end."""
        return self._report

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        reader = self._make_reader()
        plan = reader_plan(self._spec, self._block, lambda: reader, self._open_source, self._constants)
        output, columns = shared_plan(self._spec, self._limit)
        scan = ScanOperator(output, [plan], self._take_reject, columns)
        yield from scan
        damage = reader.damage if isinstance(reader, RecordReader) else None
        if damage is not None:
            self._report_damage(damage)
        if self._limit is not None:
            return  # perhaps not to the end
        block = self._block
        span, digest = (ByteRange(block.start, block.stop), "") if self._missing else self._proof(reader)
        content_bytes = reader.content_bytes if isinstance(reader, RecordReader) else None
        self._report = BlockReport(
            block, span.start, span.stop, scan.rows, self._rejects, digest, self._missing, content_bytes, damage
        )

    def _make_reader(self) -> ManagedReader:
        if isinstance(self._spec.framing, ManagedReading):
            return self._spec.framing.make()
        return RecordReader(
            self._spec,
            self._block,
            frozenset(self._constants),
            with_digest=self._with_digest,
            judge=self._on_reject is not None,
            opened=self._opened,
        )

    def _open_source(self) -> ByteSource:
        try:
            if self._opened is not None:
                return self._opened.lend()
            return open_content(self._block, self._spec.options.files, self._spec.reading)
        except SourceMissingError:
            self._missing = True
            raise

    def _take_reject(self, reject: Reject) -> None:
        self._rejects += 1
        if self._on_reject is not None:
            self._on_reject(reject)
        elif self._losses is not None:
            self._losses.take(reject)

    def _report_damage(self, damage: Damage) -> None:
        """What is lost of a damaged file is one reject in every mode, so that nothing is lost silently."""
        self._take_reject(
            Reject(self._block.file.path, damage.content_offset, 0, damage.code, str(damage), b"", delivered=False)
        )

    # ------------------------------------------------------------- the proof

    def _proof(self, reader: ManagedReader) -> tuple[ByteRange, str]:
        """The bytes that a reader answered for, and their digest. A reader that does not say answers for its block."""
        if isinstance(reader, RecordReader):
            if reader.span is None:
                raise InvariantError("a reader of records ends with a span", self._where())
            return reader.span, reader.digest
        span = getattr(reader, "span", None) or (self._block.start, self._block.stop)
        start, stop = span
        if not 0 <= start <= stop <= self._block.file.size_bytes:
            raise UsageError(
                "the span of a reader lies in its file",
                self._where(),
                seen=f"span [{start}, {stop}) of {self._block.file.size_bytes} bytes",
                fix="correct the reader",
                code="reader-broken",
            )
        return ByteRange(start, stop), self._hash(start, stop) if self._with_digest else ""

    def _hash(self, start: int, stop: int) -> str:
        source = self._open_source()
        try:
            return digest_of(source, start, stop)
        finally:
            source.close()

    def _where(self) -> Where:
        return Where(self._block.file.path, self._block.start, (self._block.start, self._block.stop))
