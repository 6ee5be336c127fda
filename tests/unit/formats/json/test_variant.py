"""Values of JSON as variants: the bytes that Spark's ``parse_json`` writes, and where there is none."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.formats.decoding.contract import VARIANT, is_variant
from splitscan.formats.decoding.variant import VariantError, VariantRules, encode_variant
from splitscan.formats.json.text import JsonDialect, NotJsonError, parse_json, view_of_json
from splitscan.formats.json.writing import json_values
from splitscan.testing import check_block_law

NO_KEYS = "010000"


def encoded(text: str, **rules: Any) -> tuple[str, str]:
    parts = encode_variant(parse_json(text, JsonDialect()), view_of_json, VariantRules(**rules))
    return parts["value"].hex(), parts["metadata"].hex()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", "0c01"), ("-128", "0c80"), ("128", "108000"), ("32768", "1400800000"),
        ("2147483648", "180000008000000000"), ("9223372036854775808", "280000000000000000800000000000000000"),
        ("1e2", "1c0000000000005940"), ("1E400", "1c000000000000f07f"),
        ("1" * 39, "1c" + struct.pack("<d", float("1" * 39)).hex()),
        ("1.5", "20010f000000"), ("1.0", "20010a000000"), ("0.00", "200200000000"),
        ("1234567890.5", "2401" + (12345678905).to_bytes(8, "little").hex()),
        ("-0", "0c00"), ("-0.0", "200100000000"), ("0." + "0" * 39, "1c" + "00" * 8), ("NaN", "1c000000000000f87f"),
        ('"2024-01-01"', "29" + b"2024-01-01".hex()), ("{}", "020000"), ("[]", "030000"), ('""', "01"), ("null", "00"),
        ("true", "04"), ("false", "08"), (r'"\ud800"', "0d" + "\ufffd".encode().hex()),
        (json.dumps("x" * 63), "fd" + "78" * 63), (json.dumps("x" * 64), "4040000000" + "78" * 64),
    ],
)  # fmt: skip
def test_values_without_keys(text: str, value: str) -> None:
    assert encoded(text) == (value, NO_KEYS)


def test_keys_are_numbered_as_they_come_and_sorted_by_name() -> None:
    text = '{"b":1,"a":[1,"x",null,true]}'
    value = "0202010002000f0c01030400020405060c0105780004"
    assert encoded(text) == (value, "01020001026261")


def test_keys_sort_by_code_units_of_utf_16_as_in_spark() -> None:
    value, _ = encoded(json.dumps({"é": 1, "z": 2, "😀": 3, "\ufffd": 4}, ensure_ascii=False))
    assert value.startswith("0204" + "01000203" + "0200040608")


def test_a_key_that_comes_twice_is_wrong_or_the_last_one_counts() -> None:
    with pytest.raises(VariantError, match="key 'a' comes twice; variantAllowDuplicateKeys=true"):
        encoded('{"a":1,"a":2}')
    with pytest.raises(VariantError, match="key 'a' comes twice"):
        encoded('[{"x":{"a":1,"a":2}}]')
    assert encoded('{"a":1,"a":2}', allow_duplicate_keys=True) == ("02010000020c02", "0101000161")
    value, metadata = encoded('{"b":1,"a":{"q":5},"b":3}', allow_duplicate_keys=True)
    assert (value, metadata) == ("0202010000070902010200020c050c03", "010300010203626171")


def test_sizes_of_numbers_in_heads() -> None:
    keys = {f"k{i}": None for i in range(256)}
    value, metadata = encoded(json.dumps(keys))
    assert value[:10] == "4600010000"  # large, offsets of two bytes for 256 bytes of values, numbers of one
    assert metadata[:6] == "410001"
    assert encoded(json.dumps({f"k{i}": None for i in range(255)}))[0][:4] == "02ff"
    assert encoded(json.dumps({"k" * 300: 1}))[1][:14] == "41010000002c01"
    for length, size in ((253, 1), (254, 2), (65_533, 2), (65_534, 3)):  # of texts, with 5 bytes in front of each
        assert int(encoded(json.dumps({"a": "x" * (length - 3)}))[0][:2], 16) >> 2 & 3 == size - 1, length
    assert encoded(json.dumps([None] * 256))[0][:10] == "1700010000"


def test_bounds() -> None:
    assert encoded("[" * 1000 + "]" * 1000)[0].endswith("030000")
    with pytest.raises(VariantError, match="more than 1000 objects and arrays inside each other"):
        encoded("[" * 1001 + "]" * 1001)
    assert encoded('"abcd"', max_bytes=5) == ("11" + b"abcd".hex(), NO_KEYS)
    with pytest.raises(VariantError, match="longer than maxVariantBytes=4"):
        encoded('"abcd"', max_bytes=4)
    with pytest.raises(VariantError, match="longer than maxVariantBytes=7"):
        encoded('{"abcd":1}', max_bytes=7)  # its keys alone


def written(folder: Path, text: str) -> str:
    path = folder / "a.jsonl"
    path.write_text(text)
    return str(path)


def values(table: pa.Table, column: str = "v") -> list[str | None]:
    return [None if row is None else row["value"].hex() for row in table[column].to_pylist()]


LINES = '{"a":1}\n7\n\n null\n[]\n{"a":\n{"a":1,"a":2}\n"x"\n[1,]\n01\n'


def test_every_line_is_a_row(tmp_path: Path) -> None:
    path = written(tmp_path, LINES)
    scan = ss.scan_json(path, single_variant_column="v")
    table = scan.to_arrow()
    assert table.schema.names == ["v"]
    assert is_variant(table.schema.field("v").type)
    assert values(table) == ["02010000020c01", "0c07", "00", "030000", None, None, "0578", None, None]
    assert scan.count() == 9
    assert scan.rejects().to_arrow()["code"].to_pylist() == ["bad-json", "bad-value", "bad-json", "bad-json"]
    assert [ss.scan_json(path, single_variant_column="v", block_bytes=size).to_arrow() for size in (1, 7, 20)] == [
        table
    ] * 3
    allowed = ss.scan_json(path, single_variant_column="v", variant_allow_duplicate_keys=True).to_arrow()
    assert values(allowed)[5] == "02010000020c02"


SHAPES = """{"id":1,"at":{"x":1,"y":[{"k":1,"l":2},{"l":3,"k":4}]}}
{"id":2,"at":{"x":1,"y":[{"k":1,"l":2}]}}
{"at":{"y":1,"x":2},"id":3}
{"id":4,"id":4}
{"id":[ ]  ,"at":{  ]}
{"id":5,"at":{"x":"},","z":"\u00e9"},"more":true}
{"id":6
{}
[{"id":7},{"at":8,"id":9}]
"""


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    "options",
    [
        {"single_variant_column": "v"},
        {"single_variant_column": "v", "variant_allow_duplicate_keys": True},
        {"single_variant_column": "v", "max_variant_bytes": "20 B"},
        {"single_variant_column": "v", "multi_line": True},
    ],
    ids=lambda options: list(options)[-1],
)
def test_the_law_of_cuts_holds_for_records_of_many_shapes(tmp_path: Path, options: dict[str, Any]) -> None:
    text = SHAPES if "multi_line" not in options else "[" + SHAPES.split("\n", 1)[0] + ',\n{"id":1,"id":2},{},\n[null]]'
    path = written(tmp_path, text)
    scan = ss.scan_json(path, **options)
    rows = check_block_law(scan, range(1, len(text.encode()) + 2))
    assert rows == (4 if "multi_line" in options else 9)


def test_the_law_of_cuts_holds_where_some_members_are_variants(tmp_path: Path) -> None:
    path = written(tmp_path, SHAPES)
    assert check_block_law(ss.scan_json(path, "id variant, at struct<x: variant, y: variant>"), range(1, 60)) == 9


def test_a_variant_does_not_depend_on_the_records_before_it(tmp_path: Path) -> None:
    lines = [line for line in SHAPES.splitlines() for _ in range(2)]
    lines += reversed(lines)
    table = ss.scan_json(written(tmp_path, "\n".join(lines)), single_variant_column="v").to_arrow()
    for line, row in zip(lines, table["v"].to_pylist(), strict=True):
        try:
            expected = encode_variant(parse_json(line, JsonDialect()), view_of_json, VariantRules())
        except (NotJsonError, VariantError):
            expected = None
        assert row == expected, line


def test_broken_lines_in_three_modes(tmp_path: Path) -> None:
    path, schema = written(tmp_path, LINES), "v variant, _corrupt_record string"
    kept = ss.scan_json(path, schema, single_variant_column="v").to_arrow()
    assert kept["_corrupt_record"].to_pylist()[4:6] == ['{"a":', '{"a":1,"a":2}']
    dropped = ss.scan_json(path, single_variant_column="v", mode="DROPMALFORMED").to_arrow()
    assert values(dropped) == ["02010000020c01", "0c07", "00", "030000", None, "0578"]
    with pytest.raises(ss.RecordError, match="bad-json"):
        ss.scan_json(path, single_variant_column="v", mode="FAILFAST").to_arrow()


def test_numbers_beyond_json_are_read_as_the_option_says(tmp_path: Path) -> None:
    path = written(tmp_path, '{"a":NaN}\n')
    allowed = ss.scan_json(path, "a variant").to_arrow()
    assert values(allowed, "a") == ["1c000000000000f87f"]
    refused = ss.scan_json(path, single_variant_column="v", allow_non_numeric_numbers=False)
    assert (values(refused.to_arrow()), refused.rejects().to_arrow()["code"].to_pylist()) == ([None], ["bad-json"])


def test_elements_of_an_array_and_below_a_path_are_rows(tmp_path: Path) -> None:
    path = written(tmp_path, '[1, {"a": [2]},\n null, "x"]')
    expected = ["0c01", "0201000007030100020c02", "00", "0578"]
    assert [
        value and value[:4]
        for value in values(ss.scan_json(path, multi_line=True, single_variant_column="v").to_arrow())
    ] == [value[:4] for value in expected]
    path = written(tmp_path, '{"meta": 1, "data": [1, "s", null, [], {}]}')
    below = ss.scan_json(path, record_path="$.data[*]", single_variant_column="v").to_arrow()
    assert values(below) == ["0c01", "0573", "00", "030000", "020000"]
    options = {"record_path": "$.data[*]", "record_path_columns": "$.meta as m int"}
    around = ss.scan_json(path, single_variant_column="v", **options).to_arrow()
    assert (values(around), around["m"].to_pylist()) == (values(below), [1] * 5)


def test_members_of_any_depth_are_variants(tmp_path: Path) -> None:
    path = written(tmp_path, '{"a":1,"b":[1,null],"m":{"k":{}},"s":{"v":"x"}}\n{"a":null}\n{}\n{"a":{"x":1,"x":1}}\n')
    schema = "a variant, b array<variant>, m map<string, variant>, s struct<v: variant>"
    table = ss.scan_json(path, schema).to_arrow()
    assert values(table, "a") == ["0c01", "00", None, None]
    first = table.slice(0, 1).to_pylist()[0]
    assert [each["value"].hex() for each in first["b"]] == ["0c01", "00"]
    assert first["m"][0][1]["value"].hex() == "020000"
    assert first["s"]["v"]["value"].hex() == "0578"
    assert ss.scan_json(path, schema).select("s.v").to_arrow().num_columns == 1
    with pytest.raises(ss.SchemaError, match=r"(?s)takes 'a' for a struct.*a variant"):
        ss.scan_json(path, schema).select("a.value").to_arrow()


def test_hints_make_variants_of_some_members(tmp_path: Path) -> None:
    path = written(tmp_path, '{"a":{"b":1},"c":2}\n{"a":[3],"c":4}\n')
    table = ss.scan_json(path, schema_hints="a variant").to_arrow()
    assert (table.schema.field("a").type, table["c"].to_pylist()) == (VARIANT, [2, 4])
    assert values(table, "a") == ["02010000020c01", "030100020c03"]


def test_other_formats_have_no_variants(tmp_path: Path) -> None:
    path = written(tmp_path, "1\n")
    with pytest.raises(ss.SchemaError, match=r"(?s)\[unsupported-type\].*variant.*parse_json"):
        ss.scan_fixed_width(path, "v 1 1", "v variant").to_arrow()
    with pytest.raises(UsageError, match=r"(?s)\[unknown-option\].*single_variant_column"):
        ss.scan_text(path, single_variant_column="v")  # type: ignore[call-arg]


def test_rows_for_people_show_json(tmp_path: Path) -> None:
    scan = ss.scan_json(written(tmp_path, '{"b":[1.50,"é"],"a":{}}\nnull\n1e400\n'), single_variant_column="v")
    assert json_values(scan.to_arrow()["v"].combine_chunks()).to_pylist() == [
        '{"a":{},"b":[1.50,"é"]}', "null", '"inf"',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        ("v string", {}, r"\[bad-schema\].*'v variant'|v variant"),
        ("a variant", {}, r"of that name and type variant"),
        ("v variant, b int", {}, r"of that name and type variant"),
        (None, {"schema_hints": "v int"}, r"\[bad-option\].*schemaHints=v int"),
        (None, {"rescued_data_column": "r"}, r"\[bad-option\].*rescuedDataColumn=r"),
        (None, {"max_variant_bytes": "1 GiB"}, r"max_variant_bytes takes a size.*\[bad-option\]"),
    ],
)
def test_columns_beside_the_variant_are_refused(
    tmp_path: Path, schema: str | None, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=rf"(?s){message}"):
        ss.scan_json(written(tmp_path, "1\n"), schema, single_variant_column="v", **options).to_arrow()
