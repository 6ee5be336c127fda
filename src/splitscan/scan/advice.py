"""Advice that a look at the data gives: options that are probably not what the user wants. Never changes a row."""

from __future__ import annotations

import codecs
import logging
from collections.abc import Iterator, Sequence
from contextlib import closing

from splitscan.blocks import FileMetadata
from splitscan.content.storage import redact
from splitscan.errors import SourceError
from splitscan.formats.contract import AdvisingFormat, spread
from splitscan.formats.registry import format_of, record_format
from splitscan.options import ReadOptions
from splitscan.read.contents import open_file

_LOG = logging.getLogger("splitscan")
_HEAD_BYTES = 64 * 1024
_SAMPLED_FILES = 8
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
    advice = _about_encoding(bytes(head), encoding)
    format = format_of(options)
    if advice is None and isinstance(format, AdvisingFormat):
        advice = format.advice(options.format, bytes(head).decode(_lenient(encoding), "replace"))
    if advice is None:
        return None
    advice = f"{redact(first.path)} {advice}"
    _LOG.warning(advice)
    return advice


def contradiction(options: ReadOptions, files: Sequence[FileMetadata]) -> tuple[str, str] | None:
    """What in a sample of the files cannot be meant as the options read it, if the format can tell.

    Args:
        options: Of the scan.
        files: Those to be read; of a few of them the beginning, the middle and the end are looked at.

    Returns:
        The path of the file and what was seen, or ``None``.
    """
    format, encoding = format_of(options), options.format.text_encoding
    if encoding is None or not isinstance(format, AdvisingFormat):
        return None
    for file in spread(files, _SAMPLED_FILES):
        for text in _samples(options, file, encoding):
            seen = format.contradiction(options.format, options.given, text)
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


def _is_wide(encoding: str) -> bool:
    return encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf16", "utf32"))


def _lenient(encoding: str) -> str:
    return encoding if _is_wide(encoding) else "latin-1"
