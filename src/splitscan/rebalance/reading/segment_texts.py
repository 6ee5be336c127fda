"""A planned block as the text that travels with its segment, and back; secrets of paths do not travel with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from splitscan.blocks import BlockMetadata, Compression, FileMetadata, Packed, SeekPoint
from splitscan.rebalance.claiming import Segment
from splitscan.redaction import secret_ranges

_READ_BLOCKS = 1024  # neighbouring chunks touch the same blocks

HiddenPath = str | list[str | int]
"""A path as it is, or what stands between its secrets, and their numbers."""


class PathSecrets:
    """Credentials that paths of a plan hold, each once: tasks get them from Spark, and the coordinator never does.

    Example:
        >>> secrets = PathSecrets()
        >>> secrets.hide("s3://key:secret@bucket/a.csv"), secrets.hide("/data/a.csv"), secrets.known
        (['s3://', 0, '@bucket/a.csv'], '/data/a.csv', ('key:secret',))
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def known(self) -> tuple[str, ...]:
        """All that were hidden, by number."""
        return tuple(self._numbers)

    def hide(self, path: str) -> HiddenPath:
        """The path with a number in place of each secret."""
        parts: list[str | int] = []
        reached = 0
        for start, stop in secret_ranges(path):
            number = self._numbers.setdefault(path[start:stop], len(self._numbers))
            parts += [path[reached:start], number]
            reached = stop
        return [*parts, path[reached:]] if parts else path


def segment_of(block: BlockMetadata, secrets: PathSecrets, *, indivisible: bool = False) -> Segment:
    """One block as the coordinator sees it: its length, and a text that :func:`block_of` understands.

    The length of an indivisible one is no more than a weight: of a range of the content of a compressed file it is not
    known how long it is.

    Args:
        block: The block.
        secrets: Takes what the path holds of them.
        indivisible: Whether it is read as a whole only.

    Example:
        >>> block = BlockMetadata(FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv"), 4, 10, 1, first_record_start=7)
        >>> segment = segment_of(block, PathSecrets())
        >>> segment.length, block_of(segment.text, ()) == (block, False)
        (6, True)
    """
    file = block.file
    plain = [
        *(secrets.hide(file.path), file.size_bytes, file.modified_us, file.fingerprint),
        *(secrets.hide(file.relative_path), file.compression),
        *(block.start, block.stop, block.index, block.first_record_start, block.seek, indivisible),
        None if file.packed is None else file.packed.plain,
    ]
    length = min(block.length_bytes, file.size_bytes) if indivisible else block.length_bytes
    return Segment(length, json.dumps(plain, separators=(",", ":")), indivisible)


@lru_cache(maxsize=_READ_BLOCKS)
def block_of(text: str, secrets: tuple[str, ...]) -> tuple[BlockMetadata, bool]:
    """The block that a text of :func:`segment_of` describes, and whether it is indivisible.

    The text comes from the plan, through the coordinator alone; *secrets* come from the plan, through Spark alone.
    """
    plain = json.loads(text)
    path, size_bytes, modified_us, fingerprint, relative_path, compression = plain[:6]
    start, stop, index, first, seek, indivisible, packed = plain[6:]
    compression = None if compression is None else Compression(*compression)
    path, relative_path = _revealed(path, secrets), _revealed(relative_path, secrets)
    packed = None if packed is None else Packed.from_plain(*packed)
    file = FileMetadata(path, size_bytes, modified_us, fingerprint, relative_path, compression, packed)
    return BlockMetadata(file, start, stop, index, first, seek and SeekPoint(*seek)), indivisible


def _revealed(path: HiddenPath, secrets: Sequence[str]) -> str:
    return path if isinstance(path, str) else "".join(secrets[p] if isinstance(p, int) else p for p in path)
