"""Pictures: which characters an item has."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_CHARACTERS = 100_000
"""Of one item."""

MOST_DIGITS = 38
"""Of one number: a decimal has no more."""

_RUN = re.compile(r"(CR|DB|.)(?:\(([0-9]{1,9})\))?")
_NUMBER = re.compile(r"(?P<before>[+-]?)S?P*[9Z]*P*(?:(?P<point>[V.])P*[9Z]*P*)?(?P<after>[+-]?)")
_TEXT = re.compile(r"[XA9]+")
_EDITED = re.compile(r"(?=.*[^V])(?:[XA9BZ0/,.+$*V-]|CR|DB)+")


class Picture(NamedTuple):
    """Meaning of a picture.

    Attributes:
        length: Characters of the item, without a sign that is separate because a clause says so.
        digits: Digits of a number; 0 for a text.
        scale: How many of its digits are after the point, those that ``P`` stands for included.
        raised: How many zeros follow its digits, for ``P`` before the point.
        is_national: Whether its characters have two bytes.
    """

    length: int
    digits: int = 0
    scale: int = 0
    raised: int = 0
    is_signed: bool = False
    has_point: bool = False
    is_national: bool = False


def parse_picture(text: str) -> Picture:
    """Parse a picture in upper case; what is edited and no plain number is a text.

    Raises:
        ValueError: If it has no meaning.

    Example:
        >>> parse_picture("S9(5)V99")[:5], parse_picture("X(3)").length, parse_picture("$$,$$9.99CR").length
        ((7, 7, 2, 0, True), 3, 11)
    """
    runs = [(run[1], int(run[2] or 1)) for run in _RUN.finditer(text)]
    if "(" in "".join(symbol for symbol, _ in runs) or not all(count for _, count in runs):
        raise ValueError("a repetition is a number in brackets")
    if sum(len(symbol) * count for symbol, count in runs) > MOST_CHARACTERS:
        raise ValueError(f"an item has at most {MOST_CHARACTERS} characters")
    symbols = "".join(symbol * count for symbol, count in runs)
    if set(symbols) == {"N"}:
        return Picture(len(symbols), is_national=True)
    if _NUMBER.fullmatch(symbols) and re.search("[9Z]", symbols):
        return _number(symbols)
    if _TEXT.fullmatch(symbols) or _EDITED.fullmatch(symbols):
        return Picture(len(symbols) - symbols.count("V"))
    raise ValueError("this picture is not known")


def _number(symbols: str) -> Picture:
    place = re.search("[V.]", symbols)
    before, after = (symbols, "") if place is None else (symbols[: place.start()], symbols[place.end() :])
    first, last = symbols.find("P"), max(symbols.rfind("9"), symbols.rfind("Z"))
    leading = 0 <= first < last  # then the point is in front of all
    digits = len(re.sub("[^9Z]", "", symbols))
    zeros = symbols.count("P")
    if zeros and (re.search("P[9Z]+P|[9Z]P+[9Z]", symbols.replace("V", "")) or "." in symbols):
        raise ValueError("P stands before all digits, or after all of them")
    if zeros and not leading and re.search("[9Z]", after):
        raise ValueError("P after digits after the point has no meaning")
    scale = digits + zeros if leading else len(re.sub("[^9Z]", "", after))
    raised = 0 if leading else zeros
    if digits + zeros > MOST_DIGITS:
        raise ValueError(f"a number has at most {MOST_DIGITS} digits")
    signs = len(re.findall("[+-]", before + after))
    if signs > 1 or (signs and "S" in symbols):
        raise ValueError("a number has one sign")
    has_point = "." in symbols
    return Picture(digits + has_point + signs, digits, scale, raised, bool(signs) or "S" in symbols, has_point)
