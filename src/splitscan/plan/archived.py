"""Archives among listed files: their members stand in their place (``archivePathFilter``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice

from splitscan.blocks import FileMetadata
from splitscan.content.archives.member import MARK, archive_kind, plain_name
from splitscan.content.listing import list_members
from splitscan.errors import SourceMissingError
from splitscan.options.files import FileOptions
from splitscan.plan.globs import compile_glob
from splitscan.redaction import redact

_log = logging.getLogger(__name__)

_LOOKED_AT_ONCE = 64  # files; the listing stays lazy
_THREADS = 16  # mostly waiting for the storage


def with_members(
    files: Iterator[FileMetadata], options: FileOptions, is_hidden: Callable[[str], bool]
) -> Iterator[FileMetadata]:
    """Put the members of archives in the place of these, many archives at once.

    Returns:
        The files, lazily.

    Raises:
        UsageError: If the glob is malformed, at once.
    """
    wanted = _choice(options, is_hidden)

    def look(file: FileMetadata) -> list[FileMetadata]:
        try:
            return list_members(file, wanted, options)
        except SourceMissingError:
            if not options.ignore_missing_files:
                raise
            _log.warning("an archive vanished while it was listed: %s", redact(file.path))
            return []

    return chain.from_iterable(_looked_at(files, look))


def named_members(
    file: FileMetadata, name: str, options: FileOptions, is_hidden: Callable[[str], bool]
) -> list[FileMetadata] | None:
    """The member of an archive that a user has named, or all in the directory of that name.

    Returns:
        The wanted ones; ``None`` if the archive holds nothing of that name, or the file is none. Without ``base_path``
        their relative paths begin after the directory, as those of files do. Of a damaged archive, whose damage is
        ignored, what is lost is among them: see :func:`list_members`.
    """
    chosen = _choice(options, is_hidden)
    is_known = False

    def wanted(member: str) -> bool:
        nonlocal is_known
        named = member == name or member.startswith(f"{name}/")
        is_known |= named
        return named and chosen(member)

    members = list_members(file, wanted, options)
    lost = [each for each in members if each.path.endswith(MARK)]  # after damage: the name may be there
    if not is_known and not lost:
        return None
    if any(each.path == f"{file.path}{MARK}{name}" for each in members):  # no directory, and found
        members = [each for each in members if each not in lost]
    if options.base_path is not None:
        return members
    folder = len(file.path) + len(MARK) + len(name) + 1
    return [replace(each, relative_path=each.path[folder:] or name.rpartition("/")[2]) for each in members]


def _choice(options: FileOptions, is_hidden: Callable[[str], bool]) -> Callable[[str], bool]:
    """Which members are wanted, by their names."""
    matches = compile_glob(options.archive_path_filter or "*", across_segments=True)

    def wanted(name: str) -> bool:
        leads_out = plain_name(name) is None  # such a name is refused, and never hidden
        return matches(name) and (leads_out or not any(map(is_hidden, name.split("/"))))

    return wanted


def _looked_at(
    files: Iterator[FileMetadata], look: Callable[[FileMetadata], list[FileMetadata]]
) -> Iterator[list[FileMetadata]]:
    while batch := list(islice(files, _LOOKED_AT_ONCE)):
        if sum(archive_kind(file.path) is not None for file in batch) < 2:
            yield from map(look, batch)
            continue
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="splitscan-archive") as pool:
            yield from list(pool.map(look, batch))
