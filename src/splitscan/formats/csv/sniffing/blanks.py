"""Tables whose fields stand between blanks or colons: looked for where no other separator divides the lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from splitscan.formats.csv.sniffing.found import Confidence, shown
from splitscan.formats.csv.sniffing.header import find_header
from splitscan.formats.csv.sniffing.reading import Reading
from splitscan.formats.csv.sniffing.separators import ONE_COLUMN, is_constant
from splitscan.formats.csv.sniffing.values import BLANKS, Record, is_typed

_LEAST_LINES = 3
_TYPED_SHARE = 0.9
_EVEN_SHARE = 0.98  # of lines that have as many fields
_LOOKED_AT = 1000  # lines
_RUN = re.compile(rb"[ \t]+")


def with_fields_in_lines(chosen: Reading, given: Mapping[str, Any]) -> Reading:
    """The reading, where lines are its only values; or a better one, or the doubt that they hold several values.

    One blank between fields is a separator as others are. For runs of blanks there is no option, and a colon stands in
    many a text: both are told.

    Args:
        chosen: The best reading.
        given: What the user said.
    """
    lines = chosen.contents[:_LOOKED_AT]
    is_line = chosen.columns == 1 and chosen.sep != ONE_COLUMN and len(lines) >= _LEAST_LINES
    if not is_line or 2 * sum(map(is_typed, lines)) > len(lines):
        return chosen
    said = {name: given.get(name, '"') or None for name in ("quote", "escape")}
    between = chosen.but(sep=" ", **said)
    if _is_table(between) and not any(
        value == b"" and not quoted for record in between.records for value, quoted in record
    ):
        return between
    fields = [[(value, False) for value in _RUN.split(line.strip(BLANKS))] for line in lines]
    width = _common_width(fields)
    if width > 1 and _holds_values([record for record in fields if len(record) == width]):
        return chosen.but(doubt=_between_blanks(width))
    by_colon = chosen.but(sep=":")
    if is_constant(by_colon) and _holds_values(by_colon.records):
        return chosen.but(
            doubt=f"Each line has {by_colon.columns} values between colons: give sep=:, or {_one_column()}."
        )
    return chosen


def _is_table(reading: Reading) -> bool:
    """Whether all records have as many fields; the first one may lack the name of the first column, as R writes it."""
    widths = {len(record) for record in reading.records[1:]}
    if widths != {reading.columns} or reading.columns == 1:
        return False
    return len(reading.records[0]) in (reading.columns, reading.columns - 1) and _holds_values(
        reading.records[1:], reading
    )


def _common_width(fields: Sequence[Record]) -> int:
    """The number of fields of nearly all lines; 1 where they differ."""
    width, lines = Counter(map(len, fields[1:])).most_common(1)[0]
    return width if lines >= _EVEN_SHARE * (len(fields) - 1) else 1


def _holds_values(records: Sequence[Record], reading: Reading | None = None) -> bool:
    """Whether half of the columns are of typed values, or a header stands above one: texts are mostly sentences."""
    columns = [[record[i][0] for record in records[1:] if i < len(record)] for i in range(len(records[0]))]
    typed = sum(bool(values) and sum(map(is_typed, values)) >= _TYPED_SHARE * len(values) for values in columns)
    header = find_header(records if reading is None else reading.records)
    return 2 * typed >= len(columns) or (header.value and header.confidence is Confidence.CERTAIN)


def _between_blanks(width: int) -> str:
    return (
        f"Each line has {width} values between blanks, and there is no option for runs of blanks: give sep=' ' if one "
        f"stands between two values, or {_one_column()}."
    )


def _one_column() -> str:
    return f"for whole lines sep={shown(ONE_COLUMN)}"
