"""Tables as destinations: the order of a commit, and how one that was killed is finished.

The commit itself is that of the table format. It names the number of the job and the SHA-256 of its ledger, which was
written beside the table before. So whatever is killed, the next run knows from the table alone whether the job is in,
and publishes the ledger that fits.
"""

from __future__ import annotations

import hashlib
import random
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import pyarrow as pa

from splitscan.content.storage import open_source, redact
from splitscan.errors import IngestError, SchemaError, SourceMissingError, Where, bad_option
from splitscan.formats.decoding.contract import holds_variant, is_made_of, type_name
from splitscan.jobs.destination import Destination, FileState, History
from splitscan.jobs.ledger import OUR_FOLDER, Ledger, WrittenFile, describe_columns, field_ids
from splitscan.jobs.ledger_files import (
    announce_table,
    busy_error,
    check_ours,
    forget_announced,
    ledger_name,
    parse_ledger,
    publish_ledger,
    read_ledger,
    render_ledger,
    walk_data,
)
from splitscan.jobs.parquet import read_footer
from splitscan.jobs.replacing import rows_elsewhere
from splitscan.jobs.settings import IngestSettings, Partitioning, choose_partitioning, job_prefix
from splitscan.jobs.staging import Staging
from splitscan.jobs.table_format import CommitContext, CommitStamp, NewFile, TableSnapshot, is_failure
from splitscan.jobs.workplace import Announce, missing_error, move_in, move_in_rest, unfinished_moves
from splitscan.sizes import count_of

P = ParamSpec("P")
T = TypeVar("T")

PREPARED_FOLDER = f"{OUR_FOLDER}/prepared"
"""Ledgers of jobs whose table commit is about to happen, or has just happened."""

_ATTEMPTS = 100  # each lost to a commit of somebody else; with the pauses between them about a minute
_MOST_PAUSE_SECONDS = 1.0
_FOOTER_THREADS = 8  # a look at every new file before it is registered; mostly waiting for the storage


def _translating_errors(
    method: Callable[Concatenate[TableDestination, P], T],
) -> Callable[Concatenate[TableDestination, P], T]:

    @wraps(method)
    def told(destination: TableDestination, /, *arguments: P.args, **named: P.kwargs) -> T:
        try:
            return method(destination, *arguments, **named)
        except Exception as error:
            if not is_failure(error):
                raise
            raw = f"{type(error).__name__}: {error}"
            shown = redact(raw, destination.place.storage_options)
            raise IngestError(
                "the table or its catalog cannot be read or committed to",
                Where(path=destination.place.destination.root), shown[:300],
                "run again: no finished block is read again, and a commit that happened is found", "destination-failed",
            ) from (error if shown == raw else None)  # fmt: skip

    return told


