"""The immutable description of a scan: options, the records' own columns, the columns to deliver."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from splitscan.decoding.patterns import strptime_format
from splitscan.errors import SchemaError, UsageError, Where
from splitscan.options import CsvOptions, ReadOptions
from splitscan.splitting.record_readers import Framing

METADATA_TYPES = {
    "file_path": pa.string(),
    "file_name": pa.string(),
    "file_size": pa.int64(),
    "file_modification_time": pa.timestamp("us", "UTC"),
    "file_block_start": pa.int64(),
    "file_block_length": pa.int64(),
    "block_id": pa.int64(),
    "record_offset": pa.int64(),
    "record_length": pa.int64(),
}
"""Columns that say where a record comes from, and their types."""


@dataclass(frozen=True)
class ScanSpec:
    """What every task of a scan must know.

    Attributes:
        options: What the user said.
        fields: The records' own columns, in file order.
        columns: Names of the columns to deliver, in order: of ``fields``, the corrupt record column, metadata columns.
        framing: A record format or reader context of the user's own, in place of the one that ``options`` describe.

    Pickling: plain values only.
    """

    options: ReadOptions
    fields: pa.Schema
    columns: tuple[str, ...]
    framing: Framing | None = None

    @property
    def corrupt_column(self) -> str:
        """Name of the column that holds the text of broken records."""
        return self.options.reading.column_name_of_corrupt_record

    @property
    def schema(self) -> pa.Schema:
        """Schema of every batch."""
        own = {field.name: field for field in self.fields}
        return pa.schema([own.get(name) or self._other_field(name) for name in self.columns])

    @property
    def wanted(self) -> tuple[int, ...]:
        """Indices into ``fields`` of the data columns to deliver, in delivery order."""
        index = {name: index for index, name in enumerate(self.fields.names)}
        return tuple(index[name] for name in self.columns if name in index)

    @property
    def judged(self) -> tuple[int, ...]:
        """Indices into ``fields`` of the data columns whose values must convert: first the wanted ones.

        With the corrupt record column these are all, so that what it says does not depend on the projection.
        """
        others = range(len(self.fields)) if self.corrupt_column in self.columns else ()
        return tuple(dict.fromkeys((*self.wanted, *others)))

    def _other_field(self, name: str) -> pa.Field:
        if name == self.corrupt_column:
            return pa.field(name, pa.string())
        return pa.field(name, METADATA_TYPES[name])

    def select(self, columns: tuple[str, ...]) -> ScanSpec:
        """Deliver these columns only, in this order; names are matched without regard to case.

        Raises:
            SchemaError: If there is no such column.
        """
        known = [*self.fields.names, self.corrupt_column, *METADATA_TYPES]
        by_lower = {name.lower(): name for name in reversed(known)}
        missing = [name for name in columns if name.lower() not in by_lower]
        if missing:
            raise SchemaError(
                f"column {missing[0]!r} does not exist",
                seen=f"columns {', '.join(columns)}",
                fix=f"choose from: {', '.join(known)}",
                code="unknown-column",
            )
        chosen = tuple(dict.fromkeys(by_lower[name.lower()] for name in columns))
        return replace(self, columns=chosen)


def make_spec(options: ReadOptions, schema: pa.Schema, framing: Framing | None = None) -> ScanSpec:
    """Divide a schema as the user gave it into the records' own columns and the others.

    The corrupt record column and the asked-for metadata columns are recognised by name; metadata columns that the
    schema does not place are added behind.

    Raises:
        UsageError: If the corrupt record column is not a nullable string, if a CSV field cannot hold a value of its
            column's type, or there are more columns than ``maxColumns`` allows: then no record could be whole; or if a
            date or time pattern has no meaning.
    """
    for option in ("date_format", "timestamp_format", "timestamp_ntz_format"):
        strptime_format(getattr(options.format, option, None) or "")
    corrupt = options.reading.column_name_of_corrupt_record
    fields, columns = [], []
    for field in schema:
        columns.append(field.name)
        if field.name == corrupt:
            if field.type != pa.string() or not field.nullable:
                raise UsageError(
                    f"option columnNameOfCorruptRecord={corrupt} must name a nullable string column",
                    seen=str(field),
                    fix=f"declare it as: {corrupt} string",
                    code="bad-schema",
                )
        elif field.name not in options.reading.metadata_columns:
            if isinstance(options.format, CsvOptions):
                _check_flat(field)
            fields.append(field)
    if isinstance(options.format, CsvOptions) and len(fields) > options.format.max_columns:
        raise UsageError(
            f"option maxColumns={options.format.max_columns} allows fewer columns than the schema has",
            seen=f"{len(fields)} columns",
            fix="raise maxColumns",
            code="bad-option",
        )
    added = [name for name in options.reading.metadata_columns if name not in columns]
    spec = ScanSpec(options, pa.schema(fields), (*columns, *added), framing)
    return spec if options.reading.columns is None else spec.select(options.reading.columns)


def _check_flat(field: pa.Field) -> None:
    kind, are = field.type, pa.types
    if (
        are.is_nested(kind)
        or are.is_dictionary(kind)
        or are.is_duration(kind)
        or are.is_float16(kind)
        or are.is_decimal256(kind)
    ):
        raise UsageError(
            "a field of CSV is one value, and its column's type must be written as one",
            Where(column=field.name),
            seen=str(kind),
            fix="declare the column as string, and take it apart in Spark, as with from_json or split",
            code="bad-schema",
        )
