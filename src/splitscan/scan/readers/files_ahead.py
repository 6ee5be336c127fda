"""Short files of one task, read ahead and decoded together: setting up a parser takes as long as parsing one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate

import numpy as np

from splitscan.blocks import BlockMetadata
from splitscan.codecs.source import ContentSource
from splitscan.decoding.contract import Decoded, Decoder
from splitscan.framing.contract import Preamble, RecordFormat
from splitscan.framing.frames import CountedFrames, Frames
from splitscan.options import CsvOptions, OnFileChange
from splitscan.scan.formats import decoder, record_format
from splitscan.scan.spec import ScanSpec
from splitscan.sizes import MIB
from splitscan.splitting.block_reader import BlockReader
from splitscan.splitting.contents import open_content
from splitscan.splitting.cursor import Framed, Skipped
from splitscan.storage import SHORT_BYTES, check_unchanged

_AHEAD_BYTES = MIB  # read ahead and parsed together; of more, the share of setting up a parser is small
_AHEAD_FILES = 256  # files of a few bytes
_LINE_FEED = b"\n"


@dataclass
class ReadFile:
    """A file that was read to its end.

    Attributes:
        reader: Its reader, behind its last step.
        steps: What it gave.
        decoder: Of its records.
        decoded: Columns that are known already, by the offset of the step.
    """

    reader: BlockReader
    steps: Sequence[Framed | Skipped]
    decoder: Decoder
    decoded: dict[int, Decoded] = field(default_factory=dict)

    def decode(self, step: Framed) -> Decoded:
        """The columns of one of the steps; asked for once."""
        known = self.decoded.pop(step.offset, None)
        return self.decoder.decode(step.data, step.frames) if known is None else known


class FilesAhead:
    """The short CSV files among the blocks of a task, for whoever reads the blocks in order.

    Guarantees: what a file gives is what it gives when it is read alone. One that cannot be opened, read or decoded is
    left to its own reader, which raises the error where it belongs; so are other formats, and longer or compressed
    files.

    Args:
        spec: What to deliver.
        blocks: What will be read, in this order.
        with_digest: Whether to hash the bytes of the files.

    Thread safety: none.
    """

    def __init__(self, spec: ScanSpec, blocks: Iterable[BlockMetadata], *, with_digest: bool = False) -> None:
        is_csv = spec.framing is None and isinstance(spec.options.format, CsvOptions)
        applies = is_csv and not spec.delivers_no_value and spec.rescued_column is None  # that column names the file
        self._spec = spec
        self._with_digest = with_digest
        self._format = record_format(spec.options) if applies else None
        self._upcoming = deque(blocks if applies else ())
        self._ready: deque[tuple[BlockMetadata, ReadFile | None]] = deque()
        self._decoders: dict[tuple[RecordFormat, tuple[str, ...] | None], Decoder] = {}

    def take(self, block: BlockMetadata) -> ReadFile | None:
        """What the file of *block* gave; ``None`` where its reader has to see for itself."""
        while self._ready or self._upcoming:
            if not self._ready:
                self._ready.extend(self._read_next())
            known, read = self._ready.popleft()
            if known is block:
                return read
        return None

    def _read_next(self) -> list[tuple[BlockMetadata, ReadFile | None]]:
        """The next files that are short, read; or the next block, if it is something else."""
        blocks = [self._upcoming.popleft()]
        size_bytes = blocks[0].length_bytes
        while _is_short(blocks[0]) and self._upcoming and len(blocks) < _AHEAD_FILES:
            size_bytes += self._upcoming[0].length_bytes
            if size_bytes > _AHEAD_BYTES or not _is_short(self._upcoming[0]):
                break
            blocks.append(self._upcoming.popleft())
        if len(blocks) == 1 or self._format is None:
            return [(block, None) for block in blocks]
        files = [(block, self._read(block, self._format)) for block in blocks]
        read = [file for _, file in files if file is not None]
        for each in {id(file.decoder): file.decoder for file in read}.values():
            _decode_together(each, [file for file in read if file.decoder is each])
        return files

    def _read(self, block: BlockMetadata, format: RecordFormat) -> ReadFile | None:
        options = self._spec.options
        try:
            with closing(open_content(block, options.files, format)) as source:
                if isinstance(source, ContentSource):
                    return None  # however short it is, it may hold much
                if options.files.on_file_change is OnFileChange.FAIL:
                    check_unchanged(block.file, source)
                reader = BlockReader(
                    source,
                    block,
                    format,
                    max_record_bytes=options.reading.max_record_bytes,
                    read_bytes=options.reading.read_bytes,
                    with_digest=self._with_digest,
                )
                return ReadFile(reader, list(reader), self._decoder(block, reader.preamble))
        except Exception:  # its own reader meets it again, in its turn
            return None

    def _decoder(self, block: BlockMetadata, preamble: Preamble) -> Decoder:
        """The decoder of a file: one for all that have the same header."""
        key = (preamble.format, preamble.header)
        known = self._decoders.get(key)
        if known is None:
            known = self._decoders[key] = decoder(self._spec, block.file, preamble)
        return known


def _is_short(block: BlockMetadata) -> bool:
    return block.is_file and block.file.size_bytes <= SHORT_BYTES


def _decode_together(decoder: Decoder, files: Sequence[ReadFile]) -> None:
    """Decode steps that can stand behind each other as those of one file: no row depends on its neighbours."""
    joined = [(file, step) for file in files for step in file.steps if isinstance(step, Framed) and _is_closed(step)]
    if len(joined) < 2:
        return
    steps = [step for _, step in joined]
    data = memoryview(b"".join(step.data for step in steps))
    counts = [len(step.frames) for step in steps]
    frames = CountedFrames(sum(counts), steps[0].frames.first, len(data), partial(_find, steps))
    try:
        decoded = decoder.decode(data, frames)
    except Exception:  # each is decoded alone, and fails in its turn
        return
    for (file, step), rows, stop in zip(joined, counts, accumulate(counts), strict=True):
        file.decoded[step.offset] = _part(decoded, stop - rows, stop)


def _is_closed(step: Framed) -> bool:
    """Whether a step of regular records ends with the terminator of the last one, whatever may follow."""
    return isinstance(step.frames, CountedFrames) and bytes(step.data[-1:]) == _LINE_FEED


def _find(steps: Sequence[Framed]) -> Frames:
    """The records of steps that stand behind each other."""
    lengths = [len(step.data) for step in steps]
    bases = [stop - length for length, stop in zip(lengths, accumulate(lengths), strict=True)]
    starts = np.concatenate([step.frames.starts + base for step, base in zip(steps, bases, strict=True)])
    stops = np.concatenate([step.frames.stops + base for step, base in zip(steps, bases, strict=True)])
    return Frames(starts, stops, sum(lengths))


def _part(decoded: Decoded, start: int, stop: int) -> Decoded:
    """Rows of what was decoded together; nothing of it was rescued."""
    faults = [fault._replace(record=fault.record - start) for fault in decoded.faults if start <= fault.record < stop]
    return Decoded([column.slice(start, stop - start) for column in decoded.columns], stop - start, faults)
