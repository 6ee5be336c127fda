"""Make a finished job visible: in one step where the file system can, by a journal where it cannot.

A killed commit leaves the destination as before or as after. What it prepared beside the destination is thrown away or
used again by the next run; what it had announced in a ledger is moved in by :func:`roll_forward`.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from splitscan.errors import IngestError, SplitscanError, Where
from splitscan.ingest.exchange import exchange_paths
from splitscan.ingest.history import History, ledger_name, read_ledger
from splitscan.ingest.ledger import OUR_FOLDER, STAGING_FOLDER, Ledger, WrittenFile
from splitscan.ingest.ledger_text import check_written_name, parse_ledger, render_ledger
from splitscan.ingest.staging import Staging
from splitscan.ingest.workplace import Strategy, Workplace

# another's file in a protected system, too many links, another file system below
_NO_LINKS = {errno.EPERM, errno.EACCES, errno.EMLINK, errno.EXDEV, errno.ENOTSUP}

Announce = Callable[[str], None]
"""Told the name of each step before it is taken."""


def commit(place: Workplace, staging: Staging, ledger: Ledger, strategy: Strategy, announce: Announce) -> None:
    """Publish a job.

    Args:
        place: The destination.
        staging: Where the files that the ledger names wait.
        ledger: What is published.
        strategy: How.
        announce: Told each step before it is taken.

    Raises:
        IngestError: If the storage fails, a file is missing, or another job took the ledger's number meanwhile.
            Before the atomic step nothing is visible; behind it everything is, or will be after the next run.
    """
    if strategy is not Strategy.JOURNAL:
        with _naming(place.destination.root), suppress(_CannotLinkError):
            _replace(place, staging, ledger, strategy, announce)
            return
    _journal(place, staging, ledger, announce)


def roll_forward(place: Workplace, history: History) -> int:
    """Finish publishing what a killed commit announced in a ledger but did not move in.

    Args:
        place: The destination.
        history: Its committed jobs.

    Returns:
        Number of files moved.

    Raises:
        IngestError: ``[data-file-missing]`` if a file is neither in the destination nor waiting.
    """
    moved = 0
    for sequence in unfinished(place, history):
        ledger = read_ledger(place.destination, sequence)
        staging = Staging(place.staging, ledger.job_id)
        moved += _move_in(place, staging, ledger)
        staging.delete()
    return moved


def unfinished(place: Workplace, history: History) -> list[int]:
    """Numbers of committed jobs of which something may still wait in staging."""
    waiting = (name.rstrip("/") for name in place.staging.list_names() if name.endswith("/"))
    return sorted(history.jobs[job_id] for job_id in waiting if job_id in history.jobs)


# ----------------------------------------------------------- one atomic step


def _replace(place: Workplace, staging: Staging, ledger: Ledger, strategy: Strategy, announce: Announce) -> None:
    folder = place.folder
    generation = place.work_folder / staging.job_id / "generation"
    announce("build")
    if generation.exists():  # of a killed run: half built, or already traded
        shutil.rmtree(generation)
    generation.mkdir(parents=True)
    if folder.exists():
        shutil.copymode(folder, generation)
    if strategy is Strategy.EXCHANGE:
        _link_tree(folder, generation)
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
    if strategy is Strategy.EXCHANGE:
        exchange_paths(generation, folder)
    else:
        generation.replace(folder)  # POSIX: an empty folder of that name is replaced too
    announce("sync-parent")
    _sync(folder.parent)


class _CannotLinkError(Exception):
    """A file that is there already cannot have a second name, so there can be no next generation."""


def _link_tree(source: Path, target: Path) -> None:
    """Build the same tree of hard links; what is being prepared inside it stays out."""
    with os.scandir(source) as found:
        items = list(found)
    for item in items:
        if item.name in {"staging", "lock"} and source.name == OUR_FOLDER:
            continue
        if item.is_dir(follow_symlinks=False):
            (target / item.name).mkdir(exist_ok=True)
            shutil.copymode(item.path, target / item.name)
            _link_tree(Path(item.path), target / item.name)
        else:
            try:
                os.link(item.path, target / item.name, follow_symlinks=False)
            except OSError as error:
                if error.errno in _NO_LINKS:
                    raise _CannotLinkError from error
                raise


def _link_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not source.exists():
        raise _missing(target.name, source.parent)
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
    waiting = staging.waiting_files()
    for written in ledger.written:
        if written.name not in waiting:
            raise _missing(written.name, place.staging.root)
    announce("ledger")
    _write_ledger(place, ledger)
    announce("move")
    _move_in(place, staging, ledger, announce)


def _write_ledger(place: Workplace, ledger: Ledger) -> None:
    """The atomic step. A number can be taken once, also where there are no locks."""
    name = ledger_name(ledger.sequence)
    storage = place.destination
    if place.is_local:  # under the lock, and not every local file system has the links that try_create needs
        created = not storage.exists(name)
        if created:
            storage.write_bytes_atomic(name, render_ledger(ledger))
    else:
        created = storage.try_create(name, render_ledger(ledger))
    if created:
        return
    winner = parse_ledger(storage.read_bytes(name), storage.path_of(name))
    if winner.job_id == ledger.job_id and set(winner.blocks) == set(ledger.blocks):
        return  # the same job, by a twin of this run: the same names, the same bytes
    raise IngestError(
        "another ingest committed to this destination meanwhile; nothing was published", Where(path=storage.root),
        f"job {winner.job_id} took number {ledger.sequence}", "run again: finished blocks are kept",
        "destination-busy",
    )  # fmt: skip


def _move_in(place: Workplace, staging: Staging, ledger: Ledger, announce: Announce = lambda _: None) -> int:
    there = _present(place, ledger.written)
    moved = 0
    for written in ledger.written:
        if written.name in there:
            continue
        announce(f"move {written.name}")
        _move(place, staging, written)
        moved += 1
    return moved


def _present(place: Workplace, files: Iterable[WrittenFile]) -> set[str]:
    folders = {name.rpartition("/")[0] for name in (written.name for written in files)}
    return {
        f"{folder}/{name}" if folder else name
        for folder in folders
        for name in place.destination.list_names(folder)
    }  # fmt: skip


def is_moved_in(place: Workplace, ledger: Ledger) -> bool:
    """Whether all files that a ledger names are in the destination."""
    there = _present(place, ledger.written)
    return all(written.name in there for written in ledger.written)


def _move(place: Workplace, staging: Staging, written: WrittenFile) -> None:
    check_written_name(written.name)  # it was read from a disk: nothing but Parquet of ours is ever moved or replaced
    if place.is_local:
        _check_inside(place, written.name)
    if not staging.storage.exists(staging.file_name(written.name)):
        raise _missing(written.name, place.destination.root)
    if not place.is_beside:
        place.destination.rename(f"{STAGING_FOLDER}/{staging.file_name(written.name)}", written.name)
        return
    with _naming(place.destination.root):
        target = place.folder / written.name
        target.parent.mkdir(parents=True, exist_ok=True)
        Path(staging.storage.path_of(staging.file_name(written.name))).replace(target)
        _sync(target.parent)


def _check_inside(place: Workplace, name: str) -> None:
    """Refuse a folder of the destination that is a link to elsewhere."""
    parent = (place.folder / name).parent
    real = Path(os.path.realpath(parent))
    if not real.is_relative_to(place.folder):
        raise IngestError(
            "a folder of the destination is a link that leads out of it, so no file is moved there",
            Where(path=str(parent)), str(real), "remove the link, and run again", "destination-failed",
        )  # fmt: skip


def _missing(name: str, where: object) -> IngestError:
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
