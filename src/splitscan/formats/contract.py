"""What a format is: one object that knows how records are found, what is in them, and which columns they have."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.sampling import FoundSchema, Heads
from splitscan.options import ReadOptions, RecordOptions

Own_contra = TypeVar("Own_contra", bound=RecordOptions, contravariant=True)
"""The options of one format."""


class Projection(Protocol):
    """What a scan wants of the records of a file."""

    @property
    def options(self) -> ReadOptions:
        """What the user said."""

    @property
    def fields(self) -> pa.Schema:
        """The records' own columns, in file order; their metadata says how each is read."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns to deliver."""

    @property
    def validated(self) -> tuple[int, ...]:
        """Indices into ``fields`` of the columns whose values must convert: first those to deliver."""

    @property
    def decoded(self) -> tuple[pa.Field, ...]:
        """The columns of ``validated``, with the members that must be decoded."""

    @property
    def rescued_column(self) -> str | None:
        """Name of the column that keeps what does not fit; ``None`` where that is a fault."""

    @property
    def is_array(self) -> bool:
        """Whether the fields of a record are one array."""

    @property
    def elements(self) -> tuple[int, ...] | None:
        """Indexes that are wanted of that array; ``None`` for all."""

    @property
    def delivers_no_value(self) -> bool:
        """Whether no column holds anything of a record's bytes."""


class Format(Protocol[Own_contra]):
    """One record format. It is stateless: what a user says is in its options, what a file says in its preamble."""

    @property
    def options_class(self) -> type[RecordOptions]:
        """The class of the format's own options, which declares them."""

    def framing(self, own: Own_contra) -> RecordFormat:
        """The way to find records that the format's own options describe."""

    def decoder(self, own: Own_contra, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """What turns the records of one file into the columns ``wanted.validated``.

        Raises:
            SchemaError: If what the file says of its columns does not agree with the schema.
        """

    def check_header(self, own: Own_contra, wanted: Projection, file: FileMetadata, preamble: Preamble) -> None:
        """What :meth:`decoder` checks, for those who decode nothing.

        Raises:
            SchemaError: If what the file says of its columns does not agree with the schema.
        """

    def check_schema(self, own: Own_contra, options: ReadOptions, fields: pa.Schema) -> None:
        """Refuse columns that records of this format cannot have.

        Raises:
            UsageError: ``[bad-schema]`` for a type that no value of a record can have.
        """

    def infer(self, own: Own_contra, options: ReadOptions, heads: Heads) -> FoundSchema:
        """The columns that the heads of files show; none if no file has a record to take them from.

        The result does not depend on the order in which the files are listed.

        Raises:
            SchemaError: If files disagree, and that is not allowed.
            SourceError: If a file cannot be read.
        """


@runtime_checkable
class AdvisingFormat(Protocol[Own_contra]):
    """A format that can see in a sample whether its options are what the file needs. Its options have an encoding."""

    def advice(self, own: Own_contra, text: str) -> str | None:
        """What to warn of, as the end of a sentence that begins with the file; ``None`` if nothing is suspect.

        Args:
            own: The format's own options.
            text: The beginning of a file.
        """

    def contradiction(self, own: Own_contra, given: frozenset[str], text: str) -> str | None:
        """What in a sample cannot be meant as the options read it, so that an ingest must stop; ``None`` if nothing.

        Args:
            own: The format's own options.
            given: Names of the options that the user gave: those are obeyed.
            text: A sample, of any part of a file.
        """
