"""The laws of framing and of replay as plain functions: run them on your own format or source.

Each function raises ``AssertionError`` with the first difference, and says under which cuts or delivery it appeared.
They know formats by :mod:`splitscan.formats.framing.contract` only, so they hold for any implementation of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, Protocol

from splitscan.blocks import BlockMetadata
from splitscan.formats.framing.contract import RecordFormat, Splittability, drop, has, starts_anywhere
from splitscan.formats.framing.frames import Buffer
from splitscan.testing.memory_reader import (
    UNFINISHED,
    FramedRecord,
    first_position,
    frame_all,
    moved,
    must_be_well_formed,
    preamble_of,
    read_range,
    records_of,
)

EVERY_CUT_UP_TO_BYTES = 512  # larger inputs get this many cuts, evenly spread
EVERY_PAIR_UP_TO_BYTES = 24  # pairs of cuts grow with the square
DROPPABLE_FROM_BYTES = 64 * 1024  # from here on a format must be able to drop bytes of a record it skips


def check_partition_law(read: Callable[[int, int], Sequence[Any]], size: int, cuts: Iterable[int] | None = None) -> int:
    """Check that ranges read one after the other give what one range gives, wherever the cuts fall.

    Args:
        read: Reads the records of ``[start, stop)``, in order; any values that can be compared.
        size: Length of the input: what is read is ``[0, size)``.
        cuts: Offsets to cut at, all at once. ``None`` tries every single cut (evenly spread ones of an input larger
            than 512 bytes) and, up to 24 bytes, every pair of cuts.

    Returns:
        The number of ways in which the input was cut.

    Example:
        >>> check_partition_law(lambda start, stop: list(range(start, stop)), size=4)
        20
    """
    if size <= EVERY_PAIR_UP_TO_BYTES:
        read = cache(read)  # pairs of cuts share most of their ranges
    whole = list(read(0, size))
    tried = 0
    for chosen in [sorted(cuts)] if cuts is not None else _cuts_of(size):
        bounds = [0, *chosen, size]
        pieces = [read(start, stop) for start, stop in itertools.pairwise(bounds)]
        must_equal(whole, list(itertools.chain.from_iterable(pieces)), f"partition law, cut at {list(chosen)}")
        tried += 1
    return tried


def check_chunking_law(format: RecordFormat, data: bytes, chunk_sizes: Sequence[int]) -> None:
    """Check that the records do not depend on how the bytes are delivered, nor in which kind of buffer.

    Raises:
        AssertionError: If a record is other than in one delivery.
        ValueError: If *chunk_sizes* delivers nothing.
    """
    if not chunk_sizes or min(chunk_sizes) < 1:
        raise ValueError(f"chunk_sizes must be positive, not {chunk_sizes!r}")
    preamble = preamble_of(format, data, 0)
    body = data[preamble.data_start :]
    whole, _ = frame_all(preamble.format, body)
    delivered: list[FramedRecord] = []
    held_from = arrived = 0
    buffers: itertools.cycle[Callable[[bytes], Buffer]] = itertools.cycle((bytes, memoryview, bytearray))
    for size in itertools.cycle(chunk_sizes):
        if arrived >= len(body):
            break
        arrived += size
        frames = preamble.format.frame(next(buffers)(body[held_from:arrived]), at_end=False)
        must_be_well_formed(frames, len(body[held_from:arrived]))
        delivered += records_of(frames, body, held_from)
        held_from += frames.next_start
    rest, _ = frame_all(preamble.format, body[held_from:])
    delivered += moved(rest, held_from)
    must_equal(whole, delivered, f"chunking law, deliveries of {list(chunk_sizes)} bytes")


def check_fast_path_law(format: RecordFormat, data: bytes) -> None:
    """Check that the vectorised framer finds what the byte-at-a-time framer finds."""
    preamble = preamble_of(format, data, 0)
    body = data[preamble.data_start :]
    reference = preamble.format.reference_framer()
    for byte in body:
        reference.push(byte)
    reference.finish()
    records, tail = frame_all(preamble.format, body)
    found = [(record.start, record.start + len(record.content)) for record in records if record.code != UNFINISHED]
    must_equal(list(reference.records), found, "fast path law")
    unfinished = len(body) if reference.unfinished is None else reference.unfinished
    must_equal([unfinished], [tail], "fast path law, where the unfinished tail begins")


def check_count_law(format: RecordFormat, data: bytes) -> None:
    """Check that counting gives the number of records that framing finds, for every prefix of the data."""
    preamble = preamble_of(format, data, 0)
    counting = preamble.format
    body = data[preamble.data_start :]
    if not has(counting, "count"):
        return
    records = frame_all(counting, body)[0]
    for size in range(len(body) + 1):
        counted = counting.count(memoryview(body)[:size])
        situation = f"count law, first {size} bytes"
        before = [record for record in records if record.start < counted.next_start]
        must_equal([len(before)], [counted.records], situation)
        after = records[len(before) :]
        rest = moved(frame_all(counting, body[counted.next_start :])[0], counted.next_start)
        must_equal(after, rest, f"{situation}, records after byte {counted.next_start}")


def check_first_start_law(format: RecordFormat, data: bytes, window_bytes: int = 1) -> None:
    """Check that from every position the next record start is found, however little is shown at a time.

    Of a local or arithmetic format. *window_bytes* are shown before and after the position, and so many more on each
    request.
    """
    preamble = preamble_of(format, data, 0)
    one_pass = read_range(format, data, 0, len(data), len(data) + 1)
    for position in range(preamble.data_start, len(data) + 1):
        found = min(first_position(preamble, data, position, window_bytes), len(data))
        situation = f"first start law, from {position} with {window_bytes} bytes shown, answer {found}"
        must_equal([True], [found >= position], f"{situation}, is not before the position")
        expected = [record for record in one_pass if record.start >= position]
        rest, _ = frame_all(preamble.format, data[found:])
        must_equal(expected, moved(rest, found), situation)


def check_resume_law(format: RecordFormat, data: bytes) -> None:
    """Check that giving up on a record ends at the same place, whatever was shown and dropped before.

    For local and arithmetic formats the records after that place must be all the others. Every record is tried with
    every prefix, so *data* should be small.
    """
    preamble = preamble_of(format, data, 0)
    one_pass = read_range(format, data, 0, len(data), len(data) + 1)
    for index, record in enumerate(one_pass):
        rest = data[record.start :]
        answer = preamble.format.resume_after(rest, at_end=True)
        if answer is None or not 0 < answer <= len(rest):
            raise AssertionError(f"resume law, record at {record.start}: {answer} is not in (0, {len(rest)}]")
        if starts_anywhere(format):
            behind, _ = frame_all(preamble.format, rest[answer:])
            others = moved(behind, record.start + answer)
            must_equal(one_pass[index + 1 :], others, f"resume law, after the record at {record.start}")
        for shown in range(len(rest)):
            _must_resume_at(preamble.format, rest, shown, answer)


def check_format_laws(format: RecordFormat, data: bytes) -> None:
    """Run all laws of framing on a format and a small file, at every cut and every buffer size.

    The file is best a few dozen bytes that mix all difficulties.

    Example:
        >>> from splitscan.formats.text.lines import DelimitedFormat
        >>> check_format_laws(DelimitedFormat(b"||"), b"a|||b||||c|")
    """
    check_fast_path_law(format, data)
    check_count_law(format, data)
    check_resume_law(format, data)
    for size in range(1, len(data) + 1):
        check_chunking_law(format, data, [size])
        check_partition_law(partial(read_range, format, data), len(data), range(0, len(data), size))
        if starts_anywhere(format):
            check_first_start_law(format, data, size)
    for buffer_bytes in (1, 3, len(data) + 1):
        check_partition_law(partial(read_range, format, data, buffer_bytes=buffer_bytes), len(data))


def _must_resume_at(format: RecordFormat, rest: bytes, shown: int, answer: int) -> None:
    """A shorter look answers the same or asks for more; then the rest answers the same."""
    early = format.resume_after(rest[:shown], at_end=False)
    if early is not None:
        must_equal([answer], [early], f"resume law, shown {shown} bytes")
        return
    dropped, behind = drop(format, rest[:shown])
    must_equal([format.droppable(rest[:shown])], [dropped], f"resume law, shown {shown} bytes, what can be dropped")
    must_drop = shown >= DROPPABLE_FROM_BYTES and format.splittability is not Splittability.ARITHMETIC
    require(must_drop <= dropped <= shown, f"resume law, shown {shown} bytes: cannot drop {dropped}")
    late = behind.resume_after(rest[dropped:], at_end=True)
    must_equal([answer], [None if late is None else late + dropped], f"resume law, after dropping {dropped} of {shown}")


def _cuts_of(size: int) -> Iterable[tuple[int, ...]]:
    """Every single cut, or evenly spread ones; for tiny inputs every pair too."""
    step = -(-(size + 1) // (EVERY_CUT_UP_TO_BYTES + 1))
    singles: Iterable[tuple[int, ...]] = ((cut,) for cut in range(0, size + 1, step))
    if size > EVERY_PAIR_UP_TO_BYTES:
        return singles
    return itertools.chain(singles, itertools.combinations_with_replacement(range(size + 1), 2))


def require(holds: bool, message: str) -> None:
    """Make sure that something holds; not silent under ``python -O``, as ``assert`` is.

    Raises:
        AssertionError: With the message, if it does not.
    """
    if not holds:
        raise AssertionError(message)


def must_equal(expected: Sequence[Any], found: Sequence[Any], situation: str) -> None:
    """Make sure that two sequences are equal.

    Example:
        >>> must_equal([1, 2], [1], "some law")
        Traceback (most recent call last):
        ...
        AssertionError: some law: item 1 should be 2, is 'nothing'
    """
    if list(expected) == list(found):
        return
    pairs: Iterator[tuple[Any, Any]] = itertools.zip_longest(expected, found, fillvalue="nothing")
    differences = ((index, one, other) for index, (one, other) in enumerate(pairs) if one != other)
    index, one, other = next(differences, ("?", expected, found))
    raise AssertionError(f"{situation}: item {index} should be {one!r}, is {other!r}")


class PlannedWindow(Protocol):
    """Window as the law sees it."""

    @property
    def number(self) -> int:
        """From 1 on."""

    def tasks(self) -> Sequence[Sequence[BlockMetadata]]:
        """The blocks of every task."""


def check_replay_law(
    read_window: Callable[[int], PlannedWindow], windows: Iterable[int], disturb: Callable[[], object]
) -> int:
    """Check that windows are the same before and after something happened to the files, and that they tile them.

    Args:
        read_window: Gives a window that was planned before, as another process would after a failure.
        windows: Numbers of the windows, ascending from the first.
        disturb: Appends to, replaces, renames, deletes or adds files.

    Returns:
        The number of blocks that were compared.

    Example:
        >>> from types import SimpleNamespace
        >>> from splitscan.blocks import FileMetadata
        >>> file = FileMetadata("/in/a", 4, 0, "4-0", "a")
        >>> blocks = [BlockMetadata(file, 0, 2, 0), BlockMetadata(file, 2, 4, 1)]
        >>> log = {n: SimpleNamespace(number=n, tasks=lambda n=n: [(blocks[n - 1],)]) for n in (1, 2)}
        >>> check_replay_law(log.__getitem__, [1, 2], disturb=lambda: None)
        2
    """
    before = [read_window(number) for number in windows]
    disturb()
    compared = 0
    positions: dict[str, int] = {}
    for window in before:
        planned = [list(task) for task in window.tasks()]
        again = [list(task) for task in read_window(window.number).tasks()]
        must_equal(planned, again, f"replay law, window {window.number}")
        for block in (block for task in planned for block in task):
            expected = positions.get(block.file.path, 0)
            assert block.start in {expected, 0}, f"window {window.number} plans {block} where {expected} is next"
            assert block.stop > block.start, f"window {window.number} plans an empty block: {block}"
            positions[block.file.path] = block.stop
            compared += 1
    return compared
