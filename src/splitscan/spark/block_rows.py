"""Paths, files and blocks as rows of a DataFrame, and back. A row may come from anywhere, so it is validated first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.storage import locate, redact
from splitscan.errors import UsageError, Where
from splitscan.scans.listing import check_inside

PINS = ("file_size", "fingerprint")
"""Columns that say which version of a file is meant, as a listing of splitscan has them."""

_MOMENT = "file_modification_time"


def pin_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that pin files, of those there are.

    Raises:
        UsageError: ``[bad-path]`` if one is missing.
    """
    for name in PINS:
        if name not in columns:
            raise UsageError(
                f"a pinned file has the columns {' and '.join(PINS)} beside its path",
                seen=f"no {name} in {', '.join(columns)}",
                fix="add them, as scan.files() and blocks have them; or leave out pinned=True",
                code="bad-path",
            )
    return (*PINS, _MOMENT) if _MOMENT in columns else PINS


def read_path_rows(batch: pa.RecordBatch, *, pinned: bool) -> Iterator[str | FileMetadata | None]:
    """Inputs named by the rows of a batch: paths, or files if they are *pinned*.

    Args:
        batch: The column of paths, and after it those of :func:`pin_columns`.
        pinned: Whether these are there.

    Raises:
        UsageError: ``[bad-path]`` if a row pins no version.
    """
    paths = batch.column(0).to_pylist()
    if not pinned:
        yield from paths
        return
    moments = [0] * len(paths)
    if _MOMENT in batch.schema.names:
        column = batch.column(batch.schema.get_field_index(_MOMENT))
        moments = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    sizes, fingerprints = (batch.column(number).to_pylist() for number in (1, 2))
    for path, size, fingerprint, moment in zip(paths, sizes, fingerprints, moments, strict=True):
        yield None if path is None else _pinned(path, size, fingerprint, moment)


def _pinned(path: str, size: int | None, fingerprint: str | None, moment: int | None) -> FileMetadata:
    if size is None or size < 0 or not fingerprint:
        raise UsageError(
            "a pinned file has a size in bytes and a fingerprint", Where(path=redact(path)),
            seen=f"file_size {size}, fingerprint {fingerprint!r}", fix="take both as scan.files() has them",
            code="bad-path",
        )  # fmt: skip
    spelled = locate(path).path
    return FileMetadata(spelled, size, moment or 0, fingerprint, spelled.rstrip("/").rpartition("/")[2])


BLOCK_SCHEMA = pa.schema(
    [
        pa.field("block_id", pa.int64(), nullable=False),
        pa.field("file_path", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("stop", pa.int64(), nullable=False),
        pa.field("file_size", pa.int64(), nullable=False),
        pa.field("file_modification_time", pa.timestamp("us", "UTC"), nullable=False),
        pa.field("fingerprint", pa.string(), nullable=False),
        pa.field("block_index", pa.int64(), nullable=False),
        pa.field("is_last", pa.bool_(), nullable=False),
        pa.field("previous_block_id", pa.int64()),
        pa.field("first_record_start", pa.int64()),
    ]
)
"""Columns of a DataFrame of blocks."""

REQUIRED = ("file_path", "start", "stop", "file_size", "fingerprint")
OPTIONAL = ("file_modification_time", "block_index", "first_record_start")
_KINDS: dict[type, tuple[str, Callable[[pa.DataType], bool]]] = {
    str: ("text", lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind)),
    int: ("a whole number", pa.types.is_integer),
    datetime: ("a timestamp", pa.types.is_timestamp),
}
_COLUMNS = {
    "file_path": str, "start": int, "stop": int, "file_size": int, "fingerprint": str,
    "file_modification_time": datetime, "block_index": int, "first_record_start": int,
}  # fmt: skip
_BATCH_ROWS = 8192


def block_batches(blocks: Iterable[BlockMetadata]) -> Iterator[pa.RecordBatch]:
    """Blocks, all of a file one after the other, as batches of ``BLOCK_SCHEMA``; lazily."""
    rows = _rows(blocks)
    while batch := list(islice(rows, _BATCH_ROWS)):
        yield pa.RecordBatch.from_pylist(batch, schema=BLOCK_SCHEMA)


