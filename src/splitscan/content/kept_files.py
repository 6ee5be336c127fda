"""What is kept from one scan to the next: small JSON files in the user's cache directory.

That is ``$SPLITSCAN_CACHE``, else ``$XDG_CACHE_HOME/splitscan``, else ``~/.cache/splitscan``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from splitscan.blocks import FileMetadata

_MOST_KEPT = 4096  # files; the oldest go first
_SETTLED_SECONDS = 3.0  # a file younger than this may change again without a new modification time


class KeptFiles:
    """A directory of JSON objects, found by their keys.

    Args:
        kind: Name of the directory inside the user's cache directory.
        directory: Another place.

    Thread safety: processes and threads may share a directory; a file appears whole or not at all.
    """

    def __init__(self, kind: str, directory: Path | None = None) -> None:
        self._directory = directory or _cache_directory() / kind

    @property
    def directory(self) -> Path:
        """Where it is."""
        return self._directory

    def read(self, key: str) -> dict[str, Any] | None:
        """What was kept under *key*; ``None`` if nothing was that can be read."""
        try:
            kept = json.loads(self._path(key).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        return kept if isinstance(kept, dict) else None

    def write(self, key: str, kept: dict[str, Any]) -> bool:
        """Keep something under *key*.

        Returns:
            Whether it could be written: a cache that cannot be costs time, never rows.
        """
        with contextlib.suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._directory, suffix=".tmp", delete=False) as out:
                whole = Path(out.name)
            try:
                whole.write_text(json.dumps(kept), encoding="ascii")
                whole.replace(self._path(key))
            finally:
                whole.unlink(missing_ok=True)
            self._prune()
            return True
        return False

    def _path(self, key: str) -> Path:
        name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._directory / f"{name}.json"

    def _prune(self) -> None:
        kept = list(self._directory.glob("*.json"))
        if len(kept) > _MOST_KEPT:
            kept.sort(key=lambda path: path.stat().st_mtime)
            for path in kept[: len(kept) - _MOST_KEPT]:
                path.unlink(missing_ok=True)


def is_settled(file: FileMetadata) -> bool:
    """Whether a file's fingerprint is the identity of its content.

    It is not for a file that was just modified, nor for one whose modification time its storage does not tell: its
    fingerprint may be its size alone.
    """
    return bool(file.modified_us) and time.time() - file.modified_us / 1e6 >= _SETTLED_SECONDS


def _cache_directory() -> Path:
    own = os.environ.get("SPLITSCAN_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path("~/.cache").expanduser()) / "splitscan"
