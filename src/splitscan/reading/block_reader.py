"""The block reader: yields exactly the records whose first byte lies in its range."""

from __future__ import annotations

from collections.abc import Iterator

from splitscan.blocks import UNKNOWN_END, BlockMetadata, ByteRange, Damage
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.storage import ByteSource, ContentDigest, is_prefix_fingerprint
from splitscan.errors import InvariantError, SourceChangedError, Where
from splitscan.formats.framing.contract import (
    FullFormat,
    Need,
    Preamble,
    RecordFormat,
    Splittability,
    has,
    starts_anywhere,
)
from splitscan.reading.boundaries import find_first_start, find_start_nearby, shows_split_points
from splitscan.reading.contents import content_bytes_of, damage_of, in_content, preamble_for
from splitscan.reading.cursor import RecordChunk, RecordCursor, Records, Skipped, UnreadableRecords, steps_until

_LOOK_BYTES = 4096  # first look; doubled while it does not decide
_LONGEST_LOOK_BYTES = 1 << 20  # from here on the look slides along a record that has no end in sight


class FramedRecords:
    """The records of one block, found but not decoded.

    Iterate once to get :class:`RecordChunk` and :class:`Skipped` records, all owned by this block, in order.
    Afterwards ``span`` and ``digest`` tell what was dealt with.

    Guarantees: reading the blocks of any partition of a file, in any order, gives every record exactly once, and the
    spans tile the file. Blocks of a file that was planned while it grew end at record boundaries: their spans are their
    ranges, whatever follows.

    Args:
        preamble: What the file's head says, where that is known; read if not given.
        with_digest: Whether to hash the bytes of the span (:class:`ContentDigest`).

    Raises:
        InvariantError: On iteration, if the format needs context and the block does not carry its first record start.
    """

    def __init__(
        self,
        source: ByteSource,
        block: BlockMetadata,
        format: RecordFormat,
        *,
        max_record_bytes: int,
        read_bytes: int,
        preamble: Preamble | None = None,
        with_digest: bool = False,
    ) -> None:
        self._source = source
        self._block = block = in_content(block, source)
        self._read_bytes = read_bytes
        self._stop = block.stop
        self._digest = ContentDigest() if with_digest else None
        self._is_aligned = is_prefix_fingerprint(block.file.fingerprint)
        self._span_start: int | None = block.start if block.start == 0 or self._is_aligned else None
        self._span_stop: int | None = None
        self._hashed_to = 0
        self._content_bytes: int | None = None
        self._records = 0
        self._given_up = UnreadableRecords()
        try:
            self._preamble = preamble or preamble_for(source, block.file, format, block.start)
        except ContainerError as error:
            error.locate(self._after(0))
            raise
        self._framed = Records(source, block.file, self._preamble, max_record_bytes, read_bytes)

    @property
    def preamble(self) -> Preamble:
        """Preamble of the file (the header, for instance)."""
        return self._preamble

    @property
    def span(self) -> ByteRange:
        """The bytes this reader answered for; known once iteration has ended."""
        if self._span_start is None or self._span_stop is None:
            raise InvariantError("the span of a block is known only after it was read", self._block.where())
        return ByteRange(self._span_start, self._span_stop)

    @property
    def content_bytes(self) -> int | None:
        """Length of the content of a compressed file, by its last block's reader; known after the last step."""
        return self._content_bytes

    @property
    def damage(self) -> Damage | None:
        """Damage of the file, if that is in this block; known after the last step."""
        damage = damage_of(self._source)
        inside = damage is not None and self._block.start <= damage.content_offset < self._block.stop
        return damage if inside else None

    @property
    def digest(self) -> str:
        """Digest of the span's bytes; empty without ``with_digest``."""
        return self._digest.text if self._digest else ""

    def __iter__(self) -> Iterator[RecordChunk | Skipped]:
        try:
            for step in self._steps():
                self._records += step.records
                yield step
        except ContainerError as error:
            error.locate(self._after(self._records))
            raise

    def _steps(self) -> Iterator[RecordChunk | Skipped]:
        entry = self._entry()
        self._hash_prefix(entry)
        cursor = self._open_cursor(entry)
        if cursor.owns_steps and entry < self._stop:
            self._begin_span(entry)
        while self._span_stop is None and cursor.is_before(self._stop):
            step = next(steps_until(cursor, self._stop), None)
            if step is None:
                break
            owned = self._claim(step, is_whole=cursor.owns_steps)
            if owned is not None:
                yield owned
        self._span_stop = self._end_span(cursor)
        if self._span_start is None:
            self._span_start = self._span_stop
        self._content_bytes = self._reached_end()
        self._hash_bytes(self._hashed_to, self._span_stop, None)  # blank lines and comments after the last record

    def _end_span(self, cursor: RecordCursor) -> int:
        """End of the span: where the next record begins, or where damage cuts off the last of ours.

        The blocks inside of one long record, or of many lines that are none, do not look for its end, which would take
        quadratic time: their spans are empty, at their starts where no context tells more. The block whose record it is
        goes on to that end.
        """
        if self._is_aligned:
            return self._stop  # blank lines after that belong to the block that begins with them
        reached = cursor.position if self._span_stop is None else self._span_stop
        if self._span_start is None and not self._block.is_last and reached >= self._stop:
            needs_context = self._preamble.format.splittability is Splittability.CONTEXT
            return reached if needs_context else self._block.start
        if self._span_stop is not None:
            return self._span_stop
        stop = cursor.gap_stop()
        self._begin_span(stop)
        return self._source_end() if cursor.is_torn and stop < self._stop else stop

    @property
    def given_up(self) -> UnreadableRecords:
        """Records of this block that :meth:`count` met and gave up."""
        return self._given_up

    def count(self) -> int:
        """Number of records that iteration would give, found by counting where the format can. Call it instead."""
        try:
            return self._count()
        except ContainerError as error:
            error.locate(self._after(self._records))
            raise

    def _count(self) -> int:
        cursor = self._open_cursor(self._entry())
        stop = self._stop
        while cursor.is_before(stop):
            counted = cursor.count(stop)
            if counted is None:
                step = next(steps_until(cursor, stop), None)
                if step is None:
                    break
                owned = max(step.records, 1) if cursor.owns_steps else int(step.record_offsets.searchsorted(stop))
                if owned:
                    self._given_up = self._given_up.and_of(step)
                counted = min(owned, step.records)
            self._records += counted
        return self._records

    def _reached_end(self) -> int | None:
        """Make sure that the last block of a compressed file ends where the content does, all of it verified."""
        file = self._block.file
        if file.compression is None or not self._block.is_last:
            return None
        if file.content_bytes < UNKNOWN_END and self._source.read_at(file.content_bytes, 1):
            raise SourceChangedError(
                "a compressed file holds more than when it was planned",
                self._block.where(),
                seen=f"content after byte {file.content_bytes}",
                fix="plan again",
            )
        if self._span_stop is not None and self._source.read_at(self._span_stop, 1):
            raise InvariantError("the last block of a file ends with its content", self._block.where())
        return self._source_end()

    def _open_cursor(self, position: int) -> RecordCursor:
        return RecordCursor(self._framed, position)

    # ------------------------------------------------------------- ownership

    def _claim(self, step: RecordChunk | Skipped, *, is_whole: bool) -> RecordChunk | Skipped | None:
        """Cut *step*, unless it is ours as a whole, down to the records that are; a cut ends the block."""
        starts = step.record_offsets
        first = int(starts[0])
        if first < self._block.start:
            raise InvariantError(
                "a block has no record that starts before it", self._block.where(), f"a record at {first}"
            )
        count = len(starts) if is_whole else int(starts.searchsorted(self._stop))
        if count:
            self._begin_span(first)
        if count < len(starts):
            self._span_stop = int(starts[count])
            if count == 0:
                return None
            step = step.head(count)
        self._hash_bytes(step.offset, step.stop, step.data)
        return step

    def _begin_span(self, first: int) -> None:
        if self._span_start is None:
            self._span_start = first

    # ------------------------------------------------------------- the start

    def _entry(self) -> int:
        """The first record boundary at or after the start of the block."""
        start, data_start = self._block.start, self._preamble.data_start
        if start <= data_start:
            return data_start
        format = self._preamble.format
        is_known = self._block.first_record_start is not None
        if not is_known and self._block.file.content_bytes == UNKNOWN_END and has(format, "summarise"):
            followed = follow_to_start(self._framed, self._block)
            return self._source_end() if followed == UNKNOWN_END or self._ends_before(start) else followed
        if self._ends_before(start):
            return self._source_end()
        if self._block.first_record_start is not None:
            return max(self._block.first_record_start, data_start)
        if starts_anywhere(format):
            size_bytes = self._block.file.content_bytes
            first = look_around(self._source, format, start, floor=data_start, size_bytes=size_bytes, stop=self._stop)
            if first is not None and not self._ends_before(first):
                return first
            return size_bytes if size_bytes < UNKNOWN_END else self._source_end()
        raise InvariantError(
            f"format {format.name} needs the boundary index to start inside a file",
            self._block.where(),
            seen="a block without its first record start",
            fix="plan the scan with splitscan, or compute the index with splitscan.reading.boundaries.index_file",
        )

    def _ends_before(self, position: int) -> bool:
        """True if content whose end was not known when it was planned ends at or before *position*."""
        return self._block.file.content_bytes == UNKNOWN_END and not self._source.read_at(position, 1)

    def _source_end(self) -> int:
        end = content_bytes_of(self._source)
        if end is None:
            raise InvariantError("the end of the content is known after it was reached", self._block.where())
        return end

    def _after(self, records: int) -> Where:
        """The place after so many records of the block."""
        return Where(self._block.file.path, row=records)

    # ------------------------------------------------------------ the digest

    def _hash_prefix(self, entry: int) -> None:
        """The first block answers for everything before the first record: byte order mark, header."""
        self._hashed_to = entry if self._span_start is None else self._span_start
        self._hash_bytes(self._hashed_to, entry, None)

    def _hash_bytes(self, start: int, stop: int, data: memoryview | None) -> None:
        """Hash bytes that belong to the span; read them again where they are no longer at hand."""
        if not self._digest or self._span_start is None:
            return
        if self._is_aligned:
            stop = min(stop, self._block.stop)
        if self._hashed_to < start:  # blank lines and comments that no step carried
            self._hash_bytes(self._hashed_to, start, None)
        low = max(start, self._span_start)
        if data is not None:
            self._digest.update(data[low - start : stop - start])
        else:
            while low < stop:
                chunk = self._source.read_at(low, min(self._read_bytes, stop - low))
                self._digest.update(chunk)
                low += len(chunk) or stop
        self._hashed_to = stop


