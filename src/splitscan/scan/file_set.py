"""The files of a scan: listed once, with the columns that their directories give, and narrowed by conditions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from os import PathLike, fspath
from typing import Any, TypeAlias

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import UsageError
from splitscan.options.files import FileOptions
from splitscan.plan.files import find_root, list_files
from splitscan.scan.columns.conditions import Test
from splitscan.scan.columns.partitions import Partitions, find_partitions
from splitscan.scan.columns.selection import FileTest, Selection
from splitscan.scan.ddl import as_schema

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


class FileSet:
    """The files that a user's paths name; nothing is listed before it is asked for.

    Args:
        paths: Files, directories, globs, URIs.
        options: Which files are wanted.
        schema: The user's, or DDL text of it, which says the types of partition columns; ``None`` if there is none.

    Thread safety: immutable but for caches; share it freely.
    Pickling: yes; the list of files is not taken along.
    """

    def __init__(self, paths: Sequence[str], options: FileOptions, schema: pa.Schema | str | None = None) -> None:
        self._paths = list(paths)
        self._options = options
        self._schema = schema
        self._selection = Selection().narrowed(options.where)

    def narrowed(self, condition: str | FileTest) -> FileSet:
        """The files for which one more condition holds; the listing is shared."""
        return self._with(("files", "keeps"), _selection=self._selection.narrowed(condition))

    def only(self, files: Sequence[FileMetadata]) -> FileSet:
        """These of the files; they are not listed again, and only they have a say in partition columns."""
        return self._with(("files", "keeps", "partitions"), listed=tuple(files))

    def _with(self, outdated: Sequence[str], **changes: Any) -> FileSet:
        copy = object.__new__(type(self))
        copy.__dict__.update({name: value for name, value in self.__dict__.items() if name not in outdated})
        copy.__dict__.update(changes)
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name.startswith("_")}

    @property
    def paths(self) -> list[str]:
        """What the user named, globs and all."""
        return list(self._paths)

    @property
    def roots(self) -> list[str]:
        """What the paths name, without their globs: every file lies below one of them."""
        return [find_root(path) for path in self._paths]

    @property
    def is_listed(self) -> bool:
        """Whether the files are known already."""
        return "listed" in self.__dict__

    @cached_property
    def listed(self) -> tuple[FileMetadata, ...]:
        """All files, sorted by path, whatever the conditions.

        Raises:
            SourceMissingError: If a path matches nothing.
        """
        return tuple(list_files(self._paths, self._options))

    @cached_property
    def partitions(self) -> Partitions:
        """The columns that partition directories give, found in the names of all files.

        Raises:
            SchemaError: ``[conflicting-partitions]`` if files disagree about them.
        """
        if self._options.recursive_file_lookup:
            return Partitions()
        found = find_partitions(self.listed, infer_types=self._options.partition_column_type_inference)
        declared = as_schema(self._schema)
        return found if declared is None else found.declared_as(declared)

    @cached_property
    def files(self) -> tuple[FileMetadata, ...]:
        """The files that may hold something to read, sorted by path.

        Raises:
            UsageError: ``[bad-where]`` if a condition has no meaning for these files.
        """
        return tuple(self._selection.files(self.listed, self.partitions)) if self._selection else self.listed

    @property
    def telling(self) -> tuple[FileMetadata, ...]:
        """The files that show which columns there are: those that are read; if conditions leave none, all."""
        return self.files or self.listed

    @property
    def chooses_blocks(self) -> bool:
        """Whether a condition tells the blocks of one file from each other."""
        return bool(self._selection.of_blocks)

    @cached_property
    def keeps(self) -> Test:
        """Whether a block of ``files`` is read."""
        return self._selection.keeps(self.partitions)
