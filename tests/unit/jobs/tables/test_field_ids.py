"""Field ids, by which readers of Iceberg find columns: files have those of the table, or none where names lead there.

Under a wrong id a reader would deliver another column's values, or nulls, without a word.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table.name_mapping import MappedField, NameMapping
from pyiceberg.types import StringType

from splitscan.api.files import Scan
from splitscan.errors import IngestError, SchemaError
from splitscan.jobs import IngestSettings, SchemaEvolution, verify

from .conftest import open_iceberg

MAPPING = "schema.name-mapping.default"
NESTED = "id long, text string, item struct<a: int, b: array<struct<c: string>>>, tags map<string, array<int>>"
ADD = IngestSettings(schema_evolution_mode=SchemaEvolution.ADD)


@pytest.fixture
def iceberg(table):
    if table.format != "iceberg":
        pytest.skip("of Iceberg only")
    return table


def with_ids(schema, *ids):
    pairs = zip(schema, ids, strict=True)
    return pa.schema([column.with_metadata({"PARQUET:field_id": id} if id else None) for column, id in pairs])


def write_again(ids, table):
    """Write the first file of a job again, with the same rows, under these field ids."""

    def spoil(reports):
        written = reports[0].written[0]
        rows = pq.read_table(table.out / written.name)
        pq.write_table(pa.table(rows.columns, schema=with_ids(rows.schema, *ids)), table.out / written.name)
        object.__setattr__(written, "size_bytes", (table.out / written.name).stat().st_size)
        return reports

    return spoil


@pytest.mark.parametrize("case", ["swapped", "foreign", "none where there are some, some where there are none"])
def test_a_file_under_other_ids_than_planned_is_not_registered(table, make_scan, runner, case):
    ids = {"swapped": ("2", "1"), "foreign": ("7", "8")}.get(case, (None, None) if table.format == "iceberg" else "12")
    with pytest.raises(IngestError, match="the same ones under other field ids") as caught:
        table.ingest(make_scan(["a"]), runner(spoil=write_again(ids, table)))
    assert caught.value.reason_code == "data-file-changed"
    assert table.rows() == []


def test_ids_are_those_of_the_table_and_never_of_a_given_schema(table, make_scan, tmp_path, expected):
    make_scan(["a"])
    schema = with_ids(pa.schema([("id", pa.int64()), ("text", pa.string())]), "2", "1")
    table.ingest(Scan.of(str(tmp_path / "in"), "csv", schema, {"header": True, "multiLine": True}))
    (path,) = table.out.glob("part-*.parquet")
    ids = [(column.metadata or {}).get(b"PARQUET:field_id") for column in pq.read_schema(path)]
    assert ids == ([b"1", b"2"] if table.format == "iceberg" else [None, None])
    assert table.rows() == expected(["a"])


def test_fields_inside_columns_have_their_ids_too(iceberg, tmp_path):
    (tmp_path / "a.json").write_text('{"id": 1, "item": {"a": 2, "b": [{"c": "x"}]}, "tags": {"k": [3]}}\n')
    iceberg.ingest(Scan.of(str(tmp_path / "a.json"), "json", NESTED, {}))
    with open_iceberg(iceberg.out).update_schema() as update:
        for column, name in (("id", "number"), ("item", "thing"), ("tags", "marks")):
            update.rename_column(column, name)
        update.rename_column("item.b.element.c", "d")
    (row,) = open_iceberg(iceberg.out).scan().to_arrow().to_pylist()
    assert row == {"number": 1, "text": None, "thing": {"a": 2, "b": [{"d": "x"}]}, "marks": [("k", [3])]}


def test_a_name_that_another_column_takes_over_leaves_old_values_where_they_were(iceberg, make_scan):
    iceberg.ingest(make_scan(["a"]))
    replace_text(iceberg.out)
    iceberg.ingest(make_scan(["a", "b"]))
    found = open_iceberg(iceberg.out).scan().to_arrow()
    assert found["before"].null_count == found["text"].null_count == 100


def replace_text(out):
    with open_iceberg(out).update_schema() as update:
        update.rename_column("text", "before")
    with open_iceberg(out).update_schema() as update:
        update.add_column("text", StringType())


def test_a_column_that_becomes_another_one_meanwhile_stops_the_job_and_the_next_run_writes_again(
    iceberg, make_scan, runner, expected
):
    iceberg.ingest(make_scan(["a"]))
    with pytest.raises(SchemaError, match="column text is another one than when the job began"):
        iceberg.ingest(make_scan(["a", "b"]), runner(spoil=lambda reports: (replace_text(iceberg.out), reports)[1]))
    assert iceberg.ingest(make_scan(["a", "b"])).blocks_resumed == 0
    texts = [text for text in open_iceberg(iceberg.out).scan().to_arrow()["text"].to_pylist() if text is not None]
    assert sorted(texts) == sorted(text for _, text in expected(["b"]))
    assert verify(iceberg.out, deep=True).problems == ()


# ------------------------------------- new columns, whose ids the commit gives


def set_mapping(out, *fields):
    mapping = NameMapping([MappedField(**{"field-id": number}, names=names) for number, names in fields])
    with open_iceberg(out).transaction() as change:
        change.set_properties({MAPPING: mapping.model_dump_json()})


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("fields", "column"),
    [([(1, ["text"]), (2, ["id"])], "id"), ([(1, ["id"])], "text"), ([(1, ["id"]), (7, ["text"])], "text")],
    ids=["swapped", "absent", "foreign"],
)
@pytest.mark.parametrize("when", ["before", pytest.param("meanwhile", marks=pytest.mark.slow)])
def test_where_names_lead_elsewhere_files_without_ids_are_refused(iceberg, make_scan, runner, fields, column, when):
    iceberg.ingest(make_scan(["a"]))
    scan = make_scan(["a", "b"], schema="id long, text string, more string", headerMapping="byName")
    meddle = lambda reports=None: (set_mapping(iceberg.out, *fields), reports)[1]  # noqa: E731
    chosen = runner() if when == "before" else runner(spoil=meddle)
    if when == "before":
        meddle()
    with pytest.raises(IngestError, match=rf"column {column} is not that of {MAPPING}") as caught:
        iceberg.ingest(scan, chosen, settings=ADD)
    assert caught.value.reason_code == "table-unfit"
    assert (chosen.opened == []) == (when == "before")
    set_mapping(iceberg.out, (1, ["id"]), (2, ["text", "other"]))
    iceberg.ingest(scan, settings=ADD)
    rows = open_iceberg(iceberg.out).scan().to_arrow()
    assert (rows.num_rows, rows["text"].null_count, rows["more"].null_count) == (200, 0, 200)
    assert verify(iceberg.out, deep=True).problems == ()
