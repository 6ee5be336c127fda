"""Hypothesis strategies for CSV: dialects, and texts that are hard to read in them. Needs ``hypothesis``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.csv.options import BLANK_RUNS, BLANKS
from splitscan.formats.framing.encodings import resolve_encoding

SEPARATORS = (",", ",", ",", ";", "\t", "||", "~|", "aba", "§", "::", BLANK_RUNS, BLANK_RUNS)
LINE_SEPARATORS = (None, None, None, "\n", "\r\n", "\r", "|", "@#", "@@", "a@a", "@#*")
ENCODINGS = ("UTF-8", "UTF-8", "UTF-8", "ISO-8859-1", "UTF-16LE", "UTF-16BE", "UTF-32BE")


def dialects(encodings: Sequence[str] = ENCODINGS, multi_line: bool | None = None) -> st.SearchStrategy[CsvGrammar]:
    """Dialects of all kinds: long and self-overlapping delimiters, every quote and escape rule, comments.

    Args:
        encodings: Names to choose from.
        multi_line: Whether quoted fields may contain terminators; both by default.
    """
    quoting = st.sampled_from(
        [('"', '"'), ('"', "\\"), ('"', None), ("'", "'"), ("'", "/"), (None, "\\"), ("«", "«"), ("«", "¬")]
    )
    settings = st.fixed_dictionaries(
        {
            "encoding": st.sampled_from(list(encodings)).map(resolve_encoding),
            "sep": st.sampled_from(SEPARATORS),
            "quoting": quoting,
            "comment": st.sampled_from([None, None, "#", "¡"]),
            "line_sep": st.sampled_from(LINE_SEPARATORS),
            "multi_line": st.booleans() if multi_line is None else st.just(multi_line),
            "trim_leading": st.sampled_from([False, False, True]),
        }
    )
    return settings.filter(_is_consistent).map(_dialect)


def csv_texts(dialect: CsvGrammar, max_fields: int = 16) -> st.SearchStrategy[str]:
    """Texts in which the special characters of *dialect* meet often; some are proper records, some are not.

    Args:
        dialect: What the text is written in.
        max_fields: The longest text in fields.
    """
    quote, escape = dialect.quote or '"', dialect.escape or "\\"
    line_sep = dialect.line_sep or "\n"
    seps = separators(dialect)
    special = [
        quote,
        quote,
        escape,
        *seps,
        *dialect.sep_marks,
        *line_sep,
        "\n",
        "\r",
        dialect.comment or "#",
        " ",
        "a",
        "é",
        "©",
    ]
    raw = st.lists(st.sampled_from(special), max_size=5).map("".join)
    plain = st.text("ab é", max_size=3)
    quoted = raw.map(lambda value: quote_field(value, dialect))
    field = st.one_of(plain, quoted, quoted, raw)
    ends = [*seps, *seps, line_sep, line_sep, line_sep * 2, "\r\n" if dialect.line_sep is None else ""]
    pair = st.tuples(field, st.sampled_from(ends)).map("".join)
    return st.lists(pair, max_size=max_fields).map("".join)


def separators(dialect: CsvGrammar) -> list[str]:
    """Separators as a file has them."""
    return [" ", "\t", "  "] if dialect.runs else [dialect.sep]


def quote_field(value: str, dialect: CsvGrammar) -> str:
    """Write a value as a quoted field; without an escape, quotes in it are dropped."""
    quote, escape = dialect.quote, dialect.escape
    if quote is None:
        return value
    if escape is None:
        return quote + value.replace(quote, "") + quote
    if escape != quote:
        value = value.replace(escape, escape * 2)
    return quote + value.replace(quote, escape + quote) + quote


def _is_consistent(settings: dict[str, Any]) -> bool:
    """The rules that the options enforce: no delimiter contains another, nor the comment character."""
    sep, line_sep, comment = settings["sep"], settings["line_sep"], settings["comment"]
    marks = BLANKS if sep == BLANK_RUNS else (sep,)
    if line_sep is not None and any(mark in line_sep or line_sep in mark for mark in marks):
        return False
    if sep == BLANK_RUNS and settings["trim_leading"]:
        return False
    return comment is None or comment not in sep + (line_sep or "")


def _dialect(settings: dict[str, Any]) -> CsvGrammar:
    quote, escape = settings["quoting"]
    return CsvGrammar(quote=quote, escape=escape, **{name: settings[name] for name in settings if name != "quoting"})
