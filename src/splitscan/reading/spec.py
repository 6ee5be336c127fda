"""The immutable description of a scan: options, the records' own columns, the columns to deliver."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.errors import SchemaError, UsageError, Where, bad_option
from splitscan.formats.column_rules import is_array, with_column_options
from splitscan.formats.decoding.contract import Decoder, check_types, type_name
from splitscan.formats.decoding.patterns import compiled
from splitscan.formats.framing.contract import Preamble, RecordFormat, encoding_of
from splitscan.formats.framing.encodings import UTF_8, Encoding
from splitscan.formats.framing.frames import plain_charset
from splitscan.formats.registry import format_of, record_format
from splitscan.options import Mode, ReadOptions
from splitscan.reading.envelopes import OffsetValues, envelope_values, find_around, settled_columns
from splitscan.reading.own_formats import ContextReading, ManagedReading, Reading
from splitscan.reading.partitions import Grain, Partitions, grain_of, metadata_field, metadata_scalar
from splitscan.reading.projection import project

_NOTHING: pa.Schema = pa.schema([])


Constant: TypeAlias = pa.Scalar | OffsetValues
"""Value of a column that no record holds."""

Head: TypeAlias = dict[str, Any]
"""The head of a file, as the kernel is told it."""


class ScanDocument(NamedTuple):
    """A scan as the kernel's block reader is told of it.

    Attributes:
        encoding: Of files that do not say another one.
        needs_head: Whether a block must say what the head of its file says.
    """

    text: str
    encoding: Encoding
    marks: tuple[str, ...]
    needs_head: bool

    def head(self, preamble: Preamble) -> Head:
        """Head of a file, for a block of it."""
        head = {
            "data_start": preamble.data_start,
            "header": preamble.header,
            "header_record": None if preamble.header_record is None else list(preamble.header_record),
            **getattr(preamble.format, "block_head", {}),
        }
        encoding = encoding_of(preamble.format, self.encoding)
        if encoding != UTF_8:
            head["charset"] = plain_charset(encoding, self.marks, is_known=encoding == self.encoding)
        return head


@dataclass(frozen=True)
class ScanSpec:
    """Specification of a scan for every task.

    Attributes:
        fields: The records' own columns, in file order; their metadata says how each is read.
        columns: Names of the columns to deliver, in order: partition columns, those of ``fields``, the corrupt record
            column, metadata columns. A name that is several of these is the first of them.
        framing: A format of the user's own, in place of the one that ``options`` describe.
        narrowed: Columns of ``fields`` of which some members only are delivered, in the type that is left.
        elements: Indexes that are wanted of the array of all fields; ``None`` for all.
        wildcard: Names that ``*`` stands for: what is delivered when nothing is selected.
        notices: In how many records of a block columns are noticed that the scan does not have.
        envelope: Columns whose values stand around the records, in the order in which the options name them.

    Pickling: plain values only.
    """

    options: ReadOptions
    fields: pa.Schema
    columns: tuple[str, ...]
    framing: Reading | None = None
    partitions: Partitions = field(default_factory=Partitions)
    narrowed: pa.Schema = field(default_factory=lambda: _NOTHING)
    elements: tuple[int, ...] | None = None
    wildcard: tuple[str, ...] = ()
    notices: int = 0
    envelope: pa.Schema = field(default_factory=lambda: _NOTHING)

    @property
    def corrupt_column(self) -> str:
        """Name of the column that holds the text of broken records."""
        return self.options.reading.column_name_of_corrupt_record

    @property
    def rescued_column(self) -> str | None:
        return self.options.schema.rescued_data_column

    @property
    def reason_column(self) -> str | None:
        """Name of the column that says why a record is broken."""
        return self.options.schema.reject_reason_column

    @property
    def speaking(self) -> tuple[str, ...]:
        """Names of the columns that speak of all others, whether delivered or not."""
        schema, corrupt = self.options.schema, self.options.reading.column_name_of_corrupt_record
        return tuple(dict.fromkeys(filter(None, (schema.rescued_data_column, corrupt, schema.reject_reason_column))))

    @cached_property
    def _needs_all_columns(self) -> bool:
        """True if a column is delivered that speaks of all others."""
        return not set(self.speaking).isdisjoint(self.columns)

    @cached_property
    def shows_faults(self) -> bool:
        """True if rows themselves say that their records are broken."""
        reading, schema = self.options.reading, self.options.schema
        told = {reading.column_name_of_corrupt_record, schema.reject_reason_column}
        return not told.isdisjoint(self.columns)

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of every batch."""
        known = {column.name: column for column in (*self.known, *self.narrowed)}
        return pa.schema([(known.get(name) or metadata_field(name)).remove_metadata() for name in self.columns])

    @cached_property
    def known(self) -> pa.Schema:
        """Columns of the records, of their directories, and of broken records, whether delivered or not."""
        partitions = self.partitions.fields
        taken = {name.lower() for name in partitions.names}
        own = [column for column in self.fields if column.name.lower() not in taken]
        names = {*partitions.names, *self.fields.names}
        texts = [name for name in self.speaking if name not in names]
        return pa.schema([*own, *partitions, *self.envelope, *(pa.field(name, pa.string()) for name in texts)])

    @cached_property
    def is_array(self) -> bool:
        return self.options.format.array_of_fields and is_array(self.fields)

    @cached_property
    def are_texts(self) -> bool:
        """True if the bytes of records are those of texts."""
        own, binary = self.options.format, [pa.types.is_binary(column.type) for column in self.fields]
        has_bytes = any(binary) if own.says_columns else all(binary)  # in a layout these are bytes of the record
        return self.framing is None and own.text_encoding is not None and not has_bytes

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """Indices into ``fields`` of the data columns to deliver, in delivery order."""
        partitions = frozenset(self.partitions.fields.names)
        index = {name: index for index, name in enumerate(self.fields.names) if name not in partitions}
        return tuple(index[name] for name in self.columns if name in index)

    @cached_property
    def delivers_no_value(self) -> bool:
        return not self.wanted and not self._needs_all_columns

    @cached_property
    def keeps_given_up(self) -> bool:
        """True if a record that is given up is a row: where a column has its text or the reason, selected or not."""
        told = {self.corrupt_column, self.reason_column}
        return self.options.reading.mode is Mode.PERMISSIVE and not told.isdisjoint(self.wildcard)

    @cached_property
    def validated(self) -> tuple[int, ...]:
        """Indices into ``fields`` of the data columns whose values must convert: first the wanted ones.

        With the column of corrupt records or of rescued data these are all, so that what it says does not depend on the
        projection; in mode DROPMALFORMED also those that are NOT NULL, so that the number of rows does not.
        """
        if self._needs_all_columns:
            return tuple(dict.fromkeys((*self.wanted, *range(len(self.fields)))))
        if self.options.reading.mode is not Mode.DROPMALFORMED:
            return self.wanted
        required = [index for index, column in enumerate(self.fields) if not column.nullable]
        return tuple(dict.fromkeys((*self.wanted, *required)))

    @cached_property
    def decoded(self) -> tuple[pa.Field, ...]:
        narrowed = {} if self._needs_all_columns else {column.name: column for column in self.narrowed}
        fields = (self.fields.field(index) for index in self.validated)
        return tuple(narrowed.get(column.name, column) for column in fields)

    @cached_property
    def decoders(self) -> dict[Any, Decoder]:
        """Decoders of files that were opened, by what makes files differ: most files of a scan share one."""
        return {}

    @cached_property
    def documents(self) -> list[ScanDocument]:
        """Document of this scan for the kernel, once it was asked for."""
        return []

    @cached_property
    def reading(self) -> Reading:
        """How records are found: in the user's own way, or as the options say."""
        return self.framing or record_format(self.options)

    @property
    def record_format(self) -> RecordFormat | None:
        """Record format; ``None`` where readers of the user's own do."""
        reading = self.reading
        return None if isinstance(reading, ContextReading | ManagedReading) else reading

    @cached_property
    def agreed_headers(self) -> set[tuple[str, ...] | None]:
        """Headers of files that were compared with the schema, and agree."""
        return set()

    def __reduce__(self) -> tuple[Any, ...]:
        """Fields that were given, and what every task needs; the rest is found again, as is a document with tables.

        A format of the user's own stays as it is; all else is plain, names each column several times, and is packed.
        """
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "framing"}
        documents = [each for each in self.documents if each.encoding.longest_bytes == 1]
        plain = own, {"schema": self.schema, "documents": documents}
        return _unpacked, (self.framing, zlib.compress(pickle.dumps(plain)))

    def in_zone(self, zone: str) -> ScanSpec:
        options = self.options.in_zone(zone)
        return self if options == self.options else replace(self, options=options)

    def without(self, columns: Collection[str]) -> ScanSpec:
        """Do not deliver these columns, and not where all are asked for either."""
        if not columns:
            return self
        kept, wildcard = (tuple(n for n in names if n not in columns) for names in (self.columns, self.wildcard))
        return replace(self, columns=kept, wildcard=wildcard)

    def constants(self, block: BlockMetadata) -> dict[str, Constant]:
        """Values that all records of a block share, by column: of partition directories, of the file, of the block.

        Beside them those that stand around the records.
        """
        own = {*self.fields.names, *self.speaking}
        values: dict[str, Constant] = {}
        for name in self.columns:
            if name in self.partitions.fields.names:
                values[name] = self.partitions.value(name, block.file)
            elif (number := self.envelope.get_field_index(name)) >= 0:
                values[name] = envelope_values(self.options, self.envelope.field(number), number, block)
            elif name not in own and grain_of(name) is not Grain.RECORD:
                values[name] = metadata_scalar(name, block)
        return values

    @property
    def looks_around(self) -> bool:
        """True if a column is delivered whose values stand around the records."""
        return not set(self.envelope.names).isdisjoint(self.columns)

    def with_values_around(self, block: BlockMetadata) -> BlockMetadata:
        """A block with the values around its records, where they are wanted and other tasks read of its file, too."""
        if not self.looks_around or block.is_file:
            return block
        return replace(block, around=find_around(self.options, block))

    def select(self, columns: Sequence[str]) -> ScanSpec:
        """Deliver these columns only, in this order: names, members, elements, metadata columns, ``*``."""
        chosen = project(columns, self.known, self.wildcard, is_array=self.is_array)
        return replace(self, columns=chosen.columns, narrowed=chosen.narrowed, elements=chosen.elements)


