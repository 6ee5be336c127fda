"""What a sample of a file shows that is probably not meant as the options read it."""

from __future__ import annotations

import re

from splitscan.formats.csv.options import CsvOptions

_SHOWN_CHARACTERS = 60


def advice(csv: CsvOptions, text: str) -> str | None:
    """What to say about a file that doubles quotes and is read with Spark's default escape."""
    if csv.escape != "\\" or csv.quote is None or not _doubles_quotes(text, csv):
        return None
    return (
        "doubles quotes inside quoted fields and never escapes one with a backslash: "
        f"it probably wants option escape={csv.quote}"
    )


def contradiction(csv: CsvOptions, given: frozenset[str], text: str) -> str | None:
    """A quoted field with a doubled quote in it, if no quote is escaped by a backslash and nobody asked for that.

    Spark's default escape is the backslash. With it such fields keep their quotes, and separators in them end fields.
    """
    if csv.quote is None or csv.escape != "\\" or "escape" in given or f"\\{csv.quote}" in text:
        return None
    quote, sep = re.escape(csv.quote), re.escape(csv.sep)
    edge = rf"(?:{sep}|[\r\n])"
    found = re.search(rf"(?:\A|{edge})({quote}[^{quote}]*{quote}{quote}(?!{quote})(?!{edge})(?!\Z).{{0,20}})", text)
    return None if found is None else found[1][-_SHOWN_CHARACTERS:]


def _doubles_quotes(text: str, csv: CsvOptions) -> bool:
    quote, sep = re.escape(csv.quote or ""), re.escape(csv.sep)
    edge = rf"(?:{sep}|[\r\n])"
    doubled = re.search(rf"(?<!{quote})(?<!{sep})(?<![\r\n]){quote}{quote}(?!{quote})(?!{edge})(?!\Z)", text)
    return doubled is not None and f"\\{csv.quote}" not in text
