"""Watching a directory: windows become ingests, whatever happens in between."""

import json
import shutil
import time
from collections import Counter

import pyarrow.parquet as pq
import pytest

from splitscan.api.files import Scan
from splitscan.content.storage.destination import LocalStorage
from splitscan.errors import IngestError, SourceChangedError, StreamError, UsageError
from splitscan.jobs import Phase, verify
from splitscan.jobs.destination import HistoryReader, open_destination
from splitscan.jobs.ledger_files import ledger_name
from splitscan.jobs.settings import IngestSettings, Layout
from splitscan.jobs.watching import Watch
from splitscan.options.stream import parse_stream_options
from splitscan.streaming.status import read_status

from ..streaming.following import write
from .conftest import InProcessRunner, SlowRunner


class Watched:
    """A directory, its destination, and watches that come and go."""

    def __init__(self, folder, layout=None, **options):
        self.source, self.out = folder / "in", folder / "out"
        self.source.mkdir()
        self.settings = IngestSettings(layout=layout)
        self.options = {"scanIntervalMillis": 0, "recursiveFileLookup": True, **options}

    def watch(self, **options):
        stream, others = parse_stream_options({**self.options, **options})

        def build():
            return Scan.of(str(self.source), "csv", None, {"header": True, **others})

        return Watch(build, str(self.out), stream, self.settings)

    def drain(self, runner=None, **options):
        watch = self.watch(**options)
        try:
            return list(watch.drain(runner or InProcessRunner()))
        finally:
            watch.close()

    def add(self, name, *ids):
        write(self.source / name, b"id,name\n" + b"".join(b"%d,n%d\n" % (i, i) for i in ids))

    def ids(self):
        return sorted(int(value) for value in pq.read_table(self.out).column("id").to_pylist())


def next_window(watch, before=lambda: None):
    """Step until the new files are found; *before* is called in front of every step."""
    for _ in range(1000):
        before()
        window = watch.step(InProcessRunner())
        if window is not None:
            return window
        time.sleep(0.01)
    raise AssertionError("no file was found")


@pytest.fixture(params=Layout, ids=[layout.value for layout in Layout])
def watched(request, tmp_path):
    """A directory, and a destination of each layout."""
    return Watched(tmp_path, request.param)


def test_new_files_are_ingested_window_by_window(watched):
    for number in range(5):
        watched.add(f"{number}.csv", number)
    windows = watched.drain(maxFilesPerTrigger=2)
    assert [window.report.files for window in windows] == [2, 2, 1]
    assert [window.backlog.files for window in windows] == [3, 1, 0]
    assert watched.drain() == []
    watched.add("late.csv", 5)
    assert len(watched.drain()) == 1
    assert watched.ids() == [0, 1, 2, 3, 4, 5]
    report = verify(str(watched.out), deep=True)
    assert report.ok, report
    assert len(list((watched.out / "_splitscan" / "ledger").iterdir())) == 4


@pytest.mark.slow
def test_row_12_progress_of_a_watch_moves_while_a_task_reads_its_only_block(watched):
    watched.add("1.csv", *range(200))
    watch, told = watched.watch(batchRows=10, readBytes=256), []
    try:
        (window,) = watch.drain(SlowRunner(), told.append)
    finally:
        watch.close()
    assert window.report.blocks == 1
    total = window.report.source_bytes
    under_way = [each.bytes_done for each in told if each.phase is Phase.READ and 0 < each.bytes_done < total]
    assert len(set(under_way)) > 2
    assert under_way == sorted(under_way)
    assert (told[-1].bytes_done, told[-1].rows) == (total, 200)


def test_columns_stay_those_of_the_first_window(watched):
    watched.add("1.csv", 1)
    watched.drain()
    write(watched.source / "2.csv", b"id,name\n2,\n")
    watched.drain()
    files = [path for path in watched.out.rglob("*.parquet") if "staging" not in path.parts]
    assert [pq.read_schema(path).names for path in files] == [["id", "name"]] * 2
    assert watched.ids() == [1, 2]


def test_a_first_record_that_is_too_long_is_a_reject_and_no_column_where_no_file_names_columns(watched):
    options = {"header": False, "mode": "DROPMALFORMED"}
    write(watched.source / "1.csv", b"1,a\n2,b\n")
    watched.drain(**options)
    write(watched.source / "2.csv", b"3,c,x\n4,d\n5,e\n")
    (window,) = watched.drain(**options)
    assert (window.report.rows, window.report.rejects) == (2, 1)
    assert sorted(pq.read_table(watched.out).column("_c0").to_pylist()) == [1, 2, 4, 5]


@pytest.mark.thin(2)
@pytest.mark.parametrize("stop_after", [0, 1, 3])
def test_an_interrupted_window_is_finished(watched, stop_after):
    for number in range(4):
        watched.add(f"{number}.csv", number)
    with pytest.raises(IngestError, match="the power failed"):
        watched.drain(InProcessRunner(stop_after=stop_after), taskSize=1, openCostInBytes=0)
    watched.add("later.csv", 9)
    windows = watched.drain(taskSize=1, openCostInBytes=0)
    assert [window.report.files for window in windows] == [4, 1]
    assert watched.ids() == [0, 1, 2, 3, 9]


def test_a_window_that_was_published_is_not_read_again(watched, kill_before_position):
    watched.add("1.csv", 1)
    watch = watched.watch()
    with kill_before_position(1):
        watch.step(InProcessRunner())
    watch.close()
    watched.add("2.csv", 2)
    first, second = watched.drain()
    assert (first.report.files, first.report.files_skipped) == (0, 1)
    assert second.report.files == 1
    assert watched.ids() == [1, 2]


