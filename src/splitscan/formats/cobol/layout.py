"""Copybooks as places in records: which bytes each column has, how they are read, and its type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from splitscan.formats.cobol.copybook import Item, Occurs, Word
from splitscan.formats.cobol.picture import Picture

MOST_BYTES = 256 * 1024 * 1024
"""Of one record; what is longer is refused."""

_INT_DIGITS, _LONG_DIGITS = 9, 18
_HALF, _WORD_BYTES, _DOUBLE = 2, 4, 8
_NUMBERS = {"zoned", "packed", "binary"}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of a record.

    Attributes:
        at: Its first byte, counted from where the items that it is part of begin: the record, or one item of a list.
        size: How many bytes it has.
        coding: How they are read: ``text``, ``national``, ``bytes``, ``zoned``, ``packed``, ``binary``, ``float``.
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
    """

    name: str
    at: int
    item: Node
    stride: int
    least: int
    most: int
    counter: Leaf | None
    level: int

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        names = ("at", "stride", "least", "most", "level")
        said = {name: getattr(self, name) for name in names}
        counter = None if self.counter is None else self.counter.spelled()["leaf"]
        return {"table": {**said, "counter": counter, "item": self.item.spelled()}}


Node: TypeAlias = Leaf | Group | Table


@dataclass(frozen=True, slots=True)
class ItemRules:
    """How columns are made of items."""

    hex_floats: bool = True
    little_floats: bool = False
    exact_integers: bool = False
    drop_values: bool = True
    drop_groups: bool = False
    keeps_root: bool = False


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """A copybook as columns."""

    columns: tuple[Node, ...]
    length: int

    def find(self, name: str) -> Leaf | None:
        """The text or whole number of a name that is in no list."""
        wanted = _plain(name)
        left = list(reversed(self.columns))
        while left:
            node = left.pop()
            if isinstance(node, Group):
                left += reversed(node.members)
            elif isinstance(node, Leaf) and _plain(node.name) == wanted:
                is_whole = node.coding in _NUMBERS and not node.scale and not node.raised
                return node if is_whole or node.coding in {"text", "national"} else None
        return None

    def has_group(self, name: str) -> bool:
        """True if a column is a group of this name."""
        return any(isinstance(node, Group) and _plain(node.name) == _plain(name) for node in self.columns)

    def with_segments(self, segments: Mapping[str, tuple[str, ...]]) -> RecordLayout:
        """This layout with groups that only some records have, by name."""
        kinds = {_plain(name): each for name, each in segments.items()}
        columns = (
            replace(node, segments=kinds.get(_plain(node.name))) if isinstance(node, Group) else node
            for node in self.columns
        )
        return replace(self, columns=tuple(columns))


def _plain(name: str) -> str:
    """A name as names are compared."""
    return name.replace("-", "_").lower()


def lay_out(roots: Sequence[Item], rules: ItemRules) -> RecordLayout:
    """Find the place of each item.

    Raises:
        UsageError: ``[bad-copybook]``.
    """
    several = [root for root in roots[1:] if root.level == 1 and root.redefines is None]
    if several:
        several[0].word.refuse("records of several level-01 items are not read", "give one of them")
    building = _Building(rules)
    columns, length = building.siblings(roots, 0, _Said())
    if len(columns) == 1 and isinstance(columns[0], Group) and not rules.keeps_root:
        columns = list(columns[0].members)
    if not columns:
        roots[0].word.refuse(
            "no item of the copybook is a column", "name an item, or keep FILLER with dropValueFillers=false"
        )
    return RecordLayout(tuple(columns), length)


class _Said(NamedTuple):
    """Clauses of groups, for the items inside of them."""

    usage: str | None = None
    is_separate: bool = False


