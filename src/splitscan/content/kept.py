"""Caches kept from one scan to the next: small JSON files in the user's cache directory.

That is ``$SPLITSCAN_CACHE``, else ``$XDG_CACHE_HOME/splitscan``, else ``~/.cache/splitscan``. Boundary indexes tell
where the records of each block begin, and how many there are if they were counted, seek indexes where a compressed file
can be entered, directories what an archive holds, summaries which columns files show: each takes reading all of a file.
Who cannot write here simply pays again.

What is assumed: a file with the same path, length, modification time (or ETag) and bytes at the places that an index
tells of (a summary tells of none) is the same file. Who edits in place and sets the modification time back should set
``SPLITSCAN_CACHE`` to ``/dev/null``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from splitscan.blocks import BlockMetadata, FileMetadata, SeekPoint
from splitscan.content.archives.directory import Archive
from splitscan.content.archives.member import ArchiveMember, MemberEncoding, MemberFault
from splitscan.content.archives.opening import MemberSource
from splitscan.content.codecs.bzip2 import index_bzip2
from splitscan.content.codecs.contract import Codec, MemberTable
from splitscan.content.codecs.formats import BZIP2
from splitscan.content.codecs.source import CompressedSource
from splitscan.content.codecs.tables import find_members
from splitscan.content.storage import ByteSource
from splitscan.sizes import MIB

_MOST_KEPT = 4096  # files of a kind
_SETTLED_SECONDS = 3.0  # a file younger than this may change again without a new modification time
_VERSION, _INDEX_VERSION, _SUMMARY_VERSION = 1, 5, 2  # the last is raised with every change of what is found in data
_WITNESS_BYTES = 64
_WITNESSES = 6  # points; every look may be a request
_MOST_KEPT_MEMBERS = 100_000  # a list of some 10 MB
_MOST_KEPT_TOGETHER = 10_000  # summaries, of a kilobyte or so
_WORTH_KEEPING_BYTES = 16 * MIB  # on its own: as many as are kept are 64 GiB


class JsonCache:
    """A directory of JSON objects, found by their keys; each file begins with the checksum of what it holds.

    Thread safety: processes and threads may share a directory; a file appears whole or not at all.
    """

    def __init__(self, kind: str, most: int = _MOST_KEPT) -> None:
        self._directory = _cache_directory() / kind
        self._most = most

    @property
    def directory(self) -> Path:
        """Folder of the cache."""
        return self._directory

    def read(self, key: str) -> dict[str, Any] | None:
        """Read the entry of *key*; ``None`` if there is none, or it is not as it was written."""
        try:
            said, _, text = self._path(key).read_text(encoding="ascii").partition("\n")
        except (OSError, ValueError):
            return None
        kept: dict[str, Any] | None = json.loads(text) if said == _checksum(text) else None
        return kept

    def write(self, key: str, kept: dict[str, Any]) -> bool:
        """Keep something under *key*; ``False`` if it could not be: a cache that fails costs time, never rows."""
        with contextlib.suppress(OSError):
            text = json.dumps(kept)
            self._directory.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._directory, suffix=".tmp", delete=False) as out:
                whole = Path(out.name)
            try:
                whole.write_text(f"{_checksum(text)}\n{text}", encoding="ascii")
                whole.replace(self._path(key))
            finally:
                whole.unlink(missing_ok=True)
            self._prune()
            return True
        return False

    def _path(self, key: str) -> Path:
        return self._directory / f"{_checksum(key)}.json"

    def _prune(self) -> None:
        """Drop the oldest where there are too many: an eighth of them, as looking for them costs a look at all."""
        kept = [name for name in os.listdir(self._directory) if name.endswith(".json")]  # noqa: PTH208 -- names alone
        if len(kept) > self._most:
            paths = sorted((self._directory / name for name in kept), key=lambda path: path.stat().st_mtime)
            for path in paths[: len(paths) - (self._most - self._most // 8)]:
                path.unlink(missing_ok=True)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_settled(file: FileMetadata) -> bool:
    """True if a file's fingerprint is the identity of its content.

    It is not for a file that was just modified, nor for one whose modification time its storage does not tell: its
    fingerprint may be its size alone.
    """
    return bool(file.modified_us) and time.time() - file.modified_us / 1e6 >= _SETTLED_SECONDS


def _cache_directory() -> Path:
    own = os.environ.get("SPLITSCAN_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path("~/.cache").expanduser()) / "splitscan"


class KeptIndex(NamedTuple):
    """A boundary index, as it was kept.

    Attributes:
        blocks: All blocks of the file, with their first record starts.
        records: How many records the file has, if they were counted on the way and there is nothing to be said of them.
        counted: What the count depends on besides the index.
    """

    blocks: list[BlockMetadata]
    records: int | None = None
    counted: str = ""


class IndexStore:
    """The boundary indexes in the user's cache directory.

    One is found by path, fingerprint, grammar and cuts, and believed only if the bytes around every boundary are still
    those that were there (of a compressed file, those around the places at which its blocks are entered).

    Thread safety: processes and threads may share a directory; a file appears whole or not at all.
    """

    def __init__(self) -> None:
        self._kept = JsonCache("index")

    def load(
        self, source: ByteSource, blocks: Sequence[BlockMetadata], grammar: str, max_record_bytes: int
    ) -> KeptIndex | None:
        """The index that was kept of the blocks, or ``None`` when there is no index to believe."""
        kept = self._kept.read(_index_key(blocks, grammar, max_record_bytes))
        if kept is None or kept["witness"] != _witness_of_starts(source, blocks, kept["starts"]):
            return None
        found = [block.starting_at(start) for block, start in zip(blocks, kept["starts"], strict=True)]
        return KeptIndex(found, kept["records"], kept["counted"])

    def save(self, source: ByteSource, index: KeptIndex, grammar: str, max_record_bytes: int) -> None:
        """Keep an index."""
        blocks = index.blocks
        if not is_settled(blocks[0].file):
            return
        starts = [block.first_record_start for block in blocks]
        witness = _witness_of_starts(source, blocks, starts)
        kept = {"starts": starts, "witness": witness, "records": index.records, "counted": index.counted}
        self._kept.write(_index_key(blocks, grammar, max_record_bytes), kept)


def _index_key(blocks: Sequence[BlockMetadata], grammar: str, max_record_bytes: int) -> str:
    file = blocks[0].file
    cuts = ",".join(str(block.start) for block in blocks)
    return f"{_INDEX_VERSION}\0{file.path}\0{file.fingerprint}\0{grammar}\0{max_record_bytes}\0{cuts}"


def _witness_of_starts(source: ByteSource, blocks: Sequence[BlockMetadata], starts: Sequence[int | None]) -> str:
    """A digest of the bytes around every boundary; of what is compressed, around the places it is entered at."""
    compressed = source.container if isinstance(source, MemberSource) else None
    if isinstance(source, CompressedSource):
        compressed = source.file
    if compressed is not None:
        source, starts = compressed, [0 if block.seek is None else block.seek.bit_offset // 8 for block in blocks]
    digest = hashlib.sha256()
    for start in starts:
        low = max((start or 0) - _WITNESS_BYTES, 0)
        digest.update(source.read_at(low, (start or 0) + _WITNESS_BYTES - low))
    return digest.hexdigest()


class SeekStore:
    """The seek indexes in the user's cache directory.

    One is found by path, fingerprint and codec of its file, and believed only if the bytes at some of its points, and
    at both ends of the file, are still those that were there.

    Thread safety: processes and threads may share a directory; a file appears whole or not at all.
    """

    def __init__(self) -> None:
        self._kept = JsonCache("seek")

    def load(self, source: ByteSource, file: FileMetadata, codec: str) -> MemberTable | None:
        """The points of a file, or ``None`` when there is no index to believe."""
        kept = self._kept.read(_key(file, codec))
        if kept is None:
            return None
        table = MemberTable(tuple(SeekPoint(*point) for point in kept["points"]), kept["content_bytes"])
        return table if kept["witness"] == _witness_of_points(source, table) else None

    def find(
        self,
        source: ByteSource,
        file: FileMetadata,
        codec: Codec,
        most_member_bytes: int,
        *,
        finds_blocks: bool,
        max_ratio: int,
    ) -> MemberTable | None:
        """Points to enter a file: told by its container, or kept; or blocks of bzip2, which are found and kept."""
        table = find_members(source, codec, most_member_bytes) or self.load(source, file, codec.name)
        if table is None and codec is BZIP2 and finds_blocks:
            table = index_bzip2(source, os.cpu_count() or 1, max_ratio=max_ratio)
            if table is not None:
                self.save(source, file, codec.name, table)
        return table

    def save(self, source: ByteSource, file: FileMetadata, codec: str, table: MemberTable) -> bool:
        """Keep the points of a file; ``False`` of one that was just modified, or whose time nobody knows."""
        if not is_settled(file):
            return False
        kept = {
            "points": [list(point) for point in table.points],
            "content_bytes": table.content_bytes,
            "witness": _witness_of_points(source, table),
        }
        return self._kept.write(_key(file, codec), kept)


def _key(file: FileMetadata, codec: str) -> str:
    return f"{_VERSION}\0{file.path}\0{file.fingerprint}\0{codec}"


def _witness_of_points(source: ByteSource, table: MemberTable) -> str:
    """A digest of the bytes at both ends of the file and at some points, and of all points."""
    digest = hashlib.sha256(repr(table).encode("ascii"))
    step = -(-len(table.points) // _WITNESSES)
    offsets = [point.bit_offset // 8 for point in table.points[::step]]
    for offset in (0, *offsets, max(source.size_bytes - _WITNESS_BYTES, 0)):
        digest.update(source.read_at(offset, _WITNESS_BYTES))
    return digest.hexdigest()


class SummaryStore:
    """Summaries of files, in the user's cache directory.

    It is found by paths, fingerprints, and what it depends on: that of long files alone, that of all others together.

    Thread safety: processes and threads may share a directory; a file appears whole or not at all.
    """

    def __init__(self, what: str) -> None:
        self._kept, self._what = JsonCache("summaries"), what

    def load(self, files: Sequence[FileMetadata]) -> dict[str, Any]:
        """Load the entries by path."""
        found: dict[str, Any] = {}
        for group in _groups(files):
            if (kept := self._kept.read(self._key(group))) is not None:
                found.update(zip((file.path for file in group), kept["summaries"], strict=True))
        return found

    def save(self, files: Sequence[FileMetadata], summaries: Mapping[str, Any]) -> None:
        """Keep what was found in files; not of those that were just modified, of very many, or where one is missing."""
        for group in _groups(files):
            if len(group) <= _MOST_KEPT_TOGETHER and all(each.path in summaries and is_settled(each) for each in group):
                self._kept.write(self._key(group), {"summaries": [summaries[file.path] for file in group]})

    def _key(self, files: Sequence[FileMetadata]) -> str:
        named = [(file.path, file.fingerprint) for file in files]
        return f"{_SUMMARY_VERSION}\0{self._what}\0{named}"


def _groups(files: Sequence[FileMetadata]) -> list[list[FileMetadata]]:
    """Long files alone, all others together."""
    together = [file for file in files if file.size_bytes < _WORTH_KEEPING_BYTES]
    return [[file] for file in files if file.size_bytes >= _WORTH_KEEPING_BYTES] + [together] * bool(together)


class DirectoryStore:
    """The directories of compressed archives in the user's cache directory."""

    def __init__(self) -> None:
        self._kept = JsonCache("archives")

    def load(self, source: ByteSource, file: FileMetadata, codec: Codec) -> Archive | None:
        """Load the members of an archive; ``None`` where there is no directory to believe."""
        kept = self._kept.read(_key(file, codec.name))
        if kept is None or kept["witness"] != _witness_of_ends(source):
            return None
        packing = MemberEncoding(codec=codec.name)
        members = (
            ArchiveMember(
                name, packing, offset, length, length, fault=fault and MemberFault(*fault), head=bytes.fromhex(head)
            )
            for name, offset, length, fault, head in kept["members"]
        )
        return Archive("tar", tuple(members), tuple(map(tuple, kept["skipped"])), kept["content_bytes"])

    def save(self, source: ByteSource, file: FileMetadata, codec: Codec, archive: Archive) -> None:
        """Keep what an archive holds; not of one that was just modified, nor a very long list."""
        if not is_settled(file) or len(archive.members) > _MOST_KEPT_MEMBERS:
            return
        members = [
            (each.name, each.offset, each.content_bytes, each.fault, each.head.hex()) for each in archive.members
        ]
        kept = {
            "members": members,
            "skipped": archive.skipped,
            "content_bytes": archive.content_bytes,
            "witness": _witness_of_ends(source),
        }
        self._kept.write(_key(file, codec.name), kept)


def _witness_of_ends(source: ByteSource) -> str:
    """A digest of the bytes at both ends of an archive, and of its length."""
    digest = hashlib.sha256(b"%d" % source.size_bytes)
    for offset in (0, max(source.size_bytes - _WITNESS_BYTES, 0)):
        digest.update(source.read_at(offset, _WITNESS_BYTES))
    return digest.hexdigest()
