"""Tables whose fields stand between blanks or colons: looked for where no other separator divides the lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from splitscan.formats.csv.options import BLANK_RUNS
from splitscan.formats.csv.sniffing.comments import with_comments
from splitscan.formats.csv.sniffing.evidence import quoted
from splitscan.formats.csv.sniffing.found import ONE_COLUMN, shown
from splitscan.formats.csv.sniffing.header import find_header
from splitscan.formats.csv.sniffing.other_lines import layout_of
from splitscan.formats.csv.sniffing.reading import Reading
from splitscan.formats.csv.sniffing.separators import BETWEEN_TABS, IN_TEXT, LEAST_SCORE, is_constant, only_in_values
from splitscan.formats.csv.sniffing.values import BLANKS, Record, ValueKind, is_typed, kind_of

_LEAST_LINES = 3
_LEAST_NUMBERS = 1.5  # in a line, on average, where they are most of its values
_MOSTLY = 0.7  # of values
_TYPED_SHARE = 0.9
_EVEN_SHARE = 0.98  # of lines that have as many fields
_ALIGNED_SHARE = 0.9  # of lines whose values stand in columns
_LOOKED_AT = 1000  # lines
_TWO = 2  # columns: their names may be one name of two words
_MORE_THAN_TIMES = 5  # columns: a time of day has two colons, and a sentence few
_RARE_PREAMBLE = 4  # one line in so many
_MOST_LINES_ALIKE = 20  # by chance, of sentences of as many words
_MANY_ALIKE = 5  # in each of so many lines
_DIGIT = re.compile(rb"\d")
_COMMENT = b"#"
_RUN = re.compile(rb"[ \t]+")
_WORD = re.compile(rb"[^ ]+")
_HASH = re.compile(rb"[0-9a-fA-F]{4,}")
_CAPITALS = re.compile(rb"[A-Z]+")
_LONG_RUN = re.compile(rb"[ \t]{2}")
_FOREIGN = re.compile(rb"[^A-Za-z]*[\x80-\xff][^A-Za-z]*")
_DIGITS_AND_MARKS = re.compile(rb"[^A-Za-z\x80-\xff]*\d[^A-Za-z\x80-\xff]*")
_ASSIGNED = re.compile(rb"\s*[A-Za-z_\x80-\xff][\w.\-\[\]'\x80-\xff]*[ \t]*=(?!=)[^\r\n]*")
_DECIMAL = re.compile(rb"[+-]?\d*\.\d+")
_ADVICE = (
    f"give sep={BLANK_RUNS} for these, sep=' ' where each blank separates, and sep={shown(ONE_COLUMN)} for whole lines"
)
_PLACES = "where values are missing or have blanks, recordFormat=fixed_width reads columns at places"
_NUMBERS = f"Most values between blanks are numbers, of which lines have several: {_ADVICE}; {_PLACES}."


def with_fields_in_lines(chosen: Reading, given: Mapping[str, Any]) -> Reading:
    """The reading, where lines are its only values; or a better one, or the doubt that they hold several values.

    Blanks between fields are a separator as others are, where a header names values in three columns, quotes stand
    beside them, or all is numbers; a colon is one below a header of three names. Elsewhere they may be parts of values:
    that is told.
    """
    lines = [line for line in chosen.contents[:_LOOKED_AT] if not line.startswith(_COMMENT)]
    said = {name: given.get(name, '"') or None for name in ("quote", "escape")}
    between, runs = (chosen.but(sep=sep, trims=False, **said) for sep in (" ", BLANK_RUNS))
    is_decimal = chosen.sep in IN_TEXT and chosen.columns > 1 and only_in_values(runs, chosen.sep)
    is_open = chosen.columns == 1 or chosen.score < LEAST_SCORE or (is_decimal and runs.columns > 1)
    is_open = is_open or (chosen.sep == "\t" and _holds_columns(chosen, runs))
    if not is_open or chosen.sep in (ONE_COLUMN, BETWEEN_TABS):
        return chosen
    if len(lines) < _LEAST_LINES or _are_single(lines) or all(map(_ASSIGNED.fullmatch, lines)):
        return _with_doubt_of_values(chosen, lines)
    if _is_table(between) and _is_named(between):
        return _below_names(between, given)
    if runs.columns > 1 and _is_table(runs) and _is_divided(runs, lines):
        return _below_names(_with_doubt_of_places(runs), given)
    by_colon = chosen.but(sep=":")
    if is_decimal or (is_constant(by_colon) and _is_certain(by_colon)):
        return chosen.in_doubt(_of_decimals(chosen)) if is_decimal else by_colon
    doubt = _of_blanks(lines) or _of_colons(chosen)
    return _with_doubt_of_values(chosen, lines) if doubt is None else chosen.in_doubt(doubt)


def _of_decimals(chosen: Reading) -> str:
    """The doubt of a separator that stands in numbers between blanks only."""
    return (
        f"Each {shown(chosen.sep)} stands in a number between blanks: {_ADVICE}; {_PLACES}; or give "
        f"sep={shown(chosen.sep)} if it separates."
    )


def _with_doubt_of_values(chosen: Reading, lines: Sequence[bytes]) -> Reading:
    """The reading, in doubt where lines are of names, = and values, or of numbers between blanks, however many."""
    if len(lines) >= _LEAST_LINES and all(map(_ASSIGNED.fullmatch, lines)):
        return chosen.in_doubt(
            "Each line has a name, = and a value: give sep== with header=false for two columns, and "
            f"sep={shown(ONE_COLUMN)} for whole lines."
        )
    fields = [value for line in lines for value in _RUN.split(line.strip(BLANKS))]
    numbers = sum(kind_of(value) is ValueKind.NUMBER for value in fields)
    is_many = len(lines) >= _TWO and len(fields) >= _LEAST_NUMBERS * len(lines) and numbers >= _MOSTLY * len(fields)
    if _are_single(lines):
        is_many = sum(map(_are_numbers, lines)) >= _LEAST_LINES
    return chosen.in_doubt(_NUMBERS) if is_many and chosen.columns == 1 else chosen


def _are_single(lines: Sequence[bytes]) -> bool:
    """True if most lines are one value."""
    return 2 * sum(map(is_typed, lines)) > len(lines)


def _holds_columns(chosen: Reading, runs: Reading) -> bool:
    """True if values between tabs are several, between runs of blanks, which divide all lines alike.

    They are numbers, or all have two blanks or more. Where they make few more columns, numbers have no other parts,
    and a header has a name for each.
    """
    if runs.columns <= chosen.columns or not _is_table(runs):
        return False
    is_twice = runs.columns >= 2 * chosen.columns
    if not is_twice and len(runs.records[0]) < runs.columns:
        return False
    columns = zip(*(record for record in chosen.records if len(record) == chosen.columns), strict=True)
    values = [[value for value, _ in column] for column in columns]
    is_even = not chosen.preamble and len(chosen.records[0]) == chosen.columns
    if is_even and any(all(_LONG_RUN.search(value.strip(BLANKS)) for value in column) for column in values):
        return True
    if is_twice:
        return any(all(map(_are_mostly_numbers, column)) for column in values)
    names = 1 if chosen.header.value else 0
    return any(all(map(_are_numbers, column[names:])) for column in values)


def _are_mostly_numbers(value: bytes) -> bool:
    parts = value.split()
    return len(parts) > 1 and 2 * sum(map(is_typed, parts)) > len(parts)


def _are_numbers(value: bytes) -> bool:
    """True if it is several numbers, and not one with blanks in it."""
    parts = value.split()
    return len(parts) > 1 and not is_typed(value) and all(kind_of(part) is ValueKind.NUMBER for part in parts)


def _with_doubt_of_places(runs: Reading) -> Reading:
    """The reading, in doubt where a line has nothing at the place of a column, and its value stands below another."""
    lines = runs.lines[:_LOOKED_AT]
    if any(b"\t" in line or b'"' in line for line in lines):
        return runs
    spans = [[found.span() for found in _WORD.finditer(line)] for line in lines]
    if {len(each) for each in spans} != {runs.columns}:
        return runs
    middle = [
        tuple(sorted(ends)[len(ends) // 2] for ends in zip(*column, strict=True)) for column in zip(*spans, strict=True)
    ]
    has_names = bool(runs.header.value)
    names = [spans[0]] * (has_names and _is_padded(lines[0]))
    for places in (*names, middle):
        moved = [
            n
            for n, line in enumerate(lines)
            if _is_moved(line, spans[n], places)
            or (places is middle and n >= has_names and _is_moved(line, spans[n], places, to_left=True))
        ]
        if moved and sum(_fits(each, places) for each in spans) >= _ALIGNED_SHARE * len(lines):
            layout = _layout(lines, spans[0])
            return runs.in_doubt(
                f"The line {quoted(lines[moved[0]])} has nothing at the place of a column, and one value more: "
                "values between blanks would stand in other columns; give recordFormat=fixed_width with "
                f"layout='{layout}', or sep={BLANK_RUNS} where they are right."
            )
    return runs


def _fits(spans: Sequence[tuple[int, ...]], places: Sequence[tuple[int, ...]]) -> bool:
    return all(begin < stop and start < end for (begin, end), (start, stop) in zip(spans, places, strict=True))


def _is_moved(
    line: bytes, spans: Sequence[tuple[int, ...]], places: Sequence[tuple[int, ...]], *, to_left: bool = False
) -> bool:
    """True if a line has blanks where a column is, and the column's value below one that comes later, or before it."""
    return any(
        not line[start:stop].strip()
        and any(begin < end and first < ends for first, end in (places[:i] if to_left else places[i + 1 :]))
        for i, ((start, stop), (begin, ends)) in enumerate(zip(places, spans, strict=True))
        if (ends <= start if to_left else begin >= stop)
    )


