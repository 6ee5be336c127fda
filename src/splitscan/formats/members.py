"""The columns of records that name their members: a summary of all records that merges in any order."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import or_
from typing import Any, Protocol

import pyarrow as pa

from splitscan.engine import DOCUMENT_VERSION
from splitscan.errors import SchemaError, Where
from splitscan.formats.contract import FoundSchema, Head, Heads, Summaries
from splitscan.formats.decoding.contract import MOMENT, format_ddl
from splitscan.formats.framing.contract import encoding_of
from splitscan.formats.framing.encodings import UTF_8, Encoding
from splitscan.formats.framing.frames import Frames, as_bytes, native, plain_charset, records_in_utf8
from splitscan.formats.merge import ELEMENT, join, join_all, merge_schemas, read_as_text, settled, struct_types
from splitscan.options import Mode, ReadOptions

MOST_MEMBERS = 10_000
"""Of records, at all levels together, as BigQuery allows columns: names beyond that are data, not columns."""

_JOINED_RECORDS = 1000  # whose types are joined at once, so that no type is made again with every record


@dataclass(frozen=True, slots=True)
class Members:
    """The members of records, and the narrowest types that hold their values. ``a | b`` holds for the records of both.

    Only the order of members depends on which of them comes first.

    Attributes:
        kind: The struct of the members, in the order in which they are first seen; ``null`` without any value.
        has_other: Whether some record has no members: it is broken, or a value of another kind.
        records: How many records there are.
        text: See :func:`splitscan.formats.merge.join`.
        repeated: The first name that an object has twice; only the last of its values is read.

    Example:
        >>> one, two = (Members(pa.struct({name: pa.int64()}), records=1) for name in "ab")
        >>> str((one | two).kind), (one | two).records
        ('struct<a: int64, b: int64>', 2)
    """

    kind: pa.DataType = field(default_factory=lambda: pa.struct([]))
    has_other: bool = False
    records: int = 0
    text: str | None = None
    repeated: str | None = None

    def __or__(self, other: Members) -> Members:
        text = self.text or other.text
        joined = join(self.kind, other.kind, text)
        repeated = other.repeated if self.repeated is None else self.repeated
        return Members(joined, self.has_other or other.has_other, self.records + other.records, text, repeated)

    @property
    def schema(self) -> pa.Schema:
        """The members as columns."""
        return pa.schema([self.kind.field(index) for index in range(self.kind.num_fields)])

    def plain(self) -> list[Any]:
        """Evidence as JSON values."""
        return [_plain_members(self.kind), self.has_other, self.records, self.text, self.repeated]

    @classmethod
    def of_plain(cls, plain: list[Any]) -> Members:
        """The inverse of :meth:`plain`."""
        members, *rest = plain
        return cls(_struct(members), *rest)


class MemberRules(Protocol):
    """How a format finds the members of its records."""

    @property
    def text(self) -> str | None:
        """See :func:`splitscan.formats.merge.join`."""

    @property
    def instead_of_columns(self) -> str:
        """The advice for records whose own names are data."""

    def kind_of(self, record: bytes, repeated: list[str] | None = None) -> pa.DataType | None:
        """The struct of what a record in UTF-8 holds, by the reference engine; ``None`` if it has no members.

        Names that an object has twice are added to *repeated*.
        """

    @property
    def spelled(self) -> dict[str, Any]:
        """The format, and how its types are found, as the kernel is told them: JSON values."""

    def settled(self, kind: pa.DataType) -> pa.DataType | None:
        """The type of a column without what was never seen; ``None`` for no column."""


def infer_members(rules: MemberRules, options: ReadOptions, heads: Heads, *, refuses_case: bool) -> FoundSchema:
    """The members of all records, or of those of a sample, in the order in which they are first seen.

    Args:
        rules: Of the format.
        options: What the user said.
        heads: The files.
        refuses_case: Whether two members that differ in case only are an error.

    Raises:
        SchemaError: If there are too many members, or two that differ in case only.
        SourceError: If a file cannot be read.
    """
    kept = Summaries("members", or_, Members.plain, Members.of_plain)
    samples = heads.parts(partial(_members_in, rules), kept)
    schemas = [(file, sample.schema) for file, sample in samples]
    whole = join_all([sample.kind for _, sample in samples], rules.text)
    if rules.text is not None:  # one value in this file may be several in others
        types = struct_types(whole)
        schemas = [(file, pa.schema([_as_in(types, each) for each in schema])) for file, schema in schemas]
    merged = merge_schemas(((file.path, schema) for file, schema in schemas), match_case=True)
    whole_kind = pa.struct(merged.schema)
    if _count(whole_kind) > MOST_MEMBERS:
        raise _too_many(whole_kind, rules, samples[0][0].path)
    if refuses_case:
        _check_case([(column.name, column.sightings[0].path) for column in merged.columns])
    schema = settled_schema(pa.schema([(column.name, column.kind) for column in merged.columns]), rules.settled)
    corrupt = options.reading.column_name_of_corrupt_record
    has_other = any(sample.has_other for _, sample in samples)
    if has_other and len(schema) and options.reading.mode is Mode.PERMISSIVE:
        schema = pa.schema([*(field for field in schema if field.name != corrupt), pa.field(corrupt, pa.string())])
    records = sum(sample.records for _, sample in samples)
    texts = tuple(read_as_text(whole))
    repeated = next((sample.repeated for _, sample in samples if sample.repeated is not None), None)
    return FoundSchema(schema, merged, len(heads.chosen), records, texts=texts, repeated=repeated)


def settled_schema(schema: pa.Schema, settle: Callable[[pa.DataType], pa.DataType | None]) -> pa.Schema:
    """The columns in the types that *settle* makes of theirs."""
    kinds = [(column.name, settle(column.type)) for column in schema]
    return pa.schema([(name, kind) for name, kind in kinds if kind is not None])


def _as_in(whole: dict[str, pa.DataType], column: pa.Field) -> pa.Field:
    kind = whole[column.name]
    return column.with_type(kind) if pa.types.is_nested(kind) else column


def _check_case(columns: list[tuple[str, str]]) -> None:
    spelling: dict[str, str] = {}
    for name, path in columns:
        other = spelling.setdefault(name.lower(), name)
        if other != name:
            raise SchemaError(
                "records have fields that differ in case only",
                Where(path),
                seen=f"{other!r} and {name!r}",
                fix="pass a schema that names the one to read",
                code="bad-schema",
            )


def _members_in(rules: MemberRules, part: Head) -> Members:
    """The members of all records of a part of a file.

    Raises:
        SchemaError: ``[bad-schema]`` if there are too many of them.
    """
    format = part.preamble.format
    summary = MemberSummary(rules, encoding_of(format, UTF_8))
    for data, frames in part.frames():
        summary.take(data, frames)
        if summary.is_full:
            raise _too_many(summary.members.kind, rules, part.file.path)
    return summary.members


def _too_many(kind: pa.DataType, rules: MemberRules, path: str) -> SchemaError:
    """The error for names that are data, with what to do about those of the widest struct."""
    column = _widest(kind)
    inside = _at(kind, column)
    fix = rules.instead_of_columns
    if column:
        schema = format_ddl(pa.schema([_as_map(kind.field(column[0]), column[1:])]))
        fix = f"give a schema of the columns to read; where the names are data, with a map: schema={schema!r}"
    return SchemaError(
        f"records have more than {MOST_MEMBERS:,} different members",
        Where(path),
        seen=", ".join(repr(name) for name in list(struct_types(inside))[:3])
        + f" and so on{' in ' + '.'.join(column) if column else ''}",
        fix=fix,
        code="bad-schema",
    )


def _widest(kind: pa.DataType) -> tuple[str, ...]:
    """The path to the struct with the most members; ``element`` stands for what is in an array."""
    widest: tuple[str, ...] = ()
    pending, most = [(widest, kind)], kind.num_fields
    while pending:
        path, here = pending.pop()
        if pa.types.is_list(here):
            pending.append(((*path, ELEMENT), here.value_type))
        elif pa.types.is_struct(here):
            if here.num_fields > most:
                widest, most = path, here.num_fields
            pending.extend(((*path, name), inner) for name, inner in struct_types(here).items())
    return widest


def _at(kind: pa.DataType, path: tuple[str, ...]) -> pa.DataType:
    for name in path:
        kind = kind.value_type if pa.types.is_list(kind) else kind.field(name).type
    return kind


def _as_map(column: pa.Field, path: tuple[str, ...]) -> pa.Field:
    """The column with nothing but the member at the path, as a map."""
    kind = column.type
    if not path:
        return column.with_type(pa.map_(pa.string(), settled(join_all(list(struct_types(kind).values())))))
    if pa.types.is_list(kind):
        return column.with_type(pa.list_(_as_map(kind.value_field, path[1:])))
    return column.with_type(pa.struct([_as_map(kind.field(path[0]), path[1:])]))


def inference_document(format: dict[str, Any], encoding: Encoding = UTF_8) -> str:
    """How columns are found, as the kernel is told it.

    Args:
        format: The format, and how its types are found, as JSON values.
        encoding: Of the file.
    """
    charset = None if encoding == UTF_8 else plain_charset(encoding, (), is_known=False)
    return json.dumps({"version": DOCUMENT_VERSION, "format": format, "charset": charset})


class MemberSummary:
    """Finds the members of records.

    A record that only the reference engine can read counts as if it came last: the order of members is all that
    depends on it.

    Args:
        rules: Of the format.
        encoding: Of the file.

    Thread safety: none.
    """

    def __init__(self, rules: MemberRules, encoding: Encoding = UTF_8) -> None:
        self._rules, self._encoding = rules, encoding
        self._native = native("MemberSummary", inference_document(rules.spelled, encoding))
        self._records, self._has_other, self._repeated = 0, False, list[str]()
        self._kinds: list[pa.DataType] = [pa.struct([])]  # that Python read, still to be joined

    def take(self, data: memoryview, frames: Frames) -> None:
        """Take records that were found before."""
        some = frames
        self._records += len(frames)
        if self._native is not None:
            whole, offset, _ = as_bytes(data)
            undecided = self._native.take(whole, (frames.starts + offset).tobytes(), (frames.stops + offset).tobytes())
            some = Frames(frames.starts[undecided], frames.stops[undecided], frames.next_start, {})
        for record in records_in_utf8(data, some, self._encoding):
            kind = self._rules.kind_of(record, self._repeated)
            if kind is None:
                self._has_other = True
            else:
                self._kinds.append(kind)
            if len(self._kinds) > _JOINED_RECORDS:
                self._join()
        del self._repeated[1:]

    def _join(self) -> None:
        self._kinds = [join_all(self._kinds, self._rules.text)]

    @property
    def is_full(self) -> bool:
        """True if there are more members than are kept."""
        if self._native is not None and self._native.is_full:
            return True
        return _count(self._kinds[0]) > MOST_MEMBERS

    @property
    def members(self) -> Members:
        """Those of all records."""
        self._join()
        text, others, repeated = self._rules.text, self._kinds[0], next(iter(self._repeated), None)
        if self._native is None:
            return Members(others, self._has_other, self._records, text, repeated)
        kind = join(_struct(json.loads(self._native.members())), others, text)
        repeated = repeated if self._native.repeated is None else self._native.repeated
        return Members(kind, self._has_other or self._native.has_others, self._records, text, repeated)


def _struct(members: list[Any]) -> pa.DataType:
    return pa.struct([pa.field(name, _kind(kind)) for name, kind in members])


def _kind(plain: Any) -> pa.DataType:
    if isinstance(plain, str):
        return MOMENT if plain == "timestamp" else pa.type_for_alias(plain)
    if "members" in plain:
        return _struct(plain["members"])
    if "items" in plain:
        return pa.list_(_kind(plain["items"]))
    return pa.decimal256(*plain["wide"]) if "wide" in plain else pa.decimal128(*plain["decimal"])


def _plain_members(kind: pa.DataType) -> list[Any]:
    return [[name, _plain(inner)] for name, inner in struct_types(kind).items()]


def _plain(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        return {"members": _plain_members(kind)}
    if pa.types.is_list(kind):
        return {"items": _plain(kind.value_type)}
    if pa.types.is_decimal(kind):
        return {"wide" if pa.types.is_decimal256(kind) else "decimal": [kind.precision, kind.scale]}
    return "timestamp" if kind == MOMENT else str(kind).removesuffix("[day]")


def _count(kind: pa.DataType) -> int:
    """How many members there are, at all levels."""
    if pa.types.is_list(kind):
        return _count(kind.value_type)
    return sum(1 + _count(kind.field(i).type) for i in range(kind.num_fields)) if pa.types.is_struct(kind) else 0
