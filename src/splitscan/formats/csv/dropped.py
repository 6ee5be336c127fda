"""Lines that options drop which were found in samples of the files: some of them may be records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.framing.encodings import detect_bom

COMMENT_RECORD = "comment-record"
SKIPPED_RECORD = "skipped-record"

_LEAST_FIELDS = 2  # any line has one


@dataclass(frozen=True, slots=True)
class DroppedRows:
    """Tells which of the lines that are dropped look like records: these have as many fields, and values that fit.

    Args:
        format: Of the file.
        comment: Whether its comments are looked at.
        skipped: How many lines are skipped at the head of a file, if those are looked at.
        fits: Whether a line is one record whose values fit their columns.
    """

    format: QuotedFormat
    comment: bool
    skipped: int
    fits: Callable[[bytes], bool]

    def before(self, head: bytes, preamble: Preamble, *, at_end: bool) -> Iterator[tuple[str, int]]:
        """Code and place of lines before the first record, of the first bytes of a file."""
        _, position = detect_bom(head, self.format.encoding)
        before, rest = head[: preamble.data_start], head[preamble.data_start :]
        if preamble.header is None:
            frames = self.format.frame(rest, at_end=at_end)
            first = rest[int(frames.starts[0]) : int(frames.stops[0])] if len(frames) else None
            width = 0 if first is None else len(self.format.names(first))
        else:
            width = len(preamble.header)
        for _ in range(self.skipped or self.format.skip_lines):
            step = self.format.resume_after(before[position:], at_end=True)
            if not step:
                return
            line = before[position : position + step]
            is_record = self.skipped and (preamble.header is not None or self.fits(line))
            if is_record and self._has_fields(line, width):
                yield SKIPPED_RECORD, position
            position += step
        if self.comment and preamble.header is not None:
            frames = self.format.frame(before[position:], at_end=True)
            if len(frames):
                stop = position + int(frames.stops[0])
                yield from self._comments(before[stop:], stop, width)

    def between(self, record: bytes, gap: bytes, offset: int) -> Iterator[tuple[str, int]]:
        """Code and place of lines after a record; *gap* begins at *offset* with what ends it."""
        if self.comment and len(gap) > 2 * self.format.unit_bytes:
            yield from self._comments(gap, offset, len(self.format.names(record)))

    def _comments(self, gap: bytes, offset: int, width: int) -> Iterator[tuple[str, int]]:
        unit, sign = self.format.unit_bytes, (self.format.dialect.comment or "").encode()
        position = 0
        while position < len(gap):
            rest = gap[position:]
            step = self.format.resume_after(rest, at_end=True) or len(rest)
            mark = rest[:step].find(sign) // unit * unit
            content = rest[mark + unit : step]
            if mark >= 0 and self._has_fields(content, width) and self.fits(content):
                yield COMMENT_RECORD, offset + position + mark
            position += step

    def _has_fields(self, line: bytes, width: int) -> bool:
        frames = self.format.frame(line, at_end=True)
        if width < _LEAST_FIELDS or len(frames) != 1:
            return False
        return len(self.format.names(line[int(frames.starts[0]) : int(frames.stops[0])])) == width
