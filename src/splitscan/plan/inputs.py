"""Inputs of which no file is read, or not every file: which options would find them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from splitscan.blocks import FileMetadata
from splitscan.errors import SourceMissingError, Where
from splitscan.options.files import FileOptions
from splitscan.plan.files import FileListing, Paths
from splitscan.redaction import redact
from splitscan.sizes import count_of

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
