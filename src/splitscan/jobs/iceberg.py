"""Tables of Apache Iceberg, through ``pyiceberg``.

The number of the last job is a property of the table, set in the commit that adds the files: it stays when snapshots
expire. The library would commit again by itself when somebody else was faster, without asking us, and so twins would
both commit; that is switched off on the table that is loaded for one attempt, and never written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    TableAlreadyExistsError,
)
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import parquet_files_to_data_files, schema_to_pyarrow
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
)
from pyiceberg.schema import Schema
from pyiceberg.table import CreateTableTransaction, TableProperties, Transaction
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.name_mapping import MappedField
from pyiceberg.table.snapshots import Operation, Snapshot, ancestors_of
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import ListType, MapType, NestedField, StructType

from splitscan.content.storage import locate
from splitscan.formats.decoding.contract import deliverable
from splitscan.jobs.destination import FileState
from splitscan.jobs.iceberg_catalogs import Registration, find_registered, register_in
from splitscan.jobs.ledger import describe_columns, field_ids, with_id
from splitscan.jobs.settings import SchemaEvolution
from splitscan.jobs.table import TableDestination, nullable
from splitscan.jobs.table_format import (
    CommitContext,
    CommitStamp,
    NewFile,
    TableSnapshot,
    check_new_columns,
    new_columns,
    schema_error,
    unfit_error,
)
from splitscan.jobs.workplace import DestinationStorage

_NUMBER, _JOB, _LEDGER = "splitscan.number", "splitscan.job", "splitscan.ledger"

_RETRIES = "commit.retry.num-retries"

_FULL_METRICS = {"write.metadata.metrics.default": "full"}  # where the library cannot shorten a bound
_FIRST = 1  # sequence number of a table's first snapshot

_WHOLE = {FileState.LIVE, FileState.REWRITTEN}

_WIDER = {"int8": "int32", "int16": "int32"}  # Iceberg has no shorter ones


class IcebergDestination(TableDestination):
    """An Iceberg table, where it is registered."""

    table = "iceberg"
    keeps_partition_columns = True  # the library finds the partition of a file in its footer

    def __init__(self, entry: Registration) -> None:
        super().__init__(entry.place)
        self._entry = entry

    def open_snapshot(self) -> IcebergSnapshot | None:
        table = self._entry.load()
        return None if table is None else IcebergSnapshot(table, self._entry)

    def with_planned_ids(self, schema: pa.Schema) -> pa.Schema:
        """Give a schema the ids that the table will have: they follow from the schema alone."""
        self._entry.catalog.create_namespace_if_not_exists(self._entry.identifier[:-1])
        return _with_all_ids(schema, self._creation(schema).table_metadata.schema())

    def create_table(self, files: Sequence[NewFile], begun: CommitContext, stamp: CommitStamp) -> bool:
        try:
            try:
                self._create(files, begun, stamp, {})
            except UnicodeEncodeError:
                self._create(files, begun, stamp, _FULL_METRICS)
        except (CommitFailedException, CommitStateUnknownException, TableAlreadyExistsError):
            return False
        return True

    def _create(
        self, files: Sequence[NewFile], begun: CommitContext, stamp: CommitStamp, settings: dict[str, str]
    ) -> None:
        with self._creation(begun.schema) as creation:
            _check_planned(begun.schema, creation.table_metadata.schema(), self._entry.place.destination.root)
            with creation.update_spec() as partitions:
                for column in begun.partitioning.columns:
                    partitions.add_identity(column)
            creation.set_properties(settings)  # of this commit only
            _register(creation, self._entry.uri, files, stamp)
            creation.remove_properties(*settings)

    def _creation(self, schema: pa.Schema) -> CreateTableTransaction:
        """A creation of the table that nobody knows of until it is committed."""
        entry = self._entry
        return entry.catalog.create_table_transaction(entry.identifier, nullable(schema), location=entry.uri)


class IcebergSnapshot(TableSnapshot):
    """An Iceberg table as it was when it was loaded."""

    def __init__(self, table: IcebergTable, entry: Registration) -> None:
        self._table, self._uri, self._root = table, entry.uri, entry.place.destination.root

    def partition_by(self) -> tuple[str, ...]:
        table = self._table
        fields = table.spec().fields
        if not all(isinstance(field.transform, IdentityTransform) for field in fields):
            raise unfit_error(self._root, f"partitions: {table.spec()}")
        return tuple(table.schema().find_column_name(field.source_id) or "" for field in fields)

    def columns(self) -> pa.Schema:
        return deliverable(schema_to_pyarrow(self._table.schema(), include_field_ids=False))

    def with_field_ids(self, schema: pa.Schema) -> pa.Schema:
        return _with_all_ids(schema, self._table.schema())

    def check(self, schema: pa.Schema, evolution: SchemaEvolution) -> None:
        unfit = [f"column {column.name} is required" for column in self._table.schema().fields if column.required]
        if unfit:
            raise unfit_error(self._root, "; ".join(unfit))
        new = [f"{column.name} {column.type}" for column in self._new_columns(schema)]
        check_new_columns(new, evolution, _types(self._table), self._root)
        self._check_ids(schema)

    def number(self) -> int:
        return int(self._table.properties.get(_NUMBER, "0"))

    def stamp(self, number: int) -> CommitStamp | None:
        properties = self._table.properties
        if properties.get(_NUMBER) != str(number):
            return None
        return CommitStamp(number, properties.get(_JOB, ""), properties.get(_LEDGER, ""))

    def try_append(
        self, files: Sequence[NewFile], begun: CommitContext, stamp: CommitStamp, removed: Sequence[str] = ()
    ) -> bool:
        try:
            return self._try_append(files, begun, stamp, removed, {_RETRIES: "0"})
        except UnicodeEncodeError:  # a bound that the library shortens, and raises to half a surrogate pair
            return self._try_append(files, begun, stamp, removed, {_RETRIES: "0", **_FULL_METRICS})

    def _try_append(
        self,
        files: Sequence[NewFile],
        begun: CommitContext,
        stamp: CommitStamp,
        removed: Sequence[str],
        settings: Mapping[str, str],
    ) -> bool:
        table = self._table
        table.metadata.properties.update(settings)  # of this object only
        new = self._new_columns(begun.schema)
        try:
            with table.transaction() as transaction:
                if new:
                    with transaction.update_schema() as update:
                        update.union_by_name(pa.schema(new))
                _register(transaction, self._uri, files, stamp, self._entries_of(removed))
        except (CommitFailedException, CommitStateUnknownException):
            return False
        return True

    def _entries_of(self, names: Sequence[str]) -> list[DataFile]:
        entries = _entries(self._table, ManifestContent.DATA) if names else ()
        return [each.data_file for each in entries if self._name_of(each.data_file.file_path) in names]

    def live(self) -> set[str]:
        table = self._table
        return {self._name_of(entry.data_file.file_path) for entry in _entries(table, ManifestContent.DATA)}

    def reduced(self) -> dict[str, FileState]:
        """The live files whose rows a position delete names; after an equality delete none of the older is clear."""
        table = self._table
        listed, unclear = _deletes(table)
        found = {}
        for entry in _entries(table, ManifestContent.DATA) if listed or unclear else ():
            path, number = entry.data_file.file_path, entry.sequence_number or 0
            if number <= listed.get(path, -1):
                found[self._name_of(path)] = FileState.REDUCED
            elif number < unclear:
                found[self._name_of(path)] = FileState.UNCLEAR
        return found

    def removed(self, names: set[str]) -> dict[str, FileState]:
        """Look up files that are not live any more in the snapshots that led to the current one.

        Of a file that was written again, rows are removed if fewer were written, or if they are gone from any of the
        files that took its place. Where all snapshots are kept and none removed a file, the table was rolled back to
        before it.
        """
        table = self._table
        fates = self.reduced()  # by name: the newest snapshot decides
        oldest = None
        for oldest in ancestors_of(table.current_snapshot(), table.metadata):
            added, gone = _changes(oldest, table.io)
            for file in added:
                fates.setdefault(self._name_of(file.file_path), FileState.LIVE)
            was_rewritten = (
                oldest.summary is not None
                and oldest.summary.operation is Operation.REPLACE
                and sum(file.record_count for file in added) >= sum(file.record_count for file in gone)
                and all(fates[self._name_of(file.file_path)] in _WHOLE for file in added)
            )
            for file in gone:
                fate = FileState.REWRITTEN if was_rewritten else FileState.REMOVED
                fates.setdefault(self._name_of(file.file_path), fate)
        found = {name: fates[name] for name in names & fates.keys() if fates[name] is not FileState.LIVE}
        if oldest is not None and oldest.sequence_number == _FIRST:  # a parent that expired is no sign: it is erased
            return dict.fromkeys(names, FileState.REMOVED) | found
        return found

    def _name_of(self, uri: str) -> str:
        return locate(uri).path.removeprefix(f"{self._root}/")

    def _check_ids(self, schema: pa.Schema) -> None:
        """Make sure that readers find the columns of our files: by their ids, or by the name mapping of the table.

        Raises:
            SchemaError: ``[destination-schema]`` if a column of the table has become another one.
            IngestError: ``[table-unfit]`` if files have no ids, and the mapping leads elsewhere.
        """
        ours = Schema(*(column for column in self._table.schema().fields if column.name in schema.names))
        if any(field_ids(schema)):
            for column in schema:
                there = {each.name: each for each in ours.fields}.get(column.name)
                if there is None or field_ids([_with_ids(column, there)]) != field_ids([column]):
                    seen = f"column {column.name} is another one than when the job began"
                    raise schema_error(self._root, seen, "run again: what was read is written again")
        elif mapping := self._table.name_mapping():  # without one the commit sets that of the table's own names
            ids = _ids_by_name(mapping)
            for name in ours.column_names:
                if ids.get(name) != ours.find_field(name).field_id:
                    raise unfit_error(self._root, f"column {name} is not that of schema.name-mapping.default")

    def _new_columns(self, schema: pa.Schema) -> list[pa.Field]:
        kinds = {column.name: _WIDER.get(column.type, column.type) for column in describe_columns(nullable(schema))}
        return [nullable(schema).field(name) for name in new_columns(kinds, _types(self._table), self._root)]


def _changes(snapshot: Snapshot, io: FileIO) -> tuple[list[DataFile], list[DataFile]]:
    entries = [
        entry
        for manifest in snapshot.manifests(io)  # those of other snapshots tell what these did
        if manifest.added_snapshot_id == snapshot.snapshot_id and manifest.content is ManifestContent.DATA
        for entry in manifest.fetch_manifest_entry(io, discard_deleted=False)
    ]
    by_status = {
        status: [entry.data_file for entry in entries if entry.status is status] for status in ManifestEntryStatus
    }
    return by_status[ManifestEntryStatus.ADDED], by_status[ManifestEntryStatus.DELETED]


def _entries(table: IcebergTable, content: ManifestContent) -> Iterator[ManifestEntry]:
    """The files of the current snapshot: of data, or of deletes."""
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot is not None else ():
        if manifest.content is content:
            yield from manifest.fetch_manifest_entry(table.io)


def _deletes(table: IcebergTable) -> tuple[dict[str, int], int]:
    """Find the data files that position deletes name, by sequence number; and the number below which none is clear."""
    listed: dict[str, int] = {}
    unclear = 0
    for entry in _entries(table, ManifestContent.DELETES):
        file, number = entry.data_file, entry.sequence_number or 0
        if file.content is DataFileContent.POSITION_DELETES and file.file_format is FileFormat.PARQUET:
            with table.io.new_input(file.file_path).open() as stream:
                paths = pq.read_table(stream, columns=["file_path"])["file_path"].unique().to_pylist()
            listed |= {path: max(number, listed.get(path, 0)) for path in paths}
        else:  # by values, or in a format that pyiceberg does not read
            unclear = max(unclear, number + (file.content is DataFileContent.POSITION_DELETES))
    return listed, unclear


def _types(table: IcebergTable) -> dict[str, str]:
    """Types of a table's columns, as a ledger spells them, by name."""
    columns = describe_columns(schema_to_pyarrow(table.schema()))
    return {column.name: column.type.replace("large_", "") for column in columns}


