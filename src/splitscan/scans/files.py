"""The files of a scan: listed once, with the columns that their directories give, and narrowed by conditions."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from typing import Any, TypeAlias

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import UsageError, Where
from splitscan.formats.decoding.ddl import as_schema
from splitscan.options.files import FileOptions
from splitscan.reading.partitions import (
    METADATA_TYPES,
    Grain,
    Partitions,
    find_partitions,
    grain_of,
    metadata_field,
    metadata_name,
    metadata_scalar,
)
from splitscan.redaction import redact
from splitscan.scans.condition_text import parse_condition
from splitscan.scans.conditions import Condition, Test, Typed
from splitscan.scans.listing import FileListing, advice_on, find_root, no_files
from splitscan.sizes import count_of

FileTest: TypeAlias = Callable[[FileMetadata], Any]


def _tells_blocks(condition: Condition) -> bool:
    """True if a condition tells the blocks of one file from each other."""
    known = filter(None, map(metadata_name, condition.columns))
    return any(grain_of(name) is Grain.BLOCK for name in known)


def _whole(file: FileMetadata) -> BlockMetadata:
    return BlockMetadata(file, 0, file.size_bytes, 0)


def _scope(partitions: Partitions) -> Callable[[str], Typed]:
    by_lower = {name.lower(): name for name in partitions.fields.names}

    def find(name: str) -> Typed:
        partition = by_lower.get(name.lower())
        if partition is not None:
            kind = partitions.fields.field(partition).type
            return Typed(kind, lambda block: partitions.value(partition, block.file).as_py())
        known = metadata_name(name)
        if known is None or grain_of(known) is Grain.RECORD:
            of_files = [each for each in METADATA_TYPES if grain_of(each) is not Grain.RECORD]
            raise _not_of_files(name, [*partitions.fields.names, "dir0", *of_files])
        return Typed(metadata_field(known).type, lambda block: metadata_scalar(known, block).as_py())

    return find


def _not_of_files(name: str, names: Sequence[str]) -> UsageError:
    close = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return UsageError(
        "option where decides which files and blocks are read, by columns of files, directories and blocks alone",
        Where(column=name),
        seen=f"{name!r}, which is none of: {', '.join(names)}",
        fix=f"{hint}filter by columns of the records in Spark, or after the scan",
        code="bad-where",
    )


Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A path, or several: files, directories, globs, URIs."""


class NamedPaths(tuple[str, ...]):
    """Paths as text. The files that they name are listed once, for all who ask by the same object.

    Pickling: the paths; what was listed is not taken along.
    """

    _known: tuple[FileOptions, tuple[tuple[FileMetadata, ...], str | None]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)

    def listed(self, options: FileOptions) -> tuple[tuple[FileMetadata, ...], str | None]:
        """All files, sorted by path, and what to warn of that is not read."""
        if self._known is None or self._known[0] != options:
            listing = FileListing(options)
            files = tuple(listing.files(self))
            self._known = options, (files, advice_on(listing) if listing.passed_over else None)
        return self._known[1]


def as_paths(paths: Paths) -> NamedPaths:
    """Paths as text; ``[bad-path]`` if one is none, ``[no-path]`` if there is none."""
    if isinstance(paths, NamedPaths):
        return paths
    several = [paths] if isinstance(paths, str | PathLike) else paths
    try:
        named = [fspath(path) for path in several]
    except TypeError:
        named = None
    if named is None or not all(isinstance(path, str) for path in named):
        raise UsageError(
            "paths are a text or a pathlib.Path, or a list of these",
            seen=repr(paths),
            fix="name a file, directory, glob or URI",
            code="bad-path",
        )
    if not named:
        raise UsageError("a scan needs a path", seen="none", fix="name a file, directory, glob or URI", code="no-path")
    return NamedPaths(named)


