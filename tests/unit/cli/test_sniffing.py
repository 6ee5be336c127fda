"""The dialect on the command line: found where nobody names it, said in one line, refused where it is not clear."""

import json
import shlex

import pytest


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text('id;note\n1;"say ""hi"""\n2;x\n3;"a\nb"\n')
    return path


def test_count_and_head_look_at_a_file_of_which_nothing_is_said(run, notes):
    code, out, said = run("count", notes)
    assert (code, out) == (0, "3\n")
    assert said == (
        "read with --sep ';' -o 'escape=\"' --header -o multiLine=true (found in samples); "
        "give all of these to pin them\n"
    )
    assert run("head", notes)[1] == 'id\tnote\n1\tsay "hi"\n2\tx\n3\ta\\nb\n'


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ("01234\n", "string"),
        ("1\n02\n3\n", "string"),
        ("+07\n", "string"),
        ("00\n", "string"),
        ("-01.5\n", "string"),
        ("00.5\n", "string"),
        ("0\n0.5\n", "double"),
        ("0\n10\n", "int"),
        ("1" * 12 + "\n", "bigint"),
        ('"007"\n', "string"),
    ],
)
def test_sniff_proposes_no_number_for_what_ingest_keeps_as_text(run, tmp_path, rows, kind):
    path = tmp_path / "a.csv"
    path.write_text("name,zip\n" + "".join(f"x,{row}\n" for row in rows.split()))
    assert f"schema:  name string, zip {kind}\n" in run("sniff", path)[1]


def test_what_was_found_can_be_pasted_and_then_nothing_is_said(run, notes):
    _, _, said = run("count", notes)
    pasted = shlex.split(said.removeprefix("read with ").partition(" (")[0])
    assert run("count", notes, *pasted) == (0, "3\n", "")


