"""Archives that are compressed as a whole: what they hold is read in one go, however many of their members are read.

Whoever has read a member leaves the archive open, at the place that was reached. Whoever reads another member of it
goes on from there, so that neighbours are decompressed once, in one go.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Sequence

from splitscan.blocks import UNKNOWN_END, Damage, SeekPoint
from splitscan.content.codecs.contract import Codec, ContainerError, MemberTable
from splitscan.content.codecs.source import CompressedSource
from splitscan.content.storage import ByteSource
from splitscan.content.storage.contract import refused_read
from splitscan.errors import SourceError, Where
from splitscan.redaction import redact
from splitscan.sizes import MIB, format_size

_MOST_KEPT = 4  # archives that stay open in a process: each holds some 8 MiB of what it has decompressed
_ANY_RATIO = 1 << 62  # how much an archive holds was checked when it was listed


class ArchiveContent(CompressedSource):
    """Content of a compressed archive, as a file of unknown length."""

    def __init__(
        self,
        archive: ByteSource,
        codec: Codec,
        points: Sequence[SeekPoint] = (),
        *,
        max_ratio: int = _ANY_RATIO,
        max_bytes: int = UNKNOWN_END,
        ends_at_damage: bool = False,
    ) -> None:
        self._members: list[MemberTable] = []
        self._max_bytes = max_bytes
        self.ends_at_damage = ends_at_damage
        super().__init__(
            archive,
            codec,
            places=points,
            max_ratio=max_ratio,
            on_members=self._members.append,  # nothing that holds this: dropped, it lets go of its buffers
            on_damage=(lambda _: None) if ends_at_damage else None,
        )

    @property
    def members(self) -> MemberTable | None:
        """Its members, if there are several, once all of it was decompressed."""
        return self._members[0] if self._members else None

    @property
    def size_bytes(self) -> int:
        """Greater than every offset there can be."""
        return UNKNOWN_END

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        if offset > self._max_bytes:
            raise SourceError(
                f"an archive holds more than maxArchiveSize={self._max_bytes}", Where(redact(self.path)),
                seen=f"more than {format_size(self._max_bytes)} when it is decompressed",
                fix="if that is meant, raise maxArchiveSize", code="archive-too-large",
            )  # fmt: skip
        return super().read_at(offset, length_bytes)

    def find_damage(self) -> Damage | None:
        """Position of the damage of the archive, if its content ends there; all of it is read for that."""
        position = self.kept.stop
        while self.ends_at_damage and (piece := self.read_at(position, MIB)):
            position += len(piece)
        return self.damage

    def reaches(self, offset: int, point: SeekPoint | None) -> bool:
        """True if to go on from here is no longer a way to *offset* than to begin at *point*, or at the beginning."""
        return self.kept.start <= offset and (point is None or point.content_offset <= self.kept.stop)


class SharedArchive:
    """A compressed archive for a reader of one member: decompressing goes on where an earlier reader has stopped.

    Thread safety: reads wait for each other.
    Pickling: never.
    """

    def __init__(
        self,
        archive: ByteSource,
        codec: Codec,
        member_path: str,
        points: Sequence[SeekPoint],
        *,
        ends_at_damage: bool = False,
    ) -> None:
        self._archive = archive
        self._codec = codec
        self._member_path = member_path
        self._points = sorted(points, key=lambda point: point.content_offset)
        self._ends_at_damage = ends_at_damage
        self._content: ArchiveContent | None = None
        self._lock = threading.Lock()
        self._is_sound = True
        self._is_closed = False
        self.path = archive.path
        self.size_bytes = UNKNOWN_END
        self.fingerprint = archive.fingerprint

    @property
    def container(self) -> ByteSource:
        """The archive itself."""
        return self._archive

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        with self._lock:
            if self._is_closed:
                raise refused_read(redact(self._member_path))
            try:
                return self._open_content(offset).read_at(offset, length_bytes)
            except ContainerError as error:
                self._is_sound = False
                _name_member(error, self._member_path)
                raise
            except BaseException:
                self._is_sound = False
                raise

    def find_damage(self, offset: int) -> Damage | None:
        """Position of the damage of the archive after *offset*, if its content ends there; all up to there is read."""
        while piece := self.read_at(offset, MIB):
            offset += len(piece)
        return None if self._content is None else self._content.damage

    def close(self) -> None:
        """Leave the archive to whoever reads the next member. Calling it again does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        content, self._content = self._content, None
        if content is None:
            self._archive.close()
        elif self._is_sound:
            KEPT_ARCHIVES.give(content)
        else:
            content.close()

    def _open_content(self, offset: int) -> ArchiveContent:
        if self._content is None:
            before = [point for point in self._points if point.content_offset <= offset]
            known = KEPT_ARCHIVES.take(
                self._archive, offset, before[-1] if before else None, ends_at_damage=self._ends_at_damage
            )
            if known is not None:
                known.enter_at(self._points)
                self._archive.close()
                self._archive = known.file
            self._content = known or ArchiveContent(
                self._archive, self._codec, self._points, ends_at_damage=self._ends_at_damage
            )
        return self._content


def _name_member(error: ContainerError, member_path: str) -> None:
    where = error.where or Where()
    error.where = Where(redact(member_path), where.offset, notes=where.notes)
    error.locate(Where())


class _KeptArchives:
    """The archives that stay open, of which each is used by one reader at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contents: list[ArchiveContent] = []

    def take(
        self, archive: ByteSource, offset: int, point: SeekPoint | None, *, ends_at_damage: bool = False
    ) -> ArchiveContent | None:
        """One that is on its way to *offset*, the furthest; ``None`` if to begin at *point* is as good."""
        with self._lock:
            same = [each for each in self._contents if each.path == archive.path]
            changed = [each for each in same if each.fingerprint != archive.fingerprint]
            current = [each for each in same if each not in changed and each.ends_at_damage == ends_at_damage]
            fitting = [each for each in current if each.reaches(offset, point)]
            taken = max(fitting, key=lambda each: each.kept.stop, default=None)
            self._contents = [each for each in self._contents if each is not taken and each not in changed]
        for each in changed:
            each.close()
        return taken

    def give(self, content: ArchiveContent) -> None:
        """Keep one open; the one that was not used for the longest time is closed where there are too many."""
        with self._lock:
            self._contents.append(content)
            surplus = self._contents[:-_MOST_KEPT]
            self._contents = self._contents[-_MOST_KEPT:]
        for each in surplus:
            each.close()

    def close(self) -> None:
        """Close all."""
        with self._lock:
            contents, self._contents = self._contents, []
        for each in contents:
            each.close()


KEPT_ARCHIVES = _KeptArchives()
"""Those of this process."""

atexit.register(KEPT_ARCHIVES.close)
