"""Rows of any scan in this process, and how a scan shows itself."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.errors import UsageError
from splitscan.formats.json.writing import json_values, plain_texts
from splitscan.options import ReadOptions
from splitscan.options.table import declared_options, show_value
from splitscan.redaction import redact
from splitscan.sizes import MIB

if TYPE_CHECKING:
    import polars as pl


_ELSEWHERE = {"mode", "limit", "columns"}  # told with a name of their own
_MOST_CELL_CHARS = 40
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}  # they steer terminals


def facts(
    paths: Sequence[str], options: ReadOptions, columns: Sequence[str] | None, reader: str | None = None
) -> list[tuple[str, str]]:
    """Facts known of a scan without a look at its files, as names and texts; secrets are masked."""
    given = [
        f"{option.name}={'***' if option.kind.secret else show_value(getattr(group, option.attribute))}"
        for group in (options.format, options.schema, options.files, options.reading)
        for option in declared_options(type(group))
        if option.name in options.given and option.name not in _ELSEWHERE
    ]
    found = [
        ("files", ", ".join(redact(path) for path in paths)),
        ("format", reader or options.record_format),
        ("options", ", ".join(given) or "the defaults"),
        ("columns", "as the files show" if columns is None else ", ".join(columns)),
        ("mode", options.reading.mode.value),
    ]
    if options.reading.limit is not None:
        found.append(("limit", str(options.reading.limit)))
    return found


def as_text(name: str, known: Sequence[tuple[str, str]]) -> str:
    """One line.

    Example:
        >>> as_text("Scan", [("files", "a.csv"), ("format", "csv")])
        '<Scan files: a.csv; format: csv>'
    """
    return f"<{name} " + "; ".join(f"{key}: {text}" for key, text in known) + ">"


def as_html(name: str, known: Sequence[tuple[str, str]]) -> str:
    """A small table for notebooks."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(key)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
        for key, text in known
    )
    note = "nothing is read before you ask for rows; each record is delivered exactly once"
    return f"<table><caption>{escape(name)}: {note}</caption>{rows}</table>"


def shown_values(values: pa.Array, *, as_json: bool = False) -> list[Any]:
    """The values of a column for people: those that hold others as JSON, a text of it or, *as_json*, what it means.

    Example:
        >>> shown_values(pa.array([{"a": [1]}, None])), shown_values(pa.array([7]))
        (['{"a":[1]}', None], [7])
    """
    if not pa.types.is_nested(values.type):
        return list(values.to_pylist())
    texts = pc.if_else(values.is_valid(), json_values(values), None).to_pylist()
    return [None if text is None else json.loads(text) for text in texts] if as_json else texts


def as_grid(table: pa.Table) -> str:
    r"""Rows as lines of text, cells cut to 40 characters and without a control character.

    Example:
        >>> print(as_grid(pa.table({"id": [1, 20], "note": ["a\nb", None]})))
        id  note
        1   a\x0ab
        20  null
    """
    columns = [[name, *(_cell(value) for value in shown_values(column.combine_chunks()))]
               for name, column in zip(table.column_names, table.columns, strict=True)]  # fmt: skip
    columns = [[cell.translate(_CONTROLS) for cell in column] for column in columns]
    widths = [max(map(len, column)) for column in columns]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    )
    return "\n".join(lines)


def _cell(value: Any) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _MOST_CELL_CHARS else f"{text[: _MOST_CELL_CHARS - 3]}..."


def checked_limit(rows: int) -> int:
    """A limit that a user gave; ``[bad-limit]`` if it is no whole number from 0 on."""
    try:
        limit = index(rows)
    except TypeError:
        limit = -1
    if limit < 0:
        raise UsageError("a limit is a number of rows", seen=repr(rows), fix="pass 0 or more", code="bad-limit")
    return limit


def first_rows(make: Callable[[], Iterator[pa.RecordBatch]], rows: int | None) -> Iterator[pa.RecordBatch]:
    """The batches of the first rows; no batch after them is read, and what is open is closed.

    *make* begins to read, and is not called where no row is wanted.
    """
    if rows is None:
        yield from make()
        return
    left = rows
    batches = make() if left > 0 else iter(())
    try:
        while left > 0 and (batch := next(batches, None)) is not None:
            yield (taken := batch.slice(0, left))
            left -= taken.num_rows
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()  # of files and connections that are open


class Rows(ABC):
    """Hands rows to whoever takes Arrow: ``pl.DataFrame(scan)``, ``duckdb.sql("from scan")``, ``write_deltalake``."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Schema of the rows."""

    @abstractmethod
    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in batches, read while they are taken."""

    def _reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows by Arrow's interface for C, which every library of data frames takes."""
        return self._reader().__arrow_c_stream__(requested_schema)

    def head(self, rows: int = 10) -> pa.Table:
        """The first rows; no more is read than they need."""
        return pa.Table.from_batches(first_rows(lambda: iter(self.to_batches()), rows), schema=self.schema)

    def show(self, rows: int = 10) -> None:
        """Print the first rows, as ``DataFrame.show`` does; no more is read than they need."""
        print(as_grid(self.head(rows)))  # noqa: T201 -- what it is for

    def to_arrow(self) -> pa.Table:
        """Read everything in this process into one table."""
        return pa.Table.from_batches(self.to_batches(), schema=self.schema)

    def to_pandas(self, **options: Any) -> Any:
        """All rows as a pandas DataFrame."""
        _check_installed("pandas")
        return self._reader().read_all().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """All rows as a Polars DataFrame."""
        _check_installed("polars")
        import polars  # noqa: PLC0415 -- optional

        frame = polars.from_arrow(self._reader())
        assert isinstance(frame, polars.DataFrame)  # of a reader it is
        return frame


