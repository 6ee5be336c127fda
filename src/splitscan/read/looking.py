"""The first record start at or after an offset, where no context has to be known for it."""

from __future__ import annotations

from splitscan.blocks import UNKNOWN_END
from splitscan.content.storage import ByteSource
from splitscan.errors import InvariantError, Where
from splitscan.formats.framing.contract import ArithmeticFormat, LocalFormat, Need

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
