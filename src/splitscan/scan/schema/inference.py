"""Find a schema in the data: look at the heads of some files, and merge what they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import SchemaError, SourceMissingError, Where
from splitscan.options import CsvOptions, HeaderMapping, JsonOptions, Mode, ReadOptions
from splitscan.scan.csv_files import header_mismatch
from splitscan.scan.formats import record_format
from splitscan.scan.schema.csv_sample import sample_names, sample_types
from splitscan.scan.schema.json_sample import sample_json, without_unseen
from splitscan.scan.schema.merge import Evidence, MergedSchema, merge_schemas
from splitscan.scan.spec import VALUE
from splitscan.splitting.contents import head_of, open_file

_THREADS = 8  # mostly waiting for the storage
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FoundSchema:
    """What the data says about the columns.

    Attributes:
        schema: The columns.
        merged: Where each was seen; without columns for formats whose records are one value.
        sampled: Number of files that were looked at.
    """

    schema: pa.Schema
    merged: MergedSchema
    sampled: int = 0


NOTHING = MergedSchema((), ())


def infer_schema(options: ReadOptions, files: Sequence[FileMetadata]) -> FoundSchema:
    """The schema of a scan for which none was given; without columns if no file has a record to take them from.

    Text has ``value: string``, fixed-length records and slices ``value: binary``. CSV takes its names from headers
    (``_c0``, ``_c1`` ... without) and all types ``string``, or, with ``inferSchema``, types that all sampled values of
    all sampled files fit. JSON has the fields of all sampled records. The result does not depend on the order in
    which files are listed; see :func:`splitscan.scan.schema.merge.merge_schemas`.

    Raises:
        SchemaError: If headers differ and are to be matched by position, or two fields of JSON differ in case only.
        SourceError: If a file cannot be read.
    """
    if isinstance(options.format, CsvOptions):
        return _infer_csv(options, options.format, files)
    if isinstance(options.format, JsonOptions):
        return _infer_json(options, options.format, files)
    kind = pa.binary() if options.format.text_encoding is None else pa.string()
    return FoundSchema(pa.schema([(VALUE, kind)]), NOTHING)


def spread(files: Sequence[FileMetadata], most: int) -> list[FileMetadata]:
    """At most *most* files that are not empty, by path: the first, the last, and others evenly between them.

    Example:
        >>> files = [FileMetadata(name, 1, 0, "", name) for name in "dbca"]
        >>> [file.path for file in spread(files, 3)]
        ['a', 'b', 'd']
    """
    full = sorted((file for file in files if file.size_bytes), key=lambda file: file.path)
    if len(full) <= most:
        return full
    return [full[(len(full) - 1) * i // (most - 1)] for i in range(most)] if most > 1 else full[:1]


def _infer_csv(options: ReadOptions, csv: CsvOptions, files: Sequence[FileMetadata]) -> FoundSchema:
    sampled = spread(files, options.schema.sample_files)
    if csv.header and csv.header_mapping is not HeaderMapping.NAME and not options.reading.infer_schema:
        names = _first_names(options, files)  # all other headers are compared with it when they are read
        sampled = [file for file, _ in names]
    else:
        names = [(file, found) for file, found in _of_each(options, sampled, sample_names) if found]
    if csv.header_mapping is not HeaderMapping.NAME:
        names = _by_position(csv, names)
    if options.reading.infer_schema:
        named = {file.path: found for file, found in names}
        looked_at = [file for file, _ in names]
        types = _of_each(options, looked_at, lambda o, head: sample_types(o, csv, head, named[head.file.path]))
    else:
        types = [(file, pa.schema([(name, pa.string()) for name in found])) for file, found in names]
    merged = merge_schemas(_evidence(types))
    return FoundSchema(merged.schema, merged, len(sampled))


def _first_names(options: ReadOptions, files: Sequence[FileMetadata]) -> list[tuple[FileMetadata, tuple[str, ...]]]:
    for file in spread(files, len(files)):
        for _, names in _of_each(options, [file], sample_names):
            if names:
                return [(file, names)]
    return []


def _by_position(
    csv: CsvOptions, names: list[tuple[FileMetadata, tuple[str, ...]]]
) -> list[tuple[FileMetadata, tuple[str, ...]]]:
    """The same columns under the names of the first file; headers that are read must agree with it."""
    if not names or not csv.header:
        return names
    first = names[0][1]
    if csv.enforce_schema is not True:
        for file, found in names:
            if [name.lower() for name in found] != [name.lower() for name in first]:
                raise header_mismatch(file, found, first, f"headers differ, and {names[0][0].name!r} was read first")
        return names
    return [(file, (*first[: len(found)], *(f"_c{i}" for i in range(len(first), len(found))))) for file, found in names]


def _infer_json(options: ReadOptions, json: JsonOptions, files: Sequence[FileMetadata]) -> FoundSchema:
    sampled = spread(files, options.schema.sample_files)
    samples = _of_each(options, sampled, lambda o, head: sample_json(o, json, head))
    merged = merge_schemas(_evidence([(file, sample.schema) for file, sample in samples]), match_case=True)
    _check_names(merged)
    schema = without_unseen(pa.schema([(column.name, column.kind) for column in merged.columns]), json)
    corrupt = options.reading.column_name_of_corrupt_record
    has_other = any(sample.has_other for _, sample in samples)
    if has_other and len(schema) and options.reading.mode is Mode.PERMISSIVE:
        schema = pa.schema([*(field for field in schema if field.name != corrupt), pa.field(corrupt, pa.string())])
    return FoundSchema(schema, merged, len(sampled))


def _check_names(merged: MergedSchema) -> None:
    spelling: dict[str, str] = {}
    for column in merged.columns:
        other = spelling.setdefault(column.name.lower(), column.name)
        if other != column.name:
            raise SchemaError(
                "records have fields that differ in case only",
                Where(column.sightings[0].path),
                seen=f"{other!r} and {column.name!r}",
                fix="pass a schema that names the one to read",
                code="bad-schema",
            )


def _of_each(
    options: ReadOptions, files: Sequence[FileMetadata], look: Callable[[ReadOptions, BlockMetadata], T]
) -> list[tuple[FileMetadata, T]]:
    """Look at the head of every file, some at a time; without files that vanished, where they may."""

    def look_at(file: FileMetadata) -> list[tuple[FileMetadata, T]]:
        try:
            return [(file, look(options, _head_of(options, file)))]
        except SourceMissingError:
            if not options.files.ignore_missing_files:
                raise
            return []

    if len(files) < 2:
        return [found for file in files for found in look_at(file)]
    with ThreadPoolExecutor(min(_THREADS, len(files)), thread_name_prefix="splitscan-sample") as pool:
        return [found for each in pool.map(look_at, files) for found in each]


def _head_of(options: ReadOptions, file: FileMetadata) -> BlockMetadata:
    with closing(open_file(file, options.files, record_format(options))) as source:
        return head_of(file, source, options.reading.sampling_bytes)


def _evidence(schemas: Sequence[tuple[FileMetadata, pa.Schema]]) -> Evidence:
    evidence = Evidence()
    for file, schema in schemas:
        evidence |= Evidence.of_file(file.path, schema)
    return evidence
