"""Record boundaries in a file that may still grow: what can be planned without knowing what will follow."""

from __future__ import annotations

from itertools import pairwise

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.formats.framing.contract import Preamble, RecordFormat, Splittability, has
from splitscan.reading.block_reader import look_around
from splitscan.reading.contents import HEAD_BYTES, refuse_no_text
from splitscan.reading.cursor import RecordCursor, Records

_LOOK_BYTES = 4096  # enough to tell whether a record is empty
_MARK_BYTES = 4  # of the longest byte order mark
_TAIL_BYTES = 64 * 1024  # first look for the last record start


class _OutOfBytesError(Exception):
    """The next record is not complete yet."""


class _GrowingCursor(RecordCursor):
    """A cursor that never takes the end of what is there for the end of the file."""

    @property
    def _at_end(self) -> bool:
        return False

    def _fill(self, stop: int, edge_bytes: int = 0) -> None:
        if self._read_to >= self._file.size_bytes:
            raise _OutOfBytesError
        super()._fill(stop, edge_bytes)


def cut_growing_file(  # noqa: PLR0913 -- all that finding records takes, and what is known of the file
    source: ByteSource,
    file: FileMetadata,
    format: RecordFormat,
    position: int,
    block_bytes: int,
    *,
    max_record_bytes: int,
    read_bytes: int,
    closed: bool = False,
    after_cut_record: bool = False,
) -> list[BlockMetadata]:
    """Cut what a file has gained into blocks that end at record boundaries.

    Guarantees: every block begins with a record and ends where the next one starts or will start; no byte that may
    be appended changes a record of a block. So a block depends on no byte after its own end. Bytes after the last
    block belong to a record that is not complete, or whose end cannot be told yet.

    Where records are found by a look around, only the surroundings of the cuts are read; where their context must be
    known, all new bytes are.

    Args:
        file: Its ``size_bytes`` say how far to look.
        format: How records are found; not one that reads whole files.
        position: A record boundary: where the last cut was. 0 for a new file.
        block_bytes: Least length of a block but the last.
        closed: Whether nothing will be appended any more: then the last record needs no terminator.
        after_cut_record: Whether the record before *position* was taken for ended without its terminator: an empty
            record at *position* is that terminator.

    Raises:
        SourceError: ``[compressed-input]`` if the file is compressed, ``[not-text]`` if it is no text.
    """
    preamble = _preamble(source, file, format, closed=closed)
    if preamble is None:
        return []
    cuts = _Cuts(Records(source, file, preamble, max_record_bytes, read_bytes), position)
    if after_cut_record and not cuts.skip_empty_record(closed=closed):
        return []
    stops = cuts.find(block_bytes, closed=closed)
    bounds = [position, *stops]
    firsts = [cuts.floor, *stops]
    return [
        BlockMetadata(file, start, stop, index, first)
        for index, ((start, stop), first) in enumerate(zip(pairwise(bounds), firsts, strict=False))
    ]


def _preamble(source: ByteSource, file: FileMetadata, format: RecordFormat, *, closed: bool) -> Preamble | None:
    """Preamble of the file; ``None`` if the head is not complete yet."""
    length = HEAD_BYTES
    while True:
        head = source.read_at(0, min(length, file.size_bytes))
        refuse_no_text(file.path, format, head)
        at_end = len(head) >= file.size_bytes
        preamble = format.preamble(head, at_end=closed and at_end)
        if isinstance(preamble, Preamble):
            return preamble
        if at_end:
            return _preamble_of_few(format, head) if len(head) < _MARK_BYTES else None
        length *= 4


def _preamble_of_few(format: RecordFormat, head: bytes) -> Preamble | None:
    """Preamble of a head that is too short for any byte order mark: later bytes cannot matter for its records.

    Newlines stand in for them. A header that would end among those is not complete.
    """
    preamble = format.preamble(head + b"\n" * _MARK_BYTES, at_end=False)
    return preamble if isinstance(preamble, Preamble) and preamble.data_start <= len(head) else None


class _Cuts:
    """Record boundaries after a known one."""

    def __init__(self, records: Records, position: int) -> None:
        self._source, self._file, self._format = records.source, records.file, records.format
        self._records = records
        self.floor = max(position, records.preamble.data_start)

    def skip_empty_record(self, *, closed: bool) -> bool:
        """Pass an empty record at the floor; says whether enough is there to tell."""
        left_bytes = self._file.size_bytes - self.floor
        data = self._source.read_at(self.floor, min(_LOOK_BYTES, left_bytes))
        frames = self._format.frame(data, at_end=closed and len(data) == left_bytes)
        if not frames.next_start:
            return len(data) == _LOOK_BYTES  # the beginning of a long record is not empty
        if len(frames) and int(frames.starts[0]) == 0 == int(frames.stops[0]):
            self.floor += int(frames.starts[1]) if len(frames) > 1 else frames.next_start
        return True

    def find(self, block_bytes: int, *, closed: bool) -> list[int]:
        """Boundaries about every *block_bytes*, and the last one there is."""
        size = self._file.size_bytes
        if self._format.splittability is Splittability.CONTEXT:
            stops, last = self._find_forward(self.floor, block_bytes)
        else:
            stops, last = self._find_around(block_bytes)
        if closed:
            last = size
        stops = [stop for stop in stops if stop < last]
        return [*stops, last] if last > self.floor else stops

    def _find_forward(self, known: int, block_bytes: int) -> tuple[list[int], int]:
        """By framing everything from a known boundary on."""
        stops: list[int] = []
        target = known + block_bytes
        last = known
        cursor = _GrowingCursor(self._records, known)
        try:
            while (step := cursor.step(self._file.size_bytes)) is not None:
                boundary = cursor.position
                starts = step.record_offsets
                if cursor.is_in_group:
                    continue
                while not cursor.owns_steps and (index := int(starts.searchsorted(target))) < len(starts):
                    stops.append(int(starts[index]))
                    target = stops[-1] + block_bytes
                if boundary >= target:
                    stops.append(boundary)
                    target = boundary + block_bytes
                last = boundary
        except _OutOfBytesError:
            pass
        return stops, last

    def _find_around(self, block_bytes: int) -> tuple[list[int], int]:
        """By looking around every cut, and after the last one."""
        size = self._file.size_bytes
        stops: list[int] = []
        known = self.floor
        while known + block_bytes < size:
            cut = self._first_start(known + block_bytes)
            if cut is None:
                break
            stops.append(cut)
            known = cut
        return stops, self._last_boundary(known)

    def _last_boundary(self, known: int) -> int:
        """The last boundary, at or after a known one: framed from a record start near the end."""
        size, tail_bytes = self._file.size_bytes, _TAIL_BYTES
        while size - tail_bytes > known:
            start = self._first_start(size - tail_bytes)
            if start is not None:
                known = start
                break
            tail_bytes *= 2
        return self._find_forward(known, size)[1]

    def _first_start(self, position: int) -> int | None:
        """The first record start at or after *position*; ``None`` if that cannot be told yet."""
        size, floor, format = self._file.size_bytes, self.floor, self._format
        if not (has(format, "first_start") or has(format, "first_start_after")):
            return None
        return look_around(self._source, format, position, floor=floor, size_bytes=size, grows=True)
