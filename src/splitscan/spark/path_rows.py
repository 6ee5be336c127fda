"""Rows that name what is to be split: paths, or files in the version that the row says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.content.storage import locate, redact
from splitscan.errors import UsageError, Where

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
    """What the rows of a batch name: paths, or files if they are *pinned*.

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
            "a pinned file has a size in bytes and a fingerprint",
            Where(path=redact(path)),
            seen=f"file_size {size}, fingerprint {fingerprint!r}",
            fix="take both as scan.files() has them",
            code="bad-path",
        )
    spelled = locate(path).path
    return FileMetadata(spelled, size, moment or 0, fingerprint, spelled.rstrip("/").rpartition("/")[2])
