"""Tables whose fields stand between blanks or colons: looked for where no other separator divides the lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from splitscan.formats.csv.sniffing.found import Confidence, shown
from splitscan.formats.csv.sniffing.header import find_header
from splitscan.formats.csv.sniffing.reading import Reading
from splitscan.formats.csv.sniffing.separators import LEAST_SCORE, ONE_COLUMN, is_constant
from splitscan.formats.csv.sniffing.values import BLANKS, Record, is_typed

_LEAST_LINES = 3
_TYPED_SHARE = 0.9
_EVEN_SHARE = 0.98  # of lines that have as many fields
_LOOKED_AT = 1000  # lines
_TWO = 2  # columns: their names may be one name of two words
_MORE_THAN_TIMES = 5  # columns: a time of day has two colons, and a sentence few
_COMMENT = b"#"
_RUN = re.compile(rb"[ \t]+")
_LONG_RUN = re.compile(rb"[ \t]{2}")
_DIGITS_AND_MARKS = re.compile(rb"[^A-Za-z\x80-\xff]*\d[^A-Za-z\x80-\xff]*")
_ADVICE = (
    f"give sep=' ' where one blank stands between two values, and for whole lines sep={shown(ONE_COLUMN)}; there is no "
    "option for runs of blanks"
)


def with_fields_in_lines(chosen: Reading, given: Mapping[str, Any]) -> Reading:
    """The reading, where lines are its only values; or a better one, or the doubt that they hold several values.

    One blank between fields is a separator as others are, where a header names values in three columns or quotes stand
    beside it; a colon is one below a header of three names. Elsewhere they may be parts of values: that is told.

    Args:
        chosen: The best reading.
        given: What the user said.
    """
    lines = [line for line in chosen.contents[:_LOOKED_AT] if not line.startswith(_COMMENT)]
    is_open = chosen.columns == 1 or chosen.score < LEAST_SCORE
    is_line = is_open and chosen.sep != ONE_COLUMN and len(lines) >= _LEAST_LINES
    if not is_line or 2 * sum(map(is_typed, lines)) > len(lines):
        return chosen
    said = {name: given.get(name, '"') or None for name in ("quote", "escape")}
    between = chosen.but(sep=" ", **said)
    if _is_table(between) and _is_named(between):
        return between
    by_colon = chosen.but(sep=":")
    if is_constant(by_colon) and _is_certain(by_colon):
        return by_colon
    doubt = _of_blanks(lines) or _of_colons(chosen)
    return chosen if doubt is None else chosen.but(doubt=doubt)


def _is_table(reading: Reading) -> bool:
    """True if all records have as many fields; the first one may lack the name of the first column, as R writes it."""
    fields = [field for record in reading.records for field in record]
    if {len(record) for record in reading.records[1:]} != {reading.columns} or (b"", False) in fields:
        return False
    return len(reading.records[0]) in (reading.columns, reading.columns - 1) and _holds_values(reading.records)


def _is_named(reading: Reading) -> bool:
    """True if a header, or quotes, say that the blanks of a table are no parts of its values."""
    return reading.quoted_values > 0 or (reading.columns > _TWO and find_header(reading.records).value)


def _is_certain(reading: Reading) -> bool:
    """True if a header of more than two names stands above values."""
    header = find_header(reading.records)
    return reading.columns > _TWO and bool(header.value) and header.confidence is Confidence.CERTAIN


def _of_blanks(lines: Sequence[bytes]) -> str | None:
    """The doubt where lines hold values between blanks, or have runs of blanks."""
    fields = [[(value, False) for value in _RUN.split(line.strip(BLANKS))] for line in lines]
    width, alike = Counter(map(len, fields[1:])).most_common(1)[0]
    is_even = width > 1 and alike >= _EVEN_SHARE * (len(fields) - 1)
    if is_even and _holds_values([record for record in fields if len(record) == width]):
        return f"Each line has {width} values between blanks: {_ADVICE}."
    with_runs = sum(_LONG_RUN.search(line.strip(BLANKS)) is not None for line in lines)
    return (
        f"Most lines have values between runs of blanks: {_ADVICE}." if with_runs >= _TYPED_SHARE * len(lines) else None
    )


def _of_colons(chosen: Reading) -> str | None:
    """The doubt where lines hold values between colons."""
    found = chosen.but(sep=":")
    if not is_constant(found) or not (found.columns >= _MORE_THAN_TIMES or _holds_values(found.records)):
        return None
    return (
        f"Each line has {found.columns} values between colons: give sep=:, or for whole lines sep={shown(ONE_COLUMN)}."
    )


def _holds_values(records: Sequence[Record]) -> bool:
    """True if half of the columns are of values, or a header stands above one: texts are mostly sentences."""
    columns = [[record[i][0] for record in records[1:] if i < len(record)] for i in range(len(records[-1]))]
    typed = sum(sum(map(_is_value, values)) >= _TYPED_SHARE * len(values) for values in columns)
    header = find_header(records)
    return 2 * typed >= len(columns) or (header.value and header.confidence is Confidence.CERTAIN)


def _is_value(value: bytes) -> bool:
    """True if it is typed, is digits and marks, or stands in quotes."""
    return is_typed(value) or _DIGITS_AND_MARKS.fullmatch(value) is not None or value[:1] == b'"' == value[-1:]
