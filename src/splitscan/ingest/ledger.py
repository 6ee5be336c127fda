"""The ledger: what one job read, from where, by which block, with which digest, and what it wrote.

A ledger is a text file of JSON lines: a head, a line per source file, a line per block, and a foot with the counts and
the SHA-256 of everything above it. It is data only: nothing in it is ever evaluated.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias, TypeVar

from splitscan.errors import IngestError, SplitscanError, Where
from splitscan.storage.destination import check_name

FORMAT_VERSION = 1

Json: TypeAlias = Mapping[str, Any]
T = TypeVar("T")

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that a job wrote.

    Attributes:
        name: Name relative to the destination.
        size_bytes: Length.
        rows: Rows in it.
        sha256: SHA-256 of its bytes, hexadecimal.
    """

    name: str
    size_bytes: int
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """A source file, as it was planned.

    Attributes:
        index: Number of the file in its job, from 0.
        path: Where it was; secrets are masked.
        fingerprint: Identity of the version that was read.
        size_bytes: Its length.
        modified_us: Modification time in microseconds since the epoch, 0 when unknown.
    """

    index: int
    path: str
    fingerprint: str
    size_bytes: int
    modified_us: int


@dataclass(frozen=True, slots=True)
class LedgerBlock:
    """What one block's reader did and wrote.

    Attributes:
        file_index: The source file, by its ``LedgerFile.index``.
        index: Number of the block in its file, from 0.
        start: First offset of the planned range.
        stop: First offset behind the planned range.
        span_start: First byte its reader answers for.
        span_stop: First byte behind what its reader answers for.
        rows: Rows delivered.
        rejects: Records that broke a rule, delivered or not.
        digest: SHA-256 of the span's bytes, hexadecimal; empty when not asked for.
        data: The Parquet file with its rows; ``None`` without rows.
        reject_table: The Parquet file with its rejects; ``None`` without rejects.
    """

    file_index: int
    index: int
    start: int
    stop: int
    span_start: int
    span_stop: int
    rows: int
    rejects: int
    digest: str
    data: WrittenFile | None = None
    reject_table: WrittenFile | None = None

    @property
    def key(self) -> tuple[int, int]:
        """File index and block index: the block's identity in its job."""
        return (self.file_index, self.index)

    def written(self) -> Iterator[WrittenFile]:
        """The files this block wrote, if any."""
        if self.data is not None:
            yield self.data
        if self.reject_table is not None:
            yield self.reject_table

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Json) -> LedgerBlock:
        """Read it back.

        Raises:
            IngestError: ``[ledger-damaged]`` if a value is missing or of another kind.
        """
        whole = {
            name: _take_whole(raw, name)
            for name in ("file_index", "index", "start", "stop", "span_start", "span_stop", "rows", "rejects")
        }
        digest = _take(raw, "digest", str)
        if digest and not _SHA256.fullmatch(digest):
            raise _damaged("digest is not a SHA-256")
        return cls(
            **whole, digest=digest, data=_written(raw.get("data")), reject_table=_written(raw.get("reject_table"))
        )


