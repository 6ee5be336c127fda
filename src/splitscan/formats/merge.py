"""One schema from what was seen in several files: a pure function, independent of the order of the files."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa

from splitscan.formats.lattice import ANY_VALUE, NO_VALUE, disagreements, join_all


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
class Evidence:
    """What was seen of columns, in any number of files. ``a | b`` is what both have seen: a union of sets."""

    sightings: frozenset[Sighting] = frozenset()

    @classmethod
    def of_file(cls, path: str, schema: pa.Schema) -> Evidence:
        """What one file shows."""
        return cls(frozenset(Sighting(path, index, field.name, field.type) for index, field in enumerate(schema)))

    def __or__(self, other: Evidence) -> Evidence:
        return Evidence(self.sightings | other.sightings)


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
    """What merging gives: columns in their order, and where files disagree."""

    columns: tuple[MergedColumn, ...]
    conflicts: tuple[Conflict, ...]

    @property
    def schema(self) -> pa.Schema:
        """The columns, all nullable; those without any value are strings."""
        return pa.schema([(c.name, ANY_VALUE if c.kind == NO_VALUE else c.kind) for c in self.columns])


def merge_schemas(evidence: Evidence, *, match_case: bool = False) -> MergedSchema:
    """Merge what was seen into one schema.

    Files count in the order of their paths, whatever order they were listed in. The columns of the first file come
    first, in its order and spelling; behind them those that only later files have. A column's type is the join of its
    types (:func:`splitscan.formats.lattice.join`); no column is lost.

    Args:
        evidence: What was seen.
        match_case: Whether names that differ in case only are different columns.

    Example:
        >>> one = Evidence.of_file("1.csv", pa.schema([("id", pa.int32())]))
        >>> two = Evidence.of_file("2.csv", pa.schema([("n", pa.bool_()), ("ID", pa.float64())]))
        >>> merge_schemas(two | one).schema
        id: double
        n: bool
    """
    by_name: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in sorted(evidence.sightings, key=lambda s: (s.path, s.position, s.name, str(s.kind))):
        by_name[sighting.name if match_case else sighting.name.lower()].append(sighting)
    columns = [MergedColumn(s[0].name, join_all([each.kind for each in s]), tuple(s)) for s in by_name.values()]
    return MergedSchema(tuple(columns), tuple(conflict for column in columns for conflict in _conflicts(column)))


def _conflicts(column: MergedColumn) -> list[Conflict]:
    first_of_kind = {sighting.kind: sighting for sighting in reversed(column.sightings)}
    first_of_kind.pop(NO_VALUE, None)
    sightings = tuple(sorted(first_of_kind.values(), key=lambda s: (s.path, s.position)))
    return [Conflict(path, sightings) for path in disagreements([s.kind for s in sightings], (column.name,))]
