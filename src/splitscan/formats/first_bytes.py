"""Kinds of text by their first bytes: JSON, XML, pages of HTML, and texts that need options to be records.

One table for all who ask: the search for a dialect, which doubts that such a text is CSV, and every door that is given
no record format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from splitscan.sizes import KIB

# ---------------------------------------------------------------- logs that many programs write


_QUOTED = r'"(?P<{}>(?:[^"\\]|\\.)*)"'
_COMMON = (
    r"(?P<host>\S+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]+)\] "
    + _QUOTED.format("request")
    + r" (?P<status>\d{3}|-) (?P<bytes>\d+|-)"
)
_ACCESS_TIME = "timestamp", "dd/MMM/yyyy:HH:mm:ss xx"
_DATE_TIME = r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}"


class Preset(NamedTuple):
    """A kind of log.

    Attributes:
        pattern: What a record matches; its named groups are the columns.
        types: Types of those that are no texts, as in DDL, with the pattern of times where they have one of their own.
        start: What the first line of a record begins with; ``None`` if every line is a record.
    """

    pattern: str
    types: dict[str, tuple[str, str | None]]
    start: str | None = None


PRESETS = {
    "common": Preset(_COMMON, {"time": _ACCESS_TIME, "status": ("int", None), "bytes": ("bigint", None)}),
    "combined": Preset(
        f"{_COMMON} {_QUOTED.format('referer')} {_QUOTED.format('agent')}",
        {"time": _ACCESS_TIME, "status": ("int", None), "bytes": ("bigint", None)},
    ),
    "syslog": Preset(
        r"(?:<(?P<priority>\d{1,3})>)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}) (?P<host>\S+) "
        r"(?P<program>[^:\[\s]+)(?:\[(?P<pid>\d+)\])?: ?(?P<message>.*)",
        {"priority": ("int", None), "pid": ("int", None)},
    ),
    "syslog5424": Preset(
        r"<(?P<priority>\d{1,3})>(?P<version>\d{1,2}) (?P<time>\S+) (?P<host>\S+) (?P<program>\S+) (?P<pid>\S+) "
        r'(?P<id>\S+) (?P<data>-|(?:\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])+)(?: (?P<message>.*))?',
        {"priority": ("int", None), "version": ("int", None), "time": ("timestamp", None)},
    ),
    "java": Preset(
        rf"(?P<time>{_DATE_TIME}[,.]\d{{3}}) +(?:\[(?P<thread>[^\]]*)\] +)?(?P<level>[A-Z]+) +(?P<logger>\S+) +- "
        r"(?P<message>(?s:.*))",
        {"time": ("timestamp", "yyyy-MM-dd HH:mm:ss[,][.]SSS")},
        _DATE_TIME,
    ),
    "python": Preset(
        rf"(?P<time>{_DATE_TIME},\d{{3}}) - (?P<logger>\S+) - (?P<level>[A-Z]+) - (?P<message>(?s:.*))",
        {"time": ("timestamp", "yyyy-MM-dd HH:mm:ss,SSS")},
        _DATE_TIME,
    ),
}
"""Each by its name."""


# ---------------------------------------------------------------- beginnings


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
_LINE_END = re.compile(rb"\r\n|\n|\r")

_MAY_BE_LOG = re.compile(  # one of the first lines: most texts need no longer look
    _BOM + rb"(?:[^\r\n]*+[\r\n]++){0,2}?(?:\S++ \S++ \S++ \[|<\d|[A-Z][a-z]{2} [ \d]\d |\d{4}-\d\d-\d\d[ T]\d|#)"
)
_W3C = re.compile(_BOM + rb"(?:#(?!Fields:)[^\r\n]*+[\r\n]++)*+#Fields:[ \t]")
_LOGS = {
    "common": "a common access log", "combined": "a combined access log", "syslog": "a log of syslog",
    "syslog5424": "a log of syslog", "java": "a log of Java", "python": "a log of Python", "w3c": "a W3C extended log",
}  # fmt: skip

_TAG = re.compile(r"<(/?)([A-Za-z_:\u0080-\U0010ffff][-.\w:\u0080-\U0010ffff]*)(\s[^<>]*?)?(/?)>")
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


_FIELDS = rb"(?:[A-Z][A-Za-z0-9-]*+:[ ][^\r\n]*+\r?\n(?:[ \t][^\r\n]*+\r?\n)*+)"  # those of one stanza
_KEY = rb"[A-Za-z_][\w.-]*"
_AS_LINES = "read it as text, one line a record: set recordFormat=text"
_BELOW = r"its records stand below {lines} lines: set recordFormat=csv, sep=\s+, header=false and skipRows={lines}"
_ARFF = 'its rows are CSV below @data: set recordFormat=csv, skipRows={}, comment=%, quote="\'" and header=false'


def _after(comment: bytes) -> bytes:
    """Pattern of empty lines and of lines that begin with a comment."""
    return rb"(?:\s++|" + comment + rb"[^\r\n]*+)*+"


def _split_at(end: str, what: str) -> str:
    """The hint for records that end with one text."""
    shell, quote = ("", '"') if end == "'" else ("$", "'")
    return (
        f"read it as text, one {what} a record: set recordFormat=text and lineSep={quote}{end}{quote}, in a shell "
        f"-f text -o {shell}{quote}lineSep={end}{quote}"
    )


_SIGNATURES = (
    (rb"(?:MSH|[FB]HS)\|\^~\\&", "messages of HL7", _split_at(r"\r", "segment")),
    (rb"ISA\*", "segments of X12", _split_at("~", "segment")),
    (rb"UN(?:A.{4}|B\+)", "segments of EDIFACT", _split_at("'", "segment")),
    (rb":20:", "a statement of MT940", _AS_LINES),
    (rb"\{1:[A-Z0-9]+\}", "messages of SWIFT", _AS_LINES),
    (rb"101[ \d]{10}[ A-Z\d]{10}\d{6}[A-Z\d ]{4}[A-Z\d]094", "payments of NACHA", _AS_LINES),
    (rb"OFXHEADER:|!Type:[A-Za-z]+\r?\n", "statements of a bank (OFX, QIF)", _AS_LINES),
    (rb"\d{5}[^\r\n\x1e]{19}(?:[0-9A-Za-z]{3}\d{9})+\x1e", "records of a library (ISO 2709)",
     _split_at(r"\x1d", "of them")),
    (rb"BEGIN:V(?:CARD|CALENDAR)\b", "cards or dates (vCard, iCalendar)", _AS_LINES),
    (_after(b"%") + rb"@[A-Za-z]+[ \t]*\{", "a bibliography of BibTeX", _AS_LINES),
    (rb"(?:TY  - |PMID- |%0 )\S", "a bibliography in lines of tags", _AS_LINES),
    (rb">\S[^\r\n]*\r?\n[A-Za-z*-]+\r?\n", "sequences of FASTA", _split_at(r"\n>", "sequence")),
    (rb"@\S[^\r\n]*\r?\n[A-Za-z.*]+\r?\n\+[^\r\n]*\r?\n", "sequences of FASTQ, in four lines each", _AS_LINES),
    (rb"(?:(?:HEADER|TITLE |REMARK|COMPND|CRYST1|MODEL )[ \d][^\r\n]*+\r?\n)*+(?:HETATM|ATOM  )[ \d]{5} ",
     "a structure of PDB: values at places", "set recordFormat=fixed_width, or text for lines"),
    (_after(b"#") + rb"data_\S+[ \t]*\r?\n" + _after(b"#") + rb"(?:_|loop_)", "a file of CIF", _AS_LINES),
    (rb"(?:[^\r\n]*+\r?\n){3} *\d[^\r\n]*V[23]000\r?\n", "molecules of MDL", _AS_LINES),
    (_after(b"!") + rb"#[ \t]+(?i:[kmg]?hz[ \t]+[sygzh][ \t]+(?:db|ma|ri)[ \t]+r)[ \t]+[^\r\n]*"
     + rb"(?:\r?\n[ \t]*(?:![^\r\n]*+)?(?=[\r\n]))*+",
     "a file of Touchstone", _BELOW),
    (_after(b"#") + rb"~[Vv](?s:.*?)[\r\n]~[Aa][^\r\n]*", "a log of a well (LAS)", _BELOW),
    (rb"BEGIN (?:GSE|IMS)\d", "messages of seismologists (GSE, IMS)", _AS_LINES),
    (rb"0 +HEAD\r?\n1 ", "a family tree of GEDCOM", _AS_LINES),
    (_after(b"#") + rb"msg(?:id|ctxt) \"", "translations of gettext", _AS_LINES),
    (rb"\[[A-Z][A-Za-z]+ \"[^\r\n]*\"\]\r?\n", "games of chess (PGN)", _AS_LINES),
    (rb"\(;(?:[A-Z]{1,2}\[[^\]]*\]\s*)+", "a game of Go (SGF)", _AS_LINES),
    (_after(b"[;#]") + rb"\[[^\[\]\r\n,;\t]+\][ \t]*\r?\n" + _after(b"[;#]")
     + rb"(?:\s++|[;#\[][^\r\n]*+|(?<=[ \t])[^\r\n]++|[^\r\n=:,;|\t]*+[=:][^\r\n]*+)*+(?![^\r\n]*[\r\n])",
     "settings in sections, as of INI and TOML", _AS_LINES),
    (_after(b"#") + rb"(?:%YAML |---[ \t]*\r?\n(?:- |" + _KEY + rb":)|- " + _KEY + rb": )", "YAML", _AS_LINES),
    (rb"(?:\s++|--[^\r\n]*+|/\*(?s:.*?)\*/;?)*+"
     rb"(?i:insert +into |create +(?:or +replace +)?(?:table|database|schema|index|view|type|temp) |alter +table |"
     rb"drop +(?:table|database|schema) |copy +\S+ +(?:\([^)\r\n]*\) +)?from +|set +[@\w. ]+(?:=|to )[^\r\n]*;|"
     rb"(?:begin|start +transaction|use +\S+|pragma +[^\r\n;]*);)", "statements of SQL",
     "load them into a database, and read its tables in Python, by ss.scan_table"),
    (rb"\{\\rtf", "a text of RTF", "save it as plain text first"),
    (rb"%!PS", "a page of PostScript", "save its tables as CSV first"),
    (_after(b"%") + rb"\\(?:documentclass|begin\{)", "a text of LaTeX", "save its tables as CSV first"),
    (rb"From \S+@\S+ [^\r\n]*\d{4}\r?\n|(?:Return-Path|Received|Message-I[Dd]|MIME-Version|Delivered-To|"
     rb"(?:From|To)(?=: [^\r\n]*@)): [^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*[A-Z][\w-]*: ", "mails", _AS_LINES),
    (_after(b"#") + rb"(?:version: 1\s+)?dn:: ?\S|(?:version: 1\s+)?dn: \w+=[^\r\n]*\r?\n[A-Za-z]+: ",
     "entries of LDIF", _split_at(r"\n\n", "entry")),
    (rb"1\r?\n\d\d:\d\d:\d\d,\d{3} --> |WEBVTT", "subtitles", _split_at(r"\n\n", "of them")),
    (rb"solid [^\r\n]*\r?\n\s*facet ", "a body of STL", _AS_LINES),
    (rb"diff --git |--- \S[^\r\n]*\r?\n\+\+\+ \S", "differences of files", _AS_LINES),
    (rb"%%MatrixMarket ", "a matrix of Matrix Market",
     r"its entries stand below a line of sizes: set recordFormat=csv, sep=\s+, header=false, and skipRows past it"),
    (_after(b"%") + rb"@(?i:relation)\s(?s:.*?)[\r\n][ \t]*@(?i:data)[^\r\n]*", "ARFF", _ARFF.format("{lines}")),
    (_after(b"%") + rb"@(?i:relation)\s", "ARFF", _ARFF.format("all lines up to it")),
    (rb"[ \t]*\d+[ \t]+\d+[ \t]*\r?\n[^\s\d][^\r\n]{0,40}?(?:[A-Z*?-]{8,}+|[acgtun?-]{8,}+)[A-Za-z*?. -]*+\r?\n",
     "an alignment of Phylip", _AS_LINES),
    (rb"(?:CLUSTAL|MUSCLE|PROBCONS)\b[^\r\n]*alignment|# STOCKHOLM 1\.", "an alignment of Clustal or Stockholm",
     _AS_LINES),
    (rb"#NEXUS\b|\(+[A-Za-z_'][^\s(),:;]*+:-?\d[\d.eE+-]*[,)\[]|"
     rb"\((?=[^;]*[(:])(?=[^;]*,)[^;]*+(?<=\));[ \t]*(?:[\r\n(]|\Z)", "a tree of Newick or Nexus", _AS_LINES),
    (_after(b"#")
     + rb"(?:SET (?:UTF-8|ISO[\w-]+|KOI8-[RU]|microsoft-cp\d+)|TRY \S{9,}|[PS]FX \S+ [YN] \d+)[ \t]*\r?\n",
     "settings of a dictionary of hunspell", _AS_LINES),
    (rb"(?:\s++|//[^\r\n]*+|/\*(?s:.*?)\*/)*+(?:[\"']use strict[\"'];|"
     rb"(?:import|export)\b[^;]*?\bfrom\s*[\"'][^\"'\r\n]+[\"']|"
     rb"export (?:declare|default|interface|type|const|function|class)\s|"
     rb"declare (?:module|namespace|function|const|global)\s)", "a program in JavaScript or TypeScript", _AS_LINES),
    (rb"netcdf \S+ \{", "a description of NetCDF (CDL)", "make a table of it, as ncks and xarray do"),
    (rb"#define \w+_width \d+\s", "an image of XBM", _AS_LINES),
    (_after(b"!") + rb"(?:Version,\s*[\d.]+;|[A-Z][\w:-]*,\s*[^,;!\r\n]*[,;][ \t]*!-)", "objects of EnergyPlus",
     _AS_LINES),
    (rb"Element\s*[\[(]\s*(?:0x\w+|\"\")|\((?:module|footprint|kicad_\w+) ", "a drawing of a board", _AS_LINES),
    (rb"\.\. (?:\|[^|\r\n]+\| \w+::|[a-z-]+::|_[^:\r\n]+:)", "reStructuredText", _AS_LINES),
    (rb"@(?:HD\tVN:|SQ\t|RG\t|PG\tID:)", "SAM",
     r"its records are CSV of any width: set recordFormat=csv, sep=\t, comment=@, header=false, an empty quote and "
     "columns=columns"),
)  # fmt: skip
"""First bytes, what they begin, and how that is read; lines are counted up to the end of what was found."""

_STANZAS = (
    (_FIELDS + rb"{3,}+\r?\n(?=[A-Z][A-Za-z0-9-]*:[ ])", "stanzas of fields, divided by empty lines",
     _split_at(r"\n\n", "stanza")),
    (_FIELDS + rb"++%%\n(?=[A-Z][A-Za-z0-9-]*:[ ])", "stanzas of fields, divided by lines of %%",
     _split_at(r"%%\n", "stanza")),
    (_after(b"#") + rb"(?:" + _KEY + rb": [^\r\n]*+\r?\n)*+" + _KEY + rb":[ \t]*\r?\n(?:[ ]+|- )\S", "YAML", _AS_LINES),
)  # fmt: skip
"""The same of texts that may stand above a table too."""


def signed_text(head: bytes) -> Beginning | None:
    """The kind of a text that a signature begins, and whose lines are no records of CSV.

    Example:
        >>> signed_text(b"ISA*00*  ~GS*PO~").kind, signed_text(b"a,b")
        ('segments of X12', None)
    """
    return _told(_SIGNATURES, head)


def _told(signatures: Iterable[tuple[bytes, str, str]], head: bytes) -> Beginning | None:
    for mark, kind, hint in signatures:
        found = re.match(_BOM + b"(?:" + mark + b")", head)
        if found is not None:
            lines = str(len(_LINE_END.findall(found[0])) + 1)
            return Beginning(kind, None, hint.replace("{lines}", lines))
    return None


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
    return _told((*_SIGNATURES, *_STANZAS), head) or other_text(head)


def row_tags(head: bytes) -> Sequence[str]:
    """Names of elements that could be records of XML: below the root, met several times, those that hold more first.

    Example:
        >>> row_tags(b"<r><x><y>1</y><z/></x><x><y>2</y></x></r>")
        ['x', 'y']
    """
    text = _NO_TAGS.sub("", head.decode("utf-8", "replace"))
    seen: Counter[tuple[int, str]] = Counter()
    full = set[tuple[int, str]]()  # with elements or attributes in them
    inside: list[tuple[int, str]] = []
    for closes, name, attributes, closed in _TAG.findall(text):
        if closes:
            del inside[-1:]
            continue
        key = len(inside), name
        seen[key] += 1
        full.update(inside[-1:], [key] * ("=" in attributes))
        if not closed:
            inside.append(key)
    below = {key: count for key, count in seen.items() if key[0] > 0}
    several = {key: count for key, count in below.items() if count > 1} or below
    fullest = sorted(several, key=lambda key: (key not in full, key[0], -several[key]))
    return list(dict.fromkeys(name for _, name in fullest))[:_SHOWN_TAGS]
