import gzip
import json
import lzma
import os

import pytest
from backports import zstd

HEADER = ("-o", "header=true", "-o", "multiLine=true")


def test_count_prints_the_number_of_records(run, basic):
    assert run("count", basic, *HEADER) == (0, "3\n", "")


def test_count_takes_several_paths_and_globs(run, tmp_path):
    (tmp_path / "a.csv").write_text("1\n2\n")
    (tmp_path / "b.csv").write_text("3\n")
    (tmp_path / "c.txt").write_text("4\n")
    assert run("count", tmp_path / "*.csv")[1] == "3\n"
    assert run("count", tmp_path / "a.csv", tmp_path / "c.txt")[1] == "3\n"
    assert run("count", tmp_path, "-o", "pathGlobFilter=b*")[1] == "1\n"


def test_a_quoted_glob_may_begin_with_the_home_folder(run, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.csv").write_text("1\n2\n")
    assert run("count", "~/*.csv", "--sep", ",", "--no-header") == (0, "2\n", "")


def test_count_knows_other_formats(run, basic):
    assert run("count", basic, "--format", "text")[1] == "5\n"
    assert run("count", basic, "-f", "fixed", "-o", "recordLength=8")[1] == "5\n"


def test_count_and_head_say_which_records_are_no_rows(run, tmp_path, caplog):
    path = tmp_path / "a.txt"
    path.write_text("1\n" + "x" * 5000 + "\n2\n")
    source = (path, "-f", "text", "-o", "maxRecordBytes=1000")
    assert run("count", *source)[:2] == (0, "2\n")
    assert run("head", *source)[:2] == (0, "value\n1\n2\n")
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        f"1 record is no row; the first begins at byte 2 of {path}"
    ] * 2


def test_count_as_json_is_an_object(run, basic):
    assert run("count", basic, *HEADER, "--json")[1] == '{"records": 3}\n'


def test_head_writes_tab_separated_lines_to_a_pipe(run, basic):
    assert run("head", basic, *HEADER) == (0, "id\tname\n1\tada\n2\tgrace\\nhopper\n3\t\\N\n", "")


def test_head_stops_after_the_asked_for_rows(run, basic):
    assert run("head", basic, *HEADER, "-n", "1")[1] == "id\tname\n1\tada\n"
    assert run("head", basic, *HEADER, "--limit", "0")[1] == "id\tname\n"


def test_head_takes_a_schema_and_columns(run, basic):
    code, out, _ = run(
        "head", basic, *HEADER, "-s", "id long, name string", "--columns", "name,id", "--json", "-n", "2"
    )
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"name": "ada", "id": 1},
        {"name": "grace\nhopper", "id": 2},
    ]


def test_head_shows_bytes_in_json_as_base64(run, basic):
    assert run("head", basic, "-f", "fixed", "-o", "recordLength=3", "-n", "1", "--json")[1] == '{"value": "aWQs"}\n'


def test_blocks_are_listed_with_how_their_file_is_cut(run, basic):
    assert run("blocks", basic, "--block-size", "16")[1] == (
        "path\tindex\tstart\tstop\tcut\n"
        f"{basic}\t0\t0\t16\tby bytes\n{basic}\t1\t16\t32\tby bytes\n{basic}\t2\t32\t34\tby bytes\n"
    )


def test_blocks_of_compressed_files_say_why_they_are_cut_so(run, tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 1000))
    (tmp_path / "b.csv.xz").write_bytes(lzma.compress(b"1,2\n" * 1000))
    (tmp_path / "c.csv.zst").write_bytes(zstd.compress(b"1,2\n") + zstd.compress(b"3,4\n"))
    size = (tmp_path / "c.csv.zst").stat().st_size // 2
    shown = [json.loads(line) for line in run("blocks", tmp_path, "--block-size", str(size), "--json")[1].splitlines()]
    stream = "gzip: one stream, decompressed by each of its tasks"
    shares, others = shown[:4], shown[4:]  # how long a share is, only the splitter promises
    assert [block["cut"] for block in shares] == [stream] * 4
    assert [block["start"] for block in shares] == [0, *(block["stop"] for block in shares[:-1])]
    assert shares[-1]["stop"] is None
    assert [(block["start"], block["stop"], block["cut"]) for block in others] == [
        (0, (tmp_path / "b.csv.xz").stat().st_size, "whole: not longer than a block, or nothing can begin inside it"),
        (0, 4, "zstd: between members or blocks, decompressed from byte 0 of the file on"),
        (4, 8, "zstd: between members or blocks, decompressed from byte 0 of the file on"),
    ]


def test_blocks_with_an_index_say_where_their_first_record_starts(run, basic):
    code, out, _ = run("blocks", basic, *HEADER, "--block-size", "16", "--index", "--json")
    assert code == 0
    assert [json.loads(line)["first_record_start"] for line in out.splitlines()] == [8, 31, 34]


def test_options_of_a_format_are_listed(run):
    code, out, _ = run("options", "fixed", "--json")
    options = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert options[0]["option"] == "recordLength"
    assert options[0]["default"] == "required"
    assert "multiLine" not in out


def test_options_of_all_formats_are_listed_once_each(run):
    lines = run("options")[1].splitlines()
    assert lines[0] == "option\tformats\tvalues\tdefault\tmeaning"
    assert len([line for line in lines if line.startswith("mode\t")]) == 1
    assert any(line.startswith("multiLine\tcsv, json, xml\t") for line in lines)
    assert any(line.startswith("mode\tall\t") for line in lines)
    assert "`" not in "".join(lines)


