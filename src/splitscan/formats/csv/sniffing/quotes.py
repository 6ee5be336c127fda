"""Apostrophes that begin some values, and pipes between tabs: no quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from splitscan.formats.csv.grammar import split_fields
from splitscan.formats.csv.sniffing.found import shown
from splitscan.formats.csv.sniffing.reading import LINE_END, Reading, quotes_in_quotes
from splitscan.formats.csv.sniffing.separators import LEAST_CONSISTENCY

BETWEEN_TABS = "\t|\t"
"""The separator of the files of NCBI, whose lines end with a tab and a pipe."""

_USUAL = ('"', None)
_QUOTED_SHARE = 0.9  # of the texts of a column, where a program quotes them
_TWO = 2  # records or columns of a table
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