def _rows(blocks: Iterable[BlockMetadata]) -> Iterator[dict[str, Any]]:
    previous: tuple[FileMetadata, int] | None = None
    for block in blocks:
        block_id = block.block_id
        yield {
            "block_id": block_id,
            "file_path": block.file.path,
            "start": block.start,
            "stop": block.stop,
            "file_size": block.file.size_bytes,
            "file_modification_time": block.file.modified_us,
            "fingerprint": block.file.fingerprint,
            "block_index": block.index,
            "is_last": block.is_last,
            "previous_block_id": previous[1] if previous is not None and previous[0] == block.file else None,
            "first_record_start": block.first_record_start,
        }
        previous = (block.file, block_id)


def check_columns(schema: pa.Schema, shown: Sequence[str] = ()) -> None:
    """Make sure that a table holds blocks: the columns ``REQUIRED``, and no column of another type than blocks have.

    Args:
        schema: The columns that blocks are made of, as far as they are there.
        shown: All columns there are, for the message.

    Raises:
        UsageError: ``[bad-block]`` naming the column.
    """
    for name in REQUIRED:
        if name not in schema.names:
            raise UsageError(
                f"a DataFrame of blocks has the columns {', '.join(REQUIRED)}",
                seen=f"no {name} in {', '.join(shown or schema.names)}",
                fix="make it with split_files",
                code="bad-block",
            )
    for field in schema:
        if field.name in _COLUMNS:
            expected, fits = _KINDS[_COLUMNS[field.name]]
            if not (fits(field.type) or pa.types.is_null(field.type)):
                raise UsageError(
                    f"column {field.name} of a DataFrame of blocks is {expected}", Where(column=field.name),
                    seen=str(field.type), fix="make it with split_files, or cast the column", code="bad-block",
                )  # fmt: skip


def read_block_rows(batch: pa.RecordBatch, roots: tuple[str, ...] | None) -> Iterator[BlockMetadata]:
    """The blocks that a batch of rows names.

    Args:
        batch: The columns ``REQUIRED``, and any of ``OPTIONAL``.
        roots: Directories below which every path must lie; ``None`` trusts all paths.

    Raises:
        UsageError: ``[bad-block]`` if a column has another type or a row is no block, ``[path-escapes]`` if its path
            lies elsewhere.
    """
    check_columns(batch.schema)
    if "file_modification_time" in batch.schema.names:
        number = batch.schema.get_field_index("file_modification_time")
        moments = batch.column(number).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        batch = batch.set_column(number, "file_modification_time", moments)
    for row in batch.to_pylist():
        yield _read_row(row, roots)


def _read_row(row: dict[str, Any], roots: tuple[str, ...] | None) -> BlockMetadata:
    missing = [name for name in REQUIRED if row.get(name) is None]
    if missing:
        raise _bad_block(row, f"{missing[0]} is null")
    path, start, stop, size = row["file_path"], row["start"], row["stop"], row["file_size"]
    first, index = row.get("first_record_start"), row.get("block_index") or 0
    if not 0 <= start < stop <= size:
        raise _bad_block(row, f"[{start}, {stop}) of {size} bytes")
    if index < 0:
        raise _bad_block(row, f"block_index {index}")
    if first is not None and not start <= first <= size:
        raise _bad_block(row, f"first_record_start {first} for [{start}, {stop}) of {size} bytes")
    if roots is not None:
        check_inside(path, roots)
    name = path.rstrip("/").rpartition("/")[2]
    file = FileMetadata(path, size, row.get("file_modification_time") or 0, row["fingerprint"], name)
    return BlockMetadata(file, start, stop, index, first)


def _bad_block(row: dict[str, Any], seen: str) -> UsageError:
    path = row.get("file_path")
    return UsageError(
        "a block is a file, its size and fingerprint, and a range [start, stop) inside it",
        Where(path=redact(path) if path is not None else None), seen=seen, fix="take blocks as split_files gives them",
        code="bad-block",
    )  # fmt: skip
