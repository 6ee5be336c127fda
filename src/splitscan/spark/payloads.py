"""What a task must know, as few bytes: a file once, a block as a handful of numbers."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from typing import Any

from splitscan.blocks import BlockMetadata, Compression, FileMetadata, Packed, SeekPoint

_FASTEST = 1  # zlib level: the numbers of neighbouring blocks shrink well at any


def pack_payload(blocks: Sequence[BlockMetadata]) -> bytes:
    """Write the blocks of one task.

    Guarantees: ``unpack_payload`` gives equal blocks in the same order.

    Example:
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> blocks = [BlockMetadata(file, 0, 4, 0), BlockMetadata(file, 4, 10, 1, first_record_start=7)]
        >>> unpack_payload(pack_payload(blocks)) == blocks
        True
    """
    numbers: dict[FileMetadata, int] = {}
    rows = [
        (
            numbers.setdefault(block.file, len(numbers)),
            block.start,
            block.stop,
            block.index,
            block.first_record_start,
            None if block.seek is None else tuple(block.seek),
        )
        for block in blocks
    ]
    plain = ([_plain_file(file) for file in numbers], rows)
    return zlib.compress(pickle.dumps(plain, protocol=pickle.HIGHEST_PROTOCOL), _FASTEST)


def unpack_payload(payload: bytes) -> list[BlockMetadata]:
    """Read the blocks of one task. The payload travels inside Spark's own closure or partition, nowhere else."""
    plain_files, rows = pickle.loads(zlib.decompress(payload))
    files = [_read_file(*fields) for fields in plain_files]
    return [
        BlockMetadata(
            files[number],
            start,
            stop,
            index,
            first,
            None if seek is None else SeekPoint(*seek),
        )
        for number, start, stop, index, first, seek in rows
    ]


def _plain_file(file: FileMetadata) -> tuple[object, ...]:
    compression = None if file.compression is None else tuple(file.compression)
    packed = None if file.packed is None else file.packed.plain
    return (file.path, file.size_bytes, file.modified_us, file.fingerprint, file.relative_path, compression, packed)


def _read_file(
    path: str,
    size_bytes: int,
    modified_us: int,
    fingerprint: str,
    relative_path: str,
    compression: tuple[str, int] | None,
    packed: tuple[Any, ...] | None,
) -> FileMetadata:
    known = None if compression is None else Compression(*compression)
    entered = None if packed is None else Packed.from_plain(*packed)
    return FileMetadata(path, size_bytes, modified_us, fingerprint, relative_path, known, entered)
