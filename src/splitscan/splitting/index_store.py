"""Boundary indexes kept from one scan to the next, so that a file is summarised once.

An index is a small JSON file in the user's cache directory (``$SPLITSCAN_CACHE``, else ``$XDG_CACHE_HOME/splitscan``,
else ``~/.cache/splitscan``). It is found by path, fingerprint, grammar and cuts, and it is believed only if the bytes
around every boundary are still those that were there. Whoever cannot write there simply pays again.

What is assumed: a file with the same path, length, modification time (or ETag) and bytes around its boundaries is the
same file. Who edits in place and sets the modification time back should set ``SPLITSCAN_CACHE`` to ``/dev/null``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from splitscan.blocks import BlockMetadata, Stretch
from splitscan.framing.contract import RecordFormat
from splitscan.storage import ByteSource

_VERSION = 3
_WITNESS_BYTES = 64  # on either side of a boundary
_MOST_KEPT = 4096  # indexes; the oldest go first
_SETTLED_SECONDS = 3.0  # a file younger than this may change again without a new modification time


class IndexStore:
    """A directory of boundary indexes.

    Args:
        directory: Where; by default the user's cache directory.

    Thread safety: processes and threads may share a directory; a file appears whole or not at all.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or _cache_directory()

    def load(
        self, source: ByteSource, blocks: Sequence[BlockMetadata], format: RecordFormat, max_record_bytes: int
    ) -> list[BlockMetadata] | None:
        """The blocks with their first record starts, or ``None`` when there is no index to believe."""
        path = self._path(blocks, format, max_record_bytes)
        try:
            kept = json.loads(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        starts = kept.get("starts") if isinstance(kept, dict) else None
        if not isinstance(starts, list) or not _plausible(blocks, starts):
            return None
        stretches = _stretches(kept.get("stretches"), starts, blocks[0].file.content_bytes)
        if stretches is None or kept.get("witness") != _witness(source, _bounds(starts, stretches)):
            return None
        return [block.starting_at(start, known) for block, start, known in zip(blocks, starts, stretches, strict=True)]

    def save(
        self, source: ByteSource, blocks: Sequence[BlockMetadata], format: RecordFormat, max_record_bytes: int
    ) -> None:
        """Keep the index that *blocks* carry.

        Does nothing for a file that was just modified, for one whose modification time its storage does not tell (its
        fingerprint may be its size alone), or without a place.
        """
        modified_us = blocks[0].file.modified_us
        if not modified_us or time.time() - modified_us / 1e6 < _SETTLED_SECONDS:
            return
        starts = [block.first_record_start for block in blocks]
        stretches = [block.stretches for block in blocks]
        witness = _witness(source, _bounds(starts, stretches))
        kept = {"file": blocks[0].file.name, "starts": starts, "stretches": stretches, "witness": witness}
        with contextlib.suppress(OSError):  # a cache that cannot be written costs time, never rows
            self._directory.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._directory, suffix=".tmp", delete=False) as out:
                whole = Path(out.name)
            try:
                whole.write_text(json.dumps(kept), encoding="ascii")
                whole.replace(self._path(blocks, format, max_record_bytes))
            finally:
                whole.unlink(missing_ok=True)
            self._prune()

    def _path(self, blocks: Sequence[BlockMetadata], format: RecordFormat, max_record_bytes: int) -> Path:
        file = blocks[0].file
        cuts = ",".join(str(block.start) for block in blocks)
        key = f"{_VERSION}\0{file.path}\0{file.fingerprint}\0{format!r}\0{max_record_bytes}\0{cuts}"
        name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._directory / f"{name}.json"

    def _prune(self) -> None:
        kept = list(self._directory.glob("*.json"))
        if len(kept) > _MOST_KEPT:
            kept.sort(key=lambda path: path.stat().st_mtime)
            for path in kept[: len(kept) - _MOST_KEPT]:
                path.unlink(missing_ok=True)


def _cache_directory() -> Path:
    own = os.environ.get("SPLITSCAN_CACHE")
    if own:
        return Path(own) / "index"
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path("~/.cache").expanduser()) / "splitscan" / "index"


def _plausible(blocks: Sequence[BlockMetadata], starts: list[object]) -> bool:
    """Whether *starts* can be first record starts of *blocks* at all."""
    size = blocks[0].file.content_bytes
    previous = 0
    for block, start in zip(blocks, starts, strict=False):
        if not isinstance(start, int) or not max(block.start, previous) <= start <= size:
            return False
        previous = start
    return len(blocks) == len(starts)


def _stretches(kept: object, starts: Sequence[int], size_bytes: int) -> list[tuple[Stretch, ...]] | None:
    """What was kept, if it can be the stretches of blocks with these first record starts."""
    if not isinstance(kept, list) or len(kept) != len(starts):
        return None
    found = []
    for low, high, rows in zip(starts, [*starts[1:], size_bytes], kept, strict=True):
        if not isinstance(rows, list) or not all(_is_stretch(row, low, high) for row in rows):
            return None
        found.append(tuple(map(Stretch._make, rows)))
    return found


def _is_stretch(row: object, low: int, high: int) -> bool:
    if not isinstance(row, list) or len(row) != len(Stretch._fields) or not all(type(n) is int for n in row):
        return False
    start, stop, last, records = map(int, row)
    return low <= start <= last < stop <= high and records > 0


def _bounds(starts: Sequence[int | None], stretches: Sequence[Sequence[Stretch]]) -> list[int | None]:
    return [*starts, *(stretch.start for each in stretches for stretch in each)]


def _witness(source: ByteSource, starts: Sequence[int | None]) -> str:
    """A digest of the bytes around every boundary."""
    digest = hashlib.sha256()
    for start in starts:
        low = max((start or 0) - _WITNESS_BYTES, 0)
        digest.update(source.read_at(low, (start or 0) + _WITNESS_BYTES - low))
    return digest.hexdigest()
