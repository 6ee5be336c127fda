"""Take files away that were read to their end, once what was read is committed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.storage import is_inside, locate, open_storage, open_tree
from splitscan.errors import SplitscanError, UsageError
from splitscan.options.stream import CleanSource, StreamOptions
from splitscan.redaction import redact
from splitscan.streaming.windows import Window

_log = logging.getLogger(__name__)


class SourceCleaner:
    """Deletes or archives the files that a committed window has read to their end.

    A file that is no longer the version that was read stays where it is. What fails is logged: a file that could not be
    taken away does no harm.

    Raises:
        UsageError: If the archive would be followed, or lies in another storage.
    """

    def __init__(self, options: StreamOptions, roots: Sequence[str], storage_options: Mapping[str, Any]) -> None:
        self._policy = options.clean_source
        self._storage_options = storage_options
        self._archive = None if options.source_archive_dir is None else locate(options.source_archive_dir).path
        for root in roots:
            path = locate(root).path
            if self._archive is not None and (
                is_inside(self._archive, path) or _store_of(path) != _store_of(self._archive)
            ):
                raise UsageError(
                    "option sourceArchiveDir names a directory of the same storage that is not followed itself",
                    seen=f"sourceArchiveDir={redact(self._archive)}; followed: {redact(path)}",
                    fix="name a directory beside those that are followed",
                    code="bad-option",
                )

    @property
    def is_on(self) -> bool:
        """True if there is anything to do at all."""
        return self._policy is not CleanSource.OFF

    def clean(self, window: Window) -> list[str]:
        """Take away the files that end with a window which is committed. Returns their paths."""
        gone = []
        for planned in window.files:
            try:
                if planned.finished and self._take_away(planned.file):
                    gone.append(planned.file.path)
            except SplitscanError as error:
                _log.warning("cleanSource=%s: %s", self._policy.value, error)
        return gone

    def _take_away(self, file: FileMetadata) -> bool:
        entry = open_tree(locate(file.path), self._storage_options).status(file.path)
        if entry is None:
            return False
        if entry.fingerprint != file.fingerprint:
            _log.warning("a file changed after it was read, so it stays: %s", redact(file.path))
            return False
        store = _store_of(file.path)
        storage = open_storage(store, self._storage_options)
        name = file.path[len(store) :].lstrip("/")
        if self._archive is None:
            storage.delete_tree(name)
        else:
            storage.rename(name, f"{self._archive[len(store) :].lstrip('/')}/{file.relative_path}")
        return True


def _store_of(path: str) -> str:
    """Name the storage of a path: the local file system, or a bucket or host.

    Example:
        >>> _store_of("/data/in"), _store_of("s3://bucket/in/a.csv")
        ('/', 's3://bucket')
    """
    return "/".join(path.split("/")[:3]) if "://" in path else "/"
