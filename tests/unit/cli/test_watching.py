import json
import os
import signal

import pyarrow.parquet as pq

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


def test_a_watch_that_a_service_manager_ends_has_a_code_of_its_own(run, source, tmp_path, without_spark, monkeypatch):
    from splitscan.ingest.watching import Watch

    def terminated(self, *_):
        os.kill(os.getpid(), signal.SIGTERM)
        yield

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(Watch, "follow", terminated)
    code, _, err = run("watch", source, tmp_path / "out", "-o", "header=true", "-q")
    assert code == 143
    assert "run the same command again and it goes on" in err
    assert signal.getsignal(signal.SIGTERM) is before
