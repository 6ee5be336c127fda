"""One file of rows: Parquet, CSV or JSON Lines, written as a stream, there as a whole or not at all."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from splitscan.content.storage import open_storage, redact
from splitscan.errors import IngestError, SchemaError, UsageError, Where
from splitscan.formats.json.writing import json_lines, plain_texts
from splitscan.jobs.parquet import CountingOutput, open_parquet
from splitscan.jobs.settings import IngestSettings


class FileKind(enum.Enum):
    """Format of the file."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON_LINES = "jsonl"


_KINDS = {
    ".parquet": FileKind.PARQUET,
    ".csv": FileKind.CSV,
    ".jsonl": FileKind.JSON_LINES,
    ".ndjson": FileKind.JSON_LINES,
    ".json": FileKind.JSON_LINES,
}
Write: TypeAlias = Callable[[pa.RecordBatch], object]

_CODECS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True, slots=True)
class FileTarget:
    """A file to be: its folder, its name there, what is in it, and how it is compressed as a whole.

    Example:
        >>> FileTarget.of("out/a.csv.gz")
        FileTarget(folder='out', name='a.csv.gz', kind=<FileKind.CSV: 'csv'>, codec='gzip')
    """

    folder: str
    name: str
    kind: FileKind
    codec: str | None = None

    @classmethod
    def of(cls, path: str) -> FileTarget:
        """Parse a path: ``[bad-path]`` if its name does not end as one of those does that can be written."""
        folder, _, name = path.rpartition("/")
        stem, lowered = name.lower(), name.lower()
        codec = next((codec for ending, codec in _CODECS.items() if lowered.endswith(ending)), None)
        if codec is not None:
            stem = lowered.rpartition(".")[0]
        kind = next((kind for ending, kind in _KINDS.items() if stem.endswith(ending)), None)
        if kind is None or (kind is FileKind.PARQUET and codec is not None):
            raise UsageError(
                "the name of the file says what is written", seen=redact(path),
                fix=f"let it end in one of {', '.join(_KINDS)}; all but Parquet also with {' or '.join(_CODECS)} "
                "after it", code="bad-path",
            )  # fmt: skip
        return cls(folder or ("/" if path.startswith("/") else "."), name, kind, codec)


@dataclass(frozen=True, slots=True)
class WroteFile:
    """A file that was written."""

    path: str
    rows: int
    size_bytes: int


def write_file(
    target: FileTarget,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    storage_options: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = False,
) -> WroteFile:
    """Write rows to one file. Under its name it is there whole, or not at all; an error leaves nothing.

    Raises:
        SchemaError: ``[csv-type]`` if CSV has no text for a column.
        IngestError: ``[file-exists]`` if it is there already; if it cannot be written.
    """
    _check_types(target, schema)
    storage = open_storage(target.folder, storage_options)
    path = redact(storage.path_of(target.name))
    if storage.exists(target.name) and not overwrite:
        raise IngestError(
            "there is a file of this name already, and it is left alone", Where(path=path), "a file",
            "name another, or say --overwrite", "file-exists",
        )  # fmt: skip
    rows = 0
    with storage.open_output(target.name) as raw:
        counted = CountingOutput(raw)
        with _compressed(counted, target.codec) as output, _WRITERS[target.kind](output, schema) as write:
            for batch in batches:
                write(batch)
                rows += batch.num_rows
    return WroteFile(path, rows, counted.size_bytes)


def _check_types(target: FileTarget, schema: pa.Schema) -> None:
    if target.kind is not FileKind.CSV:
        return
    for field in schema:
        if pa.types.is_nested(field.type):
            raise SchemaError(
                f"column {field.name} holds other values, and CSV has no text for them", seen=str(field.type),
                fix="write Parquet or JSON Lines, or leave the column out with --columns", code="csv-type",
            )  # fmt: skip


@contextmanager
def _compressed(output: CountingOutput, codec: str | None) -> Iterator[Any]:
    if codec is None:
        yield output
        return
    with pa.CompressedOutputStream(pa.PythonFile(output, "w"), codec) as stream:
        yield stream


@contextmanager
def _parquet(output: CountingOutput, schema: pa.Schema) -> Iterator[Write]:
    settings = IngestSettings()
    pending: list[pa.RecordBatch] = []
    rows = size_bytes = 0
    with open_parquet(output, schema, settings) as writer:  # Arrow writes a footer, whatever happened

        def flush() -> None:
            nonlocal rows, size_bytes
            if rows:
                writer.write_table(pa.Table.from_batches(pending, schema), row_group_size=rows)
            pending.clear()
            rows = size_bytes = 0

        def write(batch: pa.RecordBatch) -> None:
            nonlocal rows, size_bytes
            pending.append(batch)
            rows, size_bytes = rows + batch.num_rows, size_bytes + batch.nbytes
            if rows >= settings.row_group_rows or size_bytes >= settings.row_group_bytes:
                flush()

        yield write
        flush()


@contextmanager
def _csv(output: Any, schema: pa.Schema) -> Iterator[Write]:
    """CSV as RFC 4180 has it: null is nothing, an empty text is two quotes."""
    plain = pa.csv.WriteOptions(include_header=False)
    pa.csv.write_csv(pa.table({str(n): pa.array([name]) for n, name in enumerate(schema.names)}), output, plain)

    def write(batch: pa.RecordBatch) -> None:
        columns = [_as_csv(column) for column in batch.columns]
        if len(columns) == 1:  # a line without anything is no record
            columns = [pc.fill_null(plain_texts(columns[0]), "")]
        pa.csv.write_csv(pa.RecordBatch.from_arrays(columns, list(map(str, range(len(columns))))), output, plain)

    yield write
    output.flush()


def _as_csv(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(values)).as_py():
        texts = plain_texts(values)
        return pc.replace_substring(texts, "Infinity", "Inf")
    return plain_texts(values) if pa.types.is_binary(kind) else values


@contextmanager
def _json_lines(output: Any, schema: pa.Schema) -> Iterator[Write]:
    yield lambda batch: output.write(json_lines(batch))
    output.flush()


_WRITERS = {FileKind.PARQUET: _parquet, FileKind.CSV: _csv, FileKind.JSON_LINES: _json_lines}
"""Writers of batches as bytes; what one holds back comes when its block ends, and not after an error."""
