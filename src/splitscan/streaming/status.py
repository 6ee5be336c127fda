"""What a state location says about its streams, without touching them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from splitscan.content.storage import open_storage
from splitscan.errors import StreamError, Where
from splitscan.redaction import redact
from splitscan.streaming.log import WindowLog
from splitscan.streaming.state import FileProgress
from splitscan.streaming.windows import Backlog, Window

_STREAM_FOLDER = re.compile(r"[0-9a-f]{32}/")
_INSIDE = ("", "splitscan", "_splitscan/watch")  # a state location, a checkpoint, the destination of a watch


@dataclass(frozen=True)
class StreamStatus:
    """One stream, as its window log tells it.

    Attributes:
        stream: Its id.
        window: Number of the last window that was planned.
        last: That window; ``None`` if there is none, or it is not kept.
        files: Every file that was planned, by path.
    """

    stream: str
    window: int
    last: Window | None
    files: Mapping[str, FileProgress]

    @property
    def backlog(self) -> Backlog:
        """What was left when the last window was planned."""
        return self.last.backlog if self.last is not None else Backlog()

    @property
    def unfinished(self) -> list[str]:
        """Paths of files of which a part is planned."""
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
    def planned_bytes(self) -> int:
        """Bytes planned of the files as they are known now."""
        return sum(file.position for file in self.files.values())


def is_finished(file: FileProgress) -> bool:
    """Whether nothing is left of the version that was planned last."""
    return file.finished or file.position >= file.file.content_bytes


def read_status(location: str, storage_options: Mapping[str, Any] | None = None) -> list[StreamStatus]:
    """Read the state of all streams of a state location, the one with most windows first. Nothing is changed.

    Args:
        location: A state location; or a checkpoint that holds one as ``splitscan``, or the destination of a watch.
        storage_options: Settings of the file system, if it is remote.

    Raises:
        StreamError: ``[no-stream]`` if there is none; if a window or snapshot is damaged or missing.
    """
    place, names = find_streams(location, storage_options)
    return sorted((_read(place, name, storage_options) for name in names), key=lambda status: -status.window)


def read_windows(location: str, storage_options: Mapping[str, Any] | None = None) -> Iterator[tuple[str, Window]]:
    """The windows that are kept, each with the id of its stream, oldest first. Nothing is changed.

    Args:
        location: As :func:`read_status` takes it.
        storage_options: Settings of the file system, if it is remote.

    Raises:
        StreamError: ``[no-stream]`` if there is none; if a window is damaged.
    """
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
        "there is no state of a stream here",
        Where(path=redact(location)),
        "no folder with windows",
        "name a stateLocation, a checkpoint that holds one as 'splitscan', or the destination of a watch",
        "no-stream",
    )


def _read(place: str, stream: str, storage_options: Mapping[str, Any] | None) -> StreamStatus:
    log = WindowLog(place, stream, storage_options)
    state = log.load()
    last = log.read(state.window) if state.window and log.has(state.window) else None
    return StreamStatus(stream, state.window, last, state.files)
