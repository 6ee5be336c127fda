"""Layouts of a plain folder, and how a job becomes visible in each: side by side, or a folder for each job.

The first job appears with its destination, by one rename, in either layout.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from splitscan.content.storage.destination import make_folder, sync_path
from splitscan.errors import IngestError, SplitscanError, Where
from splitscan.jobs.destination import Announce
from splitscan.jobs.history import History
from splitscan.jobs.ledger import STAGING_FOLDER, Ledger, RowRange, WrittenFile, check_written_name
from splitscan.jobs.ledger_files import folder_ledger_name, ledger_name, publish_ledger, read_ledger, render_ledger
from splitscan.jobs.settings import Layout, carrier_name, is_in_job_folder, job_folder
from splitscan.jobs.staging import Staging
from splitscan.jobs.workplace import DestinationStorage


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
        return unfinished_moves(place, history)

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
        with _naming(place.destination.root):
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
        numbers = set(unfinished_moves(place, history))
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
    with _naming(place.destination.root):
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


def unfinished_moves(place: DestinationStorage, history: History) -> list[int]:
    """Numbers of committed jobs of which something may still wait in staging."""
    waiting = (name.rstrip("/") for name in place.staging.list_names() if name.endswith("/"))
    return sorted(history.jobs[job_id] for job_id in waiting if job_id in history.jobs)


def move_in_rest(place: DestinationStorage, sequence: int, *, only_rejects: bool = False) -> None:
    """Move in what still waits of a committed job: its rejects only, where data files become visible otherwise.

    Raises:
        IngestError: ``[data-file-missing]`` if a file is neither in the destination nor waiting.
    """
    ledger = read_ledger(place.destination, sequence)
    staging = Staging(place.staging, ledger.job_id)
    move_in(place, staging, [written for written in ledger.written if written.is_reject_table or not only_rejects])
    if not ledger.table:
        remove_replaced(place, ledger)
    staging.delete()


def remove_replaced(place: DestinationStorage, ledger: Ledger, announce: Announce = lambda _: None) -> None:
    """Delete the data files of a plain folder whose rows left with a job, or are in its own files by now."""
    for removed in ledger.removed:
        check_written_name(removed.name)
        announce(f"remove {removed.name}")
        place.destination.delete_tree(removed.name)


def move_in(
    place: DestinationStorage, staging: Staging, files: Iterable[WrittenFile], announce: Announce = lambda _: None
) -> None:
    """Move the files of a committed job that still wait to where its ledger says."""
    for written in sorted(files, key=lambda each: each.rows > 0):  # who tells the columns comes before their values
        check_written_name(written.name)  # it was read from a disk: nothing but Parquet of ours is moved or replaced
        if staging.storage.exists(staging.file_name(written.name)):
            announce(f"move {written.name}")
            _move(place, staging, written)
        elif not place.destination.exists(written.name):
            raise missing_error(written.name, place.destination.root)


def is_moved_in(place: DestinationStorage, ledger: Ledger) -> bool:
    """Return whether all files that a ledger names are in the destination, and those that left with it are gone."""
    exists = place.destination.exists
    return all(exists(each.name) for each in ledger.written) and not any(exists(each.name) for each in ledger.removed)


def _move(place: DestinationStorage, staging: Staging, written: WrittenFile) -> None:
    if place.is_local:
        _check_inside(place, written.name)
    if not place.is_beside:
        place.destination.rename(f"{STAGING_FOLDER}/{staging.file_name(written.name)}", written.name)
        return
    with _naming(place.destination.root):
        target = place.folder / written.name
        make_folder(target.parent)
        Path(staging.storage.path_of(staging.file_name(written.name))).replace(target)
        sync_path(target.parent)


def _check_inside(place: DestinationStorage, name: str) -> None:
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
        fix="if executors run on other machines, name a destination that all of them share; "
        "otherwise restore the file, or ingest into a new destination",
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
