"""Random copybooks, values of their items, and records that an encoder of its own makes of them."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any

_LETTERS = "ABCxyz019 .é"
_CODE_PAGES = ("cp037", "cp037", "cp500", "cp1140", "ascii", "latin-1")

Encoded = tuple[bytes, Any]
"""The bytes of an item, and the value that they are."""


@dataclass
class CobolItem:
    """An item of a copybook.

    Attributes:
        name: Its name there.
        clauses: What follows it.
        encode: Makes bytes of a value that it chooses, which is in a row.
        inner: Items inside of it.
        in_rows: Whether it is in rows.
    """

    name: str
    clauses: str
    encode: Callable[[], Encoded]
    inner: list[CobolItem] = field(default_factory=list)
    in_rows: bool = True

    def lines(self, level: int) -> list[str]:
        """Its lines in a copybook."""
        said = f"{level:02} {self.name}{' ' + self.clauses if self.clauses else ''}."
        own = textwrap.wrap(
            said, 50, initial_indent=" " * (7 + level), subsequent_indent=" " * 14, break_on_hyphens=False
        )
        return [*own, *(line for item in self.inner for line in item.lines(level + 2))]


class Copybooks:
    """Makes random copybooks."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.encoding = draw.choice(_CODE_PAGES)
        self.is_ebcdic = self.encoding.startswith("cp")
        self._count = 0
        self.shifts = draw.random() < 0.3  # lists have only the items that there are

    def group(self, name: str) -> CobolItem:
        """An item of items, such as for whole records."""
        return self._group(name, 0)

    def _name(self) -> str:
        self._count += 1
        return f"N-{self._count}"

    def _group(self, name: str, depth: int) -> CobolItem:
        items: list[CobolItem] = []
        for _ in range(self._draw.randint(1, 5)):
            items += self._items(depth)
        if not any(item.in_rows for item in items):
            items.append(self._text())
        return CobolItem(name, "", lambda: _joined(items), items)

    def _items(self, depth: int) -> list[CobolItem]:
        """One item, or some that belong together."""
        kind = self._draw.random()
        if kind < 0.1 and depth < 3:
            return [self._group(self._name(), depth + 1)]
        if kind < 0.2 and depth < 3:
            return [self._table(depth)]
        if kind < 0.3 and depth < 3:
            return self._counted(depth)
        if kind < 0.36:
            return self._redefined()
        if kind < 0.42:
            return [
                CobolItem("FILLER", f"PIC X({(n := self._draw.randint(1, 4))})", lambda: (b"\0" * n, None), [], False)
            ]
        return [self._leaf()]

    def _part(self, depth: int) -> CobolItem:
        return self._group(self._name(), depth + 1) if self._draw.random() < 0.5 else self._leaf()

    def _table(self, depth: int) -> CobolItem:
        one, times = self._part(depth), self._draw.randint(1, 3)
        many = [one] * times

        def encode() -> Encoded:
            parts = [each.encode() for each in many]
            return b"".join(data for data, _ in parts), [value for _, value in parts]

        return CobolItem(one.name, f"{one.clauses} OCCURS {times} TIMES".strip(), encode, one.inner)

    def _counted(self, depth: int) -> list[CobolItem]:
        """A number, and a list of as many items."""
        one, most = self._part(depth), self._draw.randint(1, 3)
        counter = self._name()
        chosen: list[int] = []
        zero = 0xF0 if self.is_ebcdic else 0x30

        def count() -> Encoded:
            chosen.append(self._draw.randint(0, most))
            return bytes([zero + chosen[-1]]), chosen[-1]

        def encode() -> Encoded:
            parts = [one.encode() for _ in range(most)]
            items = chosen.pop()
            kept = parts[:items] if self.shifts else parts
            return b"".join(data for data, _ in kept), [value for _, value in parts[:items]]

        clauses = f"{one.clauses} OCCURS 0 TO {most} TIMES DEPENDING ON {counter}".strip()
        return [CobolItem(counter, "PIC 9", count), CobolItem(one.name, clauses, encode, one.inner)]

    def _redefined(self) -> list[CobolItem]:
        """A text, and another view of its first bytes."""
        first = self._text(least=3)
        data: list[bytes] = []

        def encode() -> Encoded:
            found = first.encode()
            data.append(found[0])
            return found

        def again() -> Encoded:
            return b"", self._shown(data.pop()[:2])

        view = CobolItem(self._name(), f"REDEFINES {first.name} PIC X(2)", again)
        return [CobolItem(first.name, first.clauses, encode), view]

    def _leaf(self) -> CobolItem:
        makers = (
            self._text,
            self._zoned,
            self._zoned,
            self._packed,
            self._packed,
            self._binary,
            self._float,
            self._national,
        )
        return self._draw.choice(makers)()

    # ------------------------------------------------------------- the values

    def _shown(self, data: bytes) -> str | None:
        return data.decode(self.encoding).strip(" ") if any(data) else None

    def _text(self, least: int = 1) -> CobolItem:
        size = self._draw.randint(least, 8)
        picture = self._draw.choice([f"X({size})", "X" * size])

        def encode() -> Encoded:
            text = "".join(self._draw.choices(_LETTERS, k=size))
            data = text.encode(self.encoding, "replace")
            return data, self._shown(data)

        return CobolItem(self._name(), f"PIC {picture}", encode)

    def _national(self) -> CobolItem:
        size = self._draw.randint(1, 4)

        def encode() -> Encoded:
            text = "".join(self._draw.choices(_LETTERS + "☃", k=size))
            return text.encode("utf-16-be"), text.strip(" ")

        return CobolItem(self._name(), f"PIC N({size})", encode)

    def _number(self, most: int = 20) -> tuple[str, int, int, bool]:
        """A picture, its digits, those after the point, and whether it has a sign."""
        digits = self._draw.choice([1, 2, 4, 5, 9, 10, 18, 19, most])
        scale = self._draw.choice([0, 0, 1, 2]) if digits > 2 else 0
        signed = self._draw.random() < 0.6
        picture = f"{'S' if signed else ''}9({digits - scale}){f'V9({scale})' if scale else ''}"
        return picture, digits, scale, signed

    def _chosen(self, digits: int, signed: bool) -> int:
        value = self._draw.choice([0, 1, self._draw.randrange(10**digits), 10**digits - 1])
        return -value if signed and self._draw.random() < 0.5 else value

    def _zoned(self) -> CobolItem:
        picture, digits, scale, signed = self._number(38)
        separate = signed and self._draw.random() < 0.4
        place = self._draw.choice(["LEADING", "TRAILING"])
        zones = (0xC0, 0xD0) if self.is_ebcdic else (b"{ABCDEFGHI", b"}JKLMNOPQR")

        def encode() -> Encoded:
            value = self._chosen(digits, signed)
            data = bytearray(f"{abs(value):0{digits}}".encode(self.encoding))
            if separate:
                mark = ("-" if value < 0 else "+").encode(self.encoding)
                data = bytearray(mark + data if place == "LEADING" else data + mark)
            elif signed and (value < 0 or self._draw.random() < 0.7):
                at = 0 if place == "LEADING" else -1
                zone, digit = zones[value < 0], data[at] & 0xF
                data[at] = zone + digit if isinstance(zone, int) else zone[digit]
            return bytes(data), _scaled(value, scale)

        sign = f" SIGN IS {place}{' SEPARATE' if separate else ''}" if signed else ""
        return CobolItem(self._name(), f"PIC {picture}{sign}", encode)

    def _packed(self) -> CobolItem:
        picture, digits, scale, signed = self._number(31)

        def encode() -> Encoded:
            value = self._chosen(digits, signed)
            text = f"{abs(value):0{digits // 2 * 2 + 1}}" + ("D" if value < 0 else "C" if signed else "F")
            return bytes.fromhex(text), _scaled(value, scale)

        return CobolItem(self._name(), f"PIC {picture} {self._draw.choice(['COMP-3', 'PACKED-DECIMAL'])}", encode)

    def _binary(self) -> CobolItem:
        picture, digits, scale, signed = self._number(30)
        usage = self._draw.choice(["COMP", "BINARY", "COMP-4", "COMP-5", "COMP-9"])
        order = "little" if usage == "COMP-9" else "big"
        sizes = [(4, 2), (9, 4), (18, 8), (19, 9), (20, 9), (30, 13)]
        size = next(size for most, size in sizes if digits <= most)
        size = 1 if usage == "COMP-9" and digits <= 2 else size

        def encode() -> Encoded:
            value = self._chosen(digits, signed)
            return value.to_bytes(size, order, signed=signed), _scaled(value, scale)

        return CobolItem(self._name(), f"PIC {picture} {usage}", encode)

    def _float(self) -> CobolItem:
        double = self._draw.random() < 0.5

        def encode() -> Encoded:
            value = self._draw.choice([0.0, 1.0, -0.5, 4.5, -3.75, self._draw.randint(-(10**6), 10**6) / 16])
            return _hex_float(value, 8 if double else 4), value

        return CobolItem(self._name(), "COMP-2" if double else "COMP-1", encode)


