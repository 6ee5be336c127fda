"""What a task must know, as few bytes: a file once, a block as a handful of numbers."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from dataclasses import astuple

from splitscan.blocks import BlockMetadata, FileMetadata

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
        (numbers.setdefault(block.file, len(numbers)), block.start, block.stop, block.index, block.first_record_start)
        for block in blocks
    ]
    plain = ([astuple(file) for file in numbers], rows)
    return zlib.compress(pickle.dumps(plain, protocol=pickle.HIGHEST_PROTOCOL), _FASTEST)


def unpack_payload(payload: bytes) -> list[BlockMetadata]:
    """Read the blocks of one task. The payload travels inside Spark's own closure or partition, nowhere else."""
    plain_files, rows = pickle.loads(zlib.decompress(payload))
    files = [FileMetadata(*fields) for fields in plain_files]
    return [BlockMetadata(files[number], start, stop, index, first) for number, start, stop, index, first in rows]