def test_what_was_found_is_not_mixed_with_what_was_assumed(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b\n1;2\n")
    assert run("count", path)[2] == (
        "read with --sep ';' --header (found in samples) and -o 'escape=\"' -o multiLine=true (assumed); "
        "give all of these to pin them\n"
    )


@pytest.mark.parametrize(
    ("given", "records"),
    [(("--header",), "2"), (("--sep", ","), "2"), (("-o", "multiLine=true"), "2"), (("--no-header",), "3"),
     (("-o", "columnsArray=true"), "3"), (("--quote", '"', "-o", "escape=\\"), "2"), (("--quote", '"'), "2"),
     (("-o", 'escape="'), "2"), (("-o", "encoding=UTF-8"), "2"), (("-o", "comment=#"), "2"),
     (("-o", "skipRows=0"), "2"),
     (("-o", "nullValue=x"), "2"), (("-o", "mode=FAILFAST"), "2"), (("-s", "id int, note string, n int"), "2")],
)  # fmt: skip
def test_what_is_given_narrows_the_search_and_the_rest_is_still_found(run, tmp_path, given, records):
    (tmp_path / "notes.csv").write_text('id,note,n\n1,"a\nb",10\n2,c,20\n')
    assert run("count", tmp_path / "notes.csv", *given)[:2] == (0, f"{records}\n")


def test_line_ends_in_quotes_are_found_where_a_header_is_given(run, tmp_path):
    rows = "".join(f'{n},"two\nlines",{n}\n' if n % 10 == 0 else f"{n},plain,{n}\n" for n in range(1000))
    (tmp_path / "a.csv").write_text("id,note,n\n" + rows)
    code, out, said = run("count", tmp_path / "a.csv", "--header")
    assert (code, out) == (0, "1000\n")
    assert said.startswith("read with -o multiLine=true (found in samples)")


def test_a_separator_of_lines_that_is_given_ends_the_lines_of_the_search_too(run, tmp_path):
    (tmp_path / "a.csv").write_bytes(b"id;note\x1e1;a\nb\x1e2;c\x1e3;d\x1e")
    code, out, said = run("head", tmp_path / "a.csv", "-o", "lineSep=\x1e")
    assert (code, out.splitlines()[0]) == (0, "id\tnote")
    assert "--sep ';' --header" in said


def test_what_is_given_and_decides_all_that_samples_tell_needs_no_word(run, notes):
    given = ("--sep", ";", "--header", "-o", 'escape="', "-o", "multiLine=true")
    assert run("count", notes, *given) == (0, "3\n", "")
    assert "read with -o multiLine=true (found in samples)" in run("count", notes, *given[:-2])[2]


def test_a_preset_is_all_of_a_dialect_and_what_contradicts_it_is_said(run, notes, caplog):
    assert run("count", notes, "-o", "dialect=spark")[:2] == (0, "5\n")
    assert "probably wants option" in caplog.text


def test_a_header_that_shifts_names_or_drops_fields_is_told_by_head(run, tmp_path, caplog):
    (tmp_path / "a.csv").write_text("b,c\n" + "".join(f"r{i},{i},{i}.5\n" for i in range(20)))
    assert run("head", tmp_path / "a.csv")[0] == 4
    code, out, _ = run("head", tmp_path / "a.csv", "--header")
    assert (code, out.splitlines()[0]) == (0, "b\tc")
    assert "contradicts the options: The header has 2 names and the records have 3 fields" in caplog.text
    caplog.clear()
    assert run("head", tmp_path / "a.csv", "--header", "-o", "rescuedDataColumn=rest")[0] == 0
    assert "contradicts" not in caplog.text


def test_lines_that_are_skipped_are_shown(run, tmp_path):
    (tmp_path / "a.csv").write_text("Konto;123;;\nDatum;Text;Betrag;Saldo\n" + "01.02.2026;Miete;-5,00;1,00\n" * 9)
    assert "'Konto;123;;'" in run("count", tmp_path / "a.csv")[2]


def test_flags_say_what_options_say(run, notes):
    flags = ("--sep", ";", "--header", "-o", "multiLine=true")
    assert run("head", notes, *flags, "-n", "1")[1].splitlines()[0] == "id\tnote"
    assert run("head", notes, "--sep", ";", "--quote", "", "-n", "2")[1].splitlines()[2] == '1\t"say ""hi"""'
    code, _, said = run("head", notes, "--sep", ";", "-o", "sep=,")
    assert (code, "sep is given as a flag and as --option" in said) == (2, True)


def test_a_dialect_that_is_not_clear_is_refused_with_the_candidates(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\nc\nd,e,f\n")
    code, out, said = run("count", path)
    assert (code, out) == (4, "")
    assert "[dialect-unclear]" in said
    assert "3 columns, score" in said
    assert run("sniff", path)[0] == 4


def test_a_header_that_is_not_clear_is_read_as_data_and_said(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("north,red\nx,blue\n")
    code, out, said = run("count", path)
    assert (code, out) == (0, "2\n")
    assert "it is read as data" in said


def test_sniff_shows_settings_evidence_and_what_to_paste(run, notes):
    code, out, _ = run("sniff", notes)
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "setting\tvalue\thow sure\tevidence"
    assert 'escape\t"\tcertain\t2 doubled quotes, 0 after a backslash' in lines
    assert "line ends\tLF\t\t" in lines
    assert lines[-3] == "schema:  id int, note string"
    assert lines[-2] == "command: -o 'sep=;' -o 'escape=\"' -o header=true -o multiLine=true"
    assert lines[-1].endswith(", sep=';', escape='\"', header=True, multi_line=True)")


def test_sniff_proposes_text_for_codes_with_zeros_in_front(run, tmp_path):
    (tmp_path / "a.csv").write_text("zip,n,x\n01234,1,0\n98765,2,0.5\n")
    assert "schema:  zip string, n int, x double" in run("sniff", tmp_path / "a.csv")[1]


def test_sniff_proposes_types_that_hold_all_values(run, tmp_path, caplog):
    (tmp_path / "a.csv").write_text("id,x\n" + "1,1\n" * 600_000 + "1,0.5\n")
    assert "schema:  id int, x double" in run("sniff", tmp_path / "a.csv")[1]
    assert not caplog.messages
    run("sniff", tmp_path / "a.csv", "-o", "inferBytes=64k")
    assert "sample of about" in caplog.text


def test_sniff_as_json_has_every_setting(run, notes):
    found = json.loads(run("sniff", notes, "--json")[1])
    assert found["clear"] is True
    assert found["options"] == {"sep": ";", "escape": '"', "header": True, "multiLine": True}
    assert found["settings"]["escape"]["confidence"] == "certain"
    assert found["candidates"][0]["sep"] == ";"


@pytest.mark.parametrize("command", ["count", "head", "schema"])
@pytest.mark.parametrize("text", ['[\n  {"id": 1},\n  {"id": 2}\n]\n', '[{"id": 1}, {"id": 2}]'])
def test_json_in_an_array_or_over_several_lines_is_read_as_values_and_says_so(run, tmp_path, command, text):
    (tmp_path / "a.json").write_text(text)
    code, found, said = run(command, tmp_path / "a.json")
    assert said == "read with -o multiLine=true (found in samples); give it to pin it\n"
    assert (code, found, "") == run(command, tmp_path / "a.json", "-o", "multiLine=true")
    assert run("count", tmp_path / "a.json", "-o", "multiLine=false")[1] == f"{len(text.splitlines())}\n"


def test_files_are_known_by_their_names(run, tmp_path):
    (tmp_path / "a.tsv").write_text("id\tx\n1\t2\n")
    assert run("count", tmp_path / "a.tsv", "--header")[1] == "1\n"
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    assert run("count", tmp_path / "a.jsonl") == (0, "2\n", "")
    code, _, said = run("count", tmp_path / "a.parquet")
    assert (code, "[not-records]" in said) == (2, True)


def test_an_encoding_or_a_name_that_says_the_separator_leave_the_rest_to_be_found(run, tmp_path):
    (tmp_path / "a.csv").write_bytes("id;prix\n1;3 €\n2;5 €\n".encode("windows-1252"))
    code, out, said = run("head", tmp_path / "a.csv", "-o", "encoding=windows-1252")
    assert (code, out) == (0, "id\tprix\n1\t3 €\n2\t5 €\n")
    assert said.startswith("read with --sep ';' --header (found in samples)")
    assert "windows-1252" not in said  # it was given
    (tmp_path / "a.tsv").write_text("id\tnote\n1\tx,y\n2\tz\n")
    code, out, said = run("head", tmp_path / "a.tsv")
    assert (code, out) == (0, "id\tnote\n1\tx,y\n2\tz\n")
    assert said.startswith(r"read with --sep '\t' --header (found in samples)")


def test_an_encoding_in_which_a_backslash_is_half_a_character_can_be_looked_at(run, tmp_path):
    (tmp_path / "a.csv").write_bytes("日付;表示\n1;ソ\n2;能\n".encode("shift_jis"))
    assert run("sniff", tmp_path / "a.csv", "-o", "encoding=Shift_JIS")[0] == 0
    assert run("head", tmp_path / "a.csv", "-o", "encoding=Shift_JIS")[1] == "日付\t表示\n1\tソ\n2\t能\n"


def test_sniff_takes_the_flags_that_its_hints_name(run, tmp_path):
    (tmp_path / "a.txt").write_text("1;2 3\n4;5 6\n7;8 9\n")
    code, shown, _ = run("sniff", tmp_path / "a.txt", "--sep", " ", "--no-header")
    assert code == 0
    assert "sep\tspace\tgiven\tgiven" in shown
    assert "header\tfalse\tgiven\tgiven" in shown
    code, shown, _ = run("sniff", tmp_path / "a.txt", "--format", "text")
    assert (code, shown.splitlines()[0]) == (0, "format:  text")
    assert run("sniff", tmp_path / "a.txt", "-o", "recordFormat=text")[1] == shown
