"""How a ledger is spelled: JSON lines, with a checksum. It is data only: nothing in it is ever evaluated.

A head, a line per source file, per written file and per block, and a foot with the counts and the SHA-256 of
everything above it. Format 7 is written where files were replaced, format 6 where every job has a folder, format 5
where a table of a database was read, format 4 where rows are partitioned, and format 3 elsewhere. Format 2, with
another digest of blocks, and format 1, in which every block has Parquet files of its own, are still read.
"""

# Over 400 lines: ledgers of all seven formats are read.

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, TypeVar

from splitscan.blocks import Damage
from splitscan.content.storage import is_content_digest
from splitscan.errors import IngestError, SplitscanError, Where
from splitscan.path_text import native_path, portable_path
from splitscan.sinks.ledger import (
    REJECT_FOLDER,
    REJECT_SUFFIX,
    Json,
    KeyRange,
    Ledger,
    LedgerBlock,
    LedgerColumn,
    LedgerFile,
    LedgerTable,
    RemovedFile,
    ReplacedFile,
    RowRange,
    WrittenFile,
)
from splitscan.sinks.partitioning import Layout, Partitioning, is_partition_folder

T = TypeVar("T")

_SHA256 = re.compile(r"[0-9a-f]{64}")
_HEX = re.compile(r"([0-9a-f]{2})*")
FORMAT_VERSION = 3

_REPLACING_VERSION = 7  # the same, with lines of what left the destination: the head tells the layout

_JOB_FOLDER_VERSION = 6  # the same, with or without either, where every job has a folder: the head tells the layout

_TABLE_VERSION = 5  # the same, with or without partitions, where a table was read: the head tells of it

_PARTITIONED_VERSION = 4  # the same, where rows are partitioned: blocks name several ranges of rows

_SHA256_VERSION = 2  # digests of blocks are SHA-256, without its name

_BLOCK_PARQUET_VERSION = 1  # those, too; blocks name whole files of their own, and there are no lines of written files

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode

_BLOCK_NUMBERS = ("file_index", "index", "start", "stop", "span_start", "span_stop", "rows", "rejects")


