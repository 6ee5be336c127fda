"""A compressed file as a byte source: read at offsets of its content."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter

from splitscan.blocks import ByteRange, Damage, SeekPoint
from splitscan.content.codecs.content import BEGINNING, ContentStream, DamagedStream
from splitscan.content.codecs.contract import Codec, MemberTable
from splitscan.content.storage.contract import ByteSource, refused_read
from splitscan.sizes import MIB

_HISTORY_BYTES = 8 * MIB  # how far back a read may go before decompressing begins again
_PLACE = attrgetter("content_offset")


def codec_of(source: ByteSource) -> str | None:
    """Name of the codec whose content *source* reads; ``None`` if it reads the bytes of a file."""
    codec: str | None = getattr(source, "codec", None)
    return codec


class CompressedSource:
    """The content of a compressed file, readable at any offset; cheapest in ascending order.

    Reading forward decompresses and forgets; the last 8 MiB stay at hand. Reading further back begins again at the
    nearest place that decompressing can begin at. Either way the bytes are the same.

    ``size_bytes`` and ``fingerprint`` are those of the compressed file; how long its content is turns out at its end.
    All sources of content tell ``codec``, ``content_bytes`` and ``damage``, and no other source does.

    Args:
        file: The compressed file; it is closed with this source.
        seek: Where decompressing may begin, besides the beginning of the file.
        on_members: Gets the members of a file of several, once it was decompressed from its beginning to its end.
        on_damage: Told where the file is damaged, once that place was reached: there its content ends. Without it
            damage is an error.

    Thread safety: reads wait for each other.
    """

    def __init__(
        self,
        file: ByteSource,
        codec: Codec,
        seek: SeekPoint | None = None,
        *,
        places: Sequence[SeekPoint] = (),
        max_ratio: int,
        on_members: Callable[[MemberTable], object] | None = None,
        on_damage: Callable[[Damage], None] | None = None,
    ) -> None:
        self.file = file
        self.path, self.fingerprint, self.codec = file.path, file.fingerprint, codec.name
        self._codec = codec
        self.enter_at(places if seek is None else (seek, *places))
        self._max_ratio = max_ratio
        self._on_members = on_members
        self._on_damage = on_damage
        self._damage: Damage | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._content_bytes: int | None = None
        self._stream: ContentStream
        self._begin(seek or BEGINNING)

    @property
    def size_bytes(self) -> int:
        return self.file.size_bytes

    @property
    def content_bytes(self) -> int | None:
        """Length of the content; ``None`` until its end was reached, and verified."""
        return self._content_bytes

    @property
    def kept(self) -> ByteRange:
        """The content that is at hand; what lies after it is decompressed next."""
        return ByteRange(self._kept_from, self._kept_to)

    @property
    def damage(self) -> Damage | None:
        """Why the content ends where it does, if the file is damaged there; known as soon as ``content_bytes`` is."""
        return self._damage

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        if offset < 0 or length_bytes < 0 or self._closed:
            raise refused_read(self.path, offset, length_bytes)
        with self._lock:
            nearest = self._points[bisect_right(self._points, offset, key=_PLACE) - 1]
            if offset < self._kept_from or nearest.content_offset > self._kept_to:
                self._begin(nearest)
            self._advance(offset, offset + length_bytes)
            return self._slice(offset, offset + length_bytes)

    def enter_at(self, places: Sequence[SeekPoint]) -> None:
        """From now on decompressing may begin at these places, and at the beginning of the file."""
        self._points = sorted({BEGINNING, *places}, key=_PLACE)

    def close(self) -> None:
        self._closed = True
        self._kept.clear()
        self.file.close()

    def _begin(self, point: SeekPoint) -> None:
        if self._on_damage is None:
            self._stream = ContentStream(self.file, self._codec, point, max_ratio=self._max_ratio)
        else:  # all who read the file have to agree on where it ends, so all begin at its beginning
            self._stream = DamagedStream(self.file, self._codec, max_ratio=self._max_ratio)
            point = BEGINNING
        self._kept: deque[bytes] = deque()
        self._kept_from = self._kept_to = point.content_offset

    def _advance(self, start: int, stop: int) -> None:
        """Decompress up to *stop*; keep what lies after *start*, and some history."""
        while self._kept_to < stop and (self._content_bytes is None or self._kept_to < self._content_bytes):
            piece = self._stream.read()
            if not piece:
                self._end(self._stream)
                return
            self._kept.append(piece)
            self._kept_to += len(piece)
            oldest = min(start, self._kept_to - _HISTORY_BYTES)
            while self._kept_from + len(self._kept[0]) <= oldest:
                self._kept_from += len(self._kept.popleft())

    def _end(self, stream: ContentStream) -> None:
        self._content_bytes = self._kept_to
        self._damage = stream.damage
        around = getattr(self.file, "damage", None)  # of the archive that it lies in
        if around is not None:
            self._damage = around._replace(content_offset=self._kept_to)
        if self._damage is None:
            self._tell_members(stream.members)
        elif self._on_damage is not None:
            self._on_damage(self._damage)

    def _tell_members(self, members: MemberTable) -> None:
        tell, self._on_members = self._on_members, None
        if tell is not None and members.points[0] == BEGINNING and len(members.points) > 1:
            tell(members)

    def _slice(self, start: int, stop: int) -> bytes:
        pieces = []
        position = self._kept_to
        for piece in reversed(self._kept):  # what is wanted is near the end
            position -= len(piece)
            if position >= stop:
                continue
            if position + len(piece) <= start:
                break
            pieces.append(memoryview(piece)[max(start - position, 0) : stop - position])
        return b"".join(reversed(pieces))
