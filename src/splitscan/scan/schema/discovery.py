"""The columns of files that only a reader of the user's own can read: found by opening some of them while planning."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.formats.merge import Evidence, merge_schemas
from splitscan.formats.sampling import FoundSchema, spread
from splitscan.options import ReadOptions
from splitscan.read.contents import open_file
from splitscan.scan.framework import OutputPlan, ReaderPlan, ScanOperator
from splitscan.scan.managed_reading import ManagedReading

_are = pa.types
_WIDER_INTEGERS = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


def discover_schema(reading: ManagedReading, options: ReadOptions, files: Sequence[FileMetadata]) -> FoundSchema:
    """The columns of files, in types that every engine has.

    A reader that declares its columns in ``open`` is asked for no row; another one is read for ``sampleBytes`` of rows.

    Args:
        reading: Makes the readers.
        options: How many files are looked at, and how far.
        files: The files; which ones are looked at does not depend on their order.
    """
    evidence = Evidence()
    sampled = spread(files, options.schema.sample_files)
    for file in sampled:
        evidence |= Evidence.of_file(file.path, deliverable(_schema_of(reading, options, file)))
    merged = merge_schemas(evidence)
    return FoundSchema(merged.schema, merged, len(sampled))


def _schema_of(reading: ManagedReading, options: ReadOptions, file: FileMetadata) -> pa.Schema:
    if reading.schema is not None:
        return reading.schema
    plan = OutputPlan(
        schema_first=True, batch_bytes=options.reading.sampling_bytes, ignore_missing=options.files.ignore_missing_files
    )
    reader = ReaderPlan(
        reading.make,
        BlockMetadata(file, 0, file.size_bytes, 0),
        lambda: open_file(file, options.files, reading),
        options=options,
        read_bytes=min(options.reading.read_bytes, options.reading.sampling_bytes),
    )
    with ScanOperator(plan, [reader]) as scan:
        scan.next_batch()
        if not scan.is_schema_complete:
            left = options.reading.sampling_bytes
            while left > 0 and (batch := scan.next_batch()) is not None:
                left -= batch.nbytes
        return pa.schema([]) if scan.schema is None else scan.schema


def deliverable(schema: pa.Schema) -> pa.Schema:
    """The same columns in types that Spark has too: nullable, without views, dictionaries and 64-bit offsets.

    Example:
        >>> str(deliverable(pa.schema([pa.field("t", pa.large_string(), nullable=False)])).field(0))
        'pyarrow.Field<t: string>'
    """
    return pa.schema([pa.field(field.name, _deliverable(field.type)) for field in schema])


def _deliverable(kind: pa.DataType) -> pa.DataType:
    if _are.is_dictionary(kind):
        return _deliverable(kind.value_type)
    if _are.is_struct(kind):
        return pa.struct([pa.field(inner.name, _deliverable(inner.type)) for inner in kind])
    if _are.is_map(kind):
        return pa.map_(_deliverable(kind.key_type), _deliverable(kind.item_type))
    if _are.is_nested(kind) and hasattr(kind, "value_type"):
        return pa.list_(_deliverable(kind.value_type))
    return _flat(kind)


def _flat(kind: pa.DataType) -> pa.DataType:
    if _are.is_large_string(kind) or _are.is_string_view(kind):
        return pa.string()
    if _are.is_large_binary(kind) or _are.is_binary_view(kind) or _are.is_fixed_size_binary(kind):
        return pa.binary()
    if _are.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if _are.is_uint64(kind):
        return pa.decimal128(20, 0)
    if _are.is_date64(kind):
        return pa.date32()
    return pa.float32() if _are.is_float16(kind) else _WIDER_INTEGERS.get(kind, kind)
