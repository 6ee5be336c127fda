"""Contract of formats: one object finds records, decodes them, and infers their columns."""

# Over 400 lines: what formats and those who ask them hand each other is read together.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import InvariantError, UsageError
from splitscan.formats.decoding.contract import Decoder, type_name
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import UTF_8, Encoding
from splitscan.formats.framing.frames import Buffer, Frames
from splitscan.formats.merge import MergedSchema
from splitscan.options import ReadOptions, RecordOptions

T = TypeVar("T")

VALUE = "value"
"""The column of records that are one text, or bytes that nobody decodes."""

NOTHING = MergedSchema((), ())
"""What was seen of columns where nothing was."""


@dataclass(frozen=True, slots=True)
class FoundSchema:
    """Schema found in the data.

    Attributes:
        merged: Where each was seen; without columns for formats whose records are one value.
        sampled: Number of files that were looked at.
        records: Number of records that were looked at, where each says its columns.
        without_columns: How to read records that show no column.
        repeated: A name that an object has twice, where only the last of its values is read.
        texts: Paths of members whose values no type holds, so that each is its text, and what these hold.
    """

    schema: pa.Schema
    merged: MergedSchema
    sampled: int = 0
    records: int = 0
    without_columns: str = "pass a schema"
    texts: tuple[tuple[tuple[str, ...], str], ...] = ()
    repeated: str | None = None


class Head(Protocol):
    """The first bytes of one file, ``sampleBytes`` of them, or another part of it."""

    @property
    def file(self) -> FileMetadata:
        """The file."""

    @property
    def preamble(self) -> Preamble:
        """Preamble that they give the rest of the file."""

    def frames(self) -> Iterator[tuple[memoryview, Frames]]:
        """The records that begin in them, as they stand in the file: bytes, and where records are in these."""

    def records(self) -> Iterator[bytes]:
        """The content of each of those."""


class Summaries(NamedTuple, Generic[T]):
    """How summaries of the parts of a file become one, and how that is kept for the next time.

    Attributes:
        what: What they say, and by which rules: it is equal where the same bytes have equal summaries.
        merge: Puts two together, the one that comes first in the file first; associative.
        plain: A summary as JSON values.
        of_plain: The inverse.
    """

    what: str
    merge: Callable[[T, T], T]
    plain: Callable[[T], Any]
    of_plain: Callable[[Any], T]


class Heads(Protocol):
    """Input of inference: the heads of the files of a scan, or all of their records.

    What reads raises ``SourceError`` if a file cannot be read.
    """

    @property
    def files(self) -> Sequence[FileMetadata]:
        """Every file of the scan."""

    @property
    def chosen(self) -> Sequence[FileMetadata]:
        """The files whose values are looked at, by path: all that are not empty, or ``sampleFiles`` of them."""

    def read(
        self,
        files: Sequence[FileMetadata],
        options: ReadOptions,
        columns: Mapping[str, pa.Schema],
        summarise: Callable[[Iterator[pa.RecordBatch], pa.Schema], T],
        kept: Summaries[T],
    ) -> list[tuple[FileMetadata, T]]:
        """Summarise the records of files, each file in parts, side by side: all of them, or those of its head.

        Args:
            files: The files.
            options: How their records are read.
            columns: Into which columns, by path.
            summarise: Given the records of a part, and its columns.
            kept: How the summaries of parts become one.
        """

    def parts(self, at: Callable[[Head], T], kept: Summaries[T]) -> list[tuple[FileMetadata, T]]:
        """Findings of *at* in the parts of each chosen file, side by side: in all of it, or in its head.

        Files come by path, without those that vanished, where they may.
        """

    def look(self, files: Sequence[FileMetadata], at: Callable[[Head], T]) -> list[tuple[FileMetadata, T]]:
        """Findings of *at* in the head of each of *files*; without those that vanished, where they may.

        Several files are looked at side by side, so *at* must not depend on the order.
        """

    def look_for_names(
        self, sampled: Sequence[FileMetadata], at: Callable[[Head], T], kept: Summaries[T]
    ) -> list[tuple[FileMetadata, T]]:
        """Findings in *sampled*; where no name may be missed, of the first bytes of all other files too, by path."""


