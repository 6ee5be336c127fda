"""Files whose head names the columns of all records: no line after it may name others."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.errors import RecordError, Where, quote_bytes
from splitscan.formats.framing.contract import OneHeaderFormat
from splitscan.sizes import MIB

_CHECKED_BYTES = 4 * MIB
_SHOWN_BYTES = 200
_FILES = 1024  # which are not read again for that


class _Once:
    """Something that is done once, by the first of several threads."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.is_done = False


@lru_cache(maxsize=_FILES)
def _check_of(file: FileMetadata, format: Any) -> _Once:
    return _Once()


def check_columns(source: ByteSource, file: FileMetadata, format: OneHeaderFormat, position: int) -> None:
    """Refuse a file that names other columns later, before any value lands in a wrong one.

    A block in the middle cannot see what was named before it. So the file is read once to its end by each process,
    which looks for such lines only.

    Raises:
        RecordError: ``[header-changed]``.
    """
    configuration: Any = format  # formats are hashable: part of their contract
    check = _check_of(file, configuration)
    with check.lock:
        data, at_end = b"", check.is_done
        while not at_end:
            wanted = min(_CHECKED_BYTES, file.content_bytes - position)
            read = source.read_at(position, wanted)
            position += len(read)
            at_end = len(read) < wanted or position == file.content_bytes
            data += read
            found, rest = format.other_columns(data, at_end=at_end)
            if found is not None:
                raise RecordError(
                    "a line in the middle of a file names other columns than its head",
                    Where(file.path, offset=position - len(data) + found),
                    seen=quote_bytes(data[found : found + _SHOWN_BYTES].splitlines()[0]),
                    fix="split the file before that line into files of their own, whose columns may differ; or read it "
                    "as lines, with recordFormat=text",
                    code="header-changed",
                )
            data = rest
        check.is_done = True
