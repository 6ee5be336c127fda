import gzip
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tools.cli_page import cli_page

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"
COMMAND_WITH_OUTPUT = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
BLOCK_OF_COMMANDS = re.compile(r"^```\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
NOTES = 'id;note\n1;"say ""hi"" twice"\n2;"two\nlines"\n3;plain\n'
VARYING = {
    r"\b[0-9a-f]{32}\b": "3e6d14acf898217de4fcadaac7702942",  # identity of a stream
    r"[\d,]+(\.\d+)? (s|MB/s|bytes/s|KiB/s|KB/s|B/s)\b": "0.1 s",  # how fast it was
    r"spark\.jars .*\n": "",  # where it lies, if it was built
    r"Parquet  \d+ bytes": "Parquet  1 byte",  # which version of pyarrow wrote it
}
PROGRESS = re.compile(r"splitscan: (starting Spark|reading: .*)\n|, after .* to start Spark")


def examples(page=PAGE):
    blocks = BLOCK_OF_COMMANDS.findall(page.read_text(encoding="utf-8"))
    return [pair for block in blocks for pair in COMMAND_WITH_OUTPUT.findall(block)]


def steady(text, folder):
    """The text without what is another thing in every run."""
    text = PROGRESS.sub("", text.replace(str(folder), "/data"))
    for varying, constant in VARYING.items():
        text = re.sub(varying, constant, text)
    return text


def printed(command, run):
    """What a command of the page prints; a pipe into ``head`` is cut here."""
    program, *arguments = shlex.split(command)
    if program == "cat":
        return Path(arguments[0]).read_text(encoding="utf-8")
    if program == "gzip":
        Path("orders.csv.gz").write_bytes(gzip.compress(Path(arguments[-1]).read_bytes()))
        return ""
    assert program == "splitscan"
    lines = None
    if "|" in arguments:
        assert arguments[-3:-1] == ["|", "head"]
        arguments, lines = arguments[:-3], int(arguments[-1].removeprefix("-"))
    code, out, said = run(*arguments)
    assert code == (4 if arguments[0] == "check" else 0), said  # the example shows what is broken
    return "".join((said + out).splitlines(keepends=True)[:lines])


def test_the_page_is_what_the_commands_say():
    assert PAGE.read_text(encoding="utf-8") == cli_page(), "run: python -m tools.cli_page > docs/cli.md"


def test_the_page_does_not_depend_on_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert PAGE.read_text(encoding="utf-8") == cli_page()


def test_every_command_is_shown_at_work():
    listed = set(re.findall(r"^## `splitscan ([\w-]+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    shown = {command.split()[1] for command, _ in examples() if command.startswith("splitscan ")}
    assert len(listed) > 10
    assert listed - shown == set()


@pytest.mark.slow
def test_the_page_shows_what_the_commands_print(run, tmp_path, monkeypatch, without_spark):
    monkeypatch.chdir(tmp_path)
    (first, file), *rest = examples()
    assert first == "cat orders.csv"
    Path("orders.csv").write_text(file, encoding="utf-8")
    for command, shown in rest:
        assert (command, steady(printed(command, run), tmp_path)) == (command, steady(shown, tmp_path))


@pytest.mark.slow
def test_the_module_writes_the_page():
    command = [sys.executable, "-m", "tools.cli_page"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=300)
    assert done.stdout.decode() == cli_page()


def cells(text):
    """What stands in lines, however wide the columns are."""
    return [[cell for cell in re.split(r"\t|  +", line) if cell.strip()] for line in text.splitlines() if line.strip()]


def test_the_page_of_dialects_shows_what_the_commands_print(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("notes.csv").write_text(NOTES, encoding="utf-8")
    shown = examples(PAGE.with_name("dialects.md"))
    assert [command.split()[1] for command, _ in shown] == ["sniff", "count", "stars.txt", "head"]
    Path("stars.txt").write_text(shown[2][1], encoding="utf-8")
    for command, text in shown[:2] + shown[3:]:
        assert (command, cells(printed(command, run))) == (command, cells(text))


def test_commands_with_their_output_are_on_pages_that_are_compared():
    pages = {page.name for page in PAGE.parent.rglob("*.md") if examples(page)}
    assert pages == {"cli.md", "dialects.md"}
    assert not examples(PAGE.parents[1] / "README.md")