class TableDestination(Destination):
    """A destination that is a table.

    Data files are written to their final names in the table's folder: what no commit has named is in no reader's way.
    A reject table waits in staging, and is moved in after the commit.
    """

    keeps_partition_columns: bool
    """Whether data files have the columns that they are partitioned by."""

    holds_variants = False
    """Whether columns may be variants."""

    _begun: CommitContext
    """The job that is being written, from :meth:`begin` on."""

    @abstractmethod
    def open_snapshot(self) -> TableSnapshot | None:
        """Look at the table; ``None`` if it is not there. The time that this takes grows with its files."""

    def with_planned_ids(self, schema: pa.Schema) -> pa.Schema:
        """The schema as :meth:`TableSnapshot.with_field_ids` gives it once the table is created with it."""
        return schema

    @abstractmethod
    def create_table(self, files: Sequence[NewFile], begun: CommitContext, stamp: CommitStamp) -> bool:
        """Create the table with these files, in one commit.

        Returns whether it was done. If not, it is there by now, or the catalog does not know: the caller opens it.
        """

    @property
    def data_root(self) -> str:
        return self.place.destination.root

    @_translating_errors
    def columns(self, history: History) -> pa.Schema | None:
        table = self.open_snapshot()
        return None if table is None else table.columns()

    @_translating_errors
    def check(self, schema: pa.Schema, history: History, settings: IngestSettings) -> Partitioning:
        if settings.layout is not None:
            raise bad_option(
                "layout is about plain folders: a job becomes visible in a table by the table's own commit",
                f"layout={settings.layout.value}", "leave layout out", Where(path=self.place.destination.root),
            )  # fmt: skip
        root = self.place.destination.root
        partitioning = Partitioning(settings.partition_by or (), self.keeps_partition_columns)
        check_types(schema, self.table, root, variants=self.holds_variants)
        table = self.open_snapshot()
        if table is not None:
            self._check_number(table, history)
            there = Partitioning(table.partition_by(), self.keeps_partition_columns)
            partitioning = choose_partitioning(settings.partition_by, there, root)
            table.check(schema, settings.schema_evolution_mode)
        elif history.jobs:
            raise self._behind(0, history.last)
        else:
            check_ours(self.place.destination)
        partitioning.check(schema)
        return partitioning

    @_translating_errors
    def begin(self, schema: pa.Schema, partitioning: Partitioning, settings: IngestSettings) -> pa.Schema:
        table = self.open_snapshot()
        if table is None:
            announce_table(self.place.destination, self.table)
            schema = self.with_planned_ids(schema)
        else:
            schema = table.with_field_ids(schema)
        self._begun = CommitContext(schema, partitioning, settings.schema_evolution_mode, is_new=table is None)
        return schema

    @_translating_errors
    def commit(self, staging: Staging, ledger: Ledger, announce: Announce) -> Ledger:
        """Publish a job: prepare its ledger, commit to the table, publish the ledger, move in the rejects.

        Where a twin has committed to the table before, the ledger is the twin's, for the table holds the twin's files.
        """
        announce("check")
        files = self._read_footers(ledger)
        text = render_ledger(ledger)
        stamp = CommitStamp(ledger.sequence, ledger.job_id, hashlib.sha256(text).hexdigest())
        announce("prepare")
        self.place.destination.write_bytes_atomic(_prepared_name(stamp), text)
        announce("table")
        if not self._append(files, stamp, [each.name for each in ledger.removed]):
            ledger = self._find_ledger(self._open(stamp.number), stamp.number)
        announce("ledger")
        publish_ledger(self.place.destination, ledger, is_local=self.place.is_local)
        announce("move")
        move_in(self.place, staging, [each for each in ledger.written if each.is_reject_table], announce)
        announce("clean")
        self._forget_prepared(ledger.sequence)
        return ledger

    @_translating_errors
    def unfinished(self, history: History) -> list[int]:
        waiting = unfinished_moves(self.place, history.jobs)
        table = self.open_snapshot()
        if table is not None:
            return waiting + list(range(history.last + 1, self._check_number(table, history) + 1))
        if history.jobs:
            raise self._behind(0, history.last)
        return waiting

    @_translating_errors
    def finish(self, number: int, history: History) -> None:
        """Publish the ledger, if the commit to the table was the last that happened, and move in the rejects."""
        if number > history.last:
            ledger = self._find_ledger(self._open(number), number)
            publish_ledger(self.place.destination, ledger, is_local=self.place.is_local)
        move_in_rest(self.place, number, only_rejects=True)
        self._forget_prepared(number)

    @_translating_errors
    def audit(self, files: Sequence[WrittenFile]) -> Mapping[str, FileState]:
        names = [written.name for written in files]
        table = self.open_snapshot()
        if table is None:
            return dict.fromkeys(names, FileState.UNKNOWN)
        live = table.live()
        gone = {name for name in names if name not in live}
        found = table.removed(gone) if gone else {}
        states = dict.fromkeys(live, FileState.LIVE) | table.reduced()
        return {name: found.get(name, FileState.UNKNOWN) if name in gone else states[name] for name in names}

    @_translating_errors
    def discard(self, job_id: str) -> None:
        """Delete what an interrupted job has written, except what the table names."""
        prefix = job_prefix(job_id)
        orphans = {name for name in walk_data(self.place.destination) if name.rpartition("/")[2].startswith(prefix)}
        table = self.open_snapshot() if orphans else None
        for name in orphans - (set() if table is None else table.live()):
            self.place.destination.delete_tree(name)

    # ------------------------------------------------------------- the commit

    def _append(self, files: Sequence[NewFile], stamp: CommitStamp, removed: Sequence[str]) -> bool:
        """Commit to the table. Returns whether it holds these files: if not, it holds those of a twin."""
        for attempt in range(_ATTEMPTS):
            table = self.open_snapshot() if self._begun.is_new else self._open(stamp.number - 1)
            if table is None:
                done = self.create_table(files, self._begun, stamp)
            elif table.number() >= stamp.number:
                return self._is_ours(table, stamp)
            elif table.number() < stamp.number - 1:
                raise self._behind(table.number(), stamp.number - 1)
            else:
                if removed and (gone := set(removed) - (table.live() - table.reduced().keys())):
                    raise rows_elsewhere(self.place.destination.root, ", ".join(sorted(gone)[:3]))
                table.check(self._begun.schema, self._begun.evolution)
                there = Partitioning(table.partition_by(), self.keeps_partition_columns)
                choose_partitioning(self._begun.partitioning.columns, there, self.place.destination.root)
                done = table.try_append(files, self._begun, stamp, removed)
            if done:
                return True
            time.sleep(random.uniform(0, min(_MOST_PAUSE_SECONDS, 0.01 * 2 ** min(attempt, 7))))
        raise IngestError(
            "others commit to the table all the time, so the job found no moment for its own commit",
            Where(path=self.place.destination.root), f"{_ATTEMPTS} attempts",
            "run again: no finished block is read again", "destination-busy",
        )  # fmt: skip

    def _open(self, last: int) -> TableSnapshot:
        """The table, which was there a moment ago; *last* is the number that it should have reached."""
        table = self.open_snapshot()
        if table is None:
            raise self._behind(0, last)
        return table

    def _is_ours(self, table: TableSnapshot, stamp: CommitStamp) -> bool:
        """Return whether the commit of this number is that of an earlier attempt; if not, it is that of a twin."""
        there = table.stamp(stamp.number)
        if there is None or there.job_id != stamp.job_id:
            winner = "of another run" if there is None else there.job_id
            raise busy_error(self.place.destination, winner, stamp.number)
        return there.ledger_sha256 == stamp.ledger_sha256

    def _read_footers(self, ledger: Ledger) -> list[NewFile]:
        """Make sure that every file is there as it was written: no table format looks before it registers a file."""
        planned = self._begun.partitioning.file_schema(self._begun.schema)
        with ThreadPoolExecutor(_FOOTER_THREADS) as pool:
            return list(pool.map(lambda written: self._read_footer(written, planned), ledger.data_files))

    def _read_footer(self, written: WrittenFile, planned: pa.Schema) -> NewFile:
        path = self.place.destination.path_of(written.name)
        try:
            with closing(open_source(path, self.place.storage_options)) as source:
                if source.size_bytes != written.size_bytes:
                    raise _changed(path, f"{source.size_bytes} bytes where {written.size_bytes} were written")
                footer = read_footer(source.read_at, source.size_bytes)
        except SourceMissingError:
            raise missing_error(written.name, self.place.destination.root) from None
        except (pa.ArrowException, OSError) as error:
            raise _changed(path, f"{type(error).__name__}: {str(error)[:300]}") from error
        if footer.num_rows != written.rows:
            raise _changed(path, f"{footer.num_rows} rows where {written.rows} were written")
        schema = footer.schema.to_arrow_schema()
        if describe_columns(schema) != describe_columns(planned) or field_ids(schema) != field_ids(planned):
            raise _changed(path, "other columns than were planned, or the same ones under other field ids")
        return NewFile(written, footer)

    # ------------------------------------------------------------- recovery

    def _check_number(self, table: TableSnapshot, history: History) -> int:
        """The number of the last job in the table, which is that of the ledgers or one more."""
        number = table.number()
        if number < history.last:
            raise self._behind(number, history.last)
        if number > history.last + 1:
            raise IngestError(
                "a ledger is missing: the table holds more jobs than there are ledgers",
                Where(path=self.place.destination.root), f"{number} jobs in the table, {history.last} ledgers",
                "restore the ledgers from a backup; without them, what was ingested cannot be told", "ledger-damaged",
            )  # fmt: skip
        return number

    def _find_ledger(self, table: TableSnapshot, number: int) -> Ledger:
        """The prepared ledger that the table's commit names; of a table that has forgotten, whose files are live.

        Where there is none, it is the published one: a twin that is done has cleaned up.

        Raises:
            IngestError: ``[ledger-damaged]`` if there is neither.
        """
        storage = self.place.destination
        found = []
        for name in self._prepared(number):
            with suppress(SourceMissingError):  # cleaned away meanwhile
                text = storage.read_bytes(name)
                found.append((parse_ledger(text, storage.path_of(name)), hashlib.sha256(text).hexdigest()))
        stamp = table.stamp(number)
        live = table.live() if stamp is None else set()
        for ledger, sha256 in found:
            if sha256 == stamp.ledger_sha256 if stamp else {each.name for each in ledger.data_files} <= live:
                return ledger
        if storage.exists(ledger_name(number)):
            return read_ledger(storage, number)
        raise IngestError(
            "a job was committed to the table, and its prepared ledger is gone", Where(path=storage.root),
            f"job number {number}; {count_of(len(found), 'prepared ledger')} of that number, none fits",
            f"restore {PREPARED_FOLDER} from a backup; without it, what was ingested cannot be told", "ledger-damaged",
        )  # fmt: skip

    def _prepared(self, number: int) -> list[str]:
        names = self.place.destination.list_names(PREPARED_FOLDER)
        ours = [name for name in names if name.startswith(f"{number:08d}-") and name.endswith(".jsonl")]
        return [f"{PREPARED_FOLDER}/{name}" for name in ours]

    def _forget_prepared(self, number: int) -> None:
        """Delete the prepared ledgers of a number whose ledger is published: also those of runs that came too late."""
        for name in self._prepared(number):
            self.place.destination.delete_tree(name)
        forget_announced(self.place.destination, self.table)

    def _behind(self, number: int, last: int) -> IngestError:
        return IngestError(
            "the table is older than its ledgers: it was restored, recreated or removed",
            Where(path=self.place.destination.root), f"the table's last job is {number}, the last ledger's {last}",
            "bring the table back to its newest version, or ingest into a new destination", "table-behind",
        )  # fmt: skip