class _Building:
    def __init__(self, rules: ItemRules) -> None:
        self._rules = rules
        self._fillers = 0
        self._counters: dict[str, list[tuple[int, Leaf]]] = {}  # whole numbers, by name, with the lists they are in
        self._named: list[list[str]] = [[]]  # names of those, for each list that is open and outside of all

    def siblings(self, items: Sequence[Item], start: int, said: _Said) -> tuple[list[Node], int]:
        """Columns of items that follow each other, and where the last of them ends."""
        found: list[Node] = []
        names: dict[str, Word] = {}
        block: set[str] = set()
        at = end = start
        for item in items:
            if item.redefines is None:
                block, at = set(), end
            elif item.redefines.upper not in block:
                item.redefines.refuse(
                    "REDEFINES names an item right before it, of the same level", "name the item whose bytes these are"
                )
            if item.word.upper != "FILLER":
                block.add(item.word.upper)
            node, size = self._node(item, at, said)
            end = max(end, at + size)
            if end > MOST_BYTES:
                item.word.refuse(f"a record has at most {MOST_BYTES} bytes", "correct OCCURS or the picture")
            if node is None:
                continue
            if node.name.lower() in names:
                item.word.refuse(
                    f"two items of one group have this name; the first is in line {names[node.name.lower()].line}",
                    "rename one of them",
                )
            names[node.name.lower()] = item.word
            found.append(node)
        return found, end

    def _node(self, item: Item, at: int, said: _Said) -> tuple[Node | None, int]:
        """The column of an item, unless it is no column; and how many bytes it has."""
        said = _Said(item.usage or said.usage, item.is_separate or said.is_separate)
        name = self._name(item)
        if item.occurs is None:
            node, end = self._one(item, name or "", at, said)
            return (node if name is not None else None), end - at
        most = item.occurs.most
        level, counter = self._counter(item.occurs)
        self._named.append([])
        node, stride = self._one(item, name or "", 0, said)
        for ended in self._named.pop():
            self._counters[ended].pop()
        if node is None or name is None or stride == 0:
            return None, stride * most
        least = item.occurs.least
        return Table(name, at, node, stride, least, most, counter, level), stride * most

    def _name(self, item: Item) -> str | None:
        """The name of its column; ``None`` for FILLER that is none."""
        if item.name is not None:
            return item.name
        if self._rules.drop_groups if item.children else self._rules.drop_values:
            return None
        self._fillers += 1
        return f"FILLER_{'' if item.children else 'P'}{self._fillers}"

    def _one(self, item: Item, name: str, at: int, said: _Said) -> tuple[Node | None, int]:
        """One of an item, and where it ends."""
        if not item.children:
            leaf = self._leaf(item, name, at, said)
            if item.name is not None and leaf.coding in _NUMBERS and not leaf.scale and not leaf.raised:
                self._counters.setdefault(item.word.upper, []).append((len(self._named) - 1, leaf))
                self._named[-1].append(item.word.upper)
            return leaf, at + leaf.size
        members, end = self.siblings(item.children, at, said)
        return (Group(name, tuple(members)) if members else None), end

    def _counter(self, occurs: Occurs) -> tuple[int, Leaf | None]:
        """The number that says how often an item comes, and in how many lists it is."""
        if occurs.depending is None:
            return 0, None
        known = self._counters.get(occurs.depending.upper, [])
        if len(known) != 1:
            occurs.depending.refuse(
                "DEPENDING ON names one whole number before it, that is in no list which ends before it",
                "correct the name" if not known else "give the items different names",
            )
        return known[0]

    def _leaf(self, item: Item, name: str, at: int, said: _Said) -> Leaf:
        usage = said.usage
        if usage in {"float", "double"}:
            rules, size = self._rules, _WORD_BYTES if usage == "float" else _DOUBLE
            return Leaf(name, at, size, "float", usage, signed=rules.hex_floats, option=rules.little_floats)
        picture = item.picture
        if picture is None:
            item.word.refuse("an item has a picture, or items inside", "give it one of them")
        if picture.is_national:
            return Leaf(name, at, 2 * picture.length, "national", "string")
        if not picture.digits:
            if usage in {None, "display"}:
                return Leaf(name, at, picture.length, "text", "string")
            if item.usage == "binary":
                return Leaf(name, at, picture.length, "bytes", "binary")
            item.word.refuse("a text is DISPLAY", "remove its USAGE, or the one of its group")
        return self._number(item, picture, name, at, said)

    def _number(self, item: Item, picture: Picture, name: str, at: int, said: _Said) -> Leaf:
        digits, usage = picture.digits, said.usage or "display"
        if usage == "national" or (picture.has_point and usage != "display"):
            item.word.refuse("such a number is DISPLAY", "correct its USAGE")
        if usage == "display":
            separate = said.is_separate and picture.length == digits + picture.has_point
            picture = picture._replace(is_signed=picture.is_signed or separate)
            size, coding, option = picture.length + separate, "zoned", picture.has_point
        elif usage in {"packed", "unsigned packed"}:
            option = usage != "packed"
            size, coding = (digits + 1) // 2 if option else digits // 2 + 1, "packed"
        else:
            option = usage == "little binary"
            size, coding = _binary_bytes(digits, option), "binary"
        kind = self._kind(picture, is_unsigned=coding == "binary" and not picture.is_signed)
        return Leaf(
            name, at, size, coding, kind, digits if coding != "binary" else 0, picture.scale, picture.raised,
            picture.is_signed, option,
        )  # fmt: skip

    def _kind(self, picture: Picture, *, is_unsigned: bool) -> str:
        digits = picture.digits + picture.raised
        if picture.scale or picture.has_point:
            return f"decimal({max(digits, picture.scale)},{picture.scale})"
        if self._rules.exact_integers or digits > _LONG_DIGITS:
            return f"decimal({digits},0)"
        if is_unsigned and digits == _LONG_DIGITS:
            return "decimal(20,0)"
        return "int" if digits <= _INT_DIGITS - is_unsigned else "bigint"


def _binary_bytes(digits: int, is_little: bool) -> int:
    """Bytes of a binary number."""
    if is_little and digits <= 2:
        return 1
    for most, size in ((4, _HALF), (9, _WORD_BYTES), (18, _DOUBLE)):
        if digits <= most:
            return size
    return (int(10**digits).bit_length() + 8) // 8
