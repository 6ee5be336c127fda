"""Which members of nested columns are delivered."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from splitscan.errors import SchemaError, UsageError, Where
from splitscan.formats.column_rules import COLUMNS, MAX_ELEMENTS
from splitscan.formats.decoding.contract import is_variant, type_name
from splitscan.reading.partitions import METADATA_TYPES, metadata_name

_NAME = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^.\[\]`]+)")
_INDEX = re.compile(r"\[\s*(?P<number>[0-9]+)\s*\]")
_MOST_DIGITS = 9  # of an index: more is no index of anything


class Member(NamedTuple):
    """A column, or a member of a struct.

    Attributes:
        quoted: Whether it was quoted: then it is no part of a longer name.
    """

    name: str
    quoted: bool


class Index(NamedTuple):
    """An element of an array, from 0."""

    number: int


class Every(NamedTuple):
    """All members: what ``*`` stands for after a dot."""


Step: TypeAlias = Member | Index | Every


@dataclass(frozen=True)
class ColumnPath:
    """A path from a column to what is wanted of it.

    Attributes:
        steps: The column's name, then members and indexes; empty for ``*``, which stands for all columns.
    """

    text: str
    steps: tuple[Step, ...]

    @property
    def root(self) -> str:
        """The first name; empty for ``*``."""
        first = self.steps[0] if self.steps else None
        return first.name if isinstance(first, Member) else ""


def parse_path(text: str) -> ColumnPath:
    """Parse one path.

    Args:
        text: Names divided by dots, each in backquotes if it holds dots, brackets or backquotes (written twice);
            ``[n]`` after a name is an element of an array.

    Raises:
        UsageError: ``[bad-column-path]`` if it is no path; the message says where.

    Example:
        >>> parse_path("m.`x.y`[2]").steps
        (Member(name='m', quoted=False), Member(name='x.y', quoted=True), Index(number=2))
    """
    if text.strip() == "*":
        return ColumnPath(text, ())
    steps: list[Step] = []
    position = 0
    while True:
        step, position = _step(text, position, first=not steps)
        steps.append(step)
        while not isinstance(step, Every) and text[position : position + 1] == "[":
            index = _INDEX.match(text, position)
            if index is None:
                raise _bad_path(text, position, "an index is a whole number, as in columns[3]")
            steps.append(Index(int(index["number"][:_MOST_DIGITS])))
            position = index.end()
        if position == len(text):
            return ColumnPath(text, tuple(steps))
        if text[position] != "." or isinstance(step, Every):
            raise _bad_path(text, position, "after a name comes a dot, an index, or the end")
        position += 1


def _step(text: str, position: int, *, first: bool) -> tuple[Step, int]:
    match = _NAME.match(text, position)
    if match is None:
        raise _bad_path(text, position, "a name is missing")
    if match["quoted"] is not None:
        return Member(match["quoted"].replace("``", "`"), quoted=True), match.end()
    name = match["plain"].strip()
    if name == "*" and not first:
        return Every(), match.end()
    if not name:
        raise _bad_path(text, position, "a name is missing")
    return Member(name, quoted=False), match.end()


def _bad_path(text: str, position: int, rule: str) -> UsageError:
    return UsageError(
        "a column is written as a name, with members after dots and indexes in brackets",
        seen=f"{text!r}: at character {position}, {rule}",
        fix="write it like b, m.x, columns[3]; put a name with a dot or bracket in it in backquotes, like `a.b`",
        code="bad-column-path",
    )


_LOG = logging.getLogger("splitscan")
_SHOWN_NAMES = 40

Wanted: TypeAlias = "Mapping[str, Wanted] | None"
"""What is wanted of a column: some members, or everything (``None``)."""


def prune_type(kind: pa.DataType, wanted: Wanted) -> pa.DataType:
    """A type with the wanted members only, in their own order; through arrays too.

    Args:
        kind: A struct, or an array of structs, where members are wanted.
        wanted: Members by their exact names.

    Example:
        >>> str(prune_type(pa.list_(pa.struct({"x": pa.int32(), "y": pa.string()})), {"y": None}))
        'list<item: struct<y: string>>'
    """
    if wanted is None:
        return kind
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(prune_type(kind.value_type, wanted)))
    fields = [kind.field(index) for index in range(kind.num_fields)]
    return pa.struct([f.with_type(prune_type(f.type, wanted[f.name])) for f in fields if f.name in wanted])


@dataclass(frozen=True)
class OutputColumns:
    """Columns of the delivered rows.

    Attributes:
        narrowed: The columns of which only some members are delivered, in the type that is left.
    """

    columns: tuple[str, ...]
    narrowed: pa.Schema
    elements: tuple[int, ...] | None = None


def project(paths: Sequence[str], known: pa.Schema, every: Sequence[str], *, is_array: bool = False) -> OutputColumns:
    """Resolve paths, each matched exactly or else without regard to case.

    A column whose name is the whole text of a path, dots and all, comes before members. A column of the records comes
    before a metadata column of the same name. What is named twice is delivered once, where it was first; ``m`` beside
    ``m.x`` is all of ``m``. With ``*``, columns that it stands for are where it stands.

    Args:
        known: Columns of the records, of their directories, and of broken records.

    Raises:
        UsageError: If a path is none.
        SchemaError: ``[unknown-column]`` if there is no such column or member, ``[projection-conflict]`` if a path
            takes a column for a struct or an array, and it is none, ``[columns-array]`` if a rule of that array is
            broken.
    """
    return _Resolver(known, every, is_array).resolve(paths)


class _Names:
    """Names that are found exactly, or else without regard to case."""

    def __init__(self, names: Sequence[str]) -> None:
        self._exact = frozenset(names)
        self._by_lower = {name.lower(): name for name in reversed(names)}

    def find(self, text: str) -> str | None:
        return text if text in self._exact else self._by_lower.get(text.lower())

    def longest(self, steps: Sequence[Step]) -> tuple[str, Sequence[Step]] | None:
        """The longest run of first steps whose names, joined by dots, are one name; and the steps after it."""
        for count, text in reversed(list(_prefixes(steps))):
            name = self.find(text)
            if name is not None:
                return name, steps[count:]
        return None


class _Resolver:
    """One projection on its way."""

    def __init__(self, known: pa.Schema, every: Sequence[str], is_array: bool) -> None:
        self._known = known
        self._names = _Names(known.names)
        self._every = dict.fromkeys(every)
        self._is_array = is_array
        self._wanted: dict[str, Wanted] = {}  # by delivered name, in order
        self._elements: set[int] | None = set()

    def resolve(self, paths: Sequence[str]) -> OutputColumns:
        parsed = [self._read(text) for text in paths]
        has_star = any(isinstance(path, ColumnPath) and not path.steps for path in parsed)
        for path in parsed:
            if isinstance(path, str):
                self._want_whole(path, has_star)
            elif not path.steps:
                for name in self._every:
                    self._add(name, None)
                    self._elements = None
            else:
                self._want(path, has_star)
        types = {name: prune_type(self._known.field(name).type, w) for name, w in self._wanted.items() if w is not None}
        narrowed = pa.schema([self._known.field(name).with_type(kind) for name, kind in types.items()])
        indexes = None if self._elements is None or not self._is_array else tuple(sorted(self._elements))
        return OutputColumns(tuple(self._wanted), narrowed, indexes)

    def _read(self, text: str) -> ColumnPath | str:
        """A path; or a column whose name is exactly the text."""
        if text != "*":
            name = self._names.find(text)
            if name is not None:
                return name
        return parse_path(text)

    def _want_whole(self, name: str, has_star: bool) -> None:
        if metadata_name(name) is not None:
            _LOG.warning("column %r is the records' own, and hides what splitscan knows of the file", name)
        self._elements = None
        if not (has_star and name in self._every):
            self._add(name, None)

    def _want(self, path: ColumnPath, has_star: bool) -> None:
        found = self._names.longest(path.steps)
        if found is None:
            name = self._metadata(path)
            if not (has_star and name in self._every):
                self._add(name, None)
            return
        name, rest = found
        if self._is_array and name.lower() == COLUMNS and rest:
            self._want_elements(path, rest)
        elif not rest:
            self._want_whole(name, has_star)
            return
        if not (has_star and name in self._every):
            self._add(name, _members(path, rest, self._known.field(name)))

    def _add(self, name: str, wanted: Wanted) -> None:
        self._wanted[name] = _merged(self._wanted[name], wanted) if name in self._wanted else wanted

    def _want_elements(self, path: ColumnPath, rest: Sequence[Step]) -> None:
        step = rest[0]
        if isinstance(step, Index) and step.number >= MAX_ELEMENTS:
            raise SchemaError(
                f"the array of all fields has at most {MAX_ELEMENTS} elements",
                Where(column=path.root),
                seen=f"index {step.number} in {path.text!r}",
                fix=f"name an index from 0 to {MAX_ELEMENTS - 1}",
                code="columns-array",
            )
        if isinstance(step, Index) and self._elements is not None:
            self._elements.add(step.number)

    def _metadata(self, path: ColumnPath) -> str:
        """A path that names no column of the records: one that says where they come from, or nothing."""
        name = metadata_name(path.root) if len(path.steps) == 1 else None
        if name is not None:
            return name
        raise self._unknown(path)

    def _unknown(self, path: ColumnPath) -> SchemaError:
        if self._is_array:
            return SchemaError(
                "the fields of a record are one array, and no column of a record has a name of its own",
                Where(column=path.root),
                seen=f"{path.text!r} beside {COLUMNS}",
                fix=f"select {COLUMNS}[0], {COLUMNS}[1] ... and columns of the file only; or leave {COLUMNS} out "
                "for columns _c0, _c1 ...",
                code="columns-array",
            )
        if path.root.lower() == COLUMNS:
            return SchemaError(
                "only CSV without header has its fields as one array",
                Where(column=path.root),
                seen=f"{path.text!r}, where the columns are: {_listed(self._known.names)}",
                fix="select columns by their names; or leave out header and schema, and set columnsArray=true",
                code="columns-array",
            )
        known = [*self._known.names, *METADATA_TYPES]
        return _unknown_column(path.text, _spelled(path.steps), known)


def _members(path: ColumnPath, steps: Sequence[Step], field: pa.Field) -> Wanted:
    """Members that the steps after a column select, checked against its type."""
    kind = field.type
    if not steps:
        return None
    step = steps[0]
    if isinstance(step, Index):
        if not pa.types.is_list(kind):
            raise _conflict(path, field, "an array")
        return _members(path, steps[1:], kind.value_field.with_name(field.name))
    if pa.types.is_map(kind):
        return None
    if pa.types.is_list(kind):
        return _members(path, steps, kind.value_field.with_name(field.name))
    if not pa.types.is_struct(kind) or is_variant(kind):
        raise _conflict(path, field, "a struct")
    if isinstance(step, Every):
        return None
    names = [kind.field(index).name for index in range(kind.num_fields)]
    found = _Names(names).longest(steps)
    if found is None:
        raise _unknown_column(path.text, _spelled(steps), names)
    name, rest = found
    return {name: _members(path, rest, kind.field(kind.get_field_index(name)))}


def _merged(one: Wanted, other: Wanted) -> Wanted:
    if one is None or other is None:
        return None
    both = dict(one)
    for name, wanted in other.items():
        both[name] = _merged(both[name], wanted) if name in both else wanted
    return both


def _prefixes(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    parts: list[str] = []
    for count, step in enumerate(steps, start=1):
        if not isinstance(step, Member) or (step.quoted and count > 1):
            return
        parts.append(step.name)
        yield count, ".".join(parts)
        if step.quoted:
            return


def _spelled(steps: Sequence[Step]) -> str:
    first = steps[0]
    return first.name if isinstance(first, Member) else ""


def _unknown_column(text: str, wrong: str, known: Sequence[str]) -> SchemaError:
    by_lower: Mapping[str, str] = {name.lower(): name for name in reversed(known)}
    close = difflib.get_close_matches(wrong.lower(), by_lower, n=1)
    hint = f"did you mean {by_lower[close[0]]}? " if close else ""
    return SchemaError(
        f"column {text!r} does not exist",
        seen=f"no {wrong!r}",
        fix=f"{hint}choose from: {_listed(known)}",
        code="unknown-column",
    )


def _listed(names: Sequence[str]) -> str:
    more = f" ... ({len(names)} columns)" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + more


def _conflict(path: ColumnPath, field: pa.Field, what: str) -> SchemaError:
    return SchemaError(
        f"the projection takes {field.name!r} for {what}, and it is none",
        Where(column=path.root),
        seen=f"projected {path.text}; column {field.name} {type_name(field.type)}",
        fix="select the column by its name alone, or correct the schema",
        code="projection-conflict",
    )
