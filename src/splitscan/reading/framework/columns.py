"""The columns of a scan: fixed by its plan, narrowed, NOT NULL; or found in what a reader brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from splitscan.errors import SchemaError, Where
from splitscan.formats.decoding.contract import NULL_IN_NOT_NULL, is_variant, quoted
from splitscan.options import Mode
from splitscan.reading.framework.conform import Conformer, duplicate_column, find_columns, rows_without_columns
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


class Columns:
    """Which columns are delivered of a reader, and how batches come to have them; or the columns that it shows.

    Attributes:
        schema: Of the batches; while columns are looked for, of the rows so far, ``None`` before any.
        wanted: The columns that the reader is asked for; ``None`` for all it has.
        required: Columns, by index, in which there is something that must not be null.
        conformer: Makes batches of these columns, and after them of those that must convert besides. A column of which
            some members only are delivered has all of them: they must convert too.
    """

    def __init__(self, plan: OutputPlan, constants: Mapping[str, pa.Scalar]) -> None:
        self.is_open = plan.schema is None
        self.schema: pa.Schema | None = plan.schema
        delivered = list(plan.schema or ())
        judges_all = plan.mode is Mode.DROPMALFORMED or plan.told
        validated = {field.name.lower(): field for field in (plan.validated or ()) if judges_all}
        columns = [field.with_type(validated.pop(field.name.lower(), field).type) for field in delivered]
        target = pa.schema([*columns, *validated.values()])
        self.conformer = Conformer(target, constants=constants, defaults=plan.defaults)
        others = {*constants, *plan.told}
        self.wanted = None if self.is_open else pa.schema([field for field in target if field.name not in others])
        self._delivered = len(delivered)
        self._narrowed = [(i, f) for i, f in enumerate(delivered) if not target.field(i).type.equals(f.type)]
        self.required = [(i, field) for i, field in enumerate(delivered) if is_required_somewhere(field)]

    def bring(self, schema: pa.Schema) -> None:
        """Take the columns of some rows, where they are looked for: they may be null, because others do not have them.

        A column keeps the type that it had first, but numbers become wider, structs get the members of all, and nulls
        take any type.
        """
        if not self.is_open:
            return
        known = {field.name.lower(): field for field in self.schema or ()}
        for name, field in by_name(schema).items():
            old = known.get(name)
            if old is None:
                known[name] = field.with_nullable(True).remove_metadata()
            else:
                known[name] = old.with_type(_wider(old.type, field.type))
        if known:
            self.schema = pa.schema(list(known.values()))

    def deliver(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Of a batch that the conformer has made, what is delivered."""
        if batch.num_columns > self._delivered:  # some columns had to convert, and are not wanted
            batch = batch.select(range(self._delivered)) if self._delivered else rows_without_columns(batch.num_rows)
        for index, field in self._narrowed:
            batch = batch.set_column(index, field, prune_array(batch.column(index), field.type))
        return batch

    def kind_of(self, name: str) -> pa.DataType | None:
        """The type that a column is known to have; ``None`` if it may get any: ``null`` if nobody wants it."""
        known = self.schema if self.is_open else self.conformer.target
        index = None if known is None else find_columns(known.names)(name)
        if known is None or index is None:
            return None if self.is_open else pa.null()
        kind = known.field(index).type
        return None if self.is_open and _may_widen(kind) else kind

    def is_projected(self, path: str) -> bool:
        """True if a column, or with dots a member of one, is delivered or must convert."""
        if self.is_open:
            return True
        fields = list(self.conformer.target)
        for name in path.split("."):
            index = find_columns([field.name for field in fields])(name)
            if index is None:
                return False
            kind = fields[index].type
            while pa.types.is_list(kind) or pa.types.is_large_list(kind):
                kind = kind.value_type
            fields = [kind.field(i) for i in range(kind.num_fields)] if pa.types.is_struct(kind) else []
        return True


def by_name(schema: pa.Schema) -> dict[str, pa.Field]:
    """The fields of a reader by their names in lower case; ``[duplicate-column]`` if two have one name."""
    fields: dict[str, pa.Field] = {}
    for field in schema:
        if field.name.lower() in fields:
            raise duplicate_column(field.name, schema.names)
        fields[field.name.lower()] = field
    return fields


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


def _may_widen(kind: pa.DataType) -> bool:
    """True if a column whose type is open may get another one: it holds numbers, structs, or nothing yet."""
    if pa.types.is_list(kind):
        return _may_widen(kind.value_type)
    return _is_number(kind) or pa.types.is_struct(kind) or pa.types.is_null(kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
