"""The laws of reader contexts as plain functions: run them on your own context and a small file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from splitscan.blocks import BlockMetadata, ByteRange, FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.reading.cursor import Skipped
from splitscan.reading.own_formats import ContextReading, as_reading
from splitscan.reading.reader_context import ContextReader, Converted, ReaderContext
from splitscan.testing.faults import MemorySource, ShortReadSource
from splitscan.testing.laws import check_partition_law, must_equal

_MAX_RECORD_BYTES = 1 << 30
_READ_BYTES = 64
_STRIDE = 3

ReadRecord = tuple[int, Any]
"""Offset of a record and what was made of it; ``Skipped`` for one that was rejected."""


def read_context_range(
    context: ReaderContext | Callable[[], ReaderContext], data: bytes, start: int, stop: int
) -> list[ReadRecord]:
    r"""Read the records of the block ``[start, stop)`` of a file that is *data*.

    Returns:
        The offset and the value of each record.

    Raises:
        SplitscanError: If the context raises something or does not keep its promises.

    Example:
        >>> from splitscan.reading.framed_contexts import ReadAheadLineReaderContext
        >>> read_context_range(ReadAheadLineReaderContext(), b"ab\ncd\nef", 1, 7)
        [(3, b'cd'), (6, b'ef')]
    """
    block = BlockMetadata(_file_of(data), start, stop, 0)
    return _records(_reader(_reading(context).make(), MemorySource(data), block))


def check_context_laws(context: ReaderContext | Callable[[], ReaderContext], data: bytes) -> None:
    r"""Check that a context reads each record exactly once, however a file is cut and its blocks are ordered.

    At every cut and every block size: the blocks give what one pass gives (*partition*), their spans tile the file
    (*ledger*), the size of the reads does not matter (*chunking*), and one context can read block after block, in order
    or in any order. The context is copied. The file is best a few dozen bytes that mix all difficulties; the work grows
    with its square.

    Raises:
        AssertionError: With the law and the cuts where it broke first.
        SplitscanError: If the context raises something or does not keep its promises.

    Example:
        >>> from splitscan.reading.framed_contexts import ReadAheadLineReaderContext
        >>> check_context_laws(ReadAheadLineReaderContext(), b"ab\r\ncd\n\nef")
    """
    reading = _reading(context)
    if getattr(reading.make(), "splittable", True):
        check_partition_law(partial(read_context_range, context, data), len(data))
        sizes: Iterable[int] = range(1, len(data) + 1)
    else:
        sizes = [len(data)] if data else []
    one_pass = read_context_range(context, data, 0, len(data)) if data else []
    for size in sizes:
        blocks = list(_blocks_of(data, size))
        order = [block for first in range(_STRIDE) for block in blocks[first::_STRIDE]]
        for how, ordered in (("in order", blocks), ("in any order", order)):
            context = reading.make()
            found = [each for block in ordered for each in _records(_reader(context, MemorySource(data), block))]
            must_equal(one_pass, sorted(found, key=_offset), f"blocks of {size} bytes, {how}")
        readers = [_reader(reading.make(), ShortReadSource(MemorySource(data), 1), block) for block in blocks]
        must_equal(one_pass, [r for reader in readers for r in _records(reader)], f"blocks of {size}, byte by byte")
        _must_tile([reader.span for reader in readers], len(data), size)


def _offset(record: ReadRecord) -> int:
    return record[0]


def _reading(context: Any) -> ContextReading:
    framing = as_reading(context)
    if not isinstance(framing, ContextReading):
        raise TypeError(f"{type(context).__name__} is a record format: check it with check_format_laws")
    return framing


def _file_of(data: bytes) -> FileMetadata:
    return FileMetadata("memory://test", len(data), 0, "v1", "test")


def _blocks_of(data: bytes, size: int) -> Iterator[BlockMetadata]:
    file = _file_of(data)
    for index, start in enumerate(range(0, len(data), size)):
        yield BlockMetadata(file, start, min(start + size, len(data)), index)


def _reader(context: ReaderContext, source: ByteSource, block: BlockMetadata) -> ContextReader:
    return ContextReader(source, block, context, max_record_bytes=_MAX_RECORD_BYTES, read_bytes=_READ_BYTES)


def _records(reader: ContextReader) -> list[ReadRecord]:
    records: list[ReadRecord] = []
    for step in reader:
        if isinstance(step, Skipped):
            records.append((step.offset, step))
        elif isinstance(step, Converted):
            records += zip(step.starts.tolist(), step.values, strict=True)
    return records


def _must_tile(spans: list[ByteRange], size: int, block_bytes: int) -> None:
    filled = [span for span in spans if span.start != span.stop]
    stops = [0, *(span.stop for span in filled)]
    starts = [*(span.start for span in filled), size]
    for start, stop in zip(starts, stops, strict=True):
        if start != stop:
            what = "read by no block" if start > stop else "answered for by two blocks"
            raise AssertionError(
                f"ledger law, blocks of {block_bytes} bytes: [{min(start, stop)}, {max(start, stop)}) is {what}"
            )