def _scaled(value: int, scale: int) -> int | Decimal:
    return Decimal(f"{value}E-{scale}") if scale else value


def _hex_float(value: float, size: int) -> bytes:
    """A number as mainframes write it: a sign, a power of 16, and a fraction below 1."""
    if not value:
        return bytes(size)
    power, fraction = 64, abs(value)
    while fraction >= 1:
        power, fraction = power + 1, fraction / 16
    while fraction < 1 / 16:
        power, fraction = power - 1, fraction * 16
    digits = int(fraction * 256 ** (size - 1))
    return bytes([power | (0x80 if value < 0 else 0)]) + digits.to_bytes(size - 1, "big")


def _joined(items: list[CobolItem]) -> Encoded:
    parts = [(item, *item.encode()) for item in items]
    rows = {item.name.replace("-", "_"): value for item, _, value in parts if item.in_rows}
    return b"".join(data for _, data, _ in parts), rows


Case = tuple[dict[str, Any], bytes, list[dict[str, Any]]]
"""Options, a file of the records of a copybook, and their rows."""


class Families:
    """Makes random files of records with children: a root, and the records of other kinds that follow it."""

    def __init__(self, draw: random.Random) -> None:
        self._draw, self.books = draw, Copybooks(draw)
        self.books.shifts = False
        self.groups = [self.books.group(f"G{number}") for number in range(draw.randint(2, 4))]
        self.parents = [-1, *(draw.randrange(number) for number in range(1, len(self.groups)))]
        self.ids = ["a", "b,c", "d", "e"][: len(self.groups)]

    def copybook(self) -> str:
        """One item for the kind, and the groups, which have the same place."""
        first, *others = self.groups
        views = [CobolItem(group.name, f"REDEFINES {first.name}", group.encode, group.inner) for group in others]
        return "\n".join(CobolItem("REC", "", lambda: (b"", None), [self._kind(0), first, *views]).lines(1))

    def options(self) -> dict[str, Any]:
        """Options that tell the kinds, and which are children of which."""
        names = [group.name for group in self.groups]
        inner = {
            name: [names[child] for child, parent in enumerate(self.parents) if parent == place]
            for place, name in enumerate(names)
        }
        return {
            "segmentField": "K",
            "redefineSegmentIdMap": "; ".join(f"{name} => {ids}" for name, ids in zip(names, self.ids, strict=True)),
            "segmentChildren": "; ".join(f"{name} => {','.join(of)}" for name, of in inner.items() if of),
        }

    def family(self) -> tuple[list[bytes], dict[str, Any]]:
        """The records of a root, and its row."""
        records, value = self._member(0)
        return records, {"K": "a", self.groups[0].name: value}

    def _kind(self, number: int) -> CobolItem:
        letter = self._draw.choice(self.ids[number].split(","))
        return CobolItem("K", "PIC X", lambda: (letter.encode(self.books.encoding), letter))

    def _member(self, number: int) -> tuple[list[bytes], dict[str, Any]]:
        data, value = self.groups[number].encode()
        records = [self._kind(number).encode()[0] + data]
        children = [child for child, parent in enumerate(self.parents) if parent == number]
        value |= {self.groups[child].name: [] for child in children}
        for _ in range(self._draw.choice([0, 1, 3]) if children else 0):
            child = self._draw.choice(children)
            inner, found = self._member(child)
            records += inner
            value[self.groups[child].name].append(found)
        return records, value


