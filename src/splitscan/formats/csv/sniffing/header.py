"""True if the first record of a table names its columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

from splitscan.formats.csv.sniffing.found import Confidence, Setting
from splitscan.formats.csv.sniffing.values import (
    MOST_WORDS,
    Record,
    ValueKind,
    are_typed,
    is_placeholder,
    is_typed,
    kind_of,
)

NAME = re.compile(rb"[A-Za-z_\x80-\xff#][\w\x80-\xff .\-/()%#$&:?]*")
"""A text that may name a column."""

_MOST_BELOW = 500
_LEAST_RECORDS = 3  # below a header, for values to repeat in
_LEAST_ALONE = 10  # where there is no other column: one line of few may be the odd one by chance
_LEAST_LABELS = 3  # numbers that name columns; of years and dates two are enough
_MANY_LABELS = 8  # numbers that no record has in order by chance
_IN_ORDER = 0.75  # share of lines in the order of the first one, where that is no sign of names
_REPEATING = 0.8  # share of values that are different, where they repeat
_BY_CHANCE = 0.2  # share of records that seem to be a header
_RARE = 0.1  # share of what may happen by chance
_YEAR = re.compile(rb"\s*(?:1[5-9]|20|21)\d\d\s*")
_PLAIN = re.compile(rb"\s*[+-]?\d{1,9}(?:\.\d{0,6})?\s*")
_IN_TITLES = re.compile(rb"[,;'!+*=]")
_MARKS = re.compile(rb"[^\w\s\x80-\xff]")
_DIGITS = re.compile(rb"\d")
_REPEATS = "values repeat"
_ENDS = (b".", b":", b"?", b"!", b",", b";")
_SMALL_WORDS = re.compile(rb"[a-z][a-z _-]*")
_RUNS = ((re.compile(rb"[A-Z]+"), b"A"), (re.compile(rb"[a-z\x80-\xff]+"), b"a"), (re.compile(rb"\d+"), b"0"))
_TELLING_MARKS = {b"0", b",", b";"}  # that values of several parts have, and a name has not
_MEASURED = (ValueKind.NUMBER, ValueKind.DATE, ValueKind.TIME)
_WORDS = (ValueKind.TRUTH, ValueKind.NOTHING)  # kinds of values that are words too


def find_header(records: Sequence[Record]) -> Setting:
    """True if the first of the records is a header; a sentence alone in its line is none for sure."""
    if not records:
        return Setting(False, Confidence.ASSUMED, "there is no record")
    found = _find(records)
    line = records[0][0][0]
    if found.value and len(records[0]) == 1 and (line.endswith(_ENDS) or len(line.split()) > MOST_WORDS):
        return Setting(False, Confidence.UNSURE, "the first line may be a sentence")
    return found


def _find(records: Sequence[Record]) -> Setting:
    first, body = [value for value, _ in records[0]], records[1 : _MOST_BELOW + 1]
    if not body:
        return _of_one_record(first)
    columns = [[rec[i][0] for rec in body if i < len(rec) and rec[i][0].strip()] for i in range(len(first))]
    is_even = {len(first)} == {*map(len, body)}
    echoes = [i for i, values in enumerate(columns) if {*values} == {first[i]} and is_even and len(values) < len(body)]
    if len(echoes) >= _LEAST_LABELS and len({*first}) == len(first) and all(first):
        return Setting(True, Confidence.LIKELY, f"{_columns(echoes)} have their first value or none")
    sides = _compare(first, columns)
    labels = _labels(first, body, columns, sides.same) if sides.same else None
    return labels or _by_contrast(sides, columns, _met(first, columns)) or _of_texts(first, columns)


def is_contradicted(header: Setting, records: Sequence[Record]) -> bool:
    """True if a header is unsure because values speak for it and against it, and not because none does either."""
    return header.confidence is Confidence.UNSURE and any(is_typed(value) for value, _ in (records or [[]])[0])


class _Sides(NamedTuple):
    """Columns of typed values, by what the first record has there."""

    contrast: list[int]
    """Text, or a value of a kind that the column has not."""
    same: list[int]
    """A value like those below."""
    missing: list[int]
    """What stands where a value is missing: it names nothing."""


def _compare(first: Sequence[bytes], columns: Sequence[Sequence[bytes]]) -> _Sides:
    sides = _Sides([], [], [])
    for i, values in enumerate(columns):
        if not values or not first[i].strip() or not are_typed(values):
            continue
        own, theirs = kind_of(first[i]), _kind_of_most(values)
        if is_placeholder(first[i]) and own is not theirs:
            sides.missing.append(i)
        elif (
            own is None
            or (own is ValueKind.DATE and theirs is ValueKind.NUMBER)
            or (first[i].lower() == b"no" and own is not theirs)
        ):
            sides.contrast.append(i)
        elif own is not ValueKind.NOTHING or theirs is ValueKind.NOTHING:
            sides.same.append(i)
    return sides


def _met(first: Sequence[bytes], columns: Sequence[Sequence[bytes]]) -> list[int]:
    """Columns in which a text of the first record comes again."""
    return [i for i, values in enumerate(columns) if first[i].strip() and not is_typed(first[i]) and first[i] in values]


def _kind_of_most(values: Sequence[bytes]) -> ValueKind | None:
    return Counter(map(kind_of, values)).most_common(1)[0][0]


def _by_contrast(sides: _Sides, columns: Sequence[Sequence[bytes]], met: Sequence[int]) -> Setting | None:
    contrast, same, missing = sides
    if not contrast and not same and missing:
        return Setting(False, Confidence.LIKELY, f"what names nothing begins {_columns(missing)} of typed values")
    if not contrast:
        seen = f"the first record is like those below it in {_columns(same)}"
        return Setting(False, Confidence.CERTAIN, seen) if same else None
    seen = f"{_columns(contrast)} of typed values begin{_s(contrast)} with a text"
    if len(columns) == 1 and (kind := _kind_of_most(columns[0])) not in _MEASURED:
        return None if kind in _WORDS else Setting(True, Confidence.LIKELY, seen)
    if not same and met:
        seen = f"{seen}, though the first value of {_columns(met)} comes again"
    if not same:
        return Setting(True, Confidence.LIKELY if met else Confidence.CERTAIN, seen)
    is_likely = len(contrast) > len(same)
    return Setting(
        is_likely, Confidence.LIKELY if is_likely else Confidence.UNSURE, f"{seen}, {_columns(same)} with a value"
    )


# ---------------------------------------------------------------- years, dates and numbers that name columns


def _labels(
    first: Sequence[bytes], body: Sequence[Record], columns: Sequence[Sequence[bytes]], same: Sequence[int]
) -> Setting | None:
    """The setting of a first record whose values are names: in order, and unlike what is measured below them."""
    others = [i for i in range(len(first)) if i not in same]
    if any(first[i] in columns[i] for i in others if first[i].strip()):
        return None  # what is a text comes again below: the record is one of many
    is_text = bool(others) and all(_is_name_or_blank(first[i], columns[i]) for i in others)
    cells = [first[i].strip() for i in same]
    lines = [[record[i][0] for i in same] for record in body if len(record) > max(same)]
    are_years = all(map(_YEAR.fullmatch, cells))
    if are_years and max(_share_of_years(columns[i]) for i in same) < _RARE:
        return _of_ordered("years", cells, is_text=is_text, least=1)
    if are_years or all(map(_PLAIN.fullmatch, cells)):
        names = _of_years(cells, lines, is_text) if are_years else _of_numbers(first[0], cells, lines, is_text=is_text)
        return names or (_of_lookalikes(cells, lines) if are_years or (is_text and len(cells) > 1) else None)
    return None


def _share_of_years(values: Sequence[bytes]) -> float:
    return sum(map(bool, map(_YEAR.fullmatch, values))) / len(values)


def _of_years(cells: Sequence[bytes], lines: Sequence[Sequence[bytes]], is_text: bool) -> Setting | None:
    """The setting of a first record of years in order, above values that look like years, and are in no order."""
    if len(cells) < 2 or not _is_ordered(cells) or _are_in_order_of(cells, lines):
        return None
    if len(cells) > _LEAST_LABELS and _is_even(cells) and len(lines) >= _LEAST_RECORDS:
        return Setting(True, Confidence.LIKELY, "the first record has years, one step apart, and no other is in order")
    if is_text or len(cells) > _LEAST_LABELS or (len(cells) == _LEAST_LABELS and _is_even(cells)):
        seen = "the first record has years in order, and the columns below have values that look like years"
        return Setting(False, Confidence.UNSURE, seen)
    return None


def _of_lookalikes(cells: Sequence[bytes], lines: Sequence[Sequence[bytes]]) -> Setting | None:
    """The setting of a first record that may be one of many, and whose values in order may be names all the same."""
    if not _is_ordered(cells) or (len(cells) > _LEAST_LABELS and _are_in_order_of(cells, lines)):
        return None
    return Setting(
        False, Confidence.LIKELY, "the first record is like those below it, and in the order that names may have"
    )


def _are_in_order_of(cells: Sequence[bytes], lines: Sequence[Sequence[bytes]]) -> bool:
    """True if most lines grow where the first one grows, or fall where it falls."""
    grows = float(cells[0]) < float(cells[-1])
    alike = (_is_ordered(line) and (float(line[0]) < float(line[-1])) == grows for line in lines)
    return sum(alike) > _IN_ORDER * len(lines)


def _of_numbers(
    corner: bytes, cells: Sequence[bytes], lines: Sequence[Sequence[bytes]], *, is_text: bool
) -> Setting | None:
    """The setting of a first record whose typed values are numbers, above lines of others."""
    counts = [float(cell) for cell in cells] == list(range(len(cells)))
    if is_text and counts and not corner.strip():
        return Setting(True, Confidence.LIKELY, "the first record counts from 0, below nothing at its beginning")
    in_order = _is_even if _is_even(cells) else _is_ordered
    if sum(map(in_order, lines)) > _RARE * len(lines):
        return None
    if in_order is _is_ordered:
        is_long = len(cells) >= _MANY_LABELS and len(lines) >= _LEAST_RECORDS
        return _of_ordered("numbers", cells, is_text=True, least=_LEAST_LABELS + 1) if is_text or is_long else None
    fractions = sum(b"." in value for line in lines for value in line)
    if is_text or 2 * fractions > sum(map(len, lines)):
        return _of_ordered("numbers", cells, is_text=is_text, least=_LEAST_LABELS)
    if len(cells) >= _LEAST_LABELS and cells[0] in (b"0", b"1") and _steps(cells) == {1}:
        return Setting(False, Confidence.UNSURE, f"the first record counts from {cells[0].decode()}, the others do not")
    return None


def _is_name_or_blank(value: bytes, below: Sequence[bytes]) -> bool:
    return bool(below) if not value.strip() else not is_typed(value) or kind_of(value) is ValueKind.DATE


def _of_ordered(what: str, cells: Sequence[bytes], *, is_text: bool, least: int) -> Setting | None:
    if len(cells) < least or not (len(cells) == 1 or _is_ordered(cells)):
        return None
    if len(cells) == 1 and not is_text:
        return None
    is_sure = is_text and what == "years" and len(cells) > 1
    seen = f"the first record has {what} in order, and the columns below have none such"
    return Setting(True, Confidence.CERTAIN if is_sure else Confidence.LIKELY, seen)


def _is_even(cells: Sequence[bytes]) -> bool:
    """True if cells are numbers that grow by the same step."""
    return all(map(_PLAIN.fullmatch, cells)) and len(steps := _steps(cells)) == 1 and steps != {0}


def _is_ordered(cells: Sequence[bytes]) -> bool:
    """True if cells are numbers, each larger than the one before it, or each smaller."""
    if not all(map(_PLAIN.fullmatch, cells)):
        return False
    steps = _steps(cells)
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


def _steps(cells: Sequence[bytes]) -> set[float]:
    return {round(b - a, 9) for a, b in pairwise(map(float, cells))}


# ---------------------------------------------------------------- where nothing is typed


def _of_one_record(first: Sequence[bytes]) -> Setting:
    if any(is_typed(value) for value in first if value):
        return Setting(False, Confidence.LIKELY, "the only record has typed values")
    return Setting(False, Confidence.UNSURE, "there is one record, and all of it is text")


_ALIKE = "the first record is no list of different names"


def _of_texts(first: Sequence[bytes], columns: Sequence[Sequence[bytes]]) -> Setting:
    """Nothing is typed: values that repeat below, but never as in the first record, speak for a header."""
    typed = [i for i, value in enumerate(first) if value and is_typed(value)]
    if typed:
        return _of_typed_first(first, columns, typed)
    names_rows = not first[0] and len(first) > 1 and 0 < len(columns[0]) == max(map(len, columns))
    names = [value.strip() for value in first[names_rows:]]
    are_different = len({value.lower() for value in names}) == len(names)
    if not are_different or not all(map(NAME.fullmatch, names)):
        are_titles = are_different and (names_rows or all(NAME.fullmatch(_IN_TITLES.sub(b"", each)) for each in names))
        confidence = Confidence.UNSURE if are_titles else Confidence.LIKELY
        other = next((value for value in names if are_different and not NAME.fullmatch(value)), None)
        because = _ALIKE if other is None else f"{other.decode()!r} in the first record is written as no name is"
        return Setting(False, confidence, because)
    met = _met(first, columns)
    if met:
        return Setting(False, Confidence.LIKELY, f"the first value of {_columns(met)} comes again below")
    seen = "names of rows stand below nothing" if names_rows else _unlike_those_below(first, columns)
    if seen is None:
        why = "all values are texts, and none tells the first record from the others"
    elif not names_rows and _is_like_those_below(first, columns):
        why = "the first record is written as those below it, and may be one"
    else:
        return _of_unlike(first, columns, seen)
    return Setting(False, Confidence.UNSURE, why)


def _of_unlike(first: Sequence[bytes], columns: Sequence[Sequence[bytes]], seen: str) -> Setting:
    """The setting of a first record that is unlike those below: unsure where it may be so by chance.

    Where values repeat, by chance it is one of those that do not.
    """
    repeats = [
        i for i, values in enumerate(columns) if len(values) >= _LEAST_RECORDS and _is_repeating(values, is_alone=False)
    ]
    chance = prod(sum(count == 1 for count in Counter(columns[i]).values()) / len(columns[i]) for i in repeats)
    if repeats and seen.startswith(_REPEATS) and chance > _BY_CHANCE:
        seen = f"{seen}; {round(100 * chance)} % of the records would seem so"
        return Setting(True, Confidence.UNSURE, seen)
    return Setting(True, Confidence.LIKELY, seen)


def _unlike_those_below(first: Sequence[bytes], columns: Sequence[Sequence[bytes]]) -> str | None:
    """Traits that the texts of columns have in common but for the first; of one column, where that is no chance."""
    is_alone = len(first) == 1
    full = [i for i, values in enumerate(columns) if len(values) >= (_LEAST_ALONE if is_alone else _LEAST_RECORDS)]
    repeats = [i for i in full if _is_repeating(columns[i], is_alone=is_alone)]
    if repeats:
        return f"{_REPEATS} in {_columns(repeats)}, but never the first one"
    even = [i for i in full if len({*map(len, columns[i])}) == 1 and len(columns[i][0]) != len(first[i])]
    if even:
        return f"values of {_columns(even)} are of one length, the first is not"
    marked = [
        i
        for i, values in enumerate(columns)
        if (marks := _common_marks(values) - _marks_of(first[i]))
        and (i in full or (len(values) >= _LEAST_RECORDS and marks & _TELLING_MARKS))
    ]
    if marked:
        return f"all values of {_columns(marked)} but the first have the same marks"
    return None if is_alone else _of_other_letters([value.strip() for value in first], columns)


def _of_other_letters(first: Sequence[bytes], columns: Sequence[Sequence[bytes]]) -> str | None:
    """Small words above columns that have none, or words with capitals above a column of small letters."""
    full = [i for i, values in enumerate(columns) if len(values) >= _LEAST_ALONE]
    if all(map(_SMALL_WORDS.fullmatch, first)) and len(full) == len(columns):
        below = (value.strip() for i in full for value in columns[i])
        return None if any(map(_SMALL_WORDS.fullmatch, below)) else "the first record has small words, and no other one"
    if not all(value[:1].isupper() for value in first):
        return None
    begins = {i: [value.lstrip()[:1] for value in columns[i]] for i in full}
    small = [
        i
        for i in full
        if not any(map(bytes.isupper, begins[i])) and 2 * sum(map(bytes.islower, begins[i])) > len(begins[i])
    ]
    return f"no value of {_columns(small)} but the first begins with a capital" if small else None


def _is_like_those_below(first: Sequence[bytes], columns: Sequence[Sequence[bytes]]) -> bool:
    """True if letters and digits change in a first record of codes where they do below it.

    Without a digit, most values below are of the same length too: words differ in it.
    """
    coded = [i for i, value in enumerate(first) if _DIGITS.search(value) and columns[i]]
    if coded:
        return all([*map(_shape_of, columns[i])].count(_shape_of(first[i])) > _RARE * len(columns[i]) for i in coded)
    return all(
        2 * sum(len(value) == len(first[i]) and _shape_of(value) == _shape_of(first[i]) for value in values)
        > len(values)
        for i, values in enumerate(columns)
    )


def _shape_of(value: bytes) -> bytes:
    """A value with one sign for all letters of a kind, and for digits, that stand side by side."""
    for run, sign in _RUNS:
        value = run.sub(sign, value)
    return value


def _is_repeating(values: Sequence[bytes], *, is_alone: bool) -> bool:
    """True if most values come again; of a column without others, nearly all of them."""
    counts = Counter(values)
    once = sum(count == 1 for count in counts.values())
    if not is_alone:
        return len(counts) <= _REPEATING * len(values) and 3 * once <= 2 * len(values)
    return once + 1 <= _RARE * (len(values) + 1)


def _of_typed_first(first: Sequence[bytes], columns: Sequence[Sequence[bytes]], typed: Sequence[int]) -> Setting:
    cells = [first[i].strip() for i in typed]
    below = [value for i in typed for value in columns[i]]
    are_years = len(cells) > 1 and all(map(_YEAR.fullmatch, cells))
    others = [i for i, value in enumerate(first) if value and i not in typed]
    is_met = any(first[i] in columns[i] for i in others)
    if are_years and below and others and not is_met and _share_of_years(below) < _RARE:
        labels = _of_ordered("years", cells, is_text=True, least=2)
        if labels is not None:
            return labels
    return Setting(False, Confidence.LIKELY, "the first record has a typed value, and no column is of typed values")


def _common_marks(values: Sequence[bytes]) -> set[bytes]:
    return set[bytes].intersection(*map(_marks_of, values)) if values else set()


def _marks_of(value: bytes) -> set[bytes]:
    """Its punctuation, and whether it has digits."""
    return {*_MARKS.findall(value), *((b"0",) if _DIGITS.search(value) else ())}


def _columns(indexes: Sequence[int]) -> str:
    shown = ", ".join(str(i + 1) for i in indexes[:3]) + (", ..." if len(indexes) > 3 else "")
    return f"column{'s' if len(indexes) > 1 else ''} {shown}"


def _s(indexes: Sequence[int]) -> str:
    return "" if len(indexes) > 1 else "s"
