"""The reader of one partition of a rebalanced scan: claim a chunk, read it, tell what that took, claim the next.

A chunk of positions becomes ranges of files here: by the texts of planned blocks, and with their first record starts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, FileMetadata, plain_block, plain_file, read_block, read_file
from splitscan.content.archives.opening import open_listed
from splitscan.content.storage import ByteSource, check_unchanged
from splitscan.errors import InvariantError, SourceError, SourceMissingError, Where
from splitscan.formats.framing.contract import Splittability
from splitscan.options import OnFileChange
from splitscan.reading.block_scan import open_reader
from splitscan.reading.contents import codec_in
from splitscan.reading.given_up import RejectCounter
from splitscan.reading.opened_file import OpenedFile
from splitscan.reading.partitions import Grain, grain_of, metadata_name
from splitscan.reading.rejects import OnRejects
from splitscan.reading.spec import ScanSpec
from splitscan.rebalance.claim_values import Chunk, ChunkStats, NextChunk, Segment
from splitscan.redaction import secret_ranges

_PATHS = (0, 4)  # of the values of a file those that may hold secrets
_READ_BLOCKS = 1024  # neighbouring chunks touch the same blocks

HiddenPath = str | list[str | int]
"""A path as it is, or what stands between its secrets, and their numbers."""


class PathSecrets:
    """Credentials that paths of a plan hold, each once: tasks get them from Spark, and the coordinator never does.

    Example:
        >>> secrets = PathSecrets()
        >>> secrets.hide("s3://key:secret@bucket/a.csv"), secrets.hide("/data/a.csv"), secrets.known
        (['s3://', 0, '@bucket/a.csv'], '/data/a.csv', ('key:secret',))
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def known(self) -> tuple[str, ...]:
        """All that were hidden, by number."""
        return tuple(self._numbers)

    def hide(self, path: str) -> HiddenPath:
        """The path with a number in place of each secret."""
        parts: list[str | int] = []
        reached = 0
        for start, stop in secret_ranges(path):
            number = self._numbers.setdefault(path[start:stop], len(self._numbers))
            parts += [path[reached:start], number]
            reached = stop
        return [*parts, path[reached:]] if parts else path


def segment_of(block: BlockMetadata, secrets: PathSecrets, *, indivisible: bool = False) -> Segment:
    """One block as the coordinator sees it: its length, and a text that :func:`block_of` understands.

    The length of an indivisible one is no more than a weight: of a range of the content of a compressed file it is not
    known how long it is.

    Example:
        >>> block = BlockMetadata(FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv"), 4, 10, 1, first_record_start=7)
        >>> segment = segment_of(block, PathSecrets())
        >>> segment.length, block_of(segment.text, ()) == (block, False)
        (6, True)
    """
    file = block.file
    plain = plain_file(file)
    for part in _PATHS:
        plain[part] = secrets.hide(plain[part])
    length = min(block.length_bytes, file.size_bytes) if indivisible else block.length_bytes
    text = json.dumps([plain, plain_block(block), indivisible], separators=(",", ":"))
    return Segment(length, text, indivisible)


@lru_cache(maxsize=_READ_BLOCKS)
def block_of(text: str, secrets: tuple[str, ...]) -> tuple[BlockMetadata, bool]:
    """The block that a text of :func:`segment_of` describes, and whether it is indivisible.

    The text comes from the plan, through the coordinator alone; *secrets* come from the plan, through Spark alone.
    """
    file, block, indivisible = json.loads(text)
    for part in _PATHS:
        file[part] = _revealed(file[part], secrets)
    return read_block(read_file(file), block), indivisible


def _revealed(path: HiddenPath, secrets: Sequence[str]) -> str:
    return path if isinstance(path, str) else "".join(secrets[p] if isinstance(p, int) else p for p in path)


@dataclass(frozen=True, slots=True)
class ChunkRange:
    """A range of one file that belongs to a chunk."""

    block: BlockMetadata
    planned: BlockMetadata
    indivisible: bool = False