@pytest.mark.parametrize(
    ("args", "seen"),
    [
        (["-o", "header"], "'header'"),
        (["-o", "=true"], "--option takes a name and a value"),
        (["-o", "header=true", "-o", "header=false"], "'true' and 'false'"),
        (["-c", "a", "-o", "columns=b"], "'a' and 'b'"),
        (["-f", "cvs"], "did you mean csv?"),
        (["-o", "headr=true"], "did you mean header?"),
        (["-s", "id lnog"], "'lnog' is no type"),
    ],
)
def test_options_without_a_meaning_are_refused(run, basic, args, seen):
    code, out, err = run("head", basic, *args)
    assert (code, out) == (2, "")
    assert seen in err


def test_an_option_may_be_given_twice_with_one_value(run, basic):
    assert run("count", basic, *HEADER, *HEADER)[0] == 0


def test_the_value_of_an_option_may_hold_an_equals_sign(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1=2\n")
    assert run("head", path, "-o", "sep==")[1] == "_c0\t_c1\n1\t2\n"


def test_a_record_that_breaks_a_rule_has_exit_code_4(run, basic):
    code, _, err = run("head", basic, *HEADER, "-s", "id long, name long", "-o", "mode=FAILFAST")
    assert code == 4
    assert "[bad-value]" in err


def test_columns_and_conditions_reach_members_directories_and_files(run, tmp_path):
    for year in (2024, 2025):
        folder = tmp_path / "in" / f"year={year}"
        folder.mkdir(parents=True)
        (folder / f"{year}.json").write_text('{"m": {"x": 1, "y": "a"}}\n{"m": null}\n')
    source = (tmp_path / "in", "-f", "json")
    assert run("count", *source, "--where", "year > 2024") == (0, "2\n", "")
    chosen = ("-c", "m.y,year,filename,dir0", "-w", "filename like '%24.json'")
    assert [json.loads(line) for line in run("head", *source, *chosen, "--json")[1].splitlines()] == [
        {"m": {"y": "a"}, "year": 2024, "filename": "2024.json", "dir0": "year=2024"},
        {"m": None, "year": 2024, "filename": "2024.json", "dir0": "year=2024"},
    ]
    ddl = run("schema", *source, *chosen, "--ddl")[1]
    assert ddl == "m struct<y: string>, year int, filename string, dir0 string\n"
    assert "2025.json" not in run("blocks", *source, "-w", "year = 2024")[1]
    code, _, err = run("count", *source, "-w", "m > 1")
    assert (code, "[bad-where]" in err) == (2, True)


def test_index_says_where_files_can_be_entered_and_blocks_begin_there(run, tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(b"".join(gzip.compress(b"%d\n" % i) for i in range(4)))
    os.utime(path, (1_000_000_000, 1_000_000_000))
    (tmp_path / "b.txt").write_bytes(b"5\n")
    rows = f"{path}\tgzip\t4\t8\tkept\n{tmp_path / 'b.txt'}\t\\N\t1\t2\tnot compressed\n"
    assert run("index", tmp_path, "-f", "text")[:2] == (0, f"path\tcodec\tplaces\tcontent_bytes\tindex\n{rows}")
    (again,) = [json.loads(line) for line in run("index", path, "--json")[1].splitlines()]
    assert again["index"] == "kept before"
    shown = run("blocks", path, "-f", "text", "--block-size", "1")[1]
    assert shown.count("gzip: between members or blocks") == 4


@pytest.mark.parametrize("command", ["count", "head", "blocks", "stats", "convert", "sniff", "schema"])
def test_no_command_takes_nested_directories_for_an_empty_input(run, tmp_path, command):
    (tmp_path / "in/2024").mkdir(parents=True)
    (tmp_path / "in/2024/a.csv").write_text("id,name\n1,ann\n")
    written = [tmp_path / "out.parquet"] if command == "convert" else []
    code, said, error = run(command, tmp_path / "in", *written)
    assert (code, said) == (3, "")
    assert "[no-files]" in error
    assert "-o recursiveFileLookup=true" in error
    assert run(command, tmp_path / "in", *written, "-o", "recursiveFileLookup=true")[0] == 0


def test_head_looks_for_the_columns_of_json_in_a_sample_and_says_what_came_later(run, tmp_path):
    path = tmp_path / "late.jsonl"
    path.write_text('{"a": 1, "text": "%s"}\n' % ("x" * 1000) * 1500 + '{"a": 2, "late": 3}\n')
    assert run("head", str(path), "-n", "1")[1].startswith("a\ttext\n1\tx")
    assert run("head", str(path), "-n", "1", "-o", "inferBytes=1GiB")[1].startswith("a\ttext\tlate\n1\tx")


def test_bytes_that_are_no_utf8_are_said(run, tmp_path, caplog):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":"\xfc"}\n{"a":"\xe9"}\n')
    source = (path, "-s", "a string")
    seen = f"2 records have bytes that are no UTF-8, the first at {path}, byte 14;"
    for command in (["head", *source], ["convert", path, tmp_path / "b.parquet", "-s", source[2]], ["stats", *source]):
        assert run(*command)[0] == 0
        (said,) = [record.getMessage() for record in caplog.records if "UTF-8" in record.getMessage()]
        assert said.startswith(seen)
        assert "-o encoding=windows-1252" in said
        caplog.clear()
    code, shown, _ = run("check", *source)
    assert code == 4
    assert seen in shown
    code, shown, _ = run("check", *source, "--json")
    assert json.loads(shown)["odd"] == [{"code": "not-utf8", "records": 2, "path": str(path), "offset": 14}]
    assert run("check", *source, "-o", "encoding=windows-1252")[0] == 0
