"""The proof: the spans of the blocks of a file tile it exactly, no gap, no overlap, no block missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from splitscan.errors import InvariantError, Where
from splitscan.ingest.ledger import LedgerBlock, LedgerFile


def tiling_faults(file: LedgerFile, blocks: Sequence[LedgerBlock]) -> Iterator[str]:
    """Find every place where the blocks of one file do not account for each of its bytes exactly once.

    Checked are the planned ranges and the spans that the readers reported: both must run from 0 to the size of the
    file without gap or overlap, and a span begins inside its range (a record belongs to the range that holds its
    first byte).

    Args:
        file: The file.
        blocks: Its blocks, by offset.

    Returns:
        One sentence per fault; none is the proof.

    Example:
        >>> file = LedgerFile(0, "/data/a.csv", "10-0", 10, 0)
        >>> blocks = [LedgerBlock(0, 0, 0, 5, 0, 4, 0, 0, ""), LedgerBlock(0, 1, 5, 10, 6, 10, 0, 0, "")]
        >>> list(tiling_faults(file, blocks))
        ['bytes [4, 6) were read by no block']
    """
    range_stop = span_stop = 0
    for number, block in enumerate(blocks):
        if block.file_index != file.index:
            yield f"block {block.index} belongs to file {block.file_index}"
        if block.index != number:
            yield f"block {block.index} stands where block {number} should be"
        if block.start != range_stop or block.stop <= block.start:
            yield f"block {block.index} has range [{block.start}, {block.stop}) where {range_stop} should be the start"
        yield from _span_faults(block, span_stop)
        range_stop, span_stop = block.stop, max(span_stop, block.span_stop)
    if range_stop != file.size_bytes:
        yield f"the ranges stop at {range_stop}, the file at {file.size_bytes}"
    if span_stop != file.size_bytes:
        yield f"bytes [{span_stop}, {file.size_bytes}) were read by no block"


def _span_faults(block: LedgerBlock, expected: int) -> Iterator[str]:
    if block.span_stop < block.span_start:
        yield f"block {block.index} has span [{block.span_start}, {block.span_stop})"
    elif block.span_start > expected:
        yield f"bytes [{expected}, {block.span_start}) were read by no block"
    elif block.span_start < expected:
        yield f"bytes [{block.span_start}, {min(expected, block.span_stop)}) were read twice"
    if block.start > 0 and block.span_stop > block.span_start and not block.start <= block.span_start < block.stop:
        yield f"block {block.index} has range [{block.start}, {block.stop}) but a record at {block.span_start}"
    if (block.rows > 0) != (block.data is not None):
        yield f"block {block.index} has {block.rows} rows and {'a' if block.data else 'no'} data file"
    if block.data is not None and block.data.rows != block.rows:
        yield f"block {block.index} has {block.rows} rows, its data file {block.data.rows}"


def check_tiling(files: Sequence[LedgerFile], blocks: Iterable[LedgerBlock]) -> None:
    """Make sure that every byte of every file was read by exactly one block.

    Args:
        files: All files of a job.
        blocks: All its blocks, in any order.

    Raises:
        InvariantError: ``[not-accounted]`` with the first faults of the first file that has one.
    """
    by_file: dict[int, list[LedgerBlock]] = {file.index: [] for file in files}
    for block in blocks:
        if block.file_index not in by_file:
            raise _unaccounted(None, f"a block of a file {block.file_index} that is not in the plan")
        by_file[block.file_index].append(block)
    for file in files:
        ordered = sorted(by_file[file.index], key=lambda block: (block.start, block.index))
        faults = list(tiling_faults(file, ordered))
        if faults:
            raise _unaccounted(file.path, "; ".join(faults[:3]))


def check_matches_plan(planned: Iterable[tuple[int, int, int, int]], blocks: Iterable[LedgerBlock]) -> None:
    """Make sure that exactly the planned blocks reported, each once.

    Args:
        planned: File index, block index, start and stop of every planned block.
        blocks: What was reported.

    Raises:
        InvariantError: ``[not-accounted]`` naming a block that is missing, unknown, or reported twice.
    """
    missing = set(planned)
    for block in blocks:
        key = (*block.key, block.start, block.stop)
        if key not in missing:
            raise _unaccounted(None, f"block {block.index} of file {block.file_index} was not planned, or came twice")
        missing.remove(key)
    if missing:
        file_index, index, start, stop = min(missing)
        raise _unaccounted(
            None, f"{len(missing)} blocks did not report, the first is block {index} of file {file_index}: "
            f"[{start}, {stop})",
        )  # fmt: skip


def _unaccounted(path: str | None, seen: str) -> InvariantError:
    return InvariantError(
        "the blocks do not account for every byte exactly once, so nothing was published", Where(path=path), seen,
        "run again; if it stays, report it with this message and the options", "not-accounted",
    )  # fmt: skip
