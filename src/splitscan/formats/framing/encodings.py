r"""Character encodings as framing sees them: code units, byte order, byte order marks.

A format searches code units, never characters: in every encoding that is supported here, a line feed, a comma or a
quote can be found by comparing code units, wherever one begins to look. Where a later byte of a character can look like
an ASCII character (GBK, Shift_JIS, Big5), a mark such as ``|`` or ``\`` cannot, and is refused.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from splitscan.errors import UsageError, bad_option

CR, LF = 0x0D, 0x0A  # as code units, in every encoding
MAX_BOM_BYTES = 4  # the longest byte order mark, that of UTF-32

# Python's single-byte codecs whose lower half is ASCII: every byte is one character, whatever surrounds it.
SINGLE_BYTE_CODECS = frozenset(
    [f"iso8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)]
    + [f"cp{page}" for page in range(1250, 1259)]
    + [f"cp{page}" for page in (437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 865, 866, 869)]
    + ["cp874", "cp1006", "cp1125", "ptcp154", "kz1048", "koi8-r", "koi8-t", "koi8-u", "tis-620", "hp-roman8"]
    + ["mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-iceland", "mac-turkish", "mac-croatian"]
    + ["mac-romanian"]
)

# Python's codecs of more than one byte for some characters: the name for messages, the most bytes that the codec looks
# at for one character, and which ASCII bytes may be a later one of them.
_FROM_AT_TO_TILDE = bytes(range(0x40, 0x7F))
_LETTERS, _DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", b"0123456789"
MULTI_BYTE_CODECS = {
    "gb2312": ("GB2312", 2, b""),
    "gbk": ("GBK", 2, _FROM_AT_TO_TILDE),
    "gb18030": ("GB18030", 4, _DIGITS + _FROM_AT_TO_TILDE),
    "shift_jis": ("Shift_JIS", 2, _FROM_AT_TO_TILDE),
    "cp932": ("windows-31j", 2, _FROM_AT_TO_TILDE),
    "euc_kr": ("EUC-KR", 8, b""),  # a syllable may be written by its parts
    "cp949": ("x-windows-949", 2, _LETTERS),
    "big5": ("Big5", 2, _FROM_AT_TO_TILDE),
    "cp950": ("x-windows-950", 2, _FROM_AT_TO_TILDE),
    "big5hkscs": ("Big5-HKSCS", 2, _FROM_AT_TO_TILDE),
}
_ONLY_JAVA_KNOWS = {
    "windows-31j": "cp932", "x-sjis": "shift_jis", "x-windows-949": "cp949", "windows-949": "cp949",
    "x-windows-950": "cp950", "x-mswin-936": "gbk", "windows-936": "gbk", "x-euc-cn": "gb2312",
}  # fmt: skip


_ORDERS: tuple[Literal["little"], Literal["big"]] = ("little", "big")


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
        longest_bytes: Most bytes that the codec looks at for one character, where a byte alone does not tell whether it
            begins one; else 1.
        inside: ASCII bytes that may be a later byte of a character.
    """

    name: str
    codec: str
    unit_bytes: int = 1
    big_endian: bool = False
    bom: bytes = b""
    needs_bom_detection: bool = False
    longest_bytes: int = 1
    inside: bytes = b""

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
            raise bad_option(
                f"text cannot be written in encoding {self.name}",
                repr(text),
                "use characters of the file's encoding, or set option encoding to the right one",
            ) from error

    def text(self, data: bytes) -> str:
        r"""The text of a record. What is no text becomes U+FFFD, and never takes a mark with it.

        A record that ends inside a character is read as if line feeds followed: codecs that look further ahead would
        replace all that is left at once, a closing quote too.

        Example:
            >>> resolve_encoding("GB18030").text(b'"\x81\x30"')
            '"�0"'
        """
        if self.longest_bytes == 1:
            return data.decode(self.codec, "replace")
        return (data + b"\n" * self.longest_bytes).decode(self.codec, "replace")[: -self.longest_bytes]

    def tells_apart(self, mark: bytes) -> bool:
        r"""True if a mark is never found inside a character: then so is not what begins with it.

        Example:
            >>> gbk = resolve_encoding("GBK")
            >>> gbk.tells_apart(b","), gbk.tells_apart(b"|"), gbk.tells_apart(b",|")
            (True, False, True)
        """
        return self.longest_bytes == 1 or (mark[0] < 0x80 and mark[0] not in self.inside)

    def check_mark(self, option: str, mark: bytes | None) -> None:
        """Refuse what an option makes a mark that may be found inside a character.

        Raises:
            UsageError: If it may be.
        """
        if mark and not self.tells_apart(mark):
            raise bad_option(
                f"option {option} must not be, or begin with, what may be part of another character of {self.name}",
                repr(mark),
                f"choose another {option} (comma, semicolon, tab, quotes and line ends are safe; as escape, the "
                "quote itself or none), or convert the file to UTF-8",
            )

    def units(self, data: bytes) -> tuple[int, ...]:
        r"""The code units that *data* consists of, independent of byte order.

        Example:
            >>> resolve_encoding("UTF-16LE").units(b"a\x00b\x00")
            (97, 98)
        """
        width, order = self.unit_bytes, _ORDERS[self.big_endian]
        return tuple([int.from_bytes(data[i : i + width], order) for i in range(0, len(data), width)])

    def symbol(self, mark: str | None) -> int | None:
        """A mark as one number: its code unit, or more than any is where it has several; ``None`` without one."""
        return None if mark is None else int.from_bytes(self.encode(mark), _ORDERS[self.big_endian])

    def writes_in_one_way(self, character: str) -> bool:
        r"""True if a character stands for nothing else in a file: neither other bytes, nor what is no text.

        Example:
            >>> utf_8 = resolve_encoding("UTF-8")
            >>> utf_8.writes_in_one_way("«"), utf_8.writes_in_one_way("\ufffd")
            (True, False)
        """
        all_bytes = bytes(range(256)).decode(self.codec, "replace") if self.unit_bytes == 1 else ""
        return character != "\ufffd" and all_bytes.count(character) <= 1

    def write_units(self, units: tuple[int, ...]) -> bytes:
        """The bytes of code units in this encoding's byte order: the inverse of :meth:`units`."""
        return b"".join(unit.to_bytes(self.unit_bytes, _ORDERS[self.big_endian]) for unit in units)


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
    """Find the encoding that a user means, in any spelling that Java or Python knows, in any case.

    Returns:
        The encoding. For ``UTF-16`` and ``UTF-32`` without a byte order, :func:`detect_bom` completes it per file.

    Raises:
        UsageError: If there is no such encoding, or it cannot be read from the middle of a file.

    Example:
        >>> resolve_encoding("utf8").name, resolve_encoding("Windows-1252").codec
        ('UTF-8', 'cp1252')
    """
    try:
        codec = codecs.lookup(_ONLY_JAVA_KNOWS.get(name.lower().replace("_", "-"), name)).name
    except (LookupError, ValueError) as error:  # ValueError: a null character in the name
        raise _refuse(name) from error
    plain = codec.replace("_", "-")
    if plain in _UNICODE:
        return _UNICODE[plain]
    if plain in SINGLE_BYTE_CODECS:
        return Encoding(_display_name(plain), codec)
    if codec in MULTI_BYTE_CODECS:
        shown, longest_bytes, inside = MULTI_BYTE_CODECS[codec]
        return Encoding(shown, codec, longest_bytes=longest_bytes, inside=inside)
    raise _refuse(name)


