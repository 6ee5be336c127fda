"""Types form a lattice, and merging schemas is a union of what was seen: no order matters, nothing is lost."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from splitscan.formats.merge import MIXED, NO_VALUE, disagreements, join, join_all, merge_schemas, spoken

SCALARS = [
    pa.null(), pa.bool_(), pa.int32(), pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us"),
    pa.timestamp("us", "UTC"), pa.string(), pa.int8(), pa.int16(), pa.float32(), pa.binary(),
]  # fmt: skip
DECIMALS = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: pa.decimal128(p, s)))
NAMES = st.sampled_from("abcd")


def structs(members: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    return st.dictionaries(NAMES, members, max_size=3).map(lambda m: pa.struct(list(m.items())))


TYPES = st.recursive(
    st.sampled_from(SCALARS) | DECIMALS, lambda inner: inner.map(pa.list_) | structs(inner), max_leaves=4
)
SPELLINGS = st.sampled_from(["a", "A", "b", "B", "c", "_c3"])
SCHEMAS = st.lists(st.tuples(SPELLINGS, TYPES), max_size=4, unique_by=lambda column: column[0].lower()).map(pa.schema)
FILES = st.dictionaries(st.text("xyz", min_size=1, max_size=2), SCHEMAS, max_size=4)


def sorted_members(kind: pa.DataType) -> pa.DataType:
    """The type, whatever the order of struct members."""
    if pa.types.is_struct(kind):
        members = sorted((kind.field(i) for i in range(kind.num_fields)), key=lambda field: field.name)
        return pa.struct([(field.name, sorted_members(field.type)) for field in members])
    return pa.list_(sorted_members(kind.value_type)) if pa.types.is_list(kind) else kind


def joined(*kinds: pa.DataType) -> pa.DataType:
    return sorted_members(reduce(join, kinds))


@given(TYPES, TYPES)
def test_join_is_commutative(a: pa.DataType, b: pa.DataType) -> None:  # parity 23, 25, 27
    assert joined(a, b) == joined(b, a)


@given(TYPES, TYPES, TYPES)
def test_join_is_associative(a: pa.DataType, b: pa.DataType, c: pa.DataType) -> None:
    assert joined(join(a, b), c) == joined(a, join(b, c))


@given(TYPES)
def test_join_is_idempotent_and_knows_bottom_and_top(a: pa.DataType) -> None:
    assert join(a, a) == a
    assert join(a, NO_VALUE) == join(NO_VALUE, a) == a
    assert join(a, MIXED) == join(MIXED, a) == MIXED
    assert join(a, pa.string()) == (pa.string() if a in (NO_VALUE, pa.string()) else MIXED)


@given(TYPES, TYPES)
def test_a_join_is_above_both(a: pa.DataType, b: pa.DataType) -> None:
    assert joined(a, join(a, b)) == joined(a, b)


@given(st.lists(TYPES, max_size=4))
def test_types_disagree_where_text_is_all_that_they_share(kinds: list[pa.DataType]) -> None:
    found = disagreements(kinds)
    assert disagreements(kinds[::-1]) is not None
    assert sorted(found) == sorted(disagreements(kinds[::-1]))
    if join_all(kinds) == MIXED and MIXED not in kinds:
        assert () in found


@given(FILES, st.randoms(use_true_random=False))
def test_a_merge_does_not_depend_on_the_order_of_files(files: dict[str, pa.Schema], random: object) -> None:
    paths = list(files)
    random.shuffle(paths)  # type: ignore[attr-defined]
    assert merge_schemas((path, files[path]) for path in (*paths, *paths)) == merge_schemas(files.items())


@given(FILES)
def test_a_merge_loses_no_column_and_keeps_the_first_spelling_and_order(files: dict[str, pa.Schema]) -> None:
    merged = merge_schemas(files.items())
    first: dict[str, str] = {}
    for path in sorted(files):
        for name in files[path].names:
            first.setdefault(name.lower(), name)
    assert [column.name for column in merged.columns] == list(first.values())
    assert all(field.nullable for field in merged.schema)
    for column in merged.columns:
        kinds = [f.type for path in sorted(files) for f in files[path] if f.name.lower() == column.name.lower()]
        assert sorted_members(column.kind) == sorted_members(spoken(join_all(kinds)))
        assert len(column.sightings) == len(kinds)


@given(FILES)
def test_names_that_differ_in_case_are_kept_apart_where_they_must(files: dict[str, pa.Schema]) -> None:
    merged = merge_schemas(files.items(), match_case=True)
    assert {column.name for column in merged.columns} == {name for schema in files.values() for name in schema.names}


@given(FILES)
def test_every_conflict_names_a_column_that_is_text_only_because_files_disagree(files: dict[str, pa.Schema]) -> None:
    merged = merge_schemas(files.items())
    for conflict in merged.conflicts:
        (column,) = [column for column in merged.columns if column.name == conflict.column[0]]
        assert len({sighting.kind for sighting in conflict.sightings}) >= 2
        assert set(conflict.sightings) <= set(column.sightings)
