"""Types of the named groups of a log: those that all values fit, whatever their order and wherever blocks are cut."""

import datetime as dt
import logging
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cuts import some
from tests.unit.jobs.conftest import InProcessRunner

import splitscan as ss
from splitscan.cli import main
from splitscan.engine import kernel
from splitscan.errors import SchemaError
from splitscan.formats.decoding.contract import format_ddl
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.jobs.watching import Watch
from splitscan.options.stream import parse_stream_options
from splitscan.testing.scan_laws import check_block_law

PATTERN = r"(?P<day>\S+) (?P<id>\S+) (?P<code>\S+) (?P<ms>\S+) (?P<ok>\S+)(?:\s+(?P<text>(?s:.*)))?"
LINES = "2024-01-31 1 007 1.5 true\n  at x\n2024-02-01 2 12 3 false more\n2024-02-02 - 13 - - 5\nnothing\n"
TYPED = {"record_pattern": PATTERN, "infer_schema": True}
DDL = "day date, id int, code string, ms double, ok boolean, text string"


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.log"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def ddl(path, **options):
    return format_ddl(ss.scan_log(path, **options).schema)


@pytest.mark.usefixtures("engine")
def test_groups_have_the_narrowest_types_that_all_values_fit(write):
    path = write(LINES.replace("\n  at x", ""))
    scan = ss.scan_log(path, **TYPED)
    assert format_ddl(scan.schema) == DDL
    assert [list(row.values()) for row in scan.to_arrow().to_pylist()] == [
        [dt.date(2024, 1, 31), 1, "007", 1.5, True, None],
        [dt.date(2024, 2, 1), 2, "12", 3.0, False, "more"],
        [dt.date(2024, 2, 2), None, "13", None, None, "5"],
        [None] * 6,
    ]
    assert scan.rejects().to_arrow()["code"].to_pylist() == ["no-match"]
    assert {field.type for field in ss.scan_log(path, record_pattern=PATTERN).schema} == {pa.string()}


@pytest.mark.thin(1)
@pytest.mark.usefixtures("engine")
def test_every_cut_finds_the_same_types_and_values(write):
    path = write(LINES)
    starts = {**TYPED, "record_start": r"\d|nothing"}
    check_block_law(ss.scan_log(path, **starts, metadata_columns="record_offset"), [*range(1, 40), 64, 200])
    assert {ddl(path, **starts, block_bytes=size) for size in some(range(1, len(LINES) + 2))} == {DDL}


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("values", "late", "kind"),
    [
        (["1", "2"], "3000000000", "bigint"), (["1", "2"], "9" * 20, "decimal(20,0)"), (["1"], "2.5", "double"),
        (["1", "2"], "007", "string"), (["1"], "x", "string"), (["1.5"], "12D", "string"), (["-"], "-", "string"),
        (["2024-01-31"], "2024-01-31T10:00:00Z", "timestamp"), (["true"], "1", "string"), (["1"], "-", "int"),
        (["1"], "", "int"), (["-"], "1", "int"), (["NaN"], "1", "double"),
    ],
)  # fmt: skip
def test_a_late_value_counts_as_the_first(write, values, late, kind):
    lines = [f"k={value}" for value in values * 500]
    options = {"record_pattern": "k=(?P<v>.*)", "infer_schema": True, "block_bytes": 100}
    for number, order in enumerate(([*lines, f"k={late}"], [f"k={late}", *lines])):
        path = write("\n".join(order), f"{number}.log")
        assert ddl(path, **options) == f"v {kind}"
        scan = ss.scan_log(path, **options)
        assert scan.rejects().to_arrow().num_rows == 0
        assert scan.to_arrow()["v"].null_count == sum(line in {"k=-", "k="} for line in order)


