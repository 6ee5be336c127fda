"""The laws of reading whole files: blocks, boundary indexes, ledgers and projections.

Each ``check_*`` function raises ``AssertionError`` with the first difference, and says under which blocks it appeared.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from splitscan.api.files import Scan
from splitscan.blocks import BlockMetadata, BlockReport, ByteRange, Reject
from splitscan.content.storage import digest_of
from splitscan.formats.framing.contract import FullFormat, Need
from splitscan.formats.framing.frames import Summary
from splitscan.options import Mode
from splitscan.reading.block_scan import open_reader
from splitscan.reading.contents import open_content
from splitscan.reading.given_up import GIVEN_UP, RowCount
from splitscan.reading.own_formats import ContextReading
from splitscan.scans import fill_index
from splitscan.scans.counting import count_blocks, count_rows
from splitscan.scans.cutting import split_file
from splitscan.scans.index import index_by_reading
from splitscan.testing.laws import must_equal
from splitscan.testing.memory_reader import UNFINISHED, read_range

_START = 0  # the state in which the records of a file begin
_OF_THE_BLOCK = frozenset({"file_block_start", "file_block_length", "block_id"})  # these columns may differ
_SEED = 0


class BlockResult(NamedTuple):
    """Result of reading one block."""

    rows: list[dict[str, Any]]
    rejects: list[Reject]
    report: BlockReport


def cut_blocks(scan: Scan, block_bytes: int) -> list[BlockMetadata]:
    """Plan the blocks of a scan with a block size of one's own, index included."""
    return list(fill_index(_cut(scan, block_bytes), scan.framing, scan.options))


def _check_reading_indexes(scan: Scan, block_bytes: int, expected: Sequence[BlockResult]) -> None:
    """Check that blocks which are entered where a record probably starts are read as those of the index are."""

    def read(block: BlockMetadata) -> list[Any]:
        result = read_block(scan, block)
        return [result, result.report.span_start, result.report.span_stop]

    answers = index_by_reading(_cut(scan, block_bytes), scan.framing, scan.options, read, map)
    found = [answer[0] for _, answer in answers]
    situation = f"block law, blocks of {block_bytes} bytes without an index"
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        must_equal(shown_rows(one.rows), shown_rows(other.rows), f"{situation}, block {number}")
        must_equal(one.rejects, other.rejects, f"{situation}, rejects of block {number}")
        spans = [ByteRange(result.report.span_start, result.report.span_stop) for result in (one, other)]
        if all(span.start == span.stop for span in spans):
            continue  # wherever they are
        must_equal(spans[:1], spans[1:], f"{situation}, span of block {number}")


def _cut(scan: Scan, block_bytes: int) -> list[BlockMetadata]:
    return [block for file in scan.files() for block in split_file(file, block_bytes)]


def read_block(scan: Scan, block: BlockMetadata) -> BlockResult:
    """Read one planned block on its own, with digest."""
    rejects: list[Reject] = []
    blocks = open_reader(scan.spec, block, on_reject=rejects.extend, with_digest=True)
    rows = [row for batch in blocks for row in batch.to_pylist()]
    return BlockResult(rows, rejects, blocks.report)


