"""Columns that a file, a block or a record's place gives, not its bytes: names, types, values."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.path_text import as_text
from splitscan.redaction import redact

_TEXT = pa.string()
_FILE_TYPES = {
    "filename": _TEXT,
    "filepath": _TEXT,
    "fqn": _TEXT,
    "suffix": _TEXT,
    "file_path": _TEXT,
    "file_name": _TEXT,
    "file_size": pa.int64(),
    "file_modification_time": pa.timestamp("us", "UTC"),
}
_BLOCK_TYPES = {"file_block_start": pa.int64(), "file_block_length": pa.int64(), "block_id": pa.int64()}
_RECORD_TYPES = {"record_offset": pa.int64(), "record_length": pa.int64()}
METADATA_TYPES = _FILE_TYPES | _BLOCK_TYPES | _RECORD_TYPES
"""Columns that say where a record comes from, and their types; beside them there is ``dirN`` for every N."""

_DIRECTORY = re.compile(r"dir(0|[1-9][0-9]{0,3})", re.IGNORECASE)
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/*")


class Grain(enum.Enum):
    """How many records share one value of a column."""

    FILE = "all of a file"
    BLOCK = "all of a block"
    RECORD = "one"


def metadata_name(name: str) -> str | None:
    """The column that a name means, in any case; ``None`` if it is none of these.

    Example:
        >>> metadata_name("FileName"), metadata_name("DIR11"), metadata_name("dir01")
        ('filename', 'dir11', None)
    """
    lower = name.lower()
    return lower if lower in METADATA_TYPES or _DIRECTORY.fullmatch(lower) else None


def metadata_field(name: str) -> pa.Field:
    """The field of a column, whose name must be one."""
    return pa.field(name, METADATA_TYPES.get(name, _TEXT))


def grain_of(name: str) -> Grain:
    """How many records share one value of a column, whose name must be one."""
    if name in _BLOCK_TYPES:
        return Grain.BLOCK
    return Grain.RECORD if name in _RECORD_TYPES else Grain.FILE


def metadata_value(name: str, block: BlockMetadata) -> Any:
    """The value that all records of a block share: ``None`` for a directory that is not there.

    Raises:
        KeyError: If the column has a value of its own for every record.
    """
    return file_value(name, block.file) if grain_of(name) is Grain.FILE else _BLOCK_VALUES[name](block)


def file_value(name: str, file: FileMetadata) -> Any:
    """The value that all records of a file share. A table keeps it and people see it, so secrets in it are masked.

    Raises:
        KeyError: If they do not.

    Example:
        >>> file = FileMetadata("s3://lake/in/2024/a.csv.gz", 7, 0, "", "2024/a.csv.gz")
        >>> [file_value(name, file) for name in ("filename", "filepath", "fqn", "suffix", "dir0", "dir1")]
        ['a.csv.gz', '/lake/in/2024', '/lake/in/2024/a.csv.gz', 'gz', '2024', None]
        >>> file_value("filename", FileMetadata("https://host/a.csv?sig=se/cret", 7, 0, "", "a.csv?sig=se/cret"))
        'a.csv?sig=***'
    """
    number = _DIRECTORY.fullmatch(name)
    if redact(file.path) != file.path:
        file = replace(file, path=redact(file.path), relative_path=redact(file.relative_path))
    if number is None:
        return _FILE_VALUES[name](file)
    folders = file.relative_path.split("/")[:-1]
    index = int(number[1])
    return as_text(folders[index]) if index < len(folders) else None


def _without_scheme(file: FileMetadata) -> str:
    """The path as people write it below its root: ``s3://lake/a`` is ``/lake/a``."""
    return as_text(_SCHEME.sub("/", file.path) if "://" in file.path else file.path)


def _folder(file: FileMetadata) -> str:
    return _without_scheme(file).rpartition("/")[0] or "/"


def _suffix(file: FileMetadata) -> str:
    return as_text(file.name).rpartition(".")[2] if "." in file.name else ""


_FILE_VALUES: dict[str, Callable[[FileMetadata], Any]] = {
    "filename": lambda file: as_text(file.name),
    "filepath": _folder,
    "fqn": _without_scheme,
    "suffix": _suffix,
    "file_path": lambda file: as_text(file.path),
    "file_name": lambda file: as_text(file.name),
    "file_size": lambda file: file.size_bytes,
    "file_modification_time": lambda file: file.modified_us,
}
_BLOCK_VALUES: dict[str, Callable[[BlockMetadata], Any]] = {
    "file_block_start": lambda block: block.start,
    "file_block_length": lambda block: block.length_bytes,
    "block_id": lambda block: block.block_id,
}