def follow_to_start(records: Records, block: BlockMetadata) -> int:
    """Find the first record of a block that the source goes through the content before for, in any case.

    If a look at the head shows split points, what is right before the block probably tells where records begin, and
    the rest of what comes before is only decompressed. Else all of it is summarised on the way. ``UNKNOWN_END`` where
    no record starts after the block's start.
    """
    start = find_start_nearby(records, block) if shows_split_points(records) else None
    return find_first_start(records, block) if start is None else start


def look_around(
    source: ByteSource,
    format: FullFormat,
    start: int,
    *,
    floor: int,
    size_bytes: int,
    stop: int = UNKNOWN_END,
    grows: bool = False,
) -> int | None:
    """Find the first record start at or after *start*: computed, or by a look at the bytes around it.

    ``None`` where no record starts, or if it *grows*, where that cannot be told yet; *stop* if none starts before it.
    *floor* is where records begin or a known boundary before *start*, and *size_bytes* perhaps ``UNKNOWN_END``.
    """
    if has(format, "first_start_after"):
        first = format.first_start_after(start, floor)
        return first if first <= size_bytes else None
    width = format.unit_bytes
    position = -(-start // width) * width
    before_bytes = after_bytes = _LOOK_BYTES
    while position < size_bytes:
        seen = stop + _LONGEST_LOOK_BYTES // 2
        low, high = max(floor, position - before_bytes), min(size_bytes, position + after_bytes, seen)
        window = source.read_at(low, high - low)
        if len(window) < high - low and size_bytes == UNKNOWN_END:
            size_bytes = high = low + len(window)
        answer = format.first_start(
            window[: position - low], window[position - low :],
            at_start=low == floor, at_end=high == size_bytes and not grows,
        )  # fmt: skip
        if not isinstance(answer, Need):
            return min(position + answer, size_bytes)
        if low == floor if answer is Need.BEFORE else high == size_bytes and not grows:
            raise _asks_beyond(format, source, answer, position)
        if answer is Need.BEFORE:
            before_bytes *= 2
        elif high == size_bytes:
            return None
        elif high == seen:
            return stop
        elif after_bytes >= _LONGEST_LOOK_BYTES:
            position += after_bytes // 2 // width * width  # no record starts in what was seen, but for its edge
        else:
            after_bytes *= 2
    return None


def _asks_beyond(format: RecordFormat, source: ByteSource, need: Need, position: int) -> InvariantError:
    where = "before the data" if need is Need.BEFORE else "after the end"
    return InvariantError(f"format {format.name} asks for bytes {where}", Where(source.path, offset=position))
