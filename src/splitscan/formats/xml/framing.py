"""Elements of one name as records, wherever they are in an XML file."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np

from splitscan.formats.framing.contract import EncodedRecords, Need, Preamble, Splittability
from splitscan.formats.framing.encodings import UTF_8, Encoding
from splitscan.formats.framing.frames import (
    Buffer,
    CountedRecords,
    Frames,
    Offsets,
    RecordFinder,
    Summary,
    native_framing,
)
from splitscan.formats.xml.declaration import declared_encoding
from splitscan.formats.xml.grammar import UNFINISHED_RECORD, Symbols, symbols_of
from splitscan.formats.xml.reference import XmlReferenceFramer
from splitscan.formats.xml.scanner import UNKNOWN_STATE, Scanner, XmlSkipping, looks, summarise


@dataclass(frozen=True)
class XmlFormat(EncodedRecords):
    """Records are the elements with one name; files are split through a boundary index.

    A row tag in a comment, in CDATA, in a processing instruction or in the value of an attribute is data.

    Args:
        row_tag: The name.
        encoding: Any one whose characters beyond ASCII hold no mark of XML.
        reads_declaration: Whether the XML declaration of a file says its encoding, if there is one.

    Raises:
        UsageError: If marks may be part of characters of the encoding.

    Example:
        >>> frames = XmlFormat("a").frame(b"<!--<a>--><a x='<a>'>1</a> <a/>", at_end=True)
        >>> frames.starts.tolist(), frames.stops.tolist()
        ([10, 27], [26, 31])
    """

    name = "xml"
    splittability = Splittability.CONTEXT
    unfinished_code = UNFINISHED_RECORD

    row_tag: str
    encoding: Encoding = UTF_8
    reads_declaration: bool = False

    def __post_init__(self) -> None:
        symbols_of(self.row_tag, self.encoding)

    def in_encoding(self, encoding: Encoding) -> XmlFormat:
        return replace(self, encoding=encoding, reads_declaration=False)

    def needs_head(self, start: int) -> bool:
        return self.reads_declaration or super().needs_head(start)

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Skip the byte order mark; the format that comes back knows the encoding of the file.

        Raises:
            UsageError: If the declaration names an encoding that cannot be read.
        """
        found = super().preamble(head, at_end=at_end)
        if not self.reads_declaration or isinstance(found, Need) or found.data_start:
            return found
        declared = declared_encoding(head, at_end=at_end)
        if isinstance(declared, Need):
            return declared
        return found if declared is None else Preamble(0, self.in_encoding(declared))

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Find complete records; a tail that never ends is left, at the end of a file too."""
        return self._framing.frame(data, at_end=at_end)

    def count(self, data: Buffer) -> CountedRecords:
        return self._framing.count(data)

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets | None:
        return self._framing.open_starts(data, longest_bytes)

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        for shown in looks(data):
            scanner = Scanner(self._symbols.marks, self._symbols.of(shown))
            first = scanner.run(to_first=True)
            if first is not None:
                return first * self.unit_bytes
        if not at_end:
            return Need.AFTER
        return len(data) if scanner.is_between else scanner.next_start * self.unit_bytes

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """After the record or the mark, or where another row tag breaks it off."""
        return self._skipping.resume_after(data, at_end=at_end)

    def droppable(self, data: Buffer) -> int:
        return self.drop(data)[0]

    def drop(self, data: Buffer) -> tuple[int, XmlSkipping]:
        return self._skipping.drop(data)

    def never_ends(self, data: Buffer) -> bool:
        return self._skipping.never_ends(data)

    def reference_framer(self) -> XmlReferenceFramer:
        return XmlReferenceFramer(self._symbols)

    # ---------------------------------------------------------------- context

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        """The first position that a mark begins at, or that lies further after one than any mark is long."""
        text = self._symbols.of(before + after)
        longest = self._symbols.marks.longest
        known = len(before) // self.unit_bytes
        decided = max(known, text.rfind(b"<", 0, known) + longest + 1)
        mark = text.find(b"<", known)
        position = mark if 0 <= mark < decided else decided
        return (position - known) * self.unit_bytes if position < len(text) else Need.AFTER

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Go through *data* from every place and depth; most runs soon meet the one from outside of everything."""
        return self._framing.summarise(data, before, after, mark)

    def state_after(self, data: Buffer) -> int:
        rest = memoryview(data)[self.frame(data, at_end=False).next_start :]
        run = self.summarise(rest, b"", b"", 0).run(0)
        return UNKNOWN_STATE if run is None else run.state

    @property
    def _framing(self) -> RecordFinder:
        encoding, symbols = self.encoding, self._symbols
        found = native_framing("Xml", symbols.written_tag, encoding.unit_bytes, encoding.big_endian)
        return found or ScannedXml(symbols)

    @property
    def _symbols(self) -> Symbols:
        return symbols_of(self.row_tag, self.encoding)

    @property
    def _skipping(self) -> XmlSkipping:
        return XmlSkipping(self._symbols)


class ScannedXml:
    """The scanner's answers, where there is no kernel."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._width = symbols.encoding.unit_bytes

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        scanner = self._run(data)
        is_whole = at_end and scanner.is_between
        starts, stops = (np.array(found, dtype=np.int64) * self._width for found in (scanner.starts, scanner.stops))
        return Frames(starts[: len(stops)], stops, len(data) if is_whole else scanner.next_start * self._width)

    def count(self, data: Buffer) -> CountedRecords:
        scanner = self._run(data)
        return CountedRecords(len(scanner.stops), scanner.next_start * self._width)

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets | None:
        scanner = self._run(data, longest_bytes // self._width)
        found = np.sort(np.array([*scanner.long, *scanner.opened], dtype=np.int64)) * self._width
        return found if len(found) and not found[0] else None

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        del after
        return summarise(self._symbols, data, before, mark)

    def _run(self, data: Buffer, longest: int = sys.maxsize) -> Scanner:
        scanner = Scanner(self._symbols.marks, self._symbols.of(data), longest=longest)
        scanner.run()
        return scanner