def _random_families(draw: random.Random) -> Case:
    made = Families(draw)
    parts = [made.family() for _ in range(draw.choice([0, 1, 2, 5]))]
    records = [record for family, _ in parts for record in family]
    header, trailer, more = draw.choice([0, 0, 5]), draw.choice([0, 0, 7]), draw.choice([0, 0, 4])
    options = made.options() | {
        "copybook": made.copybook(), "encoding": made.books.encoding, "fileStartOffset": header,
        "fileEndOffset": trailer,
    }  # fmt: skip
    if draw.random() < 0.7:
        order = draw.choice([True, False, None])
        options |= {"recfm": "V", "isRdwPartOfRecordLength": more > 0, "isRdwBigEndian": order}
        records = [_with_header(each, more, big=order is not False) for each in records]
    else:
        longest = 1 + max(len(group.encode()[0]) for group in made.groups)
        records = [each.ljust(longest, b"\0") for each in records]
    return options, b"H" * header + b"".join(records) + b"T" * trailer, [row for _, row in parts]


def random_case(draw: random.Random) -> Case:
    """A case of any kind."""
    if draw.random() < 0.15:
        return _random_families(draw)
    books = Copybooks(draw)
    record = books.group("REC")
    start, end = draw.choice([0, 0, 2]), draw.choice([0, 0, 3])
    header, trailer = draw.choice([0, 0, 5]), draw.choice([0, 0, 7])
    parts = [record.encode() for _ in range(draw.choice([0, 1, 2, 7, 30]))]
    options = {
        "copybook": "\n".join(record.lines(1)), "encoding": books.encoding, "recordStartOffset": start,
        "recordEndOffset": end, "fileStartOffset": header, "fileEndOffset": trailer,
    }  # fmt: skip
    records = [bytes(start) + data + bytes(end) for data, _ in parts]
    if books.shifts:
        options["variableSizeOccurs"] = "shift_record"
    way = draw.random()
    if way < 0.15 and not books.shifts:
        options |= _with_lengths(draw, record, options)
        both = [_length_in_text(draw, each, books.encoding, options) for each in records]
        records = [data for data, _ in both]
        parts = [(data, {"LEN": number, **row}) for (data, number), (_, row) in zip(both, parts, strict=True)]
    elif way < 0.6:
        counts_itself, order = draw.random() < 0.3, draw.choice([True, False, None])
        options |= {"recfm": "V", "isRdwPartOfRecordLength": counts_itself, "isRdwBigEndian": order}
        records = [_with_header(each, 4 * counts_itself, big=order is not False) for each in records]
        if draw.random() < 0.5:
            records = _in_blocks(draw, records, options)
        elif order is not False and draw.random() < 0.7:
            records = [_in_segments(draw, each, 4 * counts_itself) for each in records]
    rows = [row for _, row in parts]
    if "recordLengthField" in options:
        return options, b"H" * header + b"".join(records) + b"T" * trailer, rows
    first = record.inner[0]
    if draw.random() < 0.3 and first.in_rows and first.clauses.startswith("PIC X") and "OCCURS" not in first.clauses:
        name = first.name.replace("-", "_")
        kinds = [row[name] for row in rows if row[name]] or ["x"]
        kinds = [kind for kind in kinds if "," not in kind and kind == kind.strip()][:2] or ["x"]
        options |= {"segmentField": first.name, "segmentFilter": kinds}
        rows = [row for row in rows if row[name] in kinds]
    return options, b"H" * header + b"".join(records) + b"T" * trailer, rows