def _check_installed(library: str) -> None:
    try:
        __import__(library)
    except ImportError as error:
        raise UsageError(
            f"to_{library} needs {library}",
            seen=str(error),
            fix=f"install {library}, or use to_arrow",
            code="no-library",
        ) from None


_PENDING_VALUES = 1024  # of a column: fewer are not worth a look of their own
_PENDING_BYTES = 16 * MIB  # of all columns
_ARRAY_BYTES = 256  # that an array takes beside its values
_KEPT = 4096  # smallest hashes: an estimate is off by about 1.6% of the number
_SPACE = 2.0**64
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)

_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Statistics of one column.

    Attributes:
        rows: Number of values, nulls included.
        min: The least; ``None`` where there is none, and of columns whose values hold others. NaN does not count.
        estimated: Whether that is an estimate: above 4,096 it is, and off by 1.6% in two of three cases.
    """

    name: str
    type: pa.DataType
    rows: int
    nulls: int
    min: Any
    max: Any
    distinct: int
    estimated: bool = False


def column_statistics(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> list[ColumnStatistics]:
    """Go over rows once.

    Example:
        >>> batch = pa.record_batch({"id": [3, 1, None]})
        >>> column_statistics(batch.schema, [batch, batch])
        [ColumnStatistics(name='id', type=DataType(int64), rows=6, nulls=2, min=1, max=3, distinct=2, estimated=False)]
    """
    columns = [_Column(field) for field in schema]
    pending_bytes = 0
    for batch in batches:
        pending_bytes += sum(column.add(values) for column, values in zip(columns, batch.columns, strict=True))
        if pending_bytes >= _PENDING_BYTES:
            for column in columns:
                column.settle()
            pending_bytes = 0
    return [column.found() for column in columns]


class _Column:
    def __init__(self, field: pa.Field) -> None:
        self._field = field
        self._ordered = not pa.types.is_nested(field.type)
        self._rows = self._nulls = 0
        self._least: pa.Scalar | None = None
        self._greatest: pa.Scalar | None = None
        self._hashes: _Hashes = np.empty(0, np.uint64)
        self._pending: list[pa.Array] = []
        self._pending_values = 0

    def add(self, values: pa.Array) -> int:
        """Take values. Those of a batch that are few wait for more; the bytes that wait are returned."""
        nulls = values.null_count
        self._rows += len(values)
        self._nulls += nulls
        if nulls == len(values):
            return 0
        held = values.drop_null() if nulls else values
        self._pending.append(held)
        self._pending_values += len(held)
        if self._pending_values < _PENDING_VALUES:
            return int(held.nbytes) + _ARRAY_BYTES
        self.settle()
        return 0

    def settle(self) -> None:
        """Look at the values that wait."""
        if not self._pending:
            return
        held = self._pending[0] if len(self._pending) == 1 else pa.concat_arrays(self._pending)
        self._pending, self._pending_values = [], 0
        if self._ordered:
            self._bound(held)
        texts = plain_texts(pc.unique(held)) if self._ordered else pc.unique(json_values(held))
        self._keep(_hash(texts))

    def _bound(self, held: pa.Array) -> None:
        known = [each for each in (self._least, self._greatest) if each is not None and each.is_valid]
        found = pc.min_max(pa.concat_arrays([held, pa.array(known, held.type)]) if known else held)
        self._least, self._greatest = found["min"], found["max"]

    def _keep(self, hashes: _Hashes) -> None:
        if len(self._hashes) == _KEPT:
            hashes = hashes[hashes < self._hashes[-1]]
        self._hashes = np.unique(np.concatenate([self._hashes, hashes]))[:_KEPT]

    def found(self) -> ColumnStatistics:
        self.settle()
        distinct = len(self._hashes)
        estimated = distinct == _KEPT
        if estimated:
            distinct = min(round((_KEPT - 1) / (float(self._hashes[-1]) / _SPACE)), self._rows - self._nulls)
        least, greatest = (None if each is None else each.as_py() for each in (self._least, self._greatest))
        return ColumnStatistics(
            self._field.name, self._field.type, self._rows, self._nulls, least, greatest, distinct, estimated
        )  # fmt: skip


def _hash(texts: pa.Array) -> _Hashes:
    """A number for each text, evenly spread over 64 bits: the same one for the same text, on every machine."""
    texts = texts.cast(pa.large_binary())
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]] if data is not None else np.empty(0, np.uint8)
    bounds = bounds - bounds[0]
    lengths = np.diff(bounds)
    places = np.arange(len(content), dtype=np.int64) - np.repeat(bounds[:-1], lengths)
    weights = _spread(places.astype(np.uint64)) | np.uint64(1)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(weights * (content.astype(np.uint64) + np.uint64(1)))])
    return _spread((sums[bounds[1:]] - sums[bounds[:-1]]) ^ lengths.astype(np.uint64))


def _spread(numbers: _Hashes) -> _Hashes:
    """Each number as another one in which every bit depends on every bit of it (SplitMix64)."""
    first, second, third = (np.uint64(each) for each in _MIX)
    mixed = numbers + first
    mixed = (mixed ^ (mixed >> np.uint64(30))) * second
    mixed = (mixed ^ (mixed >> np.uint64(27))) * third
    return mixed ^ (mixed >> np.uint64(31))