def check_block_law(scan: Scan, block_sizes: Iterable[int]) -> int:
    """Check that blocks of any size, read in any order, give what one pass gives: rows, rejects and ledger.

    Args:
        scan: What to read. Its columns may name the block (``block_id``); those are not compared.
        block_sizes: Block sizes in bytes to try.

    Returns:
        The number of rows of the scan.
    """
    rejects: list[Reject] = []
    rows = [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
    for size in block_sizes:
        blocks = cut_blocks(scan, size)
        results: dict[int, BlockResult] = {}
        for index in random.Random(_SEED).sample(range(len(blocks)), len(blocks)):
            results[index] = read_block(scan, blocks[index])
        ordered = [results[index] for index in range(len(blocks))]
        situation = f"block law, blocks of {size} bytes"
        must_equal(shown_rows(rows), shown_rows(itertools.chain.from_iterable(r.rows for r in ordered)), situation)
        found = list(itertools.chain.from_iterable(r.rejects for r in ordered))
        must_equal(rejects, found, f"{situation}, rejects")
        check_ledger_law(scan, [r.report for r in ordered])
        _check_reading_indexes(scan, size, ordered)
        counts = [len(result.rows) for result in ordered]
        must_equal(counts, [result.report.rows for result in ordered], f"{situation}, reported rows")
        must_equal(
            counts,
            [_count(scan, count_blocks(scan.counting_spec, [block])).rows for block in blocks],
            f"{situation}, counted rows",
        )
        counted = _count(scan, count_rows(scan.counting_spec, _cut(scan, size)))
        must_equal([len(rows)], [counted.rows], f"{situation}, rows counted in all")
        if scan.options.reading.mode is Mode.PERMISSIVE:
            of_context = isinstance(scan.framing, ContextReading)  # it gives up records for reasons of its own
            lost = [reject for reject in rejects if not reject.delivered and (of_context or reject.code in GIVEN_UP)]
            must_equal([len(lost)], [counted.given_up], f"{situation}, records given up while rows are counted")
            if lost:
                must_equal([lost[0][:2]], [(counted.path, counted.offset)], f"{situation}, the first of them")
    return len(rows)


def _count(scan: Scan, counted: RowCount) -> RowCount:
    return scan.delivered(counted)


def check_ledger_law(scan: Scan, reports: Sequence[BlockReport]) -> None:
    """Check that the spans that readers report tile every file, and that their digests are those of the bytes.

    Those of a compressed file tile its content, whose length one of them tells. There is one report for every block of
    the scan, in any order; digests are checked where there are any.
    """
    by_path: dict[str, list[BlockReport]] = {file.path: [] for file in scan.files() if file.size_bytes}
    for report in sorted(reports, key=lambda report: (report.block.file.path, report.block.start)):
        by_path[report.block.file.path].append(report)
    for file in scan.files():
        position, stop = 0, file.size_bytes
        for report in by_path.get(file.path, []):
            stop = stop if report.content_bytes is None else report.content_bytes
            where = f"ledger law, {file.path}, block [{report.block.start}, {report.block.stop})"
            is_empty = report.span_start == report.span_stop
            if is_empty:
                must_equal([0], [report.rows], f"{where}, rows of its empty span")
            else:
                must_equal([position], [report.span_start], f"{where}, where its span begins")
                must_equal([True], [report.span_stop >= position], f"{where}, its span goes on")
            if report.digest:
                must_equal([_digest(scan, report)], [report.digest], f"{where}, digest of its span")
            position = position if is_empty else report.span_stop
        must_equal([stop], [position], f"ledger law, {file.path}, where the last span stops")


def check_projection_law(scan: Scan) -> int:
    """Check that projecting in the reader gives what projecting afterwards gives, and the same number of rows.

    Every single column, all columns backwards, all pairs of neighbours, and no column at all are tried.

    Returns:
        The number of projections tried.
    """
    whole = scan.to_arrow()
    names = whole.column_names
    choices = [(), *((name,) for name in names), tuple(reversed(names)), *itertools.pairwise(names)]
    must_equal([whole.num_rows], [scan.count()], "projection law, count()")
    for chosen in choices:
        narrow = scan.select(*chosen)
        rows = sum(batch.num_rows for batch in narrow.to_batches())
        must_equal([whole.num_rows], [rows], f"projection law, rows of columns {chosen}")
        must_equal([whole.num_rows], [narrow.count()], f"projection law, count() of columns {chosen}")
        if chosen:
            expected = whole.select(list(chosen)).to_pylist()
            must_equal(
                shown_rows(expected), shown_rows(narrow.to_arrow().to_pylist()), f"projection law, columns {chosen}"
            )
    return len(choices)


def check_summary_law(format: FullFormat, first: bytes, second: bytes) -> bool:
    """Check that summaries compose, and that they say what reading from the beginning says.

    The file is ``first + second``; it is cut at the first safe position at or after the end of *first*. The format has
    nothing left to resolve: no header, and its byte order is known.

    Returns:
        Whether there was a cut to check: a file may have no safe position, and a summary may leave the answer open.
    """
    data = first + second
    cut, stop = _safe_cut(format, data, len(first)), _safe_cut(format, data, len(data) - format.unit_bytes)
    if not 0 < cut < stop:
        return False
    must_equal([cut, stop], [_safe_cut(format, data, each) for each in (cut, stop)], "summary law, safe cuts")
    head = format.summarise(data[:cut], b"", data[cut:], cut)
    tail = format.summarise(data[cut:stop], data[:cut], data[stop:], 0)
    whole = format.summarise(data[:stop], b"", data[stop:], cut)
    composed = head.then(tail)
    situation = f"summary law, cut at {cut}, stopped at {stop}"
    must_equal([whole.length_bytes], [composed.length_bytes], f"{situation}, length")
    for state, (one, other) in enumerate(zip(whole.runs, composed.runs, strict=True)):
        if one is not None and other is not None:
            must_equal([one], [other], f"{situation}, state {state}")
    _must_agree(format, data, 0, head, _START, situation)
    _must_agree(format, data, 0, composed, _START, situation)
    return _must_agree(format, data, cut, tail, format.state_after(data[:cut]), situation)


def _must_agree(format: FullFormat, data: bytes, start: int, summary: Summary, state: int, situation: str) -> bool:
    """A summary must say what reading the file from its beginning says about the piece that begins at *start*."""
    run = summary.run(state)
    if run is None:
        return False
    stop = start + summary.length_bytes
    where = f"{situation}, piece [{start}, {stop})"
    must_equal([format.state_after(data[:stop])], [run.state], f"{where}, state after it")
    records = read_range(format, data, 0, len(data), len(data) + 1)
    ends = format.state_after(data) == _START  # a tail that never ends is read otherwise
    if run.records is not None and ends:
        started = sum(start <= record.start < stop for record in records)
        must_equal([started], [run.records], f"{where}, number of records that start in it")
    inside = [each for each in records if start < each.start < stop and (ends or each.code != UNFINISHED)]
    if run.first is None or run.last is None:
        must_equal([], inside, f"{where}, records in it")
        return True
    for name, boundary in (("first", start + run.first), ("last", start + run.last)):
        expected = [record for record in records if record.start >= boundary]
        rest = read_range(format, data[boundary:], 0, len(data), len(data) + 1)
        moved = [record._replace(start=record.start + boundary) for record in rest]
        must_equal(expected, moved, f"{where}, records after its {name} boundary {boundary}")
    skipped = [record for record in inside if record.start < start + run.first]
    must_equal([], skipped, f"{where}, records before its first boundary")
    behind = [record for record in inside if record.start > start + run.last]
    must_equal([], behind, f"{where}, records after its last boundary")
    return True


def _safe_cut(format: FullFormat, data: bytes, position: int) -> int:
    answer = format.safe_cut(data[:position], data[position:])
    return len(data) if isinstance(answer, Need) else position + answer


def _digest(scan: Scan, report: BlockReport) -> str:
    source = open_content(report.block, scan.options.files, scan.framing)
    try:
        return digest_of(source, report.span_start, report.span_stop)
    finally:
        source.close()


def shown_rows(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Rows as text, so that a NaN equals a NaN; without what names the block."""
    return [repr({name: value for name, value in row.items() if name not in _OF_THE_BLOCK}) for row in rows]


__all__ = [
    "BlockResult",
    "check_block_law",
    "check_ledger_law",
    "check_projection_law",
    "check_summary_law",
    "cut_blocks",
    "read_block",
    "shown_rows",
]
