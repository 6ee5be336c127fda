"""List the files that a user's paths name, as Spark's file sources do. Nothing of their content is read."""

# Over 400 lines: a listing that finds nothing is made again, with other options, for its message.

from __future__ import annotations

import heapq
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from splitscan.blocks import FileMetadata
from splitscan.content.archives.member import split_member_path
from splitscan.content.archives.opening import is_member
from splitscan.content.storage import Entry, FileTree, Location, is_inside, locate, open_tree
from splitscan.errors import SourceError, SourceMissingError, UsageError, Where, bad_option
from splitscan.options.files import FileOptions
from splitscan.redaction import redact
from splitscan.scans.archived import named_members, with_members
from splitscan.scans.globs import compile_glob, expand_glob, fixed_prefix, has_glob
from splitscan.sizes import count_of

_log = logging.getLogger(__name__)

_COPYING = "._COPYING_"  # what Hadoop calls a file while it is copied in

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_Listed: TypeAlias = tuple[str, int, FileMetadata]
"""Path and number of the root that it was found under: the order in which listings are merged."""

_Found: TypeAlias = tuple[Entry, str, tuple[FileMetadata, ...] | None]
"""What a path names, the directory that relative paths start from, and what of an archive is meant."""


@dataclass(frozen=True, slots=True)
class _Root:
    """A file or directory the user named, or that a glob of theirs matched."""

    tree: FileTree
    entry: Entry
    anchor: str  # directory that relative paths start from
    number: int  # position in what the user wrote: the first to name a file gives it its relative path
    members: tuple[FileMetadata, ...] | None = None  # what is meant of it, if it is an archive

    @property
    def key(self) -> str:
        return self.entry.path.rstrip("/") + "/" if self.entry.is_directory else self.entry.path


def list_files(paths: Paths, options: FileOptions | None = None) -> Iterator[FileMetadata]:
    """List the files that *paths* name: files, directories and globs, of any storage.

    Guarantees: sorted by path; each path once, however often it is named; memory for the names of one directory
    at a time. All paths are looked up in this call, and directories are listed as the iterator advances.

    As in Spark: directories below are read only with ``recursive_file_lookup`` or inside ``key=value`` partition
    directories; names matching ``ignored_path_segment_regex`` and ``*._COPYING_`` are hidden (not ``_key=value``);
    ``path_glob_filter`` applies to names of files. Unlike Spark: a path that exists is never taken for a glob;
    wildcards pass over hidden directories; files beside partition directories are read, not dropped; a link that
    leads nowhere is an error. A link back to a directory it lies in ends there.
    With ``archive_path_filter`` the members of an archive stand in its place, sorted by name, or, in a compressed tar,
    as they lie in it; all else is asked of the archive. ``archive!/member`` names a member, or a directory of them, if
    no file or directory has that name.

    Returns:
        The files, lazily. Empty files are among them.

    Raises:
        UsageError: If there is no path, a glob is malformed, or ``base_path`` does not hold a path.
        SourceMissingError: If a path names nothing; while iterating: if something vanished, unless
            ``ignore_missing_files``.
        SourceError: If a storage fails; while iterating: if a directory cannot be listed.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("b.csv", "a.csv", "_SUCCESS"):
        ...         _ = pathlib.Path(folder, name).write_bytes(b"x")
        ...     [(file.relative_path, file.size_bytes) for file in list_files(folder)]
        [('a.csv', 1), ('b.csv', 1)]
    """
    return FileListing(options if options is not None else FileOptions()).files(paths)


def find_root(path: str | os.PathLike[str]) -> str:
    """Say below which directory everything lies that a path names, or which file it is; nothing is looked up.

    Example:
        >>> find_root("/data/in/2024-*/[ab].csv"), find_root("/data/in/a.csv")
        ('/data/in', '/data/in/a.csv')
    """
    spelled = locate(path).path
    return (fixed_prefix(spelled).rstrip("/") or "/") if has_glob(spelled) else spelled


