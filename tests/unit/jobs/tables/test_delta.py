"""What is Delta's own: other writers, maintenance, features that are refused, statistics that lose no row."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from splitscan.api.files import Scan
from splitscan.errors import IngestError
from splitscan.jobs import verify
from splitscan.jobs.delta import render_stats
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.parquet import WITHOUT_NAN
from splitscan.jobs.steps import IngestTarget, run_ingest

FIRST_THREE = "^Bg9^0rr910000000000iXQKl0rr91000625c8Xg000310SSi2"
"""The deletion vector {0, 1, 2} as a log has it inline."""


@pytest.fixture
def ingest(tmp_path, make_scan, runner):
    out = tmp_path / "out"

    def call(names):
        return run_ingest(FileSource(make_scan(names)), IngestTarget(out, table="delta"), runner())

    call.out = out
    return call


def codes(out):
    report = verify(out, deep=True)
    assert report.problems == ()
    return {note.code for note in report.notes}


def live(out):
    return sorted(pa.table(DeltaTable(out).get_add_actions()).column("path").to_pylist())


def test_rows_of_others_stay_and_are_none_of_our_business(ingest):
    ingest(["a"])
    write_deltalake(ingest.out, pa.table({"id": pa.array([-1], pa.int64()), "text": ["theirs"]}), mode="append")
    ingest(["a", "b"])
    assert DeltaTable(ingest.out).to_pyarrow_table().num_rows == 201
    assert codes(ingest.out) == set()


def test_verify_tells_rewritten_from_removed(ingest):
    ingest(["a"])
    DeltaTable(ingest.out).optimize.compact()
    assert codes(ingest.out) == {"rows-rewritten"}
    ingest(["a", "b"])
    DeltaTable(ingest.out).delete("text like 'b%'")
    assert codes(ingest.out) == {"rows-rewritten", "rows-removed"}
    assert ingest(["a", "b"]).nothing_to_do


@pytest.mark.parametrize("act", ["delete", "restore"])
def test_rows_that_were_removed_after_they_were_rewritten_are_told(ingest, act):
    before = DeltaTable.create(ingest.out, pa.schema([("id", pa.int64()), ("text", pa.string())])).version()
    ingest(["a"])
    written = DeltaTable(ingest.out).version()
    for _ in range(2):  # the second finds the files of the first
        write_deltalake(ingest.out, pa.table({"id": pa.array([-1], pa.int64()), "text": ["theirs"]}), mode="append")
        DeltaTable(ingest.out).optimize.compact()
    assert codes(ingest.out) == {"rows-rewritten"}
    if act == "delete":
        DeltaTable(ingest.out).delete()
    else:
        DeltaTable(ingest.out).restore(before)
    assert codes(ingest.out) == {"rows-removed"}
    DeltaTable(ingest.out).restore(written)
    assert codes(ingest.out) == set()


def mark_deleted(out, path):
    """Delete the first three rows of a file by a deletion vector, as other engines do: this library writes none."""
    log = sorted((out / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for each in log for line in each.read_text().splitlines()]
    added = next(each["add"] for each in reversed(actions) if each.get("add", {}).get("path") == path)
    removed = {"path": path, "deletionTimestamp": 0, "dataChange": True, "partitionValues": {}, "size": added["size"]}
    features = ["deletionVectors"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    vector = {"storageType": "i", "pathOrInlineDv": FIRST_THREE, "sizeInBytes": 38, "cardinality": 3}
    new = [{"protocol": protocol}, {"add": {**added, "deletionVector": vector}}, {"remove": removed}]
    (out / f"_delta_log/{len(log):020d}.json").write_text("".join(json.dumps(each) + "\n" for each in new))


def test_rows_that_others_marked_in_a_deletion_vector_are_told(ingest):
    ingest(["a"])
    first = live(ingest.out)[0]
    mark_deleted(ingest.out, first)
    assert pa.table(DeltaTable(ingest.out).deletion_vectors()).num_rows == 1
    report = verify(ingest.out, deep=True)
    assert [(note.code, note.path) for note in report.notes] == [("rows-removed", str(ingest.out / first))]
    assert report.ok
    (ingest.out / first).unlink()  # the other rows of the file are still there, or should be
    assert [problem.code for problem in verify(ingest.out).problems] == ["data-file-missing"]


def test_rows_that_a_deletion_vector_took_from_a_rewritten_file_are_told(ingest):
    ingest(["a"])
    DeltaTable(ingest.out).optimize.compact()
    assert codes(ingest.out) == {"rows-rewritten"}
    mark_deleted(ingest.out, live(ingest.out)[0])
    assert codes(ingest.out) == {"rows-removed"}


def test_rows_that_a_restore_took_away_are_told(ingest):
    ingest(["a"])
    version = DeltaTable(ingest.out).version()
    ingest(["a", "b"])
    DeltaTable(ingest.out).restore(version)
    assert codes(ingest.out) == {"rows-removed"}
    assert ingest(["a", "b"]).nothing_to_do


def test_what_a_vacuum_took_is_missed_only_where_the_table_names_it(ingest):
    ingest(["a"])
    ingest(["a", "b"])
    written = DeltaTable(ingest.out).version()
    DeltaTable(ingest.out).optimize.compact()

    def vacuum():
        DeltaTable(ingest.out).vacuum(0, enforce_retention_duration=False, dry_run=False, full=True)

    vacuum()
    assert codes(ingest.out) == {"rows-rewritten"}
    assert len(list(ingest.out.glob("*.parquet"))) == 1
    DeltaTable(ingest.out).restore(written, ignore_missing_files=True)  # the table names what is not there any more
    found = verify(ingest.out).problems
    assert {problem.code for problem in found} == {"data-file-missing"}
    assert len(found) == DeltaTable(ingest.out).get_add_actions().num_rows


def test_a_table_that_was_made_again_is_behind_its_ledgers(ingest, tmp_path):
    ingest(["a"])
    (ingest.out / "_delta_log").rename(tmp_path / "log")
    DeltaTable.create(ingest.out, pa.schema([("id", pa.int64()), ("text", pa.string())]))
    with pytest.raises(IngestError, match=r"the table's last job is 0, the last ledger's 1"):
        ingest(["a", "b"])
    assert [problem.code for problem in verify(ingest.out).problems] == ["table-behind"]


@pytest.mark.parametrize("rule", ["id is NOT NULL", "delta.constraints.positive"])
def test_tables_whose_rules_files_do_not_follow_are_refused(ingest, rule):
    schema = pa.schema([pa.field("id", pa.int64(), nullable="NOT NULL" not in rule), ("text", pa.string())])
    table = DeltaTable.create(ingest.out, schema)
    if "constraints" in rule:
        table.alter.add_constraint({"positive": "id > 0"})
    with pytest.raises(IngestError, match=rf"\[table-unfit\](.|\n)*{rule}"):
        ingest(["a"])


def create_as_others_do(out, change):
    """Create a table as other engines write it: this library refuses to."""
    DeltaTable.create(out, pa.schema([("id", pa.int64()), ("text", pa.string())]))
    log = out / "_delta_log/00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "metaData" in action:
            change(action["metaData"])
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


@pytest.mark.parametrize(
    ("rule", "value"),
    [("delta.generationExpression", "id + 1"), ("delta.identity.start", 1), ("delta.invariants", "{}")],
)
def test_tables_whose_columns_have_rules_are_refused_whatever_their_protocol_says(ingest, rule, value):
    def change(table):
        schema = json.loads(table["schemaString"])
        schema["fields"][0]["metadata"] = {rule: value}
        table["schemaString"] = json.dumps(schema)

    create_as_others_do(ingest.out, change)
    with pytest.raises(IngestError, match=rf"\[table-unfit\](.|\n)*column id has {rule}"):
        ingest(["a"])


@pytest.mark.parametrize(
    ("name", "value", "seen"),
    [
        ("delta.columnMapping.mode", "name", "column mapping"),
        ("delta.enableRowTracking", "true", "row tracking"),
    ],
)
def test_tables_whose_files_are_not_read_by_their_names_and_rows_alone_are_refused(ingest, name, value, seen):
    create_as_others_do(ingest.out, lambda table: table["configuration"].update({name: value}))
    with pytest.raises(IngestError, match=rf"\[table-unfit\](.|\n)*{seen}"):
        ingest(["a"])
    assert list(ingest.out.glob("*.parquet")) == []


def test_statistics_are_exact_or_too_wide(tmp_path):
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 678901, dt.UTC)
    columns = {
        "whole": pa.array([None, -5, 2**62]),
        "text": pa.array(["b", "a" * 40, "\U0010ffff" * 33]),
        "exact": pa.array([Decimal("123456789012345678.91")] * 3, pa.decimal128(20, 2)),
        "day": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
        "moment": pa.array([moment] * 3, pa.timestamp("us", "UTC")),
        "flag": pa.array([True, False, None]),
        "nothing": pa.array([None] * 3, pa.string()),
        "nested": pa.array([{"x": 1, "y": ["q"]}, None, {"x": 7, "y": []}]),
        "after": pa.array([3, 1, 2]),
    }
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    text = render_stats(pq.read_metadata(tmp_path / "a.parquet"), table.schema)
    assert "123456789012345678.91" in text
    stats = json.loads(text)
    least, most = stats["minValues"], stats["maxValues"]
    assert stats["numRecords"] == 3
    assert (least["whole"], most["whole"]) == (-5, 2**62)
    assert least["text"] == "a" * 32
    assert most["text"] == "\U0010ffff" * 33
    assert (least["day"], most["day"]) == ("0001-01-01", "9999-12-31")
    assert (least["moment"], most["moment"]) == ("2024-01-02T03:04:05.678Z", "2024-01-02T03:04:05.679Z")
    assert (least["flag"], most["flag"]) == (False, True)
    assert "nothing" not in least
    assert stats["nullCount"]["nothing"] == 3
    assert (least["nested"], most["nested"], stats["nullCount"]["nested"]) == ({"x": 1}, {"x": 7}, {"x": 1})
    assert (least["after"], most["after"]) == (1, 3)


@pytest.mark.parametrize(
    ("real", "sure", "bounds"),
    [
        ([1.5, 2.5], True, {"minValues", "maxValues"}),
        ([1.5, float("inf")], True, {"minValues"}),
        ([float("-inf"), 1.5], True, {"maxValues"}),
        ([1.5, float("nan")], False, set()),
    ],
)
def test_where_one_column_has_no_bound_the_file_has_none_on_that_side(tmp_path, real, sure, bounds):
    """A bound that is missing among others is a null to ``deltalake``, and no row is found."""
    table = pa.table({"id": [1, 2], "real": real})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({WITHOUT_NAN: json.dumps(["real"] if sure else [])})
    stats = json.loads(render_stats(pq.read_metadata(tmp_path / "a.parquet"), table.schema))
    assert stats.keys() == {"numRecords", "nullCount", *bounds}


def test_files_say_of_their_real_numbers_whether_there_is_a_nan(ingest, tmp_path, runner):
    (tmp_path / "a.csv").write_text("1,1.5\n2,2.5\n")
    (tmp_path / "b.csv").write_text("3,NaN\n4,3.5\n")
    scan = Scan.of([f"{tmp_path}/a.csv", f"{tmp_path}/b.csv"], "csv", "id long, real double", {"taskSize": "1"})
    run_ingest(FileSource(scan), IngestTarget(ingest.out, table="delta"), runner())
    table = DeltaTable(ingest.out)
    found = pa.table(table.get_add_actions(flatten=True)).select(["num_records", "min.real", "max.real"]).to_pylist()
    assert sorted(str(each["max.real"]) for each in found) == ["2.5", "None"]
    real = pc.field("real")
    counts = [table.to_pyarrow_dataset().to_table(filter=each).num_rows for each in (real > 2, real == 3.5, real < 2)]
    assert counts == [2, 1, 1]


def test_rows_from_before_a_column_are_found_where_it_is_null(ingest, tmp_path, runner):
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("later", pa.int64())])
    DeltaTable.create(ingest.out, schema)
    ingest(["a"])
    found = DeltaTable(ingest.out).to_pyarrow_dataset().to_table(filter=pc.field("later").is_null())
    assert found.num_rows == 100


def test_variants_are_columns_of_their_type(tmp_path, runner):
    out = tmp_path / "out"
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"a":1}\n7\nnull\n')
        scan = Scan.of(str(tmp_path / f"{name}.jsonl"), "json", None, {"singleVariantColumn": "v"})
        run_ingest(FileSource(scan), IngestTarget(out, table="delta"), runner())
    table = DeltaTable(out)
    assert json.loads(table.schema().to_json())["fields"][0]["type"] == "variant"
    assert table.protocol().reader_features == ["variantType"]
    rows = table.to_pyarrow_table()["v"].to_pylist()
    assert [row["value"].hex() for row in rows] == 2 * ["02010000020c01", "0c07", "00"]
    assert all("v" not in json.loads(add["stats"])["minValues"] for add in added(out))
    assert codes(out) == set()


def added(out):
    lines = [line for path in sorted(out.glob("_delta_log/*.json")) for line in path.read_text().splitlines()]
    return [json.loads(line)["add"] for line in lines if '"add"' in line[:7]]


@pytest.mark.parametrize("schema", ["v array<variant>, s struct<m: map<string, variant>>"])
def test_variants_inside_of_others_go_into_tables_too(tmp_path, runner, schema):
    out = tmp_path / "out"
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"v":[1,null],"s":{"m":{"k":"x"}}}\n')
        scan = Scan.of(str(tmp_path / f"{name}.jsonl"), "json", schema, {})
        run_ingest(FileSource(scan), IngestTarget(out, table="delta"), runner())
    row = DeltaTable(out).to_pyarrow_table().slice(1).to_pylist()[0]
    assert [each["value"] for each in row["v"]] == [b"\x0c\x01", b"\x00"]
    assert row["s"]["m"][0][1]["value"] == b"\x05x"
