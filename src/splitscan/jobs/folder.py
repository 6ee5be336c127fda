"""A plain folder of Parquet: its columns, its partitions, and commits in the layout that it has.

A killed commit leaves the destination as before or as after. What it prepared beside the destination is thrown away or
used again by the next run; what it had announced in a ledger is moved in by :meth:`FolderDestination.finish`. The first
job appears with its destination, by one rename, in either layout.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from splitscan.content.storage import open_source
from splitscan.content.storage.destination import sync_path
from splitscan.errors import (
    IngestError,
    SchemaError,
    SourceMissingError,
    UsageError,
    Where,
    bad_option,
    quote_difference,
)
from splitscan.jobs.destination import Destination, History
from splitscan.jobs.ledger import Ledger, RowRange, WrittenFile, describe_columns, only_appends
from splitscan.jobs.ledger_files import (
    check_ours,
    folder_ledger_name,
    ledger_name,
    publish_ledger,
    read_ledger,
    render_ledger,
)
from splitscan.jobs.parquet import read_footer
from splitscan.jobs.settings import (
    IngestSettings,
    Layout,
    Partitioning,
    SchemaEvolution,
    carrier_name,
    choose_partitioning,
    first_of,
    is_in_job_folder,
    job_folder,
)
from splitscan.jobs.staging import Staging
from splitscan.jobs.workplace import (
    Announce,
    DestinationStorage,
    missing_error,
    move_in,
    move_in_rest,
    naming_destination,
    remove_replaced,
    unfinished_moves,
)


class FlatLayout:
    """All files in one folder, or in one for each partition. A job is its ledger, and then a move for each file."""

    def placed(self, ledger: Ledger) -> Ledger:
        """Rename the files of a ledger from the names that they wait under to those in the destination."""
        return ledger

    def waits_as(self, name: str, sequence: int) -> str:
        """Return the name that a file of a job waits under."""
        return name

    def ledger_names(self, ledger: Ledger) -> list[str]:
        """Return the names of the ledger of a job: here among all ledgers."""
        return [ledger_name(ledger.sequence)]

    def add(self, place: DestinationStorage, staging: Staging, ledger: Ledger, announce: Announce) -> None:
        """Publish a job in a destination that is there: its ledger, then file by file. Readers may see a part of it."""
        _check_waiting(place, staging, ledger)
        announce("ledger")
        publish_ledger(place.destination, ledger, is_local=place.is_local)
        announce("move")
        move_in(place, staging, ledger.written, announce)
        remove_replaced(place, ledger, announce)

    def unfinished(self, place: DestinationStorage, history: History) -> list[int]:
        """Return the numbers of jobs that a killed run has not finished, or has announced only."""
        return unfinished_moves(place, history.jobs)

    def finish(self, place: DestinationStorage, number: int, history: History) -> None:
        """Finish one of them."""
        move_in_rest(place, number)


class JobFolderLayout(FlatLayout):
    """A folder for each job, with its ledger in it. One rename makes the job visible: who lists sees all or nothing.

    The ledger in the folder is the truth, and the one among all ledgers a copy. Rejects are moved in after the rename.
    """

    def placed(self, ledger: Ledger) -> Ledger:
        """The ledger with the job's folder before all names but those of rejects, and of files of other folders."""
        folder = job_folder(ledger.sequence)

        def place(ranges: Iterable[RowRange]) -> tuple[RowRange, ...]:
            return tuple(replace(each, name=f"{folder}{each.name}") for each in ranges)

        written = [
            each if each.is_reject_table or is_in_job_folder(each.name) else replace(each, name=f"{folder}{each.name}")
            for each in ledger.written
        ]
        blocks = tuple(replace(block, data=place(block.data)) for block in ledger.blocks)
        removed = tuple(replace(each, into=f"{folder}{each.into}") if each.into else each for each in ledger.removed)
        written.sort(key=lambda each: each.name)
        return replace(ledger, blocks=blocks, written=tuple(written), removed=removed)

    def waits_as(self, name: str, sequence: int) -> str:
        return name.removeprefix(job_folder(sequence))

    def ledger_names(self, ledger: Ledger) -> list[str]:
        return [folder_ledger_name(ledger.sequence), ledger_name(ledger.sequence)]

    def add(self, place: DestinationStorage, staging: Staging, ledger: Ledger, announce: Announce) -> None:
        """Build the job's folder, and rename it. A file in another one, that tells new columns, goes before."""
        _check_waiting(place, staging, ledger)
        folder = job_folder(ledger.sequence)
        own = [written for written in ledger.data_files if written.name.startswith(folder)]
        before = [written for written in ledger.data_files if not written.name.startswith(folder)]
        with naming_destination(place.destination.root):
            if own:
                announce("build")
                generation = _build(place, staging, ledger, own, [folder_ledger_name(ledger.sequence)], announce)
            announce("columns")
            move_in(place, staging, before, announce)
            if own:
                announce("swap")
                (generation / folder).rename(place.folder / folder)  # fails if something is in a folder of that name
                announce("sync-parent")
                sync_path(place.folder)
        announce("copy")
        publish_ledger(place.destination, ledger, is_local=place.is_local)
        announce("move")
        move_in(place, staging, [written for written in ledger.written if written.is_reject_table], announce)
        remove_replaced(place, ledger, announce)

    def unfinished(self, place: DestinationStorage, history: History) -> list[int]:
        """Those of which rejects may wait, or whose ledger has no copy; and the next, if its columns were announced."""
        numbers = set(unfinished_moves(place, history.jobs))
        last = history.last
        while last and not place.destination.exists(ledger_name(last)):
            numbers.add(last)
            last -= 1
        if any(map(place.destination.exists, announced_names(history))):
            numbers.add(history.last + 1)
        return sorted(numbers)

    def finish(self, place: DestinationStorage, number: int, history: History) -> None:
        """Copy its ledger and move in its rejects; or take back the columns of a job that was not published."""
        if number > history.last:
            for name in announced_names(history):
                place.destination.delete_tree(name)
            return
        if not place.destination.exists(ledger_name(number)):
            publish_ledger(place.destination, read_ledger(place.destination, number), is_local=place.is_local)
        move_in_rest(place, number, only_rejects=True)


