"""Character encodings as framing sees them: code units, byte order, byte order marks.

A format searches code units, never characters: in every encoding that is supported here, a line feed, a
delimiter or a quote can be found by comparing code units, wherever one begins to look. Encodings where the second
byte of one character can look like an ASCII character (Shift_JIS, GB18030, Big5) are refused for that reason.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Literal

from splitscan.errors import UsageError

CR, LF = 0x0D, 0x0A  # as code units, in every encoding
MAX_BOM_BYTES = 4  # the longest byte order mark, that of UTF-32

# Python's single-byte codecs whose lower half is ASCII: every byte is one character, whatever surrounds it.
_SINGLE_BYTE_CODECS = frozenset(
    [f"iso8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)]
    + [f"cp{page}" for page in range(1250, 1259)]
    + [f"cp{page}" for page in (437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 865, 866, 869)]
    + ["cp874", "cp1006", "cp1125", "ptcp154", "kz1048", "koi8-r", "koi8-t", "koi8-u", "tis-620", "hp-roman8"]
    + ["mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-iceland", "mac-turkish", "mac-croatian"]
    + ["mac-romanian"]
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A supported encoding.

    Attributes:
        name: Name for messages, e.g. ``"UTF-16LE"``.
        codec: Python codec that decodes bytes *without* a byte order mark; use it for values.
        unit_bytes: Bytes per code unit: 1, 2 or 4.
        big_endian: Byte order of the code units; without meaning when ``unit_bytes`` is 1.
        bom: Byte order mark that a file may begin with and that is not data, or ``b""``.
        needs_bom_detection: Whether the byte order is known only after :func:`detect_bom` has seen the file's head.

    Pickling: plain values only.
    """

    name: str
    codec: str
    unit_bytes: int = 1
    big_endian: bool = False
    bom: bytes = b""
    needs_bom_detection: bool = False

    @property
    def byte_order(self) -> Literal["big", "little"]:
        """The byte order as ``int.from_bytes`` wants it."""
        return "big" if self.big_endian else "little"

    def encode(self, text: str) -> bytes:
        r"""Turn text into the bytes that a file in this encoding holds; no byte order mark is added.

        Raises:
            UsageError: If the encoding has no such character.

        Example:
            >>> resolve_encoding("UTF-16LE").encode("ab")
            b'a\x00b\x00'
        """
        try:
            return text.encode(self.codec)
        except UnicodeEncodeError as error:
            raise UsageError(
                f"text cannot be written in encoding {self.name}", seen=repr(text),
                fix="use characters of the file's encoding, or set option encoding to the right one", code="bad-option",
            ) from error  # fmt: skip

    def units(self, data: bytes) -> tuple[int, ...]:
        r"""The code units that *data* consists of, independent of byte order.

        Example:
            >>> resolve_encoding("UTF-16LE").units(b"a\x00b\x00")
            (97, 98)
        """
        width = self.unit_bytes
        return tuple(int.from_bytes(data[i : i + width], self.byte_order) for i in range(0, len(data), width))

    def write_units(self, units: tuple[int, ...]) -> bytes:
        """The bytes of code units in this encoding's byte order: the inverse of :meth:`units`."""
        return b"".join(unit.to_bytes(self.unit_bytes, self.byte_order) for unit in units)


UTF_8 = Encoding("UTF-8", "utf-8", bom=codecs.BOM_UTF8)
US_ASCII = Encoding("US-ASCII", "ascii")
UTF_16_LE = Encoding("UTF-16LE", "utf-16-le", 2, False, codecs.BOM_UTF16_LE)
UTF_16_BE = Encoding("UTF-16BE", "utf-16-be", 2, True, codecs.BOM_UTF16_BE)
UTF_32_LE = Encoding("UTF-32LE", "utf-32-le", 4, False, codecs.BOM_UTF32_LE)
UTF_32_BE = Encoding("UTF-32BE", "utf-32-be", 4, True, codecs.BOM_UTF32_BE)
# Without a byte order mark these are big-endian, as in Java and therefore in Spark.
UTF_16 = Encoding("UTF-16", "utf-16-be", 2, True, codecs.BOM_UTF16_BE, needs_bom_detection=True)
UTF_32 = Encoding("UTF-32", "utf-32-be", 4, True, codecs.BOM_UTF32_BE, needs_bom_detection=True)

