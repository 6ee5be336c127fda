import gzip
import hashlib
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import splitscan as ss
from splitscan.jobs.parquet import DICTIONARY_BYTES

TYPED = ("-o", "header=true", "-o", "multiLine=true", "-s", "id long, name string")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def test_convert_writes_parquet_with_the_types_of_the_schema(run, basic, out):
    code, said, _ = run("convert", basic, out / "a.parquet", *TYPED)
    assert (code, said.split(",")[0]) == (0, f"3 rows in {out / 'a.parquet'}")
    table = pq.read_table(out / "a.parquet")
    assert table.schema == pa.schema({"id": pa.int64(), "name": pa.string()})
    assert table.to_pylist()[1] == {"id": 2, "name": "grace\nhopper"}


def test_a_column_of_long_distinct_texts_has_a_bounded_dictionary_as_an_ingest_writes_it(run, tmp_path, out):
    texts = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(10_000)]
    (tmp_path / "a.txt").write_text("\n".join(texts) + "\n")
    assert run("convert", tmp_path / "a.txt", out / "a.parquet", "-f", "text")[0] == 0
    footer = pq.read_metadata(out / "a.parquet")
    column = footer.row_group(0).column(0)
    assert (footer.num_row_groups, footer.num_rows, column.compression) == (1, 10_000, "ZSTD")
    assert column.data_page_offset - column.dictionary_page_offset < DICTIONARY_BYTES  # of 640,000 bytes of texts
    assert pq.read_table(out / "a.parquet")["value"].to_pylist() == texts


def test_convert_finds_types_unless_texts_are_wanted(run, basic, out):
    assert run("convert", basic, out / "a.parquet", *TYPED[:4])[0] == 0
    assert run("convert", basic, out / "b.parquet", *TYPED[:4], "--types", "text")[0] == 0
    kinds = [pq.read_schema(out / name).field("id").type for name in ("a.parquet", "b.parquet")]
    assert kinds == [pa.int32(), pa.string()]
    (out / "a.csv").write_text("n,day\n1.50,2024-01-31 10:00\n-0,2024-02-01\n")
    assert run("convert", out / "a.csv", out / "b.csv")[0] == 0  # texts of CSV stay as they are written in CSV
    assert (out / "b.csv").read_text() == '"n","day"\n"1.50","2024-01-31 10:00"\n"-0","2024-02-01"\n'


