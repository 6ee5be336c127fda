import datetime
import decimal
import io
import json
import os
import pty
import re
import threading

import pytest

from splitscan.cli import main
from splitscan.cli.output import write_rows
from splitscan.cli.terminal import show_text, write_anything

STYLES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def on_a_terminal(monkeypatch):
    """Runs the command; returns what a terminal shows of its output, styles left out."""

    def show(*args, columns=80):
        leader, follower = pty.openpty()
        shown = []
        reader = threading.Thread(target=read_all, args=(leader, shown))
        reader.start()
        with monkeypatch.context() as patch, os.fdopen(follower, "w", encoding="utf-8") as terminal:
            patch.setenv("COLUMNS", str(columns))
            patch.setenv("TERM", "xterm")
            patch.setattr("sys.stdout", terminal)
            patch.setattr("sys.stderr", terminal)
            main([str(arg) for arg in args])
        reader.join(300)
        os.close(leader)
        return STYLES.sub("", b"".join(shown).decode()).replace("\r\n", "\n")

    return show


def read_all(descriptor, into):
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # the other side was closed
            return
        if not data:
            return
        into.append(data)


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_a_terminal_gets_a_table_with_one_line_for_each_row(basic, on_a_terminal):
    shown = lines_of(on_a_terminal("head", basic, "-o", "header=true", "-o", "multiLine=true"))
    assert shown[0].split() == ["id", "name"]
    assert [line.split() for line in shown[2:]] == [["1", "ada"], ["2", "grace⏎hopper"], ["3", "null"]]


def test_a_table_cuts_wide_columns_and_keeps_narrow_ones_whole(tmp_path, on_a_terminal):
    path = tmp_path / "wide.csv"
    path.write_text(f"12345678,{'x' * 200},{'y' * 200}\n")
    shown = on_a_terminal("head", path, "--no-header", columns=60)
    assert max(map(len, shown.splitlines())) <= 60
    assert "12345678" in shown
    assert re.search(r"x{15,}…", shown)
    assert re.search(r"y{15,}…", shown)


@pytest.mark.parametrize(("columns", "number"), [(60, "123456789012"), (30, "123456789012"), (22, "123456789012")])
def test_a_table_cuts_texts_and_keeps_numbers_whole_where_there_is_room(tmp_path, on_a_terminal, columns, number):
    path = tmp_path / "a.csv"
    path.write_text(f"number,note\n123456789012,{'text ' * 20}\n")
    shown = lines_of(on_a_terminal("head", path, "--header", "-s", "number long, note string", columns=columns))
    assert shown[-1].split()[0] == number
    assert shown[-1].endswith("…")


def test_rows_with_many_columns_are_shown_with_a_line_for_each_of_them(tmp_path, on_a_terminal):
    path = tmp_path / "many.csv"
    path.write_text(",".join(f"value{number}" for number in range(20)) + f",{'x' * 90}\n")
    shown = lines_of(on_a_terminal("head", path, "--sep", ",", "--no-header", columns=80))
    assert shown[0] == "row 1"
    assert shown[1].split() == ["_c0", "value0"]
    assert shown[20].split() == ["_c19", "value19"]
    assert (shown[21].endswith("xxx…"), max(map(len, shown)) < 80) == (True, True)


def test_data_cannot_steer_the_terminal(tmp_path, on_a_terminal):
    path = tmp_path / "evil.csv"
    path.write_text("\x1b]0;title\x07,\x1b[2J\n")
    shown = on_a_terminal("head", path, "--sep", ",", "--no-header")
    assert "\x1b]" not in shown
    assert "\x07" not in shown
    assert "␛]0;title␇" in shown


STEERING = "\x00\x07\x08\x1b]0;title\x1b\\\x7f\x9b2J"
"""Everything that a terminal obeys: C0, DEL, and C1, whose U+009B begins a command too."""


@pytest.mark.parametrize(
    ("as_json", "shown"),
    [
        (False, r"\x00\x07\x08\x1b]0;title\x1b\\\x7f\x9b2J"),
        (True, r"\u0000\u0007\b\u001b]0;title\u001b\\\u007f\u009b2J"),
    ],
)
def test_what_comes_out_of_a_pipe_cannot_steer_a_terminal_either(tmp_path, run, as_json, shown):
    path = tmp_path / "evil.json"
    path.write_text(json.dumps({STEERING: STEERING}), encoding="utf-8")
    code, out, _ = run("head", path, "-f", "json", "-o", "multiLine=true", *(["--json"] if as_json else []))
    assert (code, out.count(shown)) == (0, 2)  # the name and the value
    assert not set(out) & set(STEERING) - set("\\]0;title2J")
    if as_json:
        assert json.loads(out) == {STEERING: STEERING}


