"""Partition columns: found in the directories of files, with values as Spark reads them."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache, reduce
from typing import Any, TypeAlias
from urllib.parse import unquote_to_bytes

import numpy as np
import pyarrow as pa

from splitscan.arrays import number_array, scalar_of, text_array
from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.archives.member import in_directories
from splitscan.errors import SchemaError, Where, quote_bytes
from splitscan.formats.decoding.contract import type_name
from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.redaction import redact
from splitscan.spelling import as_text

_TEXT = pa.string()
_DIRECTORY = re.compile(r"dir(0|[1-9][0-9]{0,3})", re.IGNORECASE)
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/*")


def _without_scheme(file: FileMetadata) -> str:
    """The path as people write it below its root: ``s3://lake/a`` is ``/lake/a``."""
    return as_text(_SCHEME.sub("/", file.path) if "://" in file.path else file.path)


def _shown_folder(file: FileMetadata) -> str:
    return _without_scheme(file).rpartition("/")[0] or "/"


def _suffix(file: FileMetadata) -> str:
    return as_text(file.name).rpartition(".")[2] if "." in file.name else ""


_OF_FILE: dict[str, tuple[pa.DataType, Callable[[FileMetadata], Any]]] = {
    "filename": (_TEXT, lambda file: as_text(file.name)),
    "filepath": (_TEXT, _shown_folder),
    "fqn": (_TEXT, _without_scheme),
    "suffix": (_TEXT, _suffix),
    "file_path": (_TEXT, lambda file: as_text(file.path)),
    "file_name": (_TEXT, lambda file: as_text(file.name)),
    "file_size": (pa.int64(), lambda file: file.size_bytes),
    "file_modification_time": (pa.timestamp("us", "UTC"), lambda file: file.modified_us),
}
_OF_BLOCK: dict[str, tuple[pa.DataType, Callable[[BlockMetadata], Any]]] = {
    "file_block_start": (pa.int64(), lambda block: block.start),
    "file_block_length": (pa.int64(), lambda block: block.length_bytes),
    "block_id": (pa.int64(), lambda block: block.block_id),
}
_OF_RECORD = {"record_offset": pa.int64(), "record_length": pa.int64()}
METADATA_TYPES = {name: kind for name, (kind, _) in (*_OF_FILE.items(), *_OF_BLOCK.items())} | _OF_RECORD
"""Columns that say where a record comes from, and their types; beside them there is ``dirN`` for every N."""


class Grain(enum.Enum):
    """How many records share one value of a column."""

    FILE = "all of a file"
    BLOCK = "all of a block"
    RECORD = "one"


def metadata_name(name: str) -> str | None:
    """The column that a name means, in any case; ``None`` if it is none of these.

    Example:
        >>> metadata_name("FileName"), metadata_name("DIR11"), metadata_name("dir01")
        ('filename', 'dir11', None)
    """
    lower = name.lower()
    return lower if lower in METADATA_TYPES or _DIRECTORY.fullmatch(lower) else None


def metadata_field(name: str) -> pa.Field:
    """The field of a column, whose name must be one."""
    return pa.field(name, METADATA_TYPES.get(name, _TEXT))


def grain_of(name: str) -> Grain:
    """How many records share one value of a column, whose name must be one."""
    if name in _OF_BLOCK:
        return Grain.BLOCK
    return Grain.RECORD if name in _OF_RECORD else Grain.FILE


def metadata_value(name: str, block: BlockMetadata) -> Any:
    """The value that all records of a block share: ``None`` for a directory that is not there."""
    return file_value(name, block.file) if grain_of(name) is Grain.FILE else _OF_BLOCK[name][1](block)


def metadata_scalar(name: str, block: BlockMetadata) -> pa.Scalar:
    """The value that all records of a block share, in the type of the column."""
    return scalar_of(metadata_value(name, block), metadata_field(name).type)


def file_value(name: str, file: FileMetadata) -> Any:
    """The value that all records of a file share. A table keeps it and people see it, so secrets in it are masked.

    Example:
        >>> file = FileMetadata("s3://lake/in/2024/a.csv.gz", 7, 0, "", "2024/a.csv.gz")
        >>> [file_value(name, file) for name in ("filename", "filepath", "fqn", "suffix", "dir0", "dir1")]
        ['a.csv.gz', '/lake/in/2024', '/lake/in/2024/a.csv.gz', 'gz', '2024', None]
        >>> file_value("filename", FileMetadata("https://host/a.csv?sig=se/cret", 7, 0, "", "a.csv?sig=se/cret"))
        'a.csv?sig=***'
    """
    number = _DIRECTORY.fullmatch(name)
    if redact(file.path) != file.path:
        file = replace(file, path=redact(file.path), relative_path=redact(file.relative_path))
    if number is None:
        return _OF_FILE[name][1](file)
    folders = file.relative_path.split("/")[:-1]
    index = int(number[1])
    return as_text(folders[index]) if index < len(folders) else None


DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What Hive and Spark call the directory of the records whose value is null."""

_MOST_DIGITS = 38
_INTEGER = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9])?")
_MOMENT = pa.timestamp("us", "UTC")
_DIGITS_OF = {pa.int32(): 10, pa.int64(): 20}  # of the decimal that holds every value of the type


def unescape(text: str) -> str:
    """Resolve ``%XX``; bytes that are UTF-8 together are one character, others are one each, as in Spark.

    Example:
        >>> unescape("a%2Fb"), unescape("%C3%A9"), unescape("%E9"), unescape("100%")
        ('a/b', 'é', 'é', '100%')
    """
    if "%" not in text:
        return as_text(text)

    def decode(run: re.Match[str]) -> str:
        octets = unquote_to_bytes(run.group())
        try:
            return octets.decode("utf-8")
        except UnicodeDecodeError:
            return octets.decode("latin-1")

    return re.sub(r"(?:%[0-9A-Fa-f]{2})+", decode, as_text(text))


def infer_type(texts: Iterable[str | None]) -> pa.DataType:
    """The narrowest type that all values fit: int, bigint, decimal, double, date, timestamp, else string.

    Example:
        >>> str(infer_type(["1", None, "2147483648"])), str(infer_type(["1", "x"])), str(infer_type(["2024-01-31"]))
        ('int64', 'string', 'date32[day]')
    """
    kinds = dict.fromkeys(_kind_of(text) for text in dict.fromkeys(texts) if text is not None)
    return reduce(_wider, kinds) if kinds else pa.string()


def parse_value(text: str | None, kind: pa.DataType) -> pa.Scalar | None:
    """The value of a directory in a column's type; ``None`` if it has no such value.

    Example:
        >>> parse_value("007", pa.int32()), parse_value("x", pa.int32())
        (<pyarrow.Int32Scalar: 7>, None)
    """
    if text is None:
        return scalar_of(None, kind)
    own = _own_forms(text, kind)
    if own is not None:
        return own
    try:
        column, bad = convert(text_array([text], pa.string()), kind, Rules())
    except pa.ArrowException:
        return None
    return None if bad is not None else column[0]


def _kind_of(text: str) -> pa.DataType:
    if _INTEGER.fullmatch(text):
        number = int(text) if len(text) <= _MOST_DIGITS + 1 else None
        for kind, bits in ((pa.int32(), 31), (pa.int64(), 63)):
            if number is not None and -(1 << bits) <= number < (1 << bits):
                return kind
    digits = _whole_digits(text)
    if digits is not None:
        return pa.decimal128(digits, 0)
    if _DOUBLE.fullmatch(text.strip()):
        return pa.float64()
    for pattern, kind in ((_TIMESTAMP, _MOMENT), (_DATE, pa.date32())):
        if pattern.fullmatch(text) and _own_forms(text, kind) is not None:
            return kind
    return pa.string()


def _whole_digits(text: str) -> int | None:
    """Digits of a number that is written with a point or an exponent, or is too large, and is whole all the same."""
    if not _DOUBLE.fullmatch(text):
        return None
    try:
        _, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(exponent, int) or exponent < 0:
        return None
    count = len(digits) + exponent
    return count if count <= _MOST_DIGITS else None


def _own_forms(text: str, kind: pa.DataType) -> pa.Scalar | None:
    """Values in the forms that directories have beside those of fields; ``None`` for all others."""
    try:
        if kind in _DIGITS_OF and _INTEGER.fullmatch(text):
            return scalar_of(int(text), kind)
        if pa.types.is_float64(kind) and _DOUBLE.fullmatch(text.strip()):
            number = float(text.strip().rstrip("fFdD") if text.strip()[-1:] in "fFdD" else text)
            return number_array(np.array([number]))[0]
        if pa.types.is_date32(kind) and _DATE.fullmatch(text):
            return scalar_of((date.fromisoformat(text) - _EPOCH.date()).days, kind)
        if kind == _MOMENT and _TIMESTAMP.fullmatch(text):
            moment = datetime.fromisoformat(text.ljust(23, "0") if "." in text else text).replace(tzinfo=UTC)
            return scalar_of((moment - _EPOCH) // timedelta(microseconds=1), kind)
    except (ValueError, OverflowError):
        return None
    return None


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds the values of both; numbers that a double would round are text."""
    if one == other:
        return one
    both = {one, other}
    if both == {pa.int32(), pa.int64()}:
        return pa.int64()
    if both == {pa.int32(), pa.float64()}:
        return pa.float64()
    if both == {pa.date32(), _MOMENT}:
        return _MOMENT
    digits = [_DIGITS_OF.get(kind) or (kind.precision if pa.types.is_decimal(kind) else 0) for kind in (one, other)]
    if all(digits):
        return pa.decimal128(max(digits), 0)
    return pa.string()


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
        """The value of a column for all records of a file, or ``[bad-partition]``; null beside the directories."""
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
        """Columns with the names and types that a schema of the user gives them."""
        given = {column.name.lower(): column for column in schema}
        return Partitions(pa.schema([given.get(column.name.lower(), column) for column in self.fields]))


def find_partitions(files: Iterable[FileMetadata], *, infer_types: bool = True) -> Partitions:
    """Find the partition columns of files, as Spark does.

    A file's partition is the run of ``key=value`` directories nearest above it. Files beside all such directories
    belong to no partition: their values are null.

    Args:
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