def _layout(lines: Sequence[bytes], names: Sequence[tuple[int, ...]]) -> str:
    """The layout of columns at places: each begins after places where all lines have a blank, and has a name above."""
    width = max(map(len, lines))
    is_blank = [all(not line[at : at + 1].strip() for line in lines) for at in range(width)]
    begins = [at for at in range(width) if not is_blank[at] and (at == 0 or is_blank[at - 1])]
    ends = [*begins[1:], width]
    named = [begin for begin, end in zip(begins, ends, strict=True) if any(begin < b and a < end for a, b in names)]
    rule = bytearray(b" " * width)
    for begin, end in zip(named, [*named[1:], width + 1], strict=True):
        rule[begin : end - 1] = b"-" * (end - 1 - begin)
    return layout_of(bytes(rule), lines[0])


def _below_names(found: Reading, given: Mapping[str, Any]) -> Reading:
    """The reading of fields between blanks, whose names may stand behind the mark of comments."""
    if found.comment is None or "comment" in given:
        return found
    return with_comments(found.but(comment=None, finds_table=True))


def _is_table(reading: Reading) -> bool:
    """True if all records have as many fields; the first one may lack the name of the first column, as R writes it."""
    fields = [field for record in reading.records for field in record]
    if {len(record) for record in reading.records[1:]} != {reading.columns} or (b"", False) in fields:
        return False
    return len(reading.records[0]) in (reading.columns, reading.columns - 1) and _holds_values(reading.records)


