"""Whether the first record of a table names its columns: by contrast with the records below it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from splitscan.formats.csv.sniffing.found import Confidence, Setting
from splitscan.formats.csv.sniffing.reading import Record, is_typed

_MOST_RECORDS = 500
_TYPED_SHARE = 0.9
_NAME = re.compile(rb"[A-Za-z_\x80-\xff#][\w\x80-\xff .\-/()%#$&:?]*")
_LEAST_RECORDS = 3  # below a header, for values to repeat in


def find_header(records: Sequence[Record]) -> Setting:
    """Whether the first of the records is a header.

    Args:
        records: Of a table, from its first one on.
    """
    if not records:
        return Setting(False, Confidence.ASSUMED, "there is no record")
    first, body = [value for value, _ in records[0]], records[1 : _MOST_RECORDS + 1]
    if not body:
        return _of_one_record(first)
    columns = [[record[i][0] for record in body if i < len(record) and record[i][0]] for i in range(len(first))]
    typed = [i for i, values in enumerate(columns) if values and _typed_share(values) >= _TYPED_SHARE]
    contrast = [i for i in typed if first[i].strip() and not is_typed(first[i])]
    same = [i for i in typed if is_typed(first[i])]
    if contrast and not same:
        return Setting(
            True, Confidence.CERTAIN, f"{_columns(contrast)} of typed values begin{_s(contrast)} with a text"
        )
    if contrast:
        doubt = f"{_columns(contrast)} of typed values begin{_s(contrast)} with a text, {_columns(same)} with a value"
        return Setting(len(contrast) > len(same), Confidence.UNSURE, doubt)
    if same:
        return Setting(False, Confidence.CERTAIN, f"the first record is like those below it in {_columns(same)}")
    return _of_texts(first, columns)


def _typed_share(values: Sequence[bytes]) -> float:
    return sum(map(is_typed, values)) / len(values)


def _of_one_record(first: Sequence[bytes]) -> Setting:
    if any(is_typed(value) for value in first if value):
        return Setting(False, Confidence.LIKELY, "the only record has typed values")
    return Setting(False, Confidence.UNSURE, "there is one record, and all of it is text")


def _of_texts(first: Sequence[bytes], columns: Sequence[Sequence[bytes]]) -> Setting:
    """Nothing is typed: values that repeat below, but never as in the first record, speak for a header."""
    if any(is_typed(value) for value in first if value):
        return Setting(False, Confidence.LIKELY, "the first record has a typed value, and no column is of typed values")
    if len({value.lower() for value in first}) < len(first) or not all(_NAME.fullmatch(value) for value in first):
        return Setting(False, Confidence.LIKELY, "the first record is no list of different names")
    met = [i for i, values in enumerate(columns) if first[i] in values]
    if met:
        return Setting(False, Confidence.LIKELY, f"the first value of {_columns(met)} comes again below")
    full = [i for i, values in enumerate(columns) if len(values) >= _LEAST_RECORDS]
    repeats = [i for i in full if len(set(columns[i])) < len(columns[i])]
    if repeats:
        return Setting(True, Confidence.LIKELY, f"values repeat in {_columns(repeats)}, but never the first one")
    even = [i for i in full if len({*map(len, columns[i])}) == 1 and len(columns[i][0]) != len(first[i])]
    if even:
        return Setting(True, Confidence.LIKELY, f"values of {_columns(even)} are of one length, the first is not")
    return Setting(False, Confidence.UNSURE, "all values are texts, and none tells the first record from the others")


def _columns(indexes: Sequence[int]) -> str:
    shown = ", ".join(str(i + 1) for i in indexes[:3]) + (", ..." if len(indexes) > 3 else "")
    return f"column{'s' if len(indexes) > 1 else ''} {shown}"


def _s(indexes: Sequence[int]) -> str:
    return "" if len(indexes) > 1 else "s"
