"""Partition directories: ``key=value`` folders below a root as columns of the files in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.content.archives import in_directories
from splitscan.errors import SchemaError, Where, quote_bytes
from splitscan.formats.decoding.type_names import type_name
from splitscan.formats.decoding.utf8 import as_text
from splitscan.redaction import redact
from splitscan.scan.columns.partition_values import DEFAULT_PARTITION, infer_type, parse_value, unescape

_CACHED_FOLDERS = 4096
_NO_TYPES: pa.Schema = pa.schema([])

Pairs: TypeAlias = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Partitions:
    """The partition columns of a scan.

    Attributes:
        fields: Names and types, outermost directory first.

    Pickling: plain values only.
    """

    fields: pa.Schema = field(default_factory=lambda: _NO_TYPES)

    def value(self, name: str, file: FileMetadata) -> pa.Scalar:
        """The value of a column for all records of a file; null where the file lies beside the directories.

        Raises:
            SchemaError: ``[bad-partition]`` if the directory's value does not fit the column's type.
        """
        column = self.fields.field(name)
        text = {key.lower(): text for key, text in partition_of(_folder(file))[1]}.get(name.lower())
        value = parse_value(text, column.type)
        if value is None:
            raise SchemaError(
                "the name of a partition directory does not fit the type of its column",
                Where(file.path, column=name),
                seen=f"{quote_bytes((text or '').encode())[1:]} is no {type_name(column.type)}",
                fix=f"declare the column {name} as string, or rename the directory",
                code="bad-partition",
            )
        return value

    def declared_as(self, schema: pa.Schema) -> Partitions:
        """The same columns with the names and types that a schema of the user gives them."""
        given = {column.name.lower(): column for column in schema}
        return Partitions(pa.schema([given.get(column.name.lower(), column) for column in self.fields]))


def find_partitions(files: Iterable[FileMetadata], *, infer_types: bool = True) -> Partitions:
    """Find the partition columns of files, as Spark does.

    A file's partition is the run of ``key=value`` directories nearest above it. Files beside all such directories
    belong to no partition: their values are null.

    Args:
        files: All files of the scan.
        infer_types: Whether the narrowest types are chosen that fit all values; else every column is a string.

    Raises:
        SchemaError: ``[conflicting-partitions]`` if files have different partition columns, or have them below
            different directories, or one name twice.

    Example:
        >>> files = [FileMetadata(f"/t/{name}", 1, 0, "", name) for name in ("y=2024/m=1/a", "y=2025/m=2/a")]
        >>> find_partitions(files).fields.names
        ['y', 'm']
    """
    folders = dict.fromkeys(map(_folder, files))
    found = {folder: partition_of(folder) for folder in folders}
    partitioned = {folder: (base, pairs) for folder, (base, pairs) in found.items() if pairs}
    if not partitioned:
        return Partitions()
    _check_alike(partitioned)
    first = next(iter(partitioned.values()))[1]
    columns = []
    for index, (name, _) in enumerate(first):
        values = (pairs[index][1] for _, pairs in partitioned.values())
        columns.append(pa.field(name, infer_type(values) if infer_types else pa.string()))
    return Partitions(pa.schema(columns))


def _folder(file: FileMetadata) -> str:
    return in_directories(file.relative_path).rpartition("/")[0]


@lru_cache(maxsize=_CACHED_FOLDERS)
def partition_of(folder: str) -> tuple[str, Pairs]:
    """The directory that holds the partition directories of a folder, and their names and values.

    Example:
        >>> partition_of("base/y=2024/m=__HIVE_DEFAULT_PARTITION__/part-0")
        ('base', (('y', '2024'), ('m', None)))
    """
    segments = folder.split("/")
    pairs = [_pair(segment) for segment in segments]
    stop = len(pairs)
    while stop and pairs[stop - 1] is None:
        stop -= 1
    start = stop
    while start and pairs[start - 1] is not None:
        start -= 1
    return "/".join(segments[:start]), tuple(pair for pair in pairs[start:stop] if pair is not None)


def _pair(segment: str) -> tuple[str, str | None] | None:
    name, equals, value = segment.partition("=")
    if not (name and equals):
        return None
    return unescape(name), None if value in {"", DEFAULT_PARTITION} else unescape(value)


def _check_alike(partitioned: Mapping[str, tuple[str, Pairs]]) -> None:
    """All files must have the same columns in the same order below the same directory, and each column once."""
    first, (base, pairs) = next(iter(partitioned.items()))
    names = [name.lower() for name, _ in pairs]
    if len(set(names)) != len(names):
        raise _conflict("one partition column is named twice", first, first)
    for folder, (other_base, other_pairs) in partitioned.items():
        if [name.lower() for name, _ in other_pairs] != names:
            raise _conflict("files have different partition columns", first, folder)
        if other_base.lower() != base.lower():
            raise _conflict("partition directories lie below different directories", first, folder)


def _conflict(rule: str, one: str, other: str) -> SchemaError:
    shown = dict.fromkeys(repr(redact(as_text(folder))) for folder in (one, other))
    return SchemaError(
        f"conflicting directory structures: {rule}",
        seen=" and ".join(shown),
        fix="name directories of one structure as paths, or set recursiveFileLookup=true: then partition "
        "directories are no columns",
        code="conflicting-partitions",
    )