LAYOUTS: dict[Layout, FlatLayout] = {Layout.FLAT: FlatLayout(), Layout.JOBS: JobFolderLayout()}


def announced_names(history: History) -> list[str]:
    """Names of the files without rows that may tell readers the columns of the next job already, before it is there."""
    if history.partitioning.layout is Layout.FLAT:
        return []
    folders = {name[: name.rfind("/") + 1] for name in history.first}
    return [carrier_name(folder, history.last + 1) for folder in sorted(folders)]


def appear(place: DestinationStorage, layout: FlatLayout, staging: Staging, ledger: Ledger, announce: Announce) -> None:
    """Make a destination appear with its first job."""
    with naming_destination(place.destination.root):
        announce("build")
        generation = _build(place, staging, ledger, ledger.written, layout.ledger_names(ledger), announce)
        announce("swap")
        generation.replace(place.folder)  # POSIX: an empty folder of that name is replaced too
        announce("sync-parent")
        sync_path(place.folder.parent)


def _build(
    place: DestinationStorage,
    staging: Staging,
    ledger: Ledger,
    files: Iterable[WrittenFile],
    ledgers: Iterable[str],
    announce: Announce,
) -> Path:
    """Build a folder beside the destination that is like it with these files of a job and nothing else."""
    generation = place.work_folder / staging.job_id / "generation"
    if generation.exists():  # of a killed run
        shutil.rmtree(generation)
    generation.mkdir(parents=True)
    if place.folder.exists():
        _resemble(place.folder, generation)
    waiting = place.work_folder / staging.job_id / "files"
    layout = LAYOUTS[ledger.partitioning.layout]
    for written in files:
        _link_file(waiting / layout.waits_as(written.name, ledger.sequence), generation / written.name)
    announce("ledger")
    for name in ledgers:
        target = generation / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as output:
            output.write(render_ledger(ledger))
            output.flush()
            os.fsync(output.fileno())
    announce("sync")
    _sync_folders(generation)
    return generation


def _resemble(folder: Path, made: Path) -> None:
    """Give a folder the owner, group, mode and access lists of another, so far as this user may.

    What is created in it later takes from it what it would have taken from the other.
    """
    theirs = folder.stat()
    for owner, group in ((theirs.st_uid, -1), (-1, theirs.st_gid)):
        with suppress(PermissionError):
            os.chown(made, owner, group)
    shutil.copystat(folder, made)


def _check_waiting(place: DestinationStorage, staging: Staging, ledger: Ledger) -> None:
    layout = LAYOUTS[ledger.partitioning.layout]
    waiting = staging.staged_files()
    for written in ledger.written:
        if layout.waits_as(written.name, ledger.sequence) not in waiting:
            raise missing_error(written.name, place.staging.root)
        if place.is_local and place.destination.exists(written.name):  # never replace what is published
            raise IngestError(
                "a file of this job's name is in the destination already, so nothing was published",
                Where(path=place.destination.path_of(written.name)), "no ledger names it",
                "remove the file if it is nobody's, and run again", "destination-failed",
            )  # fmt: skip


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
        sync_path(target)


def _sync_folders(folder: Path) -> None:
    with os.scandir(folder) as found:
        folders = [Path(item.path) for item in found if item.is_dir(follow_symlinks=False)]
    for below in folders:
        _sync_folders(below)
    sync_path(folder)


