"""CSV records to columns: both engines give the same rows."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from splitscan.formats.csv.decoder import CsvDecoder, CsvLayout
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.formats.decoding.values import Rescue
from splitscan.formats.framing.encodings import resolve_encoding

UTF_8 = resolve_encoding("UTF-8")
LINES = CsvGrammar(UTF_8)


def decode(
    text: str | bytes, ddl: str, wanted: list[str] | None = None, **settings: Any
) -> tuple[list[Any], list[Any]]:
    """Rows and faults of one buffer."""
    schema = parse_ddl(ddl)
    dialect_settings = {name: settings.pop(name) for name in list(settings) if name in CsvGrammar.__dataclass_fields__}
    dialect = CsvGrammar(**{"encoding": UTF_8, "escape": '"', "multi_line": True, **dialect_settings})
    names = tuple(schema.names)
    settings |= {name: True for name in dialect_settings if name == "trim_leading"}
    order = tuple(range(len(names))) if wanted is None else tuple(names.index(name) for name in wanted)
    rules = Rules(**{name: settings.pop(name) for name in list(settings) if name in Rules.__dataclass_fields__})
    decoder = CsvDecoder(dialect, CsvLayout(names, tuple(schema.types), order), rules, **settings)
    data = memoryview(text.encode(dialect.encoding.codec) if isinstance(text, str) else text)
    frames = QuotedFormat(dialect).frame(data, at_end=True)
    assert frames.next_start == len(data), "a case is one buffer of complete records"
    decoded = decoder.decode(data, frames)
    assert [field.type for field in (schema.field(i) for i in order)] == [column.type for column in decoded.columns]
    rows = [list(row) for row in zip(*(column.to_pylist() for column in decoded.columns), strict=True)]
    return rows, [(fault.record, fault.code) for fault in decoded.faults]


def test_a_chunk_that_begins_with_a_byte_order_mark_keeps_it() -> None:
    assert decode("\ufeffa,1\n\ufeffb,2\n", "x string, y int") == ([["\ufeffa", 1], ["\ufeffb", 2]], [])


def test_an_empty_last_field_behind_a_quoted_one_is_null_also_without_a_final_terminator() -> None:
    for end in ("", "\n", "\r\n"):
        assert decode(f'1,"a",\n2,"b",{end}', "x int, y string, z int", null_value="NA") == (
            [[1, "a", None], [2, "b", None]],
            [],
        )
    assert decode('1,"a",@2,"b",', "x int, y string, z int", line_sep="@", null_value="NA")[1] == []


def test_a_decimal_with_too_many_digits_is_refused_however_it_is_written() -> None:
    rows, faults = decode("1e3\n999.99\n1000\n-1e3\n", "x decimal(5,2)")
    assert [row[0] is None for row in rows] == [True, False, True, True]
    assert faults == [(0, "bad-value"), (2, "bad-value"), (3, "bad-value")]


def test_a_decimal_keeps_all_its_digits_also_beside_a_bad_value() -> None:
    digits = "12345678901234567890123456789012345.678"
    rows, faults = decode(f"{digits}\nx\n", "x decimal(38,3)")
    assert [str(rows[0][0]), rows[1][0], faults] == [digits, None, [(1, "bad-value")]]


def test_a_ragged_record_that_is_no_text_breaks_only_itself() -> None:
    rows, faults = decode(b"1,a\n\xf0\x9f\n2,b\nx\xc3,3,4\n", "x string, y string")
    assert rows == [["1", "a"], ["\ufffd", None], ["2", "b"], ["x\ufffd", "3"]]
    assert faults == [(1, "field-count"), (3, "field-count")]


def test_bytes_that_are_no_text_become_replacement_characters_in_every_type() -> None:
    rows, faults = decode(b"a\xff,b\xff,1\xff\n", "x string, y binary, z int")
    assert rows == [["a\ufffd", "b\ufffd".encode(), None]]
    assert faults == [(0, "bad-value")]


def test_a_null_in_quotes_is_null_in_columns_that_are_no_text() -> None:
    assert decode('"NA","NA"\nNA,NA\n"1","1"\n', "x int, y string", null_value="NA") == (
        [[None, None], [None, None], [1, "1"]],
        [],
    )
    assert decode('"0",a\n', "x boolean, y string", null_value="0") == ([[None, "a"]], [])


def test_a_quoted_empty_field_is_the_empty_value_also_as_bytes() -> None:
    assert decode('"",""\n,\n', "x string, y binary", null_value="NA", empty_value="EMPTY") == (
        [["EMPTY", b"EMPTY"], [None, None]],
        [],
    )
    assert decode('""|x\n|y\n', "x string, y string", sep="|") == ([[None, "x"], [None, "y"]], [])


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp_ntz"])
def test_the_year_0_is_no_time_that_every_engine_knows(kind: str) -> None:
    rows, faults = decode("0000-01-01\n0001-01-01\n9999-12-31\n", f"x {kind}")
    assert [row[0] is None for row in rows] == [True, False, False]
    assert faults == [(0, "bad-value")]


def test_a_moment_that_leaves_the_calendar_in_utc_is_refused() -> None:
    rows, faults = decode("9999-12-31 23:30:00\n0001-01-01 00:00:00\n", "x timestamp", time_zone="-01:00")
    assert [row[0] is None for row in rows] == [True, False]
    assert faults == [(0, "bad-value")]
    assert decode("0001-01-01 00:00:00\n", "x timestamp", time_zone="Europe/Berlin")[1] == [(0, "bad-value")]


def test_local_times_become_moments_of_their_zone() -> None:
    text = "2021-01-01 00:00:00\n2021-07-01 00:00:00\n2021-10-31 02:30:00\n2021-03-28 02:30:00\n2021-01-01T00:00:00Z\n"
    rows, faults = decode(text, "x timestamp", time_zone="Europe/Berlin")
    assert faults == []
    assert [row[0].strftime("%m-%dT%H:%M") for row in rows] == [
        "12-31T23:00", "06-30T22:00", "10-31T00:30", "03-28T01:30", "01-01T00:00",
    ]  # fmt: skip


def test_faults_of_records_that_only_the_reference_reads_stand_beside_those_of_the_others() -> None:
    text = (
        "x,2020-01-01 00:00:00\n1,2020-01-01\n2,2020-01-01 00:00:00 No/Where\n3,2020-01-01 00:00:00 Asia/Tokyo\n4,y\n"
    )
    rows, faults = decode(text, "n int, t timestamp")
    assert [row[0] for row in rows] == [None, 1, 2, 3, 4]
    assert [row[1] is None for row in rows] == [False, False, True, False, True]
    assert faults == [(0, "bad-value"), (2, "bad-value"), (4, "bad-value")]


@pytest.mark.parametrize("max_field_chars", [None, 10])
def test_rescued_are_fields_without_a_column_and_values_that_do_not_fit(max_field_chars: Any) -> None:
    layout = CsvLayout(("a", "b", "c"), (pa.int32(), pa.string(), pa.string()), wanted=(0, 2), unmatched=(1,))
    decoder = CsvDecoder(LINES, layout, max_field_chars=max_field_chars, rescue=Rescue("f.csv", 5))
    data = memoryview(b"1,x,y\n2,,z\nq,,w\n3,,y,more\n")
    decoded = decoder.decode(data, QuotedFormat(LINES).frame(data, at_end=True))
    assert [column.to_pylist() for column in decoded.columns] == [[1, 2, None, 3], ["y", "z", "w", "y"]]
    kept = ['{"b":"x",', None, '{"a":"q",', '{"_c3":"more",']
    assert decoded.rescued.to_pylist() == [each and each + '"_file_path":"f.csv"}' for each in kept]


@pytest.mark.parametrize("before", [b"", b"x", b"\n" * 1000])
def test_records_in_the_middle_of_a_buffer_are_read_where_they_are(before: bytes) -> None:
    data = memoryview(before + b"1,a\n22,bb\n")[len(before) :]
    decoder = CsvDecoder(LINES, CsvLayout(("x", "y"), (pa.int32(), pa.string()), (0, 1)))
    decoded = decoder.decode(data, QuotedFormat(LINES).frame(data, at_end=True))
    assert [column.to_pylist() for column in decoded.columns] == [[1, 22], ["a", "bb"]]


def test_summer_time_goes_on_after_2037() -> None:
    times = ["2020-07-01 00:00:00", "2036-07-01 00:00:00", "2037-07-01 00:00:00", "2100-07-01 00:00:00"]
    rows, faults = decode("\n".join(times), "x timestamp", time_zone="America/New_York")
    assert faults == []
    assert [row[0].hour for row in rows] == [4, 4, 4, 4]


def test_patterns_are_used_for_their_own_kind_of_column() -> None:
    rows, faults = decode(
        "31/01/2020,01.02.2020 10:11,2020-01-01\n",
        "d date, t timestamp, n timestamp_ntz",
        date_format="dd/MM/yyyy",
        timestamp_format="dd.MM.yyyy HH:mm",
    )
    assert faults == []
    assert [value.isoformat() for value in rows[0]] == [
        "2020-01-31",
        "2020-02-01T10:11:00+00:00",
        "2020-01-01T00:00:00",
    ]


def test_white_space_is_trimmed_only_outside_of_quotes() -> None:
    text = ' a ," b ", 1\n'
    columns = "x string, y string, z int"
    assert decode(text, columns)[0] == [[" a ", " b ", 1]]
    assert decode(text, columns, trim_leading=True)[0] == [["a ", " b ", 1]]
    assert decode(text, columns, trim_trailing=True)[0] == [[" a", " b ", 1]]


def test_white_space_alone_is_null_when_it_is_trimmed() -> None:
    assert decode("  ,x\n", "x string, y string", trim_leading=True)[0] == [[None, "x"]]
    assert decode("  ,x\n", "x string, y string")[0] == [["  ", "x"]]


def test_a_field_that_is_too_long_breaks_its_record_whatever_columns_are_wanted() -> None:
    for wanted in ([], ["x"], ["y"]):
        assert decode("a,bbbb\nc,ddd\n", "x string, y string", wanted, max_field_chars=3)[1] == [(0, "field-too-long")]


def test_ragged_records_are_reported_whatever_columns_are_wanted_and_filled_or_cut() -> None:
    text = "1,2\n3\n4,5,6\n7,8\n"
    assert decode(text, "x int, y int") == (
        [[1, 2], [3, None], [4, 5], [7, 8]],
        [(1, "field-count"), (2, "field-count")],
    )
    for wanted in ([], ["x"], ["y", "x"]):
        assert decode(text, "x int, y int", wanted)[1] == [(1, "field-count"), (2, "field-count")]


def test_more_ragged_records_than_arrow_may_report_are_read_all_the_same() -> None:
    text = "1,2\n" + "3\n" * 5000 + "4,5\n"
    rows, faults = decode(text, "x int, y int")
    assert (len(rows), len(faults), rows[0], rows[-1]) == (5002, 5000, [1, 2], [4, 5])


def test_a_separator_of_several_characters_is_read_like_one_of_one() -> None:
    text = 'a||"b||c"||1\n"||"||d|e||2\n'
    assert decode(text, "x string, y string, z int", sep="||")[0] == [["a", "b||c", 1], ["||", "d|e", 2]]
    tight = "a~|~1\x1f\n"
    assert decode(tight, "x string, y string", sep="~|~")[0] == [["a", "1\x1f"]]


def test_escapes_in_quotes_hide_quotes_and_escapes_and_are_data_elsewhere() -> None:
    text = '"a\\"b","c\\\\","d\\n",e\\f\n'
    assert decode(text, "a string, b string, c string, d string", escape="\\")[0] == [['a"b', "c\\", "d\\n", "e\\f"]]


def test_clean_data_is_what_duckdb_reads() -> None:
    lines = [
        f'{i},"text ""{i}"", with\nnewline",{i / 7:.6f},{i % 2 == 0},2024-{i % 12 + 1:02d}-{i % 28 + 1:02d},{i}.25'
        for i in range(500)
    ]
    text = "\n".join(lines) + "\n"
    rows, faults = decode(text, "i bigint, s string, f double, b boolean, d date, m decimal(18,2)")
    connection = duckdb.connect()
    columns = "{'i':'BIGINT','s':'VARCHAR','f':'DOUBLE','b':'BOOLEAN','d':'DATE','m':'DECIMAL(18,2)'}"
    query = f"select * from read_csv('memory://x.csv', header=false, quote='\"', escape='\"', columns={columns})"
    expected = _query_text(connection, query, text)
    assert faults == []
    assert [tuple(row) for row in rows] == expected


def _query_text(connection: Any, query: str, text: str) -> list[Any]:
    import fsspec

    files = fsspec.filesystem("memory")
    files.pipe("/x.csv", text.encode())
    connection.register_filesystem(files)
    return connection.sql(query).fetchall()
