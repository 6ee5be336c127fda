"""XML through whole scans: every block size, damage, and schemas that are found."""

import pytest

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.xml.framing import XmlFormat
from splitscan.testing.scan_laws import check_block_law, check_projection_law

CATALOG = """\ufeff<?xml version="1.0"?>
<!DOCTYPE c [ <!ENTITY e "<book>no</book>"> ]>
<c xmlns:x="u"><!-- <book>no</book> --><note a="<book>"/>
<book id="1"><title>A &amp; é</title><price>1.5</price><a n="1">x</a><when>2020-01-02</when></book>
<book id="2"><title><![CDATA[</book>]]></title><price>2</price><a n="2">y</a><a>z</a><x:q/></book>
<book id="3"><title>&e;</title></book>
<book id="4><title>open</title></book>
<book id="x"><book>inner</book><title> t </title></book></book><book/></c>
"""
SCHEMA = "_id int, title string, a array<struct<_n: int, _VALUE: string>>, _corrupt_record string"
ROWS = [
    (1, "A & é", [{"_n": 1, "_VALUE": "x"}], False),
    (2, "</book>", [{"_n": 2, "_VALUE": "y"}, {"_n": None, "_VALUE": "z"}], False),
    (None, None, None, True),
    (None, None, None, True),
    (None, "t", None, True),
    (None, None, None, True),
    (None, None, None, False),
]


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.xml"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return str(path)

    return write


def test_records_are_read_and_broken_ones_are_kept(write):
    rows = ss.scan_xml(write(CATALOG), "book", SCHEMA).to_arrow().to_pylist()
    assert [(r["_id"], r["title"], r["a"], r["_corrupt_record"] is not None) for r in rows] == ROWS
    assert ss.scan_xml(write(CATALOG), row_tag="book", schema=SCHEMA).count() == len(ROWS)


@pytest.mark.slow
def test_every_block_size_gives_the_same_rows(write):
    scan = ss.scan_xml(write(CATALOG), "book", SCHEMA, read_bytes=64, metadata_columns=["record_offset"])
    assert check_block_law(scan, [1, 2, 3, 7, 16, 50, 100]) == len(ROWS)
    check_projection_law(scan)


def test_columns_are_found(write):
    good = CATALOG[: CATALOG.index('<book id="3"')]
    assert format_ddl(ss.scan_xml(write(good), "book").schema) == (
        "_id bigint, title string, price double, a array<struct<_n: bigint, _VALUE: string>>, when date, `x:q` string"
    )
    assert "when timestamp" in format_ddl(ss.scan_xml(write(good), "book", preferDate=False).schema)
    assert "price decimal(21,1)" in format_ddl(ss.scan_xml(write(good), "book", prefersDecimal=True).schema)
    path = write("<r><a>1</a><b x='1'/><d>t</d></r><r><a>1</a><a>2.5</a><b>t</b><d>true</d></r>", "b.xml")
    assert format_ddl(ss.scan_xml(path, "r").schema) == (
        "a array<double>, b struct<_x: bigint, _VALUE: string>, d string"
    )


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("9223372036854775807", "bigint"), ("-9223372036854775809", "decimal(19,0)"), ("007", "string"),
        ("-01.5", "string"),
        ("9" * 38, "decimal(38,0)"), ("-" + "9" * 38, "decimal(38,0)"),
        ("9" * 39, "string"), ("-" + "9" * 39, "string"),
        ("0." + "9" * 38, "decimal(38,38)"), ("0." + "9" * 39, "double"), ("9." + "9" * 38, "double"),
    ],
)  # fmt: skip
def test_a_number_has_the_type_that_holds_all_its_digits(write, value, found):
    schema = ss.scan_xml(write(f"<r><a>{value}</a></r>"), "r", prefersDecimal=True).schema
    assert format_ddl(schema) == f"a {found}"


@pytest.mark.parametrize(("levels", "structs"), [(49, 49), (50, 50), (51, 50), (102, 50)])
def test_what_is_nested_too_deep_for_a_plan_is_found_as_text(write, levels, structs):
    path = write("<r>" + "<e a='1'>" * levels + "x" + "</e>" * levels + "</r>")
    assert format_ddl(ss.scan_xml(path, "r").schema).count("struct") == structs


