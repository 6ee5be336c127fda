"""The encoding that the XML declaration of a file names."""

from __future__ import annotations

import re

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import Need
from splitscan.formats.framing.encodings import Encoding, resolve_encoding

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
