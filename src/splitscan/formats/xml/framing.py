"""Elements of one name as records, wherever they are in an XML file; and the encoding that its declaration names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import UNFINISHED_RECORD, EncodedRecords, Need, Preamble, Splittability
from splitscan.formats.framing.encodings import UTF_8, Encoding, resolve_encoding
from splitscan.formats.framing.frames import (
    Buffer,
    CountedRecords,
    Frames,
    Offsets,
    Passing,
    PassingFinder,
    Summary,
    native_framing,
)
from splitscan.formats.xml.reference import Symbols, XmlReferenceFramer, XmlReferenceFraming, symbols_of

_BEGIN = b"<?xml"
_LONGEST_BYTES = 1024  # declarations are short
_ENCODING = re.compile(rb"""<\?xml\s[^>]*?\bencoding\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')""")


def declared_encoding(head: bytes, *, at_end: bool) -> Encoding | Need | None:
    """The encoding that a declaration names; ``None`` if there is none, or it can be read as no such encoding.

    A declaration that is read byte by byte is not in UTF-16 or UTF-32, whatever it says.

    Args:
        head: How a file without a byte order mark begins.
        at_end: Whether that is all of it.

    Raises:
        UsageError: If the encoding is one that cannot be read from the middle of a file.

    Example:
        >>> declared_encoding(b"<?xml version='1.0' encoding='latin1'?><r/>", at_end=True).name
        'ISO-8859-1'
    """
    if not head.startswith(_BEGIN[: len(head)]):
        return None
    if b"?>" not in head and len(head) < _LONGEST_BYTES and not at_end:
        return Need.AFTER
    found = _ENCODING.match(head.partition(b"?>")[0])
    if found is None:
        return None
    name = (found[1] if found[1] is not None else found[2]).decode("ascii", "replace")
    try:
        encoding = resolve_encoding(name)
    except UsageError as error:
        raise UsageError(
            "the XML declaration names an encoding that cannot be read in parallel",
            seen=f"encoding={name!r}",
            fix="convert the file to UTF-8; or set option encoding to what it really is, which is obeyed instead",
            code="bad-option",
        ) from error
    return encoding if encoding.unit_bytes == 1 else None


BETWEEN_STATE, UNKNOWN_STATE = 0, -1
"""Outside of everything; and where no summary has an answer."""


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
        gap = self._framing.gap_bytes(data, at_end=at_end)
        return Need.AFTER if gap is None else gap

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """After the record or the mark, or where another row tag breaks it off."""
        return Passing(self._framing).resume_after(data, at_end=at_end)

    def droppable(self, data: Buffer) -> int:
        return self.drop(data)[0]

    def drop(self, data: Buffer) -> tuple[int, Passing]:
        return Passing(self._framing).drop(data)

    def never_ends(self, data: Buffer) -> bool:
        return Passing(self._framing).never_ends(data)

    def reference_framer(self) -> XmlReferenceFramer:
        return XmlReferenceFramer(self._symbols)

    # ---------------------------------------------------------------- context

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        """The first position that a mark begins at, or that lies further after one than any mark is long."""
        text = self._symbols.of(before + after)
        longest = self._symbols.longest_mark
        known = len(before) // self.unit_bytes
        decided = max(known, text.rfind(b"<", 0, known) + longest + 1)
        mark = text.find(b"<", known)
        position = mark if 0 <= mark < decided else decided
        return (position - known) * self.unit_bytes if position < len(text) else Need.AFTER

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Go through *data* from every place and depth."""
        return self._framing.summarise(data, before, after, mark)

    def state_after(self, data: Buffer) -> int:
        rest = memoryview(data)[self.frame(data, at_end=False).next_start :]
        run = self.summarise(rest, b"", b"", 0).run(0)
        if run is not None:
            return run.state
        return BETWEEN_STATE if XmlReferenceFraming(self._symbols).is_between(rest) else UNKNOWN_STATE

    @property
    def _framing(self) -> PassingFinder:
        encoding, symbols = self.encoding, self._symbols
        found = native_framing("Xml", symbols.written_tag, encoding.unit_bytes, encoding.big_endian)
        return found or XmlReferenceFraming(symbols)

    @property
    def _symbols(self) -> Symbols:
        return symbols_of(self.row_tag, self.encoding)
