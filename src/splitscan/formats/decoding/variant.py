"""Variant: values that say their types themselves, in the bytes that Spark and Parquet agree on.

Source: VariantEncoding.md of apache/parquet-format; where it leaves a choice, what Spark writes.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import pyarrow as pa

from splitscan.formats.decoding.contract import MOMENT, MOST_DIGITS, quoted
from splitscan.formats.decoding.conversions import Rules, plain_decimal, stored_value
from splitscan.sizes import MIB

MOST_VARIANT_LEVELS = 1000
"""Objects and arrays inside each other, as in Spark: readers go down by recursion."""

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_PLAIN_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_SIZES = (1, 2, 3, 4)
_WHOLE = {3: 1, 4: 2, 5: 4, 6: 8}  # bytes of a number, by its kind
_DECIMAL = {8: 4, 9: 8, 10: 16}
_DATE, _TIMESTAMP = 11, 12
_EPOCH_DAY, _EPOCH = dt.date(1970, 1, 1), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EXACT = Context(prec=2 * MOST_DIGITS)

NULL, TRUE, FALSE = b"\x00", b"\x04", b"\x08"
"""Values without parts."""


class VariantError(Exception):
    """A value is no variant; the message says why."""


@dataclass(frozen=True, slots=True)
class VariantRules:
    """Which values are variants.

    Attributes:
        allow_duplicate_keys: Whether of a key that comes twice in an object the last value counts; else it is wrong.
        max_bytes: Most bytes of a value, and of the names of its keys.
    """

    allow_duplicate_keys: bool = False
    max_bytes: int = 16 * MIB


def whole_number(value: int) -> bytes:
    """A number of 64 bits, in the fewest bytes."""
    size = next(size for size in (1, 2, 4, 8) if -(1 << (8 * size - 1)) <= value < 1 << (8 * size - 1))
    return _primitive({1: 3, 2: 4, 4: 5, 8: 6}[size], value.to_bytes(size, "little", signed=True))


def number(text: str) -> bytes:
    """A number as JSON writes it: whole, or a decimal of up to 38 digits; a double if it is neither."""
    if not _PLAIN_NUMBER.fullmatch(text):
        return _primitive(7, struct.pack("<d", _double(text)))
    significant = text.lstrip("-0")
    if "." not in text and len(significant) <= MOST_DIGITS and -(1 << 63) <= int(text) < 1 << 63:
        return whole_number(int(text))
    return decimal(Decimal(text)) or _primitive(7, struct.pack("<d", float(text)))


def decimal(value: Decimal) -> bytes | None:
    """A decimal in 4, 8 or 16 bytes; ``None`` if it has more than 38 digits."""
    sign, digits, exponent = value.as_tuple()
    scale, count = -int(exponent), len("".join(map(str, digits)).lstrip("0")) or 1
    kinds = ((9, 8, 4), (18, 9, 8), (MOST_DIGITS, 10, 16))
    found = next((each[1:] for each in kinds if count <= each[0] and 0 <= scale <= each[0]), None)
    if found is None:
        return None
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    return _primitive(found[0], bytes([scale]) + unscaled.to_bytes(found[1], "little", signed=True))


def any_decimal(value: Decimal) -> bytes | None:
    """A decimal, as Spark takes what is written with an exponent; ``None`` if that has more than 38 digits.

    Example:
        >>> [data and data.hex() for data in map(any_decimal, (Decimal("1e1"), Decimal("0e39")))]
        ['20000a000000', None]
    """
    exponent = int(value.as_tuple().exponent)
    if exponent > MOST_DIGITS:
        return None
    return decimal(value if exponent <= 0 else Decimal(int(value)))


def date(day: int) -> bytes:
    """A day, counted from 1970-01-01."""
    return _primitive(_DATE, struct.pack("<i", day))


def timestamp(micros: int) -> bytes:
    """A moment, in microseconds since 1970 in UTC."""
    return _primitive(_TIMESTAMP, struct.pack("<q", micros))


def text(value: str) -> bytes:
    """A string."""
    data = value.encode()
    return bytes([len(data) << 2 | 1]) + data if len(data) < 64 else _primitive(16, struct.pack("<I", len(data)) + data)


@dataclass(frozen=True)
class ValueTypes:
    """Types of values that are written as texts, besides numbers and booleans.

    Attributes:
        rules: How numbers, dates and timestamps are written.
        prefers_dates: Whether dates are tried before timestamps.
        has_moments: Whether there are dates and timestamps at all.
    """

    rules: Rules = field(default_factory=Rules)
    prefers_dates: bool = True
    has_moments: bool = True


@lru_cache(maxsize=4096)
def value_of_text(written: str | None, types: ValueTypes) -> bytes:
    """A text by itself: null, a whole number, a decimal, a date, a timestamp, true or false, or else a text.

    The order is Spark's. In CSV Spark goes on in a column with the type of its last value, so that there a value
    depends on those before it, and on where tasks begin; this is what it makes of the first one.

    Example:
        >>> [value_of_text(each, ValueTypes()).hex() for each in ("007", "1.50", "2020-01-02", "TRUE")]
        ['0c07', '200296000000', '2c57470000', '04']
    """
    if written is None:
        return NULL
    found = _number(written, types.rules) or (_moment(written, types) if types.has_moments else None)
    return found or {"true": TRUE, "false": FALSE}.get(written.lower()) or text(written)


def _number(written: str, rules: Rules) -> bytes | None:
    if _WHOLE_NUMBER.fullmatch(written) and len(digits := written.lstrip("+-0") or "0") < 20:
        whole = -int(digits) if written.startswith("-") else int(digits)
        if -(1 << 63) <= whole < 1 << 63:
            return whole_number(whole)
    plain = rules.symbols.in_english(written) if rules.symbols else written
    value = None if plain is None or written != written.strip(" \t") else plain_decimal(plain)
    return None if value is None else any_decimal(value)


def _moment(written: str, types: ValueTypes) -> bytes | None:
    if types.prefers_dates and (types.rules.date_format is not None or _PLAIN_DATE.fullmatch(written)):
        day = stored_value(written, pa.date32(), types.rules)
        if day is not None:
            return date(day)
    micros = stored_value(written, MOMENT, types.rules)
    return None if micros is None else timestamp(micros)


def array(items: Sequence[bytes]) -> bytes:
    """An array of values."""
    size, stops = _size(sum(map(len, items))), _stops(items)
    is_large = len(items) > 255
    head = 3 | (size - 1) << 2 | is_large << 4
    return _joined(bytes([head]), [(len(items), 4 if is_large else 1), *((stop, size) for stop in stops)], items)


class VariantKeys:
    """The names of the keys of one variant, which are numbered as they come."""

    def __init__(self, rules: VariantRules) -> None:
        self._rules = rules
        self._ids: dict[str, int] = {}

    def add(self, name: str) -> None:
        """Number a name, unless it is."""
        self._ids.setdefault(name, len(self._ids))

    def object(self, members: Sequence[tuple[str, bytes]]) -> bytes:
        """An object of keys that were added, and values.

        Raises:
            VariantError: If a key comes twice, and must not.
        """
        last = dict(members)
        if len(last) < len(members) and not self._rules.allow_duplicate_keys:
            names = sorted((name for name, _ in members), key=name_order)
            double = next(name for name, other in pairwise(names) if name == other)
            raise VariantError(f"key {quoted(double)} comes twice; variantAllowDuplicateKeys=true takes the last")
        places = {name: place for place, (name, _) in enumerate(members)}
        kept = sorted(last, key=places.__getitem__)  # values stay in the order of the text
        starts = dict(zip(kept, _stops([last[name] for name in kept]), strict=False))
        total = sum(map(len, last.values()))
        names = sorted(last, key=name_order)
        size, id_size = _size(total), _size(max((self._ids[name] for name in names), default=0))
        is_large = len(names) > 255
        head = 2 | (size - 1) << 2 | (id_size - 1) << 4 | is_large << 6
        numbers = [(len(names), 4 if is_large else 1), *((self._ids[name], id_size) for name in names)]
        numbers += [(starts[name], size) for name in names]
        return _joined(bytes([head]), [*numbers, (total, size)], [last[name] for name in kept])

    def finish(self, value: bytes) -> dict[str, bytes]:
        """The variant of a value, with its keys.

        Raises:
            VariantError: If it is too long.
        """
        names = [name.encode() for name in self._ids]
        size = _size(max(sum(map(len, names)), len(names)))
        numbers = [(len(names), size), *((stop, size) for stop in _stops(names))]
        metadata = _joined(bytes([1 | (size - 1) << 6]), numbers, names)
        if max(len(value), len(metadata)) > self._rules.max_bytes:
            raise too_long(self._rules)
        return {"value": value, "metadata": metadata}


def too_long(rules: VariantRules) -> VariantError:
    """The error for a value that takes too many bytes."""
    return VariantError(f"it is longer than maxVariantBytes={rules.max_bytes}")


_Value = TypeVar("_Value")


class VariantParts(NamedTuple, Generic[_Value]):
    """The parts of an object or an array; those of an array have no names."""

    is_object: bool
    parts: Iterable[tuple[str, _Value]]


class _Open(NamedTuple, Generic[_Value]):
    """An object or an array whose parts are being encoded."""

    name: str  # under which it is a part of another one
    is_object: bool
    left: Iterator[tuple[str, _Value]]
    done: list[tuple[str, bytes]]


def encode_variant(
    value: _Value, view: Callable[[_Value], bytes | VariantParts[_Value]], rules: VariantRules
) -> dict[str, bytes]:
    """Encode a value of any depth: its bytes, and those of the names of its keys.

    Args:
        value: What to encode.
        view: Says what a value is: the bytes of one without parts, or its parts.
        rules: Which values are variants.

    Raises:
        VariantError: If it is no variant.
    """
    keys = VariantKeys(rules)
    open_ = [_Open("", False, iter([("", value)]), [])]  # the outermost one holds nothing but the value
    while True:
        inner = open_[-1]
        found = next(inner.left, None)
        if found is None:
            open_.pop()
            if not open_:
                return keys.finish(inner.done[0][1])
            parts = inner.done
            done = keys.object(parts) if inner.is_object else array([part for _, part in parts])
            open_[-1].done.append((inner.name, done))
            continue
        name, part = found
        if inner.is_object:
            keys.add(name)
        seen = view(part)
        if isinstance(seen, bytes):
            inner.done.append((name, seen))
            continue
        if len(open_) > MOST_VARIANT_LEVELS:
            raise VariantError(f"it has more than {MOST_VARIANT_LEVELS} objects and arrays inside each other")
        open_.append(_Open(name, seen.is_object, iter(seen.parts), []))


def _double(text: str) -> float:
    if "NaN" in text:
        return float("nan")
    return float(text.lower().replace("infinity", "inf"))


def _primitive(kind: int, data: bytes) -> bytes:
    return bytes([kind << 2]) + data


def name_order(name: str) -> bytes:
    """Names sort by the code units of UTF-16, as in Spark; the specification has those of UTF-8."""
    return name.encode("utf-16-be")


def _size(value: int) -> int:
    return next(size for size in _SIZES if value < 1 << 8 * size)


def _stops(items: Sequence[bytes]) -> list[int]:
    stops = [0]
    for item in items:
        stops.append(stops[-1] + len(item))
    return stops


def _joined(head: bytes, numbers: Sequence[tuple[int, int]], items: Sequence[bytes]) -> bytes:
    return head + b"".join(value.to_bytes(size, "little") for value, size in numbers) + b"".join(items)


def variant_as_json(value: bytes, metadata: bytes) -> str:
    """The JSON text of a variant that was written here, however deep it is; NaN and infinities are texts.

    Example:
        >>> keys = VariantKeys(VariantRules())
        >>> keys.add("a")
        >>> parts = keys.finish(keys.object([("a", array([number("1.50"), NULL, text("x")]))]))
        >>> variant_as_json(parts["value"], parts["metadata"])
        '{"a":[1.50,null,"x"]}'
    """
    size = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + size], "little")
    stops = _numbers(metadata, 1 + size, count + 1, size)
    first = 1 + size * (count + 2)
    names = [metadata[first + start : first + stop].decode() for start, stop in pairwise(stops)]
    done: list[str] = []
    left: list[str | int] = [0]  # what is still to be written, the next one last: texts, and where values begin
    while left:
        each = left.pop()
        if isinstance(each, str):
            done.append(each)
        elif value[each] & 3 < 2:
            done.append(_scalar_as_json(value, each))
        else:
            left += reversed(_parts_as_json(value, each, names))
    return "".join(done)


def _parts_as_json(value: bytes, at: int, names: list[str]) -> list[str | int]:
    head, is_object = value[at] >> 2, value[at] & 3 == 2
    size, id_size, is_large = (head & 3) + 1, (head >> 2 & 3) + 1, head >> (4 if is_object else 2) & 1
    count_size = 4 if is_large else 1
    count = int.from_bytes(value[at + 1 : at + 1 + count_size], "little")
    at += 1 + count_size
    ids = _numbers(value, at, count, id_size) if is_object else []
    at += count * id_size if is_object else 0
    starts = _numbers(value, at, count, size)
    at += (count + 1) * size
    parts: list[str | int] = ["{" if is_object else "["]
    for number, start in enumerate(starts):
        name = json.dumps(names[ids[number]], ensure_ascii=False) + ":" if is_object else ""
        parts += [("," if number else "") + name, at + start]
    return [*parts, "}" if is_object else "]"]


def _scalar_as_json(value: bytes, at: int) -> str:
    kind, data = value[at] >> 2, value[at + 1 :]
    if value[at] & 3 == 1 or kind == 16:
        start, size = (0, kind) if value[at] & 3 == 1 else (4, int.from_bytes(data[:4], "little"))
        return json.dumps(data[start : start + size].decode(), ensure_ascii=False)
    if kind in _WHOLE:
        return str(int.from_bytes(data[: _WHOLE[kind]], "little", signed=True))
    if kind in _DECIMAL:
        unscaled = int.from_bytes(data[1 : 1 + _DECIMAL[kind]], "little", signed=True)
        return f"{Decimal(unscaled).scaleb(-data[0], _EXACT):f}"
    if kind in (_DATE, _TIMESTAMP):
        days, micros = struct.unpack("<i", data[:4])[0], int.from_bytes(data[:8], "little", signed=True)
        is_date = kind == _DATE
        return json.dumps(str(_EPOCH_DAY + dt.timedelta(days) if is_date else _EPOCH + dt.timedelta(0, 0, micros)))
    if kind == 7:
        double = struct.unpack("<d", data[:8])[0]
        return json.dumps(double) if math.isfinite(double) else json.dumps(str(double))
    return ("null", "true", "false")[kind]


def _numbers(data: bytes, at: int, count: int, size: int) -> list[int]:
    return [int.from_bytes(data[start : start + size], "little") for start in range(at, at + count * size, size)]
