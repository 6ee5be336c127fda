"""Which type holds the values of two types, and one schema of many files: joins, so no order matters.

Below everything is ``null`` (no value seen), above everything is ``mixed``, which is read as a string::

    mixed
    ├── string
    ├── double          ── decimal(p,s) ── bigint ── int ── smallint ── tinyint
    │                   ── float
    ├── wide decimal    ── wide bigint ── bigint    (of whole numbers that no double holds)
    ├── timestamp       ── timestamp_ntz ── date
    ├── boolean
    ├── struct          member by member
    └── array           by its elements
                                                        └── null
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import pyarrow as pa

from splitscan.formats.decoding.contract import MOMENT, MOST_DIGITS

NO_VALUE = pa.null()
ANY_VALUE = pa.string()
ELEMENT = "element"
"""What stands in a path for the elements of an array."""

WIDE = pa.uint64()
"""While types are joined: a ``bigint`` of whose values some have more digits than every double holds.

A decimal of 256 bits stands for such a decimal.
"""
MIXED = pa.large_string()
"""While types are joined: values that no other type holds, so that each is read as its text."""

_WHOLE_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20, WIDE: 20}  # as Spark counts
_WHOLE = tuple(_WHOLE_DIGITS)  # narrow to wide
_FLOATS = frozenset({pa.float32(), pa.float64()})
_TIMES = (pa.date32(), pa.timestamp("us"), MOMENT)  # each holds the ones before it


def join(left: pa.DataType, right: pa.DataType, text: str | None = None) -> pa.DataType:
    """The narrowest type that holds the values of both; :data:`MIXED` where nothing else does.

    Commutative, associative and idempotent, but for the order of struct members: those of *left* come first.

    Args:
        left: A type.
        right: Another one.
        text: Where given, an array holds what is one value elsewhere, and a struct what has no members elsewhere: under
            this name.

    Example:
        >>> str(join(pa.int32(), pa.float64())), str(join(pa.bool_(), pa.int32()))
        ('double', 'large_string')
        >>> str(join(pa.int32(), pa.list_(pa.struct({"a": pa.bool_()})), "t"))
        'list<item: struct<t: int32, a: bool>>'
    """
    if left == right or pa.types.is_null(right) or pa.types.is_null(left):
        return left if pa.types.is_null(right) else right
    if text is not None:
        left, right = _as_nested(left, right, text), _as_nested(right, left, text)
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        return _join_structs(left, right, text)
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(join(left.value_type, right.value_type, text))
    if left in _TIMES and right in _TIMES:
        return max(left, right, key=_TIMES.index)
    return _join_numbers(left, right)


def holds(wide: pa.DataType, narrow: pa.DataType) -> bool:
    """True if a column of the one type holds the values of the other; a string holds the texts of all.

    Example:
        >>> holds(pa.float64(), pa.int32()), holds(pa.string(), pa.list_(pa.int32())), holds(pa.int32(), pa.string())
        (True, True, False)
    """
    return bool(spoken(join(wide, narrow)) == spoken(wide))


def join_all(kinds: Iterable[pa.DataType], text: str | None = None) -> pa.DataType:
    """The join of any number of types; ``null`` of none. Structs are joined at once: each member is looked at once."""
    known = [kind for kind in dict.fromkeys(kinds) if not pa.types.is_null(kind)]
    if len(known) < 2 or not all(map(pa.types.is_struct, known)):
        return reduce(partial(join, text=text), known, NO_VALUE)
    members: defaultdict[str, list[pa.DataType]] = defaultdict(list)
    for kind in known:
        for name, inner in struct_types(kind).items():
            members[name].append(inner)
    return pa.struct([(name, join_all(inner, text)) for name, inner in members.items()])


def disagreements(kinds: Sequence[pa.DataType], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Columns whose types have nothing in common but that they can be written as text.

    Args:
        kinds: Types of one column.
        path: The column; names of struct members are added after it, and ``element`` for what is in an array.

    Example:
        >>> disagreements([pa.struct([("x", pa.int32())]), pa.struct([("x", pa.bool_())])], ("m",))
        [('m', 'x')]
    """
    known = [kind for kind in dict.fromkeys(kinds) if not pa.types.is_null(kind)]
    if len(known) < 2:
        return []
    if all(pa.types.is_struct(kind) for kind in known):
        names = dict.fromkeys(name for kind in known for name in struct_types(kind))
        members = {name: [struct_types(kind).get(name, NO_VALUE) for kind in known] for name in names}
        return [found for name, inner in members.items() for found in disagreements(inner, (*path, name))]
    if all(pa.types.is_list(kind) for kind in known):
        return disagreements([kind.value_type for kind in known], (*path, ELEMENT))
    return [path] if join_all(known) == MIXED else []


