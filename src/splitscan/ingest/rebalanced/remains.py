"""What earlier runs of a job have left to be read: the plan without the ranges that are finished."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from splitscan.blocks import BlockMetadata
from splitscan.sinks.ledger import LedgerBlock
from splitscan.sinks.staging import PartReport

Finished = Mapping[int, Sequence[LedgerBlock]]
"""Ranges that are finished, by file and offset; they do not overlap."""


def choose_finished(
    reports: Iterable[PartReport], indices: Mapping[str, int], stops: Mapping[int, int], waiting: Collection[str]
) -> list[PartReport]:
    """Choose the reports of parts of logs that count: whole ones, of which no two tell of the same byte.

    Runs of a job that follow each other never read the same byte. But a task of a run that was killed may have gone on
    for a while; what it left beside a later run's part is left out.

    Args:
        reports: All that were found.
        indices: Number of each file of the job, by identity.
        stops: Where the last block of each file stops, by number.
        waiting: Names of the files that wait in the staging folder.

    Returns:
        The reports, with the numbers of the job's files in their blocks.
    """
    chosen: list[PartReport] = []
    taken: dict[int, list[tuple[int, int]]] = {}
    for report in reports:
        numbered = number_files(report, indices)
        if numbered is None or not numbered.is_final or not all(each.name in waiting for each in numbered.written):
            continue
        if all(_is_free(block, stops, taken) for block in numbered.blocks):
            chosen.append(numbered)
            for block in numbered.blocks:
                insort(taken.setdefault(block.file_index, []), (block.start, block.stop))
    return chosen


def number_files(report: PartReport, indices: Mapping[str, int]) -> PartReport | None:
    """Put the numbers of the job's files into the blocks of a part of a log; ``None`` if it is of other files."""
    numbers = [indices.get(identity, -1) for identity in report.files]
    if report.partition is None or -1 in numbers or any(b.file_index >= len(numbers) for b in report.blocks):
        return None
    blocks = tuple(replace(block, file_index=numbers[block.file_index]) for block in report.blocks)
    return replace(report, blocks=blocks)


def _is_free(block: LedgerBlock, stops: Mapping[int, int], taken: Mapping[int, list[tuple[int, int]]]) -> bool:
    """Whether a range lies in its file, and nobody has it: neither the one before it reaches in, nor the one after."""
    others = taken.get(block.file_index, [])
    place = bisect_left(others, (block.stop, 0))
    inside = block.start < block.stop <= stops.get(block.file_index, 0)
    return inside and (place == 0 or others[place - 1][1] <= block.start)


def by_file(reports: Iterable[PartReport]) -> dict[int, list[LedgerBlock]]:
    """The blocks of reports, by file and offset."""
    found: dict[int, list[LedgerBlock]] = {}
    for report in reports:
        for block in report.blocks:
            found.setdefault(block.file_index, []).append(block)
    for blocks in found.values():
        blocks.sort(key=lambda block: block.start)
    return found


def remains_of(plan: Iterable[tuple[int, BlockMetadata]], finished: Finished) -> Iterator[BlockMetadata]:
    """Cut the finished ranges out of the blocks of a plan.

    A block that begins where a finished range stops begins with the record at which that range's reader stopped, so
    formats that need context can go on from there.

    Args:
        plan: File number and block, in order.
        finished: What is finished.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> done = LedgerBlock(0, 0, 3, 6, 4, 8, 1, 0, "")
        >>> left = remains_of([(0, BlockMetadata(file, 0, 10, 0))], {0: [done]})
        >>> [(block.start, block.stop, block.first_record_start) for block in left]
        [(0, 3, None), (6, 10, 8)]
    """
    for file_index, block in plan:
        start, first = block.start, block.first_record_start
        for done in finished.get(file_index, ()):
            if done.stop <= start:
                continue
            if done.start >= block.stop:
                break
            if done.start > start:
                yield replace(block, start=start, stop=done.start, first_record_start=first)
            start, first = done.stop, done.span_stop
        if start < block.stop:
            yield replace(block, start=start, first_record_start=first)
