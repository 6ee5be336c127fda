"""One ingest at a time per destination. The kernel holds the lock, so a dead holder never blocks."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from splitscan.errors import IngestError, Where

_ATTEMPTS = 1000  # each is lost to another holder that leaves at the same instant


class DestinationLock:
    """An exclusive lock on a destination, as a context manager.

    The lock is a ``flock`` on a small file that also says who holds it. The file goes away with the lock.

    Args:
        path: The lock file.
        destination: What is locked, for messages.

    Raises:
        IngestError: ``[destination-busy]`` on entering, if another process (or thread) holds it.
    """

    def __init__(self, path: Path, destination: str) -> None:
        self._path = path
        self._destination = destination
        self._descriptor: int | None = None

    def __enter__(self) -> DestinationLock:
        for _ in range(_ATTEMPTS):
            self._descriptor = self._try_open()
            if self._descriptor is not None:
                return self
        raise self._failed("its folder vanishes again and again")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is None:
            return
        try:
            with suppress(OSError):  # the name goes first: whoever opens it from now on gets a new file
                self._path.unlink()
            with suppress(OSError):  # only where nothing else is in it
                self._path.parent.rmdir()
        finally:
            os.close(self._descriptor)
            self._descriptor = None

    def _try_open(self) -> int | None:
        """Open and lock the file; ``None`` when its last holder deleted it meanwhile."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if isinstance(error, FileExistsError) and not self._path.parent.is_file():
                return None
            raise self._failed(f"{type(error).__name__}: {error}") from error
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed(f"{type(error).__name__}: {error}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 500, 0)
            os.close(descriptor)
            raise self._busy(holder) from None
        try:
            current = self._path.stat()
        except FileNotFoundError:
            current = None
        if current is None or current.st_ino != os.fstat(descriptor).st_ino:
            os.close(descriptor)
            return None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        return descriptor

    def _failed(self, seen: str) -> IngestError:
        return IngestError(
            "the destination cannot be locked", Where(path=self._destination), seen,
            "check that the folder that holds the destination is writable", "destination-failed",
        )  # fmt: skip

    def _busy(self, holder: bytes) -> IngestError:
        seen = "the holder is not known"
        with suppress(ValueError, KeyError, TypeError):
            raw = json.loads(holder)
            seen = f"process {int(raw['pid'])} on {str(raw['host'])[:80]} holds it"
        return IngestError(
            "another ingest is writing to this destination", Where(path=self._destination), seen,
            "wait until it ends, then run again", "destination-busy",
        )  # fmt: skip