def test_what_an_ingest_has_read_is_not_read_again_by_a_watch_without_a_position(watched):
    watched.add("1.csv", 1)
    watched.drain()
    (watched.out / "_splitscan" / "watch" / "position.json").unlink()
    watched.add("2.csv", 2)
    watched.drain()
    assert watched.ids() == [1, 2]


def test_a_damaged_position_is_an_error(watched):
    watched.add("1.csv", 1)
    watched.drain()
    (watched.out / "_splitscan" / "watch" / "position.json").write_text('{"offset": ')
    with pytest.raises(StreamError, match=r"\[stream-damaged\]"):
        watched.drain()


def test_a_file_that_changes_before_it_is_read(watched):
    watched.add("1.csv", 1)
    watched.add("2.csv", 2)
    watch = watched.watch()
    with pytest.raises(IngestError, match="the power failed"):
        watch.step(InProcessRunner(stop_after=0))
    watched.add("2.csv", 3)
    with pytest.raises(SourceChangedError, match=r"2\.csv"):
        watch.step(InProcessRunner())
    watch.close()
    watch = watched.watch(onModified="ignore")
    assert watch.step(InProcessRunner()).report.files == 1
    watch.close()
    assert watched.ids()[0] == 1


def test_a_modified_file_is_never_read_twice(watched):
    watched.add("1.csv", 1)
    watched.drain()
    watched.add("1.csv", 2)
    with pytest.raises(SourceChangedError, match=r"\[file-modified\]"):
        watched.drain()
    assert watched.drain(onModified="ignore") == []
    assert watched.ids() == [1]


def test_the_destination_may_lie_in_the_source(watched):
    watched.out = watched.source / "out"
    watched.add("1.csv", 1)
    watched.drain(pathGlobFilter="*")
    watched.add("2.csv", 2)
    assert watched.drain(pathGlobFilter="*")[-1].report is None or watched.ids() == [1, 2]
    assert watched.ids() == [1, 2]


@pytest.mark.parametrize("options", [{"onModified": "reread"}, {"windowLog": "none"}])
def test_what_a_ledger_cannot_prove_is_refused(watched, options):
    with pytest.raises(UsageError, match=r"\[bad-option\]"):
        watched.watch(**options)


def test_following_goes_on_until_it_is_interrupted(watched):
    watched.add("1.csv", 1)
    seen, pauses = Counter(), []

    def sleep(seconds):
        pauses.append(seconds)
        assert len(pauses) < 1000
        if seen[1] == 2:
            raise KeyboardInterrupt
        if len(pauses) == 1:
            watched.add("2.csv", 2)
        time.sleep(0.01)

    watch = watched.watch()

    def follow():
        for window in watch.follow(InProcessRunner(), sleep=sleep):
            seen[window and window.report.files] += 1

    with pytest.raises(KeyboardInterrupt):
        follow()
    watch.close()
    assert (seen[1], set(seen)) == (2, {1, None})
    assert set(pauses) == {0.05}
    assert watched.ids() == [1, 2]


def test_the_status_of_a_watch(watched):
    for number in range(3):
        watched.add(f"{number}.csv", number)
    watch = watched.watch(maxFilesPerTrigger=2)
    watch.step(InProcessRunner())
    watch.close()
    (status,) = read_status(str(watched.out))
    assert (status.window, len(status.files), status.backlog.files) == (1, 2, 1)
    assert (status.unfinished, status.changed) == ([], [])
    assert status.planned_bytes == 2 * len("id,name\n0,n0\n")
    position = json.loads((watched.out / "_splitscan" / "watch" / "position.json").read_text())
    assert position["offset"]["s"] == status.stream


def test_an_object_store_is_watched_too(tmp_path, s3_root, s3_options):
    watched = Watched(tmp_path, storageOptions=json.dumps(s3_options))
    watched.out = f"{s3_root}/out"
    watched.add("1.csv", 1)
    assert len(watched.drain()) == 1
    watched.add("2.csv", 2)
    assert [window.report.files for window in watched.drain()] == [1]
    assert read_status(watched.out, s3_options)[0].window == 2


def test_a_window_costs_no_more_when_many_were_before_it(watched, monkeypatch):
    asked = Counter()
    for name in ("read_bytes", "exists", "list_names"):
        asks = getattr(LocalStorage, name)

        def count(storage, *args, name=name, asks=asks):
            asked[name] += 1
            return asks(storage, *args)

        monkeypatch.setattr(LocalStorage, name, count)
    watch, costs = watched.watch(), []
    for number in range(8):
        watched.add(f"{number}.csv", number)
        assert next_window(watch, asked.clear).report.rows == 1
        costs.append(dict(asked))
    watch.close()
    assert costs[2:] == costs[2:3] * 6
    assert watched.ids() == list(range(8))


def test_a_destination_that_was_made_anew_meanwhile_is_read_anew(watched):
    watched.add("1.csv", 1)
    watched.drain()
    sink = open_destination(watched.out)
    reader = HistoryReader()
    (before,) = reader.read(sink.place, "").identities
    shutil.rmtree(watched.out)
    (watched.source / "1.csv").unlink()
    watched.add("2.csv", 2)
    watched.drain()
    (after,) = reader.read(sink.place, "").identities
    assert (before, after) == (str(watched.source / "1.csv"), str(watched.source / "2.csv"))


def test_a_ledger_that_vanishes_under_a_watch_is_an_error(watched):
    watch = watched.watch()
    for number in range(3):
        watched.add(f"{number}.csv", number)
        next_window(watch)
    (watched.out / ledger_name(2)).unlink()
    watched.add("9.csv", 9)
    with pytest.raises(IngestError, match="a ledger is missing") as caught:
        next_window(watch)
    watch.close()
    assert caught.value.reason_code == "ledger-damaged"
