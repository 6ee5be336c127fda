"""Watching files that grow: range by range, each record once, and the ledger proves it."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from splitscan.api.files import Scan
from splitscan.errors import IngestError, SourceChangedError, StreamError
from splitscan.jobs import verify
from splitscan.jobs.ledger_files import parse_ledger, render_ledger
from splitscan.jobs.watching import Watch
from splitscan.options.stream import parse_stream_options

from ..streaming.following import touch, write
from .conftest import InProcessRunner


class Followed:
    """A directory of files that grow, its destination, and watches that come and go."""

    def __init__(self, folder, record_format="text", schema=None, **options):
        self.source, self.out = folder / "in", folder / "out"
        self.source.mkdir()
        self.format, self.schema = record_format, schema
        self.options = {"scanIntervalMillis": 0, "fileMode": "append", **options}

    def watch(self, **options):
        stream, others = parse_stream_options({**self.options, **options})
        return Watch(
            lambda: Scan.of(str(self.source), self.format, self.schema, others),
            str(self.out),
            stream,
        )

    def drain(self, runner=None, **options):
        watch = self.watch(**options)
        try:
            return list(watch.drain(runner or InProcessRunner()))
        finally:
            watch.close()

    def append(self, name, data):
        write(self.source / name, data, "ab")

    def values(self, column="value"):
        return sorted(pq.read_table(self.out, use_threads=False).column(column).to_pylist())

    def ledgers(self):
        names = sorted((self.out / "_splitscan" / "ledger").iterdir())
        return [parse_ledger(name.read_bytes(), str(name)) for name in names]

    def rewrite(self, ledger):
        name = self.out / "_splitscan" / "ledger" / f"{ledger.sequence:08d}.jsonl"
        name.write_bytes(render_ledger(ledger))

    def ranges(self):
        return [[(Path(f.path).name, f.start, f.size_bytes) for f in ledger.files] for ledger in self.ledgers()]

    def check(self, *, notes=()):
        report = verify(str(self.out), deep=True)
        assert report.ok, report.problems
        assert [note.code for note in report.notes] == list(notes), report.notes
        return report


@pytest.fixture
def followed(tmp_path):
    return Followed(tmp_path)


def test_a_file_is_ingested_as_it_grows(followed):
    followed.append("a.log", b"one\ntw")
    followed.drain()
    assert followed.drain() == []
    followed.append("a.log", b"o\nthree\n")
    followed.append("b.log", b"four\n")
    (window,) = followed.drain()
    assert (window.report.files, window.report.rows, window.report.source_bytes) == (2, 3, 15)
    assert followed.values() == ["four", "one", "three", "two"]
    assert followed.ranges() == [[("a.log", 0, 4)], [("a.log", 4, 14), ("b.log", 0, 5)]]
    report = followed.check()
    assert (report.files, report.source_bytes, report.digests_checked) == (2, 19, 3)


@pytest.mark.parametrize("deep", [False, True])
def test_verify_compares_every_range_with_the_source(followed, deep):
    for line in (b"one\n", b"two\n", b"x" * 2000 + b"\n"):
        followed.append("a.log", line)
        followed.drain()
    data = bytearray((followed.source / "a.log").read_bytes())
    data[1500] = 0  # neither in the head nor before the position, by which the file is recognised
    write(followed.source / "a.log", bytes(data))
    report = verify(str(followed.out), deep=deep)
    assert [problem.code for problem in report.problems] == ["source-digest"] * deep
    assert report.digests_checked == 3 * deep


@pytest.mark.parametrize(("start", "code", "text"), [(2, "ingested-twice", "[2, 4)"), (6, "not-accounted", "[4, 6)")])
def test_verify_finds_ranges_that_are_not_consecutive(followed, start, code, text):
    for line in (b"one\n", b"two\n"):
        followed.append("a.log", line)
        followed.drain()
    second = followed.ledgers()[1]
    (file,), (block,) = second.files, second.blocks
    changed = replace(block, start=start, span_start=start)
    followed.rewrite(replace(second, files=(replace(file, start=start),), blocks=(changed,)))
    report = verify(str(followed.out))
    assert [(problem.code, text in problem.text) for problem in report.problems] == [(code, True)]


def test_a_range_that_does_not_begin_where_it_says_is_not_accounted(followed):
    for line in (b"one\n", b"two\n"):
        followed.append("a.log", line)
        followed.drain()
    second = followed.ledgers()[1]
    followed.rewrite(replace(second, blocks=(replace(second.blocks[0], span_start=5),)))
    assert [problem.code for problem in verify(str(followed.out)).problems] == ["not-accounted"]


def test_rotated_files_keep_their_ranges(followed):
    followed.append("a.log", b"1\n2\n")
    followed.drain()
    followed.append("a.log", b"3\n")
    (followed.source / "a.log").rename(followed.source / "a.log.1")
    followed.append("a.log", b"4\n")
    followed.drain()
    (followed.source / "a.log.1").rename(followed.source / "a.log.2")
    (followed.source / "a.log").rename(followed.source / "a.log.1")
    followed.append("a.log.1", b"5\n")
    followed.append("a.log", b"6\n")
    followed.drain()
    assert followed.values() == ["1", "2", "3", "4", "5", "6"]
    assert followed.ranges() == [
        [("a.log", 0, 4)],
        [("a.log.1", 4, 6), ("a.log", 0, 2)],
        [("a.log", 0, 2), ("a.log.1", 2, 4)],
    ]
    assert followed.check().files == 3
    assert len({file.content for ledger in followed.ledgers() for file in ledger.files}) == 3


def test_a_truncated_file_is_another_content(followed):
    followed.append("a.log", b"1\n2\n")
    followed.drain()
    write(followed.source / "a.log", b"3\n")
    followed.drain()
    write(followed.source / "a.log", b"1\n2\n")  # as before, and yet another
    followed.drain()
    assert followed.values() == ["1", "1", "2", "2", "3"]
    followed.check(notes=["source-changed"])


@pytest.mark.parametrize("policy", ["fail", "ignore"])
def test_a_truncated_file_by_other_policies(followed, policy):
    followed.append("a.log", b"1\n2\n")
    followed.drain()
    write(followed.source / "a.log", b"3\n")
    if policy == "fail":
        with pytest.raises(SourceChangedError, match=r"\[file-modified\]"):
            followed.drain(onModified=policy)
    else:
        assert followed.drain(onModified=policy) == []
    assert followed.values() == ["1", "2"]


@pytest.mark.parametrize("late", [b"\n", b"\n\n\nthree\n", b"o\n", b"\nthree\n"])
def test_the_last_record_of_a_file_that_has_ended(followed, late):
    followed.append("a.log", b"one\ntwo")
    followed.drain(closeAfterMs=0)
    assert followed.values() == ["one", "two"]
    followed.append("a.log", late)
    followed.drain(closeAfterMs=0)
    added = late.decode().removeprefix("\n").split("\n")
    assert followed.values() == sorted(["one", "two", *added[:-1]])
    followed.check()


def test_a_window_that_was_published_is_not_read_again(followed, kill_before_position):
    followed.append("a.log", b"1\n")
    followed.drain()
    followed.append("a.log", b"2\n")
    with kill_before_position(2):
        followed.drain()
    followed.append("a.log", b"3\n")
    first, second = followed.drain()
    assert (first.report.files, first.report.files_skipped, second.report.rows) == (0, 1, 1)
    assert followed.values() == ["1", "2", "3"]
    followed.check()


@pytest.mark.parametrize("stop_after", [0, 1, 3])
def test_an_interrupted_window_is_finished_whatever_has_grown_or_moved(followed, stop_after):
    lines = [b"%d\n" % line for line in range(40)]
    followed.append("a.log", b"".join(lines[:20]))
    followed.drain(blockSize=8)
    followed.append("a.log", b"".join(lines[20:]))
    runner = InProcessRunner(stop_after=stop_after)
    with pytest.raises(IngestError, match="the power failed"):
        followed.drain(runner, blockSize=8, taskSize=1, minReaders=6)
    followed.append("a.log", b"40\n")
    (followed.source / "a.log").rename(followed.source / "a.log.1")
    followed.append("a.log", b"41\n")
    again = InProcessRunner()
    followed.drain(again, blockSize=8, taskSize=1, minReaders=6)
    assert followed.values() == sorted(map(str, range(42)))
    assert not set(runner.opened) & set(again.opened)
    followed.check()


def plan_only(followed):
    """A window is planned, and its ingest dies before it reads."""
    with pytest.raises(IngestError, match="the power failed"):
        followed.drain(InProcessRunner(stop_after=0))


def test_a_pending_window_of_a_file_that_is_gone_is_an_error_until_it_is_left_out(followed):
    followed.append("a.log", b"1\n")
    followed.drain()
    followed.append("a.log", b"2\n")
    followed.append("b.log", b"3\n")
    plan_only(followed)
    write(followed.source / "a.log", b"4\n")
    for _ in range(2):
        with pytest.raises(SourceChangedError, match=r"a\.log"):
            followed.drain()
    assert followed.values() == ["1"]
    assert [window.report.rows for window in followed.drain(onModified="ignore")] == [1]
    assert followed.values() == ["1", "3"]
    followed.drain()
    assert followed.values() == ["1", "3", "4"]
    followed.check(notes=["source-changed"])


def test_what_follows_a_range_that_was_left_out_is_not_read(followed):
    followed.append("a.log", b"1\n")
    followed.drain()
    followed.append("a.log", b"2\n")
    plan_only(followed)
    (followed.source / "a.log").rename(followed.source.parent / "away")
    assert [window.report for window in followed.drain(onModified="ignore")] == [None]
    (followed.source.parent / "away").rename(followed.source / "a.log")
    followed.append("a.log", b"3\n")
    with pytest.raises(SourceChangedError, match=r"\[source-changed\]"):
        followed.drain()
    (window,) = followed.drain(onModified="ignore")
    assert (window.report.files, window.report.files_changed) == (0, 1)
    assert followed.values() == ["1"]
    followed.check()


def test_a_destination_without_its_position_is_not_begun_anew(followed):
    followed.append("a.log", b"1\n")
    followed.drain()
    (followed.out / "_splitscan" / "watch" / "position.json").unlink()
    with pytest.raises(StreamError, match=r"\[stream-state-missing\]"):
        followed.drain()
    assert followed.values() == ["1"]


def test_an_older_position_gives_the_same_ranges(followed):
    position = followed.out / "_splitscan" / "watch" / "position.json"
    followed.append("a.log", b"1\n")
    followed.drain()
    before = position.read_bytes()
    (followed.source / "a.log").rename(followed.source / "a.log.1")
    for line in (b"2\n", b"3\n"):
        followed.append("a.log", line)
        followed.drain()
    position.write_bytes(before)
    assert [window.report.files_skipped for window in followed.drain()] == [1, 1]
    assert followed.values() == ["1", "2", "3"]
    followed.check()


def test_a_file_that_was_ingested_as_a_whole_is_not_followed(followed):
    followed.append("a.log", b"1\n")
    followed.drain(fileMode="complete")
    for name in (followed.out / "_splitscan" / "watch").iterdir():
        name.unlink() if name.is_file() else None
    followed.append("a.log", b"2\n")
    with pytest.raises(SourceChangedError, match=r"\[source-changed\]"):
        followed.drain()
    assert followed.values() == ["1"]


def test_the_file_mode_of_a_watch_stays(followed):
    followed.append("a.log", b"1\n")
    followed.drain()
    with pytest.raises(StreamError, match=r"\[stream-options-changed\]"):
        followed.drain(fileMode="complete")


FORMATS = {
    "text": ("text", None, {}, b"", b"%07d " + b"x" * 20 + b"\n\n"),
    "csv": ("csv", "id long, name string", {"header": True}, b"id,name\n", b"%d,abc\n\n"),
    "multi": ("csv", "id long, name string", {"header": True, "multiLine": True}, b"id,name\n", b'%d,"a\nb"\n'),
    "json": ("json", "id long", {}, b"", b'{"id":%d}\n'),
    "fixed": ("fixed", None, {"recordLength": 8}, b"", b"%08d"),
}


@pytest.mark.thin(2)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_every_format_grows_anyhow(tmp_path, name, seed):
    """Appended cut anywhere, rotated, in blocks of any length: each record once, and the ranges prove it."""
    rng = random.Random(f"{name}{seed}")
    record_format, schema, options, header, template = FORMATS[name]
    followed = Followed(tmp_path, record_format, schema, blockSize=rng.choice([1, 7, 64, 4096]), **options)
    pending, number = header, 0
    for step in range(12):
        added = [template % (number + each) for each in range(rng.randrange(8))]
        number += len(added)
        data = pending + b"".join(added)
        cut = rng.randrange(len(data) + 1) if step < 11 else len(data)
        followed.append("a", data[:cut])
        pending = data[cut:]
        if rng.random() < 0.2 and not pending and step < 11:
            (followed.source / "a").rename(followed.source / f"a{step}")
            pending = header
        if rng.random() < 0.7:
            followed.drain()
    followed.drain()
    report = followed.check()
    blank = number if name == "text" else 0  # an empty line is a record of text
    assert (report.rows, report.rejects) == (number + blank, 0)
    if name in {"csv", "multi", "json"}:
        assert followed.values("id") == list(range(number))
    sizes = [file.stat().st_size for file in followed.source.iterdir()]
    waiting = len(sizes) if name == "csv" else 0  # an empty line after the last record may be the beginning of one
    assert sum(sizes) - waiting <= report.source_bytes <= sum(sizes)


def test_a_file_that_was_touched_or_emptied_in_between(followed):
    followed.append("a.log", b"")
    assert followed.drain() == []
    followed.append("a.log", b"1\n")
    followed.drain()
    touch(followed.source / "a.log")
    assert followed.drain() == []
    followed.check()


def test_broken_records_of_files_that_grow_go_to_the_reject_table(tmp_path):
    followed = Followed(tmp_path, "csv", "id long, name string", header=True)
    followed.append("a.csv", b"id,name\n1,a\noops\n")
    followed.drain()
    followed.append("a.csv", b"2,b\nagain,\n")
    followed.drain()
    table = pq.read_table(followed.out / "_splitscan" / "rejects", use_threads=False).to_pylist()
    assert sorted((row["offset"], row["raw"]) for row in table) == [(12, b"oops"), (21, b"again,")]
    assert followed.check().rejects == 2


def test_an_object_store_is_followed_too(tmp_path, s3_root, s3_options):
    followed = Followed(tmp_path, storageOptions=json.dumps(s3_options))
    followed.out = f"{s3_root}/out"
    for line in (b"1\n", b"2\n"):
        followed.append("a.log", line)
        followed.drain()
    report = verify(followed.out, deep=True, storage_options=s3_options)
    assert (report.ok, report.rows, report.files) == (True, 2, 1)


def test_each_task_of_a_window_writes_one_file_as_the_window_was_planned(followed):
    for name in "abcd":
        followed.append(name, b"1\n2\n")
    (window,) = followed.drain()
    assert window.report.blocks == 4
    assert window.report.data_files == window.readers < 4
