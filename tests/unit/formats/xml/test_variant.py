"""Elements as variants: the bytes that Spark's ``singleVariantColumn`` writes, and where Spark loses data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.formats.decoding.contract import is_variant
from splitscan.formats.decoding.variant import variant_as_json
from splitscan.testing import check_block_law


def scanned(folder: Path, text: str, **options: Any) -> Any:
    path = folder / "a.xml"
    path.write_text(f"<rows>{text}</rows>")
    options = {"single_variant_column": "v", **options} if "schema" not in options else options
    return ss.scan_xml(str(path), "r", **options)


def shown(table: pa.Table, column: str = "v") -> list[str | None]:
    return [row and variant_as_json(**row) for row in table[column].to_pylist()]


@pytest.mark.parametrize(
    ("record", "value", "metadata"),
    [
        ("<r>5</r>", "0c05", "010000"),
        ("<r/>", "00", "010000"),
        ("<r> </r>", "00", "010000"),
        ("<r a='1'>x</r>", "020201000200040c010578", "01020002085f615f56414c5545"),
        ("<r>a<b/>c</r>", "0202000100090a03020002040561056300", "01020006075f56414c554562"),
        ("<r>x<![CDATA[y]]>z</r>", "0d78797a", "010000"),
        ("<r><_VALUE>1</_VALUE>x<b/></r>", "0202000100090a03020002040c01057800", "01020006075f56414c554562"),
        ("<r><_VALUE>1</_VALUE></r>", "0c01", "010000"),
        ("<r><_VALUE><b>1</b><A>2</A></_VALUE></r>", "020200010002040c020c01", "010200010241622"[:-1]),
        (
            "<r><b>1</b><A>2</A><a>3</a><_x>4</_x></r>",
            "020301000202000b0d0c0403020002040c020c030c01",
            "0103000203045f784162",
        ),
        (
            "<r _y='3'><q><b>1</b><A>2</A><a>3</a><_x>4</_x><C/></q></r>",
            "0202000100021b0c0302040203040500090a0c0e03020002040c020c03000c040c01",
            "0106000304050608095f5f797141435f7862",
        ),
        ("<r a='1' B='2' c='3' D='4' e='5' b='6' x='7'/>",
            "0206010300020405020d000b0f11130c0103020002040c020c060c030c040c050c07",
            "010600020406080a0c5f615f425f635f445f655f78"),
        ("<r><É>1</É><é>2</é><ß>1</ß><SS>2</SS></r>", None, None),
        ("<r xmlns:n='u' n:a='1'><n:b>1</n:b></r>",
            "0203000102000204060c0105750c01", "010300040c0f5f6e3a615f786d6c6e733a6e6e3a62"),
        ("<r><r>1</r></r>", "02010000020c01", "0101000172"),
        ("<r a='1\n2&#10;3'>a\r\nb</r>", "0202010006000a153120320a330d610a62", "01020002085f615f56414c5545"),
        ("<r>\u00a01</r>", "0dc2a031", "010000"),
        ("<r>\u00a0</r>", "09c2a0", "010000"),
        ("<r>1,234.5</r>", "200139300000", "010000"),
        ("<r>2020-01-02</r>", "29323032302d30312d3032", "010000"),
        ("<r>007</r>", "0c07", "010000"),
        ("<r>1.</r>", "200001000000", "010000"),
        ("<r>TRUE</r>", "04", "010000"),
    ],
)  # fmt: skip
def test_records_have_the_bytes_of_spark(tmp_path: Path, record: str, value: str | None, metadata: str | None) -> None:
    row = scanned(tmp_path, record).to_arrow()["v"].to_pylist()[0]
    if value is None:
        assert variant_as_json(**row) == '{"SS":2,"É":[1,2],"ß":1}'
        return
    assert (row["value"].hex(), row["metadata"].hex()) == (value, metadata)


@pytest.mark.parametrize(
    ("record", "options", "expected"),
    [
        ("<r a=' NA '>NA<b> 7 </b></r>", {"null_value": "NA"}, '{"_VALUE":null,"_a":null,"b":7}'),
        ("<r a=' NA '>NA</r>", {"null_value": "NA", "ignore_surrounding_spaces": False}, '{"_VALUE":null,"_a":" NA "}'),
        ("<r a=' 1 '><b> 1 </b></r>", {"ignore_surrounding_spaces": False}, '{"_a":" 1 ","b":" 1 "}'),
        ("<r a=''><b></b><c><![CDATA[ ]]></c></r>", {}, '{"_a":"","b":null,"c":null}'),
        ("<r a='1'><b x='1'/></r>", {"exclude_attribute": True}, '{"b":null}'),
        ("<r a='1'> 5 </r>", {"exclude_attribute": True}, "5"),
        ("<r n:a='1' m:a='2'><n:b>1</n:b><m:b/></r>", {"ignore_namespace": True}, '{"_a":2,"b":[1,null]}'),
        ("<r a='1' n:A='2' m:a='3'/>", {"ignore_namespace": True}, '{"_a":[3,2]}'),
        ("<r a='1' _a='2'/>", {"attribute_prefix": ""}, '{"_a":2,"a":1}'),
        ("<r a='1'>x</r>", {"attribute_prefix": "@", "value_tag": "#"}, '{"#":"x","@a":1}'),
        ("<r><a>1</a>x</r>", {"value_tag": "A"}, '{"a":[1,"x"]}'),
        ("<r>1,5</r>", {"locale": "de"}, "1.5"),
        ("<r>1.234</r>", {"locale": "de"}, "1234"),
    ],
)
def test_options_say_what_members_there_are(
    tmp_path: Path, record: str, options: dict[str, Any], expected: str
) -> None:
    assert shown(scanned(tmp_path, record, **options).to_arrow()) == [expected]


@pytest.mark.parametrize(
    ("record", "options", "expected"),
    [
        ("<r>x<!--c-->y<?p q?>z</r>", {}, '"xyz"'),
        ("<r><_VALUE>1</_VALUE><_VALUE>2</_VALUE></r>", {}, "[1,2]"),
        ("<r _VALUE='1'>2</r>", {"attribute_prefix": ""}, "[1,2]"),
        ("<r><a> NA </a></r>", {"null_value": "NA"}, '{"a":null}'),
        ("<r>1,5</r>", {}, '"1,5"'),
        ("<r>\u0663</r>", {}, '"\u0663"'),
    ],
)
def test_nothing_is_lost_that_spark_loses(tmp_path: Path, record: str, options: dict[str, Any], expected: str) -> None:
    """Spark's answers are in ``tests/spark/test_variant.py``."""
    assert shown(scanned(tmp_path, record, **options).to_arrow()) == [expected]