@pytest.mark.skipif(kernel() is None, reason="there is nothing to compare")
def test_both_engines_and_csv_find_the_same_types(write, monkeypatch):
    draw = random.Random(7)
    pool = ["1", "-2", "007", "2147483648", "9" * 20, "1.5", "1e3", "Inf", "2020-01-31", "2020-1-31", "true", "-", "x",
            "+4915112345678", "2020-01-31T10:00:00Z", "12D", "1e400", "-0", "0.5"]  # fmt: skip
    for case in range(40):
        chosen = draw.sample(pool, 4)
        rows = [[draw.choice(chosen[at : at + 2]) for at in range(3)] for _ in range(draw.randint(1, 30))]
        log = write("\n".join(map(" ".join, rows)), f"{case}.log")
        csv = write("\n".join(map(" ".join, rows)), f"{case}.csv")
        pattern = r"(?P<_c0>\S+) (?P<_c1>\S+) (?P<_c2>\S+)"
        options = {"record_pattern": pattern, "infer_schema": True, "block_bytes": draw.randint(1, 200)}
        expected = format_ddl(ss.scan_csv(csv, sep=" ", null_value="-", infer_schema=True).schema)
        assert ddl(log, **options) == expected
        tables = []
        for name in ("kernel", "reference"):
            monkeypatch.setenv("SPLITSCAN_ENGINE", name)
            tables.append(ss.scan_log(log, **options).to_arrow())
        assert tables[0].to_pydict() == tables[1].to_pydict()
        monkeypatch.delenv("SPLITSCAN_ENGINE")


ACCESS = '10 1 2 [10/Oct/2000:13:55:36 -0700] "-" {} {}'


def test_a_kind_of_log_says_its_types(write):
    """Also where all values would fit others: a table does not change with the day's users."""
    for kind, rest in (("common", ""), ("combined", ' "1" "2"')):
        path = write("\n".join(ACCESS.format(*each) + rest for each in ((200, 2326), ("-", "-"), (404, 3_000_000_000))))
        scan = ss.scan_log(path, log_format=kind, infer_schema=True)
        assert scan.schema == ss.scan_log(path, log_format=kind).schema
        assert format_ddl(scan.schema).startswith(
            "host string, ident string, user string, time timestamp, request string, status int, bytes bigint"
        )
        table = scan.to_arrow()
        assert table["status"].to_pylist() == [200, None, 404]
        assert table["bytes"].to_pylist() == [2326, None, 3_000_000_000]
        assert table["time"][0].as_py() == dt.datetime(2000, 10, 10, 20, 55, 36, 0, dt.UTC)
        assert scan.rejects().to_arrow().num_rows == 0


def test_a_sample_that_shows_less_is_told_of(write, caplog):
    lines = ["k=1"] * 200
    path = write("\n".join([*lines, "k=007", "k=x"]))
    options = {"record_pattern": "k=(?P<v>.*)", "infer_schema": True, "sample_bytes": 100}
    with caplog.at_level(logging.WARNING, "splitscan"):
        column = ss.scan_log(path, **options).to_arrow()["v"]
    assert (column.type, column.to_pylist()[-2:]) == (pa.int32(), [None, None])
    assert "each of 2 records breaks a rule" in caplog.text


@pytest.mark.parametrize(
    ("pattern", "first"),
    [("yyyy-MM-dd HH:mm:ss,SSS", "2024-01-31 10:00:00,123"), ("dd/MMM/yyyy:HH:mm:ss xx", "31/Jan/2024:10:00:00 +0000")],
)
def test_times_that_are_written_otherwise_have_a_pattern(write, pattern, first):
    path = write(f"[{first}] 1\n[-] 2\n")
    options = {"record_pattern": r"\[(?P<at>[^\]]+)\] (?P<n>\d)", "infer_schema": True}
    assert ddl(path, **options) == "at string, n int"
    assert ddl(path, **options, timestamp_format=pattern) == "at timestamp, n int"
    column = ss.scan_log(path, **options, timestamp_format=pattern).to_arrow()["at"]
    assert column[0].as_py().replace(microsecond=0) == dt.datetime(2024, 1, 31, 10, tzinfo=dt.UTC)


