"""The join of types, over every pair and triple of scalar types; its laws on nested ones are properties."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

from splitscan.formats.decoding.contract import type_name
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.formats.merge import MIXED, join, merge_schemas, spoken

KINDS = [
    pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.date32(),
    pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.string(), pa.binary(), pa.decimal128(3, 2), pa.decimal128(20, 0),
    pa.decimal128(38, 0), pa.decimal128(38, 38), pa.decimal128(30, 12), pa.list_(pa.int32()),
    pa.struct({"x": pa.int32()}), pa.list_(pa.string()), pa.struct([]), MIXED,
]  # fmt: skip


def kind_of(name: str) -> pa.DataType:
    return parse_ddl(f"a {name}").field(0).type


def test_the_join_has_the_laws_of_a_lattice() -> None:
    for a, b in product(KINDS, repeat=2):
        assert join(a, b) == join(b, a)
        assert join(a, join(a, b)) == join(a, b)
    for a, b, c in product(KINDS, repeat=3):
        assert join(join(a, b), c) == join(a, join(b, c)), (a, b, c)


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        ("tinyint", "smallint", "smallint"), ("int", "bigint", "bigint"), ("int", "double", "double"),
        ("bigint", "float", "double"), ("int", "decimal(3,2)", "decimal(12,2)"),
        ("bigint", "decimal(20,0)", "decimal(20,0)"), ("bigint", "decimal(19,18)", "decimal(38,18)"),
        ("bigint", "decimal(20,19)", "double"), ("decimal(38,0)", "decimal(3,2)", "double"),
        ("decimal(5,2)", "decimal(4,3)", "decimal(6,3)"), ("double", "decimal(5,2)", "double"),
        ("date", "timestamp", "timestamp"), ("date", "timestamp_ntz", "timestamp_ntz"),
        ("timestamp_ntz", "timestamp", "timestamp"), ("boolean", "int", "string"), ("date", "int", "string"),
        ("string", "int", "string"), ("binary", "string", "string"), ("array<int>", "array<date>", "array<string>"),
        ("struct<x: int>", "struct<y: date, x: double>", "struct<x: double, y: date>"),
        ("struct<x: int>", "int", "string"), ("array<int>", "struct<x: int>", "string"),
    ],
)  # fmt: skip
def test_what_holds_the_values_of_two_types(left: str, right: str, wanted: str) -> None:  # parity 23, 25, 27, 33
    assert type_name(spoken(join(kind_of(left), kind_of(right)))) == wanted


def test_schemas_one_after_the_other_come_to_one(  # parity 29, 30, 32
) -> None:
    schemas = ["a int, b string", "B string, a long", "a int", "c date, a int", "d boolean"]
    files = [(f"{number}", parse_ddl(text)) for number, text in enumerate(schemas)]
    names = [merge_schemas(files[: count + 1]).schema.names for count in range(len(files))]
    assert names == [["a", "b"], ["a", "b"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]
    assert merge_schemas(files).schema == parse_ddl("a bigint, b string, c date, d boolean")
