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

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from splitscan.errors import UsageError
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Buffer, as_units

SPACE = b" \t\r\n"
COMMENT, CDATA, INSTRUCTION, DECLARATION = b"<!--", b"<![CDATA[", b"<?", b"<!"
NAME_START = re.compile(rb"[A-Za-z_:\x80-\xff]")

_MARKS = b"<>!?-[]/\"'"
_OTHER = 0x80  # any unit beyond ASCII that the row tag does not have
_MOST_OWN = 0xFF - _OTHER
_LOOK_BYTES = 4096  # whole units


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
    def longest_mark(self) -> int:
        """Symbols of the longest mark, but for white space in a closing row tag."""
        return max(len(CDATA), len(self.tag) + len("</"))

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

    def each(self, data: Buffer) -> Iterator[int]:
        """The symbols one by one: of no more than are asked for."""
        for start in range(0, len(data), _LOOK_BYTES):
            yield from self.of(memoryview(data)[start : start + _LOOK_BYTES])

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
