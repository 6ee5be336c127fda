"""Records by a copybook, read by the reference: one value at a time."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from splitscan.formats.cobol.framing import BAD_RECORD_HEADER, CobolRecords
from splitscan.formats.cobol.nodes import Children, Group, Leaf, Node, Pieces, Table
from splitscan.formats.cobol.notation import Notation, NoValueError, expand
from splitscan.formats.cobol.segments import MISSING_SEGMENT, Base, Hierarchy
from splitscan.formats.decoding.contract import Decoded, Faults, FaultTemplate, type_name, wrong_value
from splitscan.formats.decoding.conversions import INTEGER_BITS, in_bits
from splitscan.formats.decoding.values import NOT_BEGUN_WORDING, SHORT_WORDING, Rescue, with_path
from splitscan.formats.framing.contract import BEFORE_FIRST_RECORD, SHORT_RECORD
from splitscan.formats.framing.frames import Frames, records_of


def read_value(notation: Notation, leaf: Leaf, data: bytes, kind: pa.DataType) -> Any:
    """The value of an item, as Arrow takes it; ``None`` for null.

    Raises:
        NoValueError: If they are none.
    """
    if leaf.coding == "hex":
        return data.hex().upper()
    if leaf.coding in {"text", "national", "bytes"}:
        return notation.text(leaf, data)
    if leaf.coding == "float":
        return _float(leaf, data)
    number = notation.number(leaf, data)
    return None if number is None else _fitting(number, leaf, kind)


def _fitting(number: int, leaf: Leaf, kind: pa.DataType) -> int | Decimal:
    if leaf.digits and abs(number) >= 10**leaf.digits:
        raise NoValueError
    number *= 10**leaf.raised
    bits = INTEGER_BITS.get(kind)
    if bits is not None:
        if not in_bits(number, bits):
            raise NoValueError
        return number
    if abs(number) >= 10**kind.precision:
        raise NoValueError
    return Decimal((number < 0, tuple(map(int, str(abs(number)))), -kind.scale))


def _float(leaf: Leaf, data: bytes) -> float:
    if len(data) < leaf.size:
        raise NoValueError
    data = data[::-1] if leaf.option else data
    if not leaf.signed:
        (value,) = struct.unpack(">f" if leaf.size == 4 else ">d", data)
        return float(value)
    bits = int.from_bytes(data[1:], "big")
    value = math.ldexp(float(bits), 4 * ((data[0] & 0x7F) - 64) - 8 * (leaf.size - 1))
    if leaf.size == 4:
        try:
            struct.pack(">f", value)
        except OverflowError:
            raise NoValueError from None
    return -value if data[0] & 0x80 else value


class Problem(NamedTuple):
    """Bytes of a record that are no value of their item, whose place is that in each group, and in each list."""

    place: tuple[tuple[int, ...], tuple[int, ...]]
    path: str
    seen: str
    kind: str


@dataclass(slots=True)
class RecordReader:
    """Reads the items of one record."""

    notation: Notation
    record: bytes
    segment: str | None = None
    problems: list[Problem] = field(default_factory=list)

    def read(
        self, node: Node, kind: pa.DataType, bases: tuple[Base, ...], path: str, place: tuple[int, ...],
        numbers: tuple[int, ...] = (),
    ) -> Any:  # fmt: skip
        """The value of an item, as Arrow takes it; its type may have fewer members.

        Its bases are the record, and the item of each list that it is part of; its place is that in each group, its
        numbers are those of the items of each list.
        """
        if isinstance(node, Leaf):
            data = self._bytes(node, bases[-1])
            if not data:
                return None
            try:
                return read_value(self.notation, node, data, kind)
            except NoValueError:
                self.problems.append(Problem((place, numbers), path, _hex(data), type_name(kind)))
                return None
        if isinstance(node, Group):
            if node.segments is not None and self.segment not in node.segments:
                return None
            members = {member.name: member for member in node.members}
            return {
                part.name: self.read(members[part.name], part.type, bases, f"{path}.{part.name}", (*place, i), numbers)
                for i, part in enumerate(kind)
            }
        items = self._items(node, bases, path, (place, numbers))
        return None if items is None else [
            self.read(node.item, kind.value_type, (*bases, item), f"{path}[{i}]", (*place, 0), (*numbers, i))
            for i, item in enumerate(items)
        ]  # fmt: skip

    def _items(self, node: Table | Children, bases: tuple[Base, ...], path: str, place: Any) -> list[Base] | None:
        """The items of a list; ``None`` where nothing tells how many there are."""
        base = bases[-1]
        if isinstance(node, Children):
            return base.children.get(node.number, [])
        count = self._count(node, bases, path, place)
        first = base.at + node.at
        return None if count is None else [Base(first + i * node.stride, base.stop, {}) for i in range(count)]

    def _bytes(self, leaf: Leaf, base: Base) -> bytes:
        start = base.at + leaf.at
        return self.record[start : min(start + leaf.size, base.stop)]

    def _count(self, table: Table, bases: tuple[Base, ...], path: str, place: Any) -> int | None:
        """How many items a list has; ``None`` where nothing tells."""
        room = max(0, -(-(bases[-1].stop - bases[-1].at - table.at) // table.stride))
        if table.counter is None:
            return min(table.most, room) or None
        data = self._bytes(table.counter, bases[table.level])
        if not data:
            return None
        try:
            number = (
                read_value(self.notation, table.counter, data, pa.int64()) if table.counts is None
                else self.notation.items(table.counter, table.counts, data)
            )  # fmt: skip
        except NoValueError:
            number = None
        if number is not None and table.least <= number <= min(table.most, room):
            return int(number)
        kind = f"number of items from {table.least} to {table.most}"
        self.problems.append(Problem(place, path, _hex(data), kind))
        return None


def _hex(data: bytes) -> str:
    return f"0x{data.hex().upper()}"


@dataclass(frozen=True)
class CobolDecoder:
    """Decodes records by a copybook."""

    columns: Sequence[Node]
    fields: tuple[pa.Field, ...]
    notation: Notation
    records: CobolRecords
    start: int = 0
    segment: Leaf | None = None
    pieces: Pieces = ()
    hierarchy: Hierarchy | None = None
    rescue: Rescue | None = None

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; bytes that are no value of their item are null and reported."""
        rows, faults, rescued = [], [], []
        for number, found in enumerate(records_of(data, frames)):
            broken = frames.malformed.get(number)
            record = b"" if broken in _UNREAD else self.records.joined(found)
            if self.pieces:
                record = record[: self.start] + expand(self.pieces, self.notation, record[self.start :]).data
            reader = RecordReader(self.notation, record)
            base = Base(self.start, len(record), {})
            if self.hierarchy is not None and record:
                base, strangers = self.hierarchy.tree(record, self.notation)
                reader.problems = [Problem(((), (i,)), path, _hex(data), STRANGER) for i, path, data in strangers]
            reader.segment = self._segment_of(record[: base.stop])
            both = enumerate(zip(self.columns, self.fields, strict=True))
            rows.append([reader.read(node, f.type, (base,), f.name, (place,)) for place, (node, f) in both])
            problems = sorted(reader.problems)
            if broken is not None:
                missing = broken.partition(" ")[2]
                short = BLOCK_WORDING if missing else SHORT_WORDING
                faults.append(_UNREAD.get(broken, short).fault(number, missing))
            elif problems and self.rescue is None:
                first = problems[0]
                faults.append(wrong_value(first.path, first.kind).fault(number, first.seen))
            if self.rescue is not None and self.rescue.wanted:
                members = [f"{json.dumps(each.path, ensure_ascii=False)}:{json.dumps(each.seen)}" for each in problems]
                rescued.append(with_path(members, self.rescue.path))
        columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(self.fields)]
        kept = pa.array(rescued, pa.string()) if self.rescue is not None and self.rescue.wanted else None
        return Decoded(columns, len(rows), Faults(faults), kept)

    def _segment_of(self, record: bytes) -> str | None:
        if self.segment is None:
            return None
        start = self.start + self.segment.at
        return self.notation.key(self.segment, record[start : start + self.segment.size])


STRANGER = "child of a segment before it"
"""Said of the kind of a record that has no parent, or that no group has."""

HEADER_WORDING = FaultTemplate(BAD_RECORD_HEADER, "nothing tells how long a record is")
"""Said of the rest of a file in which nothing tells where records are."""

SEGMENT_WORDING = FaultTemplate(MISSING_SEGMENT, "a record has a first segment, those in the middle, and a last one")
"""Said of segments that are no record."""

_UNREAD = {
    BAD_RECORD_HEADER: HEADER_WORDING, BEFORE_FIRST_RECORD: NOT_BEGUN_WORDING, MISSING_SEGMENT: SEGMENT_WORDING,
}  # fmt: skip
"""Said of records of which nothing is read, by their codes."""

BLOCK_WORDING = FaultTemplate(SHORT_RECORD, "the file ends inside a block: by its length ", " more bytes follow")
"""Said at the end of a file that is cut off between two records of a block."""
