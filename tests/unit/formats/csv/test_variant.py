"""Records of CSV as variants: the bytes that Spark's ``singleVariantColumn`` writes for the first record of a task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.formats.decoding.contract import is_variant
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.variant import ValueTypes, value_of_text, variant_as_json
from splitscan.testing import check_block_law

DATE, DAY_START = "2c57470000", "3000a0d1df1c9b0500"


def a_text(text: str) -> str:
    return bytes([len(text.encode()) << 2 | 1]).hex() + text.encode().hex()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (None, "00"), ("1", "0c01"), ("-0", "0c00"), ("+5", "0c05"), ("007", "0c07"), ("2020", "10e407"),
        ("-9223372036854775808", "180000000000000080"), ("0" * 5000 + "1", "0c01"), (" 7", a_text(" 7")),
        ("1.50", "200296000000"), ("1e3", "2000e8030000"), ("1E-2", "200201000000"), (".5", "200105000000"),
        ("5.", "200005000000"), ("+1.5", "20010f000000"), ("-0.0", "200100000000"), ("0e5", "200000000000"),
        ("9223372036854775808", "280000000000000000800000000000000000"), ("1,000", "2000e8030000"),
        ("1e37", "280000000000a036f400d946dad510ee8507"), ("1e38", a_text("1e38")), ("0e39", a_text("0e39")),
        ("1e-38", "282601000000000000000000000000000000"), ("1.5e-38", a_text("1.5e-38")),
        ("0e-38", "282600000000000000000000000000000000"), ("0e-50", a_text("0e-50")),
        ("1e9999999999999999999", a_text("1e9999999999999999999")), ("1" * 39, a_text("1" * 39)),
        ("true", "04"), ("FaLSe", "08"), ("T", a_text("T")), ("NaN", a_text("NaN")), ("1d", a_text("1d")),
        ("2020-01-02", DATE), ("2020-1-2", DAY_START), ("2020-01-02 ", DAY_START), ("2020-02-30", a_text("2020-02-30")),
        ("2020-01-02T03:04:05Z", "3040f326721f9b0500"), ("2020-01-02T03:04:05.5+02:00", "30604c07c51d9b0500"),
        ("", "01"), ("null", a_text("null")),
    ],
)  # fmt: skip
def test_values_have_the_bytes_of_spark(text: str | None, value: str) -> None:
    assert value_of_text(text, ValueTypes(Rules())).hex() == value


@pytest.mark.parametrize("text", ["1,5", "10:20", "\u0661", "0000-01-01", "+10000-01-01", "10000-01-01"])
def test_texts_of_which_spark_makes_something_else(text: str) -> None:
    """A number ten times too large, a moment of today, digits of other scripts, years that there are not here."""
    assert value_of_text(text, ValueTypes(Rules())).hex() == a_text(text)


def test_a_locale_says_how_numbers_are_written() -> None:
    types = ValueTypes(Rules(locale="de"))
    texts = ("1.234", "1,5", "1,234.5", "7", " 1,5", "-1.234,50")
    assert [value_of_text(text, types).hex() for text in texts] == [
        "2000d2040000", "20010f000000", a_text("1,234.5"), "0c07", a_text(" 1,5"), "2002c61dfeff",
    ]  # fmt: skip


def test_patterns_say_what_is_a_date_and_a_timestamp() -> None:
    types = ValueTypes(Rules(date_format="dd/MM/yyyy", timestamp_format="dd/MM/yyyy HH:mm"))
    assert [value_of_text(text, types).hex()[:2] for text in ("02/01/2020", "02/01/2020 10:00")] == ["2c", "30"]
    assert value_of_text("2020-01-02", types).hex() == a_text("2020-01-02")
    assert value_of_text("2020-01-02", ValueTypes(Rules(), prefers_dates=False)).hex() == DAY_START


def written(folder: Path, text: str) -> str:
    path = folder / "a.csv"
    path.write_text(text)
    return str(path)


def shown(table: pa.Table) -> list[str | None]:
    return [row and variant_as_json(**row) for row in table["v"].to_pylist()]


def test_a_header_names_the_members(tmp_path: Path) -> None:
    path = written(tmp_path, "b,A,a,\n1,x,2020-01-02,\n2\n,\n3,4,5,6,7\n")
    scan = ss.scan_csv(path, header=True, single_variant_column="v")
    table = scan.to_arrow()
    assert is_variant(table.schema.field("v").type)
    assert shown(table) == [
        '{"":null,"A":"x","a":"2020-01-02","b":1}', '{"b":2}', '{"A":null,"b":null}', '{"":6,"A":4,"a":5,"b":3}',
    ]  # fmt: skip
    assert scan.rejects().to_arrow()["reason"].to_pylist() == [
        f"the record has {count} fields where 4 are expected" for count in (1, 2, 5)
    ]
    assert scan.count() == 4
    kept = ss.scan_csv(path, "v variant, _corrupt_record string", header=True, single_variant_column="v").to_arrow()
    assert (shown(kept), kept["_corrupt_record"].to_pylist()) == (shown(table), [None, "2", ",", "3,4,5,6,7"])
    dropped = ss.scan_csv(path, header=True, single_variant_column="v", mode="DROPMALFORMED").to_arrow()
    assert shown(dropped) == shown(table)[:1]


def test_without_header_members_are_numbered(tmp_path: Path) -> None:
    path = written(tmp_path, "1,x\n2\n3,b,true\n")
    scan = ss.scan_csv(path, single_variant_column="v")
    assert shown(scan.to_arrow()) == ['{"_c0":1,"_c1":"x"}', '{"_c0":2}', '{"_c0":3,"_c1":"b","_c2":true}']
    assert scan.rejects().to_arrow().num_rows == 0
    narrow = ss.scan_csv(path, single_variant_column="v", max_columns=2)
    assert shown(narrow.to_arrow())[2] == '{"_c0":3,"_c1":"b"}'
    assert narrow.rejects().to_arrow()["code"].to_pylist() == ["field-count"]


def test_each_file_has_its_own_header(tmp_path: Path) -> None:
    for number, text in enumerate(["a,b\n1,2\n", "b,c,d\n3,4,5\n"]):
        (tmp_path / f"{number}.csv").write_text(text)
    for options in ({}, {"enforce_schema": True}, {"header_mapping": "byName"}):
        table = ss.scan_csv(str(tmp_path), header=True, single_variant_column="v", **options).to_arrow()
        assert shown(table) == ['{"a":1,"b":2}', '{"b":3,"c":4,"d":5}']


def test_names_that_come_twice(tmp_path: Path) -> None:
    path = written(tmp_path, "a,a\n1,2\n")
    scan = ss.scan_csv(path, header=True, single_variant_column="v")
    assert shown(scan.to_arrow()) == [None]
    assert scan.rejects().to_arrow()["reason"].to_pylist() == [
        "column 'v': '2 fields' is no variant: key 'a' comes twice; variantAllowDuplicateKeys=true takes the last"
    ]
    last = ss.scan_csv(path, header=True, single_variant_column="v", variant_allow_duplicate_keys=True).to_arrow()
    assert shown(last) == ['{"a":2}']
    short = ss.scan_csv(path, single_variant_column="v", max_variant_bytes=11)
    assert [row is None for row in shown(short.to_arrow())] == [False, False]
    shorter = ss.scan_csv(path, single_variant_column="v", max_variant_bytes=10).rejects().to_arrow()
    assert all(reason.endswith("longer than maxVariantBytes=10") for reason in shorter["reason"].to_pylist())
    assert shorter.num_rows == 2


SHAPES = 'a,b,c\n1,"x\ny",2020-01-02\n1.50,,TRUE\nz\n"q ""r""",2,3,4\n\n2020-01-02 03:04:05,-0,"NA"\n'


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    "options",
    [
        {}, {"header": True}, {"header": True, "multi_line": True, "escape": '"'}, {"null_value": "NA"},
        {"max_variant_bytes": "25 B"}, {"prefer_date": False},
    ],
    ids=str,
)  # fmt: skip
def test_the_law_of_cuts_holds(tmp_path: Path, options: dict[str, Any]) -> None:
    scan = ss.scan_csv(written(tmp_path, SHAPES), single_variant_column="v", **options)
    assert check_block_law(scan, range(1, len(SHAPES) + 2)) == 5 + (not options.get("header")) + (
        not options.get("multi_line")
    )


