"""What was found out about the dialect of files, how surely, and on what evidence."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

_DEFAULTS: Mapping[str, Any] = {
    "sep": ",", "quote": '"', "escape": "\\", "header": False, "multiLine": False, "skipRows": 0, "comment": None,
    "encoding": "UTF-8",
}  # fmt: skip


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
        return f"sep {shown(self.sep)} with {quote}: {self.columns} columns, score {self.score:.2f}"


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
        schema: Columns with inferred types; ``None`` where they were not asked for.
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
    schema: pa.Schema | None = None

    @property
    def is_clear(self) -> bool:
        """Whether the samples leave no doubt about where records and fields end."""
        return not self.doubts

    def options(self) -> dict[str, Any]:
        r"""The options to read the files with, by Spark's names: what differs from Spark's defaults.

        Example:
            >>> Dialect(";", '"', '"', True, 0, None, True, "UTF-8", "LF", 3, 0.9).options()
            {'sep': ';', 'escape': '"', 'header': True, 'multiLine': True}
        """
        found = {
            "sep": self.sep,
            "quote": self.quote or "",
            "escape": _DEFAULTS["escape"] if self.quote is None else self.escape or "",
            "header": self.header,
            "multiLine": self.multi_line,
            "skipRows": self.skip_rows,
            "comment": self.comment,
            "encoding": self.encoding,
        }
        return {name: value for name, value in found.items() if value != _DEFAULTS[name]}

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        state = "" if self.is_clear else f"; unclear: {' '.join(self.doubts)}"
        return f"Dialect({said or 'the defaults'}; {self.columns} columns, score {self.score:.2f}{state})"


def shown(text: str | None) -> str:
    r"""A character or text as a person reads it.

    Example:
        >>> shown("\t"), shown(","), shown(None), shown("")
        ('tab', ',', 'none', 'none')
    """
    if not text:
        return "none"
    return {"\t": "tab", " ": "space", "\n": r"\n", "\r\n": r"\r\n", "\r": r"\r"}.get(text, text)
