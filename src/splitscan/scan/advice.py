"""Advice that a look at the data gives: options that are probably not what the user wants. Never changes a row."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import closing

from splitscan.blocks import FileMetadata
from splitscan.errors import SourceError
from splitscan.options import CsvOptions, ReadOptions
from splitscan.storage import open_source, redact

_LOG = logging.getLogger("splitscan")
_HEAD_BYTES = 64 * 1024


def advise(options: ReadOptions, files: Sequence[FileMetadata]) -> str | None:
    """Look at the head of the first file, and log a warning when its quotes are doubled but not the escape.

    Spark's default escape is a backslash; nearly everybody else doubles quotes (RFC 4180). Read with the wrong one,
    fields keep their quotes, and separators inside them cut the record.

    Returns:
        The advice, or ``None``.
    """
    csv = options.format
    first = next((file for file in files if file.size_bytes), None)
    if first is None or not isinstance(csv, CsvOptions) or csv.escape != "\\" or csv.quote is None:
        return None
    try:
        with closing(open_source(first.path, options.files.storage_options)) as source:
            head = source.read_at(0, min(_HEAD_BYTES, first.size_bytes))
    except SourceError:
        return None  # whoever reads the file decides what that means
    if not _doubles_quotes(head.decode(_lenient(csv.encoding), "replace"), csv):
        return None
    advice = (
        f"{redact(first.path)} doubles quotes inside quoted fields and never escapes one with a backslash: "
        f"it probably wants option escape={csv.quote}"
    )
    _LOG.warning(advice)
    return advice


def _lenient(encoding: str) -> str:
    return encoding if encoding.lower().startswith(("utf-16", "utf-32")) else "latin-1"


def _doubles_quotes(head: str, csv: CsvOptions) -> bool:
    quote, sep = re.escape(csv.quote or ""), re.escape(csv.sep)
    edge = rf"(?:{sep}|[\r\n])"
    doubled = re.search(rf"(?<!{quote})(?<!{sep})(?<![\r\n]){quote}{quote}(?!{quote})(?!{edge})(?!\Z)", head)
    return doubled is not None and f"\\{csv.quote}" not in head