def _unpacked(framing: Reading | None, packed: bytes) -> ScanSpec:
    own, found = pickle.loads(zlib.decompress(packed))
    spec = ScanSpec(**own, framing=framing)
    vars(spec).update(found)
    return spec


def make_spec(
    options: ReadOptions,
    schema: pa.Schema,
    framing: Reading | None = None,
    partitions: Partitions | None = None,
    *,
    declared: bool = True,
) -> ScanSpec:
    """Divide a schema into the records' own columns and the others.

    The corrupt record column, partition columns and the asked-for metadata columns are recognised by name. Partition
    columns that the schema does not place are added after it, then metadata columns likewise.

    Args:
        schema: Of the records, as the user gave it or as it was found.
        declared: Whether the user gave the schema: then it says the types of partition columns, and what it calls like
            one is no field of the records. In a schema that was found, such a field stays one, and is hidden.

    Raises:
        UsageError: If the corrupt record column is not a nullable string, if a CSV field cannot hold a value of its
            column's type, or there are more columns than ``maxColumns`` allows: then no record could be whole; or if a
            date or time pattern has no meaning.
        SchemaError: If the schema gives a metadata column another type than it has, or a column one that no value can
            be read as.
    """
    for option in ("date_format", "time_format", "timestamp_format", "timestamp_ntz_format"):
        compiled(getattr(options.format, option, None) or "")
    corrupt = options.reading.column_name_of_corrupt_record
    found = partitions or Partitions()
    if declared:
        found = found.declared_as(schema)
    envelope = pa.schema([]) if framing else format_of(options).envelope_columns(options.format)
    envelope = settled_columns(envelope, schema, declared=declared) if len(envelope) else envelope
    directories = {name.lower(): name for name in (*found.fields.names, *envelope.names)}
    schema = with_column_options(schema, options)
    columns = [directories.get(name.lower(), name) for name in schema.names]
    added = {"rescuedDataColumn": options.schema.rescued_data_column}
    added["rejectReasonColumn"] = options.schema.reject_reason_column
    told = {option: name for option, name in added.items() if name is not None}
    taken = {corrupt: "columnNameOfCorruptRecord"}
    for option, name in told.items():
        _check_added(option, name, taken, schema, declared=declared)
        taken[name] = option
    _check_envelope(envelope, {*taken, *found.fields.names, *options.reading.metadata_columns})
    others = {*taken, *(found.fields.names if declared else ()), *envelope.names}
    fields = _own_fields(options, schema, others, declared=declared)
    if framing is None:  # the readers of a format of the user's own hand over values of any type
        check_types(fields, variants=options.format.has_variants)
        format_of(options).check_schema(options.format, options, fields)
    for name in (*told.values(), *found.fields.names, *envelope.names, *options.reading.metadata_columns):
        if name not in columns:
            columns.append(name)
    every = tuple(columns)
    spec = ScanSpec(options, fields, every, framing, found, wildcard=every, envelope=envelope)
    return spec if options.reading.columns is None else spec.select(options.reading.columns)


