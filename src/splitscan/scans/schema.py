"""From what a user says and what the files show to the columns of the records, each with its source."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import SchemaError, Where, bad_option
from splitscan.formats.column_rules import options_of
from splitscan.formats.contract import FoundSchema
from splitscan.formats.decoding.contract import format_ddl, quoted_name, type_name
from splitscan.formats.decoding.ddl import Hint, parse_ddl, parse_hints
from splitscan.formats.merge import ELEMENT, Sighting
from splitscan.options import ReadOptions, SchemaConflicts, SchemaMode
from splitscan.reading.spec import ScanSpec
from splitscan.redaction import redact
from splitscan.scans.inference import infer_schema
from splitscan.sizes import count_of


class ColumnSource(enum.Enum):
    """Source of a column of a schema."""

    SCHEMA = "schema"  # the full schema that the caller gave
    FILE = "file"
    PROVIDED = "provided"
    HINT = "hint"
    DEFAULT = "default"  # provided, and in no sampled file: every row has its default, or null
    FORMAT = "format"  # the record format has this column, whatever the files hold
    PATH = "path"  # the names of directories give it
    OPTION = "option"  # an option adds it


@dataclass(frozen=True, slots=True)
class SeenType:
    """A type that a column has in a file, in Spark's DDL; ``void`` where no value was seen."""

    type: str
    path: str


