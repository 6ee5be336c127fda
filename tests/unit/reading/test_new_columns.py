"""Columns of JSON and XML that appear after the sample: every door that reads names them, and hides none."""

import gzip
import json
import logging

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import SchemaError, Where
from splitscan.options import Mode
from splitscan.reading.new_columns import SOME_RECORDS, NewColumn, NewColumns

SMALL = {"sampleBytes": 64}
ROWS = 40
LATE = 30  # the first record that has more
DOORS = {
    "to_arrow": lambda scan: scan.to_arrow().num_rows,
    "to_batches": lambda scan: sum(batch.num_rows for batch in scan.to_batches()),
    "head": lambda scan: scan.head(ROWS).num_rows,
    "limit": lambda scan: scan.limit(ROWS).to_arrow().num_rows,
    "pandas": lambda scan: len(scan.to_pandas()),
    "polars": lambda scan: scan.to_polars().height,
    "arrow stream": lambda scan: pa.table(scan).num_rows,
}


def lines(more, first=LATE):
    """Records of JSON, of which those from *first* on have more members."""
    records = [{"id": n, "o": {"p": 1}, "t": "x"} for n in range(ROWS)]
    return "".join(json.dumps(each | (more if n >= first else {})) + "\n" for n, each in enumerate(records))


def elements(more, first=LATE, attribute=""):
    records = (
        f"<r{attribute if n >= first else ''}><id>{n}</id>{more if n >= first else ''}</r>\n" for n in range(ROWS)
    )
    return f"<rows>\n{''.join(records)}</rows>"


@pytest.fixture
def warned(caplog):
    """What the library has said so far."""

    def said():
        messages = (record.getMessage() for record in caplog.records)
        return [message for message in messages if "a rule, and has nulls" not in message]

    with caplog.at_level(logging.WARNING, logger="splitscan"):
        yield said


@pytest.mark.parametrize("door", DOORS)
def test_every_door_warns_once_of_a_column_that_no_sample_has_shown(tmp_path, warned, door):
    text = lines({"b": 1})
    (tmp_path / "a.json").write_text(text)
    assert DOORS[door](ss.scan_json(tmp_path / "a.json", **SMALL)) == ROWS
    (message,) = warned()
    place = text.index(f'{{"id": {LATE}')
    assert f"b bigint in 10 records; the first, b, is at byte {place} of {tmp_path / 'a.json'}" in message
    assert "raise sampleBytes (now 64 B) or sampleFiles (now 16)" in message


VARIANTS = {
    "text": (lines({"b": "x"}), "b string in 10 records"),
    "two": (lines({"b": 1, "c": [1.5]}), "b bigint in 10 records, c array<double> in 10 records"),
    "a member": (lines({"o": {"p": 1, "q": 2}}), "o struct<p: bigint, q: bigint> in 10 records"),
    "a struct": (lines({"n": {"deep": {"er": True}}}), "n struct<deep: struct<er: boolean>> in 10 records"),
    "an odd name": (lines({'a "b"\n\u00fc': 1}), 'a "b"\n\u00fc bigint in 10 records'),
    "the name of a member that is kept": (lines({"_file_path": "x"}), "_file_path string in 10 records"),
    "beside a value that does not fit": (lines({"id": "x", "b": 1}), "b bigint in 10 records"),
    "in the last record": (lines({"b": 1}, ROWS - 1), "b bigint in 1 record;"),
    "many": (
        lines({f"c{n}": n for n in range(9)}),
        "c4 bigint in 10 records, and 4 more columns; the first, c0,",
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_new_is_named_counted_and_placed(tmp_path, warned, engine, variant):
    text, wanted = VARIANTS[variant]
    (tmp_path / "a.json").write_text(text)
    assert ss.scan_json(tmp_path / "a.json", **SMALL).to_arrow().num_rows == ROWS
    (message,) = warned()
    assert wanted in message


FILES = {
    "gzip": (lambda text: gzip.compress(text.encode()), ".json.gz", {}),
    "UTF-16": (lambda text: text.encode("utf-16"), ".json", {"encoding": "UTF-16"}),
    "an array": (lambda text: ("[" + text.strip().replace("\n", ",\n") + "]").encode(), ".json", {"multiLine": True}),
    "small buffers": (str.encode, ".json", {"readBytes": 4096}),
}


@pytest.mark.parametrize("file", FILES)
def test_it_is_noticed_in_whatever_way_a_file_is_written(tmp_path, warned, engine, file):
    write, ending, options = FILES[file]
    path = tmp_path / f"a{ending}"
    path.write_bytes(write(lines({"b": 1})))
    assert ss.scan_json(path, **SMALL, **options).to_arrow().num_rows == ROWS
    assert ["b bigint in 10 records" in message for message in warned()] == [True]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (elements("<b>1</b>"), "b bigint in 10 records"),
        (elements("", attribute=" k='v'"), "_k string in 10 records"),
        (elements("<o><p>1</p></o>"), "o struct<p: bigint> in 10 records"),
    ],
    ids=["an element", "an attribute", "elements"],
)
def test_xml_is_no_exception(tmp_path, warned, text, wanted):
    (tmp_path / "a.xml").write_text(text)
    assert ss.scan_xml(tmp_path / "a.xml", "r", **SMALL).to_arrow().num_rows == ROWS
    (message,) = warned()
    assert wanted in message


