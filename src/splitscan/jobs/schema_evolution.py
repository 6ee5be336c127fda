"""Columns of the files and columns of the destination: by which the files are read, and which of them are new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from splitscan.blocks import Reject
from splitscan.errors import SchemaError, Where, quote_list
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.merge import NO_VALUE, has_more_members, holds, join, join_all, settled
from splitscan.jobs.settings import SchemaEvolution
from splitscan.options import Mode
from splitscan.reading.block_scan import open_reader
from splitscan.reading.new_columns import SOME_RECORDS, NewColumns
from splitscan.redaction import redact
from splitscan.scans import ScanPlanner
from splitscan.scans.schema import ColumnSource, ResolvedColumn, shown_type

_MOST_DDL = 400  # characters of a schema in a message


def settle_columns(
    scan: ScanPlanner, there: pa.Schema, mode: SchemaEvolution, destination: str, *, keeps_types: bool = False
) -> tuple[ScanPlanner, tuple[str, ...]]:
    """Decide by which columns the files of a job are read, before any of them is.

    Columns of the destination come first, in its order and spelling; columns that are new follow, in the order of the
    files that bring them, and may hold nulls. A column that no file has is null. Of a column that was found in files,
    and not named by the user, the type is the destination's: always where columns may be added, elsewhere if it holds
    what was found. Otherwise it stays as it was found, and the destination refuses it.

    Returns:
        The scan by these columns, and those that are new, each with its type.
    """
    rescues = scan.options.schema.rescued_data_column is not None
    try:
        columns = _Columns(scan, there)
    except SchemaError as error:
        if error.reason_code != "no-schema":
            raise
        return scan.with_schema(there), ()  # nothing to look at has a record
    columns.check_new(mode, destination)
    keeps_types |= mode is SchemaEvolution.ADD
    if not keeps_types and (scan.options.reading.infer_schema or not scan.options.format.types_if_asked):
        columns.check_types(rescues)
    return columns.settle(keeps_types, rescues), tuple(map(_spell, columns.new))


def columns_left_out(scan: ScanPlanner, there: pa.Schema) -> tuple[tuple[str, ...], int]:
    """The columns that are found in files and are not the destination's; and in how many records more are looked for.

    Files that disagree on their columns are no error here, for nothing depends on what they are called.
    """
    if not scan.finds_columns:
        return (), 0
    key: Callable[[str], str] = str.lower if scan.options.format.ignores_case else str
    known = set(map(key, there.names))
    return tuple(name for name in scan.spec.schema.names if key(name) not in known), SOME_RECORDS


def with_new_columns(
    scan: ScanPlanner, found: NewColumns, there: pa.Schema | None, mode: SchemaEvolution
) -> tuple[ScanPlanner, tuple[str, ...]]:
    """Add columns that were noticed while files were read after those of their scan, for them to be read again.

    Returns the scan, and the new columns, each with its type.
    """
    schema = scan.spec.schema
    folded = {name.casefold() for name in schema.names}
    for name, new in found.columns.items():
        where = Where(path=new.path, column=name)
        known = schema.field(name).type if name in schema.names else None
        seen = f"column {_new_member(name, settled(new.type), known)}\n         but the sample has: "
        seen += quote_list(map(_spell, schema))
        if mode is not SchemaEvolution.ADD:
            rule = "records have a column that no sample has shown (schema_evolution_mode=failOnNewColumns)"
            fix = "set schema_evolution_mode: addNewColumns adds it, none ignores it; or give a schema"
        elif known is not None and holds(known, new.type):
            rule = "records repeat an element that no sample has shown twice, and a column of one value would lose some"
            fix = "raise sampleBytes or sampleFiles; or give a schema in which it is an array"
        elif name in schema.names and there is not None and name in there.names:
            rule = "a column of the destination would have to get more members"
            fix = "set rescuedDataColumn=_rescued_data to keep them there, or schema_evolution_mode=none"
        elif name not in schema.names and name.casefold() in folded:
            rule = "a new column differs from another one in case only"
            fix = "give a schema that names the one to read"
        else:
            continue
        raise SchemaError(rule, where, seen, fix, "destination-schema")
    kinds = {name: new.type for name, new in found.columns.items()}
    rules = {field.name: field.metadata for field in scan.spec.fields}
    wide = [column.with_type(settled(join(column.type, kinds.get(column.name, NO_VALUE)))) for column in schema]
    added = [pa.field(name, settled(kind)) for name, kind in kinds.items() if name not in schema.names]
    whole = [each.with_metadata(rules.get(each.name) or {}) for each in (*wide, *added)]
    return scan.with_schema(pa.schema(whole)), tuple(map(_spell, added))


def names_columns(scan: ScanPlanner) -> bool:
    """Return whether files name their columns: elsewhere a field too many is one broken record, and no column."""
    own = scan.options.format
    return own.compares_headers or not own.is_positional


class _Columns:
    def __init__(self, scan: ScanPlanner, there: pa.Schema) -> None:
        self._scan, self._there = scan, there
        self._spec = scan.spec
        self._resolved = {column.field.name: column for column in scan.resolved.columns}
        self._key: Callable[[str], str] = str.lower if scan.options.format.ignores_case else str
        self._found = {self._key(column.name): column for column in self._spec.schema}
        known = set(map(self._key, there.names))
        self.new = [column.with_nullable(True) for key, column in self._found.items() if key not in known]

    def check_new(self, mode: SchemaEvolution, destination: str) -> None:
        """Refuse new columns, unless they are to be added, and can be."""
        there = quote_list(map(_spell, self._there))
        folded = {name.casefold() for name in self._there.names}
        for column in self.new:
            known = self._resolved.get(column.name)
            if mode is not SchemaEvolution.ADD:
                rule = "a column is new to the destination (schema_evolution_mode=failOnNewColumns)"
                fix = "set schema_evolution_mode: addNewColumns adds it, rescue keeps it elsewhere, none ignores it"
            elif column.name.casefold() in folded:
                rule = "a new column differs from one of the destination in case only"
                fix = "spell it as the destination does, or give a schema that does"
            elif known is None and column.name in self._spec.partitions.fields.names:
                rule = "directories of the files give a column that is new to the destination"
                fix = "name the column in the schema, if it is to be added"
            else:
                continue
            path = redact(known.sightings[0].path) if known is not None and known.sightings else destination
            seen = f"column {quote_list([_spell(column)])}\n         but the destination has: {there}"
            raise SchemaError(rule, Where(path=path, column=column.name), seen, fix, "destination-schema")

    def check_types(self, rescues: bool) -> None:
        """Refuse files that say their columns by their values, where these do not fit the destination's types."""
        for here in self._there:
            found = self._found.get(self._key(here.name))
            column = None if found is None else self._resolved.get(found.name)
            if found is None or column is None or column.source is not ColumnSource.FILE:
                continue
            if _takes(here.type, column, False, rescues) or has_more_members(column.field.type, here.type):
                continue
            sighting = next(each for each in column.sightings if not holds(here.type, each.kind))
            where, value = self._first_misfit(here, sighting.path)
            ddl = format_ddl(self._there)
            raise SchemaError(
                "values of a file do not fit a column of the destination",
                where,
                seen=f"{value}{found.name} is {shown_type(sighting.kind)} there, the destination has: {_spell(here)}",
                fix="correct the file, or ingest into another destination; give the schema of the "
                f"destination{f': schema={ddl!r}' if len(ddl) <= _MOST_DDL else ''}, and such records are rejects",
                code="destination-schema",
            )

    def _first_misfit(self, here: pa.Field, path: str) -> tuple[Where, str]:
        """The place of the first value that does not fit a column, and what it is; only the file if none is found."""
        scan = self._scan.with_schema(self._there)
        spec = scan.spec.select([here.name])
        reading = replace(spec.options.reading, mode=Mode.PERMISSIVE)
        spec = replace(spec, options=replace(spec.options, reading=reading))
        found: list[Reject] = []
        for block in scan.with_files([file for file in scan.files() if file.path == path]).plan():
            for _ in open_reader(spec, block, on_reject=found.extend):
                if found:
                    return Where(redact(path), found[0].offset, column=here.name), f"{found[0].reason}\n         "
        return Where(redact(path), column=here.name), ""

    def settle(self, keeps_types: bool, rescues: bool) -> ScanPlanner:
        """The scan by the columns of the destination and the new ones; as it is, where that cannot be or need not."""
        spec = self._spec
        if spec.columns != spec.wildcard:  # columns that the user chose are compared as they are
            return self._scan
        settled = pa.schema([*(self._as_there(here, keeps_types, rescues) for here in self._there), *self.new])
        if settled.equals(spec.schema) or not self._can_be_read_as(settled, keeps_types):
            return self._scan
        own = {self._key(field.name): field.metadata for field in spec.fields}  # how the column is read
        rules = [own.get(self._key(column.name)) for column in settled]
        return self._scan.with_schema(pa.schema(map(pa.Field.with_metadata, settled, (rule or {} for rule in rules))))

    def _as_there(self, here: pa.Field, keeps_types: bool, rescues: bool) -> pa.Field:
        """A column of the destination as it is read: with its type, unless what was found or named speaks against."""
        found = self._found.get(self._key(here.name))
        column = None if found is None else self._resolved.get(found.name)
        if found is None or column is None or _takes(here.type, column, keeps_types, rescues):
            return here
        return found

    def _can_be_read_as(self, settled: pa.Schema, may_be_short: bool) -> bool:
        """Return whether the files can be read by these columns: by position only in their own order."""
        if not self._scan.options.format.is_positional:
            return True
        own = list(map(self._key, self._spec.fields.names))
        beside = self._found.keys() - set(own)
        wanted = [key for key in map(self._key, settled.names) if key not in beside]
        return own == (wanted[: len(own)] if may_be_short else wanted)


def _takes(here: pa.DataType, column: ResolvedColumn, keeps_types: bool, rescues: bool) -> bool:
    if column.source is ColumnSource.HINT:
        return holds(here, column.field.type)
    if column.source is not ColumnSource.FILE:
        return False
    kinds = [sighting.kind for sighting in column.sightings]
    if has_more_members(join_all(kinds), here) and not rescues:
        return False
    return keeps_types or all(holds(here, kind) for kind in kinds)


def _new_member(name: str, found: pa.DataType, known: pa.DataType | None) -> str:
    """The first member of a column that its known type lacks, by its path; the column itself if all of it is new."""
    while known is not None and pa.types.is_list(found) and pa.types.is_list(known):
        found, known = found.value_type, known.value_type
    if known is not None and pa.types.is_struct(found) and pa.types.is_struct(known):
        for member in found:
            index = known.get_field_index(member.name)
            if index < 0 or member.type != known.field(index).type:
                inner = None if index < 0 else known.field(index).type
                return _new_member(f"{name}.{member.name}", member.type, inner)
    return quote_list([f"{name} {shown_type(found)}"])


def _spell(column: pa.Field) -> str:
    return f"{column.name} {shown_type(column.type)}"
