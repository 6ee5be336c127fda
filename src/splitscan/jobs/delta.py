"""Tables of Delta Lake, through ``deltalake``.

The number of the last job is the table's application transaction ``splitscan``: it stays when logs are cleaned. The
library refuses two commits of it at once, and never compares it with what was committed before; so every attempt opens
the table again, looks, and commits from exactly the version that it has looked at.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from splitscan.content.storage import Storage
from splitscan.errors import SourceMissingError, UsageError, Where
from splitscan.jobs.delta_statistics import render_stats
from splitscan.jobs.destination import FileState
from splitscan.jobs.partitioning import Partitioning
from splitscan.jobs.settings import SchemaEvolution
from splitscan.jobs.table import TableDestination
from splitscan.jobs.table_format import (
    CommitContext,
    CommitStamp,
    NewFile,
    TableSnapshot,
    check_new_columns,
    delta_settings,
    new_columns,
    nullable,
    unfit_error,
)
from splitscan.jobs.workplace import DestinationStorage

_APPLICATION = "splitscan"

_LOG_FOLDER = "_delta_log"

_DELETION_VECTORS = "deletionVectors"

_COMMIT = re.compile(r"\d{20}\.json")

# what changes how rows must be written, or what must hold for them: files that are registered follow none of it
_UNFIT_FEATURES = {
    "columnMapping", "rowTracking", "icebergCompatV1", "icebergCompatV2", "identityColumns", "generatedColumns",
    "checkConstraints", "invariants", "clustering", "materializePartitionColumns", "variantType",
}  # fmt: skip

_UNFIT_COLUMNS = ("delta.generationExpression", "delta.identity.", "delta.invariants")


class DeltaDestination(TableDestination):
    """A Delta table in the folder of a destination."""

    table = "delta"
    keeps_partition_columns = False

    def __init__(self, place: DestinationStorage) -> None:
        super().__init__(place)
        self._root = place.destination.root
        if "%" in self._root:
            raise UsageError(
                "a Delta table's path has no percent signs: deltalake decodes them", Where(path=self._root),
                fix="name another folder", code="bad-path",
            )  # fmt: skip
        self._uri = place.folder.as_uri() if place.is_local else self._root  # a path as it is would be decoded
        self._options = delta_settings(place.storage_options) if not place.is_local else None

    def open_table(self) -> DeltaVersion | None:
        try:
            return DeltaVersion(DeltaTable(self._uri, storage_options=self._options), self.place.destination)
        except TableNotFoundError:
            return None

    def create_table(self, files: Sequence[NewFile], begun: CommitContext, stamp: CommitStamp) -> bool:
        columns = Schema.from_arrow(nullable(begun.schema))
        try:
            create_table_with_add_actions(
                self._uri, columns, _adds(files, begun.schema, pa.schema(columns.to_arrow()), begun.partitioning),
                "error", list(begun.partitioning.columns), storage_options=self._options,
                commit_properties=_properties(stamp),
            )  # fmt: skip
        except DeltaError:
            if self.open_table() is None:
                raise
            return False
        return True


class DeltaVersion(TableSnapshot):
    """A version of a Delta table."""

    def __init__(self, table: DeltaTable, storage: Storage) -> None:
        self._table, self._storage, self._root = table, storage, storage.root

    def partition_by(self) -> tuple[str, ...]:
        return tuple(self._table.metadata().partition_columns)

    def columns(self) -> pa.Schema:
        return pa.schema(self._table.schema().to_arrow())

    def check(self, schema: pa.Schema, evolution: SchemaEvolution) -> None:
        self._check_features()
        new = [f"{column.name} {_spell(column.type)}" for column in self._new_columns(schema)]
        there = {each.name: _spell(each.type) for each in self._table.schema().fields}
        check_new_columns(new, evolution, there, self._root)

    def number(self) -> int:
        return self._table.transaction_version(_APPLICATION) or 0

    def stamp(self, number: int) -> CommitStamp | None:
        for actions in self._log():
            said: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
            if str(said.get("splitscan.number")) == str(number):
                return CommitStamp(number, str(said.get("splitscan.job")), str(said.get("splitscan.ledger")))
        return None

    def try_append(
        self, files: Sequence[NewFile], begun: CommitContext, stamp: CommitStamp, removed: Sequence[str] = ()
    ) -> bool:
        schema, partitioning = begun.schema, begun.partitioning
        if new := self._new_columns(schema):
            self._add_columns(new)
            return False  # so that the table is looked at again: killed here, it has columns of nulls
        adds: list[AddAction | RemoveAction] = [*_adds(files, schema, self.columns(), partitioning)]
        if removed and self._table.metadata().configuration.get("delta.appendOnly", "false").lower() == "true":
            raise unfit_error(self._root, "delta.appendOnly=true, and rows are to be replaced")
        now = int(time.time() * 1000)
        adds += [RemoveAction(name, True, now, None, dict(partitioning.values_of(name))) for name in removed]
        try:
            self._table.create_write_transaction(
                adds, "append", self._table.schema(), partition_by=list(partitioning.columns),
                commit_properties=_properties(stamp),
            )  # fmt: skip
        except CommitFailedError:
            return False
        return True

    def live(self) -> set[str]:
        actions = pa.table(self._table.get_add_actions(flatten=True))
        return {unquote(str(path)) for path in actions.column("path").to_pylist()}

    def reduced(self) -> dict[str, FileState]:
        table = self._table
        if _DELETION_VECTORS not in (table.protocol().reader_features or ()):
            return {}
        root = f"{unquote(table.table_uri).rstrip('/')}/"
        uris = [uri for batch in table.deletion_vectors() for uri in pa.record_batch(batch)["filepath"].to_pylist()]
        return {unquote(uri).removeprefix(root): FileState.REDUCED for uri in uris}

    def removed(self, names: set[str]) -> dict[str, FileState]:
        """Look up files that are not live any more; the log forgets what is older than its retention.

        Of a file that was written again, rows are removed if they are from any of the files that took its place, or
        if it had a deletion vector: what that deletes was not written again.
        """
        fates: dict[str, FileState] = {}  # by path: the newest commit decides
        for actions in self._log():
            added = {unquote(action["add"]["path"]): action["add"] for action in actions if "add" in action}
            for path, action in added.items():
                fates.setdefault(path, FileState.REDUCED if action.get("deletionVector") else FileState.LIVE)
            is_kept = all(fates[path] in {FileState.LIVE, FileState.REWRITTEN} for path in added)
            for action in (each["remove"] for each in actions if "remove" in each):
                was_whole = not action.get("dataChange", True) and not action.get("deletionVector")
                fate = FileState.REWRITTEN if is_kept and was_whole else FileState.REMOVED
                fates.setdefault(unquote(action["path"]), fate)
        return {name: fates[name] for name in names & fates.keys() if fates[name] is not FileState.LIVE}

    def _log(self) -> Iterator[list[dict[str, Any]]]:
        for name in reversed(self._storage.list_names(_LOG_FOLDER)):
            if _COMMIT.fullmatch(name):
                with suppress(SourceMissingError):  # cleaned away meanwhile
                    yield [json.loads(line) for line in self._storage.read_bytes(f"{_LOG_FOLDER}/{name}").splitlines()]

    def _check_features(self) -> None:
        table = self._table
        protocol, columns = table.protocol(), table.schema().fields
        settings: Mapping[str, str] = table.metadata().configuration
        constraints = sorted(name for name in settings if name.startswith("delta.constraints."))
        rules = {name for column in columns for name in column.metadata}
        used = {  # some features come with every upgrade of a table's protocol, and are no more than allowed
            "checkConstraints": bool(constraints),
            "invariants": "delta.invariants" in rules,
            "generatedColumns": "delta.generationExpression" in rules,
            "identityColumns": any(name.startswith("delta.identity.") for name in rules),
            "columnMapping": settings.get("delta.columnMapping.mode", "none") != "none",
            "rowTracking": settings.get("delta.enableRowTracking", "false").lower() == "true",
        }
        features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())} & _UNFIT_FEATURES
        unfit = sorted(f"table feature {name}" for name in features if used.get(name, True))
        unfit += ["column mapping"] * used["columnMapping"] + constraints + ["row tracking"] * used["rowTracking"]
        for column in columns:
            if not column.nullable:
                unfit.append(f"column {column.name} is NOT NULL")
            unfit += [f"column {column.name} has {name}" for name in column.metadata if name.startswith(_UNFIT_COLUMNS)]
        if unfit:
            raise unfit_error(self._root, "; ".join(unfit))

    def _add_columns(self, columns: list[Field]) -> None:
        with suppress(CommitFailedError):  # somebody else was faster, perhaps with the same columns
            self._table.alter.add_columns(columns)

    def _new_columns(self, schema: pa.Schema) -> list[Field]:
        fields = {column.name: column for column in Schema.from_arrow(nullable(schema)).fields}
        kinds = {name: column.type for name, column in fields.items()}
        there = {column.name: column.type for column in self._table.schema().fields}
        return [fields[name] for name in new_columns(kinds, there, self._root, _spell)]


def _adds(
    files: Sequence[NewFile], schema: pa.Schema, columns: pa.Schema, partitioning: Partitioning
) -> list[AddAction]:
    now = int(time.time() * 1000)
    in_files, there = partitioning.file_schema(schema), partitioning.file_schema(columns)
    return [
        AddAction(
            file.written.name, file.written.size_bytes, dict(partitioning.values_of(file.written.name)), now, True,
            render_stats(file.footer, in_files, there),
        )
        for file in files
    ]  # fmt: skip


def _properties(stamp: CommitStamp) -> CommitProperties:
    return CommitProperties(
        custom_metadata={
            "splitscan.number": str(stamp.number),
            "splitscan.job": stamp.job_id,
            "splitscan.ledger": stamp.ledger_sha256,
        },
        app_transactions=[Transaction(_APPLICATION, stamp.number)],
        max_commit_retries=0,  # or the library would commit to a version that nobody has looked at
    )


def open_table(place: DestinationStorage) -> DeltaDestination:
    """Open the table of a destination; it need not be there."""
    return DeltaDestination(place)


def _spell(kind: Any) -> str:
    spelled = json.loads(kind.to_json())
    return spelled if isinstance(spelled, str) else json.dumps(spelled)
