"""Elements of one name as records, wherever they are in an XML file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import Need, Preamble, Splittability
from splitscan.formats.framing.encodings import MAX_BOM_BYTES, UTF_8, Encoding, bom_matters, detect_bom
from splitscan.formats.framing.frames import Buffer, Counted, Frames, Summary
from splitscan.formats.xml.grammar import UNFINISHED_RECORD, marks_of
from splitscan.formats.xml.reference import XmlReferenceFramer
from splitscan.formats.xml.scanner import Scanner

_MARKS = b"<>!?-[]/\"'"
_UNKNOWN_STATE = -1  # no summary has an answer for it


@dataclass(frozen=True)
class XmlFormat:
    """Records are the elements with one name; files are split through a boundary index.

    A row tag in a comment, in CDATA, in a processing instruction or in the value of an attribute is data.

    Args:
        row_tag: The name.
        encoding: UTF-8, or another one whose lower half is ASCII.

    Raises:
        UsageError: If the encoding has more than one byte per unit, or marks may be part of its characters.

    Thread safety: immutable.
    Pickling: plain values only.

    Example:
        >>> frames = XmlFormat("a").frame(b"<!--<a>--><a x='<a>'>1</a> <a/>", at_end=True)
        >>> frames.starts.tolist(), frames.stops.tolist()
        ([10, 27], [26, 31])
    """

    row_tag: str
    encoding: Encoding = UTF_8

    def __post_init__(self) -> None:
        if self.encoding.unit_bytes != 1 or not all(self.encoding.tells_apart(bytes([mark])) for mark in _MARKS):
            raise UsageError(
                "XML is read in UTF-8 and in encodings that extend ASCII byte by byte",
                seen=f"encoding={self.encoding.name}",
                fix="convert the file to UTF-8",
                code="bad-option",
            )
        self.encoding.encode(self.row_tag)

    @property
    def name(self) -> str:
        """Short name for messages."""
        return "xml"

    @property
    def splittability(self) -> Splittability:
        """Only what is before a row tag tells whether it is in a comment."""
        return Splittability.CONTEXT

    @property
    def unit_bytes(self) -> int:
        """Bytes per code unit."""
        return 1

    @property
    def unfinished_code(self) -> str:
        """Reject code of a record that never ends."""
        return UNFINISHED_RECORD

    def needs_head(self, start: int) -> bool:
        """Whether a byte order mark matters."""
        return bom_matters(self.encoding, start)

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Skip the byte order mark."""
        if len(head) < MAX_BOM_BYTES and not at_end:
            return Need.AFTER
        return Preamble(detect_bom(head, self.encoding)[1], self)

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Find complete records; a tail that never ends is left, at the end of a file too."""
        del at_end
        scanner = self._run(data)
        starts, stops = (np.array(found, dtype=np.int64) for found in (scanner.starts, scanner.stops))
        return Frames(starts, stops, scanner.next_start)

    def count(self, data: Buffer) -> Counted:
        """Count complete records."""
        scanner = self._run(data)
        return Counted(len(scanner.starts), scanner.next_start)

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        """Length of what is before the next record."""
        scanner = Scanner(self._tag, bytes(data))
        first = scanner.run(to_first=True)
        if first is not None:
            return first
        return scanner.next_start if at_end else Need.AFTER

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """The next opening row tag, whatever it is in."""
        found = marks_of(self._tag).opening.search(data, 1)
        if found is not None:
            return found.start()
        return len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        """All that cannot be the beginning of such a tag."""
        return max(0, len(data) - len(self._tag) - 2)

    def reference_framer(self) -> XmlReferenceFramer:
        """A new byte-at-a-time framer for the same records."""
        return XmlReferenceFramer(self._tag)

    # ---------------------------------------------------------------- context

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        """Every position: a summary has no answer for the states that are not "outside of everything"."""
        del before, after
        return 0

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Nothing: whoever composes reads instead."""
        del before, after, mark
        return Summary(len(data), ())

    def state_after(self, data: Buffer) -> int:
        """0 outside of everything."""
        return 0 if self._run(data).is_between else _UNKNOWN_STATE

    @property
    def _tag(self) -> bytes:
        return self.encoding.encode(self.row_tag)

    def _run(self, data: Buffer) -> Scanner:
        scanner = Scanner(self._tag, bytes(data))
        scanner.run()
        return scanner
