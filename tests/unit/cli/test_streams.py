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
    assert 1 <= int(facts["readers"]) <= 3
    assert json.loads(run("status", watched, "--json")[1])["backlogFiles"] == 0
    rows = [json.loads(line) for line in run("status", watched, "--files", "--json")[1].splitlines()]
    assert [(row["path"], row["position"], row["finished"]) for row in rows] == [
        (f"{source}/{number}.csv", 12, True) for number in range(3)
    ]
    windows = [json.loads(line) for line in run("status", watched, "--windows", "--json")[1].splitlines()]
    assert [(row["window"], row["files"], row["blocks"], row["bytes"]) for row in windows] == [(1, 3, 3, 36)]
    assert "[bad-option]" in run("status", watched, "--windows", "--files")[2]


def _facts(run, *args):
    return json.loads(run("status", *args, "--json")[1])


def test_a_window_that_failed_is_no_finished_one_but_backlog(run, source, watched):
    (source / "new.csv").write_text("id,name,more\n1,b,c\n")
    assert run("watch", source, watched, *WATCHED)[0] == 4  # a column that the destination does not have
    facts = _facts(run, watched)
    assert (facts["windows"], facts["published"], facts["files"], facts["unfinished"]) == (2, 1, 4, 1)
    assert (facts["plannedBytes"], facts["publishedBytes"]) == (55, 36)
    assert (facts["backlogFiles"], facts["backlogBlocks"], facts["backlogBytes"]) == (1, 1, 19)
    rows = [json.loads(line) for line in run("status", watched, "--files", "--json")[1].splitlines()]
    assert [(row["position"], row["finished"]) for row in rows] == [(12, True)] * 3 + [(0, False)]
    windows = [json.loads(line) for line in run("status", watched, "--windows", "--json")[1].splitlines()]
    assert [row["published"] for row in windows] == [True, False]
    assert run("watch", source, watched, *WATCHED, "--schema-evolution-mode", "addNewColumns")[0] == 0
    facts = _facts(run, watched)
    assert (facts["published"], facts["unfinished"], facts["backlogFiles"], facts["publishedBytes"]) == (2, 0, 0, 55)


def test_the_part_of_a_growing_file_whose_window_failed_is_not_counted(run, tmp_path, without_spark):
    log, out = tmp_path / "a.csv", tmp_path / "out"
    log.write_text("1,a\n2,b\n")
    follow = ("watch", log, out, "-s", "id long, t string", "-o", "fileMode=append", "-o", "closeAfterMs=0", "--once")
    assert run(*follow, "-o", "dialect=spark", "-q")[0] == 0
    with log.open("a") as more:
        more.write("3,c,c\n")
    assert run(*follow, "-o", "dialect=spark", "-q", "--max-rejects", "0")[0] == 5
    (row,) = [json.loads(line) for line in run("status", out, "--files", "--json")[1].splitlines()]
    assert (row["position"], row["finished"]) == (8, False)
    facts = _facts(run, out)
    assert (facts["windows"], facts["published"], facts["backlogFiles"], facts["backlogBytes"]) == (2, 1, 1, 6)


@pytest.mark.parametrize(("commits", "published", "files"), [([], 0, 3), (["0"], 1, 0), (["0", "1", ".1.crc"], 2, 0)])
def test_the_commits_of_a_checkpoint_tell_what_is_published(run, watched, tmp_path, commits, published, files):
    checkpoint = tmp_path / "checkpoint"
    (checkpoint / "commits").mkdir(parents=True)
    (checkpoint / "offsets").mkdir()
    shutil.copytree(watched / "_splitscan" / "watch", checkpoint / "splitscan")
    (checkpoint / "splitscan" / "position.json").unlink()
    stream = _facts(run, watched)["stream"]
    for batch in range(2):
        offset = json.dumps({"v": 1, "s": stream, "w": batch + 1})
        (checkpoint / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{{"logOffset":7}}\n{offset}')
    for name in commits:
        (checkpoint / "commits" / name).write_text("v1\n{}")
    for place in (checkpoint, checkpoint / "splitscan"):
        facts = _facts(run, place)
        assert (facts["published"], facts["backlogFiles"]) == (published, files)


def test_without_a_checkpoint_or_a_watch_beside_the_state_nobody_knows_what_is_published(run, watched, tmp_path):
    state = tmp_path / "alone" / "state"
    shutil.copytree(watched / "_splitscan" / "watch", state)
    (state / "position.json").unlink()
    facts = _facts(run, state)
    assert (facts["published"], facts["files"], facts["unfinished"]) == (None, 3, 0)


def test_a_damaged_position_is_told(run, watched):
    (watched / "_splitscan" / "watch" / "position.json").write_text("{")
    code, _, err = run("status", watched)
    assert code == 7
    assert "[stream-damaged]" in err


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
    monkeypatch.setenv("COLUMNS", "100")
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
