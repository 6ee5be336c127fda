"""Laws of readers of one file, and of readers that splitscan manages."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from splitscan.blocks import BlockMetadata, ByteRange, FileMetadata, Reject
from splitscan.content.storage import ByteSource, digest_of
from splitscan.formats.decoding.ddl import as_schema
from splitscan.formats.framing.contract import RecordFormat, Splittability, has
from splitscan.formats.registry import parse_options
from splitscan.options import Mode
from splitscan.reading.block_reader import FramedRecords
from splitscan.reading.boundaries import FileIndex, index_file, summarise_block
from splitscan.reading.contents import read_preamble
from splitscan.reading.cursor import RecordChunk, Records, Skipped
from splitscan.reading.framework import ManagedReader, OutputPlan, ReaderPlan, ScanOperator
from splitscan.reading.framework.contract import declared_schema, name_of
from splitscan.reading.own_formats import ManagedReading, as_reading
from splitscan.scans.cutting import split_file
from splitscan.testing.faults import MemorySource, ShortReadSource
from splitscan.testing.laws import check_partition_law, must_equal

_PLENTY_BYTES = 1 << 20


class ReadRecord(NamedTuple):
    """A record as the block reader hands it over.

    Attributes:
        offset: Offset of its first byte in the file.
        content: Its bytes; of a record that was given up, the first ones.
        code: Why its structure is broken, or ``None``.
        skipped_bytes: For a record that was given up, how many bytes were; else 0.
    """

    offset: int
    content: bytes
    code: str | None
    skipped_bytes: int


def plan_file(
    source: ByteSource, format: RecordFormat, block_bytes: int, *, max_record_bytes: int, read_bytes: int
) -> FileIndex:
    """Cut one open file into blocks and, where the format needs it, give them their first record starts."""
    file = FileMetadata(source.path, source.size_bytes, 0, source.fingerprint, source.path)
    blocks = list(split_file(file, block_bytes))
    if not blocks or format.splittability is not Splittability.CONTEXT:
        return FileIndex(blocks, None)
    preamble = read_preamble(source, file, format)
    if not has(preamble.format, "summarise"):
        raise AssertionError(f"{format.name} says that it needs context and has no summaries")
    pieces = [
        piece
        for block in blocks
        for piece in summarise_block(source, block, preamble.format, preamble.data_start, max_record_bytes)
    ]
    return index_file(Records(source, blocks[0].file, preamble, max_record_bytes, read_bytes), blocks, pieces)


def read_file(
    source: ByteSource,
    format: RecordFormat,
    block_bytes: int,
    *,
    max_record_bytes: int = _PLENTY_BYTES,
    read_bytes: int = _PLENTY_BYTES,
) -> list[ReadRecord]:
    """Read all blocks of a file, the last one first, and check what each says of itself."""
    index = plan_file(source, format, block_bytes, max_record_bytes=max_record_bytes, read_bytes=read_bytes)
    found: list[list[ReadRecord]] = []
    spans: list[ByteRange] = []
    for block in reversed(index.blocks):
        reader = FramedRecords(
            source, block, format, max_record_bytes=max_record_bytes, read_bytes=read_bytes, with_digest=True
        )
        records = [record for step in reader for record in _records_of(step)]
        _must_own(block, records)
        span = reader.span
        if reader.digest != digest_of(source, span.start, span.stop):
            raise AssertionError(
                f"reader law, block [{block.start}, {block.stop}): the digest is not that of its span {span}"
            )
        counting = FramedRecords(source, block, format, max_record_bytes=max_record_bytes, read_bytes=read_bytes)
        _must_count(f"block [{block.start}, {block.stop})", records, counting.count())
        found.append(records)
        spans.append(span)
    _must_tile(spans[::-1], source.size_bytes)
    whole = [record for records in reversed(found) for record in records]
    _must_count("summaries", whole, index.records)
    return whole


def _must_count(what: str, records: Sequence[ReadRecord], counted: int | None) -> None:
    delivered = sum(not record.skipped_bytes for record in records)
    if counted not in (None, delivered):
        raise AssertionError(f"reader law, {what}: {counted} records were counted, {delivered} are delivered")


def check_reader_law(
    format: RecordFormat,
    data: bytes,
    block_sizes: Iterable[int],
    read_sizes: Sequence[int] = (1, 7, _PLENTY_BYTES),
    max_record_bytes: int = _PLENTY_BYTES,
) -> int:
    r"""Check that blocks of any size, read in pieces of any size, give what one block gives, each record once.

    Returns:
        The number of records, those that were given up included.

    Example:
        >>> from splitscan.formats.text.lines import LineFormat
        >>> check_reader_law(LineFormat(), b"a\nbc\nd", block_sizes=[1, 2, 3])
        3
    """
    source = MemorySource(data)
    size = max(len(data), 1)
    whole = read_file(source, format, size, max_record_bytes=max_record_bytes)
    for block_bytes in block_sizes:
        for read_bytes in read_sizes:
            records = read_file(source, format, block_bytes, max_record_bytes=max_record_bytes, read_bytes=read_bytes)
            if records != whole:
                difference = next(
                    (pair for pair in zip(whole, records, strict=False) if pair[0] != pair[1]), ("more", "or fewer")
                )
                raise AssertionError(
                    f"reader law, blocks of {block_bytes} bytes, reads of {read_bytes}: {difference!r}"
                )
    return len(whole)


def _records_of(step: RecordChunk | Skipped) -> list[ReadRecord]:
    if isinstance(step, Skipped):
        return [ReadRecord(step.offset, step.raw, step.code, step.length_bytes)]
    ranges = list(zip(step.frames.starts.tolist(), step.frames.stops.tolist(), strict=True))
    _must_be_true(step, [start for start, _ in ranges])
    return [
        ReadRecord(step.offset + start, bytes(step.data[start:stop]), step.frames.malformed.get(index), 0)
        for index, (start, stop) in enumerate(ranges)
    ]


def _must_be_true(step: RecordChunk, starts: Sequence[int]) -> None:
    """Check what a step claims of its records before anybody looks for them."""
    said = (len(step.frames), step.frames.first)
    if said != (len(starts), starts[0]):
        message = (
            f"reader law, step at {step.offset}: the index says {said[0]} records from {said[1]};"
            f" there are {len(starts)}, at {starts[:3]} ... {starts[-1]}"
        )
        raise AssertionError(message)


def _must_own(block: BlockMetadata, records: list[ReadRecord]) -> None:
    for record in records:
        if not block.start <= record.offset < block.stop:
            raise AssertionError(
                f"reader law, block [{block.start}, {block.stop}) delivers a record at {record.offset}"
            )


def _must_tile(spans: list[ByteRange], size_bytes: int) -> None:
    position = 0
    for span in spans:
        if span.start == span.stop:
            continue  # no record starts in the block
        if span.start != position or span.stop < span.start:
            raise AssertionError(f"reader law: span {tuple(span)} begins or stops wrongly after {position}")
        position = span.stop
    if position != size_bytes:
        raise AssertionError(f"reader law: the last span stops at {position} of {size_bytes}")


_PATH = "memory://test"

Reader = ManagedReader | Callable[[], ManagedReader]


class ReadRows(NamedTuple):
    """Rows of a reading."""

    rows: list[dict[str, Any]]
    rejects: list[Reject]
    schema: pa.Schema


def read_managed(
    reader: Reader,
    data: bytes,
    *,
    schema: str | pa.Schema | None = None,
    start: int = 0,
    stop: int | None = None,
    mode: Mode = Mode.PERMISSIVE,
    limit: int | None = None,
) -> ReadRows:
    r"""Read a file that is *data*, or a block of it, with a reader.

    Args:
        reader: A reader, which is copied, or what makes one.
        data: The whole file.
        schema: The columns wanted, DDL text or an Arrow schema; those that the reader has when not given.
        start: First offset of the block.
        stop: First offset after it; the end of the file when not given.
        mode: What happens to rows that break a rule.
        limit: Most rows.

    Raises:
        SplitscanError: If the reader raises something or does not keep to the protocol.

    Example:
        >>> class Lines:
        ...     def open(self, negotiator):
        ...         self.lines = negotiator.open_input()
        ...         return True
        ...     def next(self, loader):
        ...         loader.append({"line": [line.decode().strip() for line in self.lines]})
        ...         return False
        ...     def close(self):
        ...         pass
        >>> read_managed(Lines, b"a\nb\n").rows
        [{'line': 'a'}, {'line': 'b'}]
    """
    runner = _Runner(reader, data)
    plan = OutputPlan(runner.schema_of(schema), mode=mode, limit=limit)
    return runner.read(plan, start, len(data) if stop is None else stop)


def check_managed_reader_laws(reader: Reader, data: bytes, *, schema: str | pa.Schema | None = None) -> None:
    r"""Check that a reader gives each record exactly once, whatever is asked of it.

    * *partition*, for readers of blocks: any cut of the file gives what one pass gives;
    * *chunking*: reads that return a byte at a time change nothing;
    * *projection*: any columns, in any order, and none, give the same rows, and the same number of them;
    * *limit*: the first rows of all, for every limit;
    * *life cycle*: it is opened once, is not called after its end, and is closed once, also when the scan ends early
      or fails.

    Raises:
        AssertionError: With the law and the case where it broke first.
        SplitscanError: If the reader raises something or does not keep to the protocol.
    """
    runner = _Runner(reader, data)
    plan = OutputPlan(runner.schema_of(schema))
    whole = runner.read(plan, 0, len(data))
    if runner.reading.splittability is not Splittability.WHOLE:
        check_partition_law(lambda start, stop: _shown(runner.read(plan, start, stop).rows), len(data))
    again = runner.read(plan, 0, len(data), deliver=lambda source: ShortReadSource(source, 1))
    must_equal(_shown(whole.rows), _shown(again.rows), "chunking law, reading byte by byte")
    _check_projections(runner, plan, whole)
    for limit in range(len(whole.rows) + 2):
        some = runner.read(replace(plan, limit=limit), 0, len(data))
        must_equal(_shown(whole.rows[:limit]), _shown(some.rows), f"limit law, limit {limit}")
    _check_early_ends(runner, plan)


def _check_projections(runner: _Runner, plan: OutputPlan, whole: ReadRows) -> None:
    fields = list(whole.schema)
    chosen = [[], *([field] for field in fields), fields[::-1], *map(list, itertools.pairwise(fields))]
    for some in chosen:
        names = [field.name for field in some]
        found = runner.read(replace(plan, schema=pa.schema(some)), 0, len(runner.data))
        expected = [{name: row[name] for name in names} for row in whole.rows]
        must_equal(_shown(expected), _shown(found.rows), f"projection law, columns {names}")


def _check_early_ends(runner: _Runner, plan: OutputPlan) -> None:
    """A scan that stops after any batch, or cannot open its file, closes the reader all the same."""
    for batches in itertools.count(1):
        scan, watched = runner.scan(replace(plan, batch_rows=1), 0, len(runner.data))
        with closing(iter(scan)) as found:
            taken = sum(1 for _ in itertools.islice(found, batches))
        watched.must_be_closed(f"after {taken} batches")
        if taken < batches:
            return


class _Runner:
    """Runs a reader on bytes in memory."""

    def __init__(self, reader: Reader, data: bytes) -> None:
        reading = as_reading(reader)
        if not isinstance(reading, ManagedReading):
            raise TypeError(f"{type(reader).__name__} is no reader: see check_context_laws and check_format_laws")
        self.reading = reading
        self.data = data
        self._file = FileMetadata(_PATH, len(data), 0, MemorySource(data).fingerprint, "test")

    def schema_of(self, given: str | pa.Schema | None) -> pa.Schema:
        """The columns wanted; those that the reader has where they are not given."""
        known = as_schema(self.reading.schema if given is None else given)
        return self.scan(OutputPlan(None), 0, len(self.data))[0].find_schema() if known is None else known

    def read(
        self,
        plan: OutputPlan,
        start: int,
        stop: int,
        deliver: Callable[[ByteSource], ByteSource] = lambda source: source,
    ) -> ReadRows:
        rejects: list[Reject] = []
        scan, watched = self.scan(plan, start, stop, deliver, rejects)
        rows = [row for batch in scan for row in batch.to_pylist()]
        if plan.limit != 0:
            watched.must_be_closed(f"after block [{start}, {stop})")
        return ReadRows(rows, rejects, pa.schema([]) if plan.schema is None else plan.schema)

    def scan(
        self,
        plan: OutputPlan,
        start: int,
        stop: int,
        deliver: Callable[[ByteSource], ByteSource] = lambda source: source,
        rejects: list[Reject] | None = None,
    ) -> tuple[ScanOperator, _Watched]:
        watched = _Watched(self.reading.make())
        reader = ReaderPlan(
            watched,
            BlockMetadata(self._file, start, stop, 0),
            lambda: deliver(MemorySource(self.data, _PATH)),
            parse_options("text", {}),
            provided_schema=plan.schema,
        )
        return ScanOperator(plan, reader, None if rejects is None else rejects.extend), watched


class _Watched:
    """A reader, and what was called on it."""

    def __init__(self, reader: ManagedReader) -> None:
        self._reader = reader
        self.name = name_of(reader)
        self.schema = declared_schema(reader)
        self._opened = self._closed = 0
        self._ended = False

    def open(self, negotiator: Any) -> bool:
        self._opened += 1
        return self._reader.open(negotiator)

    def next(self, loader: Any) -> bool:
        if self._ended or self._closed or not self._opened:
            raise AssertionError(f"life cycle law: next() of {self.name} is called after its end")
        more = self._reader.next(loader)
        self._ended = not more
        return more

    def close(self) -> None:
        self._closed += 1
        self._reader.close()

    def must_be_closed(self, situation: str) -> None:
        if (self._opened, self._closed) != (1, 1):
            raise AssertionError(
                f"life cycle law, {situation}: {self.name} was opened {self._opened} times, closed {self._closed}"
            )


def _shown(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Rows as text, so that a NaN equals a NaN."""
    return [repr(tuple(row.values())) for row in rows]
