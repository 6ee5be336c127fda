"""Columns of fixed width through whole scans: lines and records without line ends, every block, short records."""

import datetime as dt
from decimal import Decimal

import pytest

import splitscan as ss
from splitscan.formats.decoding.contract import format_ddl
from splitscan.testing.scan_laws import check_block_law, check_projection_law

LAYOUT = "id 1 3 int, name 4 5, `paid on` 9 8 date, sum 17 6 decimal(8,2)"
GOOD = "  1 Ada 20240131  1.50\n 20é☃   20240201-12.25\n  3\t    20240202      \n"
ROWS = [
    {"id": 1, "name": "Ada", "paid on": dt.date(2024, 1, 31), "sum": Decimal("1.50")},
    {"id": 20, "name": "é☃", "paid on": dt.date(2024, 2, 1), "sum": Decimal("-12.25")},
    {"id": 3, "name": None, "paid on": dt.date(2024, 2, 2), "sum": None},
]
BROKEN = GOOD + "  x Bob 20240131     1\n  5 Cy  20240131  7\n  6 Di\n\n"


@pytest.fixture
def write(tmp_path):
    def write(data, encoding="utf-8"):
        path = tmp_path / "a.txt"
        path.write_bytes(data.encode(encoding))
        return str(path)

    return write


def scan(path, **options):
    return ss.scan_fixed_width(path, options.pop("layout", LAYOUT), date_format="yyyyMMdd", **options)


def test_the_layout_says_columns_and_types(write):
    found = scan(write(GOOD))
    assert format_ddl(found.schema) == "id int, name string, `paid on` date, sum decimal(8,2)"
    assert found.to_arrow().to_pylist() == ROWS
    assert found.select("sum", "id").to_arrow().to_pylist()[0] == {"sum": Decimal("1.50"), "id": 1}
    by_name = ss.scan(write(GOOD), "fixedWidth", layout=LAYOUT, dateFormat="yyyyMMdd")
    assert by_name.to_arrow().to_pylist() == ROWS
    listed = [("id", 1, 3, "int"), ("name", 4, 5)]
    assert scan(write(GOOD), layout=listed).to_arrow().to_pylist() == [
        {name: row[name] for name in ("id", "name")} for row in ROWS
    ]
    assert scan(write(GOOD), schema="NAME string, id bigint").to_arrow().to_pylist()[1] == {"NAME": "é☃", "id": 20}


def test_other_encodings_and_line_ends(write):
    for encoding in ("utf-16", "utf-32-le", "utf-8-sig"):
        named = {"utf-8-sig": "UTF-8"}.get(encoding, encoding)
        assert scan(write(GOOD, encoding), encoding=named).to_arrow().to_pylist() == ROWS
    assert scan(write(GOOD.replace("\n", "||")), line_sep="||").to_arrow().to_pylist() == ROWS


@pytest.mark.parametrize(
    ("mode", "ids"), [("PERMISSIVE", [1, 20, 3, None, 5, 6, None]), ("DROPMALFORMED", [1, 20, 3, None, 5])]
)
def test_short_records_and_bad_values_are_rejects_by_mode(write, mode, ids):
    rejects = []
    found = scan(write(BROKEN), mode=mode)
    rows = [row for batch in found.to_batches(rejects.append) for row in batch.to_pylist()]
    assert [row["id"] for row in rows] == ids
    assert found.select("name").count() == found.count() == len(ids)
    assert [reject.code for reject in rejects] == ["bad-value", "short-record", "short-record"]
    assert rejects[1].reason == "the record ends at place 6, and column 'sum' begins at 17"
    with pytest.raises(ss.SplitscanError, match=r"short-record|bad-value"):
        scan(write(BROKEN), mode="FAILFAST").to_arrow()


def test_what_does_not_convert_is_rescued(write):
    found = scan(write(BROKEN), rescued_data_column="rest").to_arrow().to_pylist()
    assert [(row["rest"] or "")[:9] for row in found[2:5]] == ["", '{"id":"x"', ""]


def test_records_without_line_ends_count_bytes(write):
    path = write(" 1abc\xff 2\xc3\xa9\n\x00 3", "latin-1")
    found = ss.scan_fixed_width(path, "id 1 2 int, raw 3 3 binary, text 3 3", record_length=6)
    rejects = []
    rows = [tuple(row.values()) for batch in found.to_batches(rejects.append) for row in batch.to_pylist()]
    assert rows == [(1, b"abc", "abc"), (2, b"\xc3\xa9\n", "\u00e9"), (3, None, None)]
    assert [(reject.code, reject.offset) for reject in rejects] == [("short-record", 12)]
    check_block_law(found, [1, 4, 6, 7])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_every_block_size_gives_the_same_rows(write, mode):
    found = scan(write(BROKEN), mode=mode, read_bytes=8, metadata_columns=["record_offset"])
    check_block_law(found, [1, 2, 3, 7, 23, 24, 50])
    check_projection_law(found)


def test_blanks_and_nulls_are_what_the_options_say(write):
    path = write(" a - \n")
    kept = {"ignore_leading_white_space": False, "ignore_trailing_white_space": False}
    layout = "a 1 3, b 4 2"
    assert ss.scan_fixed_width(path, layout, null_value="-").to_arrow().to_pylist() == [{"a": "a", "b": None}]
    assert ss.scan_fixed_width(path, layout, **kept).to_arrow().to_pylist() == [{"a": " a ", "b": "- "}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "a 0 3"}, "first place of a record is 1"),
        ({"layout": "a 1"}, "name start length"),
        ({"layout": "a 1 2, A 3 4"}, "name start length"),
        ({"layout": [("a", 1, "x")]}, "name start length"),
        ({"layout": "a 1 2", "record_length": 1}, "a ends at byte 2"),
        ({"layout": "a 1 2", "record_length": 2, "line_sep": "|"}, "lineSep"),
        ({"layout": "a 1 2 strange"}, "strange"),
        ({"layout": "a 1 2", "schema": "b int"}, "layout of a"),
        ({"layout": "a 1 2", "schema": "a array<int>"}, "one value"),
    ],
)
def test_what_has_no_meaning_is_refused(write, options, message):
    with pytest.raises(ss.SplitscanError, match=message):
        ss.scan_fixed_width(write("ab\n"), options.pop("layout"), **options).to_arrow()
