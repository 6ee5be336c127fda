"""The ledger: what one job read, from where, by which block, with which digest, and what it wrote.

These are its values, with the rules that their texts keep; :mod:`splitscan.jobs.ledger_files` writes them to a file.
"""

# Over 400 lines: all values of a ledger, with what they mean.

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, NamedTuple

import pyarrow as pa

from splitscan.blocks import UNKNOWN_END, Damage
from splitscan.content.storage import is_content_digest
from splitscan.jobs.settings import Partitioning, is_partition_folder
from splitscan.redaction import redact
from splitscan.spelling import Json, Spelling, damaged, native_path, portable_path

OUR_FOLDER = "_splitscan"
LEDGER_FOLDER = f"{OUR_FOLDER}/ledger"
REJECT_FOLDER = f"{OUR_FOLDER}/rejects"
REJECT_SUFFIX = ".rejects"
"""How the names of reject tables end: they are Parquet, and no reader that looks for ``**/*.parquet`` takes them for
rows."""

STAGING_FOLDER = f"{OUR_FOLDER}/staging"

_FIELD_ID = b"PARQUET:field_id"
_SHA256 = re.compile(r"[0-9a-f]{64}")


def _check_sha256(text: str) -> str:
    if not _SHA256.fullmatch(text):
        raise damaged("a SHA-256 is none")
    return text


def _check_digest(text: str) -> str:
    if text and not is_content_digest(text):
        raise damaged("a digest is none")
    return text


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
    suffix = REJECT_SUFFIX if is_reject else ".parquet"
    if strange or "\0" in name or bare.startswith((".", "_")) or not bare.endswith(suffix):
        raise damaged(f"{name[:200]!r} is no name of a file that a job writes")
    return name


Sha256 = Annotated[str, Spelling(_check_sha256)]
Sha256OrNone = Annotated[str, Spelling(lambda text: text and _check_sha256(text))]
Digest = Annotated[str, Spelling(_check_digest)]
FileName = Annotated[str, Spelling(check_written_name)]
FileNameOrNone = Annotated[str, Spelling(lambda name: name and check_written_name(name))]
PathText = Annotated[str, Spelling(native_path, portable_path)]
SignedNumber = Annotated[int, Spelling(int)]


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file that a job wrote, by its name in the destination: rows, or rejects in ``REJECT_FOLDER``."""

    name: FileName
    size_bytes: int
    rows: int
    sha256: Sha256

    @property
    def is_reject_table(self) -> bool:
        """True if it holds rejects."""
        return self.name.startswith(f"{REJECT_FOLDER}/")


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows ``[start, stop)`` of a written file, by its name relative to the destination; numbers count from 0."""

    name: FileName
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class ReplacedFile:
    """A version of a source file whose rows left the destination when those of a later one came.

    Job *sequence* had read it, as its file *file_index*; *identity* tells the file from all others.
    """

    sequence: int
    file_index: int
    identity: str


@dataclass(frozen=True, slots=True)
class RemovedFile:
    """A data file of an earlier job that held rows of a replaced version.

    *into* is the file of the job that holds the rest of its rows, in their order; empty if there is no rest.
    """

    name: FileName
    into: FileNameOrNone


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """A source file, as it was planned.

    Attributes:
        path: Secrets are masked.
        fingerprint: Identity of the version that was read.
        size_bytes: Its length; of a file that grows, up to where it was planned.
        modified_us: Modification time in microseconds since the epoch, 0 when unknown.
        path_sha256: SHA-256 of the whole path where a secret in *path* is masked, otherwise empty: two paths that
            differ in what is masked are two files.
        content: Of a file that grows: identity of what was written under this name, which stays when the file is
            renamed, and is another one when it was replaced. The jobs that read one content read consecutive ranges.
        start: Of a file that grows: first offset that this job read; earlier jobs have read what lies before it.
    """

    index: int
    path: PathText
    fingerprint: str
    size_bytes: int
    modified_us: SignedNumber
    path_sha256: Sha256OrNone = ""
    content: str = ""
    start: int = 0

    @property
    def length_bytes(self) -> int:
        """Number of bytes that the job read of it."""
        return self.size_bytes - self.start

    @property
    def identity(self) -> str:
        """Identity of the file, by :func:`identify`."""
        return self.path_sha256 or portable_path(self.path)


