"""Contents of a state location: its streams and how far they are, and those that nobody can go on with."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from splitscan.content.storage import Storage, locate, open_storage, open_tree
from splitscan.errors import SourceMissingError, StreamError, UsageError, Where, bad_option
from splitscan.redaction import redact
from splitscan.streaming.log import WindowLog
from splitscan.streaming.windows import Backlog, FileProgress, Offset, Window, read_offset, read_position

_STREAM_FOLDER = re.compile(r"[0-9a-f]{32}/")
_INSIDE = ("", "splitscan", "_splitscan/watch")  # a state location, a checkpoint, the destination of a watch

LEAST_AGE_HOURS = 24.0
"""A stream younger than that may be one whose query is about to write its first checkpoint."""

_STREAM_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_OFFSETS = "offsets"
_COMMITS = "commits"
_WATCH_POSITION = "position.json"


@dataclass(frozen=True)
class StreamStatus:
    """One stream: what is planned, as its window log tells it, and what of that is published.

    Attributes:
        published: Number of the last window that was published, as the position of a watch or the commits of a
            checkpoint tell it; ``None`` if neither lies beside the state: then all that is planned counts.
        last: The last window that was planned; ``None`` if there is none, or it is not kept.
        files: Every file that was planned, by path, as far as it is published.
        waiting: Windows that are planned and not published.
    """

    stream: str
    window: int
    published: int | None
    last: Window | None
    files: Mapping[str, FileProgress]
    waiting: tuple[Window, ...] = ()

    @property
    def backlog(self) -> Backlog:
        """Backlog: what was left when the last window was planned, and what waits."""
        left = self.last.backlog if self.last is not None else Backlog()
        ended = {planned.file.path: planned.finished for window in self.waiting for planned in window.files}
        return Backlog(
            max(left.files + sum(ended.values()), len(ended)),  # what goes on may be in what was left
            left.blocks + sum(len(window.blocks) for window in self.waiting),
            left.size_bytes + sum(window.size_bytes for window in self.waiting),
        )

    @property
    def unfinished(self) -> list[str]:
        """Paths of files that are not published whole."""
        return sorted(path for path, file in self.files.items() if not is_finished(file))

    @property
    def changed(self) -> list[str]:
        """Paths whose content was replaced at least once."""
        return sorted(path for path, file in self.files.items() if file.generation)

    @property
    def late(self) -> list[str]:
        """Paths of files that came late: with a time before that of a file which an earlier listing had shown."""
        return sorted(path for path, file in self.files.items() if file.late)

    @property
    def published_bytes(self) -> int:
        """Bytes published of the files as they are known now."""
        return sum(file.position for file in self.files.values())

    @property
    def planned_bytes(self) -> int:
        """Bytes published, or planned and waiting."""
        return self.published_bytes + sum(window.size_bytes for window in self.waiting)


def is_finished(file: FileProgress) -> bool:
    """Return whether nothing is left of the version that was planned last."""
    return file.finished or file.position >= file.file.content_bytes


def read_status(location: str, storage_options: Mapping[str, Any] | None = None) -> list[StreamStatus]:
    """Read the state of all streams of a state location, the one with most windows first. Nothing is changed.

    Args:
        location: A state location; or a checkpoint that holds one as ``splitscan``, or the destination of a watch.

    Raises:
        StreamError: ``[no-stream]`` if there is none; if a window or snapshot is damaged or missing.
    """
    place, names = find_streams(location, storage_options)
    return sorted((_read(place, name, storage_options) for name in names), key=lambda status: -status.window)


def read_windows(location: str, storage_options: Mapping[str, Any] | None = None) -> Iterator[tuple[str, Window]]:
    """The windows that are kept, each with the id of its stream, oldest first. Nothing is changed."""
    place, names = find_streams(location, storage_options)
    logs = ((name, WindowLog(place, name, storage_options)) for name in names)
    return ((name, log.read(number)) for name, log in logs for number in log.numbers())


def find_streams(location: str, storage_options: Mapping[str, Any] | None = None) -> tuple[str, list[str]]:
    """Find the state location, and the ids of its streams: see :func:`read_status`."""
    for folder in _INSIDE:
        place = f"{location.rstrip('/')}/{folder}".rstrip("/") or "/"
        names = [name for name in open_storage(place, storage_options).list_names() if _STREAM_FOLDER.fullmatch(name)]
        if names:
            return place, [name.rstrip("/") for name in names]
    raise StreamError(
        "there is no state of a stream here", Where(path=redact(location)), "no folder with windows",
        "name a stateLocation, a checkpoint that holds one as 'splitscan', or the destination of a watch", "no-stream",
    )  # fmt: skip


def _read(place: str, stream: str, storage_options: Mapping[str, Any] | None) -> StreamStatus:
    log = WindowLog(place, stream, storage_options)
    planned = log.load()
    last = log.read(planned.window) if planned.window and log.has(planned.window) else None
    published = find_published(place, stream, storage_options)
    if published is None or published >= planned.window:
        return StreamStatus(stream, planned.window, published, last, planned.files)
    waiting = tuple(map(log.read, range(published + 1, planned.window + 1)))
    done = {file.content or path: file for path, file in log.load(published).files.items()}
    files = {path: _as_published(file, done.get(file.content or path)) for path, file in planned.files.items()}
    return StreamStatus(stream, planned.window, published, last, files, waiting)


def _as_published(planned: FileProgress, published: FileProgress | None) -> FileProgress:
    """A file that was planned, as far as it is published: perhaps nothing of it is."""
    if published is None or published.generation != planned.generation:
        return replace(planned, position=0, blocks=0, finished=False)
    return replace(published, file=planned.file, finished=published.finished and published.file == planned.file)


def find_published(place: str, stream: str, storage_options: Mapping[str, Any] | None = None) -> int | None:
    """Number of the last window of a stream that was published; ``None`` if nothing beside its state tells."""
    watch = open_storage(place, storage_options)
    if (position := _read_if_there(watch, _WATCH_POSITION)) is not None:
        return _window_in([read_position(position, watch.path_of(_WATCH_POSITION)).to_json()], stream)
    checkpoint, _, _ = place.rpartition("/")
    storage = open_storage(checkpoint or "/", storage_options)
    if not _numbers(storage, _OFFSETS):
        return None
    commits = _numbers(storage, _COMMITS)
    return _window_in(_offset_lines(storage, max(commits)), stream) if commits else 0


def _window_in(offsets: Iterable[Any], stream: str) -> int | None:
    """The window that one of these offsets gives for a stream."""
    for value in offsets:
        try:
            offset: Offset = read_offset(value)
        except UsageError:  # of another source of the query
            continue
        if offset.stream == stream:
            return offset.window
    return None


def _offset_lines(storage: Storage, batch: int) -> Iterator[Any]:
    """The offsets of a batch of Spark: after its version, JSON values, one a line."""
    for line in (_read_if_there(storage, f"{_OFFSETS}/{batch}") or b"").splitlines()[1:]:
        try:
            yield json.loads(line)
        except ValueError:  # of a source that writes something else
            continue


def _numbers(storage: Storage, folder: str) -> list[int]:
    return [int(name) for name in storage.list_names(folder) if name.isdecimal()]


def _read_if_there(storage: Storage, name: str) -> bytes | None:
    try:
        return storage.read_bytes(name)
    except SourceMissingError:
        return None


@dataclass(frozen=True, slots=True)
class DeadStream:
    """A stream that none of the checkpoints names.

    Attributes:
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
        least_age_hours: Streams that were written to since are left out.

    Raises:
        UsageError: ``[bad-option]`` if no checkpoint is known, or one names no stream that lies here: then it is
            probably another's.
    """
    place, streams = find_streams(location, storage_options)
    alive: set[str] = set()
    for checkpoint in _checkpoints_of(location, place, checkpoints):
        named = _named_by(checkpoint, storage_options) & set(streams)
        if not named:
            raise bad_option(
                "a checkpoint must name one of the streams that lie here, or all of them would seem dead",
                "no offset of such a stream",
                "name every checkpoint whose query keeps its state here, and only those",
                Where(path=redact(checkpoint)),
            )
        alive |= named
    dead = [_describe(place, stream, storage_options) for stream in streams if stream not in alive]
    return [each for each in dead if each.idle_hours >= least_age_hours]


def delete_stream(dead: DeadStream, storage_options: Mapping[str, Any] | None = None) -> None:
    """Delete all windows and snapshots of a stream that was found dead."""
    folder, _, name = dead.path.rpartition("/")
    open_storage(folder, storage_options).delete_tree(name)


def _checkpoints_of(location: str, place: str, checkpoints: Sequence[str]) -> list[str]:
    """Folders of offsets: the named one, and that which the state location lies in."""
    own = [] if place == location.rstrip("/") else [location.rstrip("/") if place.endswith("/splitscan") else place]
    found = [*own, *(checkpoint.rstrip("/") for checkpoint in checkpoints)]
    if not found:
        raise bad_option(
            "only checkpoints tell which streams of a state location live", "no checkpoint",
            "name all checkpoints whose queries keep their state here: --checkpoint", Where(path=redact(location)),
        )  # fmt: skip
    return found


def _named_by(checkpoint: str, storage_options: Mapping[str, Any] | None) -> set[str]:
    storage = open_storage(checkpoint, storage_options)
    return {name.decode("ascii") for data in _offsets(storage) for name in _STREAM_ID.findall(data)}


def _offsets(storage: Storage) -> Iterator[bytes]:
    """Offsets that a query, or a watch, may go on from."""
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
