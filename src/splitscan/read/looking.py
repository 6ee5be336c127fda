"""What a look at a file tells: its head, and the first record start near an offset where that needs no context."""

from __future__ import annotations

from splitscan.blocks import UNKNOWN_END, FileMetadata
from splitscan.content.codecs.formats import ARCHIVE_HEAD_BYTES
from splitscan.content.storage import ByteSource
from splitscan.errors import InvariantError, RecordError, Where
from splitscan.formats.framing.contract import ArithmeticFormat, LocalFormat, Need, Preamble, RecordFormat, TextFormat
from splitscan.read.contents import damage_of, refuse_compressed
from splitscan.read.cursor import truncated

_LOOK_BYTES = 4096  # first look; doubled while it does not decide
_LONGEST_LOOK_BYTES = 1 << 20  # from here on the look slides along a record that has no end in sight


def look_around(
    source: ByteSource,
    format: ArithmeticFormat | LocalFormat,
    start: int,
    *,
    floor: int,
    size_bytes: int,
    grows: bool = False,
) -> int | None:
    """Find the first record start at or after *start*: computed, or by a look at the bytes around it.

    Args:
        source: The open file.
        format: How records are found.
        start: Where to look.
        floor: Where the records begin, or a known boundary before *start*.
        size_bytes: Length of what is read; perhaps ``UNKNOWN_END``.
        grows: Whether more bytes may be appended.

    Returns:
        The offset; ``None`` where no record starts, or if it *grows*, where that cannot be told yet.

    Raises:
        InvariantError: If the format asks for bytes that cannot be.
    """
    if isinstance(format, ArithmeticFormat):
        first = format.first_start_after(start, floor)
        return first if first <= size_bytes else None
    width = format.unit_bytes
    position = -(-start // width) * width
    before_bytes = after_bytes = _LOOK_BYTES
    while position < size_bytes:
        low, high = max(floor, position - before_bytes), min(size_bytes, position + after_bytes)
        window = source.read_at(low, high - low)
        if len(window) < high - low and size_bytes == UNKNOWN_END:
            size_bytes = high = low + len(window)
        answer = format.first_start(
            window[: position - low], window[position - low :],
            at_start=low == floor, at_end=high == size_bytes and not grows,
        )  # fmt: skip
        if not isinstance(answer, Need):
            return min(position + answer, size_bytes)
        if answer is Need.BEFORE:
            if low == floor:
                raise _asks_beyond(format, source, "before the data", position)
            before_bytes *= 2
        elif high == size_bytes:
            if grows:
                return None
            raise _asks_beyond(format, source, "after the end", position)
        elif after_bytes >= _LONGEST_LOOK_BYTES:
            position += after_bytes // 2 // width * width  # no record starts in what was seen, but for its edge
        else:
            after_bytes *= 2
    return None


def _asks_beyond(format: LocalFormat, source: ByteSource, where: str, position: int) -> InvariantError:
    return InvariantError(f"format {format.name} asks for bytes {where}", Where(source.path, offset=position))


HEAD_BYTES = 64 * 1024
_LONGEST_HEAD_BYTES = 64 * 1024 * 1024  # a header larger than this is not a header


def read_preamble(source: ByteSource, file: FileMetadata, format: RecordFormat) -> Preamble:
    """Read as much of the head of *file* as its format needs.

    Raises:
        RecordError: If the head never ends (a header with an unclosed quote).
        SourceChangedError: If the file is shorter than planned.
        SourceError: ``[compressed-input]`` if the format is text and the bytes are those of a container.
    """
    length = HEAD_BYTES
    end = file.content_bytes
    while True:
        wanted = min(length, end)
        head = source.read_at(0, wanted)
        if len(head) < wanted:
            if end < UNKNOWN_END:
                raise truncated(file, len(head))
            wanted = end = len(head)
        refuse_compressed(file.path, format, head)
        try:
            is_torn = wanted == end and damage_of(source) is not None
            preamble = format.preamble(head, at_end=wanted == end and not is_torn)
        except RecordError as error:
            raise RecordError(
                error.rule, Where(file.path, offset=0), error.seen, error.fix, error.reason_code
            ) from error
        if not isinstance(preamble, Need):
            return preamble
        if is_torn:
            return Preamble(end, format)  # a header that is cut off says nothing, and no record follows it
        if length >= _LONGEST_HEAD_BYTES:
            raise RecordError(
                f"the header does not end within {_LONGEST_HEAD_BYTES} bytes",
                Where(file.path, offset=0),
                fix="check options quote, escape and lineSep, or set header=false",
                code="bad-header",
            )
        length *= 4


def preamble_for(source: ByteSource, file: FileMetadata, format: RecordFormat, start: int) -> Preamble:
    """What a reader of a range from *start* on has to know of the head of *file*; no byte is read where it is nothing.

    Raises:
        RecordError: If the head never ends (a header with an unclosed quote).
        SourceChangedError: If the file is shorter than planned.
        SourceError: ``[compressed-input]`` if the range begins the file, the format is text and the file is compressed.
    """
    if format.needs_head(start):
        return read_preamble(source, file, format)
    if start == 0:
        check_head(source, file, format)
    return Preamble(0, format)


def check_head(source: ByteSource, file: FileMetadata, format: RecordFormat) -> None:
    """Refuse a compressed file of text, for readers that need nothing else from the head of *file*.

    Raises:
        SourceError: ``[compressed-input]``: its records are those of the file that was compressed, not of its bytes.
    """
    if isinstance(format, TextFormat):
        refuse_compressed(file.path, format, source.read_at(0, min(ARCHIVE_HEAD_BYTES, file.content_bytes)))
