"""What a reader is, what it reads, and what a scan delivers. Plain values: the framework needs nothing else."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import pyarrow as pa

from splitscan.blocks import BlockMetadata, Reject
from splitscan.content.storage import ByteSource
from splitscan.formats.decoding.conversions import Rules
from splitscan.options import Mode, ReadOptions
from splitscan.scan.ddl import parse_ddl
from splitscan.sizes import MIB

if TYPE_CHECKING:
    from splitscan.scan.framework.loader import ResultSetLoader
    from splitscan.scan.framework.negotiator import SchemaNegotiator


@runtime_checkable
class ManagedReader(Protocol):
    """Reads one file, or one block of it, and hands rows to a loader.

    Every file or block gets a reader of its own, made just before it is opened, and closed before the next is made.
    A reader gives whatever columns it has, in batches of whatever size suits it; the framework projects, casts, fills
    in what is missing and cuts.

    Optional attributes, looked up by name:

    * ``name``: what messages call the reader; by default its class.
    * ``schema``, DDL text or an Arrow schema: the columns, known before any file is opened.
    * ``splittable = True``: a reader may get a part of a file, ``negotiator.split``, and reads the records whose first
      byte lies in it: ``split.start <= first byte < split.stop``. Otherwise it gets whole files.

    Pickling: before ``open``, so that Spark can send it to its workers.
    """

    def open(self, negotiator: SchemaNegotiator) -> bool:
        """Open what is to be read, and declare its columns if they are known.

        Args:
            negotiator: Says what to read and what is wanted; takes the reader's schema.

        Returns:
            True to be read. False if there is nothing here: the reader is closed and skipped.

        Raises:
            Exception: Fails the scan. The reader is closed all the same.
        """

    def next(self, loader: ResultSetLoader) -> bool:
        """Append some rows: best until ``loader.full``, which bounds memory; none is allowed too.

        Args:
            loader: Takes the rows.

        Returns:
            Whether to call again. Rows that come with False count, and ``next`` is not called any more.

        Raises:
            Exception: Fails the scan.
        """

    def close(self) -> None:
        """Release what ``open`` took. Called exactly once, whatever happened, also behind an ``open`` that failed."""


OnReject = Callable[[Reject], None]
"""Takes the rejects of a scan, one after the other."""

LARGEST_BATCH_BYTES = (1 << 31) - 1
"""What one Arrow array of texts, bytes or lists can hold: its offsets have 31 bits."""


class Extra(enum.Enum):
    """What happens to a column that a reader brings and nobody asked for."""

    DROP = "drop"
    FAIL = "fail"


@dataclass(frozen=True)
class OutputPlan:
    """What a scan delivers.

    Attributes:
        schema: Of every batch. ``None`` leaves it open: the columns are those that the readers bring, in the order in
            which they were first seen; a column keeps the type it had first, but numbers become wider, structs get the
            members of all, and nulls take any type.
        validated: Columns that must convert in mode DROPMALFORMED, delivered or not, so that the number of rows does
            not depend on the projection. By default those of *schema*.
        defaults: What a missing column holds, or an omitted field, in place of null.
        extra: What happens to columns that are not in *schema*.
        mode: What happens to a row with a value that does not convert: PERMISSIVE delivers it with a null,
            DROPMALFORMED drops it, FAILFAST raises an error. The first two report a reject.
        corrupt_column: Name of the column that receives the text of rows that break a rule.
        batch_rows: Most rows of a batch.
        batch_bytes: Most bytes of a batch of several rows.
        largest_batch_bytes: Most bytes of any batch; a row that is larger is an error.
        limit: Most rows of the scan; ``None`` for all.
        schema_first: Whether the first batch is one without rows, which shows the schema.
        empty_result: Whether a scan without rows delivers one batch without rows, where a schema is known.
        ignore_missing: Whether a file that is gone is skipped, with a reject for all of it.
        rules: How values are written that readers bring as text.
    """

    schema: pa.Schema | None = None
    validated: pa.Schema | None = None
    defaults: Mapping[str, pa.Scalar] = field(default_factory=dict)
    extra: Extra = Extra.DROP
    mode: Mode = Mode.PERMISSIVE
    corrupt_column: str | None = None
    batch_rows: int = 65_536
    batch_bytes: int = 16 * MIB
    largest_batch_bytes: int = LARGEST_BATCH_BYTES
    limit: int | None = None
    schema_first: bool = False
    empty_result: bool = True
    ignore_missing: bool = False
    rules: Rules = field(default_factory=Rules)


@dataclass(frozen=True)
class ReaderPlan:
    """One reader to be run.

    Attributes:
        make: Makes the reader, just before it is opened.
        split: What it reads: a file, or a block of one.
        open_source: Opens the file of *split*.
        constants: Columns whose value is the same in all its rows, such as the name of the file.
        name: What messages call the reader; empty for its own name, ``None`` if they need not name it.
        provided_schema: What the user says of the columns of the file, whatever is projected.
        options: What the user said.
        read_bytes: Bytes asked of the storage at a time.
    """

    make: Callable[[], ManagedReader]
    split: BlockMetadata | None = None
    open_source: Callable[[], ByteSource] | None = None
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)
    name: str | None = ""
    provided_schema: pa.Schema | None = None
    options: ReadOptions | None = None
    read_bytes: int = MIB


def declared_schema(reader: object) -> pa.Schema | None:
    """What a reader says of its columns before it is opened: its ``schema``, DDL text or an Arrow schema.

    Raises:
        UsageError: ``[bad-schema]`` if the text is no DDL.
    """
    said = getattr(reader, "schema", None)
    if isinstance(said, str):
        return parse_ddl(said)
    return said if isinstance(said, pa.Schema) else None


def name_of(reader: object) -> str:
    """What messages call a reader: its ``name``, or its class."""
    name = getattr(reader, "name", None)
    return name if isinstance(name, str) and name else type(reader).__name__
