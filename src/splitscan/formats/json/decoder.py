"""JSON records to typed columns: the definition, one record at a time."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from splitscan.errors import RecordError, Where
from splitscan.formats.decoding.contract import (
    BAD_VALUE,
    Decoded,
    Fault,
    Faults,
    is_no,
    is_variant,
    quoted,
    type_name,
)
from splitscan.formats.decoding.conversions import FIRST_US, INTEGER_BITS, LAST_US, Rules, in_bits, stored_value
from splitscan.formats.decoding.values import Rescue, with_path
from splitscan.formats.decoding.variant import VariantError, VariantRules, encode_variant
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, records_of
from splitscan.formats.json.envelope import BAD_ENVELOPE
from splitscan.formats.json.reference import JsonShape
from splitscan.formats.json.text import JsonDialect, JsonKind, JsonValue, NotJsonError, parse_json, view_of_json
from splitscan.options.locales import ENGLISH

_DIGITS = frozenset("0123456789")
_INTEGER = re.compile(r"-?[0-9]+")
_NAMED_NUMBERS = frozenset({"NaN", "Infinity", "+Infinity", "-Infinity", "+INF", "-INF"})
_LONGEST_SECONDS = 40  # characters of a number of seconds


class MismatchError(Exception):
    """A value is not of the type of its column."""


@dataclass
class JsonValueReader:
    """Turns the values of one record into Python values that Arrow takes for a column.

    Args:
        text: The record.
        rules: How times, and decimals in strings, are written.
        allow_non_numeric_numbers: Whether ``"NaN"`` and the like are numbers.
        variants: Which values are variants.

    Attributes:
        problems: What did not convert inside of a struct; the rest of the struct is kept.
    """

    text: str
    rules: Rules
    allow_non_numeric_numbers: bool = True
    variants: VariantRules = field(default_factory=VariantRules)
    problems: list[str] = field(default_factory=list)

    def read(self, value: JsonValue, kind: pa.DataType) -> Any:
        """Convert one value.

        Raises:
            MismatchError: If it is not of that type; the message shows it.
        """
        if is_variant(kind):
            return self._variant(value)
        if value.kind is JsonKind.NULL:
            return None
        if pa.types.is_nested(kind):
            return self._nested(value, kind)
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
                self.problems.append(f"column {quoted(wanted.name)}: {error}")
                values.append(None)
        return values

    def _nested(self, value: JsonValue, kind: pa.DataType) -> Any:
        if pa.types.is_struct(kind):
            return self._struct(self._inside(value, kind, JsonKind.OBJECT), kind)
        if pa.types.is_list(kind):
            return [self.read(item, kind.value_type) for item in self._inside(value, kind, JsonKind.ARRAY)]
        return self._map(self._inside(value, kind, JsonKind.OBJECT), kind)

    def _variant(self, value: JsonValue) -> dict[str, bytes]:
        try:
            return encode_variant(value, view_of_json, self.variants)
        except VariantError as error:
            raise MismatchError(is_no(self.text[value.start : value.stop], f"variant: {error}")) from None

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
    """Value that Arrow takes for a number or a string in a column that is neither of strings nor of booleans.

    Args:
        written: The number as it is written, or the string.
        kind: Type of the column.
        rules: How times, and decimals in strings, are written.
        is_text: Whether it is a string. A number may be a decimal too, or a timestamp in seconds since 1970.
        allow_named: Whether ``"NaN"`` and the like are numbers.

    Returns:
        The value; ``None`` if it does not convert.
    """
    if kind in INTEGER_BITS:
        return None if is_text else _integer(written, INTEGER_BITS[kind])
    if pa.types.is_floating(kind):
        named = allow_named and written in _NAMED_NUMBERS
        return _float(written, kind) if not is_text or named else None
    if pa.types.is_binary(kind):
        return _bytes(written) if is_text else None
    if is_text or pa.types.is_decimal(kind):
        return stored_value(written, kind, rules if is_text else replace(rules, locale=ENGLISH))
    if pa.types.is_timestamp(kind) and kind.tz is not None and _INTEGER.fullmatch(written):
        return _from_seconds(written)
    return None


def _bytes(text: str) -> bytes | None:
    at = text.find("=")
    if at >= 0 and at % 4 < 2:
        return None  # of padding after a whole group versions of Python differ
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _integer(text: str, bits: int) -> int | None:
    if len(text) > 40 or not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if in_bits(value, bits) else None


def _float(text: str, kind: pa.DataType) -> float:
    if "NaN" in text:
        return float("nan")
    if "I" in text:
        return float("-inf") if text.startswith("-") else float("inf")
    return float(pa.scalar(text).cast(kind).as_py())  # as Arrow's JSON parser reads it, single precision included


def _from_seconds(text: str) -> int | None:
    micros = int(text) * 1_000_000 if len(text) <= _LONGEST_SECONDS else LAST_US + 1
    return micros if FIRST_US <= micros <= LAST_US else None


_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def read_values(column: pa.Field, texts: Sequence[str | None], dialect: JsonDialect, rules: Rules) -> pa.Array:
    """Values of one column, each written on its own; ``None`` stands for null.

    Raises:
        RecordError: ``[bad-envelope]`` for one that does not fit.
    """
    values: dict[str | None, Any] = {None: None}
    for text in dict.fromkeys(texts):
        try:
            if text is not None:
                reader = JsonValueReader(text, rules, dialect.allow_non_numeric_numbers)
                values[text] = reader.read(parse_json(text, dialect), column.type)
        except (NotJsonError, MismatchError) as error:
            raise RecordError(
                "a value of recordPathColumns is a JSON value that fits the type of its column",
                Where(column=column.name),
                seen=str(error) if isinstance(error, MismatchError) else f"{quoted(text or '')}: {error}",
                fix="declare the column as string, or leave it out of recordPathColumns",
                code=BAD_ENVELOPE,
            ) from None
    return pa.array([values[text] for text in texts], column.type)


def unfit_members(
    pairs: list[tuple[str, JsonValue]],
    kinds: Mapping[str, pa.DataType],
    readers: Mapping[str, JsonValueReader],
) -> list[str]:
    """Members of a record that have no column, or a value that is not of its column's type, as JSON has them.

    Of a struct only the members that do not fit are kept; an array or a map with such a part is kept whole.

    Args:
        pairs: The record's members; of a name that comes twice the last counts.
        kinds: Types of the columns, by name.
        readers: What reads the values of each column.
    """
    members = []
    for name, value in dict(pairs).items():
        reader = readers.get(name)
        unfit = _as_json(value) if reader is None else _unfit(value, kinds[name], reader)
        if unfit is not None:
            members.append(f"{json.dumps(name, ensure_ascii=False)}:{unfit}")
    return members


def _unfit(value: JsonValue, kind: pa.DataType, reader: JsonValueReader) -> str | None:
    """The part of a value that a type cannot hold; ``None`` if it holds all."""
    if value.kind is JsonKind.OBJECT and pa.types.is_struct(kind) and not is_variant(kind):
        kinds = {kind.field(index).name: kind.field(index).type for index in range(kind.num_fields)}
        members = unfit_members(value.value, kinds, dict.fromkeys(kinds, reader))
        return "{" + ",".join(members) + "}" if members else None
    if value.kind is JsonKind.ARRAY and pa.types.is_list(kind):
        fits = all(_unfit(item, kind.value_type, reader) is None for item in value.value)
    elif value.kind is JsonKind.OBJECT and pa.types.is_map(kind):
        fits = all(_unfit(item, kind.item_type, reader) is None for _, item in value.value)
    else:
        fits = _fits(value, kind, reader)
    return None if fits else _as_json(value)


def _fits(value: JsonValue, kind: pa.DataType, reader: JsonValueReader) -> bool:
    try:
        reader.read(value, kind)
    except MismatchError:
        return False
    return True


def _as_json(value: JsonValue) -> str:
    """A value as strict JSON without white space, however deep it is; numbers as they are written."""
    parts: list[str] = []
    left: list[JsonValue | str] = [value]
    while left:  # what is still to be written, the next one last
        each = left.pop()
        if isinstance(each, str):
            parts.append(each)
        elif each.kind is JsonKind.ARRAY:
            left += reversed(["[", *_separated([[item] for item in each.value]), "]"])
        elif each.kind is JsonKind.OBJECT:
            pairs = [[f"{json.dumps(name, ensure_ascii=False)}:", item] for name, item in each.value]
            left += reversed(["{", *_separated(pairs), "}"])
        elif each.kind is JsonKind.NUMBER and not _NUMBER.fullmatch(each.value):
            parts.append(json.dumps(each.value))  # NaN, or zeros in front: JSON has no such numbers
        else:
            parts.append(each.value if each.kind is JsonKind.NUMBER else json.dumps(each.value, ensure_ascii=False))
    return "".join(parts)


def _separated(items: list[list[JsonValue | str]]) -> list[JsonValue | str]:
    return [each for number, item in enumerate(items) for each in ([",", *item] if number else item)]


BAD_JSON = "bad-json"
NOT_AN_OBJECT = "not-an-object"
NOT_AN_ARRAY = "not-an-array"
RECORD_PATH_NOT_FOUND = "record-path-not-found"
_KINDS = {"{": "an object", '"': "a string", "t": "a boolean", "f": "a boolean", "-": "a number"}


def _fault_around(index: int, text: str, shape: JsonShape | None) -> Fault | None:
    """Fault of a record that shows what lies around arrays below a path; ``None`` for other records."""
    if shape is JsonShape.NOWHERE:
        return Fault(index, RECORD_PATH_NOT_FOUND, "no document of the file has an array at recordPath", True)
    if shape is not JsonShape.BELOW or text[:1] not in ("]", ":"):
        return None
    if text[0] == "]" or text[-1] == "[":
        damaged = "damage follows the array" if text[0] == "]" else "damage precedes the array"
        return Fault(index, BAD_JSON, f"the record is no JSON value: {damaged}", True)
    kind = "a number" if text[-1] in _DIGITS else _KINDS.get(text[-1], "no value")
    return Fault(index, NOT_AN_ARRAY, f"at recordPath is {kind}, not an array", True)


@dataclass(frozen=True)
class JsonDecoder:
    """Decodes records that are JSON objects.

    Args:
        encoding: Of the file.
        fields: Columns to deliver, in order.
        dialect: Leniencies.
        rules: How times, and decimals in strings, are written.
        own_rules: The same for columns that have a pattern of their own, by name.
        rescue: Where given, values and members that do not fit are kept, and are no faults.
        shape: Of the file, where records are values.
        variants: Which values are variants.
        is_whole: Whether a record, whatever value it is, is the value of each column.
    """

    encoding: Encoding
    fields: tuple[pa.Field, ...]
    dialect: JsonDialect = field(default_factory=JsonDialect)
    rules: Rules = field(default_factory=Rules)
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    rescue: Rescue | None = None
    shape: JsonShape | None = None
    variants: VariantRules = field(default_factory=VariantRules)
    is_whole: bool = False

    @property
    def rescues(self) -> bool:
        """True if there is a column of what does not fit."""
        return self.rescue is not None and self.rescue.wanted

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a value that does not convert is null and reported, a record that is no object too."""
        texts = (self.encoding.text(record) for record in records_of(data, frames))
        read = [self.read(index, text, self.fields) for index, text in enumerate(texts)]
        kinds = [*(f.type for f in self.fields), *([pa.string()] if self.rescues else [])]
        columns = [pa.array([row[i] for row, _ in read], kind) for i, kind in enumerate(kinds)]
        faults = Faults(fault for _, fault in read if fault is not None)
        count = len(self.fields)
        return Decoded(columns[:count], len(read), faults, columns[count] if self.rescues else None)

    def read(self, index: int, text: str, fields: Sequence[pa.Field]) -> tuple[list[Any], Fault | None]:
        """The values of one record, after them what is rescued if that is wanted; and what is wrong with it."""
        nothing: list[Any] = [None] * (len(fields) + self.rescues)
        if (around := _fault_around(index, text, self.shape)) is not None:
            return nothing, around
        try:
            record = parse_json(text, self.dialect)
        except NotJsonError as error:
            return nothing, Fault(index, BAD_JSON, f"the record is no JSON value: {error}", True)
        if self.is_whole:
            return self._whole(index, text, record, fields)
        if record.kind is not JsonKind.OBJECT:
            return nothing, Fault(index, NOT_AN_OBJECT, f"the record is {record.kind.value}, not an object", True)
        row: list[Any] = []
        problems: list[str] = []
        for rules, some in self._by_rules(fields):
            reader = self._reader(text, rules)
            row += reader.struct_fields(record.value, some)
            problems += reader.problems
        if self.rescue is None:
            return row, Fault(index, BAD_VALUE, problems[0], False) if problems else None
        return [*row, self._unfit(text, record, fields, self.rescue)] if self.rescues else row, None

    def _whole(
        self, index: int, text: str, record: JsonValue, fields: Sequence[pa.Field]
    ) -> tuple[list[Any], Fault | None]:
        reader = self._reader(text, self.rules)
        row = reader.struct_fields([(column.name, record) for column in fields], list(fields))
        rescued = [None] if self.rescues else []
        return [*row, *rescued], Fault(index, BAD_VALUE, reader.problems[0], False) if reader.problems else None

    def _by_rules(self, fields: Sequence[pa.Field]) -> list[tuple[Rules, list[pa.Field]]]:
        """Columns side by side that are read by the same rules."""
        if not self.own_rules:
            return [(self.rules, list(fields))]
        return [(self.own_rules.get(column.name, self.rules), [column]) for column in fields]

    def _reader(self, text: str, rules: Rules) -> JsonValueReader:
        return JsonValueReader(text, rules, self.dialect.allow_non_numeric_numbers, self.variants)

    def _unfit(self, text: str, record: JsonValue, fields: Sequence[pa.Field], rescue: Rescue) -> str | None:
        readers = {column.name: self._reader(text, self.own_rules.get(column.name, self.rules)) for column in fields}
        members = unfit_members(record.value, {column.name: column.type for column in fields}, readers)
        return with_path(members, rescue.path)