class KeyRange(NamedTuple):
    """Rows of a table that a block stands for: those with keys ``[start, stop)``, empty for no bound.

    Attributes:
        with_nulls: The rows without a key as well.
        only_nulls: Those rows alone, whatever the bounds.
    """

    start: bytes
    stop: bytes
    with_nulls: bool = False
    only_nulls: bool = False


@dataclass(frozen=True, slots=True)
class SourceTable:
    """The table of a database that a job read, in place of files.

    Its only :class:`LedgerFile` is as long as the table, by estimate, so that blocks have lengths.

    Attributes:
        job: The name that the user gave the job.
        database: Its address, without user and password.
        relation: The table, or a digest of the SELECT.
        key: The column by which it was divided; empty if it was not.
        nullable: Whether there may be rows without a key.
        version: Identity of the rows: a snapshot, or a digest of a file.
        ranges: The rows of each block, by its index.
    """

    job: str
    database: str
    relation: str
    key: str
    nullable: bool
    version: str
    ranges: tuple[tuple[KeyRange, ...], ...]

    @property
    def path(self) -> str:
        """Path of the file that the table is in a ledger."""
        return table_path(self.database, self.relation, self.job)


def table_path(database: str, relation: str, job: str) -> str:
    """Spell the path of the file that a table is in a ledger."""
    return f"{database}, {relation}, job {job}"


