r"""Kinds of text by their first bytes: JSON, XML, pages of HTML, and texts that need options to be records.

One table for all who ask: the search for a dialect, which doubts that such a text is CSV, and every door that is given
no record format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from splitscan.formats.log_kinds import PRESETS, Preset
from splitscan.sizes import KIB

HEAD_BYTES = 64 * KIB
"""Of the beginning of a file: as much as is looked at."""

_BOM = rb"(?:\xef\xbb\xbf)?"
_JSON = re.compile(_BOM + rb"\s*(?:\[\s*)?\{\s*(?:\"|\})")
_JSON_ARRAY = re.compile(_BOM + rb"\s*\[\s*(?:\[|\]\s*\Z)")
_HTML = re.compile(_BOM + rb"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
_XML = re.compile(
    _BOM + rb"\s*<(?!!doctype html|html\b)"
    rb"(?:\?xml\b|!--|!doctype\b|[a-z_][\w.:-]*(?:\s[^<>]*)?/?>\s*"
    rb"(?:<|[^<>]*</(?![^<>]*>[ ]*[,;\t|])))",  # after an element that is a value of CSV there is a separator
    re.IGNORECASE,
)
_ARFF = re.compile(_BOM + rb"(?:\s|%[^\r\n]*[\r\n])*@relation\s", re.IGNORECASE)
_ARFF_DATA = re.compile(rb"^[ \t]*@data[^\r\n]*$", re.IGNORECASE | re.MULTILINE)
_SAM = re.compile(rb"@(?:HD\tVN:|SQ\t|RG\t|PG\tID:)")
_STANZA = re.compile(
    rb"(?:[A-Z][A-Za-z0-9-]*:[ ][^\r\n]*\r?\n(?:[ \t]+[^\r\n]*\r?\n)*){3,}\r?\n(?=[A-Z][A-Za-z0-9-]*:[ ])"
)
_RECORD_JAR = re.compile(rb"(?:[A-Z][A-Za-z0-9-]*:[ ][^\r\n]*\n(?:[ \t]+[^\r\n]*\n)*)+%%\n(?=[A-Z][A-Za-z0-9-]*:[ ])")
_LINE_END = re.compile(rb"\r\n|\n|\r")

_MAY_BE_LOG = re.compile(  # one of the first lines: most texts need no longer look
    _BOM + rb"(?:[^\r\n]*+[\r\n]++){0,2}?(?:\S++ \S++ \S++ \[|<\d|[A-Z][a-z]{2} [ \d]\d |\d{4}-\d\d-\d\d[ T]\d|#)"
)
_W3C = re.compile(_BOM + rb"(?:#(?!Fields:)[^\r\n]*+[\r\n]++)*+#Fields:[ \t]")
_LOGS = {
    "common": "a common access log", "combined": "a combined access log", "syslog": "a log of syslog",
    "syslog5424": "a log of syslog", "java": "a log of Java", "python": "a log of Python", "w3c": "a W3C extended log",
}  # fmt: skip

_TAG = re.compile(r"<(/?)([A-Za-z_:\u0080-\U0010ffff][-.\w:\u0080-\U0010ffff]*)(?:\s[^<>]*?)?(/?)>")
_NO_TAGS = re.compile(r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
_SHOWN_TAGS = 5
_LOOKED_AT = 3  # lines


class Beginning(NamedTuple):
    """Pattern of first bytes.

    Attributes:
        kind: Of the text, for people.
        format: The record format that reads it; ``None`` where none does without options.
        hint: How to read it.
    """

    kind: str
    format: str | None
    hint: str


JSON = Beginning("JSON", "json", "read it with head -f json, or format='json' in Python")
XML = Beginning("XML", "xml", "read it with head -f xml -o rowTag=NAME, or format='xml', rowTag=NAME in Python")
TOLD_BY_FIRST_BYTES = frozenset({"json", "xml"})
"""Formats that first bytes show."""
HTML = Beginning("a page of HTML", None, "save its tables as CSV first")


def other_text(head: bytes) -> Beginning | None:
    """The kind of a text that is no CSV, whatever its separator.

    Example:
        >>> other_text(b' [{"a": 1}]').format, other_text(b"<r><x/></r>").format, other_text(b"a,b")
        ('json', 'xml', None)
    """
    if _JSON.match(head) or _JSON_ARRAY.match(head):
        return JSON
    if _HTML.match(head):
        return HTML
    return XML if _XML.match(head) else None


_AS_SEGMENTS = (
    "read it as text, one segment a record: set recordFormat=text and lineSep={end}, in a shell -f text -o {own}"
)
_SIGNATURES = (
    (rb"MSH\|\^~\\&", "messages of HL7", _AS_SEGMENTS.format(end=r"'\r'", own=r"$'lineSep=\r'")),
    (rb"ISA\*", "segments of X12", _AS_SEGMENTS.format(end="~", own="lineSep=~")),
    (rb":20:", "a statement of MT940", "read it as text, one field a record: set recordFormat=text"),
    (rb"UN(?:A.{4}|B\+)", "segments of EDIFACT", _AS_SEGMENTS.format(end='"\'"', own='"lineSep=\'"')),
    (
        rb"%%MatrixMarket ", "a matrix of Matrix Market",
        r"its entries stand below a line of sizes: set recordFormat=csv, sep=\s+, header=false, and skipRows past it",
    ),
)  # fmt: skip


def signed_text(head: bytes) -> Beginning | None:
    """The kind of a text that a signature begins, and whose lines are no records of CSV.

    Example:
        >>> signed_text(b"ISA*00*  ~GS*PO~").kind, signed_text(b"a,b")
        ('segments of X12', None)
    """
    found = (Beginning(kind, None, hint) for mark, kind, hint in _SIGNATURES if re.match(_BOM + mark, head))
    return next(found, None)


def log_text(head: bytes) -> Beginning | None:
    r"""The kind of a text whose first lines are those of a log that is known.

    Example:
        >>> log_text(b"Jan  1 00:00:01 host sshd[123]: in, and out\\n").kind, log_text(b"a,b")
        ('a log of syslog', None)
    """
    if _MAY_BE_LOG.match(head) is None:
        return None
    lines = [line.decode("utf-8", "replace") for line in _LINE_END.split(head, maxsplit=_LOOKED_AT)[:_LOOKED_AT]]
    name = "w3c" if _W3C.match(head) else next((name for name, kind in PRESETS.items() if _is_of(kind, lines)), None)
    hint = f"set recordFormat=log and logFormat={name}, on the command line -f log -o logFormat={name}"
    return None if name is None else Beginning(_LOGS[name], None, hint)


def _is_of(kind: Preset, lines: Sequence[str]) -> bool:
    """True if each of the lines that begin a record is one; others may be the rest of a record."""
    begun = [line for line in lines if line and (kind.start is None or re.match(kind.start, line))]
    return bool(begun) and all(re.fullmatch(kind.pattern, line) for line in begun)


def beginning_of(head: bytes) -> Beginning | None:
    """The kind of a text of which nothing else is known; ``None`` for what may be CSV."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head[: len(head) // 2 * 2].decode("utf-16", "replace").encode()
    arff, data = _ARFF.match(head), _ARFF_DATA.search(head)
    if arff is not None:
        before = "all lines up to @data" if data is None else str(len(_LINE_END.findall(head[: data.end()])) + 1)
        return Beginning(
            "ARFF", None,
            f"its rows are CSV below @data: set recordFormat=csv, skipRows={before}, comment=%, quote=\"'\" "
            "and header=false",
        )  # fmt: skip
    if _SAM.match(head):
        return Beginning(
            "SAM", None,
            r"its records are CSV of any width: set recordFormat=csv, sep=\t, comment=@, header=false, an empty quote "
            "and columns=columns",
        )  # fmt: skip
    if _STANZA.match(head):
        return Beginning(
            "stanzas of fields, divided by empty lines", None,
            r"set recordFormat=text and lineSep='\n\n', in a shell -f text -o $'lineSep=\n\n': then each stanza is a "
            "record",
        )  # fmt: skip
    if _RECORD_JAR.match(head):
        return Beginning(
            "stanzas of fields, divided by lines of %%", None,
            r"set recordFormat=text and lineSep='%%\n', in a shell -f text -o $'lineSep=%%\n': then each stanza is a "
            "record",
        )  # fmt: skip
    return signed_text(head) or other_text(head)


def row_tags(head: bytes) -> Sequence[str]:
    """Names of elements that could be records of XML: those that are met most, but for the root and what they hold.

    Example:
        >>> row_tags(b"<r><x><y>1</y><z/></x><x><y>2</y></x></r>")
        ['x', 'y']
    """
    text = _NO_TAGS.sub("", head.decode("utf-8", "replace"))
    seen: Counter[tuple[int, str]] = Counter()
    depth = 0
    for closes, name, closed in _TAG.findall(text):
        if closes:
            depth -= 1
            continue
        seen[depth, name] += 1
        depth += not closed
    below = {key: count for key, count in seen.items() if key[0] > 0}
    several = {key: count for key, count in below.items() if count > 1} or below
    first_depth = sorted(several, key=lambda key: (key[0], -several[key]))
    return list(dict.fromkeys(name for _, name in first_depth))[:_SHOWN_TAGS]