def _is_named(reading: Reading) -> bool:
    """True if a header, or quotes, say that the blanks of a table are no parts of its values."""
    return reading.quoted_values > 0 or (reading.columns > _TWO and reading.header.value)


def _is_certain(reading: Reading, least: int = _TWO + 1) -> bool:
    """True if a header of enough names stands above values."""
    return reading.columns >= least and reading.header.is_sure


def _is_divided(runs: Reading, lines: Sequence[bytes]) -> bool:
    """True if a header, quotes or numbers in columns say that runs of blanks are no parts of values."""
    if _has_words_in_places(lines[1:], runs.columns):
        return False
    is_aligned = 2 * sum(map(_is_padded, lines)) > len(lines)
    return _is_named(runs) or (is_aligned and _is_certain(runs, least=_TWO)) or _is_of_numbers(runs, is_aligned)


def _is_padded(line: bytes) -> bool:
    """True if a line begins with a blank, or has a run of them before a value."""
    return line[:1] in (b" ", b"\t") or _LONG_RUN.search(line.rstrip(BLANKS)) is not None


def _is_of_numbers(reading: Reading, is_aligned: bool) -> bool:
    """True if each column is of numbers, which stand in columns or have decimals: digits alone may be parts of one."""
    if any(len(record) != reading.columns for record in reading.records):
        return False
    is_table = is_aligned or (reading.columns > _TWO and _has_decimals(reading))
    return is_table and all(kind_of(value) is ValueKind.NUMBER for record in reading.records for value, _ in record)


def _has_decimals(reading: Reading) -> bool:
    return any(_DECIMAL.match(value) for record in reading.records for value, _ in record)


def _has_words_in_places(lines: Sequence[bytes], columns: int) -> bool:
    """True if columns of a fixed width hold values of several words: at fewer places all lines have a blank."""
    if any(b"\t" in line for line in lines):
        return False
    is_blank = [all(not line[at : at + 1].strip() for line in lines) for at in range(max(map(len, lines)))]
    places = sum(not blank and (at == 0 or is_blank[at - 1]) for at, blank in enumerate(is_blank))
    return 1 < places < columns