def identify(path: str) -> str:
    """Spell the identity of a source file: the bytes of its path, as UTF-8, or a digest of them if it holds a secret.

    Example:
        >>> identify("/data/a.csv")
        '/data/a.csv'
        >>> one, other = identify("https://host/a?sig=1111"), identify("https://host/a?sig=2222")
        >>> one != other, "1111" in one
        (True, False)
    """
    portable = portable_path(path)
    if redact(portable) == portable:
        return portable
    return hashlib.sha256(portable.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class LedgerBlock:
    """A block: the span that its reader answers for, and the place of its rows.

    Attributes:
        file_index: The source file, by its ``LedgerFile.index``.
        index: Number of the block in its file, from 0.
        start: First offset of the planned range, which ends before *stop*.
        span_start: First byte its reader answers for, up to *span_stop*.
        rejects: Records that broke a rule, delivered or not.
        digest: Of the span's bytes (:class:`ContentDigest`); empty when not asked for.
        data: Where its rows are; of partitioned rows, a range for each file that has some of them.
        reject_table: Where its rejects are; ``None`` without rejects.
        missing: Whether the file was gone when the block was to be read, and was allowed to be.
        content_bytes: Length of what a compressed file holds, by the reader of its last block; spans of its blocks are
            offsets in that. ``None`` in other blocks, and of other files.
        damage: Where a damaged file could not be read on, and was allowed to be damaged, by the block of that place.
    """

    file_index: int
    index: int
    start: int
    stop: int
    span_start: int
    span_stop: int
    rows: int
    rejects: int
    digest: Digest
    data: tuple[RowRange, ...] = ()
    reject_table: RowRange | None = None
    missing: bool = False
    content_bytes: int | None = None
    damage: Damage | None = None

    @property
    def key(self) -> tuple[int, int]:
        """File index and block index: the block's identity in its job."""
        return (self.file_index, self.index)

    @property
    def size_bytes(self) -> int:
        """Bytes of the job that it stands for; of content whose end nobody knew, as many as there were."""
        return (self.stop if self.stop < UNKNOWN_END else self.span_stop) - self.start


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
        options: Options that it was read with; secrets are masked.
        columns: Of the rows. The Parquet files have the same, or those that the folders do not tell.
        blocks: By file and offset.
        written: Parquet files of rows and of rejects, by name.
        roots: Paths of the user; every source lies below one of them.
        table: Format of the table that the rows went to; empty for a plain folder.
        source: The table that was read; ``None`` if it were files.
        replaced: Versions of source files whose rows left with this job.
        removed: Data files that left with them.

    Pickling: plain values only.
    """

    job_id: str
    sequence: int
    created: str
    record_format: str
    options: Json
    columns: tuple[LedgerColumn, ...]
    files: tuple[LedgerFile, ...] = ()
    blocks: tuple[LedgerBlock, ...] = ()
    written: tuple[WrittenFile, ...] = ()
    roots: tuple[PathText, ...] = ()
    table: str = ""
    partitioning: Partitioning = field(default_factory=Partitioning)
    source: SourceTable | None = None
    replaced: tuple[ReplacedFile, ...] = ()
    removed: tuple[RemovedFile, ...] = ()

    @property
    def rows(self) -> int:
        """Rows that the job wrote."""
        return sum(block.rows for block in self.blocks)

    @property
    def rejects(self) -> int:
        """Records that broke a rule."""
        return sum(block.rejects for block in self.blocks)

    @property
    def damages(self) -> list[tuple[LedgerFile, Damage]]:
        """The files that were read up to their damage, and where that is."""
        files = {file.index: file for file in self.files}
        return [(files[block.file_index], block.damage) for block in self.blocks if block.damage is not None]

    @property
    def data_files(self) -> list[WrittenFile]:
        """Parquet files with rows, or without any where the job delivered none."""
        return [written for written in self.written if not written.is_reject_table]

    @property
    def own_written(self) -> list[WrittenFile]:
        """The files with rows of this job's own sources: those with the rest of a removed file are left out."""
        rest = {each.into for each in self.removed}
        return [written for written in self.written if written.name not in rest]

    def blocks_by_file(self) -> dict[int, list[LedgerBlock]]:
        """The blocks of each file, by its index."""
        found: dict[int, list[LedgerBlock]] = {}
        for block in self.blocks:
            found.setdefault(block.file_index, []).append(block)
        return found

    def read_files(self) -> Iterator[LedgerFile]:
        """The files that were read: those that had vanished are left out."""
        missing = {block.file_index for block in self.blocks if block.missing}
        return (file for file in self.files if file.index not in missing)


def describe_columns(schema: pa.Schema) -> tuple[LedgerColumn, ...]:
    """Spell a schema column by column, with the names inside lists and maps that Parquet gives back.

    Example:
        >>> [str(column) for column in describe_columns(pa.schema([pa.field("a", pa.int64(), nullable=False)]))]
        ['a int64 not null']
    """
    return tuple(LedgerColumn(column.name, str(_in_parquet(column.type)), column.nullable) for column in schema)


def field_ids(fields: Iterable[pa.Field]) -> list[str]:
    """The ids of columns and of the fields inside them, by which Iceberg finds them in files; empty for those without.

    Example:
        >>> field_ids([pa.field("a", pa.struct([with_id(pa.field("b", pa.int8()), 7)]))])
        ['', '7']
    """
    ids: list[str] = []
    for each in fields:
        ids.append((each.metadata or {}).get(_FIELD_ID, b"").decode())
        ids += field_ids(each.type.field(number) for number in range(each.type.num_fields))
    return ids


def with_id(field: pa.Field, number: int) -> pa.Field:
    """Give a column an id."""
    return field.with_metadata({_FIELD_ID: str(number)})


def only_appends(before: Sequence[LedgerColumn], after: Sequence[LedgerColumn]) -> bool:
    """Return whether columns are those of an earlier job, and after them perhaps new ones that may hold nulls.

    A new name may not differ from another in case only: to Spark and DuckDB the two would be one.
    """
    new = after[len(before) :]
    names = {column.name.casefold() for column in after}
    return (
        tuple(after[: len(before)]) == tuple(before)
        and all(column.nullable for column in new)
        and (not new or len(names) == len(after))
    )


def _in_parquet(kind: pa.DataType) -> pa.DataType:
    """Replace the names of elements, entries and values in a type by those that Parquet has.

    Example:
        >>> str(_in_parquet(pa.list_(pa.map_(pa.string(), pa.list_(pa.int32())))))
        'list<element: map<string, list<element: int32>>>'
    """
    if isinstance(kind, pa.StructType):
        return pa.struct([field.with_type(_in_parquet(field.type)) for field in kind])
    if isinstance(kind, pa.MapType):
        value = pa.field("value", _in_parquet(kind.item_type), kind.item_field.nullable)
        return pa.map_(_in_parquet(kind.key_type), value)
    if isinstance(kind, pa.ListType):
        return pa.list_(pa.field("element", _in_parquet(kind.value_type), kind.value_field.nullable))
    return kind
