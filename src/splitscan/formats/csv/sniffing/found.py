"""Dialects of files as they were found, how surely, and on what evidence."""

from __future__ import annotations

import codecs
import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from splitscan.formats.csv.options import BLANK_RUNS
from splitscan.options.table import python_twin

_DEFAULTS: Mapping[str, Any] = {
    "sep": ",", "quote": '"', "escape": "\\", "header": False, "multiLine": False, "skipRows": 0, "comment": None,
    "encoding": "UTF-8", "ignoreLeadingWhiteSpace": False,
}  # fmt: skip

ATTRIBUTES: Mapping[str, str] = {name: python_twin(name) for name in _DEFAULTS}
"""Of a dialect, by Spark's names of its options."""

ONE_COLUMN = "\x1f"
"""A separator that no text has: each line is one value."""

_SHOWN_CELLS = 3
_SHOWN_CHARACTERS = 60  # of one
COMMENTS_ONLY = "lines that begin with it are no records of the table"
"""Evidence for comments among which nothing is told about names."""


NOWHERE = "stands in no record of the samples"
"""Evidence for a separator that was given."""

_ONE_COLUMN_READ = (
    rf"no separator was found, and each record is read as one column: sep divides them, as sep={BLANK_RUNS} between "
    "blanks; recordFormat=text reads lines, and recordFormat=fixed_width columns at places"
)


class Confidence(enum.Enum):
    """How sure a setting is."""

    GIVEN = "given"
    """The user said so."""
    CERTAIN = "certain"
    """The samples show it, and nothing in them speaks against it."""
    LIKELY = "likely"
    """The samples speak for it."""
    ASSUMED = "assumed"
    """The samples do not tell; it is what most files have, and reads these samples right."""
    UNSURE = "unsure"
    """The samples speak for several values."""


