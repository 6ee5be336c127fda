"""Extended logs of the W3C: columns by a line of the file, in every block; other columns later are refused."""

import datetime as dt
import gzip

import pytest

import splitscan as ss
from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.log.options import LogOptions
from splitscan.formats.log.w3c import framing_of
from splitscan.reading.block_scan import open_reader
from splitscan.testing.scan_laws import check_block_law, check_projection_law, cut_blocks

FIELDS = "#Fields: date time cs(User-Agent) sc-status time-taken\r\n"
HEAD = "#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n#Date: 2024-01-31\r\n" + FIELDS
ROWS = (
    '2024-01-31 10:00:00 Mozilla/5.0+(X) 200 12\r\n2024-01-31\t10:00:01\t"a ""b"" c"\t404\t0.25\r\n'
    "2024-02-01 10:00:02 - - -\r\n"
)


@pytest.fixture
def scan(tmp_path):
    def scan(text, *args, name="a.log", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return ss.scan_log(str(path), *args, log_format="w3c", **options)

    return scan


def codes(scan):
    return scan.rejects().to_arrow()["code"].to_pylist()


def test_a_line_of_the_file_names_the_columns(scan):
    found = scan(HEAD + ROWS)
    ddl = "date date, time string, `cs(User-Agent)` string, `sc-status` int, `time-taken` double"
    assert format_ddl(found.schema) == ddl
    assert [tuple(row.values()) for row in found.to_arrow().to_pylist()] == [
        (dt.date(2024, 1, 31), "10:00:00", "Mozilla/5.0+(X)", 200, 12.0),
        (dt.date(2024, 1, 31), "10:00:01", 'a "b" c', 404, 0.25),
        (dt.date(2024, 2, 1), "10:00:02", None, None, None),
    ]
    assert (found.count(), codes(found)) == (3, [])
    assert scan(HEAD + ROWS, "`sc-status` string").to_arrow().to_pylist()[0] == {"sc-status": "200"}


@pytest.mark.thin(1)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_block_size_gives_the_same(scan, end):
    text = (HEAD + ROWS + "# a comment\r\n" + HEAD + "one two\r\n" + ROWS).replace("\r\n", end)
    found = scan(text, metadata_columns="record_offset")
    check_block_law(found, [*range(1, 30), 64, 200])
    check_projection_law(found)
    assert codes(found) == ["field-count"]
    assert found.count() == 7
    assert scan(text, mode="DROPMALFORMED").count() == 6


def test_the_last_fields_before_the_first_record_count(scan):
    assert scan("\ufeff#Fields: x\n\n  #Fields: a b\n1 2\n").to_arrow().to_pylist() == [{"a": "1", "b": "2"}]
    assert scan(gzip.compress((HEAD + ROWS).encode()), name="a.log.gz").count() == 3


OTHER = "#Fields: time date cs(User-Agent) sc-status time-taken\r\n"


@pytest.mark.parametrize("block_bytes", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
def test_other_fields_later_are_refused_by_every_block(scan, block_bytes, packed):
    text = HEAD + ROWS + OTHER + ROWS
    data = gzip.compress(text.encode()) if packed else text
    found = scan(data, "date string, time string", name="a.log.gz" if packed else "a.log", block_bytes=block_bytes)
    for read in (found.to_arrow, found.count):
        with pytest.raises(ss.RecordError, match=r"header-changed") as error:
            read()
        assert error.value.where.offset == len(HEAD + ROWS)
    for block in [] if packed else cut_blocks(found, block_bytes):
        with pytest.raises(ss.RecordError, match=r"header-changed"):
            list(open_reader(found.spec, block))


@pytest.mark.parametrize("at", range(-30, 31))
def test_other_fields_are_found_wherever_the_bytes_are_cut(at):
    format = framing_of(LogOptions(log_format="w3c")).preamble(HEAD.encode(), at_end=True).format
    data = (ROWS + FIELDS + "x #Fields: no\r\n #" + "y" * 50 + "\r\n \t" + OTHER + ROWS).encode()
    cut = data.index(OTHER.encode()) + at
    found, rest = format.other_columns(data[:cut], at_end=False)
    begin = cut - len(rest)
    if found is None:
        found, _ = format.other_columns(rest + data[cut:], at_end=True)
        assert begin + found == data.index(OTHER.encode())
    else:
        assert found == data.index(OTHER.encode())


def test_files_may_name_different_columns(tmp_path):
    (tmp_path / "a.log").write_text("#Fields: date c-ip\n2024-01-31 ::1\n")
    (tmp_path / "b.log").write_text("#Fields: c-ip sc-bytes\n::2 7\n")
    found = ss.scan_log(str(tmp_path / "*.log"), log_format="w3c").to_arrow().to_pylist()
    assert found == [
        {"date": dt.date(2024, 1, 31), "c-ip": "::1", "sc-bytes": None},
        {"date": None, "c-ip": "::2", "sc-bytes": 7},
    ]


def test_a_file_that_names_no_columns_is_refused(scan):
    with pytest.raises(ss.RecordError, match="no line #Fields: stands before the first record"):
        scan("#Version: 1.0\na b\n" + FIELDS).to_arrow()
    with pytest.raises(ss.UsageError, match="logFormat and recordStart say the same"):
        scan(HEAD, record_start="a")
