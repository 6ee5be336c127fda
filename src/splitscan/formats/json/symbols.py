"""Symbols of JSON, and strings as they are meant."""

from __future__ import annotations

import re

QUOTE, BACKSLASH, BRACE, BRACKET, END_OF_ARRAY = (ord(symbol) for symbol in '"\\{[]')
OPENERS = frozenset(b"{[")
CLOSERS = frozenset(b"}]")
SPACE = frozenset(b" \t\r\n")
BLANKS = b" \t"
BEFORE_BRACE = frozenset(b"[,:")
"""What may stand before an opening brace inside a value."""

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SURROGATE = re.compile(r"[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
_NAMED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def unescape(text: str) -> str:
    """The text that is meant by what is between the quotes of a string."""
    plain = _ESCAPE.sub(_replacement, text)
    return _SURROGATE.sub(_join, plain)


def _replacement(found: re.Match[str]) -> str:
    escaped = found.group(1)
    return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _NAMED.get(escaped, escaped)


def _join(found: re.Match[str]) -> str:
    """A pair of surrogates as one character; a lone one as U+FFFD."""
    pair = found.group()
    return pair.encode("utf-16", "surrogatepass").decode("utf-16") if len(pair) == 2 else "\ufffd"
