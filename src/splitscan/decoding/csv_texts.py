"""Fields of CSV records as texts, before they are values."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from splitscan.decoding.csv_parsing import interleave


@dataclass(slots=True)
class Texts:
    """Fields as texts.

    Attributes:
        columns: By index of the field; null where a record has no value.
        width: Number of fields of most records.
        counts: Number of fields of the others.
        extras: What is behind the last field that is expected or a column, by record.
    """

    columns: dict[int, pa.Array]
    width: int
    counts: dict[int, int] = field(default_factory=dict)
    extras: dict[int, list[str | None]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(next(iter(self.columns.values())))

    def behind(self, expected: int) -> int:
        """The first field that is none of the columns."""
        return max(expected, self.width)

    def with_odd(self, odd: Texts, where: list[int]) -> Texts:
        """These, with the records of *odd* put in at the rows *where*."""
        columns = {i: interleave(column, where, odd.columns[i]) for i, column in self.columns.items()}
        counts = {where[row]: count for row, count in odd.counts.items()}
        return Texts(columns, self.width, counts, {where[row]: values for row, values in odd.extras.items()})
