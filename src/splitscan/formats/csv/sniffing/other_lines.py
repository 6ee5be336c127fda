"""Lines that stand among the records of a table and are none: units, rules, the header again, a second table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from splitscan.formats.csv.sniffing.evidence import quoted
from splitscan.formats.csv.sniffing.found import Confidence, Setting
from splitscan.formats.csv.sniffing.header import NAME, find_header
from splitscan.formats.csv.sniffing.last_lines import FOOTER, is_rule
from splitscan.formats.csv.sniffing.reading import LINE_END, Reading, Sample
from splitscan.formats.csv.sniffing.separators import LEAST_SCORE
from splitscan.formats.csv.sniffing.values import Record, are_typed, is_placeholder, is_typed

_RULE_OF_PLACES = re.compile(rb" *[-=]+(?: +[-=]+)+ *")
_DASHES = re.compile(rb"[-=]+")
_LEAST_BODY = 2  # records below names
_LEAST_ABOVE = 2  # values of a column, or texts of a line
_LEAST_KNOWN = 3  # records, of which a column holds values
_KNOWN_RECORDS = 20  # before a line, which say whether it is like them
_LOOKED_AT = 500
_TEXT = re.compile(rb"[A-Za-z_\x80-\xff]")
_UNIT = re.compile(rb"\[[^\[\]]*\]|\([^()]*\)|%|\d+[sdn]")  # the last but one: as the formats of USGS
_DIRECTIVE = re.compile(rb"\"?#q2:[a-z]")  # of QIIME 2
_TYPE = re.compile(
    rb"(?i:string|str|text|varchar|char|categorical|numeric|u?int\d*|integer|bigint|long|float\d*|double|decimal|real|"
    rb"number|date|datetime|timestamp|bool|boolean)(?:\(\d+(?:, ?\d+)?\))?|\d+[sdn]"
)
_MOST_NAMES = 4  # lines in which names, units and rules stand
_MOST_ABOVE = 30  # lines above a rule, where the lines make no table, and above directives
_LOOSE_NAME = re.compile(rb"[^ ]+(?: [^ ]+)*")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LATER_MARK = re.compile(rb"[\r\n]" + _BYTE_ORDER_MARK)


def about_other_lines(
    chosen: Reading, header: Setting, parts: Sequence[Sample], *, is_given: bool = False
) -> Iterator[str]:
    """Lines that are neither the header nor records: each would be one, and turn columns of numbers to texts.

    Args:
        chosen: The best reading.
        header: Whether its first record names the columns.
        parts: All samples.
        is_given: Whether the user said that it does: then nothing is left to give but what leaves the lines out.
    """
    if any(_LATER_MARK.search(part.text) for part in parts):
        yield (
            "A line begins with a byte order mark, as where files were joined, which would be a part of its first "
            f"value: take it out, as sed 's/\\xef\\xbb\\xbf//' does{_or(is_given, 'give header to read it as it is')}."
        )
    directives = _of_directives(chosen) if chosen.marks else None
    if directives is not None:
        yield directives
        return
    again = _header_again(chosen, header, is_given=is_given)
    if again is not None:
        yield again
        return
    lines = chosen.lines
    most = _MOST_NAMES if chosen.score >= LEAST_SCORE else _MOST_ABOVE
    rule = next((n for n, line in enumerate(lines[:most]) if is_rule(line, chosen.records[n])), None)
    if rule is not None:
        yield _of_rule(chosen, lines, rule)
        return
    names = _lines_of_names(chosen.records) or _line_of_units(chosen.records, header)
    if names:
        yield _of_several(chosen, lines, names, is_given=is_given)
    elif not (header.value and all(name for name, _ in chosen.records[0][1:])) and _are_below_groups(chosen.records):
        seen = quoted(lines[1])
        yield f"The line {seen} may be the header: give header=true with skipRows={chosen.lines_before(1)}."
    if header.value and not names and _is_note_below(chosen.records):
        yield (
            f"The line {quoted(lines[1])} below the first one may be a note, and no record: give header=false with "
            f"skipRows={chosen.lines_before(1) + 1} and a schema{_or(is_given, 'header=true')}."
        )
    other = None if names else _other_header(chosen, is_named=bool(header.value))
    if other is not None:
        yield _of_second_table(chosen, other, is_given=is_given)


def _or(is_given: bool, otherwise: str) -> str:
    return "" if is_given else f", or {otherwise}"


def _of_directives(chosen: Reading) -> str | None:
    """The doubt of a file of QIIME 2 that has lines of directives below its names."""
    head = LINE_END.split(chosen.sample.text)[:_MOST_ABOVE]
    last = max((n for n, line in enumerate(head) if _DIRECTIVE.match(line)), default=-1)
    if last < 0:
        return None
    is_named = any(line and not line.startswith(b"#") for line in head[:last])
    fix = "header=true" if is_named else f"header=false with skipRows={chosen.skipped + last + 1}, and a schema"
    return f"The line {quoted(head[last])} has directives, and is no record: give comment=# and {fix}."


# ---------------------------------------------------------------- tables one below the other


def _header_again(chosen: Reading, header: Setting, *, is_given: bool) -> str | None:
    """The doubt where the header comes again, or one of its names above values, as where tables were joined."""
    first, *others = [_without_mark(record) for record in chosen.records]
    if chosen.columns < _LEAST_ABOVE or (not header.value and header.confidence is Confidence.CERTAIN):
        return None
    named = [
        i for i in range(len(first)) if _names_values(first[i][0], [each[i][0] for each in others if i < len(each)])
    ]
    again = [n for n, record in enumerate(others, 1) if any(i < len(record) and record[i] == first[i] for i in named)]
    whole = sum(record == first for record in others)
    if whole and (header.value or len(again) == whole or _is_alone_again(first, others)):
        times = f"{whole} time{'s' * (whole > 1)}"
        takes = "give header=true to take these lines for records, and with " * (not is_given)
        return (
            f"The header comes again {times} below: {takes or 'give '}a schema{' and' * is_given} mode=DROPMALFORMED "
            "to leave out those that do not fit it."
        )
    if not again or any(n + 1 in again for n in again):
        return None  # one value of many
    return _of_second_table(chosen, again[0], is_given=is_given)


def _is_alone_again(first: Record, others: Sequence[Record]) -> bool:
    """True if a first record of different texts comes again in a table, and no other record does."""
    rest = [tuple(record) for record in others if record != first and any(value for value, _ in record)]
    return len(rest) >= _KNOWN_RECORDS and len({*rest}) == len(rest) and _are_different_texts([v for v, _ in first])


def _names_values(name: bytes, below: Sequence[bytes]) -> bool:
    """True if a text stands above typed values, and comes again among them."""
    if not _is_text(name) or name not in below:
        return False
    others = [value for value in below[:_LOOKED_AT] if value and value != name]
    return len(others) >= _LEAST_ABOVE and are_typed(others)


def _other_header(chosen: Reading, *, is_named: bool) -> int | None:
    """The number of a record of different texts in all columns in which those before it have values.

    After an empty line it may be as wide as it likes: there it names the columns of those below.
    """
    records = chosen.records
    known = records[1 : 1 + _LEAST_KNOWN]
    typed = [
        i for i in range(min(map(len, known), default=0)) if sum(is_typed(each[i][0]) for each in known) == _LEAST_KNOWN
    ]
    for number, record in enumerate(records[_LEAST_KNOWN:], _LEAST_KNOWN):
        values = [record[i][0] for i in typed if i < len(record)]
        is_other = is_named and len(values) == len(typed) >= _LEAST_ABOVE and _are_different_texts(values)
        if is_other and all(_are_typed(records[max(1, number - _KNOWN_RECORDS) : number], i) for i in typed):
            return number
        if len(record) > 1 and chosen.is_after_gap(number) and _names_those_below(records[number:]):
            return number
    return None


def _are_typed(records: Sequence[Record], column: int) -> bool:
    values = [record[column][0] for record in records if column < len(record) and record[column][0]]
    return are_typed(values)


def _are_different_texts(values: Sequence[bytes]) -> bool:
    return all(value[:1].isalpha() and _is_text(value) for value in values) and len(set(values)) == len(values)


def _names_those_below(records: Sequence[Record]) -> bool:
    """True if a record of names begins a table of its own."""
    names = [value for value, _ in records[0]]
    if not _are_different_texts(names) or not all(map(NAME.fullmatch, names)):
        return False
    below = [record for record in records[: _KNOWN_RECORDS + 1] if len(record) == len(names)]
    return len(below) > _LEAST_ABOVE and find_header(below).is_sure


def _of_second_table(chosen: Reading, record: int, *, is_given: bool) -> str:
    is_even = len(chosen.records[record]) == len(chosen.records[0])
    takes = _or(is_given or not is_even, "give header to take such lines for records")
    line, seen = chosen.lines_before(record) + 1, quoted(chosen.lines[record])
    return (
        f"The line {seen}, line {line:,}, names columns again: another table begins there. Read each alone, the first "
        f"as head -n {line - 1} prints it{takes}."
    )


# ---------------------------------------------------------------- rules, names and units


def _of_rule(chosen: Reading, lines: Sequence[bytes], number: int) -> str:
    rule = lines[number]
    below = chosen.lines_before(number) + 1
    last = lines[-1].strip()
    footer = f"; the last line, {quoted(last)}, is none either: mode=DROPMALFORMED leaves it out"
    ends = footer * (FOOTER.fullmatch(last) is not None)
    seen = f"The line {quoted(rule)} is a rule, and no record: give"
    places = _places_below(lines[number - 1], lines[number + 1 :]) if number and chosen.columns == 1 else b""
    places = rule if number and _RULE_OF_PLACES.fullmatch(rule) else places
    if places:
        return (
            f"{seen} recordFormat=fixed_width with layout='{layout_of(places, lines[number - 1])}', and pipe the lines "
            f"below it into that, as tail -n +{below + 1} does{ends}."
        )
    mark = rule[:1]
    others = (line for line, record in zip(lines, chosen.records, strict=True) if not is_rule(line, record))
    is_free = mark in b"-=_+|:" and not any(line.startswith(mark) for line in others)
    above = chosen.lines_before(number - 1) if number and chosen.score < LEAST_SCORE else 0
    begins = f" with skipRows={above}" if above else ""
    fix = f"comment={mark.decode()}{begins}" if is_free else f"skipRows={below} with header=false"
    return f"{seen} {fix}{ends}."


def _places_below(names: bytes, below: Sequence[bytes]) -> bytes:
    """Dashes where the columns are that begin below names: two blanks or more stand before each but the first."""
    starts = [found.start() for found in _LOOSE_NAME.finditer(names)]
    if len(starts) < _LEAST_ABOVE or b"\t" in names or not all(_stands_at(line, starts) for line in below):
        return b""
    widths = [stop - start - 1 for start, stop in pairwise(starts)]
    longest = max(map(len, (names, *below)))
    return b" " * starts[0] + b" ".join(b"-" * width for width in (*widths, longest - starts[-1]))


def _stands_at(line: bytes, starts: Sequence[int]) -> bool:
    """True if a blank stands before each place, in a line that reaches so far."""
    return all(line[start - 1 : start] in (b" ", b"") for start in starts if start)


def layout_of(rule: bytes, names: bytes) -> str:
    """The layout of columns at places."""
    places = [found.span() for found in _DASHES.finditer(rule)]
    found = [names[start:stop].strip().decode(errors="replace").replace("`", "``") for start, stop in places]
    shown = (f"`{name}`" if " " in name or "," in name or not name else name for name in found)
    return ", ".join(f"{name} {start + 1} {stop - start}" for name, (start, stop) in zip(shown, places, strict=True))


def _line_of_units(records: Sequence[Record], header: Setting) -> list[int]:
    """The first line below the header, where it has units or types: in few columns, above few records."""
    if len(records) <= _LEAST_ABOVE or len(records[0]) < _LEAST_ABOVE or len(records[1]) != len(records[0]):
        return []
    cells, body = [value for value, _ in records[1]], records[2 : 2 + _LOOKED_AT]
    columns = [[each[i][0] for each in body if i < len(each) and each[i][0]] for i in range(len(cells))]
    texts = [value for value in cells if value]
    is_new = not any(value in below for value, below in zip(cells, columns, strict=True))
    if is_new and len(texts) >= _LEAST_ABOVE and all(map(_TYPE.fullmatch, texts)):
        return [1]
    if not header.value and not find_header([records[0], *body]).is_sure:
        return []
    typed = [i for i, below in enumerate(columns) if len(below) >= _LEAST_BODY and are_typed(below)]
    above = [i for i in typed if cells[i]]
    never = [i for i, below in enumerate(columns) if not cells[i] and len(below) == len(body)]
    is_filled = any(not name and cell for (name, _), cell in zip(records[0][1:], cells[1:], strict=True))
    if is_filled and never and all(cells[1:]):
        return [1]  # below names that stand over several columns
    are_units = bool(above) and is_new and all(_is_unit(cells[i]) for i in above)
    return [1] if are_units else []


def _is_unit(value: bytes) -> bool:
    return _UNIT.fullmatch(value.strip()) is not None or _is_text(value)


def _is_text(value: bytes) -> bool:
    """True if a value may be a name: it is typed no more than it stands where another is missing."""
    return _TEXT.match(value) is not None and not is_typed(value) and not is_placeholder(value)


def _lines_of_names(records: Sequence[Record]) -> list[int]:
    """Which of the records below the first one are of names too: texts above typed values, where cells may be empty."""
    for last in range(_MOST_NAMES - 1, 0, -1):
        body = records[last + 1 :]
        if len(body) >= _LEAST_BODY and _stands_above(records[last], body):
            return [n for n in range(1, last + 1) if n == last or _stands_above(records[n], body)]
    return []


def _stands_above(record: Record, body: Sequence[Record]) -> bool:
    """True if a record has texts that do not come again above typed values, in two columns or more, and few values."""
    texts = typed = 0
    for i, (value, _) in enumerate(record):
        below = [each[i][0] for each in body if i < len(each) and each[i][0]]
        if not value or 2 * len(below) <= len(body) or not are_typed(below):
            continue
        typed += is_typed(value)
        texts += _is_text(value) and value not in below
    return texts > max(1, typed)


def _lines_with_most_names(chosen: Reading, last: int) -> list[int]:
    """Which of the first records have the most different texts; one that is wider than the table names nothing."""
    records = [record if len(record) <= chosen.columns else [] for record in chosen.records[: last + 1]]
    texts = [{value for value, _ in record if value and not is_typed(value)} for record in records]
    return [n for n, each in enumerate(texts) if len(each) == max(map(len, texts))]


def _of_several(chosen: Reading, lines: Sequence[bytes], names: Sequence[int], *, is_given: bool) -> str:
    """The doubt where several of the first lines name columns: the one with the most names may be the header."""
    best, below = _lines_with_most_names(chosen, names[-1]), chosen.lines_before(names[-1]) + 1
    after = f"give header=false with skipRows={below} and a schema"
    if best == [0] or best == [0, names[-1]]:
        seen = quoted(lines[names[-1]])
        takes = _or(is_given, "header=true")
        return f"The line {seen} below the first one may be units or names, and no record: {after}{takes}."
    which = " or ".join(quoted(lines[n]) for n in best)
    rows = " or ".join(f"skipRows={chosen.lines_before(n)}" for n in best)
    others = "" if best == names[-1:] else f"; the lines below it may be no records either: {after} to leave all out"
    return f"The line {which} may be the header: give header=true with {rows}{others}."


def _without_mark(record: Record) -> Record:
    """A record without a byte order mark, which a file that was appended may begin with."""
    (value, is_quoted), *others = record
    return [(value.removeprefix(_BYTE_ORDER_MARK), is_quoted), *others]


def _are_below_groups(records: Sequence[Record]) -> bool:
    """True if names in all columns stand below texts in some, and the records below them have values in all."""
    groups, names, *body = [[value.strip() for value, _ in record] for record in (*records[:_LOOKED_AT], [], [])]
    body = body[: len(records) - 2]
    empty = [i for i, value in enumerate(groups) if i and not value]
    texts = [value for value in groups if value]
    if not body or not texts or not empty or len(names) != len(groups) or len(groups) <= _LEAST_ABOVE:
        return False
    if not all(map(_is_text, (*texts, *names[1:]))) or not all(map(NAME.fullmatch, names[1:])):
        return False
    is_full = all(len(each) == len(names) and all(each[i] for i in empty) for each in body)
    return is_full and not any(
        name and name in column for name, column in zip(names, zip(*body, strict=True), strict=True)
    )


def _is_note_below(records: Sequence[Record]) -> bool:
    """True if the record below the names has a text of words in its first column only, where all others have more."""
    if len(records) <= _LEAST_KNOWN + 1 or len(records[0]) <= _LEAST_ABOVE:
        return False
    first, *others = [value.strip() for value, _ in records[1]]
    is_lone = len(first.split()) > 1 and not any(others) and len(records[1]) == len(records[0])
    return is_lone and all(all(value for value, _ in record[1:]) for record in records[2 : 2 + _LOOKED_AT])
