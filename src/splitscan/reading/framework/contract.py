"""Contract of managed readers: input, origin of rows, output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.content.storage import ByteSource
from splitscan.errors import SplitscanError, UsageError, Where
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.options import Mode, ReadOptions
from splitscan.sizes import MIB

if TYPE_CHECKING:
    from splitscan.reading.framework.loader import ResultSetLoader
    from splitscan.reading.framework.operator import SchemaNegotiator

E = TypeVar("E", bound=SplitscanError)
Positions: TypeAlias = int | Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """Position in the file of the rows of one append.

    Attributes:
        line: Line of the first row, from 1, or of each row.
        base: What is added to an offset, where offsets are counted from a point in the file.
        first: Rows of the append that come before the row 0 that is asked for.

    Example:
        >>> Origin(offset=[0, 12], line=7).of(1)
        (12, None)
        >>> Origin(offset=100).of(0), Origin(offset=100).near(3)
        ((100, None), (100, None))
    """

    offset: Positions | None = None
    line: Positions | None = None
    base: int = 0
    first: int = 0

    def of(self, row: int) -> tuple[int | None, int | None]:
        """Offset and line of a row, where they are known exactly."""
        offset, line = _exact(self.offset, self.first + row), _exact(self.line, self.first + row)
        return None if offset is None else self.base + offset, line

    def near(self, row: int) -> tuple[int | None, int | None]:
        """Offset and line of a row, or of the first row of its append."""
        offset, line = self.of(row)
        if offset is None and line is None:
            return self.of(-self.first)
        return offset, line

    def part(self, start: int) -> Origin:
        """The origin of the rows from one on."""
        return replace(self, first=self.first + start) if start else self


def as_origin(given: Origin | int | None) -> Origin:
    """An origin, or a byte offset as one."""
    if isinstance(given, Origin):
        return given
    return Origin() if given is None else Origin(offset=given)


def _exact(positions: Positions | None, row: int) -> int | None:
    if positions is None:
        return None
    if isinstance(positions, int | np.integer):
        return int(positions) if row == 0 else None
    return int(positions[row]) if row < len(positions) else None


class ReaderPosition:
    """A reader by its name, what it reads, and how far it came."""

    def __init__(self, split: BlockMetadata, reader: str) -> None:
        self.split = split
        self.path = split.file.path
        self.reader = reader
        self.failure: SplitscanError | None = None
        self._notes: dict[str, str] = {}
        self._last: tuple[Origin, int] = (Origin(), 0)

    def note(self, **values: object) -> None:
        """Note for every later message about the reader."""
        self._notes |= {name: str(value) for name, value in values.items()}

    def pass_by(self, origin: Origin, rows: int) -> None:
        """Remember the location of the last rows that were taken."""
        if rows:
            self._last = origin, rows - 1

    def where(
        self, row: int | None = None, offset: int | None = None, line: int | None = None, column: str | None = None
    ) -> Where:
        """A location for a message."""
        return Where(
            self.path,
            offset,
            (self.split.start, self.split.stop),
            column,
            line,
            row,
            self.reader,
            tuple(self._notes.items()),
        )

    def where_now(self) -> Where:
        """The location of the last rows that were taken."""
        origin, row = self._last
        offset, line = origin.near(row)
        return self.where(offset=offset, line=line)

    def misused(self, rule: str, seen: str | None = None) -> UsageError:
        """The error for a reader that breaks the protocol."""
        return UsageError(
            f"{rule}: the reader is wrong",
            self.where_now(),
            seen=seen,
            fix="correct the reader; docs/scan-framework.md says what may be called when",
            code="reader-broken",
        )

    def remember(self, error: E) -> E:
        """Complete an error, and keep the first: a reader that catches it must not turn it into missing rows."""
        error.locate(self.where_now())
        self.failure = self.failure or error
        return error


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
        """Release what ``open`` took. Called exactly once, whatever happened, also after an ``open`` that failed."""


LARGEST_BATCH_BYTES = (1 << 31) - 1
"""What one Arrow array of texts, bytes or lists can hold: its offsets have 31 bits."""


@dataclass(frozen=True)
class OutputPlan:
    """Output of a scan.

    Attributes:
        schema: Of every batch. ``None`` while the columns of a reader are looked for: then no row is kept.
        validated: Columns that must convert, delivered or not, in mode DROPMALFORMED, so that the number of rows does
            not depend on the projection, and where a column speaks of broken rows. By default those of *schema*.
        defaults: What a missing column holds, or an omitted field, in place of null.
        mode: What happens to a row with a value that does not convert: PERMISSIVE delivers it with a null,
            DROPMALFORMED drops it, FAILFAST raises an error. The first two report a reject.
        largest_batch_bytes: Most bytes of any batch; a row that is larger is an error.
        limit: Most rows of the scan; ``None`` for all.
        ignore_missing: Whether a file that is gone is skipped, with a reject for all of it.
    """

    schema: pa.Schema | None
    validated: pa.Schema | None = None
    defaults: Mapping[str, pa.Scalar] = field(default_factory=dict)
    mode: Mode = Mode.PERMISSIVE
    corrupt_column: str | None = None
    reason_column: str | None = None
    batch_rows: int = 65_536
    batch_bytes: int = 16 * MIB
    largest_batch_bytes: int = LARGEST_BATCH_BYTES
    limit: int | None = None
    ignore_missing: bool = False

    @property
    def told(self) -> tuple[str, ...]:
        """Names of the columns that speak of broken rows, which no reader brings."""
        return tuple(name for name in (self.corrupt_column, self.reason_column) if name)


@dataclass(frozen=True)
class ReaderPlan:
    """A reader to be run, and what it reads.

    Attributes:
        open_source: Opens the file, and raises if it is not the one that was planned.
        constants: Columns whose value is the same in all its rows, such as the name of the file.
    """

    reader: ManagedReader
    split: BlockMetadata
    open_source: Callable[[], ByteSource]
    options: ReadOptions
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict)
    provided_schema: pa.Schema | None = None
    read_bytes: int = MIB


def declared_schema(reader: object) -> pa.Schema | None:
    """Columns that a reader declares before it is opened: its ``schema``, DDL text or an Arrow schema."""
    said = getattr(reader, "schema", None)
    if isinstance(said, str):
        return parse_ddl(said)
    return said if isinstance(said, pa.Schema) else None


def name_of(reader: object) -> str:
    """Name of a reader in messages: its ``name``, or its class."""
    name = getattr(reader, "name", None)
    return name if isinstance(name, str) and name else type(reader).__name__
