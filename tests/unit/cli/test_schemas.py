from __future__ import annotations

import json

HEADER = ("-o", "header=true", "-o", "multiLine=true")


def test_ddl_is_ready_to_paste(run, basic):
    assert run("schema", basic, *HEADER, "--types", "text", "--ddl") == (0, "id string, name string\n", "")
    code, ddl, _ = run("schema", basic, *HEADER, "--ddl")
    assert (code, ddl) == (0, "id int, name string\n")
    assert run("head", basic, *HEADER, "--schema", ddl, "-n", "1", "--json")[1] == '{"id": 1, "name": "ada"}\n'


def test_a_pipe_gets_one_line_for_each_column(run, basic):
    assert run("schema", basic, *HEADER) == (
        0,
        "column\ttype\tfrom\tfile\tseen\nid\tint\tfile\tbasic.csv\tint\nname\tstring\tfile\tbasic.csv\tstring\n",
        "",
    )


def test_programs_get_one_object(run, basic):
    code, text, _ = run("schema", basic, *HEADER, "-c", "name", "-o", "schemaHints=name binary", "--json")
    assert code == 0
    assert json.loads(text) == {
        "schema": "name binary",
        "columns": [
            {
                "name": "name",
                "type": "binary",
                "nullable": True,
                "source": "hint",
                "path": str(basic),
                "seen": [{"type": "string", "path": str(basic)}],
                "default": None,
            }
        ],
        "conflicts": [],
        "files": 1,
        "sampled_files": 1,
    }
    assert run("schema", basic, "--json", "--ddl")[0] == 2


def test_conflicts_and_files_that_were_not_looked_at_are_told(run, tmp_path):
    for name, text in (("a", "x\n1\n"), ("b", "x\ntrue\n"), ("c", "x\n1\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    code, _, errors = run("schema", tmp_path, "--sep", ",", "-o", "header=true")
    assert (code, errors) == (0, f"x is int in {tmp_path}/a.csv, boolean in {tmp_path}/b.csv: it becomes string\n")
    _, _, errors = run("schema", tmp_path, "--sep", ",", "-o", "header=true", "-o", "sampleFiles=2")
    assert errors == "2 of 3 files were looked at (sampleFiles)\n"
    code, _, errors = run("schema", tmp_path, "-o", "header=true", "-o", "schemaConflicts=error")
    assert code == 4
    assert "[schema-conflict]" in errors
