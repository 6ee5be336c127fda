"""Schemas as text: what is written is what is read."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.errors import SchemaError, UsageError
from splitscan.formats.decoding.contract import MOST_LEVELS, format_ddl
from splitscan.formats.decoding.ddl import parse_ddl

SIMPLE = [
    pa.string(), pa.binary(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
    pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.decimal128(38, 38), pa.decimal128(1, 0),
]  # fmt: skip
NAMES = st.text(min_size=1, max_size=4) | st.sampled_from(
    ["end", "name", "not", "null", "`", "a b", "comment", "int", "x:y"]
)


def fields(kinds: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[list[pa.Field]]:
    field = st.builds(pa.field, NAMES, kinds, st.booleans())
    return st.lists(field, min_size=1, max_size=3, unique_by=lambda found: found.name.lower())


KINDS = st.recursive(
    st.sampled_from(SIMPLE),
    lambda inner: inner.map(pa.list_) | st.builds(pa.map_, inner, inner) | fields(inner).map(pa.struct),
    max_leaves=4,
)


@given(schema=fields(KINDS).map(pa.schema))
def test_a_schema_comes_back_from_its_text(schema: pa.Schema) -> None:
    assert parse_ddl(format_ddl(schema)) == schema


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("id long NOT NULL, tags array<string>", "id bigint NOT NULL, tags array<string>"),
        ("ID: INTEGER, n: dec", "ID int, n decimal(10,0)"),
        ("a varchar(10) comment 'it''s', b char(3) COMMENT \"x\"", None),
        ("a varchar(10) comment 'its', b char(3) COMMENT \"x\"", "a string, b string"),
        ("`a``b` map<string, struct<x: int not null>>", "`a``b` map<string, struct<x: int NOT NULL>>"),
        ("end int, number decimal(3,2), text string", "end int, number decimal(3,2), text string"),
        ("é timestamp_ltz, 名 timestamp_ntz", "é timestamp, 名 timestamp_ntz"),
    ],
)
def test_ddl_is_read_as_spark_reads_it(text: str, written: str | None) -> None:
    if written is None:
        with pytest.raises(UsageError):
            parse_ddl(text)
    else:
        assert format_ddl(parse_ddl(text)) == written


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", "''"), ("a", "the end"), ("a int,", "the end"), ("a int b int", "'b' at character 6"),
        ("a-b int", "'-b int'"),
        ("a int end, b string", "'end' at character 6"), ("a decimal(number)", "'number' at character 10"),
        ("a decimal(39)", "more than 38 digits"), ("a decimal(2,3)", "more decimals than digits"),
        ("a strin", "'strin' is no type"),
        ("a decimal(" + "9" * 5000 + ")", "more than 38 digits"), ("a array<int", "the end"), ("a array<int>>", "'>'"),
        ("a int not", "NOT without NULL"), ("a int, A string", "'A' is named twice"),
        ("a int comment text", "'text'"), ("`a int", "'`a int'"),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused_with_the_place(text: str, seen: str) -> None:
    with pytest.raises(UsageError, match="a schema must be written as columns with types") as caught:
        parse_ddl(text)
    assert caught.value.reason_code == "bad-schema"
    assert seen in str(caught.value) or (seen == "'A' is named twice" and "named twice" in str(caught.value))


@pytest.mark.thin(3)
@pytest.mark.parametrize("opening", ["array<", "struct<a: ", "map<int, "])
@pytest.mark.parametrize("levels", [MOST_LEVELS + 1, 2000, 50_000])
def test_a_type_that_is_nested_too_deep_is_refused(opening: str, levels: int) -> None:
    assert parse_ddl(f"a {opening * MOST_LEVELS}int{'>' * MOST_LEVELS}, b array<int>").names == ["a", "b"]
    with pytest.raises(SchemaError, match="at most 50 structs, arrays and maps inside each other") as caught:
        parse_ddl(f"a {opening * levels}int{'>' * levels}")
    assert len(str(caught.value)) < 500