_UNICODE = {
    "utf-8": UTF_8, "utf-8-sig": UTF_8, "ascii": US_ASCII,
    "utf-16": UTF_16, "utf-16-le": UTF_16_LE, "utf-16-be": UTF_16_BE,
    "utf-32": UTF_32, "utf-32-le": UTF_32_LE, "utf-32-be": UTF_32_BE,
}  # fmt: skip
_CANDIDATES = {"UTF-16": (UTF_16_LE, UTF_16_BE), "UTF-32": (UTF_32_LE, UTF_32_BE)}


def resolve_encoding(name: str) -> Encoding:
    """Find the encoding that a user means.

    Args:
        name: Any spelling that Java or Python knows, in any case: ``"UTF-8"``, ``"latin1"``, ``"windows-1252"``.

    Returns:
        The encoding. For ``UTF-16`` and ``UTF-32`` without a byte order, :func:`detect_bom` completes it per file.

    Raises:
        UsageError: If there is no such encoding, or it cannot be read from the middle of a file.

    Example:
        >>> resolve_encoding("utf8").name, resolve_encoding("Windows-1252").codec
        ('UTF-8', 'cp1252')
    """
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError) as error:  # ValueError: a null character in the name
        raise _refuse(name) from error
    plain = codec.replace("_", "-")
    if plain in _UNICODE:
        return _UNICODE[plain]
    if plain in _SINGLE_BYTE_CODECS:
        return Encoding(_display_name(plain), codec)
    raise _refuse(name)


def detect_bom(head: bytes, encoding: Encoding) -> tuple[Encoding, int]:
    r"""Complete an encoding with what the first bytes of a file say.

    A byte order mark decides the byte order where *encoding* leaves it open; where *encoding* states one, only the
    mark of that byte order is recognised.

    Args:
        head: The file's first :data:`MAX_BOM_BYTES` bytes, or all of it when it is shorter.
        encoding: What the user asked for.

    Returns:
        The encoding with its byte order known, and the number of bytes that the mark takes (0 without one).

    Example:
        >>> detect_bom(b"\xff\xfea\x00", resolve_encoding("UTF-16"))[0].name
        'UTF-16LE'
        >>> detect_bom(b"\xef\xbb\xbfa", resolve_encoding("UTF-8"))[1]
        3
    """
    candidates = _CANDIDATES[encoding.name] if encoding.needs_bom_detection else (encoding,)
    for candidate in candidates:
        if head.startswith(candidate.bom):
            return candidate, len(candidate.bom)
    return candidates[-1], 0


def bom_matters(encoding: Encoding, start: int) -> bool:
    """Whether a block that starts at *start* must know if the file has a byte order mark."""
    return encoding.needs_bom_detection or (bool(encoding.bom) and start <= len(encoding.bom))


def _display_name(codec: str) -> str:
    """Spell a codec as Java does."""
    if codec.startswith("iso8859-"):
        return f"ISO-8859-{codec[8:]}"
    if codec.startswith("cp125"):
        return f"windows-{codec[2:]}"
    return codec.upper()


def _refuse(name: str) -> UsageError:
    """The error for an encoding that does not work here, listing those that do."""
    return UsageError(
        "option encoding names no encoding that can be read in parallel", seen=repr(name),
        fix="use UTF-8, US-ASCII, ISO-8859-1 to -16, windows-1250 to -1258, another single-byte encoding that extends "
        "ASCII (KOI8-R, IBM850 ...), UTF-16, UTF-16LE, UTF-16BE, UTF-32, UTF-32LE or UTF-32BE; convert others first",
        code="bad-option",
    )  # fmt: skip
