"""Ledgers as files: their text, their names in a destination, how they are published and read back.

A ledger is JSON lines, with a checksum; it is data only, and nothing in it is ever evaluated. The first line has the
version, and all fields of :class:`Ledger` that are no lists. A line follows for each item of its lists, and a last one
with counts and the SHA-256 of everything above it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from splitscan.content.storage import Storage
from splitscan.errors import IngestError, SourceMissingError, SplitscanError, Where
from splitscan.jobs.ledger import (
    LEDGER_FOLDER,
    OUR_FOLDER,
    REJECT_FOLDER,
    Ledger,
    LedgerBlock,
    LedgerFile,
    RemovedFile,
    ReplacedFile,
    WrittenFile,
)
from splitscan.jobs.settings import is_job_file, is_partition_folder, job_folder
from splitscan.spelling import Json, damaged, from_plain, read_object, to_plain

LEDGER_VERSION = 1

_VERSION = "ledger_version"
_OLDER_VERSION = "splitscan_ledger"  # of the formats before version 1
_LINES: dict[str, tuple[str, type]] = {
    "file": ("files", LedgerFile),
    "written": ("written", WrittenFile),
    "replaced": ("replaced", ReplacedFile),
    "removed": ("removed", RemovedFile),
    "block": ("blocks", LedgerBlock),
}
"""What a line is called, the list of the ledger that it is an item of, and its type, in the order of the file."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode

_LEDGER_NAME = re.compile(r"(\d{8,})\.jsonl")
_BEGINNING = re.compile(r"begun-(\w+)\.txt")
_SHOWN_PATHS = 5
_BEGUN_TABLE = {"_delta_log/", "iceberg.db", "iceberg.db-journal", "metadata/"}
"""All that there is of a table whose creation was interrupted: no data file, and so no row."""


def render_ledger(ledger: Ledger) -> bytes:
    """Spell a ledger, with its checksum.

    Example:
        >>> ledger = Ledger("ab" * 16, 1, "2026-01-01T00:00:00Z", "csv", {}, ())
        >>> parse_ledger(render_ledger(ledger), "example") == ledger
        True
    """
    body = b"".join(map(_line, _lines_of(ledger)))
    return body + _line({"end": {**_counts(ledger), "sha256": hashlib.sha256(body).hexdigest()}})


def parse_ledger(data: bytes, name: str) -> Ledger:
    """Read a ledger back and check it.

    Raises:
        IngestError: ``[ledger-damaged]`` if a byte is missing or changed, or a name in it leads elsewhere;
            ``[ledger-version]`` if another version of splitscan wrote it.
    """
    try:
        return _parse(data)
    except SplitscanError as error:
        raise IngestError(error.rule, Where(path=name), error.seen, error.fix, error.reason_code) from None


def _lines_of(ledger: Ledger) -> Iterator[Json]:
    nothing: dict[str, Any] = {name: () for name, _ in _LINES.values()}
    head = replace(ledger, **nothing)
    yield {_VERSION: LEDGER_VERSION, **to_plain(head)}
    for line, (name, _) in _LINES.items():
        yield from ({line: to_plain(each)} for each in getattr(ledger, name))


def _line(value: Json) -> bytes:
    return _encode(value).encode("ascii") + b"\n"


def _counts(ledger: Ledger) -> dict[str, int]:
    counts = {name: len(getattr(ledger, name)) for name, _ in _LINES.values()}
    return {**counts, "rows": ledger.rows, "rejects": ledger.rejects}


def _parse(data: bytes) -> Ledger:
    body, newline, foot_line = data.removesuffix(b"\n").rpartition(b"\n")
    body += newline
    if not data.endswith(b"\n") or not body:
        raise damaged("the last line is cut off")
    foot = read_object(foot_line).get("end")
    if not isinstance(foot, dict) or foot.pop("sha256", None) != hashlib.sha256(body).hexdigest():
        raise damaged("the checksum in the last line does not fit the lines above it")
    head, *lines = map(read_object, body.splitlines())
    _check_version(head)
    found: dict[str, list[Any]] = {name: [] for name, _ in _LINES.values()}
    for line in lines:
        ((kind, raw),) = line.items() if len(line) == 1 else [("", None)]
        if kind not in _LINES:
            raise damaged(f"a line is no {', '.join(_LINES)}")
        name, item = _LINES[kind]
        found[name].append(from_plain(item, raw, kind))
    lists: dict[str, Any] = {name: tuple(items) for name, items in found.items()}
    ledger = replace(from_plain(Ledger, head, "the first line"), **lists)
    if foot != _counts(ledger):
        raise damaged("the counts in the last line do not fit the lines above it")
    return ledger


