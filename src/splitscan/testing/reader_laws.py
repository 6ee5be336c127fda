"""The law of the block reader: any blocks of a file, any sizes of reads, the same records; and spans that tile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from splitscan.blocks import BlockMetadata, ByteRange, FileMetadata
from splitscan.content.storage import ByteSource, digest_of
from splitscan.formats.framing.contract import RecordFormat, Splittability, has
from splitscan.plan.cutting import split_file
from splitscan.read.block_reader import FramedRecords
from splitscan.read.boundaries import FileIndex, index_file
from splitscan.read.contents import read_preamble
from splitscan.read.cursor import RecordChunk, Skipped
from splitscan.read.pieces import summarise_block
from splitscan.testing.faults import MemorySource

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
    return index_file(source, blocks, preamble, pieces, max_record_bytes=max_record_bytes, read_bytes=read_bytes)


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