def detect_bom(head: bytes, encoding: Encoding) -> tuple[Encoding, int]:
    r"""Complete an encoding with what the first bytes of a file say.

    A byte order mark decides the byte order where *encoding* leaves it open; where *encoding* states one, only the
    mark of that byte order is recognised.

    *head* is the file's first :data:`MAX_BOM_BYTES` bytes, or all of it when it is shorter.

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
    """True if a block that starts at *start* must know if the file has a byte order mark."""
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
    return bad_option(
        "option encoding names no encoding that can be read in parallel",
        repr(name),
        "use UTF-8, US-ASCII, ISO-8859-1 to -16, windows-1250 to -1258, another single-byte encoding that extends "
        "ASCII (KOI8-R, IBM850 ...), GB2312, GBK, GB18030, Shift_JIS, windows-31j, EUC-KR, Big5, UTF-16, UTF-16LE, "
        "UTF-16BE, UTF-32, UTF-32LE or UTF-32BE; convert others first",
    )


# ---------------------------------------------------------------- tables of characters of several bytes


_NOTHING, _REPLACEMENT = "\0", "\ufffd"
_LEADS, _TRAILS, _DECIMALS = range(0x80, 0x100), range(0x21, 0x100), range(0x30, 0x3A)
_BEYOND = range(0x81, 0xFF)  # first and third of four bytes
_MOST_OF_FOUR = 39_420  # so many numbers of four bytes are of the first plane; later ones are counted from U+10000 on
_PARTS = range(0xA1, 0xD5)  # second bytes of the parts of a syllable


@lru_cache(maxsize=16)
def code_tables(encoding: Encoding) -> dict[str, Any]:
    """The characters of bytes beyond ASCII, by their number of bytes: JSON values, as the kernel is told them."""
    one = [text if text != _REPLACEMENT else _NOTHING for text in _texts(encoding, (bytes([lead]) for lead in _LEADS))]
    two, pairs = [], []
    for lead in (lead for lead, text in zip(_LEADS, one, strict=True) if text == _NOTHING):
        texts = list(_texts(encoding, (bytes([lead, trail]) for trail in _TRAILS)))
        known = [_NOTHING if text[0] == _REPLACEMENT else text for text in texts]
        pairs += [(lead, trail, text) for trail, text in zip(_TRAILS, known, strict=True) if len(text) > 1]
        if set(known) != {_NOTHING}:
            two.append((lead, "".join(text if len(text) == 1 else _NOTHING for text in known)))
    four = "".join(_single(text) for text in _texts(encoding, _four())) if encoding.longest_bytes == 4 else ""
    eight = list(_eight(encoding)) if encoding.longest_bytes == 8 else []
    return {"one": "".join(one), "two": two, "pairs": pairs, "four": four, "eight": eight}


def _four() -> Iterator[bytes]:
    """Sequences of four bytes by number, of the first plane."""
    for number in range(_MOST_OF_FOUR):
        rest, last = divmod(number, len(_DECIMALS))
        rest, third = divmod(rest, len(_BEYOND))
        first, second = divmod(rest, len(_DECIMALS))
        yield bytes([_BEYOND[first], _DECIMALS[second], _BEYOND[third], _DECIMALS[last]])


def _eight(encoding: Encoding) -> Iterator[tuple[list[int], int, str]]:
    """Syllables that are written by their parts: the bytes before the last one, its first value, characters."""
    for lead in _PARTS:
        for vowel in _PARTS:
            before = bytes([0xA4, 0xD4, 0xA4, lead, 0xA4, vowel, 0xA4])
            texts = _texts(encoding, (before + bytes([last]) for last in _PARTS))
            characters = "".join(_NOTHING if _REPLACEMENT in text else text for text in texts)
            if set(characters) != {_NOTHING}:
                yield list(before), _PARTS.start, characters


def _single(text: str) -> str:
    """The text, if it is one character; U+FFFD may be one."""
    return text if len(text) == 1 else _NOTHING


def _texts(encoding: Encoding, sequences: Iterable[bytes]) -> Iterator[str]:
    """The text of each of some bytes; what is no text in them takes nothing of what follows."""
    after = "\n" * encoding.longest_bytes
    data = b"".join(sequence + after.encode("ascii") for sequence in sequences)
    return iter(data.decode(encoding.codec, "replace").split(after)[:-1])


# ---------------------------------------------------------------- what is no text


LOOKED_AT_BYTES = 4096
"""How much of the beginning of a file is looked at."""

_CONTROLS = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # without white space and escape; others are read of UTF-8
_SEPARATORS = frozenset("\0\1\2\3\x1c\x1d\x1e\x1f")
_NO_CHARACTER = "\ufffd"
_NO_CHARACTER_CATEGORIES = frozenset({"Cn", "Co", "Cs"})  # unassigned, for private use, half of a character
_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

_LEAST_CHARACTERS = 8  # of which anything can be said
_LEAST_KINDS = 3  # of control characters that separate nothing
_ODD_SHARE, _SEPARATING_SHARE, _INVALID_SHARE, _NUL_SHARE = 24, 4, 8, 4  # one in so many characters


def is_no_text(head: bytes, encoding: Encoding) -> bool:
    r"""True if the beginning of a file is certainly no text: one rule for every format whose records are.

    Compressed, encrypted and binary data are full of control characters of all kinds; text has a few, and always the
    same: separators of columns and records (NUL, U+0001 to U+0003, U+001C to U+001F), the bell of a terminal, a form
    feed. Characters that an encoding does not have are no proof alone: files are often read in another encoding than
    their own.

    Example:
        >>> import zlib
        >>> utf_8 = resolve_encoding("UTF-8")
        >>> is_no_text(zlib.compress(b"id,name\n1,Ann\n"), utf_8), is_no_text("id,naïve\n".encode("latin-1"), utf_8)
        (True, False)
    """
    head = head[:LOOKED_AT_BYTES]
    if head.isascii() and not _CONTROLS.search(head.decode("ascii")):
        return False
    mark = next((mark for mark in _MARKS if head.startswith(mark)), None)
    told, start = detect_bom(head, encoding if mark is None else resolve_encoding(_MARKS[mark]))
    text = told.text(head[start : len(head) - (len(head) - start) % told.unit_bytes])
    if len(text) < _LEAST_CHARACTERS:
        return False
    controls = Counter(_CONTROLS.findall(text))
    if told.unit_bytes > 1:
        strange = Counter(filter(_is_no_character, text))
        return strange[_NO_CHARACTER] * _INVALID_SHARE >= len(text) or _is_odd(text, controls + strange)
    return _is_odd(text, controls) or _is_binary(text, controls)


def _is_odd(text: str, found: Mapping[str, int]) -> bool:
    """True if there are too many characters of several kinds that separate nothing."""
    odd = {character: count for character, count in found.items() if character not in _SEPARATORS}
    return len(odd) >= _LEAST_KINDS and sum(odd.values()) * _ODD_SHARE >= len(text)


def _is_binary(text: str, controls: Mapping[str, int]) -> bool:
    """True if several kinds of control characters stand among zeros, or among bytes that are no characters."""
    if len(controls) < 2:
        return False
    invalid = text.count(_NO_CHARACTER)
    is_packed = invalid * _INVALID_SHARE >= len(text) <= (invalid + sum(controls.values())) * _SEPARATING_SHARE
    return is_packed or controls.get("\0", 0) * _NUL_SHARE >= len(text)


def _is_no_character(character: str) -> bool:
    return character == _NO_CHARACTER or unicodedata.category(character) in _NO_CHARACTER_CATEGORIES
