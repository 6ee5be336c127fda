"""Streams that nobody can go on with: what restarts with other checkpoints leave in a state location."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from splitscan.content.storage import Storage, locate, open_storage, open_tree
from splitscan.errors import SourceMissingError, UsageError, Where
from splitscan.redaction import redact
from splitscan.streaming.status import find_streams

LEAST_AGE_HOURS = 24.0
"""A stream younger than that may be one whose query is about to write its first checkpoint."""

_STREAM_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_OFFSETS = "offsets"
_WATCH_POSITION = "position.json"


@dataclass(frozen=True, slots=True)
class DeadStream:
    """A stream that none of the checkpoints names.

    Attributes:
        stream: Its id.
        path: Its folder.
        size_bytes: Bytes of its files.
        idle_hours: How long ago the last of them was written.
    """

    stream: str
    path: str
    size_bytes: int
    idle_hours: float


def find_dead_streams(
    location: str,
    checkpoints: Sequence[str] = (),
    storage_options: Mapping[str, Any] | None = None,
    *,
    least_age_hours: float = LEAST_AGE_HOURS,
) -> list[DeadStream]:
    """Find the streams of a state location that no checkpoint names in any of its offsets. Nothing is changed.

    Args:
        location: A state location; a checkpoint that holds one as ``splitscan``; or the destination of a watch. The
            last two say themselves which streams live.
        checkpoints: All other checkpoints whose queries keep their state here.
        storage_options: Settings of the file system, if it is remote.
        least_age_hours: Streams that were written to since are left out.

    Raises:
        StreamError: ``[no-stream]`` if there is no state.
        UsageError: ``[bad-option]`` if no checkpoint is known, or one names no stream that lies here: then it is
            probably another's.
    """
    place, streams = find_streams(location, storage_options)
    alive: set[str] = set()
    for checkpoint in _checkpoints_of(location, place, checkpoints):
        named = _named_by(checkpoint, storage_options) & set(streams)
        if not named:
            raise UsageError(
                "a checkpoint must name one of the streams that lie here, or all of them would seem dead",
                Where(path=redact(checkpoint)),
                "no offset of such a stream",
                "name every checkpoint whose query keeps its state here, and only those",
                "bad-option",
            )
        alive |= named
    dead = [_describe(place, stream, storage_options) for stream in streams if stream not in alive]
    return [each for each in dead if each.idle_hours >= least_age_hours]


def delete_stream(dead: DeadStream, storage_options: Mapping[str, Any] | None = None) -> None:
    """Delete all windows and snapshots of a stream that was found dead."""
    folder, _, name = dead.path.rpartition("/")
    open_storage(folder, storage_options).delete_tree(name)


def _checkpoints_of(location: str, place: str, checkpoints: Sequence[str]) -> list[str]:
    """Where the offsets are: what was named, and what the state location lies in."""
    own = [] if place == location.rstrip("/") else [location.rstrip("/") if place.endswith("/splitscan") else place]
    found = [*own, *(checkpoint.rstrip("/") for checkpoint in checkpoints)]
    if not found:
        raise UsageError(
            "only checkpoints tell which streams of a state location live",
            Where(path=redact(location)),
            "no checkpoint",
            "name all checkpoints whose queries keep their state here: --checkpoint",
            "bad-option",
        )
    return found


def _named_by(checkpoint: str, storage_options: Mapping[str, Any] | None) -> set[str]:
    storage = open_storage(checkpoint, storage_options)
    return {name.decode("ascii") for data in _offsets(storage) for name in _STREAM_ID.findall(data)}


def _offsets(storage: Storage) -> Iterator[bytes]:
    """What says where a query, or a watch, is: everything it may go on from."""
    names = [f"{_OFFSETS}/{name}" for name in storage.list_names(_OFFSETS) if not name.endswith("/")]
    for name in [*names, _WATCH_POSITION]:
        try:
            yield storage.read_bytes(name)
        except SourceMissingError:  # Spark has tidied it up meanwhile; or nobody watches
            continue


def _describe(place: str, stream: str, storage_options: Mapping[str, Any] | None) -> DeadStream:
    path = open_storage(place, storage_options).path_of(stream)
    entries = list(open_tree(locate(path), storage_options).entries(path, lambda *_: True, True))
    newest = max((entry.modified_us for entry in entries), default=0)
    idle_hours = max(0.0, time.time() - newest / 1e6) / 3600
    return DeadStream(stream, path, sum(entry.size_bytes for entry in entries), idle_hours)