def test_broken_records_and_modes(tmp_path: Path) -> None:
    text = "<r>1</r><r><a></r><r a='1'>&x;</r><r><b>2</b></r>"
    table = scanned(tmp_path, text).to_arrow()
    assert is_variant(table.schema.field("v").type)
    assert shown(table) == ["1", None, None, '{"b":2}']
    scan = scanned(tmp_path, text)
    assert scan.count() == 4
    assert scan.rejects().to_arrow()["code"].to_pylist() == ["bad-xml", "bad-xml"]
    kept = ss.scan_xml(tmp_path / "a.xml", "r", "v variant, _corrupt_record string", single_variant_column="v")
    assert kept.to_arrow()["_corrupt_record"].to_pylist() == [None, "<r><a></r>", "<r a='1'>&x;</r>", None]
    assert shown(scanned(tmp_path, text, mode="DROPMALFORMED").to_arrow()) == ["1", '{"b":2}']


def test_bounds(tmp_path: Path) -> None:
    def reasons(text: str, **options: Any) -> list[str]:
        rejects = scanned(tmp_path, text, **options).rejects().to_arrow()
        return [each.partition(" is no ")[2] for each in rejects["reason"].to_pylist()]

    assert reasons("<r>" + "<a>" * 1000 + "</a>" * 1000 + "</r>") == []
    deep = "<r>" + "<a>" * 1001 + "</a>" * 1001 + "</r>"
    assert reasons(deep) == ["variant: it has more than 1000 objects and arrays inside each other"]
    assert reasons("<r>" + "<_VALUE>" * 5000 + "1" + "</_VALUE>" * 5000 + "</r>") == []
    assert reasons("<r>abcd</r><r>abcde</r>", max_variant_bytes=5) == ["variant: it is longer than maxVariantBytes=5"]


