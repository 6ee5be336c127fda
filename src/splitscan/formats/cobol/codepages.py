"""Code pages of mainframes, and what their bytes are in numbers."""

from __future__ import annotations

import codecs
from functools import cache
from typing import NamedTuple

from splitscan.formats.framing.encodings import SINGLE_BYTE_CODECS
from splitscan.options.table import ValueRefusedError

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
