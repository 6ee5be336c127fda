"""The window log: which blocks each window reads, durable before anybody is told of the window.

Its files are sealed: after the JSON lines, a last line proves that none is missing or changed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

from splitscan.content.storage import Storage, open_storage
from splitscan.errors import SourceMissingError, StreamError, UsageError, Where
from splitscan.redaction import redact
from splitscan.streaming.windows import StreamState, Window, read_state, read_window

_DIGEST_BYTES = 16
_log = logging.getLogger(__name__)

KEPT_WINDOWS = 100
"""Windows that stay behind the last committed one, as many as Spark keeps batches: a checkpoint may be rolled back."""

_STREAM_ID = re.compile(r"[0-9a-f]{32}")

_NAME = re.compile(r"([ws])-(\d{10})")


def seal(lines: Iterable[Any]) -> bytes:
    """Write JSON values, one a line, and the line that proves them.

    Example:
        >>> open_sealed(seal([{"window": 1}, ["a", 2]]), "w")
        [{'window': 1}, ['a', 2]]
    """
    body = b"".join(json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n" for line in lines)
    return body + json.dumps({"bytes": len(body), "digest": _digest(body)}).encode("ascii") + b"\n"


def open_sealed(data: bytes, path: str) -> list[Any]:
    """Read what :func:`seal` wrote: all of it, or nothing."""
    stop = data.rfind(b"\n", 0, max(0, len(data) - 1)) + 1
    body = data[:stop]
    try:
        last = json.loads(data[stop:])
        whole = data.endswith(b"\n") and last == {"bytes": len(body), "digest": _digest(body)}
    except ValueError:  # no JSON, or no text
        whole = False
    if not whole:
        raise StreamError(
            "a file of the stream's state is damaged", Where(path=redact(path)),
            f"{len(data)} bytes that their last line does not prove",
            "restore it from a copy; or start with another checkpoint, which reads all again", "stream-damaged",
        )  # fmt: skip
    return [json.loads(line) for line in body.splitlines()]


def _digest(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).hexdigest()


class WindowLog:
    """The windows of one stream.

    A window is created exclusively: of two planners that want the same number, one is refused. What was created is
    whole and durable, and never changes. Its errors are ``[stream-fenced]`` where another planner was first,
    ``[stream-state-missing]`` and ``[stream-damaged]``.

    Thread safety: none; one planner, one log.
    """

    def __init__(self, location: str, stream_id: str, storage_options: Mapping[str, Any] | None = None) -> None:
        if not _STREAM_ID.fullmatch(stream_id):
            raise UsageError(
                "the offset of a stream names its state by 32 hexadecimal digits", seen=repr(stream_id)[:80],
                fix="use the checkpoint of this query only", code="bad-offset",
            )  # fmt: skip
        self._stream_id = stream_id
        self._storage: Storage = open_storage(location, storage_options)

    @property
    def path(self) -> str:
        """Folder of this stream's windows."""
        return self._storage.path_of(self._stream_id)

    def create(self, window: Window) -> int:
        """Make a window durable, and the only one of its number. Returns the number of bytes it takes."""
        name, data = self._name("w", window.number), seal(window.lines())
        if not self._storage.try_create(name, data):
            raise StreamError(
                f"another planner has already planned window {window.number}",
                Where(path=redact(self._storage.path_of(name))),
                "two queries, or two runs of one query, plan one stream",
                "let only one of them run, and give every query a checkpoint of its own",
                "stream-fenced",
            )
        return len(data)

    def has(self, number: int) -> bool:
        """Return whether a window was planned and is kept."""
        return self._storage.exists(self._name("w", number))

    def read(self, number: int) -> Window:
        """Read a window as it was created."""
        name = self._name("w", number)
        return read_window(self._open(name, f"window {number}"), self._storage.path_of(name))

    def numbers(self, kind: str = "w") -> list[int]:
        """Numbers of all windows (``w``) or snapshots (``s``) that are kept, ascending."""
        matches = map(_NAME.fullmatch, self._storage.list_names(self._stream_id))
        return sorted(int(match[2]) for match in matches if match and match[1] == kind)

    def load(self, most: int | None = None) -> StreamState:
        """The state after the last window: the newest snapshot that is whole, and the windows after it."""
        state = self._newest_snapshot(most)
        for number in self.numbers():
            if most is not None and number > most:
                break
            if number > state.window:
                if number != state.window + 1:
                    raise self._missing(f"window {state.window + 1}")
                state.apply(self.read(number))
        return state

    def save(self, state: StreamState) -> int:
        """Write a snapshot, so that older windows are no longer needed. Returns the number of bytes it takes."""
        data = seal(state.lines())
        self._storage.write_bytes_atomic(self._name("s", state.window), data)
        return len(data)

    def purge(self, committed: int, kept: int = KEPT_WINDOWS) -> list[int]:
        """Delete what nobody needs: windows after a snapshot and *kept* windows older than *committed*.

        The two newest snapshots stay: if the newest is damaged, the one before it and the windows after it do.
        Returns the numbers of the windows that were deleted.
        """
        snapshots = self.numbers("s")
        for number in snapshots[:-2]:
            self._storage.delete_tree(self._name("s", number))
        if len(snapshots) < 2:
            return []
        oldest_needed = min(snapshots[-2] + 1, committed - kept + 1)
        gone = [number for number in self.numbers() if number < oldest_needed]
        for number in gone:
            self._storage.delete_tree(self._name("w", number))
        return gone

    def _newest_snapshot(self, most: int | None) -> StreamState:
        for number in reversed(self.numbers("s")):
            if most is not None and number > most:
                continue
            name = self._name("s", number)
            try:
                return read_state(self._open(name, f"snapshot {number}"), self._storage.path_of(name))
            except StreamError as error:
                if error.reason_code != "stream-damaged":
                    raise
                _log.warning("a damaged snapshot is passed over: %s", redact(self._storage.path_of(name)))
        return StreamState()

    def _open(self, name: str, what: str) -> list[Any]:
        try:
            data = self._storage.read_bytes(name)
        except SourceMissingError as error:
            raise self._missing(what) from error
        return open_sealed(data, self._storage.path_of(name))

    def _missing(self, what: str) -> StreamError:
        return StreamError(
            f"the checkpoint refers to {what} of a stream whose state does not have it",
            Where(path=redact(self.path)),
            "no such file: the state was deleted, purged or restored from an older copy",
            "restore the state; or start the query with another checkpoint, which reads all again",
            "stream-state-missing",
        )

    def _name(self, kind: str, number: int) -> str:
        return f"{self._stream_id}/{kind}-{number:010d}"


