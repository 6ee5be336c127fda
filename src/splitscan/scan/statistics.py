"""Statistics of columns: nulls, least, greatest, and about how many distinct values; in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.json.writing import json_values, plain_texts

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
    for batch in batches:
        for column, values in zip(columns, batch.columns, strict=True):
            column.add(values)
    return [column.found() for column in columns]


class _Column:
    def __init__(self, field: pa.Field) -> None:
        self._field = field
        self._ordered = not pa.types.is_nested(field.type)
        self._rows = self._nulls = 0
        self._least: pa.Scalar | None = None
        self._greatest: pa.Scalar | None = None
        self._hashes: _Hashes = np.empty(0, np.uint64)

    def add(self, values: pa.Array) -> None:
        self._rows += len(values)
        self._nulls += values.null_count
        held = values.drop_null()
        if not len(held):
            return
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
