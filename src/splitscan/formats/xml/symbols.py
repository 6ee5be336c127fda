"""One byte for each code unit of an XML file: marks are found in the same way in every encoding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from splitscan.errors import UsageError
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Buffer, as_units
from splitscan.formats.xml.grammar import Marks, marks_of

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
        return self.of(self.encoding.encode(self.row_tag))

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
        units = self.encoding.units(self.encoding.encode(self.row_tag))
        return tuple(sorted({unit for unit in units if unit >= _OTHER}))


@lru_cache(maxsize=64)
def symbols_of(row_tag: str, encoding: Encoding) -> Symbols:
    """The symbols of files in one encoding."""
    return Symbols(row_tag, encoding)
