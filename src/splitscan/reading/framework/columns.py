"""The columns of a scan while it runs: fixed by its plan, or growing as readers bring them; narrowed; NOT NULL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from splitscan.errors import SchemaError, Where
from splitscan.formats.decoding.contract import NULL_IN_NOT_NULL, is_variant, quoted
from splitscan.options import Mode
from splitscan.reading.framework.conform import Conformer, duplicate_column, find_columns
from splitscan.reading.framework.contract import OutputPlan

_are = pa.types


def is_required_somewhere(field: pa.Field) -> bool:
    """True if a field, or something inside of it, must not be null."""
    return not field.nullable or any(is_required_somewhere(inner) for inner in inner_fields(field.type))


def has_forbidden_null(array: pa.Array, field: pa.Field) -> bool:
    """True if there is a null where *field* allows none.

    Example:
        >>> inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
        >>> has_forbidden_null(pa.array([{"x": 1}, None], inner), pa.field("a", inner))
        False
        >>> has_forbidden_null(pa.array([{"x": None}], inner), pa.field("a", inner))
        True
    """
    if not field.nullable and array.null_count:
        return True
    if not any(is_required_somewhere(inner) for inner in inner_fields(field.type)):
        return False
    children = _children(array.drop_null())
    return any(has_forbidden_null(*each) for each in zip(children, inner_fields(field.type), strict=True))


def forbidden_null(field: pa.Field, where: Where, row: str) -> SchemaError:
    """The error for a null in a column that is NOT NULL."""
    return SchemaError(
        f"column {quoted(field.name)} is NOT NULL and has a null",
        where,
        seen=f"a null in row {row}",
        fix="drop NOT NULL from the schema; or give the column a default (columnOptions); or set "
        "mode=DROPMALFORMED to go on without such records",
        code=NULL_IN_NOT_NULL,
    )


def first_row(array: pa.Array, is_guilty: Callable[[pa.Array], bool]) -> int:
    """The first row for which something holds that holds for the whole array."""
    start, stop = 0, len(array)
    while stop - start > 1:
        middle = (start + stop) // 2
        if is_guilty(array.slice(start, middle - start)):
            stop = middle
        else:
            start = middle
    return start


def inner_fields(kind: pa.DataType) -> list[pa.Field]:
    """Fields inside values of a type: members, items, values of maps; their keys are never null."""
    if _are.is_struct(kind) and not is_variant(kind):
        return [kind.field(i) for i in range(kind.num_fields)]
    if _are.is_map(kind):
        return [kind.item_field]
    if _are.is_list(kind) or _are.is_large_list(kind) or _are.is_fixed_size_list(kind):
        return [kind.value_field]
    return []


def _children(array: pa.Array) -> list[pa.Array]:
    if _are.is_struct(array.type):
        children: list[pa.Array] = array.flatten()
        return children
    if _are.is_map(array.type):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return [array.items.slice(first, last - first)]
    return [array.flatten()]


def prune_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """An array narrowed to the members that *kind* has: a type of its own, less some members of its structs."""
    if array.type.equals(kind):
        return array
    if array.offset:
        array = pa.concat_arrays([array])  # the functions below know no slices
    mask = array.is_null() if array.null_count else None
    if pa.types.is_list(kind):
        values = prune_array(array.values, kind.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=mask)
    fields = [kind.field(index) for index in range(kind.num_fields)]
    children = [prune_array(array.field(array.type.get_field_index(f.name)), f.type) for f in fields]
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)


class Delivery(NamedTuple):
    """How the batches of a reader become what is delivered.

    Attributes:
        narrowed: Columns, by index, of which some members only are delivered.
        required: Columns, by index, in which there is something that must not be null.
    """

    conformer: Conformer
    narrowed: Mapping[int, pa.Field]
    delivered: int
    required: Sequence[tuple[int, pa.Field]]


class Columns:
    """Which columns are delivered, and how batches come to have them; its version changes when they do.

    One object serves all readers of a scan, so that a later reader keeps to the columns of the earlier ones.
    """

    def __init__(self, plan: OutputPlan) -> None:
        self._plan = plan
        self._schema = plan.schema
        self.version = 0 if plan.schema is None else 1
        self._made: tuple[int, pa.Schema] | None = None
        self._shared: tuple[int, Delivery] | None = None
        self._wanted: dict[tuple[str, ...], pa.Schema] = {}
        self._declared: tuple[pa.Schema, dict[str, pa.Field]] | None = None

    @property
    def is_open(self) -> bool:
        """True if readers may bring more columns."""
        return self._plan.schema is None

    @property
    def schema(self) -> pa.Schema | None:
        """Of the batches; ``None`` while nothing is known."""
        return self._schema

    def bring(self, schema: pa.Schema) -> bool:
        """Take the columns of a reader; ``True`` if some were added or became wider, where the plan leaves them open.

        They are nullable, because earlier rows and other readers do not have them.
        """
        if not self.is_open:
            return False
        known = {} if self._schema is None else {field.name.lower(): field for field in self._schema}
        grown = dict(known)
        names: set[str] = set()
        for field in schema:
            name = field.name.lower()
            if name in names:
                raise duplicate_column(field.name, schema.names)
            names.add(name)
            old = known.get(name)
            if old is None:
                grown[name] = field.with_nullable(True).remove_metadata()
            else:
                grown[name] = old.with_type(_wider(old.type, field.type))
        if grown == known:
            return False
        self._schema = pa.schema(list(grown.values()))
        self._wanted.clear()
        self.version += 1
        return True

    def delivery(self, constants: Mapping[str, pa.Scalar]) -> Delivery:
        """Delivery of a reader's batches; one object for all readers that have no constants."""
        if constants:
            return self._delivery(constants)
        if self._shared is None or self._shared[0] != self.version:
            self._shared = self.version, self._delivery(constants)
        return self._shared[1]

    def _delivery(self, constants: Mapping[str, pa.Scalar]) -> Delivery:
        conformer, columns = self._conformer(constants), list(enumerate(self._schema or ()))
        target = conformer.target
        return Delivery(
            conformer,
            {i: field for i, field in columns if not target.field(i).type.equals(field.type)},
            len(columns),
            [(i, field) for i, field in columns if is_required_somewhere(field)],
        )

    def _conformer(self, constants: Mapping[str, pa.Scalar]) -> Conformer:
        """Makes batches of these columns, and after them of those that must convert besides, for one reader.

        A column of which some members only are delivered has all of them: they must convert too.
        """
        return Conformer(
            self._target(),
            constants=constants,
            defaults=self._plan.defaults,
            extra=self._plan.extra,
            rules=self._plan.rules,
            ignored=frozenset(name.lower() for name in self._plan.told),
        )

    def wanted(self, constants: Mapping[str, pa.Scalar]) -> pa.Schema | None:
        """The columns that a reader is asked for; ``None`` for all it has."""
        if self._schema is None or self.is_open:
            return None
        names = tuple(constants)
        if names not in self._wanted:
            others = {*names, *self._plan.told}
            self._wanted[names] = pa.schema([field for field in self._target() if field.name not in others])
        return self._wanted[names]

    def by_name(self, schema: pa.Schema) -> dict[str, pa.Field]:
        """The fields of a reader by their names in lower case; found once where many readers bring one schema."""
        if self._declared is None or self._declared[0] is not schema:
            declared: dict[str, pa.Field] = {}
            for field in schema:
                if field.name.lower() in declared:
                    raise duplicate_column(field.name, schema.names)
                declared[field.name.lower()] = field
            self._declared = schema, declared
        return dict(self._declared[1])

    def is_projected(self, path: str) -> bool:
        """True if a column, or with dots a member of one, is delivered or must convert."""
        if self.is_open:
            return True
        fields = list(self._target())
        for name in path.split("."):
            index = find_columns([field.name for field in fields])(name)
            if index is None:
                return False
            kind = fields[index].type
            while pa.types.is_list(kind) or pa.types.is_large_list(kind):
                kind = kind.value_type
            fields = [kind.field(i) for i in range(kind.num_fields)] if pa.types.is_struct(kind) else []
        return True

    def _target(self) -> pa.Schema:
        """The columns of every batch, and those that must convert besides; made once for each version."""
        if self._made is None or self._made[0] != self.version:
            delivered = self._schema if self._schema is not None else pa.schema([])
            validated = {field.name.lower(): field for field in self._validated()}
            columns = [field.with_type(validated.pop(field.name.lower(), field).type) for field in delivered]
            self._made = self.version, pa.schema([*columns, *validated.values()])
        return self._made[1]

    def _validated(self) -> pa.Schema:
        validated = self._plan.validated
        judges_all = self._plan.mode is Mode.DROPMALFORMED or self._plan.told
        return validated if validated is not None and judges_all else pa.schema([])


