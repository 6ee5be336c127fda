"""The ledgers of a destination: their names, and how they are read back."""

from __future__ import annotations

import re

from splitscan.content.storage import Storage
from splitscan.errors import IngestError, SourceMissingError, Where
from splitscan.sinks.ledger import LEDGER_FOLDER, OUR_FOLDER, Ledger
from splitscan.sinks.ledger_text import parse_ledger, render_ledger
from splitscan.sinks.partitioning import job_folder

_LEDGER_NAME = re.compile(r"(\d{8,})\.jsonl")
_SHOWN_PATHS = 5


def ledger_name(sequence: int) -> str:
    """Name of the ledger of a job in its destination: its number alone, so that only one job can take it.

    Example:
        >>> ledger_name(3)
        '_splitscan/ledger/00000003.jsonl'
    """
    return f"{LEDGER_FOLDER}/{sequence:08d}.jsonl"


def folder_ledger_name(sequence: int) -> str:
    """Name of the ledger in the folder of a job, where jobs have folders. It came with the folder: it is the truth.

    Example:
        >>> folder_ledger_name(3)
        'splitscan_job=00000003/_ledger.jsonl'
    """
    return f"{job_folder(sequence)}_ledger.jsonl"


def list_ledgers(storage: Storage) -> list[str]:
    """File names of all ledgers, in order; temporary files of a writer that was killed are left out.

    A job whose folder is there is committed, also where the copy of its ledger is not there yet.
    """
    names = [name for name in storage.list_names(LEDGER_FOLDER) if _LEDGER_NAME.fullmatch(name)]
    while storage.exists(folder_ledger_name(len(names) + 1)):
        names.append(ledger_name(len(names) + 1).rpartition("/")[2])
    return names


def read_ledgers(storage: Storage) -> list[Ledger]:
    """Read and check every committed ledger of a destination.

    Raises:
        IngestError: ``[ledger-damaged]`` if a ledger is damaged or missing; ``[not-a-destination]`` if the folder has
            none, and holds something else than ingested data.
    """
    ledgers = [read_ledger(storage, number, name) for number, name in enumerate(list_ledgers(storage), 1)]
    if not ledgers:
        check_ours(storage)
    return ledgers


def read_ledger(storage: Storage, sequence: int, name: str | None = None) -> Ledger:
    """Read and check the ledger of one job.

    Args:
        storage: The destination.
        sequence: Number of the job.
        name: The file that should hold it, as it is listed; the job's own when not given.

    Raises:
        IngestError: ``[ledger-damaged]`` if it is damaged, or another's.
    """
    full = ledger_name(sequence) if name is None else f"{LEDGER_FOLDER}/{name}"
    try:
        text = storage.read_bytes(full)
    except SourceMissingError:
        if not storage.exists(folder_ledger_name(sequence)):
            raise
        text = storage.read_bytes(folder_ledger_name(sequence))
    ledger = parse_ledger(text, storage.path_of(full))
    if ledger_name(ledger.sequence) != full or ledger.sequence != sequence:
        raise IngestError(
            "a ledger is missing, or stands under another's name", Where(path=storage.path_of(full)),
            f"job number {ledger.sequence} where {sequence} should be",
            "restore the ledgers from a backup; without them, what was ingested cannot be told", "ledger-damaged",
        )  # fmt: skip
    return ledger


def publish_ledger(storage: Storage, ledger: Ledger, *, is_local: bool) -> None:
    """Write the ledger of a job; a number can be taken once, also where there are no locks.

    Args:
        storage: The destination; locked, if it is local.
        ledger: The ledger.
        is_local: Whether the destination is on a mounted file system.

    Raises:
        IngestError: ``[destination-busy]`` if another job has taken the number.
    """
    name = ledger_name(ledger.sequence)
    if is_local:  # under the lock, and not every local file system has the links that try_create needs
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
    raise busy_error(storage, winner.job_id, ledger.sequence)


def busy_error(storage: Storage, winner: str, sequence: int) -> IngestError:
    """The error for a number that another job took meanwhile."""
    return IngestError(
        "another ingest committed to this destination meanwhile; nothing was published", Where(path=storage.root),
        f"job {winner} took number {sequence}", "run again: no finished block is read again", "destination-busy",
    )  # fmt: skip


def check_ours(storage: Storage) -> None:
    """Refuse a folder that holds files of someone else. Without a ledger nothing but our own folder is ours.

    Raises:
        IngestError: ``[not-a-destination]`` if it does.
    """
    names = [name for name in storage.list_names() if name != f"{OUR_FOLDER}/"]
    if names:
        raise IngestError(
            "the destination holds files that splitscan did not write", Where(path=storage.root),
            ", ".join(names[:_SHOWN_PATHS]) + (f" and {len(names) - _SHOWN_PATHS} more" * (len(names) > _SHOWN_PATHS)),
            "ingest into a folder that is empty or does not exist yet, and verify one that an ingest wrote",
            "not-a-destination",
        )  # fmt: skip