def _with_lengths(draw: random.Random, record: CobolItem, options: dict[str, Any]) -> dict[str, Any]:
    """Options for records that say their length in an item, which is made the first one."""
    record.inner.insert(0, CobolItem("LEN", "PIC 9(5)", lambda: (b"", None)))
    said = draw.choice(["LEN", "LEN * 2 + 1", "LEN - 3"])
    return {"copybook": "\n".join(record.lines(1)), "recordLengthField": said}


def _length_in_text(draw: random.Random, record: bytes, encoding: str, options: dict[str, Any]) -> tuple[bytes, int]:
    """A record with its length, and perhaps bytes after its items; and the number that says it."""
    start, end = options["recordStartOffset"], options["recordEndOffset"]
    said, more = options["recordLengthField"], draw.choice([0, 0, 2])
    length = len(record) + 5 - start - end + more
    if "*" in said:
        more += (length + 1) % 2
        length += (length + 1) % 2
    number = {"LEN": length, "LEN * 2 + 1": (length - 1) // 2, "LEN - 3": length + 3}[said]
    return record[:start] + f"{number:05}".encode(encoding) + record[start:] + b"+" * more, number


def _in_blocks(draw: random.Random, records: list[bytes], options: dict[str, Any]) -> list[bytes]:
    """Blocks of records, some of them empty where that can be written, and the options for them."""
    more, order = draw.choice([0, 0, 4]), draw.choice([True, False, None])
    options |= {"recfm": "VB", "bdwAdjustment": -more, "isBdwBigEndian": order}
    blocks, left = [], list(records)
    while left or draw.random() < 0.2:
        inside = [left.pop(0) for _ in range(min(len(left), draw.randint(0 if more else 1, 4)))]
        data, is_big = b"".join(inside), order is not False
        if not data and not more:
            break
        if draw.random() < 0.3 or len(data) + more >= 0x8000:
            header = (len(data) + more | 1 << 31).to_bytes(4, "big" if is_big else "little")
            blocks.append(header + data)
        else:
            blocks.append(_with_header(data, more, big=is_big))
    return blocks


def _in_segments(draw: random.Random, record: bytes, more: int) -> bytes:
    """The same record, which has a header, as some segments."""
    data = record[4:]
    cuts = sorted(draw.randint(0, len(data)) for _ in range(draw.choice([0, 1, 1, 2, 5])))
    texts = [data[start:stop] for start, stop in pairwise([0, *cuts, len(data)])]
    if len(texts) == 1 or not all(len(text) + more for text in texts):
        return record
    parts = [1, *[3] * (len(texts) - 2), 2]
    return b"".join(
        (len(text) + more).to_bytes(2, "big") + bytes([part, 0]) + text for part, text in zip(parts, texts, strict=True)
    )


def _with_header(record: bytes, more: int, *, big: bool) -> bytes:
    length = len(record) + more
    return (length.to_bytes(2, "big") + bytes(2) if big else bytes(2) + length.to_bytes(2, "little")) + record


def _ends_in_blocks(data: bytes, options: dict[str, Any]) -> list[int]:
    """Where a record, or the length of a block, ends."""
    position, stop = options["fileStartOffset"], len(data) - options["fileEndOffset"]
    block_end, ends = position, []
    while position < stop:
        head = data[position : position + 4]
        is_little = position == block_end and options["isBdwBigEndian"] is False
        number = int.from_bytes(head, "little" if is_little or not any(head[:2]) else "big")
        number = number & 0x7FFFFFFF if number >> 31 else number >> 16
        position += 4
        if position == block_end + 4:
            block_end = position + number + options["bdwAdjustment"]
        else:
            position += number - 4 * options["isRdwPartOfRecordLength"]
        ends.append(position)
    return ends


def _ends(data: bytes, options: dict[str, Any]) -> list[int]:
    """Where a record, or a segment of one, ends."""
    position, stop = options["fileStartOffset"], len(data) - options["fileEndOffset"]
    ends = []
    while position < stop:
        head = data[position : position + 4]
        number = int.from_bytes(head[:2], "big") or int.from_bytes(head[2:], "little")
        position += 4 + number - 4 * options["isRdwPartOfRecordLength"]
        ends.append(position)
    return ends


def damaged(draw: random.Random, data: bytes, options: dict[str, Any]) -> bytes:
    """The same with other bytes in it, or without its end, which may be cut off between records of a block."""
    if options.get("recfm") == "VB" and draw.random() < 0.2 and (ends := _ends_in_blocks(data, options)):
        return data[: draw.choice(ends)] + data[len(data) - options["fileEndOffset"] :]
    if options.get("recfm") == "V" and draw.random() < 0.5 and (ends := _ends(data, options)):
        start, stop = sorted(draw.choices([options["fileStartOffset"], *ends], k=2))
        data = data[:start] + draw.choice([b"", 2 * data[start:stop]]) + data[stop:]  # segments are missing, or twice
    changed = bytearray(data)
    for _ in range(draw.choice([0, 1, 5]) if data else 0):
        changed[draw.randrange(len(data))] = draw.choice(
            [0, 1, 2, 3, 0x40, 0x4B, 0x60, 0xC1, 0xD5, 0xFF, 0x1A, draw.randrange(256)]
        )
    return bytes(changed[: draw.randint(0, len(data))] if draw.random() < 0.3 else changed)
