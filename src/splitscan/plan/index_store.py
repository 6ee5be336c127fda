"""Boundary indexes kept from one scan to the next, so that a file is summarised once.

An index is a small file in the user's cache directory. It is found by path, fingerprint, grammar and cuts, and it is
believed only if the bytes around every boundary are still those that were there (of a compressed file, those around the
places at which its blocks are entered). Whoever cannot write there simply pays again.

What is assumed: a file with the same path, length, modification time (or ETag) and bytes around its boundaries is the
same file. Who edits in place and sets the modification time back should set ``SPLITSCAN_CACHE`` to ``/dev/null``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from splitscan.blocks import BlockMetadata
from splitscan.content.archives import MemberSource
from splitscan.content.codecs.source import CompressedSource
from splitscan.content.kept import KeptFiles, is_settled
from splitscan.content.storage import ByteSource
from splitscan.formats.framing.contract import RecordFormat

_VERSION = 5
_WITNESS_BYTES = 64  # on either side of a boundary


class IndexStore:
    """The boundary indexes in the user's cache directory.

    Args:
        kept: Another place.

    Thread safety: processes and threads may share a directory; a file appears whole or not at all.
    """

    def __init__(self, kept: KeptFiles | None = None) -> None:
        self._kept = kept or KeptFiles("index")

    def load(
        self, source: ByteSource, blocks: Sequence[BlockMetadata], format: RecordFormat, max_record_bytes: int
    ) -> list[BlockMetadata] | None:
        """The blocks with their first record starts, or ``None`` when there is no index to believe."""
        kept = self._kept.read(_key(blocks, format, max_record_bytes))
        starts = None if kept is None else kept.get("starts")
        if kept is None or not isinstance(starts, list) or not _plausible(blocks, starts):
            return None
        if kept.get("witness") != _witness(source, blocks, starts):
            return None
        return [block.starting_at(start) for block, start in zip(blocks, starts, strict=True)]

    def save(
        self, source: ByteSource, blocks: Sequence[BlockMetadata], format: RecordFormat, max_record_bytes: int
    ) -> None:
        """Keep the index that *blocks* carry.

        Does nothing for a file that was just modified, for one whose modification time its storage does not tell (its
        fingerprint may be its size alone), or without a place.
        """
        if not is_settled(blocks[0].file):
            return
        starts = [block.first_record_start for block in blocks]
        kept = {"file": blocks[0].file.name, "starts": starts, "witness": _witness(source, blocks, starts)}
        self._kept.write(_key(blocks, format, max_record_bytes), kept)


def _key(blocks: Sequence[BlockMetadata], format: RecordFormat, max_record_bytes: int) -> str:
    file = blocks[0].file
    cuts = ",".join(str(block.start) for block in blocks)
    return f"{_VERSION}\0{file.path}\0{file.fingerprint}\0{format!r}\0{max_record_bytes}\0{cuts}"


def _plausible(blocks: Sequence[BlockMetadata], starts: list[object]) -> bool:
    """Whether *starts* can be first record starts of *blocks* at all."""
    size = blocks[0].file.content_bytes
    previous = 0
    for block, start in zip(blocks, starts, strict=False):
        if not isinstance(start, int) or not max(block.start, previous) <= start <= size:
            return False
        previous = start
    return len(blocks) == len(starts)


def _witness(source: ByteSource, blocks: Sequence[BlockMetadata], starts: Sequence[int | None]) -> str:
    """A digest of the bytes around every boundary; of what is compressed, around the places it is entered at."""
    compressed = source.file if isinstance(source, CompressedSource) else _container(source)
    if compressed is not None:
        source, starts = compressed, [0 if block.seek is None else block.seek.bit_offset // 8 for block in blocks]
    digest = hashlib.sha256()
    for start in starts:
        low = max((start or 0) - _WITNESS_BYTES, 0)
        digest.update(source.read_at(low, (start or 0) + _WITNESS_BYTES - low))
    return digest.hexdigest()


def _container(source: ByteSource) -> ByteSource | None:
    """The archive of a member, if it is compressed as a whole."""
    return source.container if isinstance(source, MemberSource) else None
