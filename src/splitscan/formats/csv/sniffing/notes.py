"""Lines of a table that may be no records of it: nothing is lost where they are read, and it is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from splitscan.formats.csv.sniffing.doubts import lines_of_names
from splitscan.formats.csv.sniffing.evidence import quoted
from splitscan.formats.csv.sniffing.found import Setting
from splitscan.formats.csv.sniffing.reading import Reading
from splitscan.formats.csv.sniffing.values import Record, is_typed

_LEAST_COLUMNS = 2  # of values, where a line has texts
_LEAST_RECORDS = 3  # that say what a column holds
_MOST_RECORDS = 20


def notes_of(chosen: Reading, header: Setting) -> Iterator[str]:
    """Notes on the lines below a header, each the end of a sentence that begins with the file.

    Args:
        chosen: The reading, of which nothing is in doubt.
        header: Whether its first record names the columns.
    """
    records = chosen.records
    if not header.value or len(records) <= _LEAST_RECORDS:
        return
    names = lines_of_names(records)
    if names:
        below = chosen.lines_before(names[-1]) + 1
        yield (
            f"has texts above values in line {below:,}, {_shown(chosen, names[-1])}, and reads them as a record: if "
            f"they are units, give header=false with skipRows={below} and a schema"
        )
    other = _other_header(records, first=names[-1] + 1 if names else 1)
    if other is not None:
        yield (
            f"has texts in line {chosen.lines_before(other) + 1:,}, {_shown(chosen, other)}, where all lines above "
            "have values: another table may begin there, and its lines are read as records of the first"
        )


def _shown(chosen: Reading, record: int) -> str:
    return quoted(chosen.sep.encode().join(value for value, _ in chosen.records[record]))


def _other_header(records: Sequence[Record], first: int) -> int | None:
    """The first record that has different texts in all columns in which those before it have values."""
    known = records[first : first + _MOST_RECORDS]
    if len(known) < _LEAST_RECORDS:
        return None
    typed = [
        column
        for column in range(min(map(len, known)))
        if all(is_typed(record[column][0]) for record in known[:_LEAST_RECORDS])
    ]
    if len(typed) < _LEAST_COLUMNS:
        return None
    for number, record in enumerate(records[first + _LEAST_RECORDS :], first + _LEAST_RECORDS):
        texts = [record[column][0] for column in typed if column < len(record) and record[column][0][:1].isalpha()]
        if len(texts) == len(typed) == len(set(texts)) and not any(map(is_typed, texts)):
            return number
    return None
