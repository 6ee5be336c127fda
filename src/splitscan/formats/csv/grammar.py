"""The grammar of CSV: its settings, where a record and its fields are, and what a field says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from splitscan.errors import bad_option
from splitscan.formats.csv.options import BLANK_RUNS, BLANKS, NO_CHARACTER, CsvOptions, UnescapedQuotes
from splitscan.formats.framing.encodings import CR, LF, UTF_8, Encoding, resolve_encoding


@dataclass(frozen=True)
class CsvGrammar:
    r"""How the bytes of a CSV file are structured.

    The grammar: a record is fields divided by ``sep``, ended by a line terminator outside quotes. A field is quoted
    when ``quote`` is its first character (after white space, with ``trim_leading``); inside, terminators and separators
    are data, ``escape`` hides the character after it, and where escape and quote are the same character a doubled
    quote is data. With ``escape_escape`` the escape hides quotes only, and none right after that character. Whatever
    follows a closing quote is taken as it is up to the next separator or terminator; quotes right before that, or
    before white space, are part of the value. A quote anywhere else is data. Where a terminator begins inside a
    separator, it is the terminator. Lines that are empty, and lines that begin with ``comment``, are no records.

    Where ``sep`` is ``\s+``, a run of spaces and tabs separates fields, and at either end of a line it is nothing: a
    line of blanks is empty, and a comment may stand after some.

    Attributes:
        encoding: Of the file.
        sep: Field separator, one character or more; ``\s+`` for runs of spaces and tabs.
        quote: Quote character, or ``None`` for no quoting at all.
        escape: Escape character inside quotes, ``None`` for none.
        comment: First character of lines to skip.
        line_sep: Record terminator; ``None`` stands for ``\n``, ``\r\n`` and ``\r``, mixed as they come.
        multi_line: Whether a quoted field may contain terminators. Without it every terminator ends a record, and
            a record that ends inside quotes is malformed.
        trim_leading: Whether white space before a field is skipped when looking for its quote.
        escape_escape: Makes an escape after it data; empty for nothing, ``None`` for the escape itself.
        skips_values: Whether a quoted field with text after its closing quote is empty and not quoted.
    """

    encoding: Encoding
    sep: str = ","
    quote: str | None = '"'
    escape: str | None = "\\"
    comment: str | None = None
    line_sep: str | None = None
    multi_line: bool = False
    trim_leading: bool = False
    escape_escape: str | None = None
    skips_values: bool = False

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, own: CsvOptions) -> CsvGrammar:
        """The dialect that options describe."""
        special = own.char_to_escape_quote_escaping
        return cls(
            encoding=resolve_encoding(own.encoding),
            sep=own.sep,
            quote=own.quote,
            escape=own.escape,
            comment=own.comment,
            line_sep=own.line_sep,
            multi_line=own.multi_line,
            trim_leading=own.ignore_leading_white_space and own.sep != BLANK_RUNS,
            escape_escape=None if own.quote is None or special is None else special.strip(NO_CHARACTER),
            skips_values=own.unescaped_quote_handling is UnescapedQuotes.SKIP_VALUE,
        )

    def __post_init__(self) -> None:
        escape = None if self.quote is None else self.escape
        marks = {"sep": self.sep_marks, "quote": self.quote, "escape": escape, "lineSep": self.line_sep}
        marks["charToEscapeQuoteEscaping"] = self.escape_escape
        for option, text in marks.items():
            self.encoding.check_mark(option, self.encoding.encode(text or ""))
        if self.comment is not None and not self.comment.isascii():  # lines begin where characters do
            self.encoding.check_mark("comment", self.encoding.encode(self.comment))
        for option, text in {**marks, "comment": self.comment}.items():
            is_known = all(map(self.encoding.writes_in_one_way, text or ""))
            if not is_known or (len(text or "") > 1 and option not in {"sep", "lineSep"}):
                raise bad_option(
                    f"option {option} must be characters that stand for nothing else in {self.encoding.name}",
                    repr(text),
                    f"choose another {option}, or convert the file to UTF-8",
                )

    @property
    def runs(self) -> bool:
        """True if fields stand between runs of blanks."""
        return self.sep == BLANK_RUNS

    @property
    def sep_marks(self) -> str:
        """The separator; of runs of blanks, the blanks."""
        return BLANKS if self.runs else self.sep

    @cached_property
    def sep_units(self) -> tuple[int, ...]:
        """Code units of the separator; of runs of blanks, each of the blanks."""
        return self.encoding.units(self.encoding.encode(self.sep_marks))

    @cached_property
    def line_sep_units(self) -> tuple[int, ...] | None:
        """Code units of an explicit terminator, ``None`` for universal newlines."""
        return None if self.line_sep is None else self.encoding.units(self.encoding.encode(self.line_sep))

    @cached_property
    def quote_unit(self) -> int | None:
        """Code unit of the quote, or its symbol where it has several."""
        return self.encoding.symbol(self.quote)

    @cached_property
    def escape_unit(self) -> int | None:
        """Code unit or symbol of an escape that differs from the quote, else ``None``."""
        return None if self.quote is None or self.doubled else self.encoding.symbol(self.escape)

    @cached_property
    def escape_escape_unit(self) -> int | None:
        """Code unit or symbol of what makes an escape after it data, ``None`` for none."""
        if self.escape_unit is None or self.escape_escape is None:
            return self.escape_unit
        return self.encoding.symbol(self.escape_escape or None)

    @property
    def escapes_itself(self) -> bool:
        """True if the escape hides whatever comes after it, itself too."""
        return self.escape_escape_unit == self.escape_unit

    @cached_property
    def comment_unit(self) -> int | None:
        """Code unit or symbol of what makes a line a comment."""
        return self.encoding.symbol(self.comment)

    @cached_property
    def written_marks(self) -> dict[str, bytes | None]:
        """Quote, escape, what makes that data, and comment as a file has them; ``None`` for those without a meaning."""
        special = None if self.escape_escape_unit is None else self.escape_escape or self.escape
        marks = {
            "quote": self.quote,
            "escape": None if self.escape_unit is None else self.escape,
            "escape_escape": special,
            "comment": self.comment,
        }
        return {name: None if mark is None else self.encoding.encode(mark) for name, mark in marks.items()}

    @cached_property
    def long_marks(self) -> frozenset[bytes]:
        """Those of them that have several code units."""
        return frozenset(mark for mark in self.written_marks.values() if mark and len(mark) > self.encoding.unit_bytes)

    @property
    def doubled(self) -> bool:
        """True if a quote inside quotes is written twice (RFC 4180)."""
        return self.quote is not None and self.escape == self.quote

    @cached_property
    def in_utf8(self) -> CsvGrammar:
        """Dialect for text that was transcoded to UTF-8."""
        return self if self.encoding == UTF_8 else replace(self, encoding=UTF_8)


def overlaps(one: tuple[int, ...], other: tuple[int, ...]) -> list[int]:
    """By how many units the end of *one* can be the beginning of *other*; not counting the whole of either."""
    return [k for k in range(1, min(len(one), len(other))) if one[-k:] == other[:k]]


_FEED = b"\n"
_RETURN = b"\r"


def last_split_point(data: bytes, dialect: CsvGrammar, ends_inside: Callable[[bytes], bool]) -> int | None:
    r"""The last position in *data* that is a record boundary whatever comes before *data*, and whatever follows.

    Args:
        data: Some bytes of a file, of the part that holds its records.
        dialect: The grammar; terminators may be quoted.
        ends_inside: Whether bytes that begin at a record start end inside quotes.

    Returns:
        The position, right after a line feed; ``None`` if none is certain.
    """
    if not _is_plain(dialect):
        return None
    quote = dialect.encoding.encode(dialect.quote or "")
    stop = data.rfind(_FEED) + 1
    while (last_quote := data.rfind(quote, 0, stop)) >= 0:
        start = data.rfind(_FEED, 0, last_quote) + 1
        if start == 0:
            return None  # what is before the first line feed may be the rest of a line
        stop = data.index(_FEED, last_quote) + 1
        if _ends_outside(data[start : stop - 1], quote, dialect, ends_inside):
            return stop
        stop = start
    return None


def _is_plain(dialect: CsvGrammar) -> bool:
    """True if a line feed always ends a line, so that only quotes can hide it."""
    special = {dialect.quote_unit, dialect.escape_unit, dialect.escape_escape_unit, *dialect.sep_units}
    knows_lines = dialect.line_sep_units in {None, (LF,)} and special.isdisjoint((CR, LF))
    is_short = dialect.runs or len(dialect.sep_units) == 1
    is_simple = dialect.encoding.unit_bytes == 1 and is_short and dialect.comment is None
    return knows_lines and is_simple and dialect.quote is not None


def _ends_outside(line: bytes, quote: bytes, dialect: CsvGrammar, ends_inside: Callable[[bytes], bool]) -> bool:
    """True if a line ends outside quotes, whether it begins inside of them or at a record boundary."""
    if dialect.line_sep is None:
        line = line.removesuffix(_RETURN)
        if _RETURN in line:
            return False  # it is two lines, or more
    return not ends_inside(quote + line) and not ends_inside(line)


_BLANKS = bytes(range(0x21))


@dataclass(frozen=True, slots=True)
class _Patterns:
    field: re.Pattern[bytes]
    sep: re.Pattern[bytes]
    bare: re.Pattern[bytes] | None  # a record that needs no more than to be divided; none for seps of several bytes
    written: bytes


@lru_cache(maxsize=64)
def _patterns(dialect: CsvGrammar) -> _Patterns:
    """The grammar of a field (single-byte units only)."""
    written, quote = dialect.encoding.encode(dialect.sep_marks), dialect.encoding.encode(dialect.quote or "")
    one = rb"[" + re.escape(written) + rb"]" if dialect.runs else re.escape(written)
    sep = re.compile(one + rb"++" if dialect.runs else one)
    delimiters = one + _unless_terminator(dialect, written) + rb"|" + _terminator(dialect)
    ends = b"\r\n" if dialect.line_sep is None else dialect.encoding.encode(dialect.line_sep)
    plain, bare = rb"(?:(?!" + delimiters + rb")[\s\S])*+", None
    if (dialect.runs or len(written) == 1) and (dialect.line_sep is None or len(ends) == 1):
        plain = rb"[^" + re.escape(written + ends) + rb"]*+"  # the same, many times faster
        bare = None if dialect.runs else re.compile(rb"[^" + re.escape(ends + quote) + rb"]*+")
    field = rb"(?P<plain>" + plain + rb")"
    if quote:
        start = rb"(?:(?!" + delimiters + rb")[\x00-\x20])*+" if dialect.trim_leading else b""
        start += re.escape(quote)
        body = rb"(?P<body>" + _quoted_body(dialect, re.escape(quote)) + rb")" + re.escape(quote)
        # a field whose quote never closes is no plain one: a quote at its start forbids that
        field = start + body + rb"(?P<junk>" + plain + rb")|(?P<plain>(?!" + start + rb")" + plain + rb")"
    return _Patterns(re.compile(field), sep, bare, written)


def _unless_terminator(dialect: CsvGrammar, sep: bytes) -> bytes:
    """That no terminator begins in the separator before."""
    line_sep = b"" if dialect.line_sep is None else dialect.encoding.encode(dialect.line_sep)
    return b"".join(rb"(?!" + re.escape(line_sep[k:]) + rb")" for k in overlaps(tuple(sep), tuple(line_sep)))


def _terminator(dialect: CsvGrammar) -> bytes:
    return rb"\r\n|\n|\r" if dialect.line_sep is None else re.escape(dialect.encoding.encode(dialect.line_sep))


def _quoted_body(dialect: CsvGrammar, quote: bytes) -> bytes:
    if dialect.doubled:
        return _others(quote) + rb"(?:" + quote * 2 + _others(quote) + rb")*+"
    if dialect.escape is None:
        return _others(quote)
    escape = re.escape(dialect.encoding.encode(dialect.escape))
    other = _others(quote, escape)
    if not dialect.escapes_itself:
        hiding = escape + rb"(?:" + quote + rb")?+"
        if dialect.escape_escape:
            special = re.escape(dialect.encoding.encode(dialect.escape_escape))
            hiding = rb"(?<=" + special + rb")" + escape + rb"|" + hiding
        return other + rb"(?:(?:" + hiding + rb")" + other + rb")*+"
    return other + rb"(?:" + escape + rb"(?:" + quote + rb"|" + escape + rb"|[\s\S])" + other + rb")*+"


def _others(*marks: bytes) -> bytes:
    """A pattern of any bytes up to the first of some marks, which are patterns themselves."""
    if all(re.fullmatch(rb"\\?[\s\S]", mark) for mark in marks):
        return rb"[^" + b"".join(marks) + rb"]*+"  # the same, many times faster
    return rb"(?:(?!" + b"|".join(marks) + rb")[\s\S])*+"


def split_fields(record: bytes, dialect: CsvGrammar) -> list[tuple[bytes, bool]]:
    """Split one record's content into fields: the value's bytes, and whether it was quoted.

    Doubled quotes and escapes in quoted fields are resolved. Where a quote is not escaped by another, the last of
    several at the end of a field closes it, and the others are data. A quoted field with something else after its
    closing quote (other than white space) is returned as it stands, quotes included, as not quoted. An unclosed one
    is everything after its opening quote.

    Example:
        >>> from splitscan.formats.framing.encodings import resolve_encoding
        >>> split_fields(b'1,"x y",', CsvGrammar(resolve_encoding("UTF-8")))
        [(b'1', False), (b'x y', True), (b'', False)]
        >>> split_fields(b'"x"" ,"x"y"', CsvGrammar(resolve_encoding("UTF-8")))
        [(b'x"', True), (b'"x"y"', False)]
    """
    compiled, runs = _patterns(dialect), dialect.runs
    if compiled.bare is not None and compiled.bare.fullmatch(record):
        return [(value, False) for value in record.split(compiled.written)]
    fields: list[tuple[bytes, bool]] = []
    position = _after_blanks(record, compiled) if runs else 0
    while True:
        match = compiled.field.match(record, position)
        if match is None:  # a quote that never closes
            quote = dialect.encoding.encode(dialect.quote or "")
            opening = record.index(quote, position)
            fields.append((unescape(record[opening + len(quote) :], dialect), True))
            return fields
        fields.append(_value(match, dialect))
        position = match.end()
        between = compiled.sep.match(record, position)
        if between is None or (runs and between.end() == len(record)):
            return fields
        position = between.end()


def _after_blanks(record: bytes, compiled: _Patterns) -> int:
    """The start of the first of the fields that stand between runs of blanks."""
    found = compiled.sep.match(record)
    return found.end() if found else 0


def _value(match: re.Match[bytes], dialect: CsvGrammar) -> tuple[bytes, bool]:
    if match.group("plain") is not None:
        return match.group(), False
    quote = dialect.encoding.encode(dialect.quote or "")
    junk = match.group("junk").rstrip(_BLANKS)
    if junk.lstrip(_BLANKS) and junk.replace(quote, b""):
        return b"" if dialect.skips_values else match.group(), False
    return unescape(match.group("body"), dialect) + junk.lstrip(_BLANKS), True


def unescape(body: bytes, dialect: CsvGrammar) -> bytes:
    """Resolve doubled quotes and escapes of a quoted field's content.

    An escape in front of the quote or of another escape disappears; in front of anything else it is data. With
    ``escape_escape`` one disappears in front of the quote alone, and that character in front of an escape.
    """
    quote = dialect.encoding.encode(dialect.quote or "")
    if dialect.doubled:
        return body.replace(quote * 2, quote)
    if dialect.escape is None:
        return body
    escape = dialect.encoding.encode(dialect.escape)
    if not dialect.escapes_itself:
        escaped = re.escape(escape) + rb"(?=" + re.escape(quote) + rb")"
        if dialect.escape_escape:
            special = re.escape(dialect.encoding.encode(dialect.escape_escape))
            escaped = special + rb"(" + re.escape(escape) + rb")|" + escaped
        return re.sub(escaped, lambda found: found[found.lastindex or 0] if found.lastindex else b"", body)
    return re.sub(re.escape(escape) + rb"(" + re.escape(quote) + rb"|" + re.escape(escape) + rb")", rb"\1", body)


def native_settings(dialect: CsvGrammar) -> dict[str, Any]:
    """A dialect as the kernel's class ``Csv`` takes it."""
    encode = dialect.encoding.encode
    return {
        "sep": encode(dialect.sep),
        **dialect.written_marks,
        "doubled": dialect.doubled,
        "line_sep": None if dialect.line_sep is None else encode(dialect.line_sep),
        "multi_line": dialect.multi_line,
        "trim_leading": dialect.trim_leading,
        "unit_bytes": dialect.encoding.unit_bytes,
        "big_endian": dialect.encoding.big_endian,
    }