def check_inside(path: str, roots: Iterable[str]) -> None:
    """Refuse a path that came from data (a manifest, a plan, a message) and lies below none of the named roots.

    Links are not followed: who can place links below a root can already place files there.

    Raises:
        UsageError: If the path leads elsewhere.

    Example:
        >>> check_inside("/data/in/a.csv", ["/data/in"])
        >>> check_inside("/data/in/../secret", ["/data/in"])
        Traceback (most recent call last):
        ...
        splitscan.errors.UsageError: a path leads outside the directories that were named [path-escapes]
          where: /data/in/../secret
          fix:   name its directory as a root, or correct the path
    """
    # ".." is checked in the text as it came: locate() would resolve it
    spelled = locate(path).path
    holders = {spelled, (split_member_path(spelled) or (spelled,))[0]}  # a member lies where its archive does
    if ".." not in path.split("/") and any(is_inside(each, locate(root).path) for root in roots for each in holders):
        return
    raise UsageError(
        "a path leads outside the directories that were named", Where(path=redact(path)),
        fix="name its directory as a root, or correct the path", code="path-escapes",
    )  # fmt: skip


class FileListing:
    """One listing: its options, compiled, and the storages it has opened.

    Attributes:
        passed_over: Number of files in directories below that are not read, as far as the listing got.
    """

    def __init__(self, options: FileOptions) -> None:
        self._options = options
        self.passed_over = 0
        self.first_passed_over = ""
        self._ignored = _compile_regex(options.ignored_path_segment_regex)
        self._name_matches: Callable[[str], bool] = (
            compile_glob(options.path_glob_filter) if options.path_glob_filter is not None else lambda _: True
        )
        self._base = locate(options.base_path).path if options.base_path is not None else None
        self._trees: dict[str, FileTree] = {}

    def files(self, paths: Paths) -> Iterator[FileMetadata]:
        """The files; see :func:`list_files`."""
        roots = sorted(self.find_roots(paths), key=lambda root: root.key)
        files = _merged(self, [root for root in roots if root.members is None])
        if self._options.archive_path_filter is not None:
            files = with_members(files, self._options, self.is_hidden)
        named = [(root.entry.path, file) for root in roots for file in root.members or ()]
        found = heapq.merge(named, ((file.path, file) for file in files), key=itemgetter(0))
        return _each_once(found) if named else files

    def find_roots(self, paths: Paths) -> list[_Root]:
        """Look up every path; expand globs."""
        named = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        if not named:
            raise UsageError("there is no path to read", seen="an empty list", fix="name a path", code="bad-path")
        roots: list[_Root] = []
        for path in named:
            location = locate(path)
            tree = self._tree(location)
            for entry, anchor, members in self._resolve(tree, location):
                if self._base is not None and not is_inside(entry.path, self._base):
                    raise bad_option(
                        f"wrong basePath {redact(self._base)!r}: it does not hold the path",
                        None,
                        "name a directory above all paths",
                        Where(path=redact(entry.path)),
                    )
                if entry.is_directory or self._is_wanted_root(entry):
                    roots.append(_Root(tree, entry, self._base or anchor, len(roots), members))
        return roots

    def walk(self, root: _Root) -> Iterator[_Listed]:
        """List one root in path order."""
        if not root.entry.is_directory:
            yield from self._accepted(root, root.entry)
            return
        chain = [root.entry.real_id]  # real directories from the root down to the current one
        linked: set[tuple[int, int] | None] = set()  # what links led to: each once, or linked farms would multiply
        partitioned = [self._starts_in_partition(root)]
        stack = [self._entries(root, root.entry, wants_files=True)]
        while stack:
            entry = next(stack[-1], None)
            if entry is None:
                stack.pop(), chain.pop(), partitioned.pop()
            elif not entry.is_directory:
                yield from self._accepted(root, entry)
            elif entry.real_id is None or not self._is_loop(entry, chain, linked):
                inside = partitioned[-1] or "=" in entry.name
                chain.append(entry.real_id)
                partitioned.append(inside)
                stack.append(self._entries(root, entry, inside or self._options.recursive_file_lookup))

    def is_hidden(self, name: str) -> bool:
        """Tell whether a file or directory of this name is passed over."""
        if name.endswith(_COPYING):
            return True
        if name.startswith("_") and "=" in name:  # a partition column may start with an underscore
            return False
        return self._ignored is not None and self._ignored.search(name) is not None

    def _tree(self, location: Location) -> FileTree:
        key = location.scheme
        if not location.is_local:
            key = "/".join(location.path.split("/")[:3])  # scheme://bucket
        if key not in self._trees:
            self._trees[key] = open_tree(location, self._options.storage_options)
        return self._trees[key]

    def _resolve(self, tree: FileTree, location: Location) -> Iterator[_Found]:
        entry = tree.status(location.path)
        if entry is not None:
            yield entry, _anchor_of(entry), None
            return
        found = list(self._matching(tree, location.path))
        named = split_member_path(location.path)
        if not found and named is not None:
            found = self._resolve_members(tree, *named)
        if not found:
            raise SourceMissingError(
                f"Path does not exist: {redact(location.path)}", Where(path=redact(location.path)),
                "no file or directory matches" if has_glob(location.path) else "no such file or directory",
                "check the spelling, and that this machine can see the storage", "path-not-found",
            )  # fmt: skip
        yield from found

    def _matching(self, tree: FileTree, path: str) -> Iterator[_Found]:
        """Files that a glob matches; none if the path is no glob."""
        if has_glob(path):
            anchor = fixed_prefix(path)
            for entry in expand_glob(tree, path, self.is_hidden, self._options.ignore_missing_files):
                yield entry, anchor, None

    def _resolve_members(self, tree: FileTree, archive: str, name: str) -> list[_Found]:
        """The archives that a path names, or matches, and of each what is meant; none without it."""
        entry = tree.status(archive)
        found = self._matching(tree, archive) if entry is None else [(entry, _anchor_of(entry), None)]
        resolved: list[_Found] = []
        for each, anchor, _ in found:
            if not each.is_directory:
                file = _as_file(each, self._base or anchor)
                members = named_members(file, name, self._options, self.is_hidden)
                if members is not None:
                    resolved.append((each, anchor, tuple(members) if self._is_wanted_time(each) else ()))
        return resolved

    def _is_wanted_root(self, entry: Entry) -> bool:
        if self.is_hidden(entry.name):
            _log.warning("ignored, because its name is hidden: %s", redact(entry.path))
            return False
        return self._name_matches(entry.name)

    def _starts_in_partition(self, root: _Root) -> bool:
        if self._base is None:
            return False
        return "=" in root.entry.path[len(self._base.rstrip("/")) :]

    def _entries(self, root: _Root, directory: Entry, wants_files: bool) -> Iterator[Entry]:
        def keep(name: str, is_directory: bool) -> bool:
            if self.is_hidden(name):
                return False
            if is_directory or not self._name_matches(name):
                return is_directory
            if not wants_files:
                self.passed_over += 1
                self.first_passed_over = self.first_passed_over or f"{directory.path.rstrip('/')}/{name}"
            return wants_files

        return root.tree.entries(directory.path, keep, self._options.ignore_missing_files)

    @staticmethod
    def _is_loop(entry: Entry, chain: list[tuple[int, int] | None], linked: set[tuple[int, int] | None]) -> bool:
        if entry.real_id in chain:
            return True
        if entry.is_link:
            if entry.real_id in linked:
                return True
            linked.add(entry.real_id)
        return False

    def _accepted(self, root: _Root, entry: Entry) -> Iterator[_Listed]:
        if not self._is_wanted_time(entry):
            return
        file = _as_file(entry, root.anchor)
        if ".." in file.relative_path.split("/"):
            raise SourceError(
                "a listed name leads outside its directory", Where(path=redact(entry.path)),
                "a '..' segment in an object's name", "rename the object", "path-escapes",
            )  # fmt: skip
        yield entry.path, root.number, file

    def _is_wanted_time(self, entry: Entry) -> bool:
        before_us, after_us = self._options.modified_before_us, self._options.modified_after_us
        if before_us is not None and entry.modified_us >= before_us:
            return False
        return after_us is None or entry.modified_us > after_us