class VolatileLog:
    """The windows of one stream in the memory of its planner (``windowLog=none``), in no storage.

    It has the methods of :class:`WindowLog`, and the same answers as long as the planner lives. A window of an earlier
    run is empty, as if it had never been planned: what it read is found again and read again, so nothing is lost, and
    much comes more than once.
    """

    def __init__(self, stream_id: str) -> None:
        self._windows: dict[int, Window] = {}
        self._stream_id = stream_id

    @property
    def path(self) -> str:
        """The stream: it has no folder."""
        return self._stream_id

    def create(self, window: Window) -> int:
        """Keep a window, and forget the oldest. Returns 0: nothing is written."""
        self._windows[window.number] = window
        for number in self.numbers():
            if number <= window.number - KEPT_WINDOWS:
                del self._windows[number]
        return 0

    def has(self, number: int) -> bool:
        """Return whether a window is kept."""
        return number in self._windows

    def read(self, number: int) -> Window:
        """A window as it was created; an empty one for a window of an earlier run."""
        return self._windows.get(number) or Window(number, (), (), ())

    def numbers(self, kind: str = "w") -> list[int]:
        """Numbers of all windows that are kept, ascending; there are no snapshots."""
        return sorted(self._windows) if kind == "w" else []

    def load(self, most: int | None = None) -> StreamState:
        """The state of a stream that begins."""
        return StreamState()

    def save(self, state: StreamState) -> int:
        """Write nothing, which takes 0 bytes."""
        return 0

    def purge(self, committed: int, kept: int = KEPT_WINDOWS) -> list[int]:
        """Delete nothing: old windows go when new ones come."""
        return []
