"""What must be known of the columns of a CSV file before its records are decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.conversions import Rules
from splitscan.options import BlankAs

_BLANK = r"^[ \t]*$"


@dataclass(frozen=True)
class CsvLayout:
    """What the decoder must know about the columns of a file.

    Attributes:
        names: Names of the file's fields, in file order; their number is what every record must have.
        kinds: Type of each field.
        wanted: Indices of the fields to deliver, in the order wanted.
        least: Least number of fields that a record may have; all of them when ``None``.
        unmatched: Indices of the fields that the schema does not have.
        rules: How the values of fields are written that have a pattern of their own.
        blanks: What blanks of fields become where that is said.
        defaults: What stands for fields that a short record does not have; null where there is none.
    """

    names: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    wanted: tuple[int, ...]
    least: int | None = None
    unmatched: tuple[int, ...] = ()
    rules: Mapping[int, Rules] = field(default_factory=dict)
    blanks: Mapping[int, BlankAs] = field(default_factory=dict)
    defaults: Mapping[int, pa.Scalar] = field(default_factory=dict)

    def is_text(self, index: int) -> bool:
        """Whether a field is delivered as it is written."""
        kind = self.kinds[index]
        return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))

    def is_short(self, count: int) -> bool:
        """Whether a record with so many fields lacks some."""
        return count < (len(self.names) if self.least is None else self.least)

    def fill_blanks(self, texts: pa.Array, values: pa.Array, index: int) -> pa.Array:
        """The values of a field, with what its blanks become.

        Args:
            texts: What is written; null where nothing is.
            values: The same, with null for texts that mean null.
            index: The field.
        """
        blank = self.blanks.get(index)
        if blank is None:
            return values
        is_blank = pc.fill_null(pc.match_substring_regex(texts, _BLANK), True)
        return pc.if_else(is_blank, pa.scalar(text_of_blank(blank, self.kinds[index]), pa.string()), values)

    def fill_missing(self, column: pa.Array, counts: npt.NDArray[np.int64], index: int) -> pa.Array:
        """The values of a field, with its default where a record is too short to have it.

        Args:
            column: The values; null where a record has none.
            counts: Number of fields of each record.
            index: The field.
        """
        default = self.defaults.get(index)
        missing = counts <= index
        return column if default is None or not missing.any() else pc.if_else(pa.array(missing), default, column)


def text_of_blank(blank: BlankAs, kind: pa.DataType) -> str | None:
    """What stands in the place of a blank field of a type; ``None`` for null."""
    if blank is BlankAs.ZERO and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return "0"
    if blank is BlankAs.EMPTY and (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return ""
    return None