@dataclass(frozen=True, eq=False, repr=False)
class FileSet:
    """Files that a user's paths name and for which conditions hold; nothing is listed before it is asked for.

    Attributes:
        schema: The user's, or DDL text of it, which says the types of partition columns; ``None`` if there is none.
        chosen: Files in place of those that the paths name.
        conditions: Texts of conditions over columns of files, directories and blocks, which must all hold.
        tests: Functions of a file that must all give something true.

    Thread safety: immutable but for caches; share it freely.
    Pickling: yes, where the functions can; what was listed is not taken along.
    """

    paths: NamedPaths
    options: FileOptions
    schema: pa.Schema | str | None = None
    chosen: tuple[FileMetadata, ...] | None = None
    conditions: tuple[str, ...] = ()
    tests: tuple[FileTest, ...] = ()

    @classmethod
    def of(cls, paths: Sequence[str], options: FileOptions, schema: pa.Schema | str | None = None) -> FileSet:
        """The files that paths name, and that the options want."""
        files = cls(as_paths(paths), options, schema)
        return files if options.where is None else files.narrowed(options.where)

    def __repr__(self) -> str:
        return f"FileSet(paths={tuple(map(redact, self.paths))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.paths, self.options, self.schema, self.chosen, self.conditions, self.tests)

    @property
    def roots(self) -> list[str]:
        """Roots of the paths, without their globs: every file lies below one of them."""
        return [find_root(path) for path in self.paths]

    @property
    def is_listed(self) -> bool:
        """True if the files are known already."""
        return self.chosen is not None or "listed" in vars(self)

    @cached_property
    def listed(self) -> tuple[FileMetadata, ...]:
        """All files, whatever the conditions, sorted by path; perhaps none: a stream may have to wait for the first."""
        return self.paths.listed(self.options)[0] if self.chosen is None else self.chosen

    @cached_property
    def partitions(self) -> Partitions:
        """The columns that partition directories give, found in the names of all files."""
        if self.options.recursive_file_lookup:
            return Partitions()
        found = find_partitions(self.listed, infer_types=self.options.partition_column_type_inference)
        declared = as_schema(self.schema)
        return found if declared is None else found.declared_as(declared)

    def narrowed(self, condition: str | FileTest) -> FileSet:
        """The files for which one more condition holds; ``[bad-where]`` if a text is none."""
        if not isinstance(condition, str):
            return replace(self, tests=(*self.tests, condition))
        parse_condition(condition)  # which refuses what is none
        return replace(self, conditions=(*self.conditions, condition))

    @cached_property
    def _parsed(self) -> list[Condition]:
        return [each for text in self.conditions for each in parse_condition(text).conjuncts]

    def only(self, files: Sequence[FileMetadata]) -> FileSet:
        """These of the files; they are not listed again, and only they have a say in partition columns."""
        return replace(self, chosen=tuple(files))

    @cached_property
    def files(self) -> tuple[FileMetadata, ...]:
        """The files that may hold something to read, sorted by path.

        Raises:
            SourceMissingError: If the paths name none.
            UsageError: ``[bad-where]`` if a condition has no meaning for these files.
        """
        listed = self.listed
        if not listed and self.chosen is None:
            raise no_files(self.paths, self.options)
        if not self.conditions and not self.tests:
            return listed
        bound = [(condition.bind(_scope(self.partitions)), condition) for condition in self._parsed]
        whole = [test for test, condition in bound if not _tells_blocks(condition)]
        kept = [file for file in listed if all(test(_whole(file)) for test in whole)]
        return tuple(file for file in kept if all(test(file) for test in self.tests))

    @property
    def advice(self) -> str | None:
        """Warnings: files that are there and not read, or conditions that leave none."""
        if not self.files and self.listed:
            return f"no file is read: conditions (option where) leave none of {count_of(len(self.listed), 'file')}"
        return None if self.chosen is not None else self.paths.listed(self.options)[1]

    @property
    def telling(self) -> tuple[FileMetadata, ...]:
        """The files that show which columns there are: those that are read; if conditions leave none, all."""
        return (self.files if self.listed else ()) or self.listed

    @property
    def chooses_blocks(self) -> bool:
        """True if a condition tells the blocks of one file from each other."""
        return any(map(_tells_blocks, self._parsed))

    @cached_property
    def keeps(self) -> Test:
        """True if a block of ``files`` is read."""
        scope = _scope(self.partitions)
        tests = [condition.bind(scope) for condition in self._parsed if _tells_blocks(condition)]
        return lambda block: all(test(block) for test in tests)
