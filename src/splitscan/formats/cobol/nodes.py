"""Items of a copybook: their characters, as a picture says, and their places in records: values, groups, lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

# ---------------------------------------------------------------- pictures


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


# ---------------------------------------------------------------- places in records


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of a record.

    Attributes:
        at: Its first byte, counted from where the items that it is part of begin: the record, or one item of a list.
        size: How many bytes it has.
        coding: How they are read: ``text``, ``national``, ``bytes``, ``hex``, ``zoned``, ``packed``, ``binary``,
            ``float``.
        kind: Type of the values, as Spark names it.
        digits: Most digits of a number; 0 where any value that its type has will do.
        scale: How many of them are after the point.
        raised: How many zeros follow them.
        option: What else its coding says: whether the point is written, the packed sign is left out, or the bytes of a
            binary number are from the lowest to the highest.
    """

    name: str
    at: int
    size: int
    coding: str
    kind: str
    digits: int = 0
    scale: int = 0
    raised: int = 0
    signed: bool = False
    option: bool = False

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        names = ("at", "size", "coding", "digits", "scale", "raised", "signed", "option")
        return {"leaf": {name: getattr(self, name) for name in names}}


@dataclass(frozen=True, slots=True)
class Group:
    """A struct of a record.

    Attributes:
        segments: Of which records it is a part; ``None`` for all.
    """

    name: str
    members: tuple[Node, ...]
    segments: tuple[str, ...] | None = None

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        members = [[member.name, member.spelled()] for member in self.members]
        return {"group": {"members": members, "segments": self.segments}}


@dataclass(frozen=True, slots=True)
class Table:
    """A list of a record.

    Attributes:
        at: Where its first item begins, counted as in a :class:`Leaf`.
        item: What each of them is, counted from where it begins.
        stride: Bytes of each.
        least: How many there are at least.
        most: How many bytes there are for.
        counter: The number that says how many there are; ``None`` for *most*.
        level: In how many of the lists that this one is part of the counter is.
        counts: Numbers by the texts of the counter, where that is a text.
    """

    name: str
    at: int
    item: Node
    stride: int
    least: int
    most: int
    counter: Leaf | None
    level: int
    counts: tuple[tuple[str, int], ...] | None = None

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        names = ("at", "stride", "least", "most", "level", "counts")
        said = {name: getattr(self, name) for name in names}
        counter = None if self.counter is None else self.counter.spelled()["leaf"]
        return {"table": {**said, "counter": counter, "item": self.item.spelled()}}


@dataclass(frozen=True, slots=True)
class Children:
    """Records after the one that a group is in, each with a group of its own: a list of it.

    Attributes:
        number: Their kind, as :class:`SegmentKind` numbers them.
        item: The group of each, with places that are counted from where its record begins.
    """

    name: str
    number: int
    item: Group

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        return {"children": {"number": self.number, "item": self.item.spelled()}}


Node: TypeAlias = Leaf | Group | Table | Children


class SegmentKind(NamedTuple):
    """A kind of records in a hierarchy; the first of all is the root.

    Attributes:
        ids: Texts of the item that tells the kind.
        parent: Number of the kind that these are children of; of the root its own.
    """

    ids: tuple[str, ...]
    parent: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A list of a record that has only the items that its counter says; attributes are those of a :class:`Table`.

    Attributes:
        pieces: What each of them is made of, as a record is.
    """

    pieces: tuple[int | Counted, ...]
    stride: int
    least: int
    most: int
    counter: Leaf | None
    level: int
    counts: tuple[tuple[str, int], ...] | None

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        said = {name: getattr(self, name) for name in ("stride", "least", "most", "level", "counts")}
        counter = None if self.counter is None else self.counter.spelled()["leaf"]
        return {**said, "counter": counter, "pieces": spelled_pieces(self.pieces)}


Pieces: TypeAlias = tuple[int | Counted, ...]
"""Bytes of a record, so many that are always there, and lists."""


def spelled_pieces(pieces: Pieces) -> list[Any]:
    """Pieces, as the kernel is told them."""
    return [piece if isinstance(piece, int) else piece.spelled() for piece in pieces]
