"""What interrupted jobs left in staging: kept while a run could still continue it, thrown away when none can."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from splitscan.errors import SplitscanError
from splitscan.sinks.contract import Sink
from splitscan.sinks.ledger_text import read_object, take, take_whole
from splitscan.sinks.staging import Staging
from splitscan.sinks.workplace import Workplace

_log = logging.getLogger(__name__)

OWNER_NAME = "job.json"
KEEP_DAYS = 7
"""An interrupted job that nobody continued for so long will not be continued."""

_DAY_SECONDS = 24 * 60 * 60
_KEY_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Owner:
    """Who works in a staging folder.

    Attributes:
        started: When its last run began, seconds since the epoch.
        files: What it reads: a digest of the identity of each file.
    """

    started: int
    files: frozenset[str]


def claim(staging: Staging, identities: Iterable[str]) -> None:
    """Say in a staging folder which job works there, and that it does so now."""
    raw = {"started": int(time.time()), "files": sorted(map(_key, identities))}
    staging.storage.write_bytes_atomic(f"{staging.job_id}/{OWNER_NAME}", json.dumps(raw).encode("ascii"))


def clean_up(sink: Sink, staging: Staging, ingested: Iterable[str]) -> list[str]:
    """Throw away what was prepared, after everything was published. Never fails: leftovers do no harm.

    What another job left stays where a run could continue it. No run can when one of its files has been ingested by
    another job meanwhile, for the rest is another job then; and nobody will after ``KEEP_DAYS``. In an object store,
    where no lock tells that the other job is not running, nothing of it is touched.

    Args:
        sink: The destination, locked.
        staging: Of the job that is done.
        ingested: The identities of all files that were ingested, by this job too.

    Returns:
        The folders of other jobs that were thrown away.
    """
    place = sink.place
    staging.delete()
    removed: list[str] = []
    if not place.is_local:
        return removed
    with suppress(SplitscanError):
        left = [name for name in place.staging.list_names() if name.endswith("/")]
        keys = frozenset(map(_key, ingested)) if left else frozenset()
        for name in left:
            if reason := _why_useless(place, name.rstrip("/"), keys):
                sink.discard(name.rstrip("/"))
                place.staging.delete_tree(name)
                removed.append(place.staging.path_of(name.rstrip("/")))
                _log.info("removed what an interrupted ingest had left in %s: %s", removed[-1], reason)
    if not place.is_beside:
        with suppress(OSError):
            place.work_folder.rmdir()
    return removed


def _why_useless(place: Workplace, job_id: str, ingested: frozenset[str]) -> str | None:
    owner = _read_owner(place, job_id)
    if owner.files & ingested:
        return "another job has ingested files of it"
    if time.time() - owner.started > KEEP_DAYS * _DAY_SECONDS:
        return f"nobody continued it for {KEEP_DAYS} days"
    return None


def _read_owner(place: Workplace, job_id: str) -> Owner:
    with suppress(SplitscanError):
        raw = read_object(place.staging.read_bytes(f"{job_id}/{OWNER_NAME}"))
        return Owner(take_whole(raw, "started"), frozenset(map(str, take(raw, "files", list))))
    with suppress(OSError):  # killed before it could say so, or left by an older splitscan
        return Owner(int((place.work_folder / job_id).stat().st_mtime), frozenset())
    return Owner(int(time.time()), frozenset())


def _key(identity: str) -> str:
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_DIGITS]