def _check_version(head: Json) -> None:
    if head.get(_VERSION) == LEDGER_VERSION:
        return
    version, older = head.get(_VERSION), head.get(_OLDER_VERSION)
    raise IngestError(
        "the ledger was written in a format that this version does not read",
        seen=f"version {version}" if older is None else f"format {older}, from before version {LEDGER_VERSION}",
        fix="use a newer splitscan"
        if older is None
        else "convert the destination once: python tools/convert_ledgers.py DESTINATION, in a checkout of splitscan",
        code="ledger-version",
    )


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
    """Read and check every committed ledger; refuse a destination that has none and holds something else."""
    ledgers = [read_ledger(storage, number, name) for number, name in enumerate(list_ledgers(storage), 1)]
    if not ledgers:
        check_ours(storage)
    return ledgers


def read_ledger(storage: Storage, sequence: int, name: str | None = None) -> Ledger:
    """Read and check the ledger of one job: ``[ledger-damaged]`` if it is damaged, or another's."""
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
    """Write the ledger of a job; a number can be taken once, also where there are no locks: ``[destination-busy]``."""
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


def walk_data(storage: Storage, folder: str = "") -> Iterator[str]:
    """Names of all files at the top and in the folders of partitions and jobs."""
    for name in storage.list_names(folder):
        if not name.endswith("/"):
            yield f"{folder}{name}"
        elif is_partition_folder(name):
            yield from walk_data(storage, f"{folder}{name}")


def written_by_jobs(storage: Storage) -> list[str]:
    """Names of the data files and rejects in a plain folder that jobs wrote, as their names say.

    Each is moved in after its ledger was published. So whoever lists them first, and then reads the ledgers, finds each
    in one of them.
    """
    rejects = (f"{REJECT_FOLDER}/{name}" for name in storage.list_names(REJECT_FOLDER))
    return [name for name in chain(walk_data(storage), rejects) if is_job_file(name.rpartition("/")[2])]


def check_named(storage: Storage, written: Iterable[str], named: Container[str]) -> None:
    """Make sure that ledgers name all files that jobs wrote: otherwise what these have read would be read again."""
    unknown = [name for name in written if name not in named]
    if unknown:
        raise IngestError(
            "a ledger is missing: the destination holds files that a job wrote, and no ledger names them",
            Where(path=storage.path_of(unknown[0])),
            f"{len(unknown)} such files" if len(unknown) > 1 else "one such file",
            "restore the ledgers from a backup; without them, what was ingested cannot be told; "
            "a file that was copied here may be removed", "ledger-damaged",
        )  # fmt: skip


def announce_table(storage: Storage, table_format: str) -> None:
    """Write down that a table is to be here, before anything of it is created: a rerun knows what is its own."""
    text = f"An ingest has begun to create a table of format {table_format} here. Running it again finishes it.\n"
    storage.write_bytes_atomic(_beginning_name(table_format), text.encode("ascii"))


def announced_table(storage: Storage) -> str | None:
    """The format of the table that a first ingest has announced and not yet published."""
    found = filter(None, map(_BEGINNING.fullmatch, storage.list_names(OUR_FOLDER)))
    return next((match[1] for match in found), None)


def forget_announced(storage: Storage, table_format: str) -> None:
    """Take back what :func:`announce_table` wrote: the first ledger is there."""
    storage.delete_tree(_beginning_name(table_format))


def _beginning_name(table_format: str) -> str:
    return f"{OUR_FOLDER}/begun-{table_format}.txt"


def nothing_ingested(storage: Storage) -> IngestError:
    """The error for a destination without a ledger."""
    announced = announced_table(storage)
    seen = f"a table of format {announced} that an ingest has announced only" if announced else "no ledger"
    fix = "run the ingest again" if announced else "name a folder that splitscan ingest wrote"
    return IngestError("nothing was ingested here", Where(path=storage.root), seen, fix, "not-a-destination")


def check_ours(storage: Storage) -> None:
    """Refuse a folder that holds files of someone else.

    Without a ledger nothing but our own folder is ours, unless a table was announced: then the folder held nothing
    else, and what is in it by now may be a part of the table.

    Raises:
        IngestError: ``[not-a-destination]`` if it does; ``[ledger-damaged]`` if jobs wrote here whose ledgers are gone.
    """
    if announced_table(storage) is not None:
        return
    check_named(storage, written_by_jobs(storage), ())
    names = [name for name in storage.list_names() if name != f"{OUR_FOLDER}/"]
    if names:
        fix = "ingest into a folder that is empty or does not exist yet, and verify one that an ingest wrote"
        if _BEGUN_TABLE.issuperset(names):
            shown = " and ".join(names)
            fix = (
                f"if a first ingest of an earlier splitscan was interrupted here, it has left {shown}, in which no row "
                f"is registered: delete {shown} and run again; if the table is somebody else's, {fix}"
            )
        raise IngestError(
            "the destination holds files that splitscan did not write", Where(path=storage.root),
            ", ".join(names[:_SHOWN_PATHS]) + (f" and {len(names) - _SHOWN_PATHS} more" * (len(names) > _SHOWN_PATHS)),
            fix, "not-a-destination",
        )  # fmt: skip