def _as_file(entry: Entry, anchor: str) -> FileMetadata:
    relative_path = entry.path[len(anchor.rstrip("/")) + 1 :]
    return FileMetadata(entry.path, entry.size_bytes, entry.modified_us, entry.fingerprint, relative_path)


def _anchor_of(entry: Entry) -> str:
    return entry.path if entry.is_directory else entry.path.rpartition("/")[0]


def _each_once(files: Iterable[tuple[str, FileMetadata]]) -> Iterator[FileMetadata]:
    """The files, without members that were there before: who names a member may name its archive too."""
    seen: set[str] = set()
    for _, file in files:
        if file.path not in seen:
            if is_member(file):
                seen.add(file.path)
            yield file


def _merged(listing: FileListing, roots: list[_Root]) -> Iterator[FileMetadata]:
    previous: str | None = None
    for group in _overlapping(roots):
        for path, _, file in heapq.merge(*map(listing.walk, group), key=itemgetter(0, 1)):
            if path != previous:
                yield file
            previous = path


def _overlapping(roots: list[_Root]) -> Iterator[list[_Root]]:
    """Group sorted roots that may hold the same files; groups follow one another in path order."""
    group: list[_Root] = []
    for root in roots:
        if group and not root.key.startswith(group[0].key):
            yield group
            group = []
        group.append(root)
    if group:
        yield group


