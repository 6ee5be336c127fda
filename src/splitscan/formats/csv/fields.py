"""The fields of one CSV record: the definition of where each is, and of what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from splitscan.formats.csv.dialect import Dialect, overlaps

_BLANKS = bytes(range(0x21))


@dataclass(frozen=True, slots=True)
class _Patterns:
    field: re.Pattern[bytes]
    sep: bytes


@lru_cache(maxsize=64)
def _patterns(dialect: Dialect) -> _Patterns:
    """The grammar of a field (single-byte units only)."""
    sep = dialect.encoding.encode(dialect.sep)
    delimiters = _delimiters(dialect, sep)
    plain = rb"(?:(?!" + delimiters + rb")[\s\S])*+"
    if dialect.quote is None:
        return _Patterns(re.compile(rb"(?P<plain>" + plain + rb")"), sep)
    quote = re.escape(dialect.encoding.encode(dialect.quote))
    start = rb"(?:(?!" + delimiters + rb")[\x00-\x20])*+" if dialect.trim_leading else b""
    start += quote
    closed = start + rb"(?P<body>" + _quoted_body(dialect, quote) + rb")" + quote + rb"(?P<junk>" + plain + rb")"
    # a field whose quote never closes is no plain one: a quote at its start forbids that
    return _Patterns(re.compile(rb"(?:" + closed + rb"|(?P<plain>(?!" + start + rb")" + plain + rb"))"), sep)


def _delimiters(dialect: Dialect, sep: bytes) -> bytes:
    """A separator in which no terminator begins, or a terminator."""
    line_sep = b"" if dialect.line_sep is None else dialect.encoding.encode(dialect.line_sep)
    inside = b"".join(rb"(?!" + re.escape(line_sep[k:]) + rb")" for k in overlaps(tuple(sep), tuple(line_sep)))
    terminator = rb"\r\n|\n|\r" if dialect.line_sep is None else re.escape(line_sep)
    return re.escape(sep) + inside + rb"|" + terminator


def _quoted_body(dialect: Dialect, quote: bytes) -> bytes:
    if dialect.doubled:
        return rb"[^" + quote + rb"]*+(?:" + quote * 2 + rb"[^" + quote + rb"]*+)*+"
    if dialect.escape is None:
        return rb"[^" + quote + rb"]*+"
    escape = re.escape(dialect.encoding.encode(dialect.escape))
    other = rb"[^" + quote + escape + rb"]*+"
    return other + rb"(?:" + escape + rb"[\s\S]" + other + rb")*+"


def split_fields(record: bytes, dialect: Dialect) -> list[tuple[bytes, bool]]:
    """Split one record's content into fields: the value's bytes, and whether it was quoted.

    Doubled quotes and escapes in quoted fields are resolved. Where a quote is not escaped by another, the last of
    several at the end of a field closes it, and the others are data. A quoted field with something else after its
    closing quote (other than white space) is returned as it stands, quotes included, as not quoted. An unclosed one
    is everything after its opening quote.

    Example:
        >>> from splitscan.formats.framing.encodings import resolve_encoding
        >>> split_fields(b'1,"x y",', Dialect(resolve_encoding("UTF-8")))
        [(b'1', False), (b'x y', True), (b'', False)]
        >>> split_fields(b'"x"" ,"x"y"', Dialect(resolve_encoding("UTF-8")))
        [(b'x"', True), (b'"x"y"', False)]
    """
    compiled = _patterns(dialect)
    fields: list[tuple[bytes, bool]] = []
    position = 0
    while True:
        match = compiled.field.match(record, position)
        if match is None:  # a quote that never closes
            opening = record.index(dialect.encoding.encode(dialect.quote or ""), position)
            fields.append((unescape(record[opening + 1 :], dialect), True))
            return fields
        fields.append(_value(match, dialect))
        position = match.end()
        if position >= len(record) or not record.startswith(compiled.sep, position):
            return fields
        position += len(compiled.sep)


def _value(match: re.Match[bytes], dialect: Dialect) -> tuple[bytes, bool]:
    if match.group("plain") is not None:
        return match.group(), False
    quote = dialect.encoding.encode(dialect.quote or "")
    junk = match.group("junk").rstrip(_BLANKS)
    if junk.lstrip(_BLANKS) and junk.strip(quote):
        return match.group(), False
    return unescape(match.group("body"), dialect) + junk.lstrip(_BLANKS), True


def unescape(body: bytes, dialect: Dialect) -> bytes:
    """Resolve doubled quotes and escapes of a quoted field's content.

    An escape in front of the quote or of another escape disappears; in front of anything else it is data.
    """
    quote = dialect.encoding.encode(dialect.quote or "")
    if dialect.doubled:
        return body.replace(quote * 2, quote)
    if dialect.escape is None:
        return body
    escape = dialect.encoding.encode(dialect.escape)
    return re.sub(re.escape(escape) + rb"([" + re.escape(quote + escape) + rb"])", rb"\1", body)