def parts_of(chunk: Chunk, secrets: tuple[str, ...], *, by_block: bool = False) -> Iterator[ChunkRange]:
    """The ranges of a chunk, in order: as few as files allow.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> from splitscan.rebalance.claim_log import PositionSpace
        >>> from splitscan.rebalance.chunk_reader import PathSecrets, segment_of
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> blocks = [BlockMetadata(file, 0, 4, 0), BlockMetadata(file, 4, 10, 1)]
        >>> pieces = PositionSpace(segment_of(block, PathSecrets()) for block in blocks).pieces(3, 9)
        >>> [(part.block.start, part.block.stop) for part in parts_of(Chunk(0, 3, 9, pieces), ())]
        [(3, 9)]
        >>> [(part.block.start, part.block.stop) for part in parts_of(Chunk(0, 3, 9, pieces), (), by_block=True)]
        [(3, 4), (4, 9)]
    """
    waiting: ChunkRange | None = None
    for piece in chunk.pieces:
        planned, indivisible = block_of(piece.text, secrets)
        if indivisible:
            if waiting is not None:
                yield waiting
            waiting = ChunkRange(planned, planned, indivisible=True)
            continue
        start, stop = planned.start + piece.start, planned.start + piece.stop
        if waiting is not None:
            block = waiting.block
            if not by_block and not waiting.indivisible and block.stop == start and block.file == planned.file:
                joined = replace(block, stop=stop)
                waiting = ChunkRange(joined, waiting.planned)
                continue
            yield waiting
        first = planned.first_record_start if piece.start == 0 else None
        waiting = ChunkRange(BlockMetadata(planned.file, start, stop, planned.index, first), planned)
    if waiting is not None:
        yield waiting