@dataclass(frozen=True, slots=True)
class LedgerColumn:
    """A column of the destination: name, Arrow type as text, and whether it may hold nulls."""

    name: str
    type: str
    nullable: bool

    def __str__(self) -> str:
        return f"{self.name} {self.type}{'' if self.nullable else ' not null'}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """Everything about one committed job.

    Attributes:
        job_id: Identity of the job: the same input with the same options and blocks is the same job.
        sequence: Number of the job in its destination, from 1.
        created: When it was committed: ISO 8601, UTC.
        record_format: Name of the record format.
        options: Options that it was read with; secrets are masked.
        columns: Schema of the Parquet files.
        files: Source files, by index.
        blocks: Blocks, by file and offset.

    Pickling: plain values only.
    """

    job_id: str
    sequence: int
    created: str
    record_format: str
    options: Json
    columns: tuple[LedgerColumn, ...]
    files: tuple[LedgerFile, ...]
    blocks: tuple[LedgerBlock, ...] = field(default=())

    @property
    def rows(self) -> int:
        """Rows that the job wrote."""
        return sum(block.rows for block in self.blocks)

    @property
    def rejects(self) -> int:
        """Records that broke a rule."""
        return sum(block.rejects for block in self.blocks)

    def written(self) -> Iterator[WrittenFile]:
        """All files the job wrote beside its ledger."""
        for block in self.blocks:
            yield from block.written()

    def to_bytes(self) -> bytes:
        """Render the ledger, with its checksum.

        Example:
            >>> ledger = Ledger("ab" * 16, 1, "2026-01-01T00:00:00Z", "csv", {}, (), ())
            >>> Ledger.from_bytes(ledger.to_bytes(), "example") == ledger
            True
        """
        head = {
            "splitscan_ledger": FORMAT_VERSION,
            "job_id": self.job_id,
            "sequence": self.sequence,
            "created": self.created,
            "record_format": self.record_format,
            "options": self.options,
            "columns": [asdict(column) for column in self.columns],
        }
        lines: list[Json] = [head, *({"file": asdict(file)} for file in self.files)]
        lines += [{"block": block.to_json()} for block in self.blocks]
        body = b"".join(_line(line) for line in lines)
        return body + _line({"end": {**self._counts(), "sha256": hashlib.sha256(body).hexdigest()}})

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> Ledger:
        """Read a ledger back and check it.

        Args:
            data: The file's content.
            name: Its path, for messages.

        Raises:
            IngestError: ``[ledger-damaged]`` if a byte is missing or changed; ``[ledger-version]`` if a newer
                splitscan wrote it.
        """
        try:
            return _parse(data)
        except SplitscanError as error:
            raise IngestError(error.rule, Where(path=name), error.seen, error.fix, error.reason_code) from None

    def _counts(self) -> dict[str, int]:
        return {"files": len(self.files), "blocks": len(self.blocks), "rows": self.rows, "rejects": self.rejects}


def _line(value: Json) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"


def _parse(data: bytes) -> Ledger:
    body, newline, foot_line = data.removesuffix(b"\n").rpartition(b"\n")
    body += newline
    if not data.endswith(b"\n") or not body:
        raise _damaged("the last line is cut off")
    foot = _take(_object(foot_line), "end", dict)
    if _take(foot, "sha256", str) != hashlib.sha256(body).hexdigest():
        raise _damaged("the checksum in the last line does not fit the lines above it")
    lines = [_object(line) for line in body.splitlines()]
    ledger = _assemble(lines[0], lines[1:])
    if any(foot.get(name) != count for name, count in ledger._counts().items()):  # noqa: SLF001 -- our own class
        raise _damaged("the counts in the last line do not fit the lines above it")
    return ledger


def _assemble(head: Json, lines: Sequence[Json]) -> Ledger:
    version = _take_whole(head, "splitscan_ledger")
    if version != FORMAT_VERSION:
        raise IngestError(
            "the ledger was written in a format this version does not know", seen=f"format {version}",
            fix="use the version of splitscan that wrote it, or a newer one", code="ledger-version",
        )  # fmt: skip
    return Ledger(
        job_id=_take(head, "job_id", str),
        sequence=_take_whole(head, "sequence"),
        created=_take(head, "created", str),
        record_format=_take(head, "record_format", str),
        options=_take(head, "options", dict),
        columns=tuple(_column(column) for column in _take(head, "columns", list)),
        files=tuple(_file(_take(line, "file", dict)) for line in lines if "file" in line),
        blocks=tuple(LedgerBlock.from_json(_take(line, "block", dict)) for line in lines if "block" in line),
    )


def _column(raw: Any) -> LedgerColumn:
    if not isinstance(raw, dict):
        raise _damaged("a column is not an object")
    return LedgerColumn(_take(raw, "name", str), _take(raw, "type", str), _take(raw, "nullable", bool))


def _file(raw: Json) -> LedgerFile:
    return LedgerFile(
        index=_take_whole(raw, "index"),
        path=_take(raw, "path", str),
        fingerprint=_take(raw, "fingerprint", str),
        size_bytes=_take_whole(raw, "size_bytes"),
        modified_us=_take(raw, "modified_us", int),
    )


def _written(raw: Any) -> WrittenFile | None:
    if raw is None:
        return None
    if not isinstance(raw, dict):
        raise _damaged("a written file is not an object")
    sha256 = _take(raw, "sha256", str)
    if not _SHA256.fullmatch(sha256):
        raise _damaged("sha256 is not a SHA-256")
    name = check_name(_take(raw, "name", str))  # a ledger cannot point outside its destination
    return WrittenFile(name, _take_whole(raw, "size_bytes"), _take_whole(raw, "rows"), sha256)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise _damaged("a line is not JSON") from None
    if not isinstance(value, dict):
        raise _damaged("a line is not a JSON object")
    return value


def _take(raw: Json, name: str, kind: type[T]) -> T:
    value = raw.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _damaged(f"{name} is missing or no {kind.__name__}")
    return value


def _take_whole(raw: Json, name: str) -> int:
    value = _take(raw, name, int)
    if value < 0:
        raise _damaged(f"{name} is negative")
    return value


def _damaged(what: str) -> IngestError:
    return IngestError(
        "a ledger is damaged", seen=what,
        fix="restore the file from a backup; without it, what was ingested cannot be told", code="ledger-damaged",
    )  # fmt: skip
