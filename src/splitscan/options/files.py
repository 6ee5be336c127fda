"""Which files are read, and how they are cut: the options that concern files, whatever is in them."""

from __future__ import annotations

import datetime as dt
import enum
import json
import re
import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from splitscan.errors import UsageError, bad_option
from splitscan.options.table import (
    FLAG,
    MOMENT,
    PATTERN,
    TEXT,
    OptionKind,
    ValueRefusedError,
    option,
    read_json,
    show_text,
    size,
    whole,
)
from splitscan.sizes import GIB, KIB, MIB

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?")
_MAX_OFFSET_HOURS = 18  # as java.time.ZoneOffset
_NOT_REGIONS = {"localtime", "posixrules"}  # files of some systems, which no other machine reads
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def zone_of(name: str) -> dt.tzinfo:
    """Return the time zone called *name*: a region (``Europe/Berlin``), an offset (``+01:00``) or ``UTC``.

    Raises:
        ValueError: If there is no such zone.

    Example:
        >>> zone_of("+01:30").utcoffset(None)
        datetime.timedelta(seconds=5400)
    """
    if name.upper() in ("UTC", "GMT", "Z"):
        return dt.UTC
    match = _OFFSET.fullmatch(name)
    if match is not None:
        hours, minutes = int(match.group(2)), int(match.group(3) or 0)
        if hours * 60 + minutes > _MAX_OFFSET_HOURS * 60 or minutes >= 60:
            message = f"offset {name} is out of range"
            raise ValueError(message)
        offset = dt.timedelta(hours=hours, minutes=minutes)
        return dt.timezone(-offset if match.group(1) == "-" else offset)
    try:
        if name in _NOT_REGIONS or name.startswith(("posix/", "right/")):
            raise KeyError(name)
        return zoneinfo.ZoneInfo(name)
    except (KeyError, OSError) as failure:
        message = f"there is no time zone {name}"
        raise ValueError(message) from failure


def parse_zone(value: Any) -> str:
    """Check a time zone and return the one name that everybody reads: ``UTC``, ``+HH:MM`` or a region.

    Example:
        >>> parse_zone("gmt"), parse_zone("UTC-3"), parse_zone("Europe/Berlin")
        ('UTC', '-03:00', 'Europe/Berlin')
    """
    if not isinstance(value, str) or not value:
        raise ValueRefusedError
    try:
        zone = zone_of(value)
    except ValueError:
        raise ValueRefusedError from None
    if not isinstance(zone, dt.timezone):
        return value
    return "UTC" if zone == dt.UTC else str(zone).removeprefix("UTC")


ZONE = OptionKind("time zone", "a time zone such as Europe/Berlin, +01:00 or UTC", parse_zone, show_text)


def epoch_us(moment: dt.datetime, zone: str) -> int:
    """Return microseconds since the epoch; a *moment* without an offset of its own is read in *zone*.

    Example:
        >>> epoch_us(dt.datetime(1970, 1, 1, 1), "+01:00"), epoch_us(dt.datetime(1970, 1, 1, 1), "UTC")
        (0, 3600000000)
    """
    placed = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone_of(zone))
    return (placed - _EPOCH) // dt.timedelta(microseconds=1)


MAX_DECOMPRESSION_RATIO = 10_000
"""Text that people keep is seldom compressed by more than a hundred; zeros by a thousand, or by millions in bzip2."""


class OnFileChange(enum.Enum):
    """Policy for a file that is no longer the one that was planned."""

    FAIL = "fail"
    IGNORE = "ignore"


class SourceCompression(enum.Enum):
    """In which codec files are read."""

    AUTO = "auto"
    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"
    BZIP2 = "bzip2"
    XZ = "xz"
    LZ4 = "lz4"
    SNAPPY = "snappy"
    DEFLATE = "deflate"


class StorageOptions(Mapping[str, Any]):
    """Settings for the file system, often secrets: an immutable mapping that never shows its values.

    Values are plain JSON values, because they travel to other machines. Keys are shown, values are not.

    Raises:
        UsageError: If a key or value cannot travel.

    Thread safety: immutable; every access returns a fresh copy of nested values.
    Pickling: yes, with the values.

    Example:
        >>> settings = StorageOptions({"key": "me", "secret": "hunter2"})
        >>> settings, settings["key"]
        (StorageOptions(key=***, secret=***), 'me')
    """

    __slots__ = ("_json",)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._json: str = _settings_as_json(settings)

    def _settings(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self._json)
        return decoded

    def __getitem__(self, key: str) -> Any:
        return self._settings()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings())

    def __len__(self) -> int:
        return len(self._settings())

    def __hash__(self) -> int:
        return hash(self._json)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StorageOptions):
            return self._json == other._json
        return NotImplemented

    def __repr__(self) -> str:
        return f"StorageOptions({', '.join(f'{key}=***' for key in self)})"

    def __reduce__(self) -> tuple[type[StorageOptions], tuple[dict[str, Any]]]:
        return StorageOptions, (self._settings(),)