class Entries:
    """Prepares part after part of one reader: keeps the file open, and knows where the last part stopped."""

    def __init__(self, spec: ScanSpec) -> None:
        self._spec = spec
        self._format = spec.record_format
        self._opened: OpenedFile | None = None
        self._last: BlockReport | None = None

    def open(self, file: FileMetadata) -> OpenedFile:
        """The file, opened when it is first read; the one before it is closed."""
        if self._opened is None or self._opened.file != file:
            self.close()
            reading = self._spec.options.reading
            self._opened = OpenedFile(
                file,
                lambda: self._open_source(file),
                max_record_bytes=reading.max_record_bytes,
                read_bytes=reading.read_bytes,
            )
        return self._opened

    def enter(self, part: ChunkRange) -> BlockMetadata:
        """The block of a part, with its first record start where its reader cannot find that by itself, or need not.

        A part that begins where the last one stopped begins with the record that the last one left. In a format that
        needs context, any other part is framed from the start of its planned block on.
        """
        block, last = part.block, self._last
        if self._format is None or part.indivisible or block.first_record_start is not None or block.start == 0:
            return block
        if last is not None and last.block.file == block.file and last.block.stop == block.start:
            return replace(block, first_record_start=last.next_start)
        if self._format.splittability is not Splittability.CONTEXT:
            return block
        try:
            boundary = part.planned.first_record_start or 0
            start = self.open(block.file).first_record_start(self._format, boundary, block.start)
            return replace(block, first_record_start=start)
        except SourceMissingError:
            if not self._spec.options.files.ignore_missing_files:
                raise
            return block  # whoever reads it finds the file missing again, and reports that

    def leave(self, report: BlockReport) -> None:
        """Remember where a part that was read to its end has stopped."""
        self._last = None if report.missing else report

    def forget(self) -> None:
        """Forget where the last part has stopped: the next one is entered as if it were the first."""
        self._last = None

    def close(self) -> None:
        """Close the file that is open. Calling it again does nothing."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _open_source(self, file: FileMetadata) -> ByteSource:
        source = open_listed(file, self._spec.options.files.storage_options)
        try:
            self._check(file, source)
        except BaseException:
            source.close()
            raise
        return source

    def _check(self, file: FileMetadata, source: ByteSource) -> None:
        """Make sure that a file is what was planned."""
        if self._format is not None and codec_in(source, file.path, self._spec.options.files, self._format) is not None:
            raise SourceError(
                "work on compressed files is not divided while they are read (rebalance=true)", Where(file.path),
                fix="leave rebalance out: compressed files are read in parallel without it", code="compressed-input",
            )  # fmt: skip
        if self._spec.options.files.on_file_change is OnFileChange.FAIL:
            check_unchanged(file, source)


class ChunkReader:
    """Reads the chunks of one partition, in the order of its log.

    A chunk is claimed before anything of it is delivered, and the end is reached only when the log says so: all
    readers of a partition deliver the same rows in the same order.

    Thread safety: none.
    """

    def __init__(
        self,
        spec: ScanSpec,
        next_chunk: NextChunk,
        secrets: tuple[str, ...],
        *,
        limit: int | None = None,
        on_reject: OnRejects | None = None,
        losses: RejectCounter | None = None,
        with_digest: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec = spec
        self._next_chunk = next_chunk
        self._secrets = secrets
        self._remaining = limit
        self._on_reject = on_reject
        self._losses = losses
        self._with_digest = with_digest
        self._clock = clock
        self._entries = Entries(spec)
        self._by_block = any(_is_of_the_block(spec, name) for name in spec.columns)

    def __iter__(self) -> Generator[ChunkScan]:
        """Chunk after chunk; each must be read to its end before the next one is asked for.

        What the caller does with the batches of a chunk, until it asks for the next one, counts as its cost.
        """
        index, stats = 0, None
        try:
            while self._remaining is None or self._remaining > 0:
                chunk = self._next_chunk(index, stats)
                if chunk is None:
                    return
                claimed = self._clock()
                scan = ChunkScan(self, chunk)
                yield scan
                if not scan.is_done:
                    raise InvariantError("a chunk is read to its end before the next one", seen=f"chunk {index}")
                stats = ChunkStats(self._clock() - claimed, scan.rows, scan.bytes_read)
                index += 1
        finally:
            self._entries.close()

    def begin_anew(self) -> None:
        """Read the next chunk into the same batches as a reader that has not read the ones before it.

        Rows never depend on what was read before, but batches may: after blank lines a reader that comes from before
        them begins its first batch later than one that enters at the edge.
        """
        self._entries.forget()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of all chunks."""
        for chunk in self:
            yield from chunk

    def read(self, scan: ChunkScan) -> Iterator[pa.RecordBatch]:
        """Batches of one chunk, part after part; the scan gets the reports."""
        for part in parts_of(scan.chunk, self._secrets, by_block=self._by_block):
            if self._remaining == 0:
                return
            block = self._entries.enter(part)
            reader = open_reader(
                self._spec,
                block,
                on_reject=self._on_reject,
                with_digest=self._with_digest,
                limit=self._remaining,
                planned=part.planned,
                opened=None if part.indivisible else self._entries.open(block.file),
                losses=self._losses,
            )
            for batch in reader:
                if self._remaining is not None:
                    self._remaining -= batch.num_rows
                scan.rows += batch.num_rows
                yield batch
            if self._remaining is None:
                self._entries.leave(reader.report)
                scan.reports.append(reader.report)


class ChunkScan:
    """One chunk on its way to rows. Iterate once."""

    def __init__(self, reader: ChunkReader, chunk: Chunk) -> None:
        self.chunk = chunk
        self.rows = 0
        self.reports: list[BlockReport] = []
        self.is_done = False
        self._reader = reader

    @property
    def bytes_read(self) -> int:
        """Bytes that were answered for."""
        return sum(report.span_stop - report.span_start for report in self.reports)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._reader.read(self)
        self.is_done = True


def _is_of_the_block(spec: ScanSpec, name: str) -> bool:
    """Return whether a column says which block a record lies in."""
    return name not in spec.fields.names and metadata_name(name) is not None and grain_of(name) is Grain.BLOCK
