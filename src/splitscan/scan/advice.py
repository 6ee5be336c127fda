"""Advice that a look at the data gives: options that are probably not what the user wants. Never changes a row."""

from __future__ import annotations

import codecs
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import closing

from splitscan.blocks import FileMetadata
from splitscan.errors import SourceError
from splitscan.formats.registry import record_format
from splitscan.formats.sampling import spread
from splitscan.options import CsvOptions, ReadOptions, RecordOptions
from splitscan.splitting.contents import open_file
from splitscan.storage import redact

_LOG = logging.getLogger("splitscan")
_HEAD_BYTES = 64 * 1024
_SAMPLED_FILES = 8
_SHOWN_CHARACTERS = 60
_NUL_SHARE = 10  # one byte in so many is zero: more than a stray one
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def advise(options: ReadOptions, files: Sequence[FileMetadata]) -> str | None:
    """Look at the head of the first file, and log a warning when an option is probably not what its text needs.

    Text of two or four bytes for each character, read as if it had one, becomes rows of rubbish. And Spark's default
    escape is a backslash, where nearly everybody else doubles quotes (RFC 4180): read with the wrong one, fields keep
    their quotes, and separators inside them cut the record.

    Returns:
        The advice, or ``None``.
    """
    first = next((file for file in files if file.size_bytes), None)
    encoding = getattr(options.format, "encoding", None)
    if first is None or encoding is None:
        return None
    try:
        with closing(open_file(first, options.files, record_format(options))) as source:
            head = source.read_at(0, _HEAD_BYTES)
    except SourceError:
        return None  # whoever reads the file decides what that means
    advice = _about_encoding(bytes(head), encoding) or _about_quotes(bytes(head), options.format)
    if advice is None:
        return None
    advice = f"{redact(first.path)} {advice}"
    _LOG.warning(advice)
    return advice


def contradiction(options: ReadOptions, files: Sequence[FileMetadata]) -> tuple[str, str] | None:
    """What in a sample of the files cannot be meant as the options read it.

    That is a quoted field with doubled quotes in it, and no quote after a backslash, where nobody said what escapes a
    quote: Spark's default is the backslash, so such fields keep their quotes, and separators in them end fields.

    Args:
        options: Of the scan.
        files: Those to be read; of a few of them the beginning, the middle and the end are looked at.

    Returns:
        The path of the file and what was seen, or ``None``.
    """
    csv = options.format
    if not isinstance(csv, CsvOptions) or csv.quote is None or csv.escape != "\\" or "escape" in options.given:
        return None
    for file in spread(files, _SAMPLED_FILES):
        for text in _samples(options, file, csv.encoding):
            seen = _doubled_in_quotes(text, csv)
            if seen is not None:
                return file.path, seen
    return None


def _samples(options: ReadOptions, file: FileMetadata, encoding: str) -> Iterator[str]:
    last = 0 if file.compression is not None else max(0, file.size_bytes - _HEAD_BYTES)
    try:
        with closing(open_file(file, options.files, record_format(options))) as source:
            for offset in sorted({0, last // 2, last}):
                yield bytes(source.read_at(offset // 4 * 4, _HEAD_BYTES)).decode(_lenient(encoding), "replace")
    except SourceError:
        return  # whoever reads the file decides what that means


def _doubled_in_quotes(text: str, csv: CsvOptions) -> str | None:
    """A quoted field with a doubled quote in it, if there is one and no quote is escaped by a backslash."""
    quote, sep = re.escape(csv.quote or ""), re.escape(csv.sep)
    if f"\\{csv.quote}" in text:
        return None
    edge = rf"(?:{sep}|[\r\n])"
    found = re.search(rf"(?:\A|{edge})({quote}[^{quote}]*{quote}{quote}(?!{quote})(?!{edge})(?!\Z).{{0,20}})", text)
    return None if found is None else found[1][-_SHOWN_CHARACTERS:]


def _about_encoding(head: bytes, encoding: str) -> str | None:
    """What to say about bytes that are no text of one byte for a character."""
    if _is_wide(encoding):
        return None
    wanted = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if wanted is not None:
        return f"begins with the mark of {wanted}: it probably wants option encoding={wanted}"
    if not head or head.count(0) * _NUL_SHARE < len(head):
        return None
    zeros = [head[i::2].count(0) for i in (0, 1)]
    wanted = "UTF-16LE" if zeros[1] > zeros[0] else "UTF-16BE"
    return f"has many bytes that are zero: it is no text in {encoding}, and perhaps wants option encoding={wanted}"


def _about_quotes(head: bytes, csv: RecordOptions) -> str | None:
    """What to say about a file that doubles quotes."""
    if not isinstance(csv, CsvOptions) or csv.escape != "\\" or csv.quote is None:
        return None
    if not _doubles_quotes(head.decode(_lenient(csv.encoding), "replace"), csv):
        return None
    return (
        "doubles quotes inside quoted fields and never escapes one with a backslash: "
        f"it probably wants option escape={csv.quote}"
    )


def _is_wide(encoding: str) -> bool:
    return encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf16", "utf32"))


def _lenient(encoding: str) -> str:
    return encoding if _is_wide(encoding) else "latin-1"


def _doubles_quotes(head: str, csv: CsvOptions) -> bool:
    quote, sep = re.escape(csv.quote or ""), re.escape(csv.sep)
    edge = rf"(?:{sep}|[\r\n])"
    doubled = re.search(rf"(?<!{quote})(?<!{sep})(?<![\r\n]){quote}{quote}(?!{quote})(?!{edge})(?!\Z)", head)
    return doubled is not None and f"\\{csv.quote}" not in head
