"""JSON values as values of columns: what Spark's JSON reader accepts, and a reason for everything else."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from splitscan.formats.decoding.contract import is_no, type_name
from splitscan.formats.decoding.conversions import FIRST_US, LAST_US, Rules, stored_value
from splitscan.formats.json.text import JsonKind, JsonValue

_INTEGER = re.compile(r"-?[0-9]+")
_NAMED_NUMBERS = frozenset({"NaN", "Infinity", "+Infinity", "-Infinity", "+INF", "-INF"})
_BITS = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}
_LONGEST_SECONDS = 40  # characters of a number of seconds


class MismatchError(Exception):
    """A value is not of the type of its column."""


@dataclass
class ValueReader:
    """Turns the values of one record into Python values that Arrow takes for a column.

    Args:
        text: The record.
        rules: How times are written.
        allow_non_numeric_numbers: Whether ``"NaN"`` and the like are numbers.

    Attributes:
        problems: What did not convert inside of a struct; the rest of the struct is kept.
    """

    text: str
    rules: Rules
    allow_non_numeric_numbers: bool = True
    problems: list[str] = field(default_factory=list)

    def read(self, value: JsonValue, kind: pa.DataType) -> Any:
        """Convert one value.

        Raises:
            MismatchError: If it is not of that type; the message shows it.
        """
        if value.kind is JsonKind.NULL:
            return None
        if pa.types.is_struct(kind):
            return self._struct(self._inside(value, kind, JsonKind.OBJECT), kind)
        if pa.types.is_list(kind):
            return [self.read(item, kind.value_type) for item in self._inside(value, kind, JsonKind.ARRAY)]
        if pa.types.is_map(kind):
            return self._map(self._inside(value, kind, JsonKind.OBJECT), kind)
        if pa.types.is_string(kind):
            return value.value if value.kind is JsonKind.STRING else self.text[value.start : value.stop]
        scalar = self._scalar(value, kind)
        if scalar is None:
            raise self._mismatch(value, kind)
        return scalar

    def struct_fields(self, pairs: list[tuple[str, JsonValue]], fields: list[pa.Field]) -> list[Any]:
        """Values of an object's fields, in the order of *fields*; of a name that comes twice the last counts."""
        by_name = dict(pairs)
        values = []
        for wanted in fields:
            found = by_name.get(wanted.name)
            try:
                values.append(None if found is None else self.read(found, wanted.type))
            except MismatchError as error:
                self.problems.append(f"column {wanted.name!r}: {error}")
                values.append(None)
        return values

    def _struct(self, pairs: list[tuple[str, JsonValue]], kind: pa.DataType) -> dict[str, Any]:
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return dict(zip([f.name for f in fields], self.struct_fields(pairs, fields), strict=True))

    def _map(self, pairs: list[tuple[str, JsonValue]], kind: pa.DataType) -> list[tuple[str, Any]]:
        return [(name, self.read(value, kind.item_type)) for name, value in dict(pairs).items()]

    def _inside(self, value: JsonValue, kind: pa.DataType, expected: JsonKind) -> list[Any]:
        if value.kind is not expected:
            raise self._mismatch(value, kind)
        return list(value.value)

    def _scalar(self, value: JsonValue, kind: pa.DataType) -> Any:
        written = value.value
        if pa.types.is_boolean(kind):
            return written if value.kind is JsonKind.BOOLEAN else None
        if value.kind not in {JsonKind.NUMBER, JsonKind.STRING}:
            return None
        is_text = value.kind is JsonKind.STRING
        return scalar_value(written, kind, self.rules, is_text=is_text, allow_named=self.allow_non_numeric_numbers)

    def _mismatch(self, value: JsonValue, kind: pa.DataType) -> MismatchError:
        return mismatch(self.text[value.start : value.stop], kind)


def mismatch(written: str, kind: pa.DataType) -> MismatchError:
    """The error for a value that is written like this."""
    return MismatchError(is_no(written, type_name(kind)))


def scalar_value(written: str, kind: pa.DataType, rules: Rules, *, is_text: bool, allow_named: bool) -> Any:
    """What Arrow takes for a number or a string in a column that is neither of strings nor of booleans.

    Args:
        written: The number as it is written, or the string.
        kind: Type of the column.
        rules: How times are written.
        is_text: Whether it is a string. A number may be a decimal too, or a timestamp in seconds since 1970.
        allow_named: Whether ``"NaN"`` and the like are numbers.

    Returns:
        The value; ``None`` if it does not convert.
    """
    if kind in _BITS:
        return None if is_text else _integer(written, _BITS[kind])
    if pa.types.is_floating(kind):
        named = allow_named and written in _NAMED_NUMBERS
        return _float(written, kind) if not is_text or named else None
    if pa.types.is_binary(kind):
        return _bytes(written) if is_text else None
    if is_text or pa.types.is_decimal(kind):
        return stored_value(written, kind, rules)
    if pa.types.is_timestamp(kind) and kind.tz is not None and _INTEGER.fullmatch(written):
        return _from_seconds(written)
    return None


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _integer(text: str, bits: int) -> int | None:
    if len(text) > 40 or not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else None


def _float(text: str, kind: pa.DataType) -> float:
    if "NaN" in text:
        return float("nan")
    if "I" in text:
        return float("-inf") if text.startswith("-") else float("inf")
    return float(pa.scalar(text).cast(kind).as_py())  # as Arrow's JSON parser reads it, single precision included


def _from_seconds(text: str) -> int | None:
    micros = int(text) * 1_000_000 if len(text) <= _LONGEST_SECONDS else LAST_US + 1
    return micros if FIRST_US <= micros <= LAST_US else None