class FolderDestination(Destination):
    """A folder of Parquet files, read as it is.

    The first job appears with its folder, by one rename; how every later one is published, the layout of the folder
    says. What that costs depends on the new files only.
    """

    def columns(self, history: History) -> pa.Schema | None:
        """The columns of all jobs: those of any file, and those that the folders of partitions hold."""
        if not history.jobs:
            return None
        own = pa.schema([])
        for sequence in range(history.last, 0, -1):  # the first job has a file, and most have
            ledger = read_ledger(self.place.destination, sequence)
            if files := [each.name for each in ledger.data_files if each.name not in history.removed]:
                own = self._schema_of(files[0])
                break
        there = {column.name: column for column in own}
        return pa.schema([
            there.get(each.name) or pa.field(each.name, pa.type_for_alias(each.type), each.nullable)
            for each in history.columns
        ])  # fmt: skip

    def _schema_of(self, name: str) -> pa.Schema:
        path = self.place.destination.path_of(name)
        try:
            with closing(open_source(path, self.place.storage_options)) as source:
                return read_footer(source.read_at, source.size_bytes).schema.to_arrow_schema()
        except SourceMissingError as error:  # somebody removed it
            raise missing_error(name, self.place.destination.root) from error

    def check(self, schema: pa.Schema, history: History, settings: IngestSettings) -> Partitioning:
        if not history.jobs:
            check_ours(self.place.destination)
            if settings.layout is Layout.JOBS and not self.place.is_local:
                raise self._no_rename()
            partitioning = Partitioning(settings.partition_by or (), layout=settings.layout or Layout.FLAT)
            partitioning.check(schema)
            return partitioning
        self._check_no_table(history)
        if settings.layout not in {None, history.partitioning.layout}:
            raise self._mixed(settings.layout, history.partitioning.layout)
        columns = describe_columns(schema)
        grows = settings.schema_evolution_mode is SchemaEvolution.ADD and only_appends(history.columns, columns)
        if grows or history.columns == columns:
            partitioning = choose_partitioning(settings.partition_by, history.partitioning, self.place.destination.root)
            partitioning.check(schema)
            return partitioning
        there, new = quote_difference(", ".join(map(str, history.columns)), ", ".join(map(str, columns)))
        raise SchemaError(
            "all jobs of one destination write the same columns, in the same order; new ones are added after them",
            Where(path=self.place.destination.root),
            f"{new}\n         but the destination has: {there}",
            "give the destination's schema, or ingest into another destination; schema_evolution_mode='addNewColumns' "
            "adds columns that may hold nulls", "destination-schema",
        )  # fmt: skip

    def carriers(self, history: History, ledger: Ledger) -> list[str]:
        """A file without rows where there is no other, and one before all others where columns are new.

        Most readers take the columns of the file that they find first for those of all. Old files are never written
        again, and later jobs write all columns; so the first file has them all.
        """
        partitioning = ledger.partitioning
        layout = LAYOUTS[partitioning.layout]
        names = first_of([*history.first, *(written.name for written in layout.placed(ledger).data_files)])
        is_first_left = not {each.name for each in ledger.removed}.isdisjoint(history.first)
        if names and not is_first_left and (not history.jobs or history.columns == ledger.columns):
            return []
        folders = {name[: name.rfind("/") + 1] for name in names}
        nulls = partitioning.folder_of([None] * len(partitioning.columns))
        carriers = [carrier_name(folder, ledger.sequence) for folder in sorted(folders or {nulls})]
        return [layout.waits_as(name, ledger.sequence) for name in carriers]

    def commit(self, staging: Staging, ledger: Ledger, announce: Announce) -> Ledger:
        layout = LAYOUTS[ledger.partitioning.layout]
        ledger = layout.placed(ledger)
        if ledger.sequence == 1 and self.place.is_beside and not self.place.destination.list_names():
            appear(self.place, layout, staging, ledger, announce)
        else:
            layout.add(self.place, staging, ledger, announce)
        return ledger

    def unfinished(self, history: History) -> list[int]:
        self._check_no_table(history)
        return LAYOUTS[history.partitioning.layout].unfinished(self.place, history)

    def finish(self, number: int, history: History) -> None:
        LAYOUTS[history.partitioning.layout].finish(self.place, number, history)

    def _no_rename(self) -> UsageError:
        return bad_option(
            "layout=jobs makes a job visible by renaming its folder, and only a mounted file system does that in one "
            "step: an object store copies file after file",
            self.place.destination.root,
            "ingest into a table, with table='delta' or table='iceberg', whose commits are one step on object "
            "stores too; or leave layout out",
        )

    def _mixed(self, wanted: Layout | None, there: Layout) -> IngestError:
        return IngestError(
            "all jobs of one destination lie in it in the same layout: engines that find folders pass over the files "
            "beside them", Where(path=self.place.destination.root),
            f"layout={wanted.value if wanted else None}, but the destination has: {there.value}",
            "leave out layout, or ingest into another destination", "destination-layout",
        )  # fmt: skip

    def _check_no_table(self, history: History) -> None:
        """Refuse what is left of a table: its files without its metadata are no folder of rows."""
        if history.table:
            raise IngestError(
                f"the ledgers are those of a table of format {history.table}, and the table is gone",
                Where(path=self.place.destination.root), "neither a _delta_log nor an iceberg.db",
                "restore the table's metadata from a backup, or ingest into a new destination; "
                "a table of a catalog is written as iceberg://CATALOG/NAMESPACE.TABLE", "table-behind",
            )  # fmt: skip


def make_destination(place: DestinationStorage) -> FolderDestination:
    """Open a plain folder, as the modules of table formats open a table; it need not be there."""
    return FolderDestination(place)
