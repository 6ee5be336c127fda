"""``-`` is standard input for the commands that read in this process; the others refuse it."""

import bz2
import gzip
import io
import sys
import tempfile
from pathlib import Path

import pytest

DATA = b'id,note\n1,"a\nb"\n2,c\n'


@pytest.fixture
def pipe(monkeypatch, tmp_path):
    """Gives bytes to the command, and a folder for temporary files of its own."""
    spools = tmp_path / "spools"
    spools.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spools))

    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return spools

    return give


@pytest.mark.parametrize("data", [DATA, gzip.compress(DATA), bz2.compress(DATA)], ids=["plain", "gzip", "bzip2"])
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["count", "-"], "2\n"),
        (["head", "-", "--json"], '{"id": "1", "note": "a\\nb"}\n{"id": "2", "note": "c"}\n'),
    ],
    ids=["count", "head"],
)
def test_what_comes_in_is_read_as_a_file_would_be(command, expected, data, pipe, run):
    spools = pipe(data)
    code, out, err = run(*command)
    assert (code, out) == (0, expected)
    assert list(spools.iterdir()) == []
    assert "though it is named" not in err


def test_its_schema_is_found(pipe, run):
    pipe(DATA)
    code, out, _ = run("schema", "-", "-o", "inferSchema=true")
    assert (code, [line.split("\t")[:2] for line in out.splitlines()[1:]]) == (0, [["id", "int"], ["note", "string"]])


def test_a_dialect_is_found_in_it_and_what_to_paste_names_no_file_that_is_gone(pipe, run):
    spools = pipe(b"id;note\n1;a\n2;b\n")
    code, out, _ = run("sniff", "-")
    assert code == 0
    assert "ss.scan_csv('FILE', sep=';'" in out
    assert str(spools) not in out


def test_it_may_stand_beside_files(pipe, run, tmp_path):
    (tmp_path / "a.csv").write_bytes(b"id,note\n7,x\n")
    pipe(DATA)
    assert run("count", tmp_path / "a.csv", "-")[:2] == (0, "3\n")


def test_nothing_is_left_after_an_error_or_an_empty_input(pipe, run):
    spools = pipe(b"PAR1" + b"\0" * 100 + b"PAR1")
    code, _, err = run("count", "-")
    assert code != 0
    assert "Parquet" in err
    assert list(spools.iterdir()) == []
    pipe(b"")
    assert run("count", "-", "-f", "text")[:2] == (0, "0\n")


def test_schema_names_it_as_the_user_does(pipe, run):
    pipe(DATA)
    code, out, _ = run("schema", "-", "--header")
    assert (code, {line.split("\t")[3] for line in out.splitlines()[1:]}) == (0, {"-"})


@pytest.mark.parametrize("command", [["ingest", "-", "out"], ["watch", "-", "out"], ["blocks", "-"], ["index", "-"]])
def test_commands_whose_files_are_read_elsewhere_or_again_refuse_it(command, pipe, run):
    pipe(DATA)
    code, _, err = run(*command)
    assert code == 2
    assert "[bad-path]" in err
    assert "./-" in err


def test_it_is_given_once_and_open(pipe, run, monkeypatch):
    pipe(DATA)
    code, _, err = run("count", "-", "-")
    assert (code, "can be read once" in err) == (2, True)
    monkeypatch.setattr(sys, "stdin", None)
    code, _, err = run("count", "-")
    assert (code, "it is closed" in err) == (2, True)


def test_a_file_of_that_name_is_read_by_its_path(run, tmp_path, monkeypatch):
    (tmp_path / Path("-")).write_bytes(DATA)
    monkeypatch.chdir(tmp_path)
    assert run("count", "./-")[:2] == (0, "2\n")
