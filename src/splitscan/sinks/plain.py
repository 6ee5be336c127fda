"""A plain folder of Parquet: a job becomes visible by one rename, or by its ledger and a move for each of its files.

A killed commit leaves the destination as before or as after. What it prepared beside the destination is thrown away or
used again by the next run; what it had announced in a ledger is moved in by :meth:`PlainSink.recover`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa

from splitscan.content.storage import open_source
from splitscan.errors import IngestError, SchemaError, SplitscanError, Where
from splitscan.sinks.contract import Announce, FileState, Published
from splitscan.sinks.ledger import STAGING_FOLDER, Ledger, WrittenFile, describe_columns, only_appends
from splitscan.sinks.ledger_text import check_written_name, render_ledger
from splitscan.sinks.ledgers import check_ours, ledger_name, publish_ledger, read_ledger
from splitscan.sinks.partitioning import Partitioning, choose_partitioning
from splitscan.sinks.parts import carrier_name, first_of
from splitscan.sinks.settings import IngestSettings, SchemaEvolution
from splitscan.sinks.staging import Staging
from splitscan.sinks.workplace import Workplace
from splitscan.sinks.writing import read_footer


class PlainSink:
    """A folder of Parquet files, read as it is.

    The first job appears with its folder, by one rename. Every later one is published by its ledger, and then its files
    are moved in one by one: what that costs depends on the new files only. A reader that lists files while they are
    moved in may see a part of the newest job; the ledger is exact at any instant.

    Args:
        place: The destination.
    """

    table = ""
    data_root = ""

    def __init__(self, place: Workplace) -> None:
        self.place = place

    def columns(self, published: Published) -> pa.Schema | None:
        """The columns of all jobs: those of any file, and those that the folders of partitions hold."""
        if not published.jobs:
            return None
        own = pa.schema([])
        for sequence in range(published.last, 0, -1):  # the first job has a file, and most have
            if files := read_ledger(self.place.destination, sequence).data_files:
                path = self.place.destination.path_of(files[0].name)
                with closing(open_source(path, self.place.storage_options)) as source:
                    own = read_footer(source.read_at, source.size_bytes).schema.to_arrow_schema()
                break
        there = {column.name: column for column in own}
        return pa.schema([
            there.get(each.name) or pa.field(each.name, pa.type_for_alias(each.type), each.nullable)
            for each in published.columns
        ])  # fmt: skip

    def check(self, schema: pa.Schema, published: Published, settings: IngestSettings) -> Partitioning:
        """Make sure that the folder is ours, and that jobs have its columns and partitions, or append columns."""
        if not published.jobs:
            check_ours(self.place.destination)
            partitioning = Partitioning(settings.partition_by or ())
            partitioning.check(schema)
            return partitioning
        self._check_no_table(published)
        columns = describe_columns(schema)
        grows = settings.schema_evolution_mode is SchemaEvolution.ADD and only_appends(published.columns, columns)
        if grows or published.columns == columns:
            return choose_partitioning(settings.partition_by, published.partitioning, self.place.destination.root)
        there, new = (", ".join(map(str, some)) for some in (published.columns, columns))
        raise SchemaError(
            "all jobs of one destination write the same columns, in the same order; new ones are added after them",
            Where(path=self.place.destination.root),
            f"{new}\n         but the destination has: {there}",
            "give the destination's schema, or ingest into another destination; schema_evolution_mode='addNewColumns' "
            "adds columns that may hold nulls", "destination-schema",
        )  # fmt: skip

    def begin(self, schema: pa.Schema, partitioning: Partitioning, settings: IngestSettings) -> pa.Schema:
        """Nothing: the folder appears with its first job."""
        return schema

    def carriers(self, published: Published, ledger: Ledger) -> list[str]:
        """A file without rows where there is no other, and one before all others where columns are new.

        Most readers take the columns of the file that they find first for those of all. Old files are never written
        again, and later jobs write all columns; so the first file has them all.
        """
        names = first_of([*published.first, *(written.name for written in ledger.data_files)])
        if names and (not published.jobs or published.columns == ledger.columns):
            return []
        folders = {name[: name.rfind("/") + 1] for name in names}
        partitioning = ledger.partitioning
        nulls = partitioning.folder_of([None] * len(partitioning.columns))
        return [carrier_name(folder, ledger.sequence) for folder in sorted(folders or {nulls})]

    def commit(self, staging: Staging, ledger: Ledger, announce: Announce) -> Ledger:
        """Publish a job."""
        if ledger.sequence == 1 and self.place.is_beside and not self.place.destination.list_names():
            with _naming(self.place.destination.root):
                _appear(self.place, staging, ledger, announce)
        else:
            _journal(self.place, staging, ledger, announce)
        return ledger

    def recover(self, published: Published) -> bool:
        """Move in what a killed commit announced in a ledger."""
        return move_in_rest(self.place, self.unfinished(published)) > 0

    def unfinished(self, published: Published) -> list[int]:
        """Numbers of committed jobs of which something may still wait in staging."""
        self._check_no_table(published)
        return unfinished_moves(self.place, published)

    def _check_no_table(self, published: Published) -> None:
        """Refuse what is left of a table: its files without its metadata are no folder of rows."""
        if published.table:
            raise IngestError(
                f"the ledgers are those of a table of format {published.table}, and the table is gone",
                Where(path=self.place.destination.root), "neither a _delta_log nor an iceberg.db",
                "restore the table's metadata from a backup, or ingest into a new destination; "
                "a table of a catalog is written as iceberg://CATALOG/NAMESPACE.TABLE", "table-behind",
            )  # fmt: skip

    def audit(self, files: Sequence[WrittenFile]) -> Mapping[str, FileState]:
        """All files stay as they were written."""
        return dict.fromkeys((written.name for written in files), FileState.LIVE)

    def discard(self, job_id: str) -> None:
        """Nothing: what a job has not published is in its staging folder."""


def unfinished_moves(place: Workplace, published: Published) -> list[int]:
    """Numbers of committed jobs of which something may still wait in staging."""
    waiting = (name.rstrip("/") for name in place.staging.list_names() if name.endswith("/"))
    return sorted(published.jobs[job_id] for job_id in waiting if job_id in published.jobs)


def move_in_rest(place: Workplace, sequences: Iterable[int], *, is_table: bool = False) -> int:
    """Move in what still waits of committed jobs; of a table, the rejects: its data files are in its own hands.

    Returns:
        Number of files moved.

    Raises:
        IngestError: ``[data-file-missing]`` if a file is neither in the destination nor waiting.
    """
    moved = 0
    for sequence in sequences:
        ledger = read_ledger(place.destination, sequence)
        staging = Staging(place.staging, ledger.job_id)
        waiting = [written for written in ledger.written if written.is_reject_table or not is_table]
        moved += move_in(place, staging, waiting)
        staging.delete()
    return moved


# ----------------------------------------------------------- one atomic step


def _appear(place: Workplace, staging: Staging, ledger: Ledger, announce: Announce) -> None:
    folder = place.folder
    generation = place.work_folder / staging.job_id / "generation"
    announce("build")
    if generation.exists():  # of a killed run
        shutil.rmtree(generation)
    generation.mkdir(parents=True)
    if folder.exists():
        shutil.copymode(folder, generation)
    files = place.work_folder / staging.job_id / "files"
    for written in ledger.written:
        _link_file(files / written.name, generation / written.name)
    announce("ledger")
    target = generation / ledger_name(ledger.sequence)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as output:
        output.write(render_ledger(ledger))
        output.flush()
        os.fsync(output.fileno())
    announce("sync")
    _sync_folders(generation)
    announce("swap")
    generation.replace(folder)  # POSIX: an empty folder of that name is replaced too
    announce("sync-parent")
    _sync(folder.parent)


def _link_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not source.exists():
        raise missing_error(target.name, source.parent)
    try:
        target.hardlink_to(source)
    except FileExistsError:
        raise  # never write into it: it is a link to a file that is published
    except OSError:  # a file system without links: the bytes twice for a moment
        shutil.copyfile(source, target)
        _sync(target)


def _sync_folders(folder: Path) -> None:
    with os.scandir(folder) as found:
        folders = [Path(item.path) for item in found if item.is_dir(follow_symlinks=False)]
    for below in folders:
        _sync_folders(below)
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ------------------------------------------------------------- the journal


def _journal(place: Workplace, staging: Staging, ledger: Ledger, announce: Announce) -> None:
    waiting = staging.staged_files()
    for written in ledger.written:
        if written.name not in waiting:
            raise missing_error(written.name, place.staging.root)
        if place.is_local and place.destination.exists(written.name):  # never replace what is published
            raise IngestError(
                "a file of this job's name is in the destination already, so nothing was published",
                Where(path=place.destination.path_of(written.name)), "no ledger names it",
                "remove the file if it is nobody's, and run again", "destination-failed",
            )  # fmt: skip
    announce("ledger")
    publish_ledger(place.destination, ledger, is_local=place.is_local)
    announce("move")
    move_in(place, staging, ledger.written, announce)


def move_in(
    place: Workplace, staging: Staging, files: Iterable[WrittenFile], announce: Announce = lambda _: None
) -> int:
    """Move the files of a committed job that still wait to where its ledger says. Returns how many."""
    moved = 0
    for written in sorted(files, key=lambda each: each.rows > 0):  # who tells the columns comes before their values
        check_written_name(written.name)  # it was read from a disk: nothing but Parquet of ours is moved or replaced
        if staging.storage.exists(staging.file_name(written.name)):
            announce(f"move {written.name}")
            _move(place, staging, written)
            moved += 1
        elif not place.destination.exists(written.name):
            raise missing_error(written.name, place.destination.root)
    return moved


def is_moved_in(place: Workplace, ledger: Ledger) -> bool:
    """Whether all files that a ledger names are in the destination."""
    return all(place.destination.exists(written.name) for written in ledger.written)


def _move(place: Workplace, staging: Staging, written: WrittenFile) -> None:
    if place.is_local:
        _check_inside(place, written.name)
    if not place.is_beside:
        place.destination.rename(f"{STAGING_FOLDER}/{staging.file_name(written.name)}", written.name)
        return
    with _naming(place.destination.root):
        target = place.folder / written.name
        _make_folder(target.parent)
        Path(staging.storage.path_of(staging.file_name(written.name))).replace(target)
        _sync(target.parent)


def _make_folder(folder: Path) -> None:
    """Create a folder and its parents, so that they stay after a crash."""
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _check_inside(place: Workplace, name: str) -> None:
    """Refuse a folder of the destination that is a link to elsewhere."""
    parent = (place.folder / name).parent
    real = Path(os.path.realpath(parent))
    if not real.is_relative_to(place.folder):
        raise IngestError(
            "a folder of the destination is a link that leads out of it, so no file is moved there",
            Where(path=str(parent)), str(real), "remove the link, and run again", "destination-failed",
        )  # fmt: skip


def missing_error(name: str, where: object) -> IngestError:
    """The error for a file that is nowhere."""
    return IngestError(
        "a file that the ledger names is neither in the destination nor waiting to be moved in",
        Where(path=f"{where}/{name}"),
        fix="if executors run on other machines, name a destination that all of them share; otherwise restore the file",
        code="data-file-missing",
    )


@contextmanager
def _naming(root: str) -> Iterator[None]:
    """Name the destination in errors of the operating system."""
    try:
        yield
    except SplitscanError:
        raise
    except OSError as error:
        raise IngestError(
            "the destination could not be published", Where(path=root), f"{type(error).__name__}: {error}",
            "check that the folder that holds the destination is writable and has space; then run again",
            "destination-failed",
        ) from error  # fmt: skip