def test_a_schema_cannot_steer_a_terminal(tmp_path, run, on_a_terminal):
    path = tmp_path / "evil.csv"
    path.write_text("a\x9b2J\u202ex\n1\n", encoding="utf-8")
    for args in (["schema", path, "-o", "header=true"], ["schema", path, "-o", "header=true", "--ddl"]):
        shown = on_a_terminal(*args)
        assert r"a\u009b2J\u202ex" in shown
        assert not set(shown) & {"\x9b", "\u202e"}
    assert run("schema", path, "-o", "header=true", "--ddl")[1] == "`a\x9b2J\u202ex` int\n"  # as -s takes it


def test_a_long_list_of_blocks_is_cut_on_a_terminal(basic, on_a_terminal):
    path = basic.parent / "long.txt"
    path.write_text("x" * 600)
    shown = on_a_terminal("blocks", path, "--block-size", "1", "-f", "text")
    assert "only 500 rows are shown here" in shown


def test_an_error_on_a_terminal_is_told_in_the_same_words(tmp_path, on_a_terminal):
    shown = on_a_terminal("count", tmp_path / "nope", columns=40)
    assert " ".join(shown.split()).startswith(f"error: Path does not exist: {tmp_path}/nope [path-not-found] where: ")
    lines = shown.splitlines()
    assert [line[:9] for line in lines if re.match("  [a-z]", line)] == ["  where: ", "  seen:  ", "  fix:   "]
    assert lines[-1].startswith(" " * 9)
    assert [line for line in lines if len(line) > 40 and str(tmp_path) not in line] == []


def test_a_note_on_a_terminal_breaks_between_words(tmp_path, on_a_terminal):
    (tmp_path / "f.csv").write_text("id,name\n1,a\n2,b\n")
    shown = on_a_terminal("count", tmp_path / "f.csv", columns=60)
    *note, count = shown.splitlines()
    assert count == "2"
    assert len(note) == 2
    assert " ".join(note).endswith("give all of these to pin them")
    assert max(map(len, note)) <= 60


def test_truths_are_shown_as_spark_shows_them(capsys):
    write_rows(["a", "b"], [(True, False)])
    assert capsys.readouterr().out == "a\tb\ntrue\tfalse\n"


def test_options_on_a_terminal_have_no_markup(on_a_terminal):
    shown = on_a_terminal("options", "csv", columns=200)
    assert "dialects.md" in shown
    assert "](" not in shown


def test_lines_escape_what_would_divide_them(capsys):
    write_rows(["a", "b"], [("tab\tnewline\n", "back\\slash\r"), (None, b"\x00\xff")])
    assert capsys.readouterr().out == "a\tb\ntab\\tnewline\\n\tback\\\\slash\\r\n\\N\t\\\\x00ff\n"


def test_json_keeps_what_json_has_and_writes_the_rest_as_text(capsys):
    row = (1, 0.5, True, None, "é\n", decimal.Decimal("1.10"), datetime.date(2026, 1, 2), b"\xff")
    write_rows([str(number) for number in range(len(row))], [row], as_json=True)
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "é" in out
    assert list(json.loads(out).values()) == [1, 0.5, True, None, "é\n", "1.10", "2026-01-02", "/w=="]


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    ("encoding", "errors", "line"),
    [
        ("utf-8", "strict", "é\t😀\t\\udcff"),
        ("utf-8", "surrogateescape", "é\t😀\t\udcff"),  # where names of files are to come out as they are
        ("ascii", "surrogateescape", "\\xe9\t\\U0001f600\t\\udcff"),
        ("latin-1", "strict", "é\t\\U0001f600\t\\udcff"),
    ],
)
def test_every_text_can_be_written_in_every_encoding(monkeypatch, encoding, errors, line, as_json):
    stream = io.TextIOWrapper(io.BytesIO(), encoding, errors, write_through=True)
    monkeypatch.setattr("sys.stdout", stream)
    write_anything(stream)
    values = ("é", "😀", "\udcff")
    write_rows(["a", "b", "c"], [values], as_json=as_json)
    written = stream.buffer.getvalue().decode(encoding, "surrogateescape")
    if as_json:
        assert tuple(json.loads(written).values()) == values
    else:
        assert written == f"a\tb\tc\n{line}\n"


def test_the_command_writes_to_any_output(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("é\n")
    stream = io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True)
    monkeypatch.setattr("sys.stdout", stream)
    assert main(["head", str(tmp_path / "a.csv")]) == 0
    assert stream.buffer.getvalue() == b"_c0\n\\xe9\n"


def test_rows_are_written_while_they_are_made(capsys):
    def rows():
        yield ("first",)
        assert "first" in capsys.readouterr().out
        yield ("second",)

    write_rows(["a"], rows())
    assert "second" in capsys.readouterr().out


@pytest.mark.parametrize("code", [*range(32), 127])
def test_every_control_character_has_a_picture(code):
    assert show_text(chr(code)).isprintable()
    assert show_text("a\nb", keep_lines=True) == "a\nb"