def _compile_regex(regex: str) -> re.Pattern[str] | None:
    if not regex:
        return None
    try:
        return re.compile(regex)
    except re.error as error:
        seen = f"{regex!r}: {error}"
        raise bad_option("option ignoredPathSegmentRegex is not a regular expression", seen, None) from None


_MOST_COUNTED = 1000  # files that a hint counts
_RECURSIVE = "set recursiveFileLookup=true (on the command line -o recursiveFileLookup=true)"


def advice_on(listing: FileListing) -> str:
    """The warning after a listing that passed files over: they lie in directories below."""
    number = f"{count_of(listing.passed_over, 'file')} in directories below"
    return f"not read: {number}, such as {redact(listing.first_passed_over)}. To read them, {_RECURSIVE}"


def no_files(paths: Paths, options: FileOptions) -> SourceMissingError:
    """The error for an input without a file: it names the options without which there would be one."""
    named = [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else list(paths)
    where = Where(path=redact(str(named[0]))) if len(named) == 1 else None
    rule = "there is no file to read: the paths name none"
    needed = _relaxations(options)
    if not needed or not _found(paths, options, needed):
        seen = "nothing in it" if len(named) == 1 else f"nothing in {count_of(len(named), 'path')}"
        return SourceMissingError(rule, where, seen, "name a file, or a directory that holds some", "no-files")
    for each in reversed(needed):
        others = [other for other in needed if other is not each]
        if others and _found(paths, options, others):
            needed = others
    found = _found(paths, options, needed)
    number = f"{_MOST_COUNTED:,} files or more" if len(found) > _MOST_COUNTED else count_of(len(found), "file")
    seen = f"{', and '.join(each.seen for each in needed)}: {number}, such as {redact(found[0].path)}"
    return SourceMissingError(rule, where, seen, "; ".join(each.fix for each in needed), "no-files")


class _Relaxation(NamedTuple):
    """A change of options that finds more files, what is said of those, and how a user makes it."""

    change: dict[str, Any]
    seen: str
    fix: str


def _found(paths: Paths, options: FileOptions, relaxations: Sequence[_Relaxation]) -> list[FileMetadata]:
    changes = {name: value for each in relaxations for name, value in each.change.items()}
    return list(islice(FileListing(replace(options, **changes)).files(paths), _MOST_COUNTED + 1))


def _relaxations(options: FileOptions) -> list[_Relaxation]:
    """Each way to find more files than *options* do; the first are the likelier to be wanted."""
    possible = []
    if not options.recursive_file_lookup:
        possible.append(_Relaxation({"recursive_file_lookup": True}, "only files in directories below", _RECURSIVE))
    filters = (
        ("path_glob_filter", "pathGlobFilter", None),
        ("archive_path_filter", "archivePathFilter", "*"),
        ("modified_after_us", "modifiedAfter", None),
        ("modified_before_us", "modifiedBefore", None),
    )
    for attribute, name, value in filters:
        if getattr(options, attribute) not in {None, value}:
            seen, fix = f"only files that {name} leaves out", f"correct {name}, or leave it out"
            possible.append(_Relaxation({attribute: value}, seen, fix))
    if options.ignored_path_segment_regex:
        seen = f"only names that ignoredPathSegmentRegex={options.ignored_path_segment_regex} hides"
        fix = "give ignoredPathSegmentRegex another pattern, such as (?!) that hides nothing"
        possible.append(_Relaxation({"ignored_path_segment_regex": ""}, seen, fix))
    return possible
