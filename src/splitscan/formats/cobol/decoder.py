"""Records by a copybook, read by the reference: one value at a time."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from splitscan.formats.cobol.codepages import MINUS, NEGATIVE, PLUS, POINT, POSITIVE, SKIPPED, CodePage
from splitscan.formats.cobol.layout import Group, Leaf, Node, Table
from splitscan.formats.decoding.contract import Decoded, Faults, type_name, wrong_value
from splitscan.formats.decoding.rescue import Rescue, with_path
from splitscan.formats.decoding.values import SHORT_WORDING
from splitscan.formats.framing.frames import Frames, records_of

_BITS = {pa.int32(): 32, pa.int64(): 64}
_BLANKS = "".join(map(chr, range(0x21)))
_ZONED = re.compile(r" *([+-]?) *([0-9A-Ja-j]*\.?[0-9A-Ja-j]*) *([+-]?) *")
_LETTERS = bytes(
    ord({SKIPPED: " ", PLUS: "+", MINUS: "-", POINT: "."}.get(meaning, "?"))
    if not (meaning < SKIPPED or POSITIVE <= meaning < POSITIVE + 10 or NEGATIVE <= meaning < NEGATIVE + 10)
    else ord("0" if meaning < SKIPPED else "A" if meaning < NEGATIVE else "a") + meaning % POSITIVE
    for meaning in range(256)
)
"""A letter for each meaning: digits, those with a plus as A to J, those with a minus as a to j."""
_DIGITS = str.maketrans("ABCDEFGHIJabcdefghij", "01234567890123456789")
_MINUS_NIBBLE, _PLUS_NIBBLES = 0xD, {0xC, 0xF}


class NoValueError(Exception):
    """Bytes are no value of their item."""


@dataclass(frozen=True, slots=True)
class Notation:
    """How values are written.

    Attributes:
        page: The code page.
        trim_left: Whether blanks in front of a text are dropped.
        trim_right: Whether those after it are.
        zeros_are_null: Whether a text whose bytes are all 0 is null.
        signs_anywhere: Whether a number without a sign may have a plus in its digits.
    """

    page: CodePage
    trim_left: bool
    trim_right: bool
    zeros_are_null: bool
    signs_anywhere: bool

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        return {
            "characters": self.page.characters,
            "digits": list(self.page.digits),
            "signs_inside": self.page.signs_inside,
            "trim_left": self.trim_left,
            "trim_right": self.trim_right,
            "zeros_are_null": self.zeros_are_null,
            "signs_anywhere": self.signs_anywhere,
        }

    def value(self, leaf: Leaf, data: bytes, kind: pa.DataType) -> Any:
        """The value of an item, as Arrow takes it; ``None`` for null.

        Args:
            leaf: The item.
            data: Its bytes; fewer where the record ends inside of it.
            kind: Type of the value.

        Raises:
            NoValueError: If they are none.
        """
        if leaf.coding in {"text", "national", "bytes"}:
            return self._text(leaf, data)
        if len(data) < leaf.size:
            raise NoValueError
        if leaf.coding == "float":
            return _float(leaf, data)
        number = _READ[leaf.coding](self, leaf, data)
        return None if number is None else _fitting(number, leaf, kind)

    def _text(self, leaf: Leaf, data: bytes) -> str | bytes | None:
        if leaf.coding == "bytes":
            return data
        if self.zeros_are_null and not any(data):
            return None
        characters = self.page.characters
        text = (
            data.decode("utf-16-be", "replace") if leaf.coding == "national" else "".join(characters[i] for i in data)
        )
        text = text.lstrip(_BLANKS) if self.trim_left else text
        return text.rstrip(_BLANKS) if self.trim_right else text

    def zoned(self, leaf: Leaf, data: bytes) -> int | None:
        """A number of which each digit is a byte."""
        found = _ZONED.fullmatch(data.translate(self.page.digits).translate(_LETTERS).decode("ascii"))
        if found is None:
            raise NoValueError
        before, digits, after = found.groups()
        zones = [letter for letter in digits if letter.isalpha()]
        signs = [*before, *after, *zones]
        if digits == "" and not signs:
            return None
        plain = digits.translate(_DIGITS)
        whole, point, decimals = plain.partition(".")
        negative = any(sign in "-abcdefghij" for sign in signs)
        is_refused = negative or before or after or not self.signs_anywhere
        if len(signs) > 1 or (signs and not leaf.signed and is_refused) or not whole + decimals:
            raise NoValueError
        if zones and not self.page.signs_inside and not (digits[0].isalpha() or digits[-1].isalpha()):
            raise NoValueError
        if (point and not leaf.option) or len(decimals) > leaf.scale:
            raise NoValueError
        value = int(whole + decimals) * (10 ** (leaf.scale - len(decimals)) if leaf.option else 1)
        return -value if negative else value

    def packed(self, leaf: Leaf, data: bytes) -> int:
        """A number of which each digit is half a byte."""
        nibbles = [nibble for byte in data for nibble in (byte >> 4, byte & 15)]
        sign = 0xF if leaf.option else nibbles.pop()
        negative = sign == _MINUS_NIBBLE
        if any(nibble > 9 for nibble in nibbles) or (negative and not leaf.signed):
            raise NoValueError
        if not negative and sign not in _PLUS_NIBBLES:
            raise NoValueError
        value = int("".join(map(str, nibbles)))
        return -value if negative else value

    def binary(self, leaf: Leaf, data: bytes) -> int:
        """A number in binary."""
        return int.from_bytes(data, "little" if leaf.option else "big", signed=leaf.signed)


_READ = {"zoned": Notation.zoned, "packed": Notation.packed, "binary": Notation.binary}


def _fitting(number: int, leaf: Leaf, kind: pa.DataType) -> int | Decimal:
    if leaf.digits and abs(number) >= 10**leaf.digits:
        raise NoValueError
    number *= 10**leaf.raised
    bits = _BITS.get(kind)
    if bits is not None:
        if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            raise NoValueError
        return number
    if abs(number) >= 10**kind.precision:
        raise NoValueError
    return Decimal((number < 0, tuple(map(int, str(abs(number)))), -kind.scale))


def _float(leaf: Leaf, data: bytes) -> float:
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
    """Bytes of a record that are no value of their item.

    Attributes:
        place: Which item it is: its place in each group, and of which item of each list.
        path: The name of it, with those of the groups that it is in.
        seen: Its bytes.
        kind: What they should be.
    """

    place: tuple[tuple[int, ...], tuple[int, ...]]
    path: str
    seen: str
    kind: str


@dataclass(slots=True)
class RecordReader:
    """Reads the items of one record."""

    notation: Notation
    record: bytes
    problems: list[Problem] = field(default_factory=list)

    def read(
        self, node: Node, kind: pa.DataType, bases: tuple[int, ...], path: str, place: tuple[int, ...],
        numbers: tuple[int, ...] = (),
    ) -> Any:  # fmt: skip
        """The value of an item, as Arrow takes it.

        Args:
            node: The item.
            kind: Its type, perhaps with fewer members.
            bases: Where the record begins, and in it the item of each list that this one is part of.
            path: Its name.
            place: Its place in each group.
            numbers: Which item of each list it is part of.
        """
        if isinstance(node, Leaf):
            data = self._bytes(node, bases[-1])
            if not data:
                return None
            try:
                return self.notation.value(node, data, kind)
            except NoValueError:
                self.problems.append(Problem((place, numbers), path, _hex(data), type_name(kind)))
                return None
        if isinstance(node, Group):
            members = {member.name: member for member in node.members}
            return {
                part.name: self.read(members[part.name], part.type, bases, f"{path}.{part.name}", (*place, i), numbers)
                for i, part in enumerate(kind)
            }
        count = self._count(node, bases, path, (place, numbers))
        return None if count is None else [
            self.read(
                node.item, kind.value_type, (*bases, bases[-1] + node.at + number * node.stride), f"{path}[{number}]",
                (*place, 0), (*numbers, number),
            )
            for number in range(count)
        ]  # fmt: skip

    def _bytes(self, leaf: Leaf, base: int) -> bytes:
        start = base + leaf.at
        return self.record[start : start + leaf.size]

    def _count(self, table: Table, bases: tuple[int, ...], path: str, place: Any) -> int | None:
        """How many items a list has; ``None`` where nothing tells."""
        room = max(0, -(-(len(self.record) - bases[-1] - table.at) // table.stride))
        if table.counter is None:
            return min(table.most, room) or None
        data = self._bytes(table.counter, bases[table.level])
        if not data:
            return None
        try:
            number = self.notation.value(table.counter, data, pa.int64())
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
    """Decodes records by a copybook.

    Args:
        columns: The items to deliver, in order.
        fields: Their columns.
        notation: How values are written.
        start: Bytes in front of the copybook's in each record.
        rescue: Where given, values that do not fit are kept, and are no faults.
    """

    columns: Sequence[Node]
    fields: tuple[pa.Field, ...]
    notation: Notation
    start: int = 0
    rescue: Rescue | None = None

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; bytes that are no value of their item are null and reported."""
        rows, faults, rescued = [], [], []
        for number, record in enumerate(records_of(data, frames)):
            reader = RecordReader(self.notation, record)
            both = enumerate(zip(self.columns, self.fields, strict=True))
            rows.append([reader.read(node, f.type, (self.start,), f.name, (place,)) for place, (node, f) in both])
            problems = sorted(reader.problems)
            if number in frames.malformed:
                faults.append(SHORT_WORDING.fault(number))
            elif problems and self.rescue is None:
                first = problems[0]
                faults.append(wrong_value(first.path, first.kind).fault(number, first.seen))
            if self.rescue is not None and self.rescue.wanted:
                members = [f"{json.dumps(each.path, ensure_ascii=False)}:{json.dumps(each.seen)}" for each in problems]
                rescued.append(with_path(members, self.rescue.path))
        columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(self.fields)]
        kept = pa.array(rescued, pa.string()) if self.rescue is not None and self.rescue.wanted else None
        return Decoded(columns, len(rows), Faults.of(faults), kept)