def test_what_the_user_says_of_a_column_stands(write):
    path = write("1 2\n3 4\n")
    options = {"record_pattern": r"(?P<a>\d) (?P<b>\d)", "infer_schema": True}
    assert ddl(path, **options, schema_hints="b string") == "a int, b string"
    assert ddl(path, **options, provided_schema="b double") == "b double, a int"
    assert ddl(path, **options, columns="b") == "b int"


def test_files_are_merged_and_empty_ones_show_texts(write):
    options = {"record_pattern": r"(?P<a>\S+)", "infer_schema": True}
    paths = [write("1\n", "1.log"), write("2.5\n", "2.log"), write("", "3.log"), write(" \n", "4.log")]
    assert ddl(paths, **options) == "a double"
    assert ddl(paths[2:], **options) == ddl(paths[2], **options) == "a string"


@pytest.fixture
def ingested(tmp_path):
    def ingested():
        scan = ss.scan_log(str(tmp_path / "in"), record_pattern=r"(?P<n>\d+) (?P<t>\w)")
        target = IngestTarget(str(tmp_path / "out"), IngestSettings())
        report = run_ingest(FileSource(scan.typed()), target, InProcessRunner())
        return report.rows, pq.read_table(tmp_path / "out").sort_by("t").to_pydict()

    (tmp_path / "in").mkdir()
    return ingested


def test_an_ingest_keeps_the_types_that_it_found(write, ingested):
    write("1 x\n2 y\n", "in/a.log")
    assert ingested() == (2, {"n": [1, 2], "t": ["x", "y"]})
    write("", "in/b.log")
    write("3 z\n", "in/c.log")
    assert ingested() == (1, {"n": [1, 2, 3], "t": ["x", "y", "z"]})
    write("007 z\n", "in/d.log")
    with pytest.raises(SchemaError, match="do not fit a column of the destination"):
        ingested()


def test_a_stream_keeps_the_types_of_its_first_window(write, tmp_path):
    (tmp_path / "in").mkdir()

    def window(name, text):
        write(text, f"in/{name}.log")
        stream, others = parse_stream_options({"scanIntervalMillis": 0})
        options = {"record_pattern": r"(?P<n>\S+) (?P<t>\w)", **others}
        watch = Watch(lambda: ss.scan_log(str(tmp_path / "in"), **options), str(tmp_path / "out"), stream)
        try:
            (found,) = watch.drain(InProcessRunner())
        finally:
            watch.close()
        return found.report.rows, found.report.rejects

    assert window("a", "1 x\n") == (1, 0)
    assert window("b", "2 y\n3.5 z\n07 z\n- z\n") == (4, 2)
    assert pq.read_table(tmp_path / "out").sort_by("t")["n"].to_pylist() == [1, 2, None, None, None]


def test_a_check_names_the_types_that_hold(write):
    path = write("1 a\n007 b\n2.5 c\n")
    columns = ss.scan_log(path, "n int, t string", record_pattern=r"(?P<n>\S+) (?P<t>\w)").check().columns
    assert [(each.name, each.holds) for each in columns] == [("n", pa.string()), ("t", pa.string())]


def test_the_command_finds_types_unless_told_not_to(write, tmp_path, capsys):
    path, out = write("1 x\n2 y\n"), tmp_path / "a.parquet"
    of_log = ["-f", "log", "-o", r"recordPattern=(?P<n>\d+) (?P<t>\w)"]
    for said, kind in (
        ([], pa.int32()),
        (["--types", "text"], pa.string()),
        (["-o", "inferSchema=false"], pa.string()),
    ):
        assert main(["convert", path, str(out), *of_log, *said, "--overwrite"]) == 0
        assert pq.read_schema(out).field("n").type == kind
    capsys.readouterr()
    assert main(["schema", path, *of_log]) == 0
    assert "int" in capsys.readouterr().out
