"""Files in, blocks out; blocks in, records out: the splitter and the reader as operators on DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.archives.opening import is_compressed_member, is_cut_off
from splitscan.errors import SchemaError, UsageError, bad_option
from splitscan.formats.framing.contract import RecordFormat, Splittability
from splitscan.formats.registry import parse_options
from splitscan.options import ReadOptions
from splitscan.reading.block_documents import for_tasks
from splitscan.reading.block_scan import scan_blocks
from splitscan.reading.own_formats import Reading, record_format_of
from splitscan.reading.spec import ScanSpec
from splitscan.scans import fill_index
from splitscan.scans.cutting import BlockLengths, cut_file, split_file
from splitscan.scans.dialects import advise
from splitscan.scans.inference import infer_schema
from splitscan.scans.listing import check_inside, list_files, no_files
from splitscan.scans.request import ReadRequest
from splitscan.spark.block_rows import (
    BLOCK_SCHEMA,
    OPTIONAL,
    REQUIRED,
    block_batches,
    check_columns,
    pin_columns,
    read_block_rows,
    read_path_rows,
)
from splitscan.spark.indexing import find_first_start, index_in_turn
from splitscan.spark.session import arrow_schema, check_interpreter, for_spark, in_session_zone, spark_schema

BatchFunction: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterable[pa.RecordBatch]]
"""From the batches of a task to others, as for ``mapInArrow``."""


@dataclass(frozen=True)
class Applied:
    """A function over batches, and what it returns.

    Attributes:
        function: Called once in each task.
        schema: Of every batch that it returns.

    Pickling: if *function* can be pickled, or is one that Spark pickles.
    """

    function: BatchFunction
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches that the function makes of others.

        Raises:
            SchemaError: If one has not the schema that was promised; Spark looks at the first one only.
        """
        for batch in self.function(batches):
            found = batch.schema if isinstance(batch, pa.RecordBatch) else None
            if found is None or not found.equals(self.schema):
                raise SchemaError(
                    "the function of apply returns batches of apply_schema",
                    seen=type(batch).__name__ if found is None else str(found),
                    fix=f"return record batches of: {self.schema}",
                    code="bad-schema",
                )
            yield batch


def as_applied(function: BatchFunction | None, schema: pa.Schema | None, limit: int | None) -> Applied | None:
    """Function and schema of ``apply`` and ``apply_schema``.

    Raises:
        UsageError: ``[bad-option]`` if one is given without the other, or beside a limit.
    """
    if function is None and schema is None:
        return None
    if function is None or schema is None:
        raise bad_option(
            "apply and apply_schema belong together",
            "apply_schema alone" if function is None else "apply alone",
            'pass both, as in to_spark(spark, apply=score, apply_schema="id long, score double")',
        )
    if limit is not None:
        raise bad_option(
            "a limit counts the records that are read, and which of them apply makes rows of is not known",
            f"limit {limit} and apply",
            "leave the limit out of the scan, and limit the DataFrame",
        )
    return Applied(function, schema)


Format: TypeAlias = str | Any
"""A record format by name, or one of the user's own, as :func:`splitscan.scan` takes it."""

_BLOCK_ID = "block_id"
_CONTEXT = Splittability.CONTEXT