def _register(
    transaction: Transaction, uri: str, files: Sequence[NewFile], stamp: CommitStamp, removed: Sequence[DataFile] = ()
) -> None:
    properties = {_NUMBER: str(stamp.number), _JOB: stamp.job_id, _LEDGER: stamp.ledger_sha256}
    transaction.set_properties(properties)
    paths = [f"{uri}/{file.written.name}" for file in files]
    if removed:  # one snapshot, so that no version of the table has both or neither
        if transaction.table_metadata.name_mapping() is None:
            mapping = transaction.table_metadata.schema().name_mapping.model_dump_json()
            transaction.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
        io = transaction._table.io  # noqa: SLF001 -- as the library's own add_files does
        with transaction.update_snapshot(snapshot_properties=properties).overwrite() as overwrite:
            for file in parquet_files_to_data_files(io, transaction.table_metadata, iter(paths)):
                overwrite.append_data_file(file)
            for file in removed:
                overwrite.delete_data_file(file)
    elif paths:
        transaction.add_files(paths, snapshot_properties=properties, check_duplicate_files=False)


def _check_planned(schema: pa.Schema, columns: Schema, where: str) -> None:
    """Make sure that a table that is being created has the ids that files were written with."""
    if field_ids(_with_all_ids(schema, columns)) != field_ids(schema):
        raise schema_error(where, "the catalog gave columns other ids than when the job began", "run again")