def _settings_as_json(settings: Mapping[str, Any]) -> str:
    plain = dict(settings)
    try:
        encoded = json.dumps(plain, sort_keys=True)
        survives = json.loads(encoded) == plain
    except (TypeError, ValueError):
        survives = False
    if not survives:  # the message must not quote any value
        raise bad_option(
            "option storageOptions takes texts as keys and JSON values as values",
            "values are not shown",
            "pass plain texts, numbers, booleans, lists and dicts",
        )
    return encoded


def _parse_settings(value: Any) -> StorageOptions:
    value = read_json(value)  # whose own message would carry the text
    if not isinstance(value, Mapping):
        raise ValueRefusedError
    try:
        return StorageOptions(value)
    except UsageError as refused:
        raise ValueRefusedError(refused.fix) from None


SETTINGS = OptionKind(
    "mapping", "a JSON object or a dict of file system settings", _parse_settings, lambda _: "{}", secret=True
)


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Which files are listed, what happens when they change or fail, and into which pieces they are cut.

    Attributes carry the meaning given in ``docs/options.md``; sizes are in bytes, times in microseconds since
    the epoch.

    Pickling: yes; ``storage_options`` travels with its secrets but never shows them.
    """

    path_glob_filter: str | None = option(TEXT, "Reads only files whose name matches this glob.", None)
    archive_path_filter: str | None = option(
        TEXT, "Reads zip files and tars as directories of files: the members whose names match this glob.", None
    )
    max_archive_bytes: int = option(
        size(),
        "An archive whose members hold more than this is refused.",
        1024 * GIB,
        "maxArchiveBytes",
        name="maxArchiveSize",
    )
    recursive_file_lookup: bool = option(
        FLAG, "Lists all directories below; otherwise only those named `name=value`.", False
    )
    modified_before_us: int | None = option(
        MOMENT, "Reads only files modified before this time, in `timeZone`.", None, name="modifiedBefore"
    )
    modified_after_us: int | None = option(
        MOMENT, "Reads only files modified after this time, in `timeZone`.", None, name="modifiedAfter"
    )
    ignore_missing_files: bool = option(FLAG, "Goes on without a file that vanished; it is reported.", False)
    ignore_corrupt_files: bool = option(
        FLAG, "Reads damaged compressed files up to their damage; what is lost is reported.", False
    )
    ignored_path_segment_regex: str = option(
        PATTERN, "Hides files and directories whose name contains a match.", "^[._]"
    )
    base_path: str | None = option(
        TEXT, "Directory that must hold all paths; directories below it may be named `name=value`.", None
    )
    where: str | None = option(
        TEXT,
        "Reads only files and blocks for which this condition holds, by columns of files, directories and blocks.",
        None,
    )
    partition_column_type_inference: bool = option(
        FLAG, "Columns of partition directories get the types that their values fit; otherwise all are string.", True
    )
    on_file_change: OnFileChange = option(
        OnFileChange, "What to do when a file is no longer the one that was planned.", OnFileChange.FAIL
    )
    storage_options: Mapping[str, Any] = option(
        SETTINGS, "Settings for the file system (fsspec); values are never shown.", StorageOptions({})
    )
    source_compression: SourceCompression = option(
        SourceCompression,
        "Codec of the files. `auto` goes by their first bytes; a format whose records may be any bytes wants the "
        "name to agree.",
        SourceCompression.AUTO,
    )
    max_decompression_ratio: int = option(
        whole(1),
        "A compressed file that holds more than 256 MiB, and more than so many times its length, fails the scan.",
        MAX_DECOMPRESSION_RATIO,
    )
    block_bytes: int = option(
        size(), "Length of the blocks that files are cut into.", 128 * MIB, "blockBytes", name="blockSize"
    )
    task_bytes: int = option(
        size(),
        "Bytes that one task reads: small blocks are packed up to it, and a partition of Spark is no longer.",
        128 * MIB,
        "taskBytes",
        "maxPartitionBytes",
        name="taskSize",
    )
    open_cost_bytes: int = option(
        size(0),
        "What opening a file costs, in bytes, when blocks are packed.",
        256 * KIB,
        "openCostBytes",
        name="openCostInBytes",
    )
    min_partitions: int | None = option(
        whole(1),
        "Cuts finer, so that there are at least this many tasks.",
        None,
        "minPartitions",
        name="minPartitionNum",
    )
    rebalance: bool = option(
        FLAG, "While a Spark job runs, idle tasks take over what slow ones have not read yet.", False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.storage_options, StorageOptions):
            object.__setattr__(self, "storage_options", StorageOptions(self.storage_options))