def check_types(schema: pa.Schema, table_format: str, where: str, *, variants: bool = False) -> None:
    """Make sure that a table format has all types of a schema, with *variants* that of variants too."""
    for column in schema:
        if not is_made_of(column.type, _fits) or (holds_variant(column.type) and not variants):
            raise SchemaError(
                f"no reader of a table of format {table_format} expects such a type",
                Where(path=where, column=column.name), type_name(column.type),
                "give the column another type in the schema: as a string it keeps what is written", "table-type",
            )  # fmt: skip


def _fits(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_timestamp(kind):
        return bool(kind.unit == "us" and kind.tz in {None, "UTC"})
    return bool(
        types.is_signed_integer(kind) or types.is_float32(kind) or types.is_float64(kind) or types.is_boolean(kind)
        or types.is_string(kind) or types.is_binary(kind) or types.is_date32(kind) or types.is_decimal128(kind)
    )  # fmt: skip


def nullable(schema: pa.Schema) -> pa.Schema:
    """Let each column hold nulls: another writer's rows may lack them."""
    return pa.schema([pa.field(column.name, column.type) for column in schema])


def _prepared_name(stamp: CommitStamp) -> str:
    """One for each text, so that twins with other files do not write over each other. Older ones lack the SHA-256."""
    return f"{PREPARED_FOLDER}/{stamp.number:08d}-{stamp.job_id}-{stamp.ledger_sha256}.jsonl"


def _changed(path: str, seen: str) -> IngestError:
    return IngestError(
        "a data file is not as it was written, so nothing was published", Where(path=path), seen,
        "delete the file, and run again: it is written again", "data-file-changed",
    )  # fmt: skip
