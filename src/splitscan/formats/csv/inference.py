"""Types of CSV columns: which ones all values fit, as a summary that merges in any order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.contract import Summaries
from splitscan.formats.csv.options import CsvOptions
from splitscan.formats.decoding.contract import MOMENT, MOST_DIGITS
from splitscan.formats.decoding.conversions import (
    LOST,
    NANOSECONDS,
    NUMBER_WITH_POINT,
    Rules,
    all_convert,
    outgrows_double,
)
from splitscan.formats.framing.frames import native
from splitscan.formats.members import inference_document
from splitscan.formats.merge import ANY_VALUE, NO_VALUE, WIDE

# A bit for each type, from the narrowest on, as in the kernel.
_INT, _LONG, _DECIMAL, _DOUBLE, _DATE, _TIMESTAMP, _BOOLEAN = (1 << bit for bit in range(7))
_NUMBERS = _INT | _LONG | _DECIMAL | _DOUBLE
_ALL = (1 << 7) - 1
_KINDS = {
    _INT: pa.int32(), _LONG: pa.int64(), _DOUBLE: pa.float64(), _DATE: pa.date32(),
    _TIMESTAMP: MOMENT, _BOOLEAN: pa.bool_(),
}  # fmt: skip

_FULL_DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"  # written otherwise, Spark finds timestamps
_WHOLE = r"^[ \t]*[+-]?[0-9]+[ \t]*$"
_MAY_OUTGROW = r"^[ \t]*[+-]?([0-9.].*[eE]|[0-9]{16})"
_HAS_DAY = "^[^0-9]*[0-9]{4,}-[0-9]{2}-[0-9]{2}"  # anything else may be the number of a part


class TypeSummary(NamedTuple):
    """The types that all values of a column fit, of those that were seen. ``a | b`` holds for the values of both.

    Attributes:
        kinds: A bit for each type.
        digits: Most digits of a whole number.
        any: Whether there was a value.

    Example:
        >>> TypeSummary.of(pa.array(["1", "2"]), CsvOptions()).kind(CsvOptions())
        DataType(int32)
    """

    kinds: int = _ALL
    digits: int = 0
    any: bool = False

    def __or__(self, other: TypeSummary) -> TypeSummary:
        return TypeSummary(self.kinds & other.kinds, max(self.digits, other.digits), self.any or other.any)

    @classmethod
    def of(cls, column: pa.Array, csv: CsvOptions) -> TypeSummary:
        """Summarise texts by the reference engine."""
        values = column.drop_null()
        if not len(values):
            return cls()
        rules = _rules(csv)
        kinds = sum(bit for bit, kind in _KINDS.items() if bit != _DATE and all_convert(values, kind, rules))
        if (csv.date_format is not None or _all_match(values, _FULL_DATE)) and all_convert(values, pa.date32(), rules):
            kinds |= _DATE
        digits = 0
        if _all_match(values, _WHOLE):
            digits = pc.max(pc.binary_length(pc.ascii_trim(values, "+- \t"))).as_py()
            kinds |= _DECIMAL if digits <= MOST_DIGITS else 0
        with_point = _matching(values, NUMBER_WITH_POINT) if rules.symbols else []
        if pc.any(pc.match_substring_regex(values, LOST)).as_py() or any(map(rules.loses_point, with_point)):
            kinds &= ~_NUMBERS
        if kinds & _DOUBLE and any(map(outgrows_double, _matching(values, _MAY_OUTGROW))):
            kinds &= ~_DOUBLE
        if csv.timestamp_format is None and not (
            _all_match(values, _HAS_DAY) and not pc.any(pc.match_substring_regex(values, NANOSECONDS)).as_py()
        ):
            kinds &= ~_TIMESTAMP
        return cls(kinds, digits, any=True)

    def kind(self, csv: CsvOptions) -> pa.DataType:
        """The narrowest type that all values fit; ``null`` without a value, ``string`` where none does.

        Integers become ``int``, ``bigint`` or, beyond 64 bits, decimals; then come ``double``, ``date``, ``timestamp``
        and ``boolean``. What a number or a moment would lose makes a column one of texts: a leading zero, the letter of
        ``12D``, digits that a double or microseconds do not hold. :data:`splitscan.formats.merge.WIDE` stands for a
        ``bigint`` that no double holds.
        """
        if not self.any:
            return NO_VALUE
        if self.kinds & _DECIMAL and not self.kinds & (_INT | _LONG):
            return pa.decimal256(self.digits, 0)
        if self.kinds & _LONG and not self.kinds & _DOUBLE:
            return WIDE
        allowed = self.kinds if csv.prefer_date else self.kinds & ~_DATE
        return next((kind for bit, kind in _KINDS.items() if allowed & bit), ANY_VALUE)


def summarise_columns(batches: Iterable[pa.RecordBatch], csv: CsvOptions, columns: int) -> list[TypeSummary]:
    """Summarise the columns of batches of texts.

    Args:
        batches: Of one schema.
        csv: How values are written.
        columns: How many columns they have.
    """
    found = [TypeSummary()] * columns
    for batch in batches:
        found = merge_summaries(found, _summarise(batch, csv, [each.kinds for each in found]))
    return found


def merge_summaries(left: Sequence[TypeSummary], right: Sequence[TypeSummary]) -> list[TypeSummary]:
    """Merge the summaries of two parts of a file, column by column."""
    return [one | other for one, other in zip(left, right, strict=True)]


KEPT_TYPES: Summaries[list[TypeSummary]] = Summaries(
    "types",
    merge_summaries,
    lambda found: [list(each) for each in found],
    lambda plain: [TypeSummary(*each) for each in plain],
)
"""How the types of columns are kept."""


def _summarise(batch: pa.RecordBatch, csv: CsvOptions, kinds: list[int]) -> list[TypeSummary]:
    found = native("fit_texts", inference_document({"csv": _rules(csv).spelled}), batch, kinds) if kinds else []
    if found is None:
        return [TypeSummary.of(column, csv) for column in batch.columns]
    return [TypeSummary(*each) for each in found]


def _rules(csv: CsvOptions) -> Rules:
    return Rules(
        csv.nan_value,
        csv.positive_inf,
        csv.negative_inf,
        date_format=csv.date_format,
        timestamp_format=csv.timestamp_format,
        locale=csv.locale,
    )


def _matching(values: pa.Array, pattern: str) -> list[str]:
    return list(values.filter(pc.match_substring_regex(values, pattern)).unique().to_pylist())


def _all_match(values: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())