_GUESSED = (Confidence.LIKELY, Confidence.UNSURE)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a dialect.

    Attributes:
        value: What was found.
        confidence: How surely.
        evidence: What was seen, as one clause.
    """

    value: Any
    confidence: Confidence
    evidence: str

    @property
    def is_sure(self) -> bool:
        """True if it holds without a doubt."""
        return bool(self.value) and self.confidence is Confidence.CERTAIN

    @property
    def is_shown(self) -> bool:
        """True if the samples speak for it."""
        return self.confidence in (Confidence.CERTAIN, Confidence.LIKELY)

    @property
    def is_likely(self) -> bool:
        """True if it holds by a guess."""
        return bool(self.value) and self.confidence is Confidence.LIKELY


@dataclass(frozen=True, slots=True)
class Candidate:
    """A separator and a quote that the samples were read with.

    Attributes:
        sep: The separator.
        quote: The quote; ``None`` for no quoting at all.
        score: From 0 to 1: how much what was read looks like a table.
        columns: Fields of most records.
    """

    sep: str
    quote: str | None
    score: float
    columns: int

    def __str__(self) -> str:
        quote = "no quote" if self.quote is None else f"quote {self.quote}"
        columns = f"{self.columns} column{'s' * (self.columns != 1)}"
        return f"sep {shown(self.sep)} with {quote}: {columns}, score {self.score:.2f}"


@dataclass(frozen=True, repr=False)
class Dialect:
    r"""The dialect of CSV files, as samples of them show it.

    A setting is never more than its evidence: samples are not the whole file. Read with the options, and look at the
    rejects; an ingest of which most records are rejects publishes nothing.

    Attributes:
        sep: Separator.
        quote: Quote, or ``None`` for none.
        escape: What escapes a quote in quotes; the quote itself where quotes are doubled; ``None`` without a quote.
        header: Whether the first record names the columns.
        skip_rows: Lines before the header, or before the first record.
        comment: First character of lines to skip, or ``None``.
        multi_line: Whether quoted fields may hold line ends.
        encoding: Character set.
        line_ends: ``LF``, ``CRLF``, ``CR``, or several of them.
        columns: Fields of most records.
        score: From 0 to 1: how much what was read looks like a table.
        first_record: Values of the first record of the table: the names, if it is a header.
        settings: Every setting by Spark's name of its option, with confidence and evidence.
        candidates: The separators and quotes that came closest, the best one first.
        doubts: Why the dialect must not be used unseen, one sentence each; empty if it may.
        objections: What the samples show against what the user said, one sentence each.
        schema: Columns with inferred types; ``None`` where they were not asked for.
        ignore_leading_white_space: Whether blanks before values are no part of them: quotes stand after some.
        is_cut: Whether the first sample ends in a record of which a longer one shows more.
    """

    sep: str
    quote: str | None
    escape: str | None
    header: bool
    skip_rows: int
    comment: str | None
    multi_line: bool
    encoding: str
    line_ends: str
    columns: int
    score: float
    first_record: tuple[str, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    candidates: tuple[Candidate, ...] = ()
    doubts: tuple[str, ...] = ()
    objections: tuple[str, ...] = ()
    schema: pa.Schema | None = None
    ignore_leading_white_space: bool = False
    is_cut: bool = False

    @property
    def is_clear(self) -> bool:
        """True if the samples leave no doubt about where records and fields end."""
        return not self.doubts

    @property
    def unread_names(self) -> str | None:
        """Note of names that stand in comments that are skipped, and how to take them; ``None`` without any."""
        comment = self.settings.get("comment")
        if comment is None or comment.value is None or comment.confidence is Confidence.GIVEN:
            return None
        return None if comment.evidence == COMMENTS_ONLY else comment.evidence

    @property
    def about_header(self) -> str | None:
        """Note of a first record that may name the columns or not; ``None`` where the samples show it."""
        header = self.settings.get("header")
        if header is None or header.confidence not in _GUESSED or not self.first_record:
            return None
        cells = ", ".join(map(_cell, self.first_record[:_SHOWN_CELLS]))
        cells += ", ..." * (len(self.first_record) > _SHOWN_CELLS)
        kind = "a header" if header.value else "data"
        if header.confidence is Confidence.LIKELY:
            return f"the first record ({cells}) is probably {kind}, and is read as such: {header.evidence}"
        return f"whether the first record ({cells}) is a header is not clear, it is read as {kind}"

    def guesses(self, *, has_schema: bool = False) -> Mapping[str, str]:
        """Notes of all that the samples do not show beyond doubt, by Spark's names: whoever reads the files tells them.

        Args:
            has_schema: Whether the user says which columns there are: then no names are looked for.
        """
        told = {name: self._told(name, each, has_schema) for name, each in self.settings.items() if self.columns}
        return {name: note for name, note in told.items() if note is not None}

    def _told(self, name: str, setting: Setting, has_schema: bool) -> str | None:
        """Note of one setting that is a guess, or of a separator without which records are of one column."""
        if name == "sep" and self.columns == 1 and setting.confidence is not Confidence.GIVEN:
            return None if has_schema else _ONE_COLUMN_READ
        if setting.confidence not in _GUESSED or (name == "skipRows" and not setting.value):
            return None
        if name == "header":
            fits = has_schema and not setting.value and setting.is_shown  # if not, it is a reject, which is told
            seen = None if fits else self.about_header
            return None if seen is None else f"{seen}; header=true or header=false settles it"
        if name == "skipRows":
            return f"skips lines by skipRows={self.skip_rows}: {setting.evidence}"
        if name == "comment" and setting.value is not None:
            skipped = f"comment={setting.value} skips lines: {COMMENTS_ONLY}; an empty comment keeps them"
            return skipped if has_schema or self.unread_names is None else self.unread_names
        return f"{name}={as_option(setting.value)} is probably right: {setting.evidence}; {name} settles it"

    def about_given_sep(self) -> Iterator[str]:
        """Note of a separator that was given and divides nothing."""
        sep = self.settings.get("sep")
        if sep is not None and sep.evidence == NOWHERE:
            yield f"sep={as_option(sep.value)} {NOWHERE}, and each is read as one column"

    def read_with(self, values: Mapping[str, Any]) -> Dialect:
        """The dialect, read with other values where the samples speak for several."""
        unsure = {name: each for name, each in self.settings.items() if each.confidence is Confidence.UNSURE}
        others = {name: replace(each, value=values[name]) for name, each in unsure.items()}
        return replace(self, settings={**self.settings, **others})

    def options(self) -> dict[str, Any]:
        r"""The options to read the files with, by Spark's names: what differs from Spark's defaults.

        Example:
            >>> Dialect(";", '"', '"', True, 0, None, True, "UTF-8", "LF", 3, 0.9).options()
            {'sep': ';', 'escape': '"', 'header': True, 'multiLine': True}
        """
        found = {**self.values(), **({"escape": _DEFAULTS["escape"]} if self.quote is None else {})}
        return {name: found[name] for name in _DEFAULTS if found[name] != _DEFAULTS[name]}

    def values(self) -> dict[str, Any]:
        """Every setting as an option, by Spark's names."""
        found = {name: getattr(self, attribute) for name, attribute in ATTRIBUTES.items()}
        return {**found, "quote": self.quote or "", "escape": self.escape or ""}

    @staticmethod
    def attributes(settings: Mapping[str, Setting]) -> dict[str, Any]:
        """The attributes that settings say."""
        return {ATTRIBUTES[name]: setting.value for name, setting in settings.items()}

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        state = "" if self.is_clear else f"; unclear: {' '.join(self.doubts)}"
        return f"Dialect({said or 'the defaults'}; {self.columns} columns, score {self.score:.2f}{state})"


