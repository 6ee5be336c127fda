"""The settings of a CSV dialect, as characters and as code units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from splitscan.errors import UsageError
from splitscan.formats.framing.encodings import CR, LF, UTF_8, Encoding


@dataclass(frozen=True)
class Dialect:
    r"""How the bytes of a CSV file are structured.

    The grammar: a record is fields divided by ``sep``, ended by a line terminator outside quotes. A field is quoted
    when ``quote`` is its first character (after white space, with ``trim_leading``); inside, terminators and separators
    are data, ``escape`` hides the character after it, and where escape and quote are the same character a doubled
    quote is data. Whatever follows a closing quote is taken as it is up to the next separator or terminator; quotes
    right before that, or before white space, are part of the value.
    A quote anywhere else is data. Where a terminator begins inside a separator, it is the terminator. Lines that are
    empty, and lines that begin with ``comment``, are no records.

    Attributes:
        encoding: Of the file.
        sep: Field separator, one character or more.
        quote: Quote character, or ``None`` for no quoting at all.
        escape: Escape character inside quotes, ``None`` for none.
        comment: First character of lines to skip.
        line_sep: Record terminator; ``None`` stands for ``\n``, ``\r\n`` and ``\r``, mixed as they come.
        multi_line: Whether a quoted field may contain terminators. Without it every terminator ends a record, and
            a record that ends inside quotes is malformed.
        trim_leading: Whether white space before a field is skipped when looking for its quote.
    """

    encoding: Encoding
    sep: str = ","
    quote: str | None = '"'
    escape: str | None = "\\"
    comment: str | None = None
    line_sep: str | None = None
    multi_line: bool = False
    trim_leading: bool = False

    def __post_init__(self) -> None:
        for option in ("quote", "escape", "comment"):
            text = getattr(self, option)
            if text is not None and not (len(text) == 1 and text.isascii()):  # values are decoded as UTF-8
                raise UsageError(
                    f"option {option} must be one ASCII character",
                    seen=repr(text),
                    fix="choose another character, or change it in the file",
                    code="bad-option",
                )

        if self.encoding.longest_bytes > 1:
            self._check_marks()

    def _check_marks(self) -> None:
        escape = None if self.quote is None else self.escape
        marks = {"sep": self.sep, "quote": self.quote, "escape": escape, "lineSep": self.line_sep}
        for option, text in marks.items():
            self.encoding.check_mark(option, self.encoding.encode(text or ""))

    def _units(self, text: str) -> tuple[int, ...]:
        return self.encoding.units(self.encoding.encode(text))

    def _unit(self, text: str | None) -> int | None:
        return None if text is None else self.encoding.units(self.encoding.encode(text))[0]

    @cached_property
    def sep_units(self) -> tuple[int, ...]:
        """Code units of the separator."""
        return self._units(self.sep)

    @cached_property
    def line_sep_units(self) -> tuple[int, ...] | None:
        """Code units of an explicit terminator, ``None`` for universal newlines."""
        return None if self.line_sep is None else self._units(self.line_sep)

    @cached_property
    def quote_unit(self) -> int | None:
        """Code unit of the quote."""
        return self._unit(self.quote)

    @cached_property
    def escape_unit(self) -> int | None:
        """Code unit of an escape that differs from the quote, else ``None``."""
        return None if self.quote is None or self.doubled else self._unit(self.escape)

    @cached_property
    def comment_unit(self) -> int | None:
        """Code unit that makes a line a comment."""
        return self._unit(self.comment)

    @property
    def doubled(self) -> bool:
        """Whether a quote inside quotes is written twice (RFC 4180)."""
        return self.quote is not None and self.escape == self.quote

    @cached_property
    def in_utf8(self) -> Dialect:
        """The same dialect for text that was transcoded to UTF-8."""
        return self if self.encoding == UTF_8 else replace(self, encoding=UTF_8)


def overlaps(one: tuple[int, ...], other: tuple[int, ...]) -> list[int]:
    """By how many units the end of *one* can be the beginning of *other*; not counting the whole of either."""
    return [k for k in range(1, min(len(one), len(other))) if one[-k:] == other[:k]]


_FEED = b"\n"
_RETURN = b"\r"


def last_split_point(data: bytes, dialect: Dialect, ends_inside: Callable[[bytes], bool]) -> int | None:
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


def _is_plain(dialect: Dialect) -> bool:
    """Whether a line feed always ends a line, so that only quotes can hide it."""
    special = {dialect.quote_unit, dialect.escape_unit, *dialect.sep_units}
    knows_lines = dialect.line_sep_units in {None, (LF,)} and special.isdisjoint((CR, LF))
    is_simple = dialect.encoding.unit_bytes == 1 and len(dialect.sep_units) == 1 and dialect.comment is None
    return knows_lines and is_simple and dialect.quote is not None


def _ends_outside(line: bytes, quote: bytes, dialect: Dialect, ends_inside: Callable[[bytes], bool]) -> bool:
    """Whether a line ends outside quotes, whether it begins inside of them or at a record boundary."""
    if dialect.line_sep is None:
        line = line.removesuffix(_RETURN)
        if _RETURN in line:
            return False  # it is two lines, or more
    return not ends_inside(quote + line) and not ends_inside(line)
