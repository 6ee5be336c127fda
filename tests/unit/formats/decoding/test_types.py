"""Types of columns that records are read as, and those that are refused: no value may be lost for its column's type."""

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.formats.decoding.contract import check_types

READABLE = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(38, 9), pa.bool_(),
    pa.date32(), pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Berlin"),
    pa.string(), pa.binary(), pa.list_(pa.int32()), pa.map_(pa.string(), pa.date32()),
    pa.struct({"a": pa.list_(pa.string())}),
]  # fmt: skip
REFUSED = [
    (pa.timestamp("ns"), "timestamp_ntz"),
    (pa.timestamp("ms", "UTC"), "timestamp"),
    (pa.large_string(), "string"),
    (pa.string_view(), "string"),
    (pa.dictionary(pa.int32(), pa.string()), "string"),
    (pa.large_binary(), "binary"),
    (pa.binary(3), "binary"),
    (pa.uint8(), "smallint"),
    (pa.uint64(), "decimal(20,0)"),
    (pa.float16(), "float"),
    (pa.decimal256(9, 2), "decimal(9,2)"),
    (pa.decimal256(50, 2), "string"),
    (pa.date64(), "date"),
    (pa.time64("ns"), "time(6)"),
    (pa.duration("us"), "string"),
    (pa.null(), "string"),
    (pa.large_list(pa.uint8()), "array<smallint>"),
    (pa.struct({"a": pa.timestamp("ns")}), "struct<a: timestamp_ntz>"),
    (pa.list_(pa.time32("s")), "array<time(6)>"),
]


@pytest.mark.parametrize("kind", READABLE, ids=str)
def test_types_that_values_are_read_as_pass(kind: pa.DataType) -> None:
    check_types(pa.schema([("c", kind)]))


@pytest.mark.parametrize("scan", [ss.scan_csv, ss.scan_json], ids=["csv", "json"])
@pytest.mark.parametrize(("kind", "instead"), REFUSED, ids=str)
def test_another_type_is_refused_with_the_one_to_declare(tmp_path, scan, kind: pa.DataType, instead: str) -> None:
    """Before, large strings were null, and nanoseconds were moments in 1970."""
    path = tmp_path / "a"
    path.write_text("{}\n")
    with pytest.raises(ss.SchemaError, match=r"\[unsupported-type\]") as refused:
        scan(str(path), schema=pa.schema([("c", kind)])).to_arrow()
    assert f"declare it as {instead}," in str(refused.value)
    assert "column 'c'" in str(refused.value)


@pytest.mark.parametrize(
    ("schema", "advice"),
    [
        ("v time(7)", r"declare it as time\(6\)"), ("v struct<a: interval>", "INTERVAL"),
        ("v void", "leave the column out"),
    ],
)  # fmt: skip
def test_types_of_spark_that_no_value_is_read_as_have_a_sentence_of_their_own(schema: str, advice: str) -> None:
    with pytest.raises(ss.SchemaError, match=rf"(?s)\[unsupported-type\].*{advice}"):
        ss.scan_csv("no-file.csv", schema=schema).to_arrow()
