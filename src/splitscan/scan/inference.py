"""Find a schema in the data: names from the header, types from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.decoding.conversions import Rules, convert
from splitscan.errors import SchemaError
from splitscan.framing.quoted import QuotedFormat, split_fields
from splitscan.options import CsvOptions, JsonOptions, Mode, ReadOptions
from splitscan.scan.block_scan import BlockScan
from splitscan.scan.formats import record_format, unique_names
from splitscan.scan.json_inference import infer_json
from splitscan.scan.spec import make_spec
from splitscan.splitting.block_reader import BlockReader
from splitscan.splitting.cursor import Framed
from splitscan.storage import open_source

VALUE = "value"
_SAMPLED_FILES = 16
_CANDIDATES = (
    pa.int32(),
    pa.int64(),
    pa.float64(),
    pa.date32(),
    pa.timestamp("us", "UTC"),
    pa.bool_(),
)
_WIDER = {
    frozenset({pa.int32(), pa.int64()}): pa.int64(),
    frozenset({pa.int32(), pa.float64()}): pa.float64(),
    frozenset({pa.int64(), pa.float64()}): pa.float64(),
    frozenset({pa.date32(), pa.timestamp("us", "UTC")}): pa.timestamp("us", "UTC"),
}


def infer_schema(options: ReadOptions, files: Sequence[FileMetadata]) -> pa.Schema:
    """The schema of a scan for which none was given.

    Text has ``value: string``, fixed-length records and slices ``value: binary``. CSV takes its names from the first
    file that has a record (``_c0``, ``_c1`` ... without header) and all types ``string``, or, with ``inferSchema``,
    types that all sampled values of all sampled files fit: widened from int to bigint to double, from date to
    timestamp, and string where they disagree. JSON has the fields of all sampled records: see
    :func:`splitscan.scan.json_inference.infer_json`. The result does not depend on the order in which files are listed.

    Raises:
        SchemaError: If there is no file with a record to take columns from.
    """
    if options.record_format == "text":
        return pa.schema([(VALUE, pa.string())])
    if not isinstance(options.format, CsvOptions | JsonOptions):
        return pa.schema([(VALUE, pa.binary())])
    sampled = sorted((f for f in files if f.size_bytes), key=lambda f: f.path)[:_SAMPLED_FILES]
    if isinstance(options.format, JsonOptions):
        schema = infer_json(options, options.format, [_head(options, file) for file in sampled])
        if len(schema):
            return schema
        sampled = []
    for file in sampled:
        names = _names(options, file)
        if names:
            kinds = _kinds(options, sampled, names) if options.reading.infer_schema else [pa.string()] * len(names)
            return pa.schema(list(zip(names, kinds, strict=True)))
    raise SchemaError(
        "no file has a record to take the columns from",
        seen=f"{len(files)} files",
        fix="pass a schema",
        code="no-schema",
    )


def _head(options: ReadOptions, file: FileMetadata) -> BlockMetadata:
    return BlockMetadata(file, 0, min(file.size_bytes, options.reading.sampling_bytes), 0)


def _names(options: ReadOptions, file: FileMetadata) -> list[str]:
    source = open_source(file.path, options.files.storage_options)
    try:
        reading = options.reading
        reader = BlockReader(
            source,
            _head(options, file),
            record_format(options),
            max_record_bytes=reading.max_record_bytes,
            read_bytes=reading.sampling_bytes,
        )
        if reader.preamble.header is not None:
            return unique_names(reader.preamble.header)
        for step in reader:
            if isinstance(step, Framed) and isinstance(reader.preamble.format, QuotedFormat):
                return _positions(step, reader.preamble.format)
    finally:
        source.close()
    return []


def _positions(step: Framed, format: QuotedFormat) -> list[str]:
    first = bytes(step.data[int(step.frames.starts[0]) : int(step.frames.stops[0])])
    dialect = format.dialect
    utf8 = first.decode(dialect.encoding.codec, "replace").encode("utf-8")
    return [f"_c{i}" for i in range(len(split_fields(utf8, dialect.in_utf8)))]


def _kinds(options: ReadOptions, files: Sequence[FileMetadata], names: list[str]) -> list[pa.DataType]:
    lenient = replace(options.reading, mode=Mode.PERMISSIVE, columns=None, metadata_columns=())
    spec = make_spec(replace(options, reading=lenient), pa.schema([(name, pa.string()) for name in names]))
    found: list[pa.DataType | None] = [None] * len(names)
    for file in files:
        for batch in BlockScan(spec, _head(options, file)):
            found = [_merge(old, _kind(options, batch.column(i))) for i, old in enumerate(found)]
    return [kind or pa.string() for kind in found]


def _kind(options: ReadOptions, column: pa.Array) -> pa.DataType | None:
    """The narrowest type that all values of a sample fit; None without a value."""
    values = column.drop_null()
    if not len(values):
        return None
    rules = _rules(options)
    may_be_date = not isinstance(options.format, CsvOptions) or options.format.prefer_date
    for kind in _CANDIDATES:
        if pa.types.is_date32(kind) and (not may_be_date or pc.any(pc.match_substring(values, ":")).as_py()):
            continue  # a date with a time is a timestamp
        if convert(values, kind, rules)[1] is None:
            return kind
    return pa.string()


def _rules(options: ReadOptions) -> Rules:
    csv = options.format
    if not isinstance(csv, CsvOptions):
        return Rules()
    return Rules(csv.nan_value, csv.positive_inf, csv.negative_inf, csv.date_format, csv.timestamp_format)


def _merge(left: pa.DataType | None, right: pa.DataType | None) -> pa.DataType | None:
    if left is None or right is None or left == right:
        return left or right
    return _WIDER.get(frozenset({left, right}), pa.string())
