"""Lines that begin with a mark: comments, records, or a header."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from splitscan.formats.csv.grammar import split_fields
from splitscan.formats.csv.options import BLANK_RUNS
from splitscan.formats.csv.sniffing.evidence import quoted
from splitscan.formats.csv.sniffing.found import ONE_COLUMN, Confidence
from splitscan.formats.csv.sniffing.header import find_header
from splitscan.formats.csv.sniffing.reading import LINE_END, Reading, Sample, after_lines
from splitscan.formats.csv.sniffing.separators import IN_TEXT
from splitscan.formats.csv.sniffing.values import MOST_WORDS, Record, are_typed, is_placeholder, is_typed

_MARKS = (b"#", b"%", b"!")
_MARKED = b"".join(_MARKS) + b" \t"
_LEAST_NAMES = 2
_LONG_RUN = re.compile(rb"[ \t]{2}|\t")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")


def with_comments(plain: Reading) -> Reading:
    """A reading in which lines that begin with a mark are what they most probably are."""
    mark = next((mark for mark in _MARKS if re.search(rb"(?:\A|[\r\n])" + mark, plain.sample.text)), None)
    if mark is None or not plain.marks:
        return plain
    without = plain.but(comment=mark.decode())
    if not without.records:
        return plain
    inside = sum(re.search(rb"[^ \t]" + mark + rb"[^ \t]", line) is not None for line in without.contents)
    if without.columns == 1 and 2 * inside > len(without.contents):
        sign = mark.decode()
        return plain.in_doubt(
            f"The character {sign} begins lines, and stands in {inside:,} others: give sep={sign} if it separates "
            f"values, or comment={sign} if such lines are none."
        )
    return _with_mark(plain, without, mark)


def _with_mark(plain: Reading, without: Reading, mark: bytes) -> Reading:
    """The reading with lines that begin with one mark, or without them."""
    lines = _leading_lines(plain.sample, mark)
    rest = plain.but(sample=after_lines(plain.sample, len(lines)), finds_table=False)
    marked = [number for number, content in enumerate(rest.contents) if content.startswith(mark)]
    whole = sum(len(rest.all_records[number]) == without.columns for number in marked)
    if whole:  # what is a record below is one at the top
        is_even = {len(record) for record in without.records} == {without.columns} != {1}
        are_some = is_even and whole < len(marked)
        return plain.but(doubt=_some_are_records(mark, whole, marked, without)) if are_some else plain
    if len(marked) >= len(without.records) or (marked and _have_no_first_value(without)):
        return _of_most_lines(plain, without, mark, [rest.contents[number] for number in marked])
    if not lines:
        return without if marked else plain
    below = _below_comments(plain, without, lines, is_free=not marked)
    full = [line for line in lines if line]
    if below.doubt is None and _are_like_records(plain, without, mark, full):
        return without.but(doubt=_may_be_records(mark, full, len(without.records)))
    return below


def _some_are_records(mark: bytes, whole: int, marked: Sequence[int], without: Reading) -> str:
    """The doubt where some lines with a mark are as wide as a table whose other lines all are, and some are not."""
    sign = mark.decode()
    return (
        f"Of the lines that begin with {sign}, {whole} ha{'s' if whole == 1 else 've'} {without.columns} fields as the "
        f"records have, and {len(marked) - whole} not: give comment={sign} with header=false to leave all of them out."
    )


def _have_no_first_value(without: Reading) -> bool:
    """True if all records begin with the separator, which may begin comments itself."""
    return without.columns > 1 and all(line.startswith(without.sep.encode()) for line in without.contents)


def _of_most_lines(plain: Reading, without: Reading, mark: bytes, marked: Sequence[bytes]) -> Reading:
    """The reading, in doubt, of a file that would lose the most lines, or all that have a first value, to a mark."""
    above = LINE_END.split(re.split(rb"(?:\A|(?<=[\r\n]))" + mark, plain.sample.text, maxsplit=1)[0])[:-1]
    keeps = "an empty comment if {}"
    if len([line for line in above if line]) == len(without.contents):
        keeps += f", with skipRows={plain.skipped + len(above)} where the lines above are none"
    elif _have_no_first_value(without):
        keeps += f", without the others, as grep -v '^{without.sep}' leaves them out"
    doubt = _may_be_records(mark, marked, len(without.records), keeps)
    are_wider = {len(split_fields(line, plain.grammar)) for line in marked} == {plain.columns} != {without.columns}
    return (plain if are_wider and plain.columns > 1 else without).but(doubt=doubt)


def _may_be_records(mark: bytes, marked: Sequence[bytes], others: int, keeps: str = "an empty comment if {}") -> str:
    """The doubt of lines with a mark that may be the records; what else to give to keep them."""
    sign, s, are = mark.decode(), "s" * (len(marked) != 1), "are" if len(marked) != 1 else "is"
    return (
        f"{len(marked):,} line{s} begin{'s' * (not s)} with {sign}, as {quoted(marked[0])}, beside {others:,} that "
        f"do{'es' * (others == 1)} not, and may be records: give comment='{sign}' if {'they are' if s else 'it is'} "
        f"none, or {keeps.format(f'they {are}' if s else f'it {are}')}."
    )


def _are_like_records(plain: Reading, without: Reading, mark: bytes, full: Sequence[bytes]) -> bool:
    """True if lines at the top, without a blank, have as many fields as the records, or are more and all of a width."""
    if len(full) < _LEAST_NAMES or any(line[1:2] in (b"", b" ", b"\t", mark) for line in full):
        return False
    widths = {len(split_fields(line, plain.grammar)) for line in full}
    return len(widths) == 1 != max(widths) and (widths == {without.columns} or len(full) >= len(without.records))


def _leading_lines(sample: Sample, mark: bytes) -> list[bytes]:
    """The first lines of a file, up to the last one that begins with the mark, blank ones among them."""
    found: list[bytes] = []
    last = 0
    for match in _LINE.finditer(sample.text):
        line = match[0].strip(b"\r\n")
        if line and not line.startswith(mark):
            break
        found.append(line)
        last = len(found) if line else last
    return found[:last]


def _below_comments(plain: Reading, without: Reading, lines: list[bytes], *, is_free: bool) -> Reading:
    """The reading of a table below lines with a mark, of which the last one may be the header."""
    count = len(lines) - 1
    above = plain.but(sample=after_lines(plain.sample, count), skipped=count, finds_table=False)
    first = above.all_records[0] if above.all_records else []
    if above.sep in (BLANK_RUNS, " ") and len(first) == without.columns + 1 and not first[0][0].strip(_MARKED):
        return _below_loose_names(without, lines, [value for value, _ in first[1:]])
    if len(first) != without.columns or without.columns == 1 or without.header.value:
        return without
    if any(len(value.split()) > MOST_WORDS for value, _ in first) or _is_spaced_first(above):
        return without
    unmarked = (first[0][0].lstrip(_MARKED), first[0][1])
    header = find_header([[unmarked, *first[1:]], *without.records])
    if _has_names_above(plain, lines, without.columns):
        both = " and ".join(map(quoted, lines[-2:]))
        return without.but(
            doubt=f"The lines {both} before the first record may both name the columns: give header=true with "
            f"skipRows={plain.skipped + count} and an empty comment for the last one, or "
            f"comment={chr(lines[-1][0])} with header=false and a schema."
        )
    if header.value and is_free and _are_names(lines[-1], above.sep):
        return above
    other = "the header" if header.confidence is not Confidence.CERTAIN or header.value else "a record as those below"
    seen = f"The line {quoted(lines[-1])} before the first record may be a comment, or {other}"
    return without.but(doubt=f"{seen}: give comment, or an empty one, with header.")


def _below_loose_names(without: Reading, lines: Sequence[bytes], names: Sequence[bytes]) -> Reading:
    """The reading of a table between blanks, in doubt where as many words as columns stand behind a mark above it."""
    if without.columns < _LEAST_NAMES or any(map(is_typed, names)) or without.header.value:
        return without
    return without.but(
        doubt=f"The line {quoted(lines[-1])} before the first record may be a comment, or name the columns: give "
        f"comment={chr(lines[-1][0])} with header=false, and a schema for its names."
    )


def _has_names_above(plain: Reading, lines: Sequence[bytes], columns: int) -> bool:
    """True if the last but one of the lines with a mark could name the columns too."""
    if len(lines) < _LEAST_NAMES or not lines[-2]:
        return False
    sample = after_lines(plain.sample, len(lines) - 2)
    other = plain.but(sample=sample, skipped=len(lines) - 2, finds_table=False)
    record = [value.strip(_MARKED) for value, _ in other.all_records[0]]
    return (
        len(record) == columns
        and all(value and not is_typed(value) and len(value.split()) <= MOST_WORDS for value in record)
        and not _is_spaced_first(other)
    )


def _are_names(line: bytes, sep: str) -> bool:
    """True if a line is no sentence: between blanks, names stand in columns, or are no words of small letters."""
    return sep not in (BLANK_RUNS, " ") or _LONG_RUN.search(line) is not None or line.upper() == line


def _is_spaced_first(above: Reading) -> bool:
    """True if blanks follow the commas of the first record, or semicolons, and not those of the next ones."""
    mark = above.sep.encode()
    first, *others = above.contents
    return above.sep in IN_TEXT and mark + b" " in first and not any(mark + b" " in content for content in others)


# ---------------------------------------------------------------- marks that no one looked for

_SIGNS = (b"//", b"--", b"#", b"%", b"!", b";", b"*")
_LEAST_RECORDS = 3  # without a sign


def about_marks(chosen: Reading) -> Iterator[str]:
    """The doubt where lines that begin with a sign stand among records that do not: they may be comments.

    They are told where the first column is of typed values without them, where the first line of the file begins with
    the sign as well, and where they have other fields than the records, which all have as many.
    """
    records, contents = chosen.records, chosen.lines
    own = chosen.sep.encode()
    for sign in () if chosen.sep == ONE_COLUMN else _SIGNS:  # whole lines are what the user wants
        marked = [n for n, line in enumerate(contents) if line.startswith(sign)]
        others = [record for record, line in zip(records, contents, strict=True) if not line.startswith(sign)]
        among = [n for n in marked if n]
        is_last = among[0] + len(among) == len(contents) if among else True  # sums and notes are told elsewhere
        is_unit = among == [1] and not is_typed(records[0][0][0])  # below names: units are told elsewhere too
        if own.startswith(sign):
            if len(others) >= _LEAST_RECORDS and _are_spaced_above(chosen, sign, marked):
                yield _of_marks(chosen, sign, len(marked), contents[0])
                return
            continue
        if is_last or is_unit or len(others) < _LEAST_RECORDS:
            continue
        if all(is_typed(records[n][0][0]) or is_placeholder(records[n][0][0]) for n in among):
            continue
        if _are_comments(chosen, sign, among, others):
            yield _of_marks(chosen, sign, len(among), contents[among[0]])
            return


def _are_comments(chosen: Reading, sign: bytes, marked: Sequence[int], others: Sequence[Record]) -> bool:
    records = chosen.records
    others = others[not records[0][0][0].startswith(sign) :]  # the header, or a record as others are
    firsts = [record[0][0] for record in others]
    if are_typed(firsts) and not any(is_typed(records[n][0][0][len(sign) :]) for n in marked):
        return True
    top = chosen.sample.text.lstrip(b"\xef\xbb\xbf\r\n")
    if top.startswith(sign) and all(chosen.lines[n].startswith(sign + b" ") for n in marked):
        return True
    is_even = {len(record) for record in others} == {chosen.columns} != {1}
    return is_even and not any(len(records[n]) == chosen.columns for n in marked)


def _are_spaced_above(chosen: Reading, sign: bytes, marked: Sequence[int]) -> bool:
    """True if lines with the separator and a blank, or with it alone, begin the file: no first value is missing so."""
    lines = [chosen.lines[n] for n in marked]
    are_remarks = len(lines) > 1 or any(len(record[-1][0].split()) > MOST_WORDS for record in chosen.records[:1])
    is_top = marked[:1] == [0] and all(line == sign or line.startswith(sign + b" ") for line in lines)
    is_told = sign == b";" or any(line.startswith(sign + b" ") for line in lines)
    return is_top and are_remarks and is_told


def _of_marks(chosen: Reading, sign: bytes, count: int, line: bytes) -> str:
    """The doubt of lines with a sign; what takes them out where it is no character that records begin with."""
    mark = sign.decode()
    one = mark[:1]
    others = [each for each in chosen.contents if each.startswith(sign[:1]) and not each.startswith(sign)]
    filters = f"leave them out before, as grep -v '^{mark}' does"
    fix = filters if others else f"give comment='{one}'"
    if sign == chosen.sep.encode():  # no comment may begin with it
        is_top = all(line.startswith(sign) for line in chosen.lines[:count])
        fix = f"give skipRows={chosen.lines_before(count)}" if is_top else filters
    elif not others and chosen.comment not in (None, one):
        fix = f"{fix}, and skipRows where lines above the records begin with {chosen.comment}"
    s = "" if count == 1 else "s"
    return (
        f"{count:,} line{s} among the records begin{'s' * (not s)} with {mark}, as {quoted(line)}, and may be no "
        f"record{s}: {fix}; an empty comment keeps them."
    )


# ---------------------------------------------------------------- names that stand in comments

_REMARK = re.compile(rb"(?<=[^\s,;|])\s+(?:\([^()]*\s[^()]*\)|\[[^\[\]]*\s[^\[\]]*\])\Z")
"""Words in parentheses, after names."""

_BETWEEN_NAMES = (rb",", rb";", rb"\t+", rb"\|", rb"[ \t]{2,}|\t", rb"[ \t]+(?![(\[])", rb"[ \t]+")


def names_in_comments(chosen: Reading) -> str | None:
    """The comment above a table without names that has as many words or fields as it, and how to take them."""
    if chosen.comment is None or chosen.columns < _LEAST_NAMES or chosen.header.value:
        return None
    mark = chosen.comment.encode()
    lines = _leading_lines(chosen.sample, mark)
    rows = [record for record in chosen.records if len(record) == chosen.columns]
    empty = sum(not any(value for value, _ in column) for column in zip(*rows, strict=True))
    widths = {chosen.columns, max(chosen.columns - empty, _LEAST_NAMES)}
    last = lines[-1].lstrip(_MARKED).split(chosen.sep.encode()) if lines and chosen.sep not in IN_TEXT else []
    if len(last) > _LEAST_NAMES and not any(is_typed(cell) or len(cell.split()) > MOST_WORDS for cell in last):
        widths.add(len({*last} - {b""}))  # of another width, they are names that would be shifted
    for number in range(len(lines) - 1, -1, -1):
        separators = _BETWEEN_NAMES if number == len(lines) - 1 else _BETWEEN_NAMES[:-2]
        _, colon, after = lines[number].rpartition(b": ")
        if any(_may_name(lines[number], sep, widths) for sep in separators) or (
            colon and max(widths) > _LEAST_NAMES and _may_name(after, _BETWEEN_NAMES[-1], widths)
        ):
            line = chosen.skipped + number + 1
            return f"names may stand in line {line}: {quoted(lines[number])}; give a schema with them to take them"
    return None


def _may_name(line: bytes, sep: bytes, widths: Collection[int]) -> bool:
    """True if a comment has a text for each column; a letter that begins it may say what it is, as in files of SPEC."""
    cells = [cell.strip() for cell in re.split(sep, _REMARK.sub(b"", line.lstrip(_MARKED).rstrip()))]
    cells = [cell for cell in cells if cell]
    if len(cells) - 1 in widths and len(cells[0]) == 1:
        cells = cells[1:]
    are_texts = all(not is_typed(cell) and len(cell.split()) <= MOST_WORDS for cell in cells)
    return len(cells) in widths and are_texts and not cells[-1].endswith(b".") and len(set(cells)) == len(cells)
