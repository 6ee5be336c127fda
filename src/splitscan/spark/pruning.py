"""Which files Spark's conditions leave: those on columns that have one value for all records of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any, TypeAlias

import pyarrow as pa

from splitscan.arrays import scalar_of
from splitscan.blocks import FileMetadata
from splitscan.scan.block_documents import METADATA, METADATA_MEMBERS
from splitscan.scan.columns.partitions import Grain, file_value, grain_of, metadata_field, metadata_name
from splitscan.scan.spec import ScanSpec

Outcomes: TypeAlias = "frozenset[bool | None]"
"""What a condition may be for records of a file, as far as it is understood: true, false, null."""

_ANY: Outcomes = frozenset({True, False, None})
_WHOLE = frozenset({"byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz"})

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, other: one == other,
    "<>": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "STARTS_WITH": lambda one, other: one.startswith(other),
    "ENDS_WITH": lambda one, other: one.endswith(other),
    "CONTAINS": lambda one, other: other in one,
}


class _Unknown(Exception):  # noqa: N818 - no error
    """A condition, or a value in it, is not understood: it may be anything."""


def file_columns(spec: ScanSpec) -> list[str]:
    """Names of the columns by which files can be left out: of their directories, of what they are, of ``_metadata``."""
    own = {*spec.fields.names, *spec.speaking}
    directories = spec.partitions.fields.names
    known = [name for name in spec.columns if name not in own and metadata_name(name) and grain_of(name) is Grain.FILE]
    members = [f"{METADATA}.{name}" for name in METADATA_MEMBERS if grain_of(name) is Grain.FILE]
    return [name for name in dict.fromkeys((*directories, *known, *members)) if name.isprintable()]


def may_hold(conditions: Sequence[Mapping[str, Any]], spec: ScanSpec, file: FileMetadata) -> bool:
    """True if all conditions may be true for a record of a file; what is not understood may be.

    Raises:
        SchemaError: ``[bad-partition]`` if the name of a directory does not fit its column's type.
    """
    return all(True in _outcomes(condition, spec, file) for condition in conditions)


def _outcomes(condition: Mapping[str, Any], spec: ScanSpec, file: FileMetadata) -> Outcomes:
    name, parts = condition.get("is"), condition.get("of", ())
    if name in {"AND", "OR", "NOT"}:
        inner = [_outcomes(part, spec, file) for part in parts]
        return frozenset(_combined(name, values) for values in product(*inner))
    try:
        return frozenset({_decided(str(name), [_value(part, spec, file) for part in parts])})
    except _Unknown:
        return _ANY


def _combined(name: str, values: Sequence[bool | None]) -> bool | None:
    if name == "NOT":
        return None if values[0] is None else not values[0]
    decides = name == "OR"
    if decides in values:
        return decides
    return None if None in values else not decides


def _decided(name: str, values: Sequence[Any]) -> bool | None:
    if name in {"ALWAYS_TRUE", "ALWAYS_FALSE"}:
        return name == "ALWAYS_TRUE"
    if name in {"IS_NULL", "IS_NOT_NULL"}:
        return (values[0] is None) == (name == "IS_NULL")
    if name == "<=>":
        return (None in values and values[0] is values[1]) or _compared("=", *values) is True
    if name == "IN":
        equal = [_compared("=", values[0], other) for other in values[1:]]
        return _combined("OR", equal) if equal else False
    if name not in _COMPARISONS or len(values) != 2:
        raise _Unknown
    return _compared(name, *values)


def _compared(name: str, one: Any, other: Any) -> bool | None:
    if one is None or other is None:
        return None
    if type(one) is not type(other):
        raise _Unknown
    return _COMPARISONS[name](one, other)


def _value(part: Mapping[str, Any], spec: ScanSpec, file: FileMetadata) -> Any:
    """A value in the order that Spark has: texts as bytes, days and moments as numbers."""
    if "column" in part:
        return _comparable(_of_file(part["column"], spec, file))
    if "type" not in part:
        raise _Unknown
    kind, text = part["type"], part["value"]
    if text is None:
        return None
    if kind == "string":
        return str(text).encode()
    if kind == "boolean":
        return text == "true"
    if kind.startswith("decimal"):
        return Decimal(text)
    if kind in _WHOLE:
        return int(text)
    raise _Unknown


def _of_file(name: str, spec: ScanSpec, file: FileMetadata) -> pa.Scalar:
    if name in spec.partitions.fields.names:
        return spec.partitions.value(name, file)
    known = name.removeprefix(f"{METADATA}.")
    return scalar_of(file_value(known, file), metadata_field(known).type)


def _comparable(scalar: pa.Scalar) -> Any:
    if not scalar.is_valid:
        return None
    if pa.types.is_date(scalar.type) or pa.types.is_timestamp(scalar.type):
        return scalar.value
    if pa.types.is_floating(scalar.type):  # Spark has rules of its own for NaN and for zeros
        raise _Unknown
    value = scalar.as_py()
    return value.encode() if isinstance(value, str) else value