@dataclass(frozen=True, slots=True)
class ColumnExplanation:
    """One column of a schema.

    Attributes:
        path: The first of the sampled files that has it, by path; ``None`` if none has.
        seen: The types it has in sampled files, each with the first file that has it so.
        default: Text of what stands where a record does not have it; ``None`` for null.
    """

    name: str
    type: str
    nullable: bool
    source: ColumnSource
    path: str | None = None
    seen: tuple[SeenType, ...] = ()
    default: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaConflict:
    """A column, or a part of one, whose types in sampled files have nothing in common.

    Attributes:
        column: Its path, as ``m.x``.
    """

    column: str
    seen: tuple[SeenType, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class SchemaExplanation:
    """A scan's schema with its provenance.

    Attributes:
        files: Number of files; ``None`` where none had to be listed.
    """

    schema: pa.Schema
    columns: tuple[ColumnExplanation, ...]
    conflicts: tuple[SchemaConflict, ...]
    files: int | None
    sampled_files: int

    @property
    def ddl(self) -> str:
        """The schema in Spark's DDL."""
        return format_ddl(self.schema)


def shown_type(kind: pa.DataType) -> str:
    """Spark's name of a type, ``void`` for none."""
    return "void" if pa.types.is_null(kind) else type_name(kind)


_SHOWN_TEXTS = 10  # members in a warning

Infer: TypeAlias = Callable[[ReadOptions, Sequence[FileMetadata]], FoundSchema]
"""Finds what the data says about the columns."""


def apply_hint(field: pa.Field | None, path: tuple[str, ...], hint: pa.Field) -> pa.Field:
    """A column with the type that a hint gives to it, or to a part of it; what is not there is added.

    Args:
        field: The column; ``None`` if there is none.
        path: Its name; then members of structs, and ``element`` for what is in an array.

    Example:
        >>> str(apply_hint(pa.field("m", pa.struct([("x", pa.int64())])), ("m", "y"), pa.field("y", pa.date32())).type)
        'struct<x: int64, y: date32[day]>'
    """
    name = path[0] if field is None else field.name
    if len(path) == 1:
        return pa.field(name, hint.type, hint.nullable)
    kind = _inside(None if field is None else field.type, path[1:], hint)
    return pa.field(name, kind, True if field is None else field.nullable)


def _inside(kind: pa.DataType | None, path: tuple[str, ...], hint: pa.Field) -> pa.DataType:
    if kind is not None and pa.types.is_list(kind) and path[0] == ELEMENT:
        return pa.list_(apply_hint(kind.value_field, path, hint).type)
    members = [kind.field(i) for i in range(kind.num_fields)] if kind is not None and pa.types.is_struct(kind) else []
    names = [member.name for member in members]
    if path[0] in names:
        index = names.index(path[0])
        members[index] = apply_hint(members[index], path, hint)
    else:
        members.append(apply_hint(None, path, hint))
    return pa.struct(members)


@dataclass(frozen=True, slots=True)
class ResolvedColumn:
    """A column of the records.

    Attributes:
        wanted: Whether it is delivered; else it is only there to be counted.
    """

    field: pa.Field
    source: ColumnSource
    sightings: tuple[Sighting, ...] = ()
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class ResolvedSchema:
    """The columns of the records, with their provenance.

    Attributes:
        notes: What is lost or changed of values, or may be.
    """

    columns: tuple[ResolvedColumn, ...]
    conflicts: tuple[SchemaConflict, ...] = ()
    notes: tuple[str, ...] = ()
    files: int | None = None
    sampled_files: int = 0

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        return pa.schema([column.field for column in self.columns])

    @property
    def unwanted(self) -> frozenset[str]:
        """Names of the columns that are there but not delivered."""
        return frozenset(column.field.name for column in self.columns if not column.wanted)

    @classmethod
    def of(cls, schema: pa.Schema, source: ColumnSource) -> ResolvedSchema:
        """A schema of which nothing had to be found."""
        return cls(tuple(ResolvedColumn(field, source) for field in schema))


def seen_types(sightings: Sequence[Sighting]) -> tuple[SeenType, ...]:
    """Types with the first file that has each."""
    first: dict[str, str] = {}
    for sighting in sightings:
        first.setdefault(shown_type(sighting.kind), sighting.path)
    return tuple(SeenType(kind, path) for kind, path in first.items())


def resolve_schema(options: ReadOptions, files: Sequence[FileMetadata], infer: Infer = infer_schema) -> ResolvedSchema:
    """The columns of a scan for which no full schema was given.

    What files show is merged; provided columns come first, under their own names and types; hints decide the types of
    columns that are not provided. What then is left in conflict is a string or an error, as ``schemaConflicts`` says.

    Raises:
        UsageError: If provided columns or hints are no DDL, or contradict each other.
        SchemaError: If there is no column at all, a hint names none, or files do not agree and must.
    """
    hints = parse_hints(options.schema.schema_hints) if options.schema.schema_hints else []
    provided = parse_ddl(options.schema.provided_schema) if options.schema.provided_schema else None
    found = infer(options, files)
    beside = ColumnSource.OPTION if found.merged.columns else ColumnSource.FORMAT
    columns = [
        ResolvedColumn(field, ColumnSource.FILE if sightings else beside, sightings)
        for field, sightings in _with_sightings(found)
    ]
    if provided is not None:
        columns = _with_provided(columns, provided, options)
    if not columns:
        raise SchemaError(
            "no record shows a column" if found.records else "no file has a record to take the columns from",
            Where(path=files[0].path if len(files) == 1 else None),
            seen=_without_columns(files, found.records),
            fix=found.without_columns if found.records else "pass a schema",
            code="no-schema",
        )
    for hint in hints:
        columns = _with_hint(columns, hint, options)
    by_files = {column.field.name for column in columns if column.source in {ColumnSource.FILE, ColumnSource.HINT}}
    said = [_path(hint, options) for hint in hints]

    def is_open(path: tuple[str, ...]) -> bool:
        """True if the files decide the type."""
        return path[0] in by_files and not any(_key_path(path, options)[: len(each)] == each for each in said)

    conflicts = _open_conflicts(found, is_open, options)
    notes = tuple(_notes(found, [each for each in found.texts if is_open(each[0])]))
    return ResolvedSchema(tuple(columns), conflicts, notes, len(files), found.sampled)


def _notes(found: FoundSchema, texts: Sequence[tuple[tuple[str, ...], str]]) -> Iterator[str]:
    """Notes of values that are read as texts because no type holds them, and of those that are not read."""
    if found.repeated is not None:
        yield (
            f"an object has member {found.repeated!r} twice: the last value is read, the others are not; "
            "singleVariantColumn=record makes rejects of such records"
        )
    if not texts:
        return
    shown = ", ".join(f"{'.'.join(path)} ({held})" for path, held in texts[:_SHOWN_TEXTS])
    names = [".".join(map(quoted_name, path)) for path, _ in texts[:_SHOWN_TEXTS]]
    more = f" and {count_of(len(texts) - len(names), 'other')}" if len(texts) > len(names) else ""
    variants, strings = (", ".join(f"{name} {kind}" for name in names) for kind in ("variant", "string"))
    yield (
        f"no type holds the values of {shown}{more}: each is read as its text in the file. Set "
        f"schemaHints='{variants}' to keep the values, or schemaHints='{strings}' for their texts"
    )


def _without_columns(files: Sequence[FileMetadata], records: int) -> str:
    if records:
        return f"{count_of(records, 'record')} in samples, none with a member"
    empty = sum(file.size_bytes == 0 for file in files)
    if len(files) == 1:
        return "the file is empty" if empty else "1 file without a record"
    return f"{count_of(len(files), 'file')}, {'all' if empty == len(files) else f'{empty:,}'} of them empty"


def _with_sightings(found: FoundSchema) -> list[tuple[pa.Field, tuple[Sighting, ...]]]:
    sightings = {column.name: column.sightings for column in found.merged.columns}
    return [(field, sightings.get(field.name, ())) for field in found.schema]


def explain(resolved: ResolvedSchema, spec: ScanSpec) -> SchemaExplanation:
    """Say of every column that a scan delivers where it comes from."""
    known = {column.field.name: column for column in resolved.columns}
    own = {field.name: field for field in spec.fields}
    directories = frozenset(spec.partitions.fields.names)
    columns = []
    for field in spec.schema:
        column = None if field.name in directories else known.get(field.name)
        beside = ColumnSource.PATH if field.name in directories else ColumnSource.OPTION
        columns.append(
            ColumnExplanation(
                name=field.name,
                type=shown_type(field.type),
                nullable=field.nullable,
                source=beside if column is None else column.source,
                path=column.sightings[0].path if column is not None and column.sightings else None,
                seen=() if column is None else seen_types(column.sightings),
                default=options_of(own[field.name]).default if column is not None and field.name in own else None,
            )
        )
    return SchemaExplanation(spec.schema, tuple(columns), resolved.conflicts, resolved.files, resolved.sampled_files)


# ---------------------------------------------------------------- provided


def _with_provided(columns: list[ResolvedColumn], provided: pa.Schema, options: ReadOptions) -> list[ResolvedColumn]:
    """Provided columns first, in their order; after them what only files have, if it is to be read."""
    if _is_positional(options):
        pairs = [columns[index : index + 1] for index in range(len(provided))]
        rest = columns[len(provided) :]
    else:
        by_name = {_key(column.field.name, options): column for column in columns}
        pairs = [[by_name.pop(_key(field.name, options))] if _key(field.name, options) in by_name else []
                 for field in provided]  # fmt: skip
        rest = list(by_name.values())
    own = [
        ResolvedColumn(field, ColumnSource.PROVIDED, match[0].sightings)
        if match
        else ResolvedColumn(field, ColumnSource.DEFAULT if columns else ColumnSource.PROVIDED)
        for field, match in zip(provided, pairs, strict=True)
    ]
    taken = {field.name.lower(): field.name for field in provided}
    for column in rest:
        if column.field.name.lower() in taken and options.schema.schema_mode is SchemaMode.LENIENT:
            raise SchemaError(
                "a provided column and a column of the files differ in case only, or have one name",
                Where(column.sightings[0].path if column.sightings else None, column=column.field.name),
                seen=f"{taken[column.field.name.lower()]!r} provided, {column.field.name!r} found",
                fix="spell the provided column as the file does, or set schemaMode=strict",
                code="bad-schema",
            )
    if options.schema.schema_mode is SchemaMode.LENIENT:
        return [*own, *rest]
    if _is_positional(options):  # they must be there, so that records have the right number of fields
        return [*own, *(replace(column, wanted=False) for column in rest)]
    return own


def _is_positional(options: ReadOptions) -> bool:
    return options.format.is_positional


def _key(name: str, options: ReadOptions) -> str:
    """Key by which names are compared: names of JSON as they are, others without regard to case."""
    return name.lower() if options.format.ignores_case else name


# ------------------------------------------------------------------- hints


def _with_hint(columns: list[ResolvedColumn], hint: Hint, options: ReadOptions) -> list[ResolvedColumn]:
    path = _hinted(hint, options)
    index = next((i for i, c in enumerate(columns) if _key(c.field.name, options) == _key(path[0], options)), None)
    if index is None:
        if _is_positional(options):
            raise SchemaError(
                f"option schemaHints names a column that no sampled file has: {path[0]!r}",
                seen=f"columns {', '.join(column.field.name for column in columns)}",
                fix="correct the name, or leave the hint out",
                code="unknown-column",
            )
        return [*columns, ResolvedColumn(apply_hint(None, path, hint.field), ColumnSource.HINT)]
    column = columns[index]
    if column.source not in {ColumnSource.FILE, ColumnSource.HINT}:
        raise bad_option(
            "options providedSchema and schemaHints both say what one column is",
            f"schemaHints={options.schema.schema_hints}",
            "leave the column out of one of them",
            Where(column=column.field.name),
        )
    field = apply_hint(column.field, path, hint.field)
    return [*columns[:index], replace(column, field=field, source=ColumnSource.HINT), *columns[index + 1 :]]


# --------------------------------------------------------------- conflicts


def _open_conflicts(
    found: FoundSchema, is_open: Callable[[tuple[str, ...]], bool], options: ReadOptions
) -> tuple[SchemaConflict, ...]:
    """Conflicts about types that the files decide."""
    conflicts = tuple(
        SchemaConflict(".".join(each.column), seen_types(each.sightings), shown_type(pa.string()))
        for each in found.merged.conflicts
        if is_open(each.column)
    )
    if conflicts and options.schema.schema_conflicts is SchemaConflicts.ERROR:
        first = conflicts[0]
        raise SchemaError(
            "types of a column in different files have nothing in common (schemaConflicts=error)",
            Where(first.seen[-1].path, column=first.column),
            seen=", ".join(f"{seen.type} in {redact(seen.path)}" for seen in first.seen),
            fix=f'say what it is, as schemaHints="{first.column} string", or set schemaConflicts=string',
            code="schema-conflict",
        )
    return conflicts


def _path(hint: Hint, options: ReadOptions) -> tuple[str, ...]:
    return _key_path(_hinted(hint, options), options)


def _hinted(hint: Hint, options: ReadOptions) -> tuple[str, ...]:
    """Path of a hint; columns of flat formats have no parts, and dots are part of their names."""
    return (".".join(hint.path),) if options.format.is_flat else hint.path


def _key_path(path: tuple[str, ...], options: ReadOptions) -> tuple[str, ...]:
    return (_key(path[0], options), *path[1:])