def split_files(
    paths_df: DataFrame,
    *,
    block_size: int | str | None = None,
    path_column: str = "path",
    format: Format | None = None,
    roots: Sequence[str] | None = None,
    pinned: bool = False,
    **options: Any,
) -> DataFrame:
    """Files in, blocks out: the file splitter.

    Every row names a file, a directory or a glob. It is listed by the task that the row is in, and its blocks come out
    of that task, files in path order, blocks in offset order. Rows are not moved: ``repartition`` the paths before,
    or the blocks that follow it, as you need it. A file that two rows name comes out twice.

    Works on batch and streaming DataFrames. A file is not opened, but for a *format* that needs to know the state
    of its parser (CSV with ``multiLine``): then the task reads it once and fills in ``first_record_start``.

    A path says nothing of the version of a file: a task that runs again, or a window of a stream that is read again,
    lists and cuts what is there then. Rows that are *pinned* say it: they give the same blocks always, and a file that
    is no longer that version is an error for whoever reads them.

    Args:
        paths_df: Has a text column of paths.
        block_size: Length of a block; the default of option ``blockSize`` when not given.
        path_column: Name of that column.
        format: The record format that the blocks will be read with; lines, CSV without ``multiLine`` and fixed lengths
            need not be told.
        roots: Directories below which every path must lie, for paths that others wrote.
        pinned: Whether every row names one file, and has its ``file_size`` and ``fingerprint`` (and perhaps its
            ``file_modification_time``) in columns of these names, as ``scan.files()`` and blocks have them.
        options: Options of the format and of listing, by their Spark names or snake_case twins.

    Returns:
        The columns of ``splitscan.spark.block_rows.BLOCK_SCHEMA``: block_id, file_path, start, stop, file_size,
        file_modification_time, fingerprint, block_index, is_last, previous_block_id (null for the first of a file),
        first_record_start. An empty file has no block.

    Raises:
        UsageError: If there is no such column, or an option is unknown. In the task: if a path lies outside *roots*, or
            a row pins no version.
        SourceMissingError: In the task, if a path names nothing.
    """
    check_interpreter(paths_df.sparkSession)
    chosen = options if block_size is None else {**options, "block_size": block_size}
    read_options, context, framing = _resolve(format, chosen)
    _check_path_column(paths_df, path_column)
    allowed = None if roots is None else tuple(roots)
    pins = pin_columns(paths_df.columns) if pinned else ()

    def split(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in read_path_rows(batch, pinned=pinned):
                yield from block_batches(split_path(row, read_options, context, framing, allowed))

    rows = paths_df.select(*[paths_df[name] for name in (path_column, *pins)])
    return rows.mapInArrow(split, spark_schema(BLOCK_SCHEMA))


def split_path(
    path: str | FileMetadata | None,
    options: ReadOptions,
    context: RecordFormat | None = None,
    framing: Reading | None = None,
    roots: tuple[str, ...] | None = None,
) -> Iterator[BlockMetadata]:
    """The blocks of everything a path names; see :func:`split_files`.

    Args:
        path: File, directory or glob; or a file in a known version, which is not listed.
        options: How files are listed and cut.
        context: The record format, if it needs context: then first record starts are filled in.
        framing: How records are found; where that is not known, every file is cut by its length.
        roots: Directories below which the path must lie.
    """
    if path is None:
        raise UsageError("a row of split_files names a path", seen="null", fix="filter such rows out", code="bad-path")
    if roots is not None:
        check_inside(path.path if isinstance(path, FileMetadata) else path, roots)
    has_files = False
    for file in [path] if isinstance(path, FileMetadata) else list_files(path, options.files):
        has_files = True
        known = context if framing is None else framing
        if known is None:
            whole = is_compressed_member(file) or is_cut_off(file)
            blocks = split_file(file, options.files.block_bytes, splittable=not whole)
        else:
            blocks = cut_file(file, BlockLengths(options.files.block_bytes), known, options.files, most_shares=0)
        yield from blocks if context is None else fill_index(list(blocks), context, options, index_in_turn)
    if not has_files:
        raise no_files(str(path), options.files)


def read_blocks(
    blocks_df: DataFrame,
    format: Format = "csv",
    schema: str | pa.Schema | None = None,
    *,
    roots: Sequence[str] | None = None,
    **options: Any,
) -> DataFrame:
    """Blocks in, records out: the block reader.

    Every block is read by the task that its row is in, and gives exactly the records whose first byte lies in it.
    Works on batch and streaming DataFrames.

    A format that needs context (CSV with ``multiLine``) reads ``first_record_start`` from the row. Where that is null
    the task finds it: one counting pass over the file, remembered by the process. Let ``split_files`` do it.
    A value that is there is believed: whoever writes a wrong one gets wrong records.

    Args:
        blocks_df: Has the columns file_path, start, stop, file_size and fingerprint, as ``split_files`` gives them;
            file_modification_time, block_index and first_record_start are used if they are there.
        format: Record format, by name or of your own.
        schema: DDL text or an Arrow schema; CSV needs it, because no file is looked at here.
        roots: Directories below which every path must lie, for blocks that others wrote.
        options: Options by their Spark names or snake_case twins. ``metadata_columns`` carries what is known of the
            block and the record downstream.

    Returns:
        ``block_id`` and the columns of the records.

    Raises:
        UsageError: If there is no such column, an option is unknown, or the schema is missing. In the task: if a row
            is no block or its path lies outside *roots*.
        SourceChangedError: In the task, if a file is no longer the one that was split.
    """
    check_interpreter(blocks_df.sparkSession)
    spec = for_tasks(in_session_zone(_reading_spec(format, schema, options), blocks_df.sparkSession))
    columns = [name for name in (*REQUIRED, *OPTIONAL) if name in blocks_df.columns]
    chosen = blocks_df.select(*[blocks_df[name] for name in columns])
    check_columns(arrow_schema(chosen.schema), blocks_df.columns)
    allowed = None if roots is None else tuple(roots)
    _, context, _ = _resolve(format, options)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        advised = False
        for batch in batches:
            for block in read_block_rows(batch, allowed):
                if not (advised or block.start):  # as scans are, before the first file that is read from its beginning
                    advise(spec.options, [block.file], has_schema=True)
                    advised = True
                ready = block if context is None else find_first_start(block, context, spec.options)
                yield from for_spark(scan_blocks(spec, [ready]))

    return chosen.mapInArrow(read, spark_schema(spec.schema))


def _resolve(format: Format | None, options: dict[str, Any]) -> tuple[ReadOptions, RecordFormat | None, Reading | None]:
    """Options, the record format if it needs context, and how records are found, if a format was named."""
    if any(name.lower() == "where" for name in options):
        raise bad_option(
            "files and blocks are rows here: option where has no meaning",
            "where",
            "filter the DataFrame of paths or blocks",
        )
    if format is None:
        return parse_options("slices", options, "split_files without a format"), None, None
    asked = ReadRequest.of(format, None, options)
    format = record_format_of(asked.framing)
    context = format if format is not None and format.splittability is _CONTEXT else None
    return asked.options, context, asked.framing


def _check_path_column(paths_df: DataFrame, path_column: str) -> None:
    kinds = {field.name: field.dataType for field in paths_df.schema}
    if not isinstance(kinds.get(path_column), StringType):
        raise UsageError(
            f"split_files takes paths from a text column {path_column!r}",
            seen=", ".join(f"{name} {kind.simpleString()}" for name, kind in kinds.items()),
            fix="name the column with path_column=...",
            code="bad-path",
        )


def _reading_spec(format: Format, schema: str | pa.Schema | None, options: dict[str, Any]) -> ScanSpec:
    asked = ReadRequest.of(format, schema, options)
    if asked.options.reading.limit is not None:
        raise bad_option(
            "read_blocks has no limit: every block is read on its own",
            f"limit={asked.options.reading.limit}",
            "call limit on the DataFrame",
        )
    if schema is None and isinstance(format, str):
        own = asked.options.format
        finds_types = own.types_if_asked and asked.options.reading.infer_schema
        if own.has_columns and (finds_types or not own.says_columns):
            raise UsageError(
                f"read_blocks needs a schema for {asked.options.record_format}: no file is looked at before",
                seen="none",
                fix='pass one, like schema="id long, name string"; ss.scan(...).schema finds one in files',
                code="no-schema",
            )
        asked = replace(asked, given=infer_schema(asked.options, ()).schema)
    spec = asked.spec((asked.columns() or asked.found_in(())).schema)
    if _BLOCK_ID in (name.lower() for name in spec.fields.names):
        raise UsageError(
            f"the column {_BLOCK_ID} is the block's",
            seen=f"{_BLOCK_ID} in the schema",
            fix="give the records' own column another name, or list it in metadata_columns to place the block's",
            code="bad-schema",
        )
    return replace(spec, columns=tuple(dict.fromkeys((_BLOCK_ID, *spec.columns))))