def _with_all_ids(schema: pa.Schema, columns: Schema) -> pa.Schema:
    fields = {column.name: column for column in columns.fields}
    if not set(schema.names) <= fields.keys():
        return schema
    return pa.schema([_with_ids(column, fields[column.name]) for column in schema])


def _with_ids(column: pa.Field, there: NestedField) -> pa.Field:
    """A column with the ids that it has in the table, where it is of the same type."""
    kind, own = column.type, there.field_type
    if isinstance(own, StructType):
        members = {member.name: member for member in own.fields}
        kind = pa.struct([_with_ids(member, members[member.name]) for member in kind])
    elif isinstance(own, ListType):
        kind = pa.list_(_with_ids(kind.value_field, own.element_field))
    elif isinstance(own, MapType):
        kind = pa.map_(_with_ids(kind.key_field, own.key_field), _with_ids(kind.item_field, own.value_field))
    return with_id(column.with_type(kind), there.field_id)


def _ids_by_name(mapping: Iterable[MappedField], above: str = "") -> dict[str, int | None]:
    ids: dict[str, int | None] = {}
    for field in mapping:
        for name in field.names:
            ids |= {f"{above}{name}": field.field_id, **_ids_by_name(field.fields, f"{above}{name}.")}
    return ids


def make_destination(place: DestinationStorage) -> IcebergDestination:
    """Open the table of a destination; it need not be there."""
    return IcebergDestination(register_in(place))


def open_registered(address: str, storage_options: Mapping[str, Any]) -> IcebergDestination:
    """Open a table of a catalog by its address; it need not be there."""
    return IcebergDestination(find_registered(address, storage_options))