def _own_fields(options: ReadOptions, schema: pa.Schema, others: Set[str], *, declared: bool) -> pa.Schema:
    """The records' own columns: without *others*, and without metadata columns that the user's schema places."""
    corrupt, metadata = options.reading.column_name_of_corrupt_record, options.reading.metadata_columns
    for column in schema:
        if column.name == corrupt:
            _check_corrupt(column)
        elif column.name in metadata and not declared:
            raise bad_option(
                f"metadata column {column.name!r} has the name of a column of the data",
                f"metadataColumns={','.join(metadata)}",
                "pass a schema that calls the column of the data by another name, or leave the metadata column out",
            )
        elif column.name in metadata and column.type != metadata_field(column.name).type:
            raise SchemaError(
                f"the schema gives metadata column {column.name!r} another type than it has",
                Where(column=column.name),
                seen=f"{column.type}; it is {metadata_field(column.name).type}",
                fix=f"declare it as: {column.name} {type_name(metadata_field(column.name).type)}",
                code="bad-schema",
            )
    return pa.schema([column for column in schema if column.name not in others and column.name not in metadata])


def _check_corrupt(column: pa.Field) -> None:
    if column.type != pa.string() or not column.nullable:
        raise UsageError(
            f"option columnNameOfCorruptRecord={column.name} must name a nullable string column",
            seen=str(column),
            fix=f"declare it as: {column.name} string",
            code="bad-schema",
        )


def _check_envelope(envelope: pa.Schema, taken: Set[str]) -> None:
    """Refuse names of other columns that are none of the records."""
    names = {name.lower() for name in taken}
    for name in envelope.names:
        if name.lower() in names:
            raise bad_option(
                "a column of recordPathColumns has the name of another column that is none of the records",
                repr(name),
                f"give it another name, as in $.name as other_{name}",
            )


def _check_added(option: str, name: str, taken: Mapping[str, str], schema: pa.Schema, *, declared: bool) -> None:
    """Refuse the name of a column that is another's, or that the schema gives to a field or another type."""
    if name in taken:
        raise bad_option(f"options {option} and {taken[name]} name one column", name, "give one of them another name")
    column = next((column for column in schema if column.name.lower() == name.lower()), None)
    if column is None:
        return
    if not declared or column.name != name or column.type != pa.string() or not column.nullable:
        raise bad_option(
            f"option {option}={name} must name a nullable string column that no file has",
            str(column.remove_metadata()) + ("" if declared else ", found in a file"),
            f"declare it as: {name} string" if declared else "give it another name",
        )
