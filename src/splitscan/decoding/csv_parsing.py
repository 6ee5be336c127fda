"""Arrow's CSV parser, asked for some columns of records that are CSV as it understands it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from splitscan.decoding.conversions import FIRST_US, LAST_US
from splitscan.framing.words import contains

_MOST_RAGGED = 4096  # with more irregular records than this in one buffer, all of it takes the slow road
_CACHED_BYTES = 1 << 18  # looked at while it is in the processor's cache
_TRUE = ["".join(c) for c in product("tT", "rR", "uU", "eE")]
_FALSE = ["".join(c) for c in product("fF", "aA", "lL", "sS", "eE")]


@dataclass(frozen=True, slots=True)
class Grammar:
    """What Arrow's parser must know of the text.

    Attributes:
        fields: Number of fields of a record.
        sep: Separates them: one character.
        quote: Encloses them; ``None`` for none.
        null_values: Texts that are null, in quotes or not.
        quoted_nulls: Whether texts in quotes may be null.
    """

    fields: int
    sep: str
    quote: str | None
    null_values: tuple[str, ...]
    quoted_nulls: bool


def parse_fields(
    data: memoryview, grammar: Grammar, kinds: Mapping[int, pa.DataType], ragged: RaggedRows
) -> dict[int, pa.Array]:
    """Columns of the records in *data* that have the right number of fields.

    Args:
        data: Records.
        grammar: How they are written.
        kinds: By index, the types of the fields to read.
        ragged: Told of records with another number of fields.

    Raises:
        pa.ArrowInvalid: If there are too many of those, or a value is not of its type.
    """
    names, converting = _options(grammar, tuple(kinds.items()))
    reader = (
        csv.open_csv(  # read_csv would hand the bytes to another thread, which costs more than parsing a small file
            pa.BufferReader(pa.py_buffer(data)),
            read_options=csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=grammar.sep,
                quote_char=grammar.quote or False,
                double_quote=True,
                escape_char=False,
                newlines_in_values=False,
                ignore_empty_lines=True,
                invalid_row_handler=ragged.take,
            ),
            convert_options=converting,
        )
    )
    table = reader.read_all()
    return {i: one_chunk(table.column(number)) for number, i in enumerate(kinds)}


@lru_cache
def _options(grammar: Grammar, kinds: tuple[tuple[int, pa.DataType], ...]) -> tuple[list[str], csv.ConvertOptions]:
    """Names of all fields, and how those to read are converted: the same for all buffers of all files of a scan."""
    names = [str(i) for i in range(grammar.fields)]
    converting = csv.ConvertOptions(
        check_utf8=False,  # all bytes were checked at once, and faster
        column_types={names[i]: kind for i, kind in kinds},
        include_columns=[names[i] for i, _ in kinds],
        null_values=list(grammar.null_values),
        strings_can_be_null=True,
        quoted_strings_can_be_null=grammar.quoted_nulls,
        true_values=_TRUE,
        false_values=_FALSE,
    )
    return names, converting


class RaggedRows:
    """Records whose number of fields is wrong: index and number."""

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}

    def take(self, row: csv.InvalidRow) -> str:
        """Arrow's handler of invalid rows; what it raises would be lost, what it returns is not."""
        if len(self.rows) >= _MOST_RAGGED:
            return "error"
        self.rows[row.number - 1] = row.actual_columns
        return "skip"


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def interleave(regular: pa.Array, where: list[int], odd: pa.Array) -> pa.Array:
    """Put the values of *odd* at the rows *where*, and *regular* around them."""
    total = len(regular) + len(odd)
    is_odd = np.zeros(total, dtype=bool)
    is_odd[where] = True
    index = np.empty(total, dtype=np.int64)
    index[~is_odd] = np.arange(len(regular))
    index[is_odd] = len(regular) + np.arange(len(odd))
    return pa.concat_arrays([regular, odd]).take(pa.array(index))


def arrow_kind(kind: pa.DataType) -> pa.DataType:
    """The type Arrow's parser is asked for: local time where the zone comes later, text where bytes are text."""
    if pa.types.is_binary(kind):
        return pa.string()
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind


def check_range(column: pa.Array, kind: pa.DataType) -> None:
    """Refuse what Arrow's parser lets pass: decimals with too many digits, times outside of the years 1 to 9999.

    Raises:
        pa.ArrowInvalid: So that the values are judged one by one.
    """
    if pa.types.is_decimal(kind):
        column.validate(full=True)
    elif pa.types.is_temporal(kind):
        units = pc.min_max(column.cast(pa.timestamp("us")).cast(pa.int64())).as_py()
        if units["min"] is not None and not FIRST_US <= units["min"] <= units["max"] <= LAST_US:
            raise pa.ArrowInvalid("outside of the years 1 to 9999")


def has_hexadecimal(data: memoryview) -> bool:
    """Whether ``0x`` stands anywhere: Arrow reads hexadecimal integers, Spark does not."""
    units = np.frombuffer(data, dtype=np.uint8)
    if not contains(units, ord("x")) and not contains(units, ord("X")):
        return False
    for start in range(0, len(units), _CACHED_BYTES):
        piece = units[max(start - 1, 0) : start + _CACHED_BYTES]
        hits = np.flatnonzero((piece | 0x20) == ord("x"))
        if bool((piece[np.maximum(hits - 1, 0)] == ord("0")).any()):
            return True
    return False
