"""Why a dialect must not be used unseen: what in the samples contradicts it, one sentence each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from splitscan.formats.csv.options import BLANK_RUNS
from splitscan.formats.csv.sniffing.comments import about_marks
from splitscan.formats.csv.sniffing.evidence import LEAST_LEAD, quoted, rival_of
from splitscan.formats.csv.sniffing.found import ONE_COLUMN, Confidence, Setting, shown
from splitscan.formats.csv.sniffing.header import is_contradicted
from splitscan.formats.csv.sniffing.last_lines import about_last_lines
from splitscan.formats.csv.sniffing.other_lines import about_other_lines
from splitscan.formats.csv.sniffing.reading import LINE_END, Reading, Sample
from splitscan.formats.csv.sniffing.separators import (
    DOUBLED,
    LEAST_CONSISTENCY,
    LEAST_SCORE,
    is_constant,
    is_written_by_rule,
    makes_table,
)
from splitscan.formats.csv.sniffing.values import is_typed
from splitscan.formats.first_bytes import Beginning, log_text, other_text, signed_text

_ONE_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff-]*")
_MARKS = "#%!"  # of comments, at the top of a file
_MARK = tuple(mark.encode() for mark in _MARKS)
_WHOLE_LINES = (
    f"Give recordFormat=text or sep={shown(ONE_COLUMN)} for whole lines, sep={BLANK_RUNS} for values between blanks, "
    "with skipRows where lines stand above, or recordFormat=fixed_width and a layout for columns at places."
)
_ARRAY = "columnsArray"  # a record may be as long as it is
_KEEPS_FIELDS = (_ARRAY, "enforceSchema", "rescuedDataColumn")  # whatever the header has
_BLANKS = rb"[ \t]+"
_LEAST_HEALED = 3
_LONE_RETURN = re.compile(rb"\r+(?![\r\n])")
_LONE_FEED = re.compile(rb"(?<!\r)\n")
_ESCAPED_END = re.compile(rb"\\\r?\n")
_OTHER_SEPARATORS = (rb",", rb";", rb"\t", rb"\|", rb"[ \t]{2,}", _BLANKS)  # of a header above a table


def about_signature(text: bytes) -> list[str]:
    """The doubt of a text that a signature begins: where no field is one, nothing else can be told."""
    signed = signed_text(text) or log_text(text)
    return [] if signed is None else [_of_another_text(signed)]


def doubts_of(
    best: Sequence[Reading],
    settings: Mapping[str, Setting],
    given: Mapping[str, Any],
    parts: Sequence[Sample],
    named: str | None,
) -> Iterator[str]:
    """Doubts about the best reading; options of the user are not doubted.

    Args:
        best: The readings that came closest, the best one first.
        settings: What was found.
        given: What the user said.
        parts: All samples.
        named: The separator that the name of the file says.
    """
    chosen = best[0]
    if chosen.doubt is not None:
        yield chosen.doubt
    cut = next((each for each in best if each.is_cut and each.quote is not None), None)
    if cut is not None and "quote" not in given and cut.may_be_quoted:
        yield (
            f"After line {cut.last_line:,} a value may be quoted that does not end in the first "
            f"{len(cut.sample.text):,} bytes: give quote, and an empty one where nothing is quoted."
        )
    if not chosen.records:
        return  # nothing can be read wrong
    cut_by = None if "sep" in given else _about_line_ends(chosen, is_given="lineSep" in given)
    if cut_by is not None:
        yield cut_by  # of records that are cut nothing else can be told
        return
    header = settings["header"]
    yield from () if "comment" in given else about_marks(chosen)
    others = [] if "header" in given else list(about_other_lines(chosen, header, parts))
    if "sep" not in given:
        yield from _about_table(chosen, parts[0].text, is_ragged=_ARRAY in given or _are_last_fields_left_out(chosen))
        yield from _about_fields(best, named, given, are_told=bool(others))
    if settings["escape"].confidence is Confidence.UNSURE:
        yield f"{settings['escape'].evidence.capitalize()}."
    if "header" not in given:
        yield from _about_header(chosen, header, others, given)
        yield from () if others else about_last_lines(chosen, parts)
    if "skipRows" not in given and not settings["header"].value:
        yield from _about_preamble(chosen)
    if given.keys().isdisjoint(("sep", _ARRAY)):
        yield from _elsewhere(chosen, parts[1:])


def _about_header(chosen: Reading, header: Setting, others: Sequence[str], given: Mapping[str, Any]) -> Iterator[str]:
    if is_contradicted(header, chosen.records):
        yield f"Whether the first record names the columns is not clear: {header.evidence}; give header."
    yield from others or _about_width(chosen, header, given)


def objections_of(
    best: Sequence[Reading], settings: Mapping[str, Setting], given: Mapping[str, Any], parts: Sequence[Sample]
) -> Iterator[str]:
    """Objections of the samples to options of the user; these are obeyed all the same. See :func:`doubts_of`."""
    chosen = best[0]
    if not chosen.records:
        return
    if "sep" in given and _ARRAY not in given:
        yield from _about_fields(best[:1], None, given)
        yield from _elsewhere(chosen, parts[1:])
    if "header" in given:
        yield from _about_width(chosen, settings["header"], given)
        yield from about_other_lines(chosen, settings["header"], parts, is_given=True)
        yield from about_last_lines(chosen, parts, is_given=True)


def _about_table(chosen: Reading, text: bytes, *, is_ragged: bool) -> Iterator[str]:
    is_quoted = chosen.quoted_values >= len(chosen.records) - 1 > 0 and not chosen.damaged
    if chosen.columns == 1 and chosen.sep != ONE_COLUMN and not chosen.quoted_values and _is_in_blocks(text):
        yield (f"Lines of several words stand in blocks, with empty lines between: a text, or a report. {_WHOLE_LINES}")
        return
    is_no_table = chosen.score < LEAST_SCORE and chosen.sep != ONE_COLUMN and not is_quoted and not is_ragged
    if is_no_table:
        yield f"The best reading looks little like a table (score {chosen.score:.2f}). {_WHOLE_LINES}"
    if chosen.sep == "\t" and chosen.columns > 1 and _is_indented(chosen):
        one = shown(ONE_COLUMN)
        yield f"The first of {chosen.columns} columns is empty: tabs may indent lines; give sep, sep={one} for lines."
    other = other_text(text) if is_no_table or _ends_like_another_text(text) else None
    if other is not None:
        yield _of_another_text(other)


def _is_in_blocks(text: bytes) -> bool:
    """True if empty lines stand between lines that are no comments, which have two words or more on average."""
    lines = [line.strip() for line in LINE_END.split(text.strip())]
    gaps = [n for n, line in enumerate(lines[:-1]) if n and not line]
    found = any(not lines[n - 1].startswith(_MARK) and not lines[n + 1].startswith(_MARK) for n in gaps)
    words = [len(line.split()) for line in lines if line and not line.startswith(_MARK)]
    return found and sum(words) >= 2 * len(words)


def _of_another_text(text: Beginning) -> str:
    return f"It begins like {text.kind}, which is no CSV: {text.hint}."


def _is_indented(chosen: Reading) -> bool:
    """True if no record of the full width has a first value, and others begin with one."""
    full = [record for record in chosen.records if len(record) == chosen.columns]
    return len(full) < len(chosen.records) and not any(record[0][0] for record in full)


def _about_fields(
    best: Sequence[Reading], named: str | None, given: Mapping[str, Any], *, are_told: bool = False
) -> Iterator[str]:
    """Records of several widths, where nothing that was told says why, and other separators."""
    chosen, rival = best[0], rival_of(best)
    if chosen.consistency < LEAST_CONSISTENCY and _ARRAY not in given and not are_told:
        yield _of_any_width(chosen, has_sep="sep" in given)
    doubled = next((each for each in best[1:] if "sep" not in given and _may_be_doubled(each, chosen)), None)
    is_one = chosen.columns == 1 and chosen.consistency < 1 and not chosen.quoted_values
    if is_one and "sep" not in given and not are_told:
        yield may_be_one_column(chosen)
    if doubled is not None:
        yield f"sep {shown(doubled.sep)} divides all lines into {doubled.columns} fields, and may be the separator."
    if rival is None or rival is doubled or _is_settled(chosen, rival, named):
        return
    is_beaten = is_constant(chosen) and not is_constant(rival)
    if rival.score > chosen.score * (1 - LEAST_LEAD) and not is_beaten:
        yield f"sep {shown(rival.sep)} with quote {shown(rival.quote)} reads nearly as well."


def _may_be_doubled(reading: Reading, chosen: Reading) -> bool:
    """True if two marks divide all lines alike, and are no part of names in one column of the chosen reading.

    Of names, as ``Foo::Bar::Baz``, none is typed.
    """
    mark = reading.sep.encode()
    if reading.sep not in DOUBLED or chosen.sep == reading.sep or not is_constant(reading):
        return False
    holders = {i for record in chosen.records for i, (value, _) in enumerate(record) if mark in value}
    below = [record for record in reading.records[1:] if len(record) == reading.columns]
    columns = zip(*below, strict=True)
    return len(holders) > 1 or (bool(holders) and any(all(is_typed(value) for value, _ in each) for each in columns))


def _of_any_width(chosen: Reading, *, has_sep: bool) -> str:
    """The doubt of records of several widths; where only last fields are left out, with what reads them."""
    seen = f"Only {round(100 * chosen.consistency)} % of the records have {chosen.columns} fields"
    if not _are_last_fields_left_out(chosen):
        return f"{seen}."
    first = len(chosen.records[0])
    others = "fewer" if first <= chosen.columns else f"up to {first}"
    sep = r"\t" if chosen.sep == "\t" else shown(chosen.sep)
    fills = f", and sep={sep} with header=true fills them up with nulls, as rejects"
    is_named = first >= chosen.columns and not has_sep
    return f"{seen}, and the others {others}: {_ARRAY}=true reads each as long as it is{fills * is_named}."


def _are_last_fields_left_out(chosen: Reading) -> bool:
    """True if no record has more fields than most, or than the first, and none is a single value."""
    widths = [len(record) for record in chosen.records]
    return bool(widths) and min(widths) > 1 and max(widths) == max(chosen.columns, widths[0])


def _is_settled(chosen: Reading, rival: Reading, named: str | None) -> bool:
    """True if one of two separators divides every line alike, is a tab that divides every record so, or is named.

    Of two quotes, one that is in order beats one that is not.
    """
    if rival.sep == chosen.sep:
        in_order = chosen.quoted_values > 0 == chosen.damaged
        return in_order and (rival.damaged > 0 or (not rival.quoted_values and is_written_by_rule(chosen)))
    is_tab = chosen.sep == "\t" and chosen.consistency == 1  # which texts have not, as they have commas
    return (is_constant(chosen) and not is_constant(rival)) or is_tab or makes_table(chosen, named)


def _ends_like_another_text(text: bytes) -> bool:
    """True if the first line ends with a bracket or comma, or nowhere: after ``{"a": 1}`` a record has more values."""
    line, *others = LINE_END.split(text.lstrip(), maxsplit=1)
    return not others or line.rstrip().endswith((b"}", b"]", b"{", b"[", b",", b">"))


def _about_width(chosen: Reading, header: Setting, given: Mapping[str, Any]) -> Iterator[str]:
    """A header of another width than the records: names would be shifted, and fields dropped."""
    if not given.keys().isdisjoint(_KEEPS_FIELDS):
        return
    names, fields = len(chosen.records[0]), chosen.columns
    is_told = names > fields and chosen.consistency < LEAST_CONSISTENCY and _are_last_fields_left_out(chosen)
    if names == fields or is_told:
        return
    if not header.value:
        yield (
            f"The first record has {names} fields, and most have {fields}: give a schema with all columns, and "
            f"header=false to take it for a record, with skipRows={_lines_to_second(chosen)} to leave it out; or "
            f"{_ARRAY}=true to read each record as long as it is."
        )
        return
    seen = f"The header has {names} name{'s' * (names != 1)} and the records have {fields} fields"
    is_padded = names == fields - 1 and _ends_with_separators(chosen)
    if is_padded and chosen.consistency < LEAST_CONSISTENCY:
        yield f"{seen}, the last of them empty: {_ARRAY}=true reads each record as long as it is, the header too."
        return
    if is_padded:
        yield (
            f"{seen}, the last of them empty: give header=true with rescuedDataColumn=_rescued to accept the separator "
            "at their ends."
        )
        return
    yield (
        f"{seen}: give header=false with skipRows={_lines_to_second(chosen)} to read all fields, or header=true with "
        f"enforceSchema=true and a schema of {fields} columns to name them."
    )


def _lines_to_second(chosen: Reading) -> int:
    """How many lines of the file end before the second record."""
    return chosen.lines_before(1) if len(chosen.records) > 1 else chosen.skip_rows + 1


def _ends_with_separators(chosen: Reading) -> bool:
    records = [record for record in chosen.records[1:] if len(record) == chosen.columns]
    return not any(record[-1][0] for record in records)


def _about_preamble(chosen: Reading) -> Iterator[str]:
    """A skipped line that could name the columns of a table that has no other names."""
    lines = [line for line in chosen.preamble if line.strip()]
    if not lines:
        return
    last = chosen.all_records[len(chosen.preamble) - 1]
    own = [value for value, _ in last]
    if len(lines) == len(own) == 1 and _ONE_WORD.fullmatch(lines[0]):
        yield f"The line {quoted(lines[0])} before the first record may name a single column: give sep and skipRows."
        return
    others = [re.split(sep, lines[-1].strip()) for sep in _OTHER_SEPARATORS]
    below = [re.split(sep, chosen.lines[0].strip()) for sep in _OTHER_SEPARATORS]
    could_be = [own] * (len(own) > 1 or last[0][1])
    could_be += [
        line
        for sep, line, cells in zip(_OTHER_SEPARATORS, others, below, strict=True)
        if len(line) > 1 and (len(line) == len(cells) or (len(line) == chosen.columns and sep != _BLANKS))
    ]
    if any(all(cell.strip() and not is_typed(cell) for cell in cells) for cells in could_be):
        yield (
            f"The line {quoted(lines[-1])} before the first record may be the header: give skipRows and header, and "
            "sep if it is another."
        )


def _elsewhere(chosen: Reading, parts: Sequence[Sample]) -> Iterator[str]:
    """Doubts about the dialect in the middle and at the end of a file."""
    found = [[chosen.share_elsewhere(part, inside) for inside in (False, True)] for part in parts]
    has_quotes = chosen.quoted_values > 0 or any(_begins_in_quotes(*shares) for shares in found)
    for part, shares in zip(parts, found, strict=True):
        if shares[1] is None and has_quotes:
            continue  # it may be a part of one long quoted value
        known = [share for share in shares if share is not None]
        if known and max(known) < LEAST_CONSISTENCY:
            seen = f"only {round(100 * max(known))} % of the records have {chosen.columns} fields"
            yield f"Near the {'end' if part.is_end else 'middle'} of the file {seen}."


def _begins_in_quotes(outside: float | None, inside: float | None) -> bool:
    """True if a part of a file is a table where it begins in a quoted value, and none where it does not."""
    return (outside or 0) < LEAST_CONSISTENCY <= (inside or 0)


def may_be_one_column(chosen: Reading) -> str:
    """The doubt of a table of two texts that may be one."""
    one = shown(ONE_COLUMN)
    top = chosen.contents[0][:1].decode(errors="replace")
    comment = f", with comment={top} where lines that begin so are none" if top in tuple(_MARKS) else ""
    return f"Each line may be one text, with {shown(chosen.sep)} in it: give sep, or for one column sep={one}{comment}."


def _about_line_ends(chosen: Reading, *, is_given: bool) -> str | None:
    r"""The doubt where all records are of one width once line ends in values are taken for blanks.

    A carriage return may stand in the values of a file whose lines end with LF, a line feed where they end with CRLF,
    and either after a backslash. So may the separator.
    """
    if chosen.columns < 2 and len(chosen.records[0]) < 2:  # lines of one value are never cut
        return None
    is_even = {len(record) for record in chosen.records} == {chosen.columns}
    return (None if is_even or is_given else _of_lone_ends(chosen)) or _of_backslashes(chosen, is_even=is_even)


def _of_lone_ends(chosen: Reading) -> str | None:
    text = chosen.sample.text
    if b"\n" in text and _heals(chosen, without := _LONE_RETURN.sub(b" ", text)):
        line_end = r"\r\n" if without.count(b"\r\n") == without.count(b"\n") else r"\n"
        return _of_ends("carriage return", len(_LONE_RETURN.findall(text)), line_end)
    if b"\r\n" in text and _heals(chosen, _LONE_FEED.sub(b" ", text)):
        return _of_ends("line feed", len(_LONE_FEED.findall(text)), r"\r\n")
    return None


def _of_backslashes(chosen: Reading, *, is_even: bool) -> str | None:
    text, mark = chosen.sample.text, b"\\" + chosen.sep.encode()
    if _heals(chosen, _ESCAPED_END.sub(b" ", text), joins=True):  # in quotes they are values like others
        count = len(_ESCAPED_END.findall(text))
        return (
            f"A backslash stands before {count:,} line end{'s' * (count > 1)}, and values go on below: no option reads "
            r"that. Join the lines first, as sed -e ':a' -e '/\\$/{N;s/\\\n/ /;ta' -e '}' does."
        )
    if not is_even and _heals(chosen, text.replace(mark, b" ")):
        count = text.count(mark)
        return (
            f"A backslash stands before {count:,} separator{'s' * (count > 1)} in values without quotes: no option "
            f"reads that. Write such values in quotes, or with another character than {shown(chosen.sep)}."
        )
    return None


def _of_ends(what: str, count: int, line_end: str) -> str:
    return (
        f"{count:,} {what}{'s' * (count > 1)} stand{'s' * (count == 1)} in values, and would end records: give "
        f"lineSep={line_end}, in a shell -o $'lineSep={line_end}'."
    )


def _heals(chosen: Reading, text: bytes, *, joins: bool = False) -> bool:
    """True if another text has as many fields in all of its records, and fewer records if it is to join them."""
    sample = chosen.sample
    if text == sample.text:
        return False
    healed = chosen.but(sample=Sample(text, sample.is_start, sample.is_end), finds_table=chosen.finds_table)
    return (
        healed.columns > 1
        and len(healed.records) >= _LEAST_HEALED
        and {len(record) for record in healed.records} == {healed.columns}
        and not (joins and len(healed.records) >= len(chosen.records))
    )
