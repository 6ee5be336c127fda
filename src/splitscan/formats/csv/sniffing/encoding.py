"""Which character set samples of a file are in: what they prove, and nothing that is a guess."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from splitscan.formats.csv.sniffing.found import Confidence, Setting


@dataclass(frozen=True, slots=True)
class RawSample:
    """A part of a file.

    Attributes:
        data: Its bytes.
        offset: Where in the file it begins.
        is_end: Whether the file ends with it.
    """

    data: bytes
    offset: int
    is_end: bool


_MARKS = (  # the longer ones first: one begins with another
    (codecs.BOM_UTF32_LE, "UTF-32"), (codecs.BOM_UTF32_BE, "UTF-32"), (codecs.BOM_UTF8, "UTF-8"),
    (codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"),
)  # fmt: skip
_ZERO_SHARE = 10  # one byte in so many is zero: text of two bytes for a character
_OTHERS = ("windows-1252", "GB18030", "Shift_JIS", "EUC-KR", "Big5", "windows-1251", "ISO-8859-1")
_LONGEST_BYTES = 4  # of a character


def find_encoding(samples: Sequence[RawSample]) -> Setting | None:
    """The character set of a file.

    Args:
        samples: Its beginning first, then parts that may begin and end inside a character.

    Returns:
        The setting; ``None`` if no mark says it, and the bytes are no UTF-8 and no UTF-16.
    """
    head = samples[0].data if samples else b""
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked is not None:
        return Setting(marked, Confidence.CERTAIN, "a byte order mark")
    if head and head.count(0) * _ZERO_SHARE >= len(head):
        low, high = head[0::2].count(0), head[1::2].count(0)
        name = "UTF-16LE" if high > low else "UTF-16BE"
        return Setting(name, Confidence.LIKELY, f"{head.count(0)} zero bytes in the first {len(head)}")
    if all(part.data.isascii() for part in samples):
        return Setting("UTF-8", Confidence.ASSUMED, "nothing but ASCII")
    if all(decodes(part, "utf-8") for part in samples):
        return Setting("UTF-8", Confidence.CERTAIN, "all bytes are valid UTF-8, and not only ASCII")
    return None


def encodings_that_decode(samples: Sequence[RawSample]) -> list[str]:
    """Character sets other than Unicode's that all samples could be in; which one it is they do not tell."""
    return [name for name in _OTHERS if all(decodes(part, name) for part in samples)]


def decodes(part: RawSample, encoding: str) -> bool:
    """Whether bytes are text, but for a character that is cut where the file goes on."""
    for first in range(_LONGEST_BYTES if part.offset else 1):
        for last in range(1 if part.is_end else _LONGEST_BYTES):
            try:
                part.data[first : len(part.data) - last].decode(encoding)
            except UnicodeDecodeError:
                continue
            return True
    return False
