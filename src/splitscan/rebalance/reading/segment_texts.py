"""A planned block as the text that travels with its segment, and back."""

from __future__ import annotations

import json
from functools import lru_cache

from splitscan.blocks import BlockMetadata, Compression, FileMetadata, SeekPoint, Stretch
from splitscan.rebalance.claiming import Segment

_READ_BLOCKS = 1024  # neighbouring chunks touch the same blocks


def segment_of(block: BlockMetadata, *, indivisible: bool = False) -> Segment:
    """One block as the coordinator sees it: its length, and a text that :func:`block_of` understands.

    The length of an indivisible one is no more than a weight: of a range of the content of a compressed file it is not
    known how long it is.

    Example:
        >>> block = BlockMetadata(FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv"), 4, 10, 1, first_record_start=7)
        >>> segment = segment_of(block)
        >>> segment.length, block_of(segment.text) == (block, False)
        (6, True)
    """
    file = block.file
    plain = [
        *(file.path, file.size_bytes, file.modified_us, file.fingerprint, file.relative_path, file.compression),
        *(block.start, block.stop, block.index, block.first_record_start, block.stretches, block.seek, indivisible),
    ]
    length = min(block.length_bytes, file.size_bytes) if indivisible else block.length_bytes
    return Segment(length, json.dumps(plain, separators=(",", ":")), indivisible)


@lru_cache(maxsize=_READ_BLOCKS)
def block_of(text: str) -> tuple[BlockMetadata, bool]:
    """The block that a text of :func:`segment_of` describes, and whether it is indivisible.

    The text comes from the plan, through the coordinator alone.
    """
    plain = json.loads(text)
    path, size_bytes, modified_us, fingerprint, relative_path, compression = plain[:6]
    start, stop, index, first, known, seek, indivisible = plain[6:]
    compression = None if compression is None else Compression(*compression)
    file = FileMetadata(path, size_bytes, modified_us, fingerprint, relative_path, compression)
    stretches = tuple(map(Stretch._make, known))
    return BlockMetadata(file, start, stop, index, first, stretches, seek and SeekPoint(*seek)), indivisible
