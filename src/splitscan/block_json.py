"""Files and blocks as JSON values: the one spelling in tasks, claims, windows, and whatever else is kept or sent.

Paths are spelled as :func:`splitscan.path_text.portable_path` does. A field that is absent has its default, so a
reader understands what was written before that field was there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from splitscan.blocks import ArchiveEntry, BlockMetadata, Compression, FileMetadata, SeekPoint
from splitscan.path_text import native_path, portable_path

VERSION = 1

BLOCK_FIELDS = ("start", "stop", "index", "first_record_start", "seek")
"""Names of the values of a block, in order."""


def plain_file(file: FileMetadata) -> list[Any]:
    """Spell a file. Of the way into an archive it has what a reader has to know.

    Example:
        >>> plain_file(FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv"))
        ['/data/a.csv', 10, 0, '10-0', 'a.csv', None]
    """
    relative_path = portable_path(file.relative_path, file.path)
    plain = [portable_path(file.path), file.size_bytes, file.modified_us, file.fingerprint, relative_path]
    packed = file.packed
    if packed is None:
        return [*plain, file.compression]
    points = packed.points[:1]  # those inside it are with the blocks that begin there
    return [*plain, file.compression, [packed.codec, packed.archive_bytes, packed.offset, points]]


def read_file(plain: Sequence[Any]) -> FileMetadata:
    """Understand what :func:`plain_file` spells."""
    path, size_bytes, modified_us, fingerprint, relative_path, compression, packed = (*plain, None)[:7]
    entered = None
    if packed is not None:
        codec, archive_bytes, offset, points = packed
        entered = ArchiveEntry(codec, archive_bytes, offset, tuple(SeekPoint(*point) for point in points))
    return FileMetadata(
        native_path(path),
        size_bytes,
        modified_us,
        fingerprint,
        native_path(relative_path, path),
        None if compression is None else Compression(*compression),
        entered,
    )


def plain_block(block: BlockMetadata) -> list[Any]:
    """Spell a block of a file: the values of :data:`BLOCK_FIELDS`."""
    return [block.start, block.stop, block.index, block.first_record_start, block.seek]


def read_block(file: FileMetadata, plain: Sequence[Any], names: Sequence[str] = BLOCK_FIELDS) -> BlockMetadata:
    """Understand what :func:`plain_block` spells.

    Args:
        file: Its file.
        plain: Its values.
        names: What they are.
    """
    values = dict(zip(names, plain, strict=True))
    seek = values.pop("seek", None)
    return BlockMetadata(file, **values, seek=None if seek is None else SeekPoint(*seek))


def write_blocks(blocks: Iterable[BlockMetadata]) -> bytes:
    """Write blocks, each file once.

    Guarantees: :func:`read_blocks` gives equal blocks in the same order.

    Example:
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> blocks = [BlockMetadata(file, 0, 4, 0), BlockMetadata(file, 4, 10, 1, first_record_start=7)]
        >>> read_blocks(write_blocks(blocks)) == blocks
        True
    """
    numbers: dict[FileMetadata, int] = {}
    rows = [[numbers.setdefault(block.file, len(numbers)), *plain_block(block)] for block in blocks]
    document = {"version": VERSION, "files": list(map(plain_file, numbers)), "blocks": rows}
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def read_blocks(written: bytes) -> list[BlockMetadata]:
    """Read what :func:`write_blocks` writes."""
    document = json.loads(written)
    files = list(map(read_file, document["files"]))
    return [read_block(files[number], plain) for number, *plain in document["blocks"]]