def test_a_file_that_no_sample_has_looked_at_is_noticed_too(tmp_path, warned):
    for name, more in (("a", {}), ("b", {"b": 1}), ("c", {"b": "x"})):
        (tmp_path / f"{name}.json").write_text(lines(more, 0))
    scan = ss.scan_json(tmp_path, sampleFiles=1)
    assert scan.to_arrow().num_rows == 3 * ROWS
    (message,) = warned()
    assert f"b string in {2 * ROWS} records; the first, b, is at byte 0 of {tmp_path / 'b.json'}" in message


@pytest.mark.parametrize("mode", [mode.value for mode in Mode])
def test_no_mode_hides_it_and_a_column_of_directories_is_no_obstacle(tmp_path, warned, mode):
    (tmp_path / "id=7").mkdir()
    (tmp_path / "id=7/a.json").write_text(lines({"b": 1}))
    table = ss.scan_json(tmp_path, mode=mode, **SMALL).to_arrow()
    assert (table.num_rows, set(table["id"].to_pylist())) == (ROWS, {7})
    assert ["b bigint in 10 records" in message for message in warned()] == [True]


def test_records_whose_values_do_not_fit_do_not_use_up_the_looks(tmp_path, warned, engine):
    wrong = SOME_RECORDS + 5
    text = '{"id": 1}\n' * 10 + '{"id": "x"}\n' * wrong + '{"id": [1]}\n' * wrong + '{"id": 1, "b": 2}\n'
    (tmp_path / "a.json").write_text(text)
    rejects = []
    scan = ss.scan_json(tmp_path / "a.json", **SMALL)
    assert sum(batch.num_rows for batch in scan.to_batches(rejects.append)) == 2 * wrong + 11
    assert len(rejects) == 2 * wrong
    assert ["b bigint in 1 record;" in message for message in warned()] == [True]


def test_more_records_than_are_looked_at_are_said_to_be_more(tmp_path, warned):
    (tmp_path / "a.json").write_text('{"id": 1}\n' * 10 + '{"id": 1, "b": 2}\n' * (SOME_RECORDS + 1))
    ss.scan_json(tmp_path / "a.json", **SMALL).to_arrow()
    assert ["b bigint in 1,000 records or more;" in message for message in warned()] == [True]


CHOICES = {
    "a schema": lambda path: ss.scan_json(path, "id long, o struct<p: long>, t string", **SMALL),
    "columns": lambda path: ss.scan_json(path, columns="id,o,t", **SMALL),
    "select": lambda path: ss.scan_json(path, **SMALL).select("id", "o", "t"),
    "schemaMode": lambda path: ss.scan_json(path, provided_schema="id long", schema_mode="strict", **SMALL),
    "rescuedDataColumn": lambda path: ss.scan_json(path, rescued_data_column="_r", **SMALL),
    "a sample that is long enough": ss.scan_json,
}


@pytest.mark.parametrize("choice", CHOICES)
def test_whoever_chose_the_columns_is_not_bothered(tmp_path, warned, choice):
    (tmp_path / "a.json").write_text(lines({"b": 1}))
    assert CHOICES[choice](tmp_path / "a.json").to_arrow().num_rows == ROWS
    assert warned() == []


def test_every_column_beside_those_of_files_is_not_a_choice(tmp_path, warned):
    (tmp_path / "a.json").write_text(lines({"b": 1}))
    ss.scan_json(tmp_path / "a.json", **SMALL).select("*", "file_name").to_arrow()
    assert len(warned()) == 1