def read_as_text(kind: pa.DataType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Members whose values no type holds, so that each becomes its text: the path to each, and what it holds.

    Example:
        >>> list(read_as_text(pa.struct({"a": pa.list_(MIXED), "b": pa.struct([]), "c": pa.string()})))
        [(('a', 'element'), 'values of several kinds'), (('b',), 'objects without members')]
    """
    if pa.types.is_list(kind):
        yield from read_as_text(kind.value_type, (*path, ELEMENT))
    elif pa.types.is_struct(kind) and (kind.num_fields or not path):
        for name, inner in struct_types(kind).items():
            yield from read_as_text(inner, (*path, name))
    elif kind == MIXED:
        yield path, "values of several kinds"
    elif pa.types.is_struct(kind):
        yield path, "objects without members"


def struct_types(kind: pa.DataType) -> dict[str, pa.DataType]:
    """The members of a struct, by name."""
    return {kind.field(index).name: kind.field(index).type for index in range(kind.num_fields)}


def settled(kind: pa.DataType) -> pa.DataType:
    """The type of a column without what was never seen: what no value was seen of is a string, as are empty structs."""
    if pa.types.is_struct(kind) and kind.num_fields:
        return pa.struct([(each.name, settled(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(settled(kind.value_type))
    return ANY_VALUE if pa.types.is_null(kind) or pa.types.is_struct(kind) else spoken(kind)


def spoken(kind: pa.DataType) -> pa.DataType:
    """The type that users know, at any depth: without what :data:`WIDE` and :data:`MIXED` say of it."""
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, spoken(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(spoken(kind.value_type))
    if pa.types.is_decimal256(kind):
        return pa.decimal128(kind.precision, kind.scale)
    return pa.int64() if kind == WIDE else ANY_VALUE if kind == MIXED else kind


def has_more_members(found: pa.DataType, here: pa.DataType) -> bool:
    """True if structs in *found* have members for which *here* has no place, though nothing else need be at fault."""
    if pa.types.is_list(found) and pa.types.is_list(here):
        return has_more_members(found.value_type, here.value_type)
    if not (pa.types.is_struct(found) and pa.types.is_struct(here)):
        return False
    members = struct_types(here)
    return any(
        name not in members or has_more_members(kind, members[name]) for name, kind in struct_types(found).items()
    )


def has_arrays(found: pa.DataType, here: pa.DataType) -> bool:
    """True if there is an array in *found* where *here* has one value.

    Example:
        >>> one, several = pa.struct({"x": pa.int64()}), pa.list_(pa.int64())
        >>> has_arrays(pa.struct({"x": several}), one), has_arrays(pa.struct({"x": pa.int64(), "y": several}), one)
        (True, False)
    """
    if pa.types.is_list(found):
        return not pa.types.is_list(here) or has_arrays(found.value_type, here.value_type)
    if pa.types.is_list(here):
        return has_arrays(found, here.value_type)
    if not (pa.types.is_struct(found) and pa.types.is_struct(here)):
        return False
    members = struct_types(here)
    return any(name in members and has_arrays(kind, members[name]) for name, kind in struct_types(found).items())


def _as_nested(kind: pa.DataType, other: pa.DataType, text: str) -> pa.DataType:
    """The type of a value that may be an array, or have members, as *other* does."""
    if pa.types.is_list(other) and not pa.types.is_list(kind):
        return pa.list_(kind)
    return pa.struct({text: kind}) if pa.types.is_struct(other) and not pa.types.is_nested(kind) else kind


def _join_structs(left: pa.DataType, right: pa.DataType, text: str | None) -> pa.DataType:
    types = struct_types(left)
    for name, kind in struct_types(right).items():
        types[name] = join(types.get(name, NO_VALUE), kind, text)
    return pa.struct([pa.field(name, kind) for name, kind in types.items()])


def _join_numbers(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    kinds = (left, right)
    if not all(kind in _WHOLE_DIGITS or kind in _FLOATS or pa.types.is_decimal(kind) for kind in kinds):
        return MIXED
    if not _FLOATS.isdisjoint(kinds):
        return MIXED if any(map(_is_wide, kinds)) else pa.float64()
    if all(kind in _WHOLE_DIGITS for kind in kinds):
        return max(left, right, key=_WHOLE.index)
    sizes = [(k.precision - k.scale, k.scale) if pa.types.is_decimal(k) else (_WHOLE_DIGITS[k], 0) for k in kinds]
    whole, scale = max(size[0] for size in sizes), max(size[1] for size in sizes)
    if any(map(_is_wide, kinds)):
        return pa.decimal256(whole + scale, scale) if whole + scale <= MOST_DIGITS else MIXED
    return pa.decimal128(whole + scale, scale) if whole + scale <= MOST_DIGITS else pa.float64()


def _is_wide(kind: pa.DataType) -> bool:
    return bool(kind == WIDE or pa.types.is_decimal256(kind))


@dataclass(frozen=True, slots=True)
class Sighting:
    """A column as one file has it.

    Attributes:
        path: The file.
        position: Where the column stands in it, from 0.
        name: How the file spells it.
        kind: The type that its sampled values fit; ``null`` where it has none.
    """

    path: str
    position: int
    name: str
    kind: pa.DataType


@dataclass(frozen=True, slots=True)
class Conflict:
    """A column, or a part of one, whose types in different files have nothing in common.

    Attributes:
        column: The path to it: the column, then members.
        sightings: Of the column, one for each type, in the order of their paths.
    """

    column: tuple[str, ...]
    sightings: tuple[Sighting, ...]


@dataclass(frozen=True, slots=True)
class MergedColumn:
    """A column of all files.

    Attributes:
        name: As the first file that has it spells it.
        kind: The join of its types; ``null`` where no file has a value.
        sightings: Where it was seen, in the order of the files' paths.
    """

    name: str
    kind: pa.DataType
    sightings: tuple[Sighting, ...]


@dataclass(frozen=True, slots=True)
class MergedSchema:
    """Result of merging: columns in their order, and where files disagree."""

    columns: tuple[MergedColumn, ...]
    conflicts: tuple[Conflict, ...]

    @property
    def schema(self) -> pa.Schema:
        """The columns, all nullable; those without any value are strings."""
        return pa.schema([(c.name, ANY_VALUE if c.kind == NO_VALUE else c.kind) for c in self.columns])


def merge_schemas(schemas: Iterable[tuple[str, pa.Schema]], *, match_case: bool = False) -> MergedSchema:
    """Merge the schemas of files into one.

    Files count in the order of their paths, whatever order they were listed in. The columns of the first file come
    first, in its order and spelling; after them those that only later files have. A column's type is the join of its
    types (:func:`splitscan.formats.merge.join`); no column is lost.

    Args:
        schemas: Of each file its path, and its columns; the type of one without a value is ``null``.
        match_case: Whether names that differ in case only are different columns.

    Example:
        >>> one, two = pa.schema([("id", pa.int32())]), pa.schema([("n", pa.bool_()), ("ID", pa.float64())])
        >>> merge_schemas([("2.csv", two), ("1.csv", one)]).schema
        id: double
        n: bool
    """
    by_name: dict[str, list[Sighting]] = defaultdict(list)
    seen = {Sighting(path, i, field.name, field.type) for path, schema in schemas for i, field in enumerate(schema)}
    for sighting in sorted(seen, key=lambda s: (s.path, s.position, s.name, str(s.kind))):
        by_name[sighting.name if match_case else sighting.name.lower()].append(sighting)
    columns = [MergedColumn(s[0].name, join_all([each.kind for each in s]), tuple(s)) for s in by_name.values()]
    conflicts = tuple(conflict for column in columns for conflict in _conflicts(column))
    return MergedSchema(tuple(map(_spoken_column, columns)), conflicts)


def _spoken_column(column: MergedColumn) -> MergedColumn:
    return MergedColumn(column.name, spoken(column.kind), _spoken_sightings(column.sightings))


def _spoken_sightings(sightings: Sequence[Sighting]) -> tuple[Sighting, ...]:
    return tuple(replace(each, kind=spoken(each.kind)) for each in sightings)


def _conflicts(column: MergedColumn) -> list[Conflict]:
    first_of_kind = {sighting.kind: sighting for sighting in reversed(column.sightings)}
    first_of_kind.pop(NO_VALUE, None)
    sightings = sorted(first_of_kind.values(), key=lambda s: (s.path, s.position))
    said = _spoken_sightings(sightings)
    return [Conflict(path, said) for path in disagreements([s.kind for s in sightings], (column.name,))]
