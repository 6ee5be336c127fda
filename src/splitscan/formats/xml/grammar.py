"""Grammar of where XML records begin and end: marks, and the state between them.

Outside of comments, CDATA, processing instructions and tags, an opening row tag begins a record, and the closing row
tag that matches it ends it; row tags inside are counted. A tag ends at ``>`` or, broken, before ``<``. A value in
quotes may hold both. Inside a record it ends at the closing row tag too, so that a quote that nobody closes costs one
record. A closing row tag that no opening one belongs to is a record that a decoder refuses. A declaration that opens a
bracket (the internal subset of a DOCTYPE) ends there: what it declares is read as further declarations.

What is too long is skipped in the same states, however long it is. A record that is given up ends at its closing row
tag or before the next opening one; a tag or declaration between records, which may lack a quote, ends before the next
opening row tag, in a value too. A comment, CDATA or processing instruction that nobody closes lasts to the end of the
file.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from splitscan.errors import UsageError
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Buffer, as_units

UNFINISHED_RECORD = "unfinished-record"

SPACE = b" \t\r\n"
COMMENT, CDATA, INSTRUCTION, DECLARATION = b"<!--", b"<![CDATA[", b"<?", b"<!"
ENDS = {COMMENT: b"-->", CDATA: b"]]>", INSTRUCTION: b"?>"}
"""What ends whatever these begin."""
QUOTES = (b'"', b"'")

NAME_START = re.compile(rb"[A-Za-z_:\x80-\xff]")
_AFTER_NAME = b"(?=[ \\t\\r\\n/>])"


class MarkupKind(enum.Enum):
    """Kind of markup around a position."""

    TEXT = "outside of all marks"
    COMMENT = "in a comment"
    CDATA = "in CDATA"
    INSTRUCTION = "in a processing instruction"
    CLOSING = "in a closing row tag, after its name"
    ROW = "in an opening row tag"
    TAG = "in another tag"
    DECLARATION = "in a declaration"


class Place(NamedTuple):
    """Markup and quotes around a position."""

    kind: MarkupKind
    quote: bytes = b""


TEXT = Place(MarkupKind.TEXT)
INSIDE = {
    COMMENT: Place(MarkupKind.COMMENT),
    CDATA: Place(MarkupKind.CDATA),
    INSTRUCTION: Place(MarkupKind.INSTRUCTION),
}
"""Where the marks lead that something else ends."""
END_OF = {place: ENDS[mark] for mark, place in INSIDE.items()}
PLACES = (
    TEXT,
    *INSIDE.values(),
    Place(MarkupKind.CLOSING),
    *(
        Place(kind, quote)
        for kind in (MarkupKind.ROW, MarkupKind.TAG, MarkupKind.DECLARATION)
        for quote in (b"", *QUOTES)
    ),
)


@dataclass(frozen=True, slots=True)
class Tags:
    """Patterns of what is in a tag.

    Attributes:
        tag: The rest of a tag, its quoted values whole, up to what ends it or to a quote that nobody closes.
        quoted: What is in a value, by its quote.
    """

    tag: re.Pattern[bytes]
    declaration: re.Pattern[bytes]
    quoted: Mapping[bytes, re.Pattern[bytes]]

    def rest(self, kind: MarkupKind) -> re.Pattern[bytes]:
        """The pattern of one kind of tag."""
        return self.declaration if kind is MarkupKind.DECLARATION else self.tag


@dataclass(frozen=True, slots=True)
class Marks:
    """Patterns of one row tag.

    Attributes:
        longest: Bytes of the longest mark, but for white space in a closing row tag.
        text: The next mark outside of everything: groups ``undecided`` (the bytes end inside a mark), ``inside``
            (comment, CDATA, instruction), ``close``, ``open``, ``declaration`` and ``tag`` (one with quotes).
        closing: The closing row tag without white space: it ends a value inside a record.
        outside: Tags outside of records.
        inside: Tags inside a record.
        skipped: Tags outside of records that are given up.
    """

    longest: int
    text: re.Pattern[bytes]
    white: re.Pattern[bytes]
    closing: bytes
    outside: Tags
    inside: Tags
    skipped: Tags


@lru_cache(maxsize=64)
def marks_of(tag: bytes) -> Marks:
    """The patterns of a row tag."""
    row = re.escape(tag)
    partial = {mark[:size] for mark in (COMMENT, CDATA, b"<" + tag, b"</" + tag) for size in range(1, len(mark) + 1)}
    partial -= {COMMENT, CDATA}
    undecided = b"|".join(re.escape(mark) for mark in sorted(partial, key=len, reverse=True))
    spaced = b"</" + row + b"[ \\t\\r\\n]+"
    text = (
        b"(?P<undecided>(?:" + undecided + b"|" + spaced + b")\\Z)"
        b"|(?P<inside><!--|<!\\[CDATA\\[|<\\?)"
        b"|(?P<close></" + row + b"[ \\t\\r\\n]*>)"
        b"|(?P<open><" + row + _AFTER_NAME + b")"
        b"|(?P<declaration><!)"
        b"|(?P<tag><(?=[A-Za-z_:\\x80-\\xff])[^<>\"']*+(?:[\"']|\\Z))"
    )
    return Marks(
        longest=max(len(CDATA), len(tag) + 2),
        text=re.compile(text),
        white=re.compile(b"[ \\t\\r\\n]*+"),
        closing=b"</" + tag + b">",
        outside=_tags(None),
        inside=_tags(b"/" + row + b">"),
        skipped=_tags(row + _AFTER_NAME),
    )


def _tags(end: bytes | None) -> Tags:
    """The patterns of tags; *end*, after ``<``, is what no value may hold."""
    within = {
        quote: b"[^" + quote + b"]*+" if end is None else b"(?:[^<" + quote + b"]++|<(?!" + end + b"))*+"
        for quote in QUOTES
    }
    quoted = b"|".join(quote + inside + quote for quote, inside in within.items())

    def rest(ends: bytes) -> re.Pattern[bytes]:
        plain = b"[^" + ends + b"]*+"
        return re.compile(plain + b"(?:(?:" + quoted + b")" + plain + b")*+")

    return Tags(rest(b"<>\"'"), rest(b"<>\"'\\["), {quote: re.compile(inside) for quote, inside in within.items()})


_MARKS = b"<>!?-[]/\"'"
_OTHER = 0x80  # any unit beyond ASCII that the row tag does not have
_MOST_OWN = 0xFF - _OTHER


@dataclass(frozen=True)
class Symbols:
    r"""How the units of an encoding are written as bytes: ASCII as it is, and what else the row tag has.

    Raises:
        UsageError: If marks may be part of characters of the encoding, or the row tag cannot be written.

    Example:
        >>> from splitscan.formats.framing.encodings import UTF_16_LE
        >>> symbols_of("r", UTF_16_LE).of("<r>é".encode("utf-16-le"))
        b'<r>\x80'
    """

    row_tag: str
    encoding: Encoding

    def __post_init__(self) -> None:
        if not all(self.encoding.tells_apart(bytes([mark])) for mark in _MARKS):
            raise UsageError(
                "XML is read in encodings whose characters beyond ASCII hold no mark of XML",
                seen=f"encoding={self.encoding.name}",
                fix="convert the file to UTF-8",
                code="bad-option",
            )
        if len(self._own) > _MOST_OWN:
            raise UsageError(
                f"option rowTag has at most {_MOST_OWN} different characters beyond ASCII in {self.encoding.name}",
                seen=f"{len(self._own)} of them",
                fix="convert the file to UTF-8",
                code="bad-option",
            )

    @cached_property
    def marks(self) -> Marks:
        """Patterns over symbols."""
        return marks_of(self.tag)

    @cached_property
    def tag(self) -> bytes:
        """The row tag in symbols."""
        return self.of(self.written_tag)

    @cached_property
    def written_tag(self) -> bytes:
        """The row tag as files have it."""
        return self.encoding.encode(self.row_tag)

    def of(self, data: Buffer) -> bytes:
        """The symbols of whole units; a part of one at the end is left out."""
        encoding = self.encoding
        if encoding.unit_bytes == 1:
            return bytes(data)
        units = as_units(data, encoding.unit_bytes, encoding.big_endian)
        symbols: npt.NDArray[np.uint8] = np.minimum(units, _OTHER).astype(np.uint8)
        for index, unit in enumerate(self._own, start=_OTHER + 1):
            symbols[units == unit] = index
        return symbols.tobytes()

    @cached_property
    def _own(self) -> tuple[int, ...]:
        """Units beyond ASCII that the row tag has."""
        if self.encoding.unit_bytes == 1:
            return ()
        units = self.encoding.units(self.written_tag)
        return tuple(sorted({unit for unit in units if unit >= _OTHER}))


@lru_cache(maxsize=64)
def symbols_of(row_tag: str, encoding: Encoding) -> Symbols:
    """The symbols of files in one encoding."""
    return Symbols(row_tag, encoding)
