"""Lines that begin with a mark: comments, records, or a header."""

from __future__ import annotations

import re

from splitscan.formats.csv.sniffing.evidence import quoted
from splitscan.formats.csv.sniffing.found import Confidence
from splitscan.formats.csv.sniffing.header import find_header
from splitscan.formats.csv.sniffing.reading import Reading, Sample, after_lines
from splitscan.formats.csv.sniffing.separators import IN_TEXT

_MARKS = (b"#", b"%", b"!")
_MARKED = b"".join(_MARKS) + b" \t"
_MOST_WORDS = 4  # of a name, or a value: with more it is a sentence
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")


def with_comments(plain: Reading) -> Reading:
    """A reading in which lines that begin with a mark are what they most probably are.

    Args:
        plain: It takes them for records.
    """
    mark = next((mark for mark in _MARKS if re.search(rb"(?:\A|[\r\n])" + mark, plain.sample.text)), None)
    if mark is None or not plain.marks:
        return plain
    without = plain.but(comment=mark.decode())
    if not without.records:
        return plain
    lines = _leading_lines(plain.sample, mark)
    rest = plain.but(sample=after_lines(plain.sample, len(lines)), finds_table=False)
    marked = [number for number, content in enumerate(rest.contents) if content.startswith(mark)]
    if any(len(rest.all_records[number]) == without.columns for number in marked):
        return plain  # what is a record below is one at the top
    if not lines:
        return without if marked else plain
    return _below_comments(plain, without, lines, is_free=not marked)


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
    if len(first) != without.columns or without.columns == 1 or find_header(without.records).value:
        return without
    if any(len(value.split()) > _MOST_WORDS for value, _ in first) or _is_sentence(above):
        return without
    unmarked = (first[0][0].lstrip(_MARKED), first[0][1])
    header = find_header([[unmarked, *first[1:]], *without.records])
    if header.value and is_free:
        return above
    other = "the header" if header.confidence is not Confidence.CERTAIN or header.value else "a record as those below"
    seen = f"The line {quoted(lines[-1])} before the first record may be a comment, or {other}"
    return without.but(doubt=f"{seen}: give comment, or an empty one, with header.")


def _is_sentence(above: Reading) -> bool:
    """True if blanks follow the commas of the first record, or semicolons, and not those of the next ones."""
    mark = above.sep.encode()
    first, *others = above.contents
    return above.sep in IN_TEXT and mark + b" " in first and not any(mark + b" " in content for content in others)