def _cell(value: str) -> str:
    return repr(value if len(value) <= _SHOWN_CHARACTERS else value[: _SHOWN_CHARACTERS - 3] + "...")


def shown(text: str | None) -> str:
    r"""A character or text as a person reads it.

    Example:
        >>> shown("\t"), shown(","), shown(None), shown("")
        ('tab', ',', 'none', 'none')
    """
    if not text:
        return "none"
    named = {"\t": "tab", " ": "space", "\n": r"\n", "\r\n": r"\r\n", "\r": r"\r"}.get(text, text)
    return "".join(each if each.isprintable() else r"\t" if each == "\t" else f"\\u{ord(each):04x}" for each in named)


def as_option(value: object) -> str:
    r"""The value of a setting as an option takes it.

    Example:
        >>> as_option("\t"), as_option(" "), as_option(","), as_option(None), as_option(0), as_option(True)
        ('\\t', "' '", ',', "''", '0', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    text = "" if value is None else str(value)
    return _AS_OPTION.get(text) or shown(text)


_AS_OPTION = {"": "''", "\t": r"\t", " ": "' '"}


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
_ZERO_LEAD = 4  # so many times as many in one half of each character as in the other; zeros that are data lie in both
_LONGEST_BYTES = 4  # of a character
_CONTROLS = re.compile("[\0-\x08\x0e-\x1f\x7f]")


def find_encoding(samples: Sequence[RawSample]) -> Setting | None:
    """The character set of a file.

    Args:
        samples: Its beginning first, then parts that may begin and end inside a character.

    Returns:
        The setting; ``None`` if no mark says it, and the bytes are no UTF-8, UTF-16 or UTF-32.
    """
    head = samples[0].data if samples else b""
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked is not None:
        return Setting(marked, Confidence.CERTAIN, "a byte order mark")
    wide = wide_without_mark(head)
    if wide is not None:
        return Setting(wide, Confidence.LIKELY, f"{head.count(0)} zero bytes in the first {len(head)}")
    if all(part.data.isascii() for part in samples):
        return Setting("UTF-8", Confidence.ASSUMED, "nothing but ASCII")
    if all(decodes(part, "utf-8") for part in samples):
        return Setting("UTF-8", Confidence.CERTAIN, "all bytes are valid UTF-8, and not only ASCII")
    return None


def wide_without_mark(head: bytes) -> str | None:
    r"""The UTF-16 or UTF-32 that the zero bytes of a file speak for; ``None`` where they are few, or data.

    Example:
        >>> wide_without_mark("a,b".encode("utf-16-le")), wide_without_mark(b"1,\0\0\n22,\0\0\n")
        ('UTF-16LE', None)
    """
    if head.count(0) * _ZERO_SHARE < max(len(head), 1):
        return None
    if head.count(0) * 2 >= len(head) > _LONGEST_BYTES:
        whole = head[: len(head) // 4 * 4]
        longer = next((name for name in ("UTF-32LE", "UTF-32BE") if _is_plain(whole, name)), None)
        if longer is not None:
            return longer
    first, second = (head[half::2].count(0) for half in (0, 1))
    if max(first, second) < _ZERO_LEAD * min(first, second):
        return None
    name, pairs = ("UTF-16LE", (b"\n\0", b"\r\0")) if second > first else ("UTF-16BE", (b"\0\n", b"\0\r"))
    line_ends = head.count(b"\n") + head.count(b"\r")
    return name if 2 * sum(map(head.count, pairs)) >= line_ends else None  # line ends of one byte are those of ASCII


def _is_plain(data: bytes, encoding: str) -> bool:
    """True if bytes are text without control characters: small numbers are characters of UTF-32 too."""
    try:
        return _CONTROLS.search(data.decode(encoding)) is None
    except UnicodeDecodeError:
        return False


def decodes(part: RawSample, encoding: str) -> bool:
    """True if bytes are text, but for a character that is cut where the file goes on."""
    for first in range(_LONGEST_BYTES if part.offset else 1):
        for last in range(1 if part.is_end else _LONGEST_BYTES):
            try:
                part.data[first : len(part.data) - last].decode(encoding)
            except UnicodeDecodeError:
                continue
            return True
    return False