def take(raw: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """The field *name*, of exactly this kind."""
    value = raw.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise damaged(f"{name} is missing or no {kind.__name__}")
    return value


def take_whole(raw: Mapping[str, Any], name: str) -> int:
    """The field *name*, a number that is not negative."""
    value = take(raw, name, int)
    if value < 0:
        raise damaged(f"{name} is negative")
    return value


def take_wholes(raw: Mapping[str, Any], names: Sequence[str]) -> dict[str, int]:
    """Several such fields, by name: numbers as they should be are not asked twice, as a ledger has millions."""
    return {
        name: value if type(value := raw.get(name)) is int and value >= 0 else take_whole(raw, name) for name in names
    }


def take_sha256(raw: Mapping[str, Any], name: str) -> str:
    """The field *name*, a SHA-256 in hexadecimal."""
    value = take(raw, name, str)
    if not _SHA256.fullmatch(value):
        raise damaged(f"{name} is not a SHA-256")
    return value


def take_digest(raw: Mapping[str, Any], name: str) -> str:
    """The field *name*, a digest of a source's bytes, or the empty text where they were not hashed."""
    value = take(raw, name, str)
    if value and not is_content_digest(value):
        raise damaged(f"{name} is not a digest")
    return value


def read_object(data: bytes | str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise damaged("a line is not JSON") from None
    return as_object(value, "a line")


def as_object(value: Any, what: str) -> dict[str, Any]:
    """A value that must be a JSON object."""
    if not isinstance(value, dict):
        raise damaged(f"{what} is not a JSON object")
    return value


def damaged(what: str) -> IngestError:
    """The error for a file that is not as it was written."""
    return IngestError(
        "a ledger is damaged", seen=what,
        fix="restore the file from a backup; without it, what was ingested cannot be told", code="ledger-damaged",
    )  # fmt: skip


def render_ledger(ledger: Ledger) -> bytes:
    """Spell a ledger, with its checksum.

    Example:
        >>> ledger = Ledger("ab" * 16, 1, "2026-01-01T00:00:00Z", "csv", {}, (), ())
        >>> parse_ledger(render_ledger(ledger), "example") == ledger
        True
    """
    head = {
        "splitscan_ledger": _version_of(ledger),
        "job_id": ledger.job_id,
        "sequence": ledger.sequence,
        "created": ledger.created,
        "record_format": ledger.record_format,
        "options": ledger.options,
        "columns": [asdict(column) for column in ledger.columns],
        "roots": list(map(portable_path, ledger.roots)),
    }
    if ledger.table:
        head["table"] = ledger.table
    partitioning = ledger.partitioning
    if partitioning.columns:
        head["partitioning"] = {"columns": partitioning.columns, "in_files": partitioning.in_files}
    if partitioning.layout is not Layout.FLAT:
        head["layout"] = partitioning.layout.value
    if ledger.source is not None:
        head["source"] = plain_table(ledger.source)
    lines: list[Json] = [head, *({"file": _plain_file(file)} for file in ledger.files)]
    lines += [{"written": plain_written(written)} for written in ledger.written]
    lines += [{"replaced": _plain(replaced)} for replaced in ledger.replaced]
    lines += [{"removed": _plain(removed)} for removed in ledger.removed]
    lines += [{"block": plain_block(block)} for block in ledger.blocks]
    body = b"".join(map(_line, lines))
    return body + _line({"end": {**_counts(ledger), "sha256": hashlib.sha256(body).hexdigest()}})


def parse_ledger(data: bytes, name: str) -> Ledger:
    """Read a ledger back and check it.

    Args:
        data: The file's content.
        name: Its path, for messages.

    Raises:
        IngestError: ``[ledger-damaged]`` if a byte is missing or changed, or a name in it leads elsewhere;
            ``[ledger-version]`` if a newer splitscan wrote it.
    """
    try:
        return _parse(data)
    except SplitscanError as error:
        raise IngestError(error.rule, Where(path=name), error.seen, error.fix, error.reason_code) from None


def _version_of(ledger: Ledger) -> int:
    if ledger.replaced:
        return _REPLACING_VERSION
    if ledger.partitioning.layout is Layout.JOBS:
        return _JOB_FOLDER_VERSION
    if ledger.source is not None:
        return _TABLE_VERSION
    return _PARTITIONED_VERSION if ledger.partitioning.columns else FORMAT_VERSION


def plain_table(table: LedgerTable) -> Json:
    """A table as JSON values.

    Example:
        >>> table = LedgerTable("j", "d", "t", "id", True, "v", ((KeyRange("", "80"),), (KeyRange("80", "", True),)))
        >>> read_table(json.loads(json.dumps(plain_table(table)))) == table
        True
    """
    return {**_plain(table), "ranges": [[list(keys) for keys in block] for block in table.ranges]}


def read_table(raw: Json) -> LedgerTable:
    """The inverse of :func:`plain_table`.

    Raises:
        IngestError: ``[ledger-damaged]`` if a value is missing or of another kind.
    """
    names = ("job", "database", "relation", "key", "version")
    texts = {name: take(raw, name, str) for name in names}
    blocks = take(raw, "ranges", list)
    ranges = tuple(tuple(map(_key_range, block if isinstance(block, list) else [block])) for block in blocks)
    return LedgerTable(**texts, nullable=take(raw, "nullable", bool), ranges=ranges)


def _key_range(raw: Any) -> KeyRange:
    match raw:
        case [str(start), str(stop), bool(with_nulls), bool(only_nulls)] if _HEX.fullmatch(start) and _HEX.fullmatch(
            stop
        ):
            return KeyRange(start, stop, with_nulls, only_nulls)
    raise damaged("a range of keys is none")


def plain_block(block: LedgerBlock) -> Json:
    """A block as JSON values; what is not there is left out."""
    plain = _plain(block)
    data: list[Json] = [_plain(rows) for rows in plain.pop("data")]
    if data:
        plain["data"] = data[0] if len(data) == 1 else data
    table: RowRange | None = plain.pop("reject_table")
    if table is not None:
        plain["reject_table"] = _plain(table)
    if not plain["missing"]:
        del plain["missing"]
    if plain["content_bytes"] is None:
        del plain["content_bytes"]
    damage: Damage | None = plain.pop("damage")
    if damage is not None:
        plain["damage"] = damage._asdict()
    return plain


def read_block(raw: Json) -> LedgerBlock:
    """The inverse of :func:`plain_block`.

    Raises:
        IngestError: ``[ledger-damaged]`` if a value is missing or of another kind.
    """
    data = raw.get("data")
    ranges = [_row_range(each) for each in (data if isinstance(data, list) else [data])]
    return _block(raw, [each for each in ranges if each is not None], _row_range(raw.get("reject_table")))


def plain_written(written: WrittenFile) -> Json:
    """A written file as JSON values."""
    return _plain(written)


def read_written(raw: Any) -> WrittenFile:
    """The inverse of :func:`plain_written`.

    Raises:
        IngestError: ``[ledger-damaged]`` if a value is missing, of another kind, or a name that no job writes.
    """
    plain = as_object(raw, "a written file")
    name = check_written_name(take(plain, "name", str))
    return WrittenFile(name, take_whole(plain, "size_bytes"), take_whole(plain, "rows"), take_sha256(plain, "sha256"))


@lru_cache(maxsize=1024)  # thousands of blocks name the same file
def check_written_name(name: str) -> str:
    """Confine a name that was read from a disk to what jobs write: Parquet in partitions, or among the reject tables.

    So a ledger can name nothing outside its destination, and no ledger, lock or staging folder in it either.

    Raises:
        IngestError: ``[ledger-damaged]`` if it is something else.

    Example:
        >>> check_written_name("part-0.zstd.parquet")
        'part-0.zstd.parquet'
        >>> check_written_name("../part-0.parquet")
        Traceback (most recent call last):
        ...
        splitscan.errors.IngestError: a ledger is damaged [ledger-damaged]
          seen:  '../part-0.parquet' is no name of a file that a job writes
          fix:   restore the file from a backup; without it, what was ingested cannot be told
    """
    *folders, bare = name.removeprefix(f"{REJECT_FOLDER}/").split("/")
    is_reject = name.startswith(f"{REJECT_FOLDER}/")
    strange = folders if is_reject else [each for each in folders if not is_partition_folder(each)]
    suffixes = (".parquet", REJECT_SUFFIX) if is_reject else (".parquet",)
    if strange or "\0" in name or bare.startswith((".", "_")) or not bare.endswith(suffixes):
        raise damaged(f"{name[:200]!r} is no name of a file that a job writes")
    return name


def _counts(ledger: Ledger) -> dict[str, int]:
    return {
        "files": len(ledger.files), "blocks": len(ledger.blocks), "written": len(ledger.written),
        "rows": ledger.rows, "rejects": ledger.rejects,
        **({"replaced": len(ledger.replaced), "removed": len(ledger.removed)} if ledger.replaced else {}),
    }  # fmt: skip


def _line(value: Json) -> bytes:
    return _encode(value).encode("ascii") + b"\n"


def _plain(
    value: LedgerFile | LedgerBlock | LedgerTable | WrittenFile | RowRange | ReplacedFile | RemovedFile,
) -> dict[str, Any]:
    """The fields, not copied: ``asdict`` costs more than the rest of writing a large ledger."""
    return {name: getattr(value, name) for name in value.__slots__}


def _plain_file(file: LedgerFile) -> Json:
    plain = _plain(file)
    plain["path"] = portable_path(file.path)
    for name in ("path_sha256", "content", "start"):
        if not plain[name]:
            del plain[name]
    return plain


def _parse(data: bytes) -> Ledger:
    body, newline, foot_line = data.removesuffix(b"\n").rpartition(b"\n")
    body += newline
    if not data.endswith(b"\n") or not body:
        raise damaged("the last line is cut off")
    foot = take(read_object(foot_line), "end", dict)
    if take(foot, "sha256", str) != hashlib.sha256(body).hexdigest():
        raise damaged("the checksum in the last line does not fit the lines above it")
    lines = [read_object(line) for line in body.splitlines()]
    head = lines[0]
    version = take_whole(head, "splitscan_ledger")
    if not _BLOCK_PARQUET_VERSION <= version <= _REPLACING_VERSION:
        raise IngestError(
            "the ledger was written in a format this version does not know", seen=f"format {version}",
            fix="use the version of splitscan that wrote it, or a newer one", code="ledger-version",
        )  # fmt: skip
    blocks = [take(line, "block", dict) for line in lines[1:] if "block" in line]
    if version == _BLOCK_PARQUET_VERSION:
        ledger = _assemble(head, lines, *_with_own_files(blocks))
    else:
        written = [read_written(line["written"]) for line in lines[1:] if "written" in line]
        ledger = _assemble(head, lines, [read_block(block) for block in blocks], written)
    counts = _counts(ledger)
    if any(foot[name] != counts.get(name) for name in foot if name != "sha256"):
        raise damaged("the counts in the last line do not fit the lines above it")
    return ledger


def _assemble(
    head: Json, lines: Sequence[Json], blocks: Iterable[LedgerBlock], written: Iterable[WrittenFile]
) -> Ledger:
    return Ledger(
        job_id=take(head, "job_id", str),
        sequence=take_whole(head, "sequence"),
        created=take(head, "created", str),
        record_format=take(head, "record_format", str),
        options=take(head, "options", dict),
        columns=tuple(_column(column) for column in take(head, "columns", list)),
        files=tuple(_file(take(line, "file", dict)) for line in lines if "file" in line),
        blocks=tuple(blocks),
        written=tuple(written),
        roots=tuple(native_path(str(root)) for root in head.get("roots", ())),
        table=take(head, "table", str) if "table" in head else "",
        partitioning=_partitioning(head),
        source=read_table(take(head, "source", dict)) if "source" in head else None,
        replaced=tuple(_replaced(take(line, "replaced", dict)) for line in lines if "replaced" in line),
        removed=tuple(_removed(take(line, "removed", dict)) for line in lines if "removed" in line),
    )


def _replaced(raw: Json) -> ReplacedFile:
    return ReplacedFile(take_whole(raw, "sequence"), take_whole(raw, "file_index"), take(raw, "identity", str))


def _removed(raw: Json) -> RemovedFile:
    into = take(raw, "into", str)
    return RemovedFile(check_written_name(take(raw, "name", str)), check_written_name(into) if into else "")


def _with_own_files(blocks: Iterable[Json]) -> tuple[list[LedgerBlock], list[WrittenFile]]:
    """Blocks of format 1: what one wrote is a file of its own."""
    read: list[LedgerBlock] = []
    files: list[WrittenFile] = []
    for raw in blocks:
        ranges: list[RowRange | None] = []
        for name in ("data", "reject_table"):
            own = None if raw.get(name) is None else read_written(raw[name])
            ranges.append(None if own is None else RowRange(own.name, 0, own.rows))
            files += [] if own is None else [own]
        data, table = ranges
        read.append(_block(raw, [] if data is None else [data], table))
    return read, files


def _block(raw: Json, data: Iterable[RowRange], reject_table: RowRange | None) -> LedgerBlock:
    return LedgerBlock(
        **take_wholes(raw, _BLOCK_NUMBERS),
        digest=take_digest(raw, "digest"),
        data=tuple(data),
        reject_table=reject_table,
        missing=raw.get("missing") is True,
        content_bytes=take_whole(raw, "content_bytes") if "content_bytes" in raw else None,
        damage=_damage(as_object(raw["damage"], "damage")) if "damage" in raw else None,
    )


def _partitioning(head: Json) -> Partitioning:
    layout = head.get("layout", Layout.FLAT.value)
    if layout not in {each.value for each in Layout}:
        raise damaged("layout is none")
    if "partitioning" not in head:
        return Partitioning(layout=Layout(layout))
    raw = take(head, "partitioning", dict)
    columns = tuple(str(column) for column in take(raw, "columns", list))
    return Partitioning(columns, take(raw, "in_files", bool), Layout(layout))


def _damage(raw: Json) -> Damage:
    numbers = {name: take_whole(raw, name) for name in ("file_offset", "content_offset", "lost_bytes")}
    return Damage(take(raw, "code", str), **numbers)


def _row_range(raw: Any) -> RowRange | None:
    if raw is None:
        return None
    plain = as_object(raw, "a range of rows")
    return RowRange(check_written_name(take(plain, "name", str)), take_whole(plain, "start"), take_whole(plain, "stop"))


def _column(raw: Any) -> LedgerColumn:
    plain = as_object(raw, "a column")
    return LedgerColumn(take(plain, "name", str), take(plain, "type", str), take(plain, "nullable", bool))


def _file(raw: Json) -> LedgerFile:
    return LedgerFile(
        index=take_whole(raw, "index"),
        path=native_path(take(raw, "path", str)),
        fingerprint=take(raw, "fingerprint", str),
        size_bytes=take_whole(raw, "size_bytes"),
        modified_us=take(raw, "modified_us", int),
        path_sha256=take_sha256(raw, "path_sha256") if "path_sha256" in raw else "",
        content=take(raw, "content", str) if "content" in raw else "",
        start=take_whole(raw, "start") if "start" in raw else 0,
    )
