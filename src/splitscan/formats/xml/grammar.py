"""What decides where XML records begin and end: marks, and the state between them.

Outside of comments, CDATA, processing instructions and tags, an opening row tag begins a record, and the closing row
tag that matches it ends it; row tags inside are counted. A tag ends at ``>`` or, broken, before ``<``. A value in
quotes may hold both. Inside a record it ends at the closing row tag too, so that a quote that nobody closes costs one
record. A closing row tag that no opening one belongs to is a record that a decoder refuses. A declaration that opens a
bracket (the internal subset of a DOCTYPE) ends there: what it declares is read as further declarations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

UNFINISHED_RECORD = "unfinished-record"

SPACE = b" \t\r\n"
COMMENT, CDATA, INSTRUCTION = b"<!--", b"<![CDATA[", b"<?"
ENDS = {COMMENT: b"-->", CDATA: b"]]>", INSTRUCTION: b"?>"}
"""What ends whatever these begin."""

NAME_START = re.compile(rb"[A-Za-z_:\x80-\xff]")


@dataclass(frozen=True, slots=True)
class Marks:
    """Patterns of one row tag.

    Attributes:
        text: The next mark outside of everything: groups ``undecided`` (the bytes end inside a mark), ``inside``
            (comment, CDATA, instruction), ``close``, ``open``, ``declaration`` and ``tag`` (one with quotes).
        opening: An opening row tag.
        closing: The closing row tag without white space.
        outside: The rest of a tag outside of records.
        inside: The rest of a tag inside a record.
        declaration: The rest of a declaration.
        declaration_inside: The same inside a record.
    """

    text: re.Pattern[bytes]
    opening: re.Pattern[bytes]
    closing: bytes
    outside: re.Pattern[bytes]
    inside: re.Pattern[bytes]
    declaration: re.Pattern[bytes]
    declaration_inside: re.Pattern[bytes]


@lru_cache(maxsize=64)
def marks_of(tag: bytes) -> Marks:
    """The patterns of a row tag."""
    row = re.escape(tag)
    partial = {mark[:size] for mark in (COMMENT, CDATA, b"<" + tag, b"</" + tag) for size in range(1, len(mark) + 1)}
    partial -= {COMMENT, CDATA}
    undecided = b"|".join(re.escape(mark) for mark in sorted(partial, key=len, reverse=True))
    spaced = b"</" + row + b"[ \\t\\r\\n]+"
    text = (
        b"(?P<undecided>(?:" + undecided + b"|" + spaced + b")\\Z)"
        b"|(?P<inside><!--|<!\\[CDATA\\[|<\\?)"
        b"|(?P<close></" + row + b"[ \\t\\r\\n]*>)"
        b"|(?P<open><" + row + b"(?=[ \\t\\r\\n/>]))"
        b"|(?P<declaration><!)"
        b"|(?P<tag><(?=[A-Za-z_:\\x80-\\xff])[^<>\"']*+(?:[\"']|\\Z))"
    )
    closing = b"</" + tag + b">"
    return Marks(
        re.compile(text),
        re.compile(b"<" + row + b"(?=[ \\t\\r\\n/>])"),
        closing,
        _rest(b"<>\"'", None),
        _rest(b"<>\"'", closing),
        _rest(b"<>\"'\\[", None),
        _rest(b"<>\"'\\[", closing),
    )


def _rest(ends: bytes, closing: bytes | None) -> re.Pattern[bytes]:
    """All of a tag up to what ends it, its quoted values whole; none that holds *closing*."""
    plain = b"[^" + ends + b"]*+"
    quoted = [
        quote + (b"[^" + quote + b"]*+" if closing is None else
                 b"(?:[^<" + quote + b"]++|<(?!" + re.escape(closing[1:]) + b"))*+") + quote
        for quote in (b'"', b"'")
    ]  # fmt: skip
    return re.compile(plain + b"(?:(?:" + b"|".join(quoted) + b")" + plain + b")*+")