def test_convert_writes_json_lines_and_compresses(run, basic, out):
    assert run("convert", basic, out / "a.jsonl.gz", *TYPED)[0] == 0
    lines = gzip.decompress((out / "a.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line) for line in lines] == ss.scan_json(out / "a.jsonl.gz").to_arrow().to_pylist()
    assert json.loads(lines[2]) == {"id": 3, "name": None}


def test_convert_writes_csv_that_reads_back(run, basic, out):
    assert run("convert", basic, out / "a.csv", *TYPED)[0] == 0
    assert (out / "a.csv").read_bytes() == b'"id","name"\n1,"ada"\n2,"grace\nhopper"\n3,\n'
    again = ss.scan_csv(out / "a.csv", "id long, name string", header=True, dialect="rfc4180")
    assert again.to_arrow() == ss.scan_csv(basic, "id long, name string", header=True, multi_line=True).to_arrow()


def test_convert_says_as_json_what_was_written(run, basic, out):
    said = json.loads(run("convert", basic, out / "a.csv", *TYPED, "--json")[1])
    assert said == {"path": str(out / "a.csv"), "rows": 3, "bytes": 40, "rejects": 0}


def test_convert_leaves_a_file_alone_that_is_there(run, basic, out):
    (out / "a.csv").write_text("mine")
    code, _, said = run("convert", basic, out / "a.csv", *TYPED)
    assert (code, "[file-exists]" in said, (out / "a.csv").read_text()) == (5, True, "mine")
    assert run("convert", basic, out / "a.csv", *TYPED, "--overwrite")[0] == 0
    assert (out / "a.csv").read_text() != "mine"


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl", "a.csv.gz", "a.jsonl.zst"])
def test_a_record_that_breaks_a_rule_leaves_no_file(run, tmp_path, out, name):
    (tmp_path / "a.csv").write_text("id\n" + "1\n" * 1000 + "x\n")
    (out / "other").write_text("")
    code, _, said = run("convert", tmp_path / "a.csv", out / name, "--header", "-s", "id long")
    assert (code, "[bad-value]" in said, "Traceback" in said) == (4, True, False)
    assert names(out) == ["other"]


def test_convert_goes_on_where_the_mode_says_so_and_tells_what_is_missing(run, tmp_path, out):
    (tmp_path / "a.csv").write_text("id,n\n1,a\nx,b\n3,c,d\n")
    given = ("--sep", ",", "--header", "-s", "id long, n string")
    assert run("convert", tmp_path / "a.csv", out / "n.csv", *given, "-o", "mode=PERMISSIVE")[0] == 0
    code, _, said = run("convert", tmp_path / "a.csv", out / "d.csv", *given, "-o", "mode=DROPMALFORMED")
    assert (code, said.splitlines()[0]) == (
        0,
        "2 records broke a rule (1 bad-value, 1 field-count): mode is DROPMALFORMED",
    )
    assert ((out / "n.csv").read_text(), (out / "d.csv").read_text()) == (
        '"id","n"\n1,"a"\n,"b"\n3,"c"\n',
        '"id","n"\n1,"a"\n,"b"\n',
    )


def test_a_null_in_the_only_column_of_csv_stays_a_record(run, tmp_path, out):
    (tmp_path / "a.json").write_text('{"id": 1}\n{"id": null}\n{"id": 3}\n')
    assert run("convert", tmp_path / "a.json", out / "a.csv")[0] == 0
    assert run("count", out / "a.csv", "--header")[1] == "3\n"


def test_convert_knows_what_it_cannot_write(run, tmp_path, out):
    (tmp_path / "a.json").write_text('{"a": [1]}\n')
    code, _, said = run("convert", tmp_path / "a.json", out / "a.csv")
    assert (code, "[csv-type]" in said) == (4, True)
    for name in ("a.txt", "a.parquet.gz", "a"):
        code, _, said = run("convert", tmp_path / "a.json", out / name)
        assert (code, "[bad-path]" in said) == (2, True)
    assert names(out) == []


def test_stats_shows_each_column(run, basic):
    assert run("stats", basic, *TYPED) == (
        0,
        "column\ttype\trows\tnulls\tmin\tmax\tdistinct\testimated\n"
        "id\tbigint\t3\t0\t1\t3\t3\tfalse\nname\tstring\t3\t1\tada\tgrace\\nhopper\t2\tfalse\n",
        "",
    )


def test_stats_finds_types_and_says_what_does_not_fit_them(run, tmp_path):
    (tmp_path / "a.csv").write_text("id\n" + "".join(f"{number}\n" for number in range(20)) + "x\n")
    code, out, said = run("stats", tmp_path / "a.csv", "--sep", ",", "--header", "-o", "sampleBytes=20", "--json")
    assert (code, json.loads(out)["max"], json.loads(out)["nulls"]) == (0, 19, 1)
    assert said.splitlines()[0] == (
        "1 record broke a rule (1 bad-value): values that do not fit their type count as nulls"
    )


def test_numbers_that_are_none_are_written_so_that_they_are_read_again(run, tmp_path, out):
    (tmp_path / "a.csv").write_text("NaN\nInf\n-Inf\n1.5\n")
    schema = ("-s", "x double")
    for name in ("a.csv", "a.jsonl"):
        assert run("convert", tmp_path / "a.csv", out / name, *schema)[0] == 0
        scan = (
            ss.scan(out / name, "csv", "x double", header=True)
            if name == "a.csv"
            else ss.scan_json(out / name, "x double")
        )
        found = scan.to_arrow()["x"].to_pylist()
        assert (math.isnan(found[0]), found[1:]) == (True, [math.inf, -math.inf, 1.5])


@pytest.fixture(params=["json", "xml"])
def late(request, tmp_path):
    """A file whose last record has a column that a sample of 64 bytes does not show; the options that it needs."""
    path = tmp_path / f"late.{request.param}"
    if request.param == "json":
        path.write_text('{"id": 1}\n' * 20 + '{"id": 1, "b": "x"}\n')
        return path, ("-o", "sampleBytes=64")
    path.write_text("<rows>" + "<r><id>1</id></r>\n" * 20 + "<r><id>1</id><b>x</b></r></rows>")
    return path, ("-f", "xml", "-o", "rowTag=r", "-o", "sampleBytes=64")


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "jsonl.gz"])
@pytest.mark.parametrize("mode", [(), ("-o", "mode=PERMISSIVE"), ("-o", "mode=DROPMALFORMED")])
def test_convert_writes_nothing_where_a_column_that_no_sample_has_shown_would_be_lost(run, late, out, ending, mode):
    path, options = late
    code, said, error = run("convert", path, out / f"a.{ending}", *options, *mode)
    assert (code, said, names(out)) == (4, "", [])
    assert f"[new-columns]\n  where: {path}, byte " in error
    assert "column 'b'\n  seen:  b string in 1 record\n  fix:   raise sampleBytes (now 64 B)" in error