def test_a_value_does_not_depend_on_those_before_it(tmp_path: Path) -> None:
    texts = ["x", "1", "1.5", "2020-01-02", "true", "2020-01-02 10:00:00", "7"]
    path = written(tmp_path, "\n".join(texts + texts[::-1]) + "\n")
    rows = ss.scan_csv(path, single_variant_column="v").to_arrow()["v"].to_pylist()
    types = ValueTypes(Rules())
    assert [row["value"][5:] for row in rows] == [value_of_text(text, types) for text in texts + texts[::-1]]


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        ("v string", {}, r"\[bad-schema\].*'v variant'|v variant"),
        ("v variant, b int", {}, r"of that name and type variant"),
        (None, {"provided_schema": "a int"}, r"\[bad-option\].*providedSchema"),
        (None, {"schema_hints": "v int"}, r"\[bad-option\].*schemaHints=v int"),
        (None, {"rescued_data_column": "r"}, r"\[bad-option\].*rescuedDataColumn=r"),
        (None, {"columns_array": True}, r"columnsArray and singleVariantColumn contradict each other"),
        (None, {"column_options": {"v": {"blankAs": "null"}}}, r"blankAs"),
    ],
)
def test_columns_beside_the_variant_are_refused(
    tmp_path: Path, schema: str | None, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=rf"(?s){message}"):
        ss.scan_csv(written(tmp_path, "1\n"), schema, single_variant_column="v", **options).to_arrow()


