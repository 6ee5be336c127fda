"""The files of a scan: listed once, with the columns that their directories give, and narrowed by conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from typing import Any, TypeAlias

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import UsageError
from splitscan.formats.decoding.ddl import as_schema
from splitscan.options.files import FileOptions
from splitscan.plan.files import find_root, list_files
from splitscan.scan.columns.conditions import Test
from splitscan.scan.columns.partitions import Partitions, find_partitions
from splitscan.scan.columns.selection import FileTest, Selection

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A path, or several: files, directories, globs, URIs."""


def as_paths(paths: Paths) -> list[str]:
    """Paths as text.

    Raises:
        UsageError: ``[bad-path]`` if one is none, ``[no-path]`` if there is none.
    """
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
    return named


@dataclass(frozen=True, eq=False)
class Listing:
    """What a user's paths name; nothing is listed before it is asked for.

    Attributes:
        paths: Files, directories, globs, URIs.
        options: Which files are wanted.
        schema: The user's, or DDL text of it, which says the types of partition columns; ``None`` if there is none.
        chosen: The files, where the caller knows them already.

    Thread safety: immutable but for caches; share it freely.
    Pickling: yes; what was listed is not taken along.
    """

    paths: tuple[str, ...]
    options: FileOptions
    schema: pa.Schema | str | None = None
    chosen: tuple[FileMetadata, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.paths, self.options, self.schema, self.chosen)

    @property
    def roots(self) -> list[str]:
        """What the paths name, without their globs: every file lies below one of them."""
        return [find_root(path) for path in self.paths]

    @property
    def is_known(self) -> bool:
        """Whether the files are known already."""
        return self.chosen is not None or "files" in self.__dict__

    @cached_property
    def files(self) -> tuple[FileMetadata, ...]:
        """All files, sorted by path.

        Raises:
            SourceMissingError: If a path matches nothing.
        """
        return tuple(list_files(self.paths, self.options)) if self.chosen is None else self.chosen

    @cached_property
    def partitions(self) -> Partitions:
        """The columns that partition directories give, found in the names of all files.

        Raises:
            SchemaError: ``[conflicting-partitions]`` if files disagree about them.
        """
        if self.options.recursive_file_lookup:
            return Partitions()
        found = find_partitions(self.files, infer_types=self.options.partition_column_type_inference)
        declared = as_schema(self.schema)
        return found if declared is None else found.declared_as(declared)


@dataclass(frozen=True, eq=False)
class FileSet:
    """The files of a listing for which conditions hold.

    Attributes:
        listing: All files that there are; shared by all who narrow it.
        selection: The conditions.

    Thread safety: immutable but for caches; share it freely.
    Pickling: yes; what was listed is not taken along.
    """

    listing: Listing
    selection: Selection

    @classmethod
    def of(cls, paths: Sequence[str], options: FileOptions, schema: pa.Schema | str | None = None) -> FileSet:
        """The files that paths name, and that the options want; see :class:`Listing`."""
        return cls(Listing(tuple(paths), options, schema), Selection().narrowed(options.where))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.listing, self.selection)

    def narrowed(self, condition: str | FileTest) -> FileSet:
        """The files for which one more condition holds."""
        return replace(self, selection=self.selection.narrowed(condition))

    def only(self, files: Sequence[FileMetadata]) -> FileSet:
        """These of the files; they are not listed again, and only they have a say in partition columns."""
        return replace(self, listing=replace(self.listing, chosen=tuple(files)))

    @property
    def partitions(self) -> Partitions:
        """The columns that partition directories give; see :attr:`Listing.partitions`."""
        return self.listing.partitions

    @cached_property
    def files(self) -> tuple[FileMetadata, ...]:
        """The files that may hold something to read, sorted by path.

        Raises:
            UsageError: ``[bad-where]`` if a condition has no meaning for these files.
        """
        listed = self.listing.files
        return tuple(self.selection.files(listed, self.partitions)) if self.selection else listed

    @property
    def telling(self) -> tuple[FileMetadata, ...]:
        """The files that show which columns there are: those that are read; if conditions leave none, all."""
        return self.files or self.listing.files

    @property
    def chooses_blocks(self) -> bool:
        """Whether a condition tells the blocks of one file from each other."""
        return bool(self.selection.of_blocks)

    @cached_property
    def keeps(self) -> Test:
        """Whether a block of ``files`` is read."""
        return self.selection.keeps(self.partitions)