@pytest.mark.parametrize("fix", [("-o", "sampleBytes=1m"), ("-s", "id long, b string"), ("-c", "id")])
def test_each_way_that_the_error_names_leads_on(run, late, out, fix):
    path, options = late
    kept = options if fix[0] != "-o" else options[:-2]
    assert run("convert", path, out / "a.parquet", *kept, *fix)[0] == 0
    assert pq.read_schema(out / "a.parquet").names == (["id"] if fix[0] == "-c" else ["id", "b"])


@pytest.mark.parametrize("command", [("stats",), ("head", "-n", "30")])
def test_commands_that_show_rows_note_the_column_beside_what_they_show(run, late, command, caplog):
    path, options = late
    code, said, _ = run(*command, path, *options)
    assert (code, "id" in said) == (0, True)
    (note,) = [record.getMessage() for record in caplog.records]
    assert "records have columns that no sample has shown, and they are not read: b string in 1 record;" in note


def test_counting_records_delivers_no_column_and_has_nothing_to_note(run, late):
    path, options = late
    assert run("count", path, *options) == (0, "21\n", "")


def test_check_tells_what_is_broken_and_a_pipeline_notices(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,n\n1,2\n2,x\n3,4,5\n4,y\n5,z\n6,w\n")
    typed = ("--sep", ",", "--header", "-s", "id int, n int")
    code, out, _ = run("check", path, *typed)
    assert code == 4
    assert out.splitlines() == [
        "6 rows in 1 file, 31 B: 5 records break a rule",
        "bad-value: 4 records",
        f"    {path}, line 3, byte 9: column 'n': 'x' is no int",
        f"    {path}, line 5, byte 19: column 'n': 'y' is no int",
        f"    {path}, line 6, byte 23: column 'n': 'z' is no int",
        "    and 1 more",
        "field-count: 1 record",
        f"    {path}, line 4, byte 13: the record has 3 fields where 2 are expected",
        "column id: int",
        "column n: int; string holds all its values",
    ]
    code, out, _ = run("check", path, *typed, "--json")
    said = json.loads(out)
    assert (code, said["rows"], said["rejects"]) == (4, 6, 5)
    assert said["columns"][1] == {"name": "n", "type": "int", "holds": "string"}


def test_check_finds_types_that_hold(run, basic):
    code, out, _ = run("check", basic)
    assert (code, out.splitlines()) == (
        0,
        ["3 rows in 1 file, 34 B: no record breaks a rule", "column id: int", "column name: string"],
    )


@pytest.mark.parametrize(
    ("command", "code"), [(("head", "-n", "200"), 0), (("stats",), 0), (("check",), 4), (("convert",), 4)]
)
def test_what_contradicts_types_of_a_sample_is_said_by_every_command(run, tmp_path, caplog, command, code):
    path = tmp_path / "late.csv"
    path.write_text("k,v\n" + "k,1\n" * 100 + "k,x\nk,y\n")
    name, *options = command
    target = [tmp_path / "out.parquet"] if name == "convert" else []
    sampled = ("--header", "-o", "inferSchema=true", "-o", "sampleBytes=256")
    found, said, noted = run(name, path, *target, *options, *sampled)
    told = said + noted + caplog.text
    assert (found, "column 'v': 'x' is no int" in told, "byte 404" in told) == (code, True, True)
    assert not (tmp_path / "out.parquet").exists()
