"""Rows in this process: what every scan can do that has a schema and gives batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from splitscan.errors import UsageError

if TYPE_CHECKING:
    import polars as pl


_NOTHING: tuple[pa.RecordBatch, ...] = ()


class Rows(ABC):
    """Hands rows to whoever takes Arrow: ``pl.DataFrame(scan)``, ``duckdb.sql("from scan")``, ``write_deltalake``."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Schema of the rows."""

    @abstractmethod
    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in batches, read while they are taken."""

    def to_reader(self) -> pa.RecordBatchReader:
        """All rows as a reader of Arrow; memory is that of a few batches."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows by Arrow's interface for C, which every library of data frames takes.

        Args:
            requested_schema: What the taker would like; casts that lose nothing are made.
        """
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def head(self, rows: int = 10) -> pa.Table:
        """The first rows; no more is read than they need.

        Args:
            rows: How many, at most.
        """
        taken, left = [], rows
        batches = iter(self.to_batches()) if rows > 0 else iter(_NOTHING)
        while left > 0 and (batch := next(batches, None)) is not None:
            taken.append(batch.slice(0, left))
            left -= taken[-1].num_rows
        close = getattr(batches, "close", None)
        if close is not None:
            close()  # of files that are open
        return pa.Table.from_batches(taken, schema=self.schema)

    def to_pandas(self, **options: Any) -> Any:
        """All rows as a pandas DataFrame.

        Args:
            options: Of :meth:`pyarrow.Table.to_pandas`.

        Raises:
            UsageError: If pandas is not installed.
        """
        _check_installed("pandas")
        return self.to_reader().read_all().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """All rows as a Polars DataFrame.

        Raises:
            UsageError: If Polars is not installed.
        """
        _check_installed("polars")
        import polars  # noqa: PLC0415 -- optional

        frame = polars.from_arrow(self.to_reader())
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
