"""Lines at the end of a file that are no records: sums, counts of rows, notes, and the rules above them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from splitscan.formats.csv.sniffing.evidence import quoted
from splitscan.formats.csv.sniffing.reading import Reading, Sample, end_of
from splitscan.formats.csv.sniffing.separators import LEAST_CONSISTENCY
from splitscan.formats.csv.sniffing.values import Record, ValueKind, are_typed, is_typed, kind_of

FOOTER = re.compile(
    rb"\(?\d[\d,]* (?:rows?|records?)\b.*|(?i:fetched:? \d[\d,]* rows?|time taken: .*|query ok, .*|total rows: \d+)"
)
"""The line in which programs of databases count the rows above it."""

_RULE = re.compile(rb"[ \t]*[-=+|:][-=+|: \t]*[-=]{2}[-=+|: \t]*")
_DRAWN = re.compile(rb"-+|=+|_+")
_EDGES = b" \t*:.="
_SUM = re.compile(
    r"(?:(?:grand|sub|net|overall|sum|general|column)[ -]?)?totals?(?: general| g[eé]n[eé]ral)?|sums?|averages?|avg|"
    r"means?|gesamt(?:summe|betrag)?|summe|insgesamt|zusammen|mittelwert|durchschnitt|somme|ensemble|moyenne|suma|"
    r"totale|totali|totaal|totalt|samtliche|итого|всего|сумма|razem|ogółem|celkem|összesen|toplam|合計|総計|合计|总计|合計额|합계",
    re.IGNORECASE,
)
_SUM_IN_LINE = re.compile(rb"(?i:(?:grand |sub-?)?total|sum|average)\W+[-+$\d].*")
_NOTE = re.compile(
    rb"(?i:sources?|notes?|footnotes?|remarks?|disclaimer|copyright|last updated?|updated|generated|exported|printed|"
    rb"data (?:from|source)|quellen?|fuentes?|fonte|anmerkung(?:en)?|hinweis|nota|stand|legend)\b.*[ :].*|"
    rb"(?:\*+|\([a-z0-9]\)|\[[a-z0-9]\]|\xc2\xa9|\xe2\x80\xa0) ?\w.*"
)
_LEAST_BODY = 3  # records of a table, before lines that are none
_MOST_LAST = 12  # of these
_SHARE_OF_VALUES = 8  # lines of text have values in at most one of so many columns
_LEAST_COLUMNS = 4  # of a table in which they are told
_LEAST_WORDS = 3  # of one of these
_LEAST_FILLED = 8  # records of the table before them
_KNOWN_RECORDS = 500  # before them, which say how records look
_PLACES = re.compile(rb"\.(\d+)\Z")


def is_rule(line: bytes, record: Record) -> bool:
    """True if a line is drawn: of dashes and marks, or of dashes in all fields."""
    if _RULE.fullmatch(line):
        return True
    is_drawn = all(_DRAWN.fullmatch(value.strip()) for value, _ in record)
    return is_drawn and len(record) > 1 and any(len(value.strip()) > 1 for value, _ in record)


def about_last_lines(chosen: Reading, parts: Sequence[Sample], *, is_given: bool = False) -> Iterator[str]:
    """Lines at the end which would be records, and are sums, counts or notes; rules elsewhere that would be some.

    Lines with more or fewer fields than the table are rejects, which is said where they are read.
    """
    end = _End.of(chosen, parts)
    found = [] if end is None else end.no_records()
    if end is not None and found:
        yield _of_last_lines(end, found, is_given=is_given)
        return
    for number, (line, record) in enumerate(zip(chosen.lines, chosen.records, strict=True)):
        if len(record) == chosen.columns > 1 and is_rule(line, record):
            yield _of_rule(chosen, chosen.lines, number, is_given=is_given)
            return


def _of_last_lines(end: _End, found: Sequence[tuple[int, str]], *, is_given: bool) -> str:
    first = found[0][0]
    kinds = list(dict.fromkeys(kind for _, kind in found if kind != _NOTHING))
    takes = "" if is_given else ", or give header to take those with all fields for records"
    if end.is_whole:
        line, last = (end.reading.lines_before(number) + 1 for number in (first, len(end.reading.records) - 1))
        where = f"line {line:,}" if line == last else f"lines {line:,} to {last:,}"
        before = f"head -n {line - 1}"
    else:
        lines = end.reading.line_count - end.reading.lines_before(first)
        where = "the last line" if lines == 1 else f"the last {lines} lines"
        before = f"head -n -{lines}"
    said = f"{', '.join(kinds[:-1])} and {kinds[-1]}" if len(kinds) > 1 else kinds[0]
    return (
        f"The file ends with {quoted(end.reading.lines[first])}, {where}: {said}, and no record"
        f"{'s' * (len(found) > 1)}. "
        f"Read the lines before, as {before} prints them{takes}."
    )


def _of_rule(chosen: Reading, lines: Sequence[bytes], number: int, *, is_given: bool) -> str:
    mark = lines[number][:1]
    is_free = all(is_rule(line, record) for line, record in zip(lines, chosen.records, strict=True) if line[:1] == mark)
    fix = f"give comment={mark.decode(errors='replace')} to leave it out" if is_free else "take it out"
    takes = "" if is_given else ", or give header to take it for a record"
    seen = f"The line {quoted(lines[number])}, line {chosen.lines_before(number) + 1:,},"
    return f"{seen} is a rule, and no record: {fix}{takes}."


@dataclass(frozen=True)
class _End:
    """The records at the end of a file, the table's own and others.

    Attributes:
        reading: Of the end; of all of the file, where that is known.
        columns: Fields of most records of the table.
        is_whole: Whether it is of all of the file.
    """

    reading: Reading
    columns: int
    is_whole: bool

    @classmethod
    def of(cls, chosen: Reading, parts: Sequence[Sample]) -> _End | None:
        """The end of a file, if a sample has it, and it is a part of the same table."""
        if not parts[-1].is_end:
            return None
        if len(parts) == 1 and chosen.is_whole:
            return cls(chosen, chosen.columns, is_whole=True)
        reading = end_of(chosen, parts[-1])
        is_same = reading.columns == chosen.columns and reading.consistency >= LEAST_CONSISTENCY
        return cls(reading, chosen.columns, is_whole=False) if is_same else None

    def no_records(self) -> list[tuple[int, str]]:
        """Number and kind of the records at the end that are none; nothing where all of these will be rejects."""
        records, found = self.reading.records, self._texts()
        if found:
            return found
        least = max(len(records) - _MOST_LAST, 1 + _LEAST_BODY)
        gap = next((number for number in range(least, len(records)) if self._begins_block(number)), len(records))
        for number in range(len(records) - 1, least - 1, -1):
            kind = self._kind(number, is_below_gap=number >= gap)
            if kind is None:
                break
            found.insert(0, (number, kind))
        found = _from_first_value(found)
        is_silent = any(len(records[number]) == self.columns and kind != _NOTHING for number, kind in found)
        return found if is_silent else []

    def _texts(self) -> list[tuple[int, str]]:
        """Lines of text at the end, filled up with separators, however many: the table has none with so few values."""
        records = self.reading.records
        most = max(1, self.columns // _SHARE_OF_VALUES) if self.columns >= _LEAST_COLUMNS else 0
        first = len(records)
        while first and _values_in(records[first - 1]) <= most:
            first -= 1
        before = self._table_before(first)
        if not most or first == len(records) or len(before) < max(_LEAST_FILLED, len(records) - first):
            return []
        if any(_values_in(record) <= most for record in before):
            return []
        texts = [[value.strip() for value, _ in record] for record in records[first:] if len(record) == self.columns]
        body = _Body(before, self.columns)
        is_prose = any(len(value.split()) >= _LEAST_WORDS for values in texts for value in values)
        if not is_prose or any(map(body.has_typed, texts)):
            return []
        kinds = ("text" if _values_in(record) else _NOTHING for record in records[first:])
        return _from_first_value(list(enumerate(kinds, first)))

    def _begins_block(self, number: int) -> bool:
        """True if a rule, or a gap such as the table has nowhere else, is before a record."""
        if is_rule(self.reading.lines[number - 1], self.reading.records[number - 1]):
            return True
        before = range(max(2, number - _KNOWN_RECORDS), number - 1)
        return self.reading.is_after_gap(number) and not any(map(self.reading.is_after_gap, before))

    def _kind(self, number: int, *, is_below_gap: bool) -> str | None:
        record, line = self.reading.records[number], self.reading.lines[number]
        if not _values_in(record):
            return _NOTHING
        if is_rule(line, record):
            return "a rule"
        if FOOTER.fullmatch(line.strip()):
            return "a count of rows"
        if len(record) != self.columns:
            return "no values of all columns"
        body = _Body(self._table_before(number), self.columns)
        if body.is_summed_by(record, line, is_whole=self.is_whole, is_below_gap=is_below_gap):
            return "what may be a sum"
        return "what may be a note" if body.is_noted_by(record, line, is_below_gap=is_below_gap) else None

    def _table_before(self, number: int) -> list[Record]:
        """The records before one but the first, which may be names or cut, and rules."""
        start = 1 if self.is_whole else max(1, number - _KNOWN_RECORDS)
        pairs = zip(self.reading.lines[start:number], self.reading.records[start:number], strict=True)
        return [record for line, record in pairs if not is_rule(line, record)]


_NOTHING = "nothing"


def _values_in(record: Record) -> int:
    """How many fields of a record are not blank."""
    return sum(bool(value.strip()) for value, _ in record)


def _from_first_value(found: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Without the first ones in which nothing is: a line without a value is a record, with nothing in it."""
    return list(dropwhile(lambda each: each[1] == _NOTHING, found))


