"""Marks that are parts of values: commas in dates, numbers and text, apostrophes, and pipes between tabs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from splitscan.formats.csv.grammar import split_fields
from splitscan.formats.csv.options import BLANK_RUNS
from splitscan.formats.csv.sniffing.found import ONE_COLUMN, shown
from splitscan.formats.csv.sniffing.reading import LINE_END, Reading, quotes_in_quotes
from splitscan.formats.csv.sniffing.values import MOST_WORDS, ValueKind, are_typed, is_typed, kind_of

DOUBLED = ("::", "||")
"""Separators of two marks."""

LEAST_SCORE = 0.2
"""The least score of a reading that looks like a table."""

LEAST_CONSISTENCY = 0.8
"""The least share of records that have as many fields as most: with less it is no table."""

IN_TEXT = (",", ";")
"""Separators that stand in sentences too."""

_RARE = 0.02  # share of values in which a separator may stand elsewhere
_TYPED_SHARE = 0.9
_MOST_VALUES = 2000
_TWO = 2  # records or columns of a table; texts in a line: fewer than a table mostly has
_NEARLY_ALL = 0.9  # of records
_RUN = re.compile(rb"(?<=[^\s.!?:])[ \t]{2,}(?=\S)")  # not after a sentence
_LONG_RUN = re.compile(rb"\S[ \t]{3,}\S")
_OPENS, _CLOSES = b"([{", b")]}"
_NAME = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff .\-/()]*")


def without_parts_of_values(readings: Sequence[Reading]) -> list[Reading]:
    """The readings but those whose separator stands in nothing but numbers and dates of another reading."""
    tables = [each for each in readings if each.columns > 1]
    parts = {
        other.sep
        for other in tables
        for each in tables
        if other.sep in IN_TEXT and other.sep not in each.sep and only_in_values(each, other.sep)
    }
    return [each for each in readings if each.sep not in parts]


def is_constant(reading: Reading) -> bool:
    """True if every line has as many fields, and the separator is not one of sentences, which a blank follows."""
    widths = {len(record) for record in reading.all_records}
    if len(widths) != 1 or reading.columns < _TWO or len(reading.all_records) <= _TWO:
        return False
    mark = reading.sep.encode()
    return any(line.count(mark) != line.count(mark + b" ") for line in reading.contents)


def makes_table(reading: Reading, sep: str | None) -> bool:
    """True if a reading with this separator is of several columns, in nearly all records."""
    return reading.sep == sep and reading.columns > 1 and reading.consistency >= LEAST_CONSISTENCY


def only_in_values(reading: Reading, sep: str) -> bool:
    """True if a separator stands in numbers and dates of a table, and nowhere else."""
    mark = sep.encode()
    holders = [value for record in reading.records for value, quoted in record if not quoted and mark in value]
    holders = holders[:_MOST_VALUES]
    named = ((value, value.rpartition(b"=")[2]) for value in holders)  # a name and = may stand before a number
    kinds = (kind_of(last if last.count(mark) == value.count(mark) else value) for value, last in named)
    whole = sum(kind in (ValueKind.NUMBER, ValueKind.DATE) for kind in kinds)
    return bool(holders) and len(holders) - whole <= _RARE * len(holders)


def in_one_column(chosen: Reading) -> tuple[Reading, bool] | None:
    """Read the text as one column, where the separator may be a part of it; and whether that is what it is.

    A comma is a part of text where a blank follows each, and of numbers and dates where whole lines are such. Then the
    first line tells: without a comma it is the name of the only column.
    """
    if chosen.sep not in IN_TEXT or chosen.columns < 2 or chosen.quoted_values or len(chosen.all_records) < 2:
        return None
    one = chosen.but(sep=ONE_COLUMN, trims=False, finds_table=False)
    first, *others = one.contents
    mark = chosen.sep.encode()
    lines = [line for line in others if mark in line]
    if 2 * len(lines) <= len(others):
        return None
    kinds = Counter(map(kind_of, lines))
    is_spaced = all(line.count(mark) == line.count(mark + b" ") for line in lines)
    are_dates = is_spaced and kinds[ValueKind.DATE] >= _TYPED_SHARE * len(lines)
    are_numbers = kinds[ValueKind.NUMBER] >= _TYPED_SHARE * len(lines)
    if not (are_dates or are_numbers or (is_spaced and _has_texts_only(chosen))):
        return None
    if mark not in first and _NAME.fullmatch(first) is not None and not is_typed(first):
        return one, True
    if are_dates and kind_of(first) is ValueKind.DATE:
        return one, True
    may_be = is_spaced and chosen.columns == _TWO and not chosen.header.value
    return (one, False) if may_be else None


def _has_texts_only(chosen: Reading) -> bool:
    """True if no column but the first is of typed values."""
    for i in range(1, chosen.columns):
        values = [record[i][0] for record in chosen.records if i < len(record) and record[i][0].strip()]
        if values and are_typed(values):
            return False
    return True


def with_doubt_of_separator(chosen: Reading) -> Reading:
    """The reading, in doubt where its separator may be a part of values, however regular it is.

    So it is where fields hold runs of blanks that stand in columns, where brackets open in one field and close in
    another, and in one line of a sentence.
    """
    if chosen.columns < _TWO or chosen.doubt is not None or chosen.sep in (" ", "\t", BLANK_RUNS):
        return chosen
    sep, one = shown(chosen.sep), shown(ONE_COLUMN)
    if _holds_places(chosen):
        return chosen.in_doubt(
            f"Blanks in columns stand inside of the fields between {sep}, which may be a part of values: give "
            f"sep={BLANK_RUNS} with columnsArray=true for values between blanks, recordFormat=fixed_width for columns "
            f"at places, sep={one} for whole lines, or sep={sep} if it separates."
        )
    if _cuts_brackets(chosen):
        return chosen.in_doubt(
            f"Brackets open in one field and close in another, and {sep} may be a part of what they enclose: give "
            f"sep={one} for whole lines, or sep={sep} if it separates."
        )
    if len(chosen.all_records) == 1 and _is_sentence(chosen):
        return chosen.in_doubt(f"The only line may be a text: give sep={one} for whole lines, or sep={sep} for fields.")
    return chosen


def _holds_places(chosen: Reading) -> bool:
    """True if nearly all lines have a run of blanks inside of a field, and most one that begins or ends at a place."""
    lines = [
        line
        for line, record in zip(chosen.lines, chosen.records, strict=True)
        if any(not quoted and _RUN.search(value.strip()) for value, quoted in record)
    ]
    if len(lines) < max(1, _NEARLY_ALL * len(chosen.records)):
        return False
    if len(lines) == 1:
        return len(_RUN.findall(lines[0])) > _TWO
    if not any(_LONG_RUN.search(line) for line in lines):
        return False  # two blanks are written by chance
    places = Counter(place for line in lines for place in {*(at for run in _RUN.finditer(line) for at in run.span())})
    return 2 * max(places.values(), default=0) > len(lines)


def _cuts_brackets(chosen: Reading) -> bool:
    """True if brackets are balanced in nearly all lines, and not in their fields."""
    cut = sum(
        any(not quoted and _depth(value) for value, quoted in record) and not _depth(line)
        for line, record in zip(chosen.lines, chosen.records, strict=True)
    )
    return cut > 0 and cut >= _NEARLY_ALL * len(chosen.records)


def _depth(text: bytes) -> int:
    """How many brackets of a text are open at its end."""
    return sum(map(text.count, map(bytes, zip(_OPENS)))) - sum(map(text.count, map(bytes, zip(_CLOSES))))


def _is_sentence(chosen: Reading) -> bool:
    """True if a blank follows each separator of the first line, and a field has more words than a name."""
    line, mark = chosen.contents[0], chosen.sep.encode()
    is_spaced = chosen.sep in IN_TEXT and line.count(mark) == line.count(mark + b" ")
    return is_spaced and any(len(value.split()) > MOST_WORDS for value, _ in chosen.records[0])


# ---------------------------------------------------------------- apostrophes, and pipes between tabs: no quotes


BETWEEN_TABS = "\t|\t"
"""The separator of the files of NCBI, whose lines end with a tab and a pipe."""

_USUAL = ('"', None)
_QUOTED_SHARE = 0.9  # of the texts of a column, where a program quotes them
_PIPE_SHARE = 0.9  # of those that stand between tabs, or at the ends of lines
_LONE = 4  # one mark in so many stands alone between separators: that is no quote
_IN_QUOTES = re.compile(rb'".+"', re.DOTALL)
_AT_END = re.compile(rb"\t\|(?=[\r\n]|\Z)")


def without_apostrophes(readings: Sequence[Reading]) -> list[Reading]:
    """The readings but those whose quote nothing needs: all records are of one width without it."""
    even = {each.sep for each in readings if each.quote in _USUAL and _is_even(each)}
    return [each for each in readings if each.sep not in even or not _is_doubtful(each) or _has_quotes_in_quotes(each)]


def with_doubt_of_quotes(chosen: Reading) -> Reading:
    """The reading, in doubt where its quote may be an apostrophe: values would lose some, or lines be joined."""
    if chosen.quote is None:
        return _with_doubt_of_escapes(chosen)
    if not _is_doubtful(chosen) or is_written_by_rule(chosen):
        return chosen
    bare = chosen.but(quote=None, escape=None, trims=False)
    if bare.columns < _TWO or bare.consistency < LEAST_CONSISTENCY:
        return chosen
    over = chosen.values_over_lines
    if not (_is_even(bare) or (over and (_stands_in_values(chosen) or _joins_records(chosen, bare)))):
        return chosen
    joins = f" and joins the lines of {over:,} value{'s' * (over != 1)}" if over else ""
    alike = round(100 * bare.consistency)
    return chosen.in_doubt(
        f"The character {shown(chosen.quote)} encloses few of the values{joins}, and may be a part of them; "
        f"without it {alike} % of the records have {bare.columns} fields: give quote, an empty one where none is."
    )


def is_written_by_rule(reading: Reading) -> bool:
    """True if a quote stands in no value but around it, or escaped there, and joins no lines: a program wrote it so."""
    in_order = not (reading.damaged or reading.values_over_lines or _stands_in_values(reading))
    return in_order and _has_quotes_in_quotes(reading)


def _stands_in_values(chosen: Reading) -> bool:
    """True if a quote stands in values that it does not enclose."""
    mark = (chosen.quote or "").encode()
    return any(mark in value for record in chosen.records for value, quoted in record if not quoted)


def _joins_records(chosen: Reading, bare: Reading) -> bool:
    """True if a record over several lines begins and ends with lines that are whole records without the quote."""
    ends = ([lines[0], lines[-1]] for lines in map(LINE_END.split, chosen.lines) if len(lines) > 1)
    return any(all(len(split_fields(line, bare.grammar)) == bare.columns for line in pair) for pair in ends)


def _with_doubt_of_escapes(chosen: Reading) -> Reading:
    """The reading without quotes, in doubt where values stand in quotes that are escaped in two ways."""
    doubled, escaped = quotes_in_quotes([chosen.sample], chosen.sep, '"')
    if not (
        doubled and escaped and any(_IN_QUOTES.fullmatch(value) for record in chosen.records for value, _ in record)
    ):
        return chosen
    return chosen.in_doubt(
        f"Quotes in quotes are doubled ({doubled:,}), and stand after a backslash ({escaped:,}): no escape reads both; "
        "give quote and escape, or an empty quote to keep all of them."
    )


def _is_even(reading: Reading) -> bool:
    """True if all records of a table are of one width."""
    return {len(record) for record in reading.records} == {reading.columns} != {1} and len(reading.records) >= _TWO


def _is_doubtful(reading: Reading) -> bool:
    """True if an unusual quote joins lines, or leaves out many values of a column in which it encloses some."""
    if reading.quote in _USUAL or not reading.quoted_values:
        return False
    return bool(reading.values_over_lines) or not all(map(_is_quoted, _columns(reading)))


def _columns(reading: Reading) -> list[list[tuple[bytes, bool]]]:
    """The values of each column, without the first record and empty ones."""
    rows = [record for record in reading.records[1:] if len(record) == reading.columns]
    return [[cell for cell in column if cell[0] or cell[1]] for column in zip(*rows, strict=True)]


def _is_quoted(column: Sequence[tuple[bytes, bool]]) -> bool:
    """True if nearly all values of a column are in quotes, or none is."""
    count = sum(quoted for _, quoted in column)
    return not count or count >= _QUOTED_SHARE * len(column)


def _has_quotes_in_quotes(reading: Reading) -> bool:
    """True if a quote in quotes is escaped: a program that writes quotes does so."""
    return any(quotes_in_quotes([reading.sample], reading.sep, reading.quote or "", trims=reading.trims))


def is_separator(text: bytes, sep: str, mark: str) -> bool:
    """True if a mark stands alone between separators, or between one and the end of a line: it encloses nothing."""
    edge = re.escape(sep.encode())
    alone = rb"(?:(?<=" + edge + rb")|(?<=[\r\n]))" + re.escape(mark.encode()) + rb"(?=" + edge + rb"|[\r\n]|\Z)"
    lone = len(re.findall(alone, text))
    return lone > 0 if sep == "\t" and mark == "|" else lone * _LONE > text.count(mark.encode())


def has_pipes_between_tabs(text: bytes) -> bool:
    """True if nearly all pipes of a text stand between two tabs, or after one at the end of a line."""
    between = text.count(BETWEEN_TABS.encode()) + len(_AT_END.findall(text))
    return between > 0 and between >= _PIPE_SHARE * text.count(b"|")


def with_doubt_of_line_ends(chosen: Reading) -> Reading:
    """The reading, in doubt where each line ends with a part of the separator, which would stay in the last value."""
    text = chosen.sample.text
    if chosen.doubt is not None or chosen.sep != BETWEEN_TABS or not _AT_END.search(text):
        return chosen
    end = re.search(rb"\r\n|\r|\n", text)
    values = f"{chosen.columns} value{'s' * (chosen.columns > 1)}"
    line_end = "" if end is None else repr(end[0].decode())[1:-1]
    return chosen.but(
        doubt=rf"Pipes between tabs separate {values}, and each line ends with a tab and a pipe: give "
        rf"sep=\t|\t with a lineSep of tab, pipe and line end, in a shell -o $'lineSep=\t|{line_end}', and quote empty."
    )