def test_a_header_that_is_too_wide_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ss.SchemaError, match=r"more columns than maxColumns=1"):
        ss.scan_csv(written(tmp_path, "a,b\n1,2\n"), header=True, single_variant_column="v", max_columns=1).to_arrow()


MIXED = 'id,v,w\n1,2020-01-02,x\n2,,\n3\n4,1.50,"",y\n,NA,7\nq,true,longer\n'


def test_columns_may_be_variants(tmp_path: Path) -> None:
    """A null is a variant, and a field that there is not is none, as in Spark."""
    path = written(tmp_path, MIXED)
    scan = ss.scan_csv(path, "id int, v variant, w variant", header=True, null_value="NA")
    table = scan.to_arrow()
    assert is_variant(table.schema.field("w").type)
    assert table["id"].to_pylist() == [1, 2, 3, 4, None, None]
    assert shown(table) == ['"2020-01-02"', "null", None, "1.50", "null", "true"]
    assert shown(table.select(["w"]).rename_columns(["v"])) == ['"x"', "null", None, '""', "7", '"longer"']
    assert scan.rejects().to_arrow()["code"].to_pylist() == ["field-count", "field-count", "bad-value"]
    assert shown(scan.select("v").to_arrow()) == shown(table)
    assert scan.select("id").to_arrow()["id"].to_pylist() == table["id"].to_pylist()
    hinted = ss.scan_csv(path, header=True, schema_hints="v variant", null_value="NA").to_arrow()
    assert (shown(hinted)[:2], hinted["w"].to_pylist()[0]) == (['"2020-01-02"', "null"], "x")


def test_headers_and_missing_columns_are_as_those_of_others(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("b,a\n1,x\n")
    (tmp_path / "2.csv").write_text("a\ny\n")
    options = {"header": True, "header_mapping": "byName"}
    table = ss.scan_csv(str(tmp_path), "a string, v variant, b variant", **options).to_arrow()  # type: ignore[arg-type]
    assert table["a"].to_pylist() == ["x", "y"]
    assert shown(table) == [None, None]
    assert shown(table.select(["b"]).rename_columns(["v"])) == ["1", None]


def test_a_field_that_is_too_long_is_a_reject_or_rescued(tmp_path: Path) -> None:
    path, schema = written(tmp_path, "1,abcd\n2,abcde\n3,\n"), "id int, v variant"
    scan = ss.scan_csv(path, schema, max_variant_bytes=5)
    assert shown(scan.to_arrow()) == ['"abcd"', None, "null"]
    assert scan.rejects().to_arrow()["reason"].to_pylist() == [
        "column 'v': 'abcde' is no variant: it is longer than maxVariantBytes=5"
    ]
    rescued = ss.scan_csv(path, schema, max_variant_bytes=5, rescued_data_column="r").to_arrow()
    assert (rescued["r"].to_pylist()[1] or "").startswith('{"v":"abcde"')
    tiny = ss.scan_csv(path, schema, max_variant_bytes=1).to_arrow()
    assert shown(tiny) == [None, None, "null"]


@pytest.mark.parametrize("options", [{}, {"rescued_data_column": "r"}, {"max_variant_bytes": "4 B"}], ids=str)
def test_the_law_of_cuts_holds_where_columns_are_variants(tmp_path: Path, options: dict[str, Any]) -> None:
    scan = ss.scan_csv(written(tmp_path, MIXED), "id int, v variant, w variant", header=True, **options)
    assert check_block_law(scan, range(1, len(MIXED) + 2)) == 6


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        ("v array<variant>", {}, r"a field of CSV is one value.*\[bad-schema\]"),
        ("v struct<a: variant>", {}, r"a field of CSV is one value.*\[bad-schema\]"),
        ("v variant", {"column_options": {"v": {"blankAs": "null"}}}, r"\[bad-option\].*blankAs"),
        (
            "v variant",
            {"column_options": {"v": {"default": "1"}}},
            r"default of column 'v' is no variant.*\[bad-option\]",
        ),
    ],
)
def test_what_no_field_of_csv_is_is_refused(tmp_path: Path, schema: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ss.SplitscanError, match=rf"(?s){message}"):
        ss.scan_csv(written(tmp_path, "1\n"), schema, **options).to_arrow()