class _Body:
    """Records of a table before its last ones.

    Args:
        records: Of any width.
        columns: Fields of most of them.
    """

    def __init__(self, records: Sequence[Record], columns: int) -> None:
        self._columns = [[record[i][0].strip() for record in records if len(record) == columns] for i in range(columns)]

    def is_summed_by(self, record: Record, line: bytes, *, is_whole: bool, is_below_gap: bool) -> bool:
        """True if a record has a word for a sum that no other has, or adds up a column and lacks what others have."""
        values = [value.strip() for value, _ in record]
        if len(values) == 1:
            return self._is_typed(0) and (
                _SUM_IN_LINE.fullmatch(line) is not None or (is_whole and is_below_gap and self._adds_up(0, values[0]))
            )
        place = next((i for i, value in enumerate(values) if value), 0)
        word = _word(values[place])
        others = [value for i, value in enumerate(values) if i != place and value]
        if _SUM.fullmatch(word) and any(kind_of(value) is ValueKind.NUMBER for value in others):
            return not any(_word(value) == word for value in self._columns[place])
        return is_whole and self._lacks(values) and any(map(self._adds_up, range(len(values)), values))

    def has_typed(self, values: Sequence[bytes]) -> bool:
        """True if a value is typed as those of its column."""
        return any(is_typed(values[i]) for i in range(len(values)) if self._is_typed(i))

    def is_noted_by(self, record: Record, line: bytes, *, is_below_gap: bool) -> bool:
        """True if a record has the words of a note, or stands below a gap, and no value where all others have one."""
        values = [value.strip() for value, _ in record]
        typed = [i for i in range(len(values)) if self._is_typed(i)]
        is_unlike = not any(is_typed(values[i]) for i in typed)
        has_words = _NOTE.fullmatch(values[0]) is not None
        if len(values) == 1:
            return has_words and is_below_gap and bool(typed) and is_unlike
        lacks_most = not any(values[1:]) and all(all(column) for column in self._columns[1:])
        if has_words:
            return is_unlike and (bool(typed) or lacks_most) and not any(map(_NOTE.fullmatch, self._columns[0]))
        is_text = b" " in line.strip() and not is_typed(values[0])
        return is_below_gap and is_text and is_unlike and bool(typed)

    def _is_typed(self, column: int) -> bool:
        """True if nearly all values of a column are typed, and few are missing."""
        values = [value for value in self._columns[column] if value]
        return 2 * len(values) > len(self._columns[column]) and len(values) >= _LEAST_BODY and are_typed(values)

    def _lacks(self, values: Sequence[bytes]) -> bool:
        """True if a record has nothing where all others have a value."""
        return any(not value and column and all(column) for value, column in zip(values, self._columns, strict=True))

    def _adds_up(self, column: int, value: bytes) -> bool:
        """True if a value is the sum of those in its column."""
        numbers = [_number(each) for each in self._columns[column] if each]
        whole = _number(value)
        if len(numbers) < _LEAST_BODY or not whole or any(number is None for number in numbers):
            return False
        places = _PLACES.search(value)
        total = math.fsum(number for number in numbers if number is not None)
        return abs(total - whole) <= 0.5 * 10.0 ** -(len(places[1]) if places else 0)


def _word(value: bytes) -> str:
    return value.strip(_EDGES).decode(errors="replace").casefold()


def _number(value: bytes) -> float | None:
    try:
        return float(value.replace(b",", b"").lstrip(b"$"))
    except ValueError:
        return None
