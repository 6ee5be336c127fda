import json
import os
import signal
import time
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from splitscan.cli.arguments import ScanArguments

FORMAT = ("-o", "header=true", "--once")


def replace_sleep(monkeypatch, sleep):
    """Of the one module: threads that other tests have left may sleep too."""
    monkeypatch.setattr("splitscan.cli.runs.time", SimpleNamespace(**{**vars(time), "sleep": sleep}))


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


def test_a_watch_with_a_reject_says_so_by_its_code(run, source, tmp_path, without_spark):
    (source / "3.csv").write_text("id,name\nx,n\n")
    assert run("watch", source, tmp_path / "out", *FORMAT, "-q", "-s", "id long, name string")[0] == 8


def test_an_interrupted_watch_says_that_it_can_go_on(run, source, tmp_path, without_spark, monkeypatch):
    from splitscan.jobs.watching import Watch

    def interrupted(self, *_):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(Watch, "follow", interrupted)
    code, _, err = run("watch", source, tmp_path / "out", "-o", "header=true", "-q")
    assert code == 130
    assert "run the same command again and it goes on" in err


def test_a_watch_that_a_service_manager_ends_has_a_code_of_its_own(run, source, tmp_path, without_spark, monkeypatch):
    from splitscan.jobs.watching import Watch

    def terminated(self, *_):
        os.kill(os.getpid(), signal.SIGTERM)
        yield

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(Watch, "follow", terminated)
    code, _, err = run("watch", source, tmp_path / "out", "-o", "header=true", "-q")
    assert code == 143
    assert "run the same command again and it goes on" in err
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_ingest_that_a_service_manager_ends_has_a_code_of_its_own(run, source, tmp_path, without_spark, monkeypatch):
    from splitscan.cli.runs import IngestRun

    def terminated(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(IngestRun, "execute", terminated)
    code, _, err = run("ingest", source, tmp_path / "out", "-o", "header=true", "-q")
    assert code == 143
    assert "run the same command again and it finishes the work" in err
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.fixture
def semicolons(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.csv").write_text('id;name\n1;"a ""b"", c"\n2;d\n')
    return folder


def test_a_watch_finds_the_dialect_and_keeps_it_for_later_files(run, semicolons, tmp_path, without_spark, monkeypatch):
    code, _, err = run("watch", semicolons, tmp_path / "out", "--once")
    assert code == 0
    assert "read with --sep ';'" in err
    (semicolons / "2.csv").write_text("id;name\n3;x,y\n4;z,w\n5;u,v\n")
    (semicolons / "1.csv").unlink()
    monkeypatch.setattr(ScanArguments, "find_dialect", None)  # a second look would fail
    code, _, err = run("watch", semicolons, tmp_path / "out", "--once")
    assert code == 0
    assert "read with" not in err
    assert sorted(pq.read_table(tmp_path / "out").column("name").to_pylist()) == ['a "b", c', "d", "u,v", "x,y", "z,w"]


def test_what_the_user_says_of_the_dialect_goes_before_what_was_kept(run, semicolons, tmp_path, without_spark):
    run("watch", semicolons, tmp_path / "out", "--once")
    (semicolons / "2.csv").write_text("id|name\n3|x;y\n")
    code, _, err = run("watch", semicolons, tmp_path / "out", "--once", "-o", "sep=|", "-o", "header=true", "-q")
    assert (code, err) == (0, "")
    assert "x;y" in pq.read_table(tmp_path / "out").column("name").to_pylist()


def test_auto_is_looked_for_once_and_not_for_each_window(run, semicolons, tmp_path, without_spark):
    (semicolons / "2.csv").write_text("id;name\n3;x\n")
    options = ("--once", "-o", "dialect=auto", "-o", "maxFilesPerTrigger=1")
    code, _, err = run("watch", semicolons, tmp_path / "out", *options)
    assert code == 0
    assert err.count("read with") == 1
    assert sorted(pq.read_table(tmp_path / "out").column("id").to_pylist()) == [1, 2, 3]


def test_without_a_record_there_is_nothing_to_do_once(run, tmp_path, without_spark):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("")
    code, out, err = run("watch", tmp_path / "in", tmp_path / "out", "--once")
    assert (code, out) == (0, "")
    assert err == "splitscan: no record yet that shows the dialect; nothing to do\n"
    assert not (tmp_path / "out").exists()
    assert without_spark == []


def test_a_watch_waits_for_the_first_record(run, tmp_path, without_spark, monkeypatch):
    from splitscan.jobs.watching import Watch

    (tmp_path / "in").mkdir()
    waited = []
    monkeypatch.setattr(Watch, "follow", Watch.drain)

    def sleep(seconds):
        waited.append(seconds)
        assert len(waited) < 5, "it does not see the file"
        (tmp_path / "in" / "1.csv").write_text("id;name\n1;a\n2;b\n")

    replace_sleep(monkeypatch, sleep)
    code, _, err = run("watch", tmp_path / "in", tmp_path / "out", "-o", "scanIntervalMillis=2000")
    assert (code, waited) == (0, [2.0])
    assert err.startswith("splitscan: no record yet that shows the dialect; waiting for one\nread with --sep ';'")


def test_a_dialect_that_is_damaged_is_no_reason_to_look_again(run, semicolons, tmp_path, without_spark):
    run("watch", semicolons, tmp_path / "out", "--once")
    (tmp_path / "out" / "_splitscan" / "watch" / "dialect.json").write_text("{")
    code, _, err = run("watch", semicolons, tmp_path / "out", "--once")
    assert code != 0
    assert "[stream-damaged]" in err


def test_the_plain_flags_of_csv_are_those_of_ingest(run, tmp_path, without_spark):
    (tmp_path / "1.csv").write_text("id|note\n1|'a|b'\n")
    flags = ("--sep", "|", "--quote", "'", "--header", "-q")
    assert run("watch", tmp_path / "*.csv", tmp_path / "out", "--once", *flags) == (0, "", "")
    assert pq.read_table(tmp_path / "out").to_pydict() == {"id": [1], "note": ["a|b"]}


def test_a_flag_goes_before_the_dialect_that_was_kept(run, semicolons, tmp_path, without_spark):
    run("watch", semicolons, tmp_path / "out", "--once")
    (semicolons / "2.csv").write_text("id|name\n3|x;y\n")
    code, _, _ = run("watch", semicolons, tmp_path / "out", "--once", "--sep", "|", "-o", "dialect=auto")
    assert code == 0
    assert "x;y" in pq.read_table(tmp_path / "out").column("name").to_pylist()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("windowLog=none", "windowLog=none"),
        ("onModified=reread", "an ingest never reads a complete file twice"),
        ("limit=3", "a stream has no end, so option limit has no meaning"),
        ("minReaders=0", "minReaders"),
        ("mode=LAX", "mode"),
        ("headr=true", "did you mean header"),
    ],
)
def test_options_that_have_no_meaning_are_told_of_before_the_first_record(
    run, tmp_path, without_spark, monkeypatch, option, said
):
    (tmp_path / "in").mkdir()
    replace_sleep(monkeypatch, lambda _: pytest.fail("it waits for a record"))
    code, _, err = run("watch", tmp_path / "in", tmp_path / "out", "-o", option)
    assert code == 2
    assert said in err
    assert not (tmp_path / "out").exists()
