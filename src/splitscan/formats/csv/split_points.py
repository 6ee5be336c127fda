"""Record boundaries of CSV that can be told from a few bytes, whatever comes before them.

Right behind a line feed a reader is at a record boundary, or inside quotes: there is no third. So a line that ends
outside quotes either way, whether it begins at a boundary or inside quotes, ends at a boundary. Most lines with a
quoted field do: ``1,"Ann",2`` closes its quote if the line begins at a boundary; if it begins inside quotes, its first
quote closes those, and what follows is data up to the next separator.

That also holds for a reader that gives records up, as they are too long or never end: it goes on behind the first line
feed of such a record, which is a boundary, too.
"""

from __future__ import annotations

from collections.abc import Callable

from splitscan.formats.csv.dialect import Dialect
from splitscan.formats.framing.encodings import CR, LF

_FEED = b"\n"
_RETURN = b"\r"


def last_split_point(data: bytes, dialect: Dialect, ends_inside: Callable[[bytes], bool]) -> int | None:
    r"""The last position in *data* that is a record boundary whatever comes before *data*, and whatever follows.

    Args:
        data: Some bytes of a file, of the part that holds its records.
        dialect: The grammar; terminators may be quoted.
        ends_inside: Whether bytes that begin at a record start end inside quotes.

    Returns:
        The position, right behind a line feed; ``None`` if none is certain.
    """
    if not _is_plain(dialect):
        return None
    quote = dialect.encoding.encode(dialect.quote or "")
    stop = data.rfind(_FEED) + 1
    while (last_quote := data.rfind(quote, 0, stop)) >= 0:
        start = data.rfind(_FEED, 0, last_quote) + 1
        if start == 0:
            return None  # what is before the first line feed may be the rest of a line
        stop = data.index(_FEED, last_quote) + 1
        if _ends_outside(data[start : stop - 1], quote, dialect, ends_inside):
            return stop
        stop = start
    return None


def _is_plain(dialect: Dialect) -> bool:
    """Whether a line feed always ends a line, so that only quotes can hide it."""
    special = {dialect.quote_unit, dialect.escape_unit, *dialect.sep_units}
    knows_lines = dialect.line_sep_units in {None, (LF,)} and special.isdisjoint((CR, LF))
    is_simple = dialect.encoding.unit_bytes == 1 and len(dialect.sep_units) == 1 and dialect.comment is None
    return knows_lines and is_simple and dialect.quote is not None


def _ends_outside(line: bytes, quote: bytes, dialect: Dialect, ends_inside: Callable[[bytes], bool]) -> bool:
    """Whether a line ends outside quotes, whether it begins inside of them or at a record boundary."""
    if dialect.line_sep is None:
        line = line.removesuffix(_RETURN)
        if _RETURN in line:
            return False  # it is two lines, or more
    return not ends_inside(quote + line) and not ends_inside(line)
