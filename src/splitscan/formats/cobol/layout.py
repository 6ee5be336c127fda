"""Copybooks as places in records: which bytes each column has, how they are read, and its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from splitscan.formats.cobol.copybook import Item, Occurs, Word
from splitscan.formats.cobol.nodes import Children, Counted, Group, Leaf, Node, Picture, Pieces, SegmentKind, Table

MOST_BYTES = 256 * 1024 * 1024
"""Of one record; what is longer is refused."""

_INT_DIGITS, _LONG_DIGITS = 9, 18
_HALF, _WORD_BYTES, _DOUBLE = 2, 4, 8
_NUMBERS = {"zoned", "packed", "binary"}


@dataclass(frozen=True, slots=True)
class ItemRules:
    """How columns are made of items."""

    hex_floats: bool = True
    little_floats: bool = False
    exact_integers: bool = False
    drop_values: bool = True
    drop_groups: bool = False
    keeps_root: bool = False
    shifts: bool = False
    debug: str | None = None
    texts: tuple[str, ...] = ()
    counts: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """A copybook as columns."""

    columns: tuple[Node, ...]
    length: int
    pieces: Pieces = ()
    unknown: tuple[str, ...] = ()
    hierarchy: tuple[SegmentKind, ...] = ()

    @property
    def fixed_bytes(self) -> int:
        """Bytes in front of the first list that has not always as many."""
        fixed = 0
        for piece in self.pieces:
            if not isinstance(piece, int):
                return fixed
            fixed += piece
        return self.length

    def find(self, name: str) -> Leaf | None:
        """The text or whole number of a name that is in no list."""
        wanted = plain_name(name)
        left = list(reversed(self.columns))
        while left:
            node = left.pop()
            if isinstance(node, Group):
                left += reversed(node.members)
            elif isinstance(node, Leaf) and plain_name(node.name) == wanted:
                is_whole = node.coding in _NUMBERS and not node.scale and not node.raised
                return node if is_whole or node.coding in {"text", "national"} else None
        return None

    def has_group(self, name: str) -> bool:
        """True if a column is a group of this name."""
        return any(isinstance(node, Group) and plain_name(node.name) == plain_name(name) for node in self.columns)

    def with_segments(self, segments: Mapping[str, tuple[str, ...]]) -> RecordLayout:
        """This layout with groups that only some records have, by name."""
        kinds = {plain_name(name): each for name, each in segments.items()}
        columns = (
            replace(node, segments=kinds.get(plain_name(node.name))) if isinstance(node, Group) else node
            for node in self.columns
        )
        return replace(self, columns=tuple(columns))

    def with_children(self, children: Mapping[str, tuple[str, ...]]) -> RecordLayout:
        """This layout with groups as lists in the groups of their parents, by name.

        Raises:
            ValueError: If these are no hierarchy of one root in which each group with kinds of records has one place.
        """
        parents = {plain_name(child): plain_name(parent) for parent, each in children.items() for child in each}
        groups = {plain_name(node.name): node for node in self.columns if isinstance(node, Group) and node.segments}
        order = [name for name in groups if name not in parents]
        if set(order) != set(map(plain_name, children)) - set(parents) or len(order) != 1:
            raise ValueError("one group is no child of another, and all others are")
        if not parents.keys() <= groups.keys() or len(parents) != sum(map(len, children.values())):
            raise ValueError("a group is the child of one other, and redefineSegmentIdMap says which records have it")
        for parent in order:  # grows on the way
            order += [name for name in groups if parents.get(name) == parent]
        if len(order) < len(groups):
            raise ValueError("no group is in itself")
        numbers = {name: number for number, name in enumerate(order)}
        hierarchy = tuple(
            SegmentKind(groups[name].segments or (), numbers[parents[name]] if number else 0)
            for name, number in numbers.items()
        )

        def grown(name: str, depth: int) -> Group:
            members = [_deeper(member, depth) for member in groups[name].members]
            taken = {member.name.lower() for member in members}
            for child in (each for each in order if parents.get(each) == name):
                item = replace(grown(child, depth + 1), segments=None)
                if item.name.lower() in taken:
                    raise ValueError(f"{groups[name].name} has an item {item.name}, and children of this name")
                members.append(Children(item.name, numbers[child], item))
            return replace(groups[name], members=tuple(members))

        columns = (
            node if plain_name(node.name) not in groups else grown(order[0], 0)
            for node in self.columns
            if plain_name(node.name) not in parents
        )
        return replace(self, columns=tuple(columns), hierarchy=hierarchy)


def _deeper(node: Node, depth: int) -> Node:
    """An item inside of so many lists of children."""
    if isinstance(node, Group):
        return replace(node, members=tuple(_deeper(member, depth) for member in node.members))
    if isinstance(node, Table):
        return replace(node, level=node.level + depth, item=_deeper(node.item, depth))
    return node


def plain_name(name: str) -> str:
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
    columns, length, pieces = building.siblings(roots, 0, _Said())
    if len(columns) == 1 and isinstance(columns[0], Group) and not rules.keeps_root:
        columns = list(columns[0].members)
    if not columns:
        roots[0].word.refuse(
            "no item of the copybook is a column", "name an item, or keep FILLER with dropValueFillers=false"
        )
    return RecordLayout(tuple(columns), length, pieces if rules.shifts else (), tuple(sorted(building.unknown)))


class _Said(NamedTuple):
    """Clauses of groups, for the items inside of them."""

    usage: str | None = None
    is_separate: bool = False


class _Building:
    def __init__(self, rules: ItemRules) -> None:
        self._rules = rules
        self._fillers = 0
        self._counts = {plain_name(name): counts for name, counts in rules.counts}
        self.unknown = {plain_name(name) for name in rules.texts} | set(self._counts)
        self._counters: dict[str, list[tuple[int, Leaf]]] = {}  # what lists depend on, with the lists that it is in
        self._named: list[list[str]] = [[]]  # names of those, for each list that is open and outside of all

    def siblings(self, items: Sequence[Item], start: int, said: _Said) -> tuple[list[Node], int, Pieces]:
        """Columns of items that follow each other, where the last of them ends, and what all of them are made of."""
        found: list[Node] = []
        pieces: list[int | Counted] = []
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
            node, size, own = self._node(item, at, said)
            if item.redefines is None:
                pieces += own
            else:
                if self._rules.shifts and not all(isinstance(piece, int) for piece in (*pieces[-1:], *own)):
                    item.word.refuse(
                        "bytes of REDEFINES have one length where lists have only their items",
                        "use variableSizeOccurs=max_size",
                    )
                pieces.append(max(0, at + size - end))
            end = max(end, at + size)
            if end > MOST_BYTES:
                item.word.refuse(f"a record has at most {MOST_BYTES} bytes", "correct OCCURS or the picture")
            for each in self._with_others(node, at, size):
                if each.name.lower() in names:
                    item.word.refuse(
                        f"two items of one group have this name; the first is in line {names[each.name.lower()].line}",
                        "rename one of them",
                    )
                names[each.name.lower()] = item.word
                found.append(each)
        return found, end, _joined(pieces)

    def _with_others(self, node: Node | None, at: int, size: int) -> Iterator[Node]:
        """A column, and those of the same bytes that options ask for."""
        if node is None:
            return
        yield node
        item = node.item if isinstance(node, Table) else node
        if isinstance(item, Leaf):
            if self._rules.debug is None:
                return
            kind = "binary" if self._rules.debug == "bytes" else "string"
            other = Leaf(f"{node.name}_debug", item.at, item.size, self._rules.debug, kind)
        elif plain_name(node.name) in map(plain_name, self._rules.texts):
            self.unknown.discard(plain_name(node.name))
            stride = node.stride if isinstance(node, Table) else size
            other = Leaf(f"{node.name}_NT", 0 if isinstance(node, Table) else at, stride, "text", "string")
        else:
            return
        yield replace(node, name=other.name, item=other) if isinstance(node, Table) else other

    def _node(self, item: Item, at: int, said: _Said) -> tuple[Node | None, int, Pieces]:
        """The column of an item, unless it is no column; how many bytes it has, and what it is made of."""
        said = _Said(item.usage or said.usage, item.is_separate or said.is_separate)
        name = self._name(item)
        if item.occurs is None:
            node, end, pieces = self._one(item, name or "", at, said)
            return (node if name is not None else None), end - at, pieces
        least, most = item.occurs.least, item.occurs.most
        counts = self._counts.get(plain_name(name or ""))
        self.unknown.discard(plain_name(name or ""))
        level, counter = self._counter(item.occurs, is_text=counts is not None)
        self._named.append([])
        node, stride, pieces = self._one(item, name or "", 0, said)
        for ended in self._named.pop():
            self._counters[ended].pop()
        is_counted = counter is not None or not all(isinstance(piece, int) for piece in pieces)
        own: Pieces = (
            (Counted(pieces, stride, least, most, counter, level, counts),) if is_counted else (stride * most,)
        )
        if node is None or name is None or stride == 0:
            return None, stride * most, own
        return Table(name, at, node, stride, least, most, counter, level, counts), stride * most, own

    def _name(self, item: Item) -> str | None:
        """The name of its column; ``None`` for FILLER that is none."""
        if item.name is not None:
            return item.name
        if self._rules.drop_groups if item.children else self._rules.drop_values:
            return None
        self._fillers += 1
        return f"FILLER_{'' if item.children else 'P'}{self._fillers}"

    def _one(self, item: Item, name: str, at: int, said: _Said) -> tuple[Node | None, int, Pieces]:
        """One of an item, where it ends, and what it is made of."""
        if not item.children:
            leaf = self._leaf(item, name, at, said)
            if item.name is not None and not leaf.scale and not leaf.raised:
                self._counters.setdefault(item.word.upper, []).append((len(self._named) - 1, leaf))
                self._named[-1].append(item.word.upper)
            return leaf, at + leaf.size, (leaf.size,)
        members, end, pieces = self.siblings(item.children, at, said)
        return (Group(name, tuple(members)) if members else None), end, pieces

    def _counter(self, occurs: Occurs, *, is_text: bool) -> tuple[int, Leaf | None]:
        """The number that says how often an item comes, and in how many lists it is."""
        if occurs.depending is None:
            return 0, None
        codings = _NUMBERS | {"text"} if is_text else _NUMBERS
        known = [each for each in self._counters.get(occurs.depending.upper, []) if each[1].coding in codings]
        if len(known) != 1:
            occurs.depending.refuse(
                "DEPENDING ON names one whole number before it, that is in no list which ends before it",
                "correct the name, or say with occursMappings how many items a text is" if not known
                else "give the items different names",
            )  # fmt: skip
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


def _joined(pieces: Sequence[int | Counted]) -> Pieces:
    """Pieces with those of a fixed length that follow each other as one."""
    found: list[int | Counted] = []
    for piece in pieces:
        if found and isinstance(piece, int) and isinstance(last := found[-1], int):
            found[-1] = last + piece
        elif piece:
            found.append(piece)
    return tuple(found)


def _binary_bytes(digits: int, is_little: bool) -> int:
    """Bytes of a binary number."""
    if is_little and digits <= 2:
        return 1
    for most, size in ((4, _HALF), (9, _WORD_BYTES), (18, _DOUBLE)):
        if digits <= most:
            return size
    return (int(10**digits).bit_length() + 8) // 8
