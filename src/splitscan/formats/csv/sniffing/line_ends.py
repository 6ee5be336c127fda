"""Line ends that stand in values without quotes: records are cut there, and others fit."""

from __future__ import annotations

import re

from splitscan.formats.csv.sniffing.found import shown
from splitscan.formats.csv.sniffing.reading import Reading, Sample

_LEAST_RECORDS = 3
_LONE_RETURN = re.compile(rb"\r+(?![\r\n])")
_LONE_FEED = re.compile(rb"(?<!\r)\n")
_ESCAPED_END = re.compile(rb"\\\r?\n")


def about_line_ends(chosen: Reading, *, is_given: bool) -> str | None:
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
        count = len(_LONE_RETURN.findall(text))
        return _of_ends("carriage return", count, r"\r\n" if _is_of_pairs(without) else r"\n")
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


def _is_of_pairs(text: bytes) -> bool:
    return text.count(b"\r\n") == text.count(b"\n")


def _heals(chosen: Reading, text: bytes, *, joins: bool = False) -> bool:
    """True if another text has as many fields in all of its records, and fewer records if it is to join them."""
    sample = chosen.sample
    if text == sample.text:
        return False
    healed = chosen.but(sample=Sample(text, sample.is_start, sample.is_end), finds_table=chosen.finds_table)
    return (
        healed.columns > 1
        and len(healed.records) >= _LEAST_RECORDS
        and {len(record) for record in healed.records} == {healed.columns}
        and not (joins and len(healed.records) >= len(chosen.records))
    )
