"""Request of a user for records, whatever the files: their format, its options, and perhaps their columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import bad_option
from splitscan.formats.column_rules import array_schema, as_found, options_of
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.decoding.ddl import as_schema, parse_ddl, parse_hints
from splitscan.formats.registry import parse_options, record_format
from splitscan.options import ReadOptions, SchemaMode
from splitscan.reading.own_formats import ManagedReading, OwnFormat, Reading, as_reading, columns_of, options_for
from splitscan.reading.partitions import Partitions
from splitscan.reading.spec import ScanSpec, make_spec
from splitscan.scans.inference import WORKERS_HERE, Workers, discover_schema, infer_schema
from splitscan.scans.schema import ColumnSource, ResolvedSchema, resolve_schema


@dataclass(frozen=True)
class ReadRequest:
    """Request for records, wherever they are.

    Pickling: plain values, and the user's format.
    """

    options: ReadOptions
    own: Reading | None = None
    given: pa.Schema | None = None

    @classmethod
    def of(
        cls,
        format: str | OwnFormat = "csv",
        schema: str | pa.Schema | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """From what a user says.

        Args:
            format: Name of a record format, or a format of the user's own: a reader, a reader context, a record format,
                or what makes one.
            schema: DDL text or an Arrow schema; ``None`` where the records or the format say their columns.
            options: Options by their Spark names or snake_case twins.

        Raises:
            UsageError: If an option is unknown or has no meaning.
        """
        said = as_options(options or {})
        if isinstance(format, str):
            return cls(parse_options(format, said), None, as_schema(schema))
        own = as_reading(format)
        return cls(options_for(own, said), own, as_schema(schema))

    @property
    def framing(self) -> Reading:
        """How records are found."""
        return self.own or record_format(self.options)

    @property
    def partition_types(self) -> pa.Schema | str | None:
        """A schema, or DDL text of one, that says the types of partition columns; ``None`` if there is none."""
        return self.options.schema.provided_schema if self.given is None else self.given

    def columns(self, selected: Sequence[str] | None = None) -> ResolvedSchema | None:
        """The columns of the records, where they are known without a look at any; else ``None``.

        What is *selected* may say that the fields of a record are one array. ``[bad-option]`` if an option says
        something of columns beside a full schema.
        """
        if self.given is not None:
            self._check_given()
            return ResolvedSchema.of(self.given, ColumnSource.SCHEMA)
        if self.options.format.wants_array(selected or self.options.reading.columns or ()):
            return ResolvedSchema.of(array_schema(), ColumnSource.FORMAT)
        said = self.options.schema
        schema = None if self.own is None else columns_of(self.own)
        if schema is None or said.provided_schema is not None or said.schema_hints is not None:
            return None
        return ResolvedSchema.of(schema, ColumnSource.FORMAT)

    def _check_given(self) -> None:
        """A full schema leaves nothing to provide or to hint at."""
        said = self.options.schema
        for option, value in (("providedSchema", said.provided_schema), ("schemaHints", said.schema_hints)):
            if value is not None:
                raise bad_option(
                    f"option {option} has no meaning beside a full schema",
                    f"{option}={value}",
                    f"leave out {option}; or leave out the schema, so that the files show the other columns",
                )

    def found_in(
        self, files: Sequence[FileMetadata], *, names_all: bool = False, workers: Workers = WORKERS_HERE
    ) -> ResolvedSchema:
        """The columns that files show, beside what the options say of them."""
        own = self.own
        named = partial(infer_schema, names_all=names_all, workers=workers)
        infer = partial(discover_schema, own) if isinstance(own, ManagedReading) else named
        return resolve_schema(self.options, files, infer)

    def spec(self, columns: pa.Schema, partitions: Partitions | None = None) -> ScanSpec:
        """Specification for every task; without *partitions* for records that come without their files."""
        if self.given is None:
            columns = self._as_found(columns)
        return make_spec(self.options, columns, self.own, partitions, declared=self.given is not None)

    def _as_found(self, columns: pa.Schema) -> pa.Schema:
        """Columns of which a look at values has told the type, where the user says none."""
        if self.own is not None or not self.options.format.values_are_texts:
            return columns
        said = self.options.schema
        named = {each.lower() for each in parse_ddl(said.provided_schema).names} if said.provided_schema else set()
        named |= {each.path[0].lower() for each in parse_hints(said.schema_hints)} if said.schema_hints else set()
        return pa.schema([each if each.name.lower() in named else as_found(each) for each in columns])

    # ------------------------------------------------------------- changes

    def limit(self, rows: int) -> Self:
        """A copy for so many rows."""
        return replace(self, options=replace(self.options, reading=replace(self.options.reading, limit=rows)))

    def in_zone(self, zone: str) -> Self:
        return replace(self, options=self.options.in_zone(zone))

    def typed(self) -> Self:
        """A copy with types that are found in the data, unless a schema or ``inferSchema`` says what they are."""
        if not self.options.format.types_if_asked or self.given is not None or "inferSchema" in self.options.given:
            return self
        reading = replace(self.options.reading, infer_schema=True)
        return replace(self, options=replace(self.options, reading=reading))

    def with_schema(self, schema: pa.Schema) -> Self:
        """A copy by a full schema: what else the records have is not read, or rescued where that is asked for."""
        said = replace(self.options.schema, provided_schema=None, schema_hints=None, schema_mode=SchemaMode.LENIENT)
        if self.given is None:  # the user says nothing of types
            schema = self._as_found(schema)
        return replace(self, options=replace(self.options, schema=said), given=as_schema(schema))


_PROVIDED = frozenset({"providedschema", "provided_schema"})
_COLUMNS = frozenset({"columnoptions", "column_options"})


def as_options(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Options in which a provided Arrow schema is DDL, and what its fields' metadata says is in ``columnOptions``.

    Example:
        >>> field = pa.field("n", pa.int64(), metadata={"splitscan.default": "0"})
        >>> as_options({"provided_schema": pa.schema([field])})
        {'provided_schema': 'n bigint', 'columnOptions': {'n': {'default': '0'}}}
    """
    options = dict(raw)
    for name, value in raw.items():
        if str(name).lower() not in _PROVIDED or not isinstance(value, pa.Schema):
            continue
        options[name] = format_ddl(value)
        said = {field.name: found for field in value if (found := options_of(field).to_json())}
        if said:
            given = next((other for other in options if str(other).lower() in _COLUMNS), "columnOptions")
            options[given] = {**said, **_as_mapping(options.get(given))}
    return options


def _as_mapping(value: Any) -> Mapping[str, Any]:
    """Column options as they were written; what is no mapping is refused where options are parsed."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}