def _wider(old: pa.DataType, new: pa.DataType) -> pa.DataType:
    """The type of a column that is open.

    Nulls take any type, numbers the one that holds both, structs the members of both; elements of lists become wider
    likewise. Other columns keep what they are.
    """
    if old.equals(new) or pa.types.is_null(new):
        return old
    if pa.types.is_null(old):
        return new
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        return _with_all_members(old, new)
    if pa.types.is_list(old) and (pa.types.is_list(new) or pa.types.is_large_list(new)):
        return pa.list_(_wider(old.value_type, new.value_type))
    if not (_is_number(old) and _is_number(new)):
        return old
    fields = [pa.schema([("n", kind)]) for kind in (old, new)]
    return pa.unify_schemas(fields, promote_options="permissive").field(0).type


def _with_all_members(old: pa.StructType, new: pa.StructType) -> pa.StructType:
    """The members of both, the old ones first; nullable, because some rows do not have them."""
    find = find_columns([field.name for field in old])
    types = {field.name: field.type for field in old}
    for field in new:
        index = find(field.name)
        name = field.name if index is None else old.field(index).name
        types[name] = field.type if index is None else _wider(types[name], field.type)
    return pa.struct(list(types.items()))


def may_widen(kind: pa.DataType) -> bool:
    """True if a column whose type is open may get another one: it holds numbers, structs, or nothing yet."""
    if pa.types.is_list(kind):
        return may_widen(kind.value_type)
    return _is_number(kind) or pa.types.is_struct(kind) or pa.types.is_null(kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
