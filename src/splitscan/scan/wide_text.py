"""Text of two or four bytes for each character, told from text of single bytes by how it begins."""

from __future__ import annotations

import codecs

from splitscan.formats.contract import Contradiction
from splitscan.formats.csv.sniffing.found import wide_without_mark

_SHOWN_BYTES = 16
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def advice_on_encoding(head: bytes, encoding: str) -> str | None:
    """Advice about bytes that are no text of one byte for a character."""
    wanted = wide_encoding(head, encoding)
    if wanted is None:
        return None
    if _marked(head) is not None:
        return f"begins with the mark of {wanted}: it probably wants option encoding={wanted}"
    return f"has many bytes that are zero: it is no text in {encoding}, and perhaps wants option encoding={wanted}"


def wide_encoding(head: bytes, encoding: str) -> str | None:
    """The encoding of bytes that are no text of one byte for a character, if *encoding* is one; else ``None``."""
    if _is_wide(encoding):
        return None
    return _marked(head) or (wide_without_mark(head) if 0 in head else None)


def _marked(head: bytes) -> str | None:
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def misread(wanted: str, encoding: str, head: bytes) -> Contradiction:
    """The contradiction of text that is in one encoding and would be read as another."""
    return Contradiction(
        f"the file is text in {wanted}, and would be read as {encoding}",
        repr(head[:_SHOWN_BYTES]),
        {"encoding": wanted},
        f"set encoding={wanted} (on the command line -o encoding={wanted}); or encoding={encoding} to read it like "
        "this all the same",
    )


def _is_wide(encoding: str) -> bool:
    return encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf16", "utf32"))


def lenient(encoding: str) -> str:
    """The encoding in which a sample is looked at: no byte of it is wrong."""
    return encoding if _is_wide(encoding) else "latin-1"
