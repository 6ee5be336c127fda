"""Items of a copybook that have a place in records: values, groups and lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias


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
