import json
import os
import shutil

import pytest

WATCHED = ("-o", "header=true", "--once", "-q")


@pytest.fixture
def watched(run, source, tmp_path, without_spark):
    """The destination of a watch that has ingested all files."""
    run("watch", source, tmp_path / "out", *WATCHED)
    return tmp_path / "out"


def test_status(run, source, watched):
    code, out, _ = run("status", watched)
    assert code == 0
    facts = dict(line.split() for line in out.splitlines())
    assert (facts["windows"], facts["files"], facts["unfinished"], facts["plannedBytes"]) == ("1", "3", "0", "36")
    assert json.loads(run("status", watched, "--json")[1])["backlogFiles"] == 0
    rows = [json.loads(line) for line in run("status", watched, "--files", "--json")[1].splitlines()]
    assert [(row["path"], row["position"], row["finished"]) for row in rows] == [
        (f"{source}/{number}.csv", 12, True) for number in range(3)
    ]
    windows = [json.loads(line) for line in run("status", watched, "--windows", "--json")[1].splitlines()]
    assert [(row["window"], row["files"], row["blocks"], row["bytes"]) for row in windows] == [(1, 3, 3, 36)]
    assert "[bad-option]" in run("status", watched, "--windows", "--files")[2]


def test_status_tells_late_and_changed_files(run, source, watched):
    old = source / "old.csv"
    old.write_text("id,name\n9,n9\n")
    os.utime(old, (1000, 1000))
    run("watch", source, watched, *WATCHED)
    facts = dict(line.split() for line in run("status", watched)[1].splitlines())
    assert (facts["late"], facts["changed"], facts["files"]) == ("1", "0", "4")
    rows = [line.split("\t") for line in run("status", watched, "--files")[1].splitlines()]
    assert [row[1] for row in rows if row[-1] == "true"] == [str(old)]
    assert [line.split("\t")[3] for line in run("status", watched, "--windows")[1].splitlines()] == [
        "late", "0", "1",
    ]  # fmt: skip


def test_status_takes_one_line_for_a_row_on_a_terminal(run, watched, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "90")
    for what, rows in (("--files", 3), ("--windows", 1)):
        lines = [line.split() for line in run("status", watched, what)[1].splitlines()]
        filled = [line for line in lines if len(line) > 1]
        assert len(filled) == 1 + rows
        assert "stream" not in filled[0]


def test_status_of_nothing(run, tmp_path):
    code, _, err = run("status", tmp_path)
    assert code == 7
    assert "[no-stream]" in err


def test_the_state_of_a_watch_is_purged_but_for_the_stream_that_lives(run, watched):
    watch = watched / "_splitscan" / "watch"
    (alive,) = (path.name for path in watch.iterdir() if path.is_dir())
    dead = watch / ("0" * 32)
    shutil.copytree(watch / alive, dead)
    code, out, _ = run("purge", watched, "--least-age", 0, "--json")
    assert (code, [json.loads(line)["path"] for line in out.splitlines()]) == (0, [str(dead)])
    assert dead.exists()
    assert run("purge", watched, "--delete")[1].count("\n") <= 1  # it is too young
    assert dead.exists()
    assert run("purge", watched, "--least-age", 0, "--delete")[0] == 0
    assert (dead.exists(), (watch / alive).exists()) == (False, True)
