"""How the values of items are written: in code pages of mainframes, and as numbers."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, NamedTuple

from splitscan.formats.cobol.nodes import Leaf, Pieces
from splitscan.formats.framing.encodings import SINGLE_BYTE_CODECS
from splitscan.formats.framing.frames import Buffer
from splitscan.options.table import ValueRefusedError

# ---------------------------------------------------------------- code pages


_PYTHON = ("cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140")
_OTHERS = {
    "cp277": ("cp500", "474a5a5b676a707b7c809c9e9fa1c0d0dc", "}#¤Å$ø¦ÆØ@{[]üæå~"),
    "cp280": ("cp500", "44484a5154585a6a797b7c90a1b1b5c0cdd0dde0", "{\\°]}~éòù£§[ì#@à¦è`ç"),
    "cp284": ("cp500", "494f5f696a7ba1babbbd", "¦|¬#ñÑ¨^!~"),
    "cp285": ("cp037", "4a5ba1b0b1babc", "$£¯¢[^~"),
    "cp297": ("cp500", "44484a51545a6a797b7c90a0a1b1b5bdc0d0dde0", "@\\°{}§ùµ£à[`¨#]~éè¦ç"),
    "cp871": ("cp500", "4a5a5f797c8c8e9c9ea1acaebec0ccd0e0ec", "ÞÆÖðÐ`{}]ö@[\\þ~æ´^"),  # noqa: RUF001 - as the page has it
    "cp1143": ("cp273", "474a51595a5b636771797b7c9fa1b5bcd0dce0ecfc", "}§`ß€Å#$\\éÄÖ]ü[¯å~É@Ü"),
    "cp1047": ("cp037", "5fadb0babbbd", "^[¬Ý¨]"),
}
"""Pages that Python does not know: which one they are like, the bytes that are other characters, and those."""
_EURO = {
    "cp1141": "cp273", "cp1142": "cp277", "cp1144": "cp280", "cp1145": "cp284", "cp1146": "cp285",
    "cp1147": "cp297", "cp1148": "cp500", "cp1149": "cp871",
}  # fmt: skip
"""Pages with the euro sign in place of the currency sign of others."""

SKIPPED, PLUS, MINUS, POINT, POSITIVE, NEGATIVE, NO_DIGIT = 10, 11, 12, 13, 16, 32, 255
"""Meaning of a byte in a number: 0 to 9 are digits, :data:`POSITIVE` and :data:`NEGATIVE` plus a digit one that has a
sign too."""


class CodePage(NamedTuple):
    """How texts and numbers are written.

    Attributes:
        characters: The character of each byte.
        digits: The meaning of each byte in a number.
        signs_inside: Whether any digit may have the sign; else the first or the last one.
    """

    name: str
    characters: str
    digits: bytes
    signs_inside: bool


@cache
def code_page(name: str) -> CodePage:
    """The code page of a name, as Java and Python spell it: ``cp037``, ``IBM1047``, ``ASCII``.

    Raises:
        ValueRefusedError: If it is not known.

    Example:
        >>> code_page("IBM500").characters[0xC1], code_page("ascii").digits[ord("7")]
        ('A', 7)
    """
    plain = name.lower().replace("_", "-").removeprefix("ibm").removeprefix("-").removeprefix("cp")
    ebcdic = f"cp{plain.zfill(3)}"
    if ebcdic in {*_PYTHON, *_OTHERS, *_EURO}:
        return CodePage(ebcdic, _characters(ebcdic), _ebcdic_digits(), signs_inside=True)
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        codec = ""
    if codec != "ascii" and codec.replace("_", "-") not in SINGLE_BYTE_CODECS:
        raise ValueRefusedError(
            f"use {', '.join((*_PYTHON, *_OTHERS, *_EURO))}, ASCII, or a single-byte encoding that extends ASCII"
        )
    return CodePage(codec, bytes(range(256)).decode(codec, "replace"), _ascii_digits(), signs_inside=False)


def _characters(page: str) -> str:
    """The character of each byte of a page of EBCDIC."""
    if page in _EURO:
        return _characters(_EURO[page]).replace("¤", "€")
    like, places, others = _OTHERS.get(page, (page, "", ""))
    characters = list(bytes(range(256)).decode(like, "replace"))
    for place, character in zip(bytes.fromhex(places), others, strict=True):
        characters[place] = character
    return "".join(characters)


def _meanings(
    digits: bytes, positive: bytes, negative: bytes, plus: bytes, minus: bytes, point: bytes, skipped: bytes
) -> bytes:
    """The meaning of each byte, from those that have one."""
    table = bytearray([NO_DIGIT]) * 256
    for first, written in ((0, digits), (POSITIVE, positive), (NEGATIVE, negative)):
        for number, byte in enumerate(written):
            table[byte] = first + number
    for meaning, written in ((PLUS, plus), (MINUS, minus), (POINT, point), (SKIPPED, skipped)):
        for byte in written:
            table[byte] = meaning
    return bytes(table)


def _ebcdic_digits() -> bytes:
    digits, positive, negative = (bytes(range(first, first + 10)) for first in (0xF0, 0xC0, 0xD0))
    return _meanings(digits, positive, negative, b"\x4e", b"\x60", b"\x4b", b"\x00\x40")


def _ascii_digits() -> bytes:
    return _meanings(b"0123456789", b"{ABCDEFGHI", b"}JKLMNOPQR", b"+", b"-", b".", b"\x00 ")


# ---------------------------------------------------------------- values


_BLANKS = "".join(map(chr, range(0x21)))
_ZONED = re.compile(r" *([+-]?) *([0-9A-Ja-j]*\.?[0-9A-Ja-j]*) *([+-]?) *")
_LETTERS = bytes(
    ord({SKIPPED: " ", PLUS: "+", MINUS: "-", POINT: "."}.get(meaning, "?"))
    if not (meaning < SKIPPED or POSITIVE <= meaning < POSITIVE + 10 or NEGATIVE <= meaning < NEGATIVE + 10)
    else ord("0" if meaning < SKIPPED else "A" if meaning < NEGATIVE else "a") + meaning % POSITIVE
    for meaning in range(256)
)
"""A letter for each meaning: digits, those with a plus as A to J, those with a minus as a to j."""
_DIGITS = str.maketrans("ABCDEFGHIJabcdefghij", "01234567890123456789")
_MINUS_NIBBLE, _PLUS_NIBBLES = 0xD, {0xC, 0xF}


class NoValueError(Exception):
    """Bytes are no value of their item."""


@dataclass(frozen=True, slots=True)
class Notation:
    """How values are written."""

    page: CodePage
    trim_left: bool
    trim_right: bool
    zeros_are_null: bool
    signs_anywhere: bool

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "page"}
        page = self.page._asdict() | {"digits": list(self.page.digits)}
        return own | {name: page[name] for name in ("characters", "digits", "signs_inside")}

    def number(self, leaf: Leaf, data: bytes) -> int | None:
        """A number as its digits say it; ``None`` where there is none.

        Raises:
            NoValueError: If the bytes are none.
        """
        if len(data) < leaf.size:
            raise NoValueError
        return {"zoned": self._zoned, "packed": self._packed}.get(leaf.coding, _binary)(leaf, data)

    def text(self, leaf: Leaf, data: bytes) -> str | bytes | None:
        """A text, or bytes."""
        if leaf.coding == "bytes":
            return data
        if self.zeros_are_null and not any(data):
            return None
        characters = self.page.characters
        text = (
            data.decode("utf-16-be", "replace") if leaf.coding == "national" else "".join(characters[i] for i in data)
        )
        text = text.lstrip(_BLANKS) if self.trim_left else text
        return text.rstrip(_BLANKS) if self.trim_right else text

    def _zoned(self, leaf: Leaf, data: bytes) -> int | None:
        """A number of which each digit is a byte."""
        found = _ZONED.fullmatch(data.translate(self.page.digits).translate(_LETTERS).decode("ascii"))
        if found is None:
            raise NoValueError
        before, digits, after = found.groups()
        zones = [letter for letter in digits if letter.isalpha()]
        signs = [*before, *after, *zones]
        if digits == "" and not signs:
            return None
        plain = digits.translate(_DIGITS)
        whole, point, decimals = plain.partition(".")
        negative = any(sign in "-abcdefghij" for sign in signs)
        is_refused = negative or before or after or not self.signs_anywhere
        if len(signs) > 1 or (signs and not leaf.signed and is_refused) or not whole + decimals:
            raise NoValueError
        if zones and not self.page.signs_inside and not (digits[0].isalpha() or digits[-1].isalpha()):
            raise NoValueError
        if (point and not leaf.option) or len(decimals) > leaf.scale:
            raise NoValueError
        value = int(whole + decimals) * (10 ** (leaf.scale - len(decimals)) if leaf.option else 1)
        return -value if negative else value

    def _packed(self, leaf: Leaf, data: bytes) -> int:
        """A number of which each digit is half a byte."""
        nibbles = [nibble for byte in data for nibble in (byte >> 4, byte & 15)]
        sign = 0xF if leaf.option else nibbles.pop()
        negative = sign == _MINUS_NIBBLE
        if any(nibble > 9 for nibble in nibbles) or (negative and not leaf.signed):
            raise NoValueError
        if not negative and sign not in _PLUS_NIBBLES:
            raise NoValueError
        value = int("".join(map(str, nibbles)))
        return -value if negative else value

    def key(self, leaf: Leaf, data: bytes) -> str | None:
        """The text that an item is compared by; ``None`` without one."""
        if leaf.coding in {"text", "national"}:
            found = replace(self, trim_left=True, trim_right=True, zeros_are_null=True).text(leaf, data)
            return None if found is None else str(found)
        try:
            number = self.number(leaf, data)
        except NoValueError:
            return None
        return None if number is None else str(number)

    def items(self, leaf: Leaf, counts: tuple[tuple[str, int], ...] | None, data: bytes) -> int | None:
        """The number of items of a list that an item says, as it is or by its text; ``None`` if it says none."""
        key = self.key(leaf, data)
        if counts is not None:
            return dict(reversed(counts)).get(key) if key is not None else None
        return int(key) if key is not None and key.isdecimal() else None


class Expanded(NamedTuple):
    """A record in which lists have room for all items.

    Attributes:
        data: Its bytes, as far as there are some.
        used: How many bytes it has in the file; ``None`` if it does not end in them.
        is_uncounted: Whether that is because nothing says how many items a list has.
    """

    data: bytes
    used: int | None
    is_uncounted: bool = False


def expand(pieces: Pieces, notation: Notation, data: Buffer) -> Expanded:
    """Read a record whose lists have only the items that there are."""
    source = memoryview(data)
    made = bytearray()
    used = 0

    def take(pieces: Pieces, bases: tuple[int, ...]) -> bool | None:
        """True if they are all there; ``None`` where nothing says how many items a list has."""
        nonlocal used
        for piece in pieces:
            if isinstance(piece, int):
                part = source[used : used + piece]
                made.extend(part)
                used += len(part)
                if len(part) < piece:
                    return False
                continue
            items: int | None = piece.most
            if (counter := piece.counter) is not None:
                start = bases[piece.level] + counter.at
                items = notation.items(counter, piece.counts, bytes(made[start : start + counter.size]))
            if items is None or not piece.least <= items <= piece.most:
                return None
            end = len(made) + piece.most * piece.stride
            for _ in range(items):
                if not (found := take(piece.pieces, (*bases, len(made)))):
                    return found
            made.extend(bytes(end - len(made)))
        return True

    found = take(pieces, (0,))
    return Expanded(bytes(made), used if found else None, found is None)


def _binary(leaf: Leaf, data: bytes) -> int:
    """A number in binary."""
    return int.from_bytes(data, "little" if leaf.option else "big", signed=leaf.signed)


@dataclass(frozen=True, slots=True)
class Segments:
    """Which records are read."""

    start: int
    leaf: Leaf
    ids: tuple[str, ...]
    notation: Notation

    @property
    def stop(self) -> int:
        """Bytes of a record that tell its kind."""
        return self.start + self.leaf.at + self.leaf.size

    def has(self, record: bytes) -> bool:
        """True if a record is read."""
        return self.key(record) in self.ids

    def key(self, record: bytes) -> str | None:
        """The text of the item in a record."""
        start = self.start + self.leaf.at
        return self.notation.key(self.leaf, record[start : start + self.leaf.size])

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        leaf = self.leaf.spelled()["leaf"]
        return {"start": self.start, "leaf": leaf, "ids": self.ids, "notation": self.notation.spelled()}