PARTS = (
    "<r id='1'><a>x</a><A>2</A><s k='q'>7<v>1.50</v> t </s></r><r/><!-- <r> --><r>\n 5 \n</r><r><a></r>"
    "<r><a><b><c/></b></a><a>é</a><_id>2</_id></r><r a='1'>x<![CDATA[<r>]]>y</r><r>true</r>"
)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"exclude_attribute": True}, {"max_variant_bytes": "12 B"}, {"ignore_namespace": True},
        {"schema": "id variant, _id variant, a array<variant>, s variant"},
        {"schema": "a variant, s struct<v: variant, _k: variant>", "rescued_data_column": "rest"},
    ],
    ids=str,
)  # fmt: skip
def test_the_law_of_cuts_holds(tmp_path: Path, options: dict[str, Any]) -> None:
    scan = scanned(tmp_path, PARTS, **options)
    assert check_block_law(scan, range(1, len(f"<rows>{PARTS}</rows>".encode()) + 2)) == 7


def test_columns_may_be_variants(tmp_path: Path) -> None:
    text = "<r a='1'><v x='2'>3</v><v>4</v><m><k>5</k><k>6</k></m><s><b> 7 </b>t</s></r><r/><r><v/>8</r>"
    schema = "_a variant, v variant, m map<string, variant>, s struct<b: variant>, _VALUE variant"
    table = scanned(tmp_path, text, schema=schema).to_arrow()
    assert [shown(table, name) for name in ("_a", "v", "_VALUE")] == [
        ["1", None, None], ["4", None, "null"], [None, None, "8"],
    ]  # fmt: skip
    first = table.to_pylist()[0]
    assert variant_as_json(**first["s"]["b"]) == "7"
    assert [(name, variant_as_json(**value)) for name, value in first["m"]] == [("k", "6")]
    blank = scanned(tmp_path, "<r a=' '/>", schema="_a array<array<variant>>").to_arrow()["_a"].to_pylist()
    assert variant_as_json(**blank[0][0][0]) == '""'
    each = scanned(tmp_path, text, schema="v array<variant>").to_arrow()["v"].to_pylist()
    assert [variant_as_json(**value) for value in each[0]] == ['{"_VALUE":3,"_x":2}', "4"]


def test_what_a_column_of_variants_does_not_hold_is_rescued(tmp_path: Path) -> None:
    text = "<r><v x='2'><b/>3</v></r><r><v>1</v><v>2</v></r><r><v>longer</v><w/></r>"
    options = {"schema": "v variant", "rescued_data_column": "rest", "max_variant_bytes": 12}
    table = scanned(tmp_path, text, **options).to_arrow()
    assert shown(table) == [None, "2", '"longer"']
    rest = [each and each.partition(',"_file_path"')[0] for each in table["rest"].to_pylist()]
    assert rest == ['{"v":{"_x":"2","_VALUE":"3","b":null}', '{"v":["1","2"]', '{"w":null']


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        ("v string", {}, r"\[bad-schema\].*'v variant'|v variant"),
        ("v variant, b int", {}, r"of that name and type variant"),
        (None, {"schema_hints": "v int"}, r"\[bad-option\].*schemaHints=v int"),
        (None, {"rescued_data_column": "r"}, r"\[bad-option\].*rescuedDataColumn=r"),
        (None, {"variant_allow_duplicate_keys": True}, r"\[unknown-option\]"),
    ],
)
def test_columns_beside_the_variant_are_refused(
    tmp_path: Path, schema: str | None, options: dict[str, Any], message: str
) -> None:
    (tmp_path / "a.xml").write_text("<r>1</r>")
    with pytest.raises(UsageError, match=rf"(?s){message}"):
        ss.scan_xml(tmp_path / "a.xml", "r", schema, single_variant_column="v", **options).to_arrow()