def test_who_takes_the_columns_is_given_them_at_the_end_and_no_warning_follows(tmp_path, warned):
    text = lines({"b": 1, "c": "x"})
    (tmp_path / "a.json").write_text(text)
    found = []
    scan = ss.scan_json(tmp_path / "a.json", **SMALL)
    assert sum(batch.num_rows for batch in scan.to_batches(on_new_columns=found.append)) == ROWS
    path, place = str(tmp_path / "a.json"), text.index(f'{{"id": {LATE}')
    assert found == [
        NewColumns({"b": NewColumn(pa.int64(), path, place, 10), "c": NewColumn(pa.string(), path, place, 10)})
    ]
    error = found[0].error(scan.options)
    assert (error.where, error.reason_code) == (Where(path, place, column="b"), "new-columns")
    assert warned() == []


def test_an_early_end_and_an_error_do_not_hide_what_was_seen(tmp_path, warned):
    (tmp_path / "a.json").write_text(lines({"b": 1}) + "broken\n")
    with pytest.raises(ss.RecordError):
        ss.scan_json(tmp_path / "a.json", mode="FAILFAST", batchRows=8, readBytes=4096, **SMALL).to_arrow()
    rows = iter(ss.scan_json(tmp_path / "a.json", batchRows=ROWS, **SMALL).limit(ROWS + 1).to_batches())
    next(rows)
    rows.close()
    assert len(warned()) == 2


def test_no_secret_of_a_path_is_shown(tmp_path, warned):
    path = tmp_path / "a.json?sig=hunter2"
    path.write_text(lines({"b": 1}))
    scan = ss.scan_json(path, **SMALL)
    found = []
    list(scan.to_batches(on_new_columns=found.append))
    scan.to_arrow()
    assert "hunter2" not in f"{found[0].error(scan.options)}{warned()}"


def test_names_that_differ_in_case_only_are_new_too(tmp_path, warned):
    (tmp_path / "a.json").write_text(lines({"ID": 1}))
    table = ss.scan_json(tmp_path / "a.json", **SMALL).to_arrow()
    assert table["id"].to_pylist() == list(range(ROWS))
    assert ["ID bigint in 10 records" in message for message in warned()] == [True]


def test_the_error_is_one_of_schemas():
    error = NewColumns({"b": NewColumn(pa.int64(), "a.json", 3, 1)}).error(ss.scan_json("a.json").options)
    assert isinstance(error, SchemaError)


def test_an_element_that_is_repeated_after_the_sample_is_no_silent_loss(tmp_path, warned, engine):
    text = elements("<t>a</t><t>b</t>").replace("<id>0</id>", "<id>0</id><t>x</t>", 1)
    (tmp_path / "a.xml").write_text(text)
    scan = ss.scan_xml(tmp_path / "a.xml", "r", **SMALL)
    assert scan.schema.field("t").type == pa.string()
    assert scan.to_arrow().num_rows == ROWS
    (message,) = warned()
    assert f"t array<string> in {ROWS - LATE} records" in message
    assert f"at byte {text.index(f'<r><id>{LATE}')} of" in message
    whole = ss.scan_xml(tmp_path / "a.xml", "r", sampleBytes="1m")
    assert whole.to_arrow()["t"].to_pylist()[-1] == ["a", "b"]


@pytest.mark.parametrize(
    "more",
    ["<o><p>1</p><p>2</p></o>", "<o><p>1</p></o><o><p>2</p></o>"],
    ids=["in a struct", "structs"],
)
def test_so_it_is_with_elements_in_elements(tmp_path, warned, engine, more):
    text = elements(more).replace("<id>0</id>", "<id>0</id><o><p>1</p></o>", 1)
    (tmp_path / "a.xml").write_text(text)
    assert ss.scan_xml(tmp_path / "a.xml", "r", **SMALL).to_arrow().num_rows == ROWS
    assert [f"in {ROWS - LATE} records" in message for message in warned()] == [True]


def test_an_array_of_json_where_a_text_is_expected_is_its_text_and_nothing_new(tmp_path, warned, engine):
    (tmp_path / "a.json").write_text(lines({"t": ["a"], "b": 1}))
    assert ss.scan_json(tmp_path / "a.json", **SMALL).to_arrow()["t"].to_pylist()[-1] == '["a"]'
    (message,) = warned()
    assert "b bigint in 10 records" in message
    assert "array<" not in message