def test_where_broken_records_are_kept_they_have_a_column(write):
    path = write("<r><a>1</a></r><r><a></r>")
    assert ss.scan_xml(path, "r").schema.names == ["a", "_corrupt_record"]
    assert ss.scan_xml(path, "r", mode="DROPMALFORMED").schema.names == ["a"]


@pytest.mark.parametrize(("begin", "end"), [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?p ", "?>"), ("<a b='", "'/>")])
def test_what_is_long_between_records_is_passed_over(write, begin, end):
    rejects = []
    scan = ss.scan_xml(
        write(f"<r>1</r>{begin}{'<r>' * 100}{end}<r>2</r>"), "r", "_VALUE int", max_record_bytes=32, read_bytes=8
    )
    rows = [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
    assert (rows, rejects) == ([{"_VALUE": 1}, {"_VALUE": 2}], [])


def test_options_say_what_columns_are_called_and_what_is_null(write):
    path = write("<x:r a='1'><x:b> - </x:b><c d='2'>t</c></x:r>")
    rows = ss.scan_xml(path, "x:r", "a int, b string, c struct<d: int, v: string>", attribute_prefix="", value_tag="v",
                       ignore_namespace=True, null_value="-").to_arrow().to_pylist()  # fmt: skip
    assert rows == [{"a": 1, "b": None, "c": {"d": 2, "v": "t"}}]
    scan = ss.scan_xml(path, "x:r", "_a int, `x:b` string", exclude_attribute=True, ignore_surrounding_spaces=False)
    assert scan.to_arrow().to_pylist() == [{"_a": None, "x:b": " - "}]


def test_a_record_that_never_ends_is_given_up_and_the_next_one_is_read(write):
    rejects = []
    scan = ss.scan_xml(write("<r>1<r>2</r>"), "r", "_VALUE int")
    assert [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()] == [{"_VALUE": 2}]
    assert [(reject.code, reject.offset) for reject in rejects] == [("unfinished-record", 0)]


@pytest.mark.thin(3)
@pytest.mark.parametrize("limits", [{}, {"max_record_bytes": 1000, "read_bytes": 700}])
@pytest.mark.parametrize(
    ("unit", "rows", "given_up"),
    [
        ("<a:r>", 0, 1000),
        ("<a:r/><a:r>", 1000, 1000),
        ("<a:r>1<a:r>2</a:r>", 1000, 1000),
        ("<a:r x='", 0, 500),
        ("<a:r><b '<c \"", 0, 334),
    ],
)
def test_row_tags_that_nobody_closes_are_looked_through_once(write, monkeypatch, limits, unit, rows, given_up):
    framed = []

    def frame(format, data, *, at_end):
        framed.append(len(data))
        return original(format, data, at_end=at_end)

    def open_starts(format, data, longest_bytes):
        framed.append(len(data))
        return starts(format, data, longest_bytes)

    original, starts = XmlFormat.frame, XmlFormat.open_starts
    monkeypatch.setattr(XmlFormat, "frame", frame)
    monkeypatch.setattr(XmlFormat, "open_starts", open_starts)
    monkeypatch.setenv("SPLITSCAN_ENGINE", "reference")
    path, rejects = write(unit * 1000), []
    scan = ss.scan_xml(path, "a:r", "_VALUE int", **limits)
    found = sum(batch.num_rows for batch in scan.to_batches(rejects.append))
    assert sum(framed) < 40 * 1000 * len(unit)
    assert (found, len(rejects)) == (rows, given_up)


@pytest.mark.parametrize(
    ("content", "length"),
    [("1" * 5000 + "</r >", 5008), ("1" * 5000, 5003), ("<![CDATA[</r>" + "1" * 5000 + "]]></r>x", 5023)],
)
@pytest.mark.parametrize("read_bytes", [100, 1 << 20])
def test_a_record_that_is_too_long_is_given_up_to_its_end_or_to_the_next_one(write, content, length, read_bytes):
    rejects = []
    path = write(f"<r>{content}<r>2</r>")
    scan = ss.scan_xml(path, "r", "_VALUE int", max_record_bytes=1024, read_bytes=read_bytes)
    assert [row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()] == [{"_VALUE": 2}]
    assert [(reject.code, reject.offset, reject.length_bytes) for reject in rejects] == [("record-too-long", 0, length)]


@pytest.mark.parametrize(
    "options",
    [{"encoding": "GBK"}, {"rowTag": "<r>"}, {"rowTag": None}, {"rowValidationXSDPath": "a.xsd"},
     {"wildcardColName": "rest"}],
)  # fmt: skip
def test_what_xml_cannot_do_is_refused(write, options):
    with pytest.raises(UsageError):
        ss.scan(write("<r/>"), "xml", "a int", **{"rowTag": "r", **options}).to_arrow()


RESCUED = """<c><r n="1"><a>5</a><s><x>1</x></s><l>1</l><m k="1"/></r>
<r n="z"><a u="EUR">6</a><s><x>q</x><y>2</y></s><l>1</l><l>no</l><m k="o"/><more/><t>"<b>1</b>é</t></r>
<r><a>1</a><a>2</a><s v="w">text</s><l/></r><r><a></r></c>"""
RESCUE_SCHEMA = "_n int, a int, s struct<x: int>, l array<int>, m map<string, int>, rest string"


@pytest.mark.parametrize("block_size", [1, 7, 10_000])
def test_what_does_not_fit_is_kept_as_json(write, tmp_path, block_size):
    scan = ss.scan_xml(
        write(RESCUED), "r", RESCUE_SCHEMA, rescued_data_column="rest", mode="DROPMALFORMED", block_size=block_size
    )
    rows = scan.to_arrow().to_pylist()
    where = f',"_file_path":"{tmp_path}/a.xml"}}'
    assert [row["rest"] for row in rows] == [
        None,
        '{"_n":"z","a":{"_u":"EUR","_VALUE":"6"},"s":{"x":"q","y":"2"},"l":["1","no"],"m":{"_k":"o"},"more":null,'
        '"t":{"_VALUE":["\\"","é"],"b":"1"}' + where,
        '{"a":["1","2"],"s":{"_v":"w","_VALUE":"text"}' + where,
    ]
    assert [(row["_n"], row["a"], row["s"]) for row in rows] == [
        (1, 5, {"x": 1}), (None, 6, {"x": None}), (None, 2, {"x": None}),
    ]  # fmt: skip


def test_rescued_data_does_not_depend_on_the_projection_and_is_no_fault(write):
    path = write(RESCUED)
    scan = ss.scan_xml(path, "r", RESCUE_SCHEMA, rescued_data_column="rest")
    assert scan.select("rest").to_arrow()["rest"] == scan.to_arrow()["rest"]
    rejects = []
    for columns in (("a",), ("a", "rest")):
        list(scan.select(*columns).to_batches(rejects.append))
    assert [reject.code for reject in rejects] == ["bad-xml", "bad-xml"]
    check_projection_law(scan)


def test_elements_nested_beyond_all_measure_are_rescued(write):
    deep = "<e>" * 20_000 + "x" + "</e>" * 20_000
    rest = ss.scan_xml(write(f"<r>{deep}</r>"), "r", "a int", rescued_data_column="rest").to_arrow()["rest"][0].as_py()
    assert rest.count("<e>") + rest.count('"e":') == 20_000


def test_the_pattern_of_a_column_says_whether_its_value_fits(write):
    scan = ss.scan_xml(
        write("<r><d>31/01/2024</d><e>2024-01-31</e></r><r><d>2024-01-31</d><e>31/01/2024</e></r>"), "r",
        "d date, e date", column_options={"d": {"format": "dd/MM/yyyy"}}, rescued_data_column="rest",
    )  # fmt: skip
    first, second = scan.to_arrow()["rest"].to_pylist()
    assert first is None
    assert second.startswith('{"d":"2024-01-31","e":"31/01/2024",')
