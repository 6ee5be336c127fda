"""Columns of CSV for which nobody gave a schema: an ingest writes the types that all values fit, and keeps them."""

from importlib import import_module

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from splitscan.api.files import Scan
from splitscan.errors import SchemaError
from splitscan.jobs.settings import IngestSettings, SchemaEvolution
from splitscan.jobs.table import check_types
from splitscan.jobs.watching import Watch
from splitscan.options.stream import parse_stream_options

from .conftest import InProcessRunner

asked = import_module("splitscan.scans.request")


@pytest.fixture
def ingested(tmp_path, run):
    """Ingests a directory to which files with one column ``v`` are added."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()

    def add(name, *values, settings=None, schema=None, **options):
        (source / f"{name}.csv").write_text("\n".join(["k,v", *(f"k,{value}" for value in values), ""]))
        scan = Scan.of(str(source), "csv", schema, {"header": True, **options})
        return run(scan, out, **(settings or {}))

    add.out, add.source = out, source
    return add


def written(out):
    return pq.read_table(out)["v"]


@pytest.mark.parametrize(
    ("values", "kind", "later"),
    [
        (["1", "-2"], pa.int32(), "x"),
        (["1", "2"], pa.int32(), "3000000000"),
        (["1", "2"], pa.int32(), "2.5"),
        (["1", "2"], pa.int32(), "007"),
        (["3000000000"], pa.int64(), "1e3"),
        (["9" * 20], pa.decimal128(20, 0), "9" * 30),
        (["1.5", "2"], pa.float64(), "12D"),
        (["1.5", "2"], pa.float64(), "1e400"),
        (["2024-01-31"], pa.date32(), "2024-01-31 10:00"),
        (["2024-01-31"], pa.date32(), "2024-02-30"),
        (["2024-01-31 10:00"], pa.timestamp("us", "UTC"), "10:00"),
        (["true", "FALSE"], pa.bool_(), "yes"),
    ],
)
def test_a_file_whose_values_do_not_fit_the_destination_is_refused_with_the_first_of_them(
    ingested, values, kind, later
):
    assert ingested("a", *values).rejects == 0
    before = written(ingested.out)
    assert (before.type, before.null_count, len(before)) == (kind, 0, len(values))
    with pytest.raises(SchemaError, match=r"values of a file do not fit a column of the destination") as refused:
        ingested("b", values[0], later, values[0])
    error = refused.value
    assert (error.reason_code, error.where.path, error.where.column) == (
        "destination-schema", str(ingested.source / "b.csv"), "v",
    )  # fmt: skip
    if later not in {"007", "12D", "1e400", "2024-01-31 10:00"}:  # which would be read, but not as they are written
        assert error.where.offset == len(f"k,v\nk,{values[0]}\n")
        assert f"'{later}' is no" in str(error)
    assert written(ingested.out) == before
    report = ingested("b", values[0], values[0])  # mended
    assert (report.rows, report.rejects, written(ingested.out).type) == (2, 0, kind)


@pytest.mark.parametrize(
    ("values", "later", "read"),
    [
        (["x"], ["1"], "1"),
        (["007"], ["8"], "8"),
        (["1.5"], ["2"], 2.0),
        (["3000000000"], ["2"], 2),
        (["1"], [""], None),
    ],
)
def test_what_a_column_of_the_destination_holds_is_read_as_its_type(ingested, values, later, read):
    ingested("a", *values)
    before = written(ingested.out).type
    assert ingested("b", *later).rejects == 0
    assert written(ingested.out).type == before
    assert read in written(ingested.out).to_pylist()


def test_texts_are_kept_where_they_are_wanted_and_a_schema_makes_rejects(ingested):
    ingested("a", "1", inferSchema=False)
    assert written(ingested.out).to_pylist() == ["1"]
    ingested("b", "2")  # the destination decides
    assert sorted(written(ingested.out).to_pylist()) == ["1", "2"]
    report = ingested("c", "3", schema="k string, v string")
    assert (report.rows, report.rejects) == (1, 0)


def test_a_hint_and_provided_columns_stay_as_they_are_given(ingested):
    ingested("a", "1", schemaHints="v double")
    assert written(ingested.out).type == pa.float64()


def test_where_columns_may_be_added_values_that_do_not_fit_are_rejects(ingested):
    ingested("a", *range(5))
    report = ingested("b", "x", *range(5), settings={"schema_evolution_mode": SchemaEvolution.ADD})
    assert (report.rows, report.rejects) == (6, 1)
    assert "column 'v': 'x' is no int [bad-value]" in report.first_rejects[0]


def test_nothing_is_read_for_the_columns_where_nothing_is_new(ingested, run, monkeypatch):
    ingested("a", "1")
    monkeypatch.setattr(asked, "infer_schema", lambda *_, **__: pytest.fail("files are looked at"))
    scan = Scan.of(str(ingested.source), "csv", None, {"header": True})
    assert run(scan, ingested.out).nothing_to_do


def test_a_record_that_is_still_being_written_has_no_say(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("k,v\nk,2024-01-02\nk,2024-0")

    def window():
        stream, others = parse_stream_options({"fileMode": "append", "scanIntervalMillis": 0})
        watch = Watch(
            lambda: Scan.of(str(path), "csv", None, {"header": True, **others}), str(tmp_path / "out"), stream
        )
        try:
            (found,) = watch.drain(InProcessRunner())
        finally:
            watch.close()
        return found.report.rows, found.report.rejects

    assert window() == (1, 0)
    with path.open("a") as file:
        file.write("1-31\n")
    assert window() == (1, 0)
    assert sorted(map(str, written(tmp_path / "out").to_pylist())) == ["2024-01-02", "2024-01-31"]


def test_a_stream_keeps_the_types_of_its_first_window_and_counts_what_does_not_fit(tmp_path):
    (tmp_path / "in").mkdir()

    def window(name, text):
        (tmp_path / f"in/{name}.csv").write_text(text)
        stream, others = parse_stream_options({"scanIntervalMillis": 0})
        watch = Watch(
            lambda: Scan.of(str(tmp_path / "in"), "csv", None, {"header": True, **others}),
            str(tmp_path / "out"), stream, IngestSettings(),
        )  # fmt: skip
        try:
            (found,) = watch.drain(InProcessRunner())
        finally:
            watch.close()
        return found.report

    assert window("a", "k,v\nk,1\n").rejects == 0
    report = window("b", "k,v\nk,2\nk,3.5\nk,4\nk,5\n")
    assert (report.rows, report.rejects) == (4, 1)
    assert "column 'v': '3.5' is no int [bad-value]" in report.notice
    assert sorted(written(tmp_path / "out").to_pylist(), key=str) == [1, 2, 4, 5, None]


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.list_(pa.time64("us")), pa.struct([("t", pa.time64("us"))])])
@pytest.mark.parametrize("table", ["delta", "iceberg"])
def test_tables_hold_no_times_of_day_and_the_error_names_the_column_and_the_cure(kind, table):
    with pytest.raises(SchemaError, match="as a string it keeps what is written") as error:
        check_types(pa.schema([("id", pa.int64()), ("at", kind)]), table, "out")
    assert (error.value.reason_code, error.value.where.column) == ("table-type", "at")
    check_types(pa.schema([("id", pa.int64()), ("at", pa.string())]), table, "out")
