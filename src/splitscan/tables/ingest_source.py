"""A table of a database as the source of an ingest.

To the steps it is one file, as long as the table is by estimate, whose blocks are ranges of keys. What no database
says is which version was ingested before: so the user names each job, and a name is ingested once. The plan, with the
version that all tasks read, is kept in staging. The next run continues one that was killed, and reads what is left of
the same version. If that version is gone and something is left to read, the next run starts over.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count

import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, FileMetadata
from splitscan.errors import IngestError, SourceError, SourceMissingError, UsageError, Where, bad_option
from splitscan.jobs.destination import History, SortedFiles
from splitscan.jobs.division import Division, NamedJob, Runner
from splitscan.jobs.file_source import EvolvedSource, Source
from splitscan.jobs.ledger import LedgerFile, SourceTable, describe_columns, field_ids, identify, table_path
from splitscan.jobs.part_writing import PartWriter
from splitscan.jobs.settings import SchemaEvolution
from splitscan.jobs.staging import BlockKey, OutputPart, PartTarget, Staging
from splitscan.options.sources import Snapshot
from splitscan.redaction import redact
from splitscan.scans.schema import shown_type
from splitscan.spelling import Json, from_plain, read_object, to_plain
from splitscan.tables.address import Relation
from splitscan.tables.planning import TablePlan, TableSpec, TableVersion, checked_name
from splitscan.tables.session import NOBODY
from splitscan.tables.table_scan import DatabaseScan, read_pieces

PLAN_NAME = "plan.json"
_PLAN_VERSION = 2
_JOB_NAME = re.compile(r"[\w.:+=-]{1,200}")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """The plan that every run of a job reads by, as it is kept in staging. No password is in it.

    *table* has the ranges of all blocks, each of about *share_bytes*; *version* names its rows.
    """

    table: SourceTable
    version: TableVersion
    share_bytes: int

    @classmethod
    def of(cls, job: str, database: str, plan: TablePlan) -> SavedPlan:
        """Build it from a plan of a table of *database*: each of its tasks is a block."""
        spec, version = plan.spec, plan.version
        assert version is not None
        key, nullable = ("", True) if spec.key is None else (spec.key.name, spec.key.nullable)
        table = SourceTable(job, database, _relation(spec.relation), key, nullable, version.name, plan.tasks)
        return cls(table, version, max(1, plan.statistics.size_bytes // len(plan.tasks)))

    def to_json(self) -> str:
        """Render as JSON."""
        return json.dumps({"plan": _PLAN_VERSION, **to_plain(self)}, sort_keys=True)

    @classmethod
    def from_json(cls, data: bytes) -> SavedPlan | None:
        """Read it back; ``None`` if it is none that can be understood."""
        with suppress(IngestError, ValueError):
            raw = read_object(data)
            if raw.get("plan") == _PLAN_VERSION:
                plan = from_plain(cls, raw)
                return plan if checked_name(plan.version.name) == plan.table.version else None
        return None

    @property
    def identity(self) -> str:
        """Equal for plans by which the same rows are read in the same blocks."""
        return hashlib.sha256(self.to_json().encode("ascii")).hexdigest()[:16]

    @property
    def file(self) -> FileMetadata:
        """The table, as the steps see it."""
        size_bytes = self.share_bytes * len(self.table.ranges)
        path = self.table.path
        return FileMetadata(path, size_bytes, 0, f"{self.version.name} {self.version.server}".strip(), path)

    @property
    def blocks(self) -> dict[BlockKey, BlockMetadata]:
        """Its blocks, in order."""
        file, share = self.file, self.share_bytes
        return {
            (0, number): BlockMetadata(file, number * share, (number + 1) * share, number)
            for number in range(len(self.table.ranges))
        }


def write_rows(spec: TableSpec, plan: SavedPlan, writer: PartWriter, part: OutputPart) -> None:
    """Write a part whose blocks are ranges of keys. No row is a reject, and there are no bytes of a file to hash."""
    # with or without rows that lack a key as it was planned: the table of now may be without
    spec = replace(spec, key=None if spec.key is None else replace(spec.key, nullable=plan.table.nullable))
    for file_index, block in part.blocks:
        rows = size_bytes = 0
        for batch in read_pieces(spec, plan.table.ranges[block.index], plan.version):
            rows += batch.num_rows
            size_bytes += batch.nbytes
            writer.write(batch, min(size_bytes, block.length_bytes))
        writer.end_block(BlockReport(block, block.start, block.stop, rows, 0, ""), file_index, block.index)


@dataclass(frozen=True)
class TableIngestSource(Source):
    """A table of a database, read once under the name of a job: ``[job-name]`` if the name is none."""

    scan: DatabaseScan
    job: str

    def __post_init__(self) -> None:
        if not isinstance(self.job, str) or not _JOB_NAME.fullmatch(self.job):
            raise UsageError(
                "an ingest of a table has a name, by which a rerun is known: it is ingested once under each name",
                seen=f"job={self.job!r}"[:300],
                fix="set job to a name of up to 200 letters, digits and _ . : + = -, such as job='orders-2024-01-02'; "
                "the same one to go on after a failure, another one to ingest the table again",
                code="job-name",
            )

    @property
    def schema(self) -> pa.Schema:
        return self.scan.spec.schema

    @property
    def own_names(self) -> bool:
        return True  # a database delivers rows in any order

    @property
    def record_format(self) -> str:
        return "table"

    @property
    def described_options(self) -> Json:
        """Options of the scan, without address and query, which may hold secrets: the ledger names both."""
        raw = asdict(self.scan.options)
        for name in ("url", "user", "password", "query", "dbtable"):
            del raw[name]
        return {"table": {**raw, "snapshot": self.scan.options.snapshot.value}}

    @property
    def roots(self) -> Sequence[str]:
        return (redact(self._path),)

    @property
    def _path(self) -> str:
        return table_path(*self._table, self.job)

    @property
    def _table(self) -> tuple[str, str]:
        return self.scan.database, _relation(self.scan.relation)

    def sort(self, history: History) -> SortedFiles:
        """The table is new unless a job of this name was ingested; ``[job-taken]`` if that was of another table."""
        file = FileMetadata(self._path, 0, 0, "", self._path)
        known = history.tables.get(self.job)
        if known is None:
            return SortedFiles(fresh=[file])
        if known == self._table:
            return SortedFiles(skipped=[file], by_name=True)
        raise IngestError(
            f"job {self.job} has ingested another table, so nothing was done", Where(path=redact(self._path)),
            f"{known[1]} of {known[0]}", "give this table a job of another name", "job-taken",
        )  # fmt: skip

    def settled(
        self, found: SortedFiles, there: pa.Schema | None, mode: SchemaEvolution, destination: str
    ) -> EvolvedSource:
        """The columns of the destination first where others are added, then the new ones; elsewhere as they are."""
        if mode.keeps_columns:
            raise bad_option(
                "a table says which columns it has: there are none to be found on the way",
                f"schema_evolution_mode={mode.value}",
                "choose columns with select; or set addNewColumns",
            )
        names = self.schema.names
        if there is None or mode is not SchemaEvolution.ADD:
            return EvolvedSource(self)
        new = [name for name in names if name not in there.names]
        ordered = [*(name for name in there.names if name in names), *new]
        source = self if ordered == names else TableIngestSource(self.scan.select(*ordered), self.job)
        return EvolvedSource(source, tuple(f"{name} {shown_type(self.schema.field(name).type)}" for name in new))

    def check(self) -> None:
        options = self.scan.options
        said = {
            f"limit({self.scan.row_limit})": self.scan.row_limit is not None,
            f"snapshot={options.snapshot.value}": options.snapshot is not Snapshot.SHARED,
            "rebalance": options.rebalance,
        }
        refused = [name for name, is_said in said.items() if is_said]
        if refused:
            raise bad_option(
                "an ingest reads every row of one version of a table, by ranges of keys that are planned beforehand",
                refused[0],
                "leave it out: with snapshot=own rows that change meanwhile would be lost or doubled, and a plan "
                "that is made while it is read could not be continued",
            )

    def name_job(
        self,
        files: Sequence[FileMetadata],
        division: Division | None,
        target: PartTarget,
        committed: Container[str],
        runner: Runner,
    ) -> NamedJob:
        """Go on with the plan of an earlier run, if what is left of it can be read; otherwise make one."""
        spec = self.scan.spec

        def is_planned(number: int) -> bool:
            staging = target.named(self._job_id(spec, target, number)).open_staging()
            return staging.job_id in committed or staging.storage.exists(_plan_name(staging))

        def attempt(number: int) -> NamedJob | None:
            job_id = self._job_id(spec, target, number)
            return None if job_id in committed else self._named(spec, target.named(job_id), runner)

        new = next(number for number in count() if not is_planned(number))
        attempts = count(max(0, new - 1))  # of those before the last one was found already that nobody can finish them
        return next(shared for shared in map(attempt, attempts) if shared is not None)

    def _named(self, spec: TableSpec, target: PartTarget, runner: Runner) -> NamedJob | None:
        plan, is_new = self._kept(target.open_staging(), runner.min_tasks)
        if plan is None:
            return None
        division = Division(
            plan.blocks,
            lambda blocks: [(block,) for block in blocks],
            partial(runner.run, partial(write_rows, spec, plan)),
        )
        target = target.named(target.job_id, plan.identity)
        if not is_new and not self._can_be_finished(plan, division, target.open_staging()):
            self._release(plan.version)
            return None
        file = plan.file
        path = redact(file.path)
        digest = "" if path == file.path else identify(file.path)
        described = LedgerFile(0, path, file.fingerprint, file.size_bytes, 0, digest)
        release = partial(self._release, plan.version)
        return NamedJob(target, division, (described,), plan.table, release)

    def _kept(self, staging: Staging, slots: int) -> tuple[SavedPlan | None, bool]:
        """The plan that is kept for a job, and whether it was made now; ``None`` if it cannot be understood."""
        name = _plan_name(staging)
        with suppress(SourceMissingError):
            return SavedPlan.from_json(staging.storage.read_bytes(name)), False
        made = self.scan.plan(slots, NOBODY)
        assert made.version is not None
        is_kept = False
        try:
            plan = SavedPlan.of(self.job, self.scan.database, made)
            is_kept = staging.storage.try_create(name, plan.to_json().encode("ascii"))
        finally:
            if not is_kept:
                self._release(made.version)
        if is_kept:
            return plan, True
        return SavedPlan.from_json(staging.storage.read_bytes(name)), False  # a twin of this run was faster

    def _can_be_finished(self, plan: SavedPlan, division: Division, staging: Staging) -> bool:
        if self.scan.has_version(plan.version):
            return True
        finished = sum(len(report.blocks) for report in division.finished(staging))
        if finished == division.blocks_total:
            return True
        _LOG.warning(
            "job %s starts over: %d of %d blocks were read of a version of the table that is gone; nothing of them "
            "was published", self.job, finished, division.blocks_total,
        )  # fmt: skip
        return False

    def _release(self, version: TableVersion) -> None:
        with suppress(SourceError):  # whoever holds it ends by itself when nobody reads
            self.scan.release_version(version)

    def _job_id(self, spec: TableSpec, target: PartTarget, number: int) -> str:
        """Identity of the attempt of this number: the same job with the same columns, written alike."""
        settings = target.settings
        head = [
            _PLAN_VERSION, self.job, *self._table, number, pa.__version__,
            [(str(column), chosen.expression) for column, chosen in
             zip(describe_columns(spec.schema), spec.columns, strict=True)],
            None if spec.key is None else [spec.key.name, spec.key.declared],
            [settings.compression, settings.row_group_bytes, settings.row_group_rows, settings.partition_by],
            field_ids(target.schema),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(head).encode("ascii")).hexdigest()[:32]


def _plan_name(staging: Staging) -> str:
    return f"{staging.job_id}/{PLAN_NAME}"


def _relation(relation: Relation) -> str:
    """The table by its name; a SELECT, which may hold secrets, by its digest."""
    query = relation.query
    return f"table {relation.name}" if query is None else f"query {hashlib.sha256(query.encode()).hexdigest()}"
