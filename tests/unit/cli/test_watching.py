import json
import os
import shutil

import pyarrow.parquet as pq
import pytest


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.csv").write_text(f"id,name\n{number},n\n")
    return folder


FORMAT = ("-o", "header=true", "--once")


def test_a_watch_says_what_each_window_was(run, source, tmp_path, without_spark):
    code, out, err = run("watch", source, tmp_path / "out", *FORMAT, "-o", "maxFilesPerTrigger=2")
    assert (code, out) == (0, "")
    windows = [line for line in err.splitlines() if "window" in line]
    assert windows[0].startswith("splitscan: window 1: 2 files, 2 records, ")
    assert windows[0].endswith("left: 1 file, 1 block, 12 B")
    assert windows[1].startswith("splitscan: window 2: 1 file, 1 record, ")
    assert windows[1].endswith("1 reader; left: nothing")
    assert not any("planning" in line or "publishing" in line for line in err.splitlines())
    assert pq.read_table(tmp_path / "out").num_rows == 3
    (source / "9.csv").write_text("id,name\n9,n\n")
    code, out, _ = run("watch", source, tmp_path / "out", *FORMAT, "--json")
    assert code == 0
    assert {key: json.loads(out)[key] for key in ("window", "files", "rows", "backlogFiles")} == {
        "window": 3, "files": 1, "rows": 1, "backlogFiles": 0,
    }  # fmt: skip


def test_nothing_to_do_needs_no_spark(run, source, tmp_path, without_spark):
    run("watch", source, tmp_path / "out", *FORMAT)
    without_spark.clear()
    assert run("watch", source, tmp_path / "out", *FORMAT, "-q") == (0, "", "")
    assert without_spark == []


def test_a_schema_says_the_types(run, source, tmp_path, without_spark):
    code, _, err = run("watch", source, tmp_path / "out", *FORMAT, "-q", "-s", "id long, name string")
    assert (code, err) == (0, "")
    assert pq.read_table(tmp_path / "out").column("id").to_pylist() == [0, 1, 2]


def test_an_interrupted_watch_says_that_it_can_go_on(run, source, tmp_path, without_spark, monkeypatch):
    from splitscan.ingest.watching import Watch

    def interrupted(self, *_):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(Watch, "follow", interrupted)
    code, _, err = run("watch", source, tmp_path / "out", "-o", "header=true", "-q")
    assert code == 130
    assert "run the same command again and it goes on" in err


def test_status(run, source, tmp_path, without_spark):
    run("watch", source, tmp_path / "out", *FORMAT, "-q")
    code, out, _ = run("status", tmp_path / "out")
    assert code == 0
    facts = dict(line.split() for line in out.splitlines())
    assert (facts["windows"], facts["files"], facts["unfinished"], facts["plannedBytes"]) == ("1", "3", "0", "36")
    assert json.loads(run("status", tmp_path / "out", "--json")[1])["backlogFiles"] == 0
    rows = [json.loads(line) for line in run("status", tmp_path / "out", "--files", "--json")[1].splitlines()]
    assert [(row["path"], row["position"], row["finished"]) for row in rows] == [
        (f"{source}/{number}.csv", 12, True) for number in range(3)
    ]
    windows = [json.loads(line) for line in run("status", tmp_path / "out", "--windows", "--json")[1].splitlines()]
    assert [(row["window"], row["files"], row["blocks"], row["bytes"]) for row in windows] == [(1, 3, 3, 36)]
    assert "[bad-option]" in run("status", tmp_path / "out", "--windows", "--files")[2]


def test_status_tells_late_and_changed_files(run, source, tmp_path, without_spark):
    run("watch", source, tmp_path / "out", *FORMAT, "-q")
    old = source / "old.csv"
    old.write_text("id,name\n9,n9\n")
    os.utime(old, (1000, 1000))
    run("watch", source, tmp_path / "out", *FORMAT, "-q")
    facts = dict(line.split() for line in run("status", tmp_path / "out")[1].splitlines())
    assert (facts["late"], facts["changed"], facts["files"]) == ("1", "0", "4")
    rows = [line.split("\t") for line in run("status", tmp_path / "out", "--files")[1].splitlines()]
    assert [row[1] for row in rows if row[-1] == "True"] == [str(old)]
    assert [line.split("\t")[3] for line in run("status", tmp_path / "out", "--windows")[1].splitlines()] == [
        "late", "0", "1",
    ]  # fmt: skip


def test_status_takes_one_line_for_a_row_on_a_terminal(run, source, tmp_path, without_spark, monkeypatch):
    run("watch", source, tmp_path / "out", *FORMAT, "-q")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "90")
    for what, rows in (("--files", 3), ("--windows", 1)):
        lines = [line.split() for line in run("status", tmp_path / "out", what)[1].splitlines()]
        filled = [line for line in lines if len(line) > 1]
        assert len(filled) == 1 + rows
        assert "stream" not in filled[0]


def test_status_of_nothing(run, tmp_path):
    code, _, err = run("status", tmp_path)
    assert code == 3
    assert "[no-stream]" in err


def test_the_state_of_a_watch_is_purged_but_for_the_stream_that_lives(run, source, tmp_path, without_spark):
    run("watch", source, tmp_path / "out", *FORMAT, "-q")
    watch = tmp_path / "out" / "_splitscan" / "watch"
    (alive,) = (path.name for path in watch.iterdir() if path.is_dir())
    dead = watch / ("0" * 32)
    shutil.copytree(watch / alive, dead)
    code, out, _ = run("purge", tmp_path / "out", "--least-age", 0, "--json")
    assert (code, [json.loads(line)["path"] for line in out.splitlines()]) == (0, [str(dead)])
    assert dead.exists()
    assert run("purge", tmp_path / "out", "--delete")[1].count("\n") <= 1  # it is too young
    assert dead.exists()
    assert run("purge", tmp_path / "out", "--least-age", 0, "--delete")[0] == 0
    assert (dead.exists(), (watch / alive).exists()) == (False, True)