def _of_blanks(lines: Sequence[bytes]) -> str | None:
    """The doubt where lines hold values between blanks, or have runs of blanks."""
    fields = [[(value, False) for value in _RUN.split(line.strip(BLANKS))] for line in lines]
    width, _ = Counter(map(len, fields[1:])).most_common(1)[0]
    first = next(number for number, each in enumerate(fields) if len(each) == width)
    if first * _RARE_PREAMBLE <= len(fields):  # lines above the table
        lines, fields = lines[first:], fields[first:]
    alike = sum(len(each) == width for each in fields[1:])
    is_even = width > 1 and alike >= _EVEN_SHARE * (len(fields) - 1)
    table = [record for record in fields if len(record) == width]
    if is_even and any(tells(table) for tells in (_holds_values, _has_codes, _has_hashes, _has_codes_below)):
        places = f"; {_PLACES}" if _has_words_in_places(lines[1:], width) else ""
        return f"Each line has {width} values between blanks: {_ADVICE}{places}."
    if _are_explained([[value for value, _ in record] for record in fields]):
        return f"Each line may be a word and what stands for it, with blanks between: {_ADVICE}."
    with_runs = sum(_LONG_RUN.search(line.strip(BLANKS)) is not None for line in lines)
    if with_runs < _TYPED_SHARE * len(lines):
        return None
    advice = f"{_ADVICE}; {_PLACES}" if is_even else f"{_PLACES}; else {_ADVICE}"
    return f"Most lines have values between runs of blanks: {advice}."


def _are_explained(lines: Sequence[Sequence[bytes]]) -> bool:
    """True if words begin lines, each another, and others of another script explain them, or of few that come again."""
    firsts, others = [line[0] for line in lines], [line[1:] for line in lines]
    if not all(others) or len(set(firsts)) < len(firsts):
        return False
    are_foreign = {tuple(map(_is_foreign, (line[0], b"".join(line[1:])))) for line in lines}
    words = [word for rest in others for word in rest]
    is_translated = len(are_foreign) == 1 and len(set(*are_foreign)) > 1
    are_few = len(lines) >= _MOST_LINES_ALIKE and len(set(words)) * _MORE_THAN_TIMES <= len(words)
    return is_translated or are_few


def _is_foreign(text: bytes) -> bool:
    """True if a text has letters, and no Latin one of ASCII."""
    return _FOREIGN.fullmatch(text) is not None


def _of_colons(chosen: Reading) -> str | None:
    """The doubt where lines hold values between colons."""
    found = chosen.but(sep=":")
    tells = (_holds_values, _has_hashes)
    if not is_constant(found) or not (found.columns >= _MORE_THAN_TIMES or any(each(found.records) for each in tells)):
        return None
    return (
        f"Each line has {found.columns} values between colons: give sep=:, or for whole lines sep={shown(ONE_COLUMN)}."
    )


def _holds_values(records: Sequence[Record]) -> bool:
    """True if half of the columns are of values, or a header stands above one: texts are mostly sentences."""
    columns = [[record[i][0] for record in records[1:] if i < len(record)] for i in range(len(records[-1]))]
    typed = sum(sum(map(_is_value, values)) >= _TYPED_SHARE * len(values) for values in columns)
    return 2 * typed >= len(columns) or find_header(records).is_sure


def _has_codes(records: Sequence[Record]) -> bool:
    """True if many lines, or some of more words than sentences have alike, have digits in nearly all of one column."""
    is_many = len(records) >= _MOST_LINES_ALIKE or min(len(records), len(records[0])) >= _MANY_ALIKE
    return is_many and any(
        sum(_DIGIT.search(value) is not None for value, _ in column) >= _TYPED_SHARE * len(column)
        for column in zip(*records, strict=True)
    )


def _has_codes_below(records: Sequence[Record]) -> bool:
    """True if a header of three names or more stands above a column of codes: with digits, or as long capitals."""
    if len(records) <= _TWO or len(records[0]) <= _TWO or not find_header(records).value:
        return False
    return any(
        _DIGIT.search(name) is None
        and (all(map(_DIGIT.search, values)) or (name.upper() != name and _are_capitals(values)))
        for name, *values in ([value for value, _ in column] for column in zip(*records, strict=True))
    )


def _are_capitals(values: Sequence[bytes]) -> bool:
    return len(set(map(len, values))) == 1 and all(map(_CAPITALS.fullmatch, values))


def _has_hashes(records: Sequence[Record]) -> bool:
    """True if a column is of digits of base 16, in values of one length: no word of a sentence is."""
    return any(
        len({len(value) for value, _ in column}) == 1
        and all(_HASH.fullmatch(value) for value, _ in column)
        and 2 * sum(_DIGIT.search(value) is not None for value, _ in column) > len(column)
        for column in zip(*records, strict=True)
    )


def _is_value(value: bytes) -> bool:
    """True if it is typed, is digits and marks, or stands in quotes."""
    return is_typed(value) or _DIGITS_AND_MARKS.fullmatch(value) is not None or value[:1] == b'"' == value[-1:]
