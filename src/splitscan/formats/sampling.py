"""What schema inference looks at, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.merge import Evidence, MergedSchema
from splitscan.options import ReadOptions

T = TypeVar("T")

VALUE = "value"
"""The column of records that are one text, or bytes that nobody decodes."""

NOTHING = MergedSchema((), ())
"""What was seen of columns where nothing was."""


@dataclass(frozen=True, slots=True)
class FoundSchema:
    """What the data says about the columns.

    Attributes:
        schema: The columns.
        merged: Where each was seen; without columns for formats whose records are one value.
        sampled: Number of files that were looked at.
    """

    schema: pa.Schema
    merged: MergedSchema
    sampled: int = 0


class Head(Protocol):
    """The first bytes of one file, ``sampleBytes`` of them."""

    @property
    def file(self) -> FileMetadata:
        """The file."""

    @property
    def preamble(self) -> Preamble:
        """What they say about the rest of the file."""

    def records(self) -> Iterator[bytes]:
        """The content of every record that begins in them, as it stands in the file."""

    def batches(self, options: ReadOptions, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The records that begin in them, read under *options* into the columns of *schema*."""


class Heads(Protocol):
    """The heads of the files of a scan."""

    @property
    def files(self) -> Sequence[FileMetadata]:
        """Every file of the scan."""

    def look(self, files: Sequence[FileMetadata], at: Callable[[Head], T]) -> list[tuple[FileMetadata, T]]:
        """What *at* finds in the head of each of *files*; without those that vanished, where they may.

        Several files are looked at side by side, so *at* must not depend on the order.

        Raises:
            SourceError: If a file cannot be read.
        """

    def look_for_names(self, sampled: Sequence[FileMetadata], at: Callable[[Head], T]) -> list[tuple[FileMetadata, T]]:
        """The same of *sampled*; where no name may be missed, of the first bytes of all other files too, by path."""


def spread(files: Sequence[FileMetadata], most: int) -> list[FileMetadata]:
    """At most *most* files that are not empty, by path: the first, the last, and others evenly between them.

    Example:
        >>> files = [FileMetadata(name, 1, 0, "", name) for name in "dbca"]
        >>> [file.path for file in spread(files, 3)]
        ['a', 'b', 'd']
    """
    full = sorted((file for file in files if file.size_bytes), key=lambda file: file.path)
    if len(full) <= most:
        return full
    return [full[(len(full) - 1) * i // (most - 1)] for i in range(most)] if most > 1 else full[:1]


def evidence_of(schemas: Sequence[tuple[FileMetadata, pa.Schema]]) -> Evidence:
    """What the columns of several files show together."""
    evidence = Evidence()
    for file, schema in schemas:
        evidence |= Evidence.of_file(file.path, schema)
    return evidence


def one_value(kind: pa.DataType) -> FoundSchema:
    """The columns of records that are one value."""
    return FoundSchema(pa.schema([(VALUE, kind)]), NOTHING)