def spread(files: Sequence[FileMetadata], most: int) -> list[FileMetadata]:
    """At most *most* files that are not empty, by path: the first, the last, and others evenly between them.

    Example:
        >>> files = [FileMetadata(name, 1, 0, "", name) for name in "dbca"]
        >>> [[file.path for file in spread(files, most)] for most in (1, 2, 3)]
        [['a'], ['a', 'd'], ['a', 'b', 'd']]
    """
    full = sorted((file for file in files if file.size_bytes), key=lambda file: file.path)
    if len(full) <= most:
        return full
    return [full[(len(full) - 1) * i // (most - 1)] for i in range(most)] if most > 1 else full[:1]


def one_value(kind: pa.DataType) -> FoundSchema:
    """The columns of records that are one value."""
    return FoundSchema(pa.schema([(VALUE, kind)]), NOTHING)


def check_one_value(fields: pa.Schema, kinds: Sequence[pa.DataType]) -> None:
    """Refuse columns of records that are one value each, but for one of some types, of any name.

    Raises:
        UsageError: ``[bad-schema]``.
    """
    if len(fields) == 0 or (len(fields) == 1 and fields.field(0).type in kinds):
        return
    names = [type_name(kind) for kind in kinds]
    raise UsageError(
        f"a record of this format is one value: it has one column, of type {' or '.join(names)}",
        seen=", ".join(f"{field.name} {type_name(field.type)}" for field in fields),
        fix=f"give the schema '{VALUE} {names[0]}', or none; for other types convert the column, or choose a format "
        "whose records have columns",
        code="bad-schema",
    )


class DroppedLines(Protocol):
    """Tells which of the lines that options drop look like records; of each its code, and its place."""

    @property
    def first(self) -> bool:
        """True if the first record of a file is looked at."""

    def before(self, head: bytes, preamble: Preamble, *, at_end: bool) -> Iterator[tuple[str, int]]:
        """Lines before the first record, of the first bytes of a file."""

    def between(self, record: bytes, gap: bytes, offset: int) -> Iterator[tuple[str, int]]:
        """Lines after a record; *gap* begins at *offset* with what ends it."""

    def begins_with_header(self, data: bytes, *, at_end: bool) -> str | None:
        """Code of the first record of a file, with which *data* begins, if it looks like a header."""


class Suspects(Protocol):
    """Tells bytes that may hold what is odd from those that hold nothing of it, fast. Picklable."""

    def may_be_in(self, data: Buffer) -> bool:
        """True if these bytes, a part of a file after its head, may hold some of it."""


class RepeatedHeader(Protocol):
    """Tells the header of a file, which may come again, from other records."""

    @property
    def least_bytes(self) -> int:
        """Length of the shortest record that may be the header."""

    @property
    def firsts(self) -> list[int]:
        """Bytes that such a record may begin with."""

    @property
    def lasts(self) -> list[int]:
        """Bytes that it may end with."""

    def is_again(self, record: bytes) -> bool:
        """True if a record is the header, however its names are written."""


Own_contra = TypeVar("Own_contra", bound=RecordOptions, contravariant=True)
"""The options of one format."""


class Projection(Protocol):
    """Columns that a scan wants of the records of a file."""

    @property
    def options(self) -> ReadOptions:
        """Options of the user."""

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
        """True if the fields of a record are one array."""

    @property
    def elements(self) -> tuple[int, ...] | None:
        """Indexes that are wanted of that array; ``None`` for all."""

    @property
    def delivers_no_value(self) -> bool:
        """True if no column holds anything of a record's bytes."""


class BlockSpelling(NamedTuple):
    """A format, and the columns to decode, as the kernel's block reader is told them: JSON values.

    Attributes:
        fields: Name, type and rules of each column of ``Projection.validated``.
        encoding: Of files that do not say another one.
        marks: What tells where records are, where it is text.
        reads_head: Whether only Python knows what the head of a file says, beside a header and a byte order mark.
    """

    format: dict[str, Any]
    fields: list[dict[str, Any]]
    encoding: Encoding = UTF_8
    marks: tuple[str, ...] = ()
    reads_head: bool = False

    @property
    def needs_head(self) -> bool:
        """True if a block must say what the head of its file says, in the words of the kernel."""
        return self.reads_head or self.encoding != UTF_8


class Contradiction(NamedTuple):
    """Part of a sample that cannot be meant as the options read it.

    Attributes:
        harm: What would become of the records.
        seen: The text of the sample that shows it.
        options: What the sample needs, by Spark's names.
        fix: How to give these options, and how to read it like this all the same.
    """

    harm: str
    seen: str
    options: Mapping[str, Any]
    fix: str


class OtherLayout(NamedTuple):
    """Options under which a file holds another number of records, if those that it is read with are wrong.

    Attributes:
        this_option: The option, as it is, by Spark's name.
        other_option: The same as these options have it.
    """

    own: RecordOptions
    this_option: str
    other_option: str


class Format(Protocol[Own_contra]):
    """One record format. It is stateless: what a user says is in its own options, what a file says in its preamble.

    A format inherits from it what most formats have: files that say nothing of their columns, which may have any type.
    Methods are given *own*, the format's own options.

    Attributes:
        advises: Whether it can see in a sample if its options are what the file needs. Then these have an encoding.
        shows_columns: Whether every record says which columns it has, so that one may have more than all before it.
        repeats_members: Whether what is one value in some records may come several times in others. Of a column that is
            no array only the last of them is read.
    """

    advises: bool = False
    shows_columns: bool = False
    repeats_members: bool = False

    @property
    def options_class(self) -> type[RecordOptions]:
        """The class of the format's own options, which declares them."""

    def framing(self, own: Own_contra) -> RecordFormat:
        """The way to find records that the format's own options describe."""

    def decoder(self, own: Own_contra, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """Decoder of the records of one file into the columns ``wanted.validated``.

        Raises:
            SchemaError: If what the file says of its columns does not agree with the schema.
        """

    def block_spelling(self, own: Own_contra, wanted: Projection) -> BlockSpelling:
        """Words in which the kernel's block reader is told of a scan."""

    def check_header(self, own: Own_contra, wanted: Projection, file: FileMetadata, preamble: Preamble) -> None:
        """Checks of :meth:`decoder`, for those who decode nothing; none where a file says nothing of its columns.

        Raises:
            SchemaError: If what the file says of its columns does not agree with the schema.
        """

    def check_schema(self, own: Own_contra, options: ReadOptions, fields: pa.Schema) -> None:
        """Refuse columns that records of this format cannot have; none, where values are converted to any type.

        Raises:
            UsageError: ``[bad-schema]`` for a type that no value of a record can have.
        """

    def envelope_columns(self, own: Own_contra) -> pa.Schema:
        """Columns whose values stand around the records; ``envelope_reader`` of the framing finds them."""
        return pa.schema([])

    def envelope_values(
        self, own: Own_contra, options: ReadOptions, column: pa.Field, texts: Sequence[str | None]
    ) -> pa.Array:
        """Values of such a column, as they are written.

        Raises:
            RecordError: ``[bad-envelope]`` for one that does not fit the type of the column.
        """
        raise InvariantError("only a format with columns around its records reads values there")

    def infer(self, own: Own_contra, options: ReadOptions, heads: Heads) -> FoundSchema:
        """The columns that the heads of files show; none if no file has a record to take them from.

        The result does not depend on the order in which the files are listed.

        Raises:
            SchemaError: If files disagree, and that is not allowed.
            SourceError: If a file cannot be read.
        """

    def shape(self, own: Own_contra, options: ReadOptions, record: bytes) -> pa.DataType:
        """The struct of what a record in UTF-8 holds, as the format finds types; without members for a broken one."""
        return pa.struct([])

    def dropped(self, own: Own_contra, preamble: Preamble, fits: Callable[[bytes], bool]) -> DroppedLines | None:
        """Return what counts the lines that options drop; ``None`` where samples have shown no such option.

        A line *fits* that is one record whose values fit their columns.
        """
        return None

    def repeated_header(self, preamble: Preamble) -> RepeatedHeader | None:
        """Return what knows the header of a file again; ``None`` of a file without one."""
        return None

    def suspects(self, own: Own_contra, preamble: Preamble) -> Suspects | None:
        """Return what looks for bytes that may hold what is odd; ``None`` where nothing can be."""
        return None

    def looks_at_heads(self, own: Own_contra) -> bool:
        """True if something odd may be told of the first lines of a file."""
        return False

    def advice(self, own: Own_contra, text: str) -> str | None:
        """Warning about the beginning of a file, as the end of a sentence; ``None`` if nothing is suspect."""
        return None

    def contradiction(
        self, own: Own_contra, given: frozenset[str], text: str, *, is_start: bool
    ) -> Contradiction | None:
        """Part of a sample that cannot be meant as the options read it: an ingest must stop; ``None`` if none.

        Args:
            own: The format's own options.
            given: Names of the options that the user gave: those are obeyed.
            text: A sample, of any part of a file.
            is_start: Whether the file begins with it.
        """
        return None

    def other_layout(self, own: Own_contra) -> OtherLayout | None:
        """Another way in which records may be written, under which as many are to be found; ``None`` without one."""
        return None
