"""Tables of Delta Lake, through ``deltalake``.

The number of the last job is the table's application transaction ``splitscan``: it stays when logs are cleaned. The
library refuses two commits of it at once, and never compares it with what was committed before; so every attempt opens
the table again, looks, and commits from exactly the version that it has looked at.

Engines skip files by the statistics in the log. A bound that is too narrow loses rows without a word, so every bound
here is exact or too wide. So does one bound that is missing among others: ``deltalake`` takes it for a null, which no
value is below. Where one column has no greatest value that can be told, no column of the file has one; the same with
the least. A file without bounds is read.
"""

# Over 400 lines: the statistics that its commits write are here too.

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from splitscan.content.storage import Storage
from splitscan.errors import SourceMissingError, UsageError, Where
from splitscan.formats.decoding.contract import VARIANT, is_variant
from splitscan.jobs.destination import FileState
from splitscan.jobs.parquet import WITHOUT_NAN
from splitscan.jobs.settings import Partitioning, SchemaEvolution
from splitscan.jobs.table import TableDestination, nullable
from splitscan.jobs.table_format import (
    CommitContext,
    CommitStamp,
    NewFile,
    TableSnapshot,
    check_new_columns,
    delta_settings,
    new_columns,
    unfit_error,
)
from splitscan.jobs.workplace import DestinationStorage

INDEXED_LEAVES = 32
"""Leaf columns with statistics, from the first: what Delta tables index unless they say otherwise."""

_TEXT_LENGTH = 32  # characters of a bound
_LAST_CHARACTER = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MOST_MOMENT = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_MOST_DAY = date(9999, 12, 31).toordinal()

Nested = dict[str, Any]


def render_stats(footer: pq.FileMetaData, schema: pa.Schema, table: pa.Schema | None = None) -> str:
    """Spell the statistics of a file as the JSON that its ``add`` action holds.

    Args:
        footer: Of the file.
        schema: Of the file.
        table: Of the table, without the columns that it is partitioned by; those that the file lacks are null in it.

    Returns:
        ``numRecords``, ``nullCount`` of the columns of which it is known, and ``minValues`` and ``maxValues`` where
        they are known of all. Floating point columns that may hold a NaN have none: engines sort it above all.
    """
    sure = json.loads((footer.metadata or {}).get(WITHOUT_NAN.encode(), b"[]"))
    whole = {"minValues": True, "maxValues": True}
    least: Nested = {}
    most: Nested = {}
    nulls: Nested = {column.name: footer.num_rows for column in table or () if column.name not in schema.names}
    for number, (path, kind) in enumerate(_leaves(schema)):
        if number >= INDEXED_LEAVES:
            break
        if path is None:
            continue
        groups = [footer.row_group(group).column(number) for group in range(footer.num_row_groups)]
        known = [group.statistics for group in groups]
        counted = all(each is not None and each.has_null_count for each in known)
        if counted:
            _put(nulls, path, sum(each.null_count for each in known))
            known = [each for each, group in zip(known, groups, strict=True) if each.null_count < group.num_values]
            if not known:
                continue
        bounded = (
            counted and all(each.has_min_max for each in known) and (len(path) > 1 or _is_sure(path[0], kind, sure))
        )
        for name, bounds, which in (("minValues", least, "min"), ("maxValues", most, "max")):
            value = _bound(known, kind, which) if bounded else None
            if value is not None:
                _put(bounds, path, value)
            elif len(path) == 1 and not pa.types.is_binary(kind):
                whole[name] = False
    stats = {"numRecords": footer.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls}
    return _render({name: value for name, value in stats.items() if whole.get(name, True)})


def _is_sure(name: str, kind: pa.DataType, without_nan: Sequence[str]) -> bool:
    return not pa.types.is_floating(kind) or name in without_nan


def _leaves(schema: pa.Schema) -> Iterator[tuple[tuple[str, ...] | None, pa.DataType]]:
    """The leaf columns in the order of the footer; those inside lists and maps have no path."""
    for column in schema:
        yield from _leaves_of((column.name,), column.type)


def _leaves_of(path: tuple[str, ...] | None, kind: pa.DataType) -> Iterator[tuple[tuple[str, ...] | None, pa.DataType]]:
    if pa.types.is_struct(kind):
        path = None if is_variant(kind) else path  # engines know no bounds of its parts
        for field in kind:
            yield from _leaves_of(None if path is None else (*path, field.name), field.type)
    elif pa.types.is_map(kind):
        yield from _leaves_of(None, kind.key_type)
        yield from _leaves_of(None, kind.item_type)
    elif pa.types.is_list(kind):
        yield from _leaves_of(None, kind.value_type)
    else:
        yield path, kind


