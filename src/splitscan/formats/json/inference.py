"""Members of JSON records and the types of their values, as a summary that merges in any order."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from functools import partial, reduce
from operator import or_
from typing import Any

import pyarrow as pa

from splitscan.engine import kernel
from splitscan.errors import SchemaError, Where
from splitscan.formats.contract import FoundSchema, Head, Heads, evidence_of
from splitscan.formats.decoding.contract import framed_in_utf8
from splitscan.formats.decoding.types import MOST_LEVELS
from splitscan.formats.framing.contract import TextFormat
from splitscan.formats.framing.encodings import Encoding, resolve_encoding
from splitscan.formats.framing.frames import Frames, records_in_utf8
from splitscan.formats.json.options import JsonOptions
from splitscan.formats.json.text import JsonDialect, JsonKind, JsonValue, NotJsonError, parse_json
from splitscan.formats.merge import MOST_DIGITS, NO_VALUE, MergedSchema, join, merge_schemas
from splitscan.options import Mode, ReadOptions

MOST_MEMBERS = 100_000
"""Of records, at all levels together: names beyond that are data, not columns."""

_DIGITS = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?")


def infer_columns(json: JsonOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
    """The members of all records, or of those of a sample, in the order in which they are first seen.

    Numbers become ``bigint``, ``double`` or, beyond 64 bits, decimals; objects become structs and arrays arrays, with
    the union of what their values hold. Where values disagree, the column is a string.

    Raises:
        SchemaError: If two members differ in case only.
        SourceError: If a file cannot be read.
    """
    samples = [(file, reduce(or_, parts, Members())) for file, parts in heads.parts(partial(_members_in, json))]
    merged = merge_schemas(evidence_of([(file, sample.schema) for file, sample in samples]), match_case=True)
    _check_names(merged)
    schema = _without_unseen(pa.schema([(column.name, column.kind) for column in merged.columns]), json)
    corrupt = options.reading.column_name_of_corrupt_record
    has_other = any(sample.has_other for _, sample in samples)
    if has_other and len(schema) and options.reading.mode is Mode.PERMISSIVE:
        schema = pa.schema([*(field for field in schema if field.name != corrupt), pa.field(corrupt, pa.string())])
    return FoundSchema(schema, merged, len(heads.chosen), sum(sample.records for _, sample in samples))


def _check_names(merged: MergedSchema) -> None:
    spelling: dict[str, str] = {}
    for column in merged.columns:
        other = spelling.setdefault(column.name.lower(), column.name)
        if other != column.name:
            raise SchemaError(
                "records have fields that differ in case only",
                Where(column.sightings[0].path),
                seen=f"{other!r} and {column.name!r}",
                fix="pass a schema that names the one to read",
                code="bad-schema",
            )


@dataclass(frozen=True, slots=True)
class Members:
    """The members of records, and the narrowest types that hold their values. ``a | b`` holds for the records of both.

    Only the order of members depends on which of them comes first.

    Attributes:
        kind: The struct of the members, in the order in which they are first seen; ``null`` without any value.
        has_other: Whether some record is no object.
        records: How many records there are.

    Example:
        >>> one, two = (Members.of(JsonOptions(), record) for record in (b'{"a": 1}', b'{"b": [], "a": 0.5}'))
        >>> str((one | two).kind)
        'struct<a: double, b: list<item: null>>'
    """

    kind: pa.DataType = field(default_factory=lambda: pa.struct([]))
    has_other: bool = False
    records: int = 0

    def __or__(self, other: Members) -> Members:
        joined = join(self.kind, other.kind)
        return Members(joined, self.has_other or other.has_other, self.records + other.records)

    @classmethod
    def of(cls, json: JsonOptions, record: bytes) -> Members:
        """Those of one record in UTF-8, by the reference engine."""
        try:
            value = parse_json(record.decode("utf-8", "replace"), JsonDialect.of(json))
        except NotJsonError:
            return cls(has_other=True, records=1)
        if value.kind is not JsonKind.OBJECT:
            return cls(has_other=True, records=1)
        return cls(_type_of(value, json, 0), records=1)

    @property
    def schema(self) -> pa.Schema:
        """The members as columns."""
        return pa.schema([self.kind.field(index) for index in range(self.kind.num_fields)])


def members_of_record(json: JsonOptions, record: bytes) -> pa.DataType:
    """The members of a record in UTF-8, without those that would be no columns."""
    members = Members.of(json, record).schema
    return pa.struct([member for member in members if _settled(member.type, json) is not None])


def _members_in(json: JsonOptions, part: Head) -> Members:
    """The members of all records of a part of a file.

    Raises:
        SchemaError: ``[bad-schema]`` if there are too many of them.
    """
    format, found = part.preamble.format, Members()
    encoding = format.encoding if isinstance(format, TextFormat) else resolve_encoding("UTF-8")
    summary = KernelSummary.of(json)
    for data, frames in part.frames():
        if summary is None:
            found |= members_of_frames(json, data, frames, encoding)
        else:
            summary.take(data, frames, encoding)
    found = found if summary is None else summary.members
    if _count(found.kind) > MOST_MEMBERS or (summary is not None and summary.is_full):
        raise SchemaError(
            f"records have more than {MOST_MEMBERS:,} different members",
            Where(part.file.path),
            seen=", ".join(repr(name) for name in found.schema.names[:3]) + " and so on",
            fix="give a schema; where the names are data, make their column a map: schema='counts map<string, long>'",
            code="bad-schema",
        )
    return found


def members_of_frames(json: JsonOptions, data: memoryview, frames: Frames, encoding: Encoding) -> Members:
    """The members of records that were found before, by the reference engine."""
    return reduce(or_, (Members.of(json, record) for record in records_in_utf8(data, frames, encoding)), Members())


class KernelSummary:
    """Finds the members of records by the kernel.

    A record that only the reference engine can read counts as if it came last: the order of members is all that
    depends on it.

    Thread safety: none.
    """

    def __init__(self, json: JsonOptions, summary: Any) -> None:
        self._json, self._summary = json, summary
        self._others = Members()

    @classmethod
    def of(cls, json: JsonOptions) -> KernelSummary | None:
        """Of no records; ``None`` without a kernel."""
        module = kernel()
        if module is None:
            return None
        return cls(
            json,
            module.JsonSummary(
                **asdict(JsonDialect.of(json)),
                primitives_as_string=json.primitives_as_string,
                prefers_decimal=json.prefers_decimal,
            ),
        )

    def take(self, data: memoryview, frames: Frames, encoding: Encoding) -> None:
        """Take records that were found before."""
        undecided = self._summary.take(*framed_in_utf8(data, frames, encoding))
        known = Members(records=len(frames) - len(undecided))
        some = Frames(frames.starts[undecided], frames.stops[undecided], frames.next_start, {})
        self._others |= known | members_of_frames(self._json, data, some, encoding)

    @property
    def is_full(self) -> bool:
        """Whether there are more members than are kept."""
        return bool(self._summary.is_full)

    @property
    def members(self) -> Members:
        """Those of all records."""
        return Members(_kind(self._summary.members()), self._summary.has_others) | self._others


def _kind(found: Any) -> pa.DataType:
    """A type as the kernel tells it: its name, members, the items of an array, or precision and scale."""
    if isinstance(found, str):
        return pa.type_for_alias(found)
    if isinstance(found, list):
        return pa.struct([pa.field(name, _kind(kind)) for name, kind in found])
    return pa.decimal128(*found) if len(found) > 1 else pa.list_(_kind(found[0][0]))


def _count(kind: pa.DataType) -> int:
    """How many members there are, at all levels."""
    if pa.types.is_list(kind):
        return _count(kind.value_type)
    return sum(1 + _count(kind.field(i).type) for i in range(kind.num_fields)) if pa.types.is_struct(kind) else 0


def _without_unseen(schema: pa.Schema, json: JsonOptions) -> pa.Schema:
    """The schema without what was never seen: nulls become strings, or go; objects without members go."""
    columns = [_settled_field(column, json) for column in schema]
    return pa.schema([column for column in columns if column is not None])


def _type_of(value: JsonValue, json: JsonOptions, depth: int) -> pa.DataType:
    if value.kind is JsonKind.NULL:
        return NO_VALUE
    if value.kind in {JsonKind.OBJECT, JsonKind.ARRAY} and depth > MOST_LEVELS:
        return pa.string()
    if value.kind is JsonKind.OBJECT:
        types: dict[str, pa.DataType] = {}
        for name, inner in value.value:  # of a name that comes twice, all values
            types[name] = join(types.get(name, NO_VALUE), _type_of(inner, json, depth + 1))
        return pa.struct(list(types.items()))
    if value.kind is JsonKind.ARRAY:
        return pa.list_(reduce(join, (_type_of(item, json, depth + 1) for item in value.value), NO_VALUE))
    if json.primitives_as_string or value.kind is JsonKind.STRING:
        return pa.string()
    return pa.bool_() if value.kind is JsonKind.BOOLEAN else _number_type(value.value, json)


def _number_type(text: str, json: JsonOptions) -> pa.DataType:
    found = _DIGITS.fullmatch(text)
    if found is None:
        return pa.float64()
    whole, fraction = found.group(1).lstrip("0"), found.group(2)
    if fraction is None and len(text) <= MOST_DIGITS + 1:
        if -(1 << 63) <= int(text) < 1 << 63:
            return pa.int64()
        return pa.decimal128(len(whole), 0) if len(whole) <= MOST_DIGITS else pa.float64()
    digits = len(whole) + len(fraction or "")
    if json.prefers_decimal and fraction is not None and digits <= MOST_DIGITS:
        return pa.decimal128(max(digits, 1), len(fraction))
    return pa.float64()


def _settled_field(member: pa.Field, json: JsonOptions) -> pa.Field | None:
    kind = _settled(member.type, json)
    return None if kind is None else pa.field(member.name, kind)


def _settled(kind: pa.DataType, json: JsonOptions) -> pa.DataType | None:
    """The type without what was never seen: nulls become strings, objects without fields go."""
    if pa.types.is_null(kind):
        return None if json.drop_field_if_all_null else pa.string()
    if pa.types.is_struct(kind):
        fields = [f for f in (_settled_field(kind.field(i), json) for i in range(kind.num_fields)) if f is not None]
        return pa.struct(fields) if fields else None
    if pa.types.is_list(kind):
        inner = _settled(kind.value_type, json)
        return None if inner is None else pa.list_(inner)
    return kind
