"""Archives among listed files: their members stand in their place (``archivePathFilter``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice

from splitscan.archives import archive_kind, list_members, plain_name
from splitscan.blocks import FileMetadata
from splitscan.errors import SourceMissingError
from splitscan.options.files import FileOptions
from splitscan.redaction import redact
from splitscan.sources.globs import compile_glob
from splitscan.splitting.directory_store import DirectoryStore

_log = logging.getLogger(__name__)

_LOOKED_AT_ONCE = 64  # files; the listing stays lazy
_THREADS = 16  # mostly waiting for the storage


def with_members(
    files: Iterator[FileMetadata], options: FileOptions, is_hidden: Callable[[str], bool]
) -> Iterator[FileMetadata]:
    """Put the members of archives in the place of these, many archives at once.

    Args:
        files: The listed files.
        options: Which members are wanted; ``archive_path_filter`` is compared with all of a member's name, and its
            wildcards pass over ``/``, as in Spark.
        is_hidden: Tells which names are hidden; asked for every segment of a member's name.

    Returns:
        The files, lazily.

    Raises:
        UsageError: If the glob is malformed, at once.
    """
    matches = compile_glob(options.archive_path_filter or "*", across_segments=True)

    kept = None if options.ignore_corrupt_files else DirectoryStore()  # then all that is read was verified before

    def wanted(name: str) -> bool:
        leads_out = plain_name(name) is None  # such a name is refused, and never hidden
        return matches(name) and (leads_out or not any(map(is_hidden, name.split("/"))))

    def look(file: FileMetadata) -> list[FileMetadata]:
        try:
            return list_members(
                file,
                wanted,
                max_ratio=options.max_decompression_ratio,
                max_bytes=options.max_archive_bytes,
                storage_options=options.storage_options,
                kept=kept,
            )
        except SourceMissingError:
            if not options.ignore_missing_files:
                raise
            _log.warning("an archive vanished while it was listed: %s", redact(file.path))
            return []

    return chain.from_iterable(_looked_at(files, look))


def _looked_at(
    files: Iterator[FileMetadata], look: Callable[[FileMetadata], list[FileMetadata]]
) -> Iterator[list[FileMetadata]]:
    while batch := list(islice(files, _LOOKED_AT_ONCE)):
        if sum(archive_kind(file.path) is not None for file in batch) < 2:
            yield from map(look, batch)
            continue
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="splitscan-archive") as pool:
            yield from list(pool.map(look, batch))