def _put(tree: Nested, path: tuple[str, ...], value: object) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _bound(groups: list[Any], kind: pa.DataType, which: str) -> object:
    """The ``min`` or ``max`` of a column as the JSON has it: a short text or a millisecond that no value is beyond."""
    types, is_least = pa.types, which == "min"
    choose = min if is_least else max
    value: Any = None
    if types.is_date(kind):
        value = _day(choose(getattr(each, f"{which}_raw") for each in groups))
    elif types.is_timestamp(kind):
        raw = choose(getattr(each, f"{which}_raw") for each in groups)
        value = _moment(raw // 1000 * 1000 if is_least else min(-(-raw // 1000) * 1000, _MOST_MOMENT), kind)
    elif types.is_floating(kind):
        bound = choose(float(getattr(each, which)) for each in groups)
        value = bound if math.isfinite(bound) else None
    elif types.is_integer(kind) or types.is_decimal(kind) or types.is_boolean(kind) or types.is_string(kind):
        value = choose(getattr(each, which) for each in groups)
        if types.is_string(kind):
            value = value[:_TEXT_LENGTH] if is_least else raise_text(value)
    return value


def raise_text(text: str) -> str:
    """A short text that is not less than any text with the same beginning; the text itself if there is none.

    Example:
        >>> raise_text("short"), raise_text("a" * 31 + "bcd") == "a" * 31 + "c"
        ('short', True)
    """
    if len(text) <= _TEXT_LENGTH:
        return text
    kept = text[:_TEXT_LENGTH]
    while kept:
        code = ord(kept[-1]) + 1
        if code <= _LAST_CHARACTER:
            return kept[:-1] + chr(_SURROGATES[1] + 1 if code == _SURROGATES[0] else code)
        kept = kept[:-1]
    return text


def _day(days: int) -> str | None:
    ordinal = _EPOCH_DAY + days
    return date.fromordinal(ordinal).isoformat() if 1 <= ordinal <= _MOST_DAY else None


def _moment(microseconds: int, kind: pa.DataType) -> str | None:
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    text = moment.replace(tzinfo=None).isoformat(timespec="microseconds" if microseconds % 1000 else "milliseconds")
    return f"{text}Z" if kind.tz else text


def _render(value: object) -> str:
    """JSON in which a decimal keeps its digits, and a character its bytes: ``deltalake`` misreads escaped pairs."""
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_render(item)}" for name, item in value.items())
            + "}"
        )
    if isinstance(value, Decimal):
        return format(value, "f")
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


_APPLICATION = "splitscan"

_LOG_FOLDER = "_delta_log"

_DELETION_VECTORS = "deletionVectors"

_COMMIT = re.compile(r"\d{20}\.json")

# what changes how rows must be written, or what must hold for them: files that are registered follow none of it
_UNFIT_FEATURES = {
    "columnMapping", "rowTracking", "icebergCompatV1", "icebergCompatV2", "identityColumns", "generatedColumns",
    "checkConstraints", "invariants", "clustering", "materializePartitionColumns",
}  # fmt: skip

_VARIANT = json.loads(Schema.from_arrow(pa.schema([("v", VARIANT)])).to_json())["fields"][0]["type"]

_UNFIT_COLUMNS = ("delta.generationExpression", "delta.identity.", "delta.invariants")


class DeltaDestination(TableDestination):
    """A Delta table in the folder of a destination."""

    table = "delta"
    holds_variants = True
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

    def open_snapshot(self) -> DeltaSnapshot | None:
        try:
            return DeltaSnapshot(DeltaTable(self._uri, storage_options=self._options), self.place.destination)
        except TableNotFoundError:
            return None

    def create_table(self, files: Sequence[NewFile], begun: CommitContext, stamp: CommitStamp) -> bool:
        columns = _delta_schema(begun.schema)
        try:
            create_table_with_add_actions(
                self._uri, columns, _adds(files, begun.schema, pa.schema(columns.to_arrow()), begun.partitioning),
                "error", list(begun.partitioning.columns), storage_options=self._options,
                commit_properties=_properties(stamp),
            )  # fmt: skip
        except DeltaError:
            if self.open_snapshot() is None:
                raise
            return False
        return True


class DeltaSnapshot(TableSnapshot):
    """A version of a Delta table."""

    def __init__(self, table: DeltaTable, storage: Storage) -> None:
        self._table, self._storage, self._root = table, storage, storage.root

    def partition_by(self) -> tuple[str, ...]:
        return tuple(self._table.metadata().partition_columns)

    def columns(self) -> pa.Schema:
        spelled = json.loads(self._table.schema().to_json())
        return pa.schema(list(_arrow_type(pa.struct(pa.schema(self._table.schema().to_arrow())), spelled)))

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
        fields = {column.name: column for column in _delta_schema(schema).fields}
        kinds = {name: column.type for name, column in fields.items()}
        there = {column.name: column.type for column in self._table.schema().fields}
        return [fields[name] for name in new_columns(kinds, there, self._root, _spell)]


def _delta_schema(schema: pa.Schema) -> Schema:
    """The columns as Delta has them: variants have a type there."""
    plain = Schema.from_arrow(nullable(schema)).to_json()
    return Schema.from_json(json.dumps(_with_variants(json.loads(plain))))


def _with_variants(spelled: Any) -> Any:
    if spelled == _VARIANT:
        return "variant"
    if isinstance(spelled, dict):
        return {name: _with_variants(each) for name, each in spelled.items()}
    return [_with_variants(each) for each in spelled] if isinstance(spelled, list) else spelled


def _arrow_type(kind: pa.DataType, spelled: Any) -> pa.DataType:
    """The type that Arrow has for one of Delta, variants told from other structs."""
    if spelled == "variant":
        return VARIANT
    if pa.types.is_struct(kind):
        kinds = [_arrow_type(part.type, each["type"]) for part, each in zip(kind, spelled["fields"], strict=True)]
        return pa.struct([part.with_type(each) for part, each in zip(kind, kinds, strict=True)])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_arrow_type(kind.value_type, spelled["elementType"])))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_field.with_type(_arrow_type(kind.item_type, spelled["valueType"])))
    return kind


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


def make_destination(place: DestinationStorage) -> DeltaDestination:
    """Open the table of a destination; it need not be there."""
    return DeltaDestination(place)


def _spell(kind: Any) -> str:
    spelled = json.loads(kind.to_json())
    return spelled if isinstance(spelled, str) else json.dumps(spelled)
