import os
import random
import shutil
from pathlib import Path

import pytest

from splitscan.errors import SourceChangedError, SourceError, UsageError
from splitscan.scans import ScanPlanner
from splitscan.streaming.growing import GrowingFiles
from splitscan.testing import check_replay_law

from .following import Stream, touch, write


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def opened_files(monkeypatch):
    """The paths that this process opens."""
    paths, really = [], os.open
    monkeypatch.setattr(os, "open", lambda path, *given, **named: paths.append(path) or really(path, *given, **named))
    return paths


def follow(source, tmp_path, record_format="text", **options):
    return Stream(source, tmp_path / "state", record_format, fileMode="append", **options)


def rows_of(stream, source, **options):
    """What one scan of the whole file gives."""
    from splitscan.api.files import Scan
    from splitscan.options.stream import parse_stream_options

    _, others = parse_stream_options({**stream.options, **options})
    return Scan.of(str(source), stream.format, stream.schema, others).to_arrow().to_pylist()


CONTENTS = {
    "lines": ("text", {}, "a\n\nbb\nccc\r\ndddd\né\na record longer than several blocks\nx\n".encode()),
    "crlf": ("text", {"lineSep": "\r\n"}, b"a\r\n\r\nb\rc\r\nd\ne\r\n"),
    "escaped": ("text", {"escape": "\\"}, b"a\\\nb\n\\\\\nc\\\\\\\nd\n\\\ne\nf\n"),
    "delimiter": ("text", {"lineSep": "||"}, b"a||b|c|||d||e|||f||"),
    "utf-16": ("text", {"encoding": "UTF-16LE"}, "ab\nc\u0a0ad\ne\n".encode("utf-16-le")),
    "fixed": ("fixed", {"recordLength": 3}, b"abcdefghijkl"),
    "csv": ("csv", {"inferSchema": "false"}, b"a,b\nc,d\n\ne,f\ng,h\n"),
    "header": ("csv", {"header": "true", "inferSchema": "false"}, b"id,name\n1,x\n2,y\n3,z\n"),
    "quoted": ("csv", {"multiLine": "true", "header": "true"}, b'id,t\n1,"a\nb"\n2,"c ""d"" \n\n e"\n3,f\n4,"\n"\n'),
    "json": ("json", {}, b'{"a": 1}\n{"a": 2}\n\n{"a": 3}\n'),
    "values": ("json", {"multiLine": "true"}, b'{"a":\n 1}\n{"a": 2}\n{\n"a": 3}\n'),
    "below": (
        "json",
        {"recordPath": "$.d[*]"},
        b'{"n": {"d": [9]}, "d": [{"a": 1}, {"a": 2}], "m": "]"}\n{"d": {"a": 8}}\n{"d": null, "d": [{"a": 3}\n]}\n',
    ),
}
SCHEMAS = {"csv": "a string, b string", "header": "id string, name string", "quoted": "id string, t string",
           "json": "a long", "values": "a long", "below": "a long"}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("block_size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_that_grows_byte_by_byte_is_read_once(source, tmp_path, name, block_size):
    record_format, options, data = CONTENTS[name]
    stream = follow(source, tmp_path, record_format, blockSize=block_size, **options)
    stream.schema = SCHEMAS.get(name)
    stream.restart()
    path = source / "a"
    rng = random.Random(f"{name}{block_size}")
    for index in range(len(data)):
        write(path, data[index : index + 1], "ab")
        if rng.random() < 0.5:
            stream.step()
        if rng.random() < 0.1:
            stream.restart()
    stream.drain()
    write(path, b"")  # what is there no longer matters for what was read
    shutil.rmtree(source)
    write(path, data)
    assert stream.rows == rows_of(stream, source)


@pytest.mark.parametrize("name", ["lines", "escaped", "quoted", "utf-16", "fixed"])
def test_a_window_does_not_depend_on_what_follows(source, tmp_path, name):
    record_format, options, data = CONTENTS[name]
    stream = follow(source, tmp_path, record_format, blockSize=5, blocksThreshold=2, **options)
    stream.schema = SCHEMAS.get(name)
    stream.restart()
    path = source / "a"
    write(path, data[: len(data) // 2])
    planned = []
    while (end := stream.plan()) != stream.position:
        planned.append((stream.position, end, stream.read(end)[1]))
        stream.position = end

    def read_window(number):
        return stream.planner.windows(stream.offset(number - 1), stream.offset(number))[0]

    def grow():
        write(path, data[len(data) // 2 :] + data, "ab")
        stream.restart()

    assert check_replay_law(read_window, range(1, len(planned) + 1), grow) >= len(planned) > 0
    for start, end, rows in planned:
        stream.position = start
        assert stream.read(end)[1] == rows


def test_an_unfinished_record_waits(source, tmp_path):
    stream = follow(source, tmp_path)
    write(source / "a", b"one\ntw")
    stream.drain()
    write(source / "a", b"o", "ab")
    assert stream.drain() == 0
    write(source / "a", b"\nthree\nfo", "ab")
    stream.drain()
    assert stream.values() == ["one", "two", "three"]


def test_a_closed_file_needs_no_last_terminator(source, tmp_path):
    stream = follow(source, tmp_path, closeAfterMs=3_600_000)
    write(source / "old", b"one\ntwo")
    (source / "young").write_bytes(b"three\nfour")
    stream.drain()
    assert sorted(stream.values()) == ["one", "three", "two"]
    write(source / "old", b"\nfive\nsix", "ab")  # the terminator comes after all: it is no empty record
    stream.drain()
    write(source / "old", b"\n\nseven", "ab")
    stream.drain()
    assert sorted(stream.values()) == ["", "five", "one", "seven", "six", "three", "two"]


def test_a_record_written_on_after_its_file_was_closed_comes_in_two_parts(source, tmp_path):
    stream = follow(source, tmp_path, closeAfterMs=3_600_000)
    write(source / "a", b"one\ntw")
    stream.drain()
    write(source / "a", b"o\nthree\n", "ab")
    stream.drain()
    assert stream.values() == ["one", "tw", "o", "three"]


def test_a_terminator_that_was_there_is_not_waited_for(source, tmp_path):
    stream = follow(source, tmp_path, closeAfterMs=3_600_000)
    write(source / "a", b"one\n")
    stream.drain()
    write(source / "a", b"\ntwo\n", "ab")
    stream.drain()
    assert stream.values() == ["one", "", "two"]


def test_limits_hold_for_growing_files(source, tmp_path):
    stream = follow(source, tmp_path, blockSize=8, blocksThreshold=3)
    lines = [f"line {number}" for number in range(100)]
    write(source / "a", "".join(f"{line}\n" for line in lines).encode())
    write(source / "b", b"b\n")
    steps = stream.drain()
    assert steps > 20
    assert all(len(window.blocks) == 3 for window in stream.windows[:-1])
    assert [value for value in stream.values() if value != "b"] == lines
    assert any(block.file.name == "b" for window in stream.windows[:2] for block in window.blocks)


# --------------------------------------------------------------- rotation


def log_lines(start, stop, width=30):
    return b"".join(b"%06d %s\n" % (number, b"x" * width) for number in range(start, stop))


def expected_lines(stop, width=30):
    return log_lines(0, stop, width).decode().splitlines()


@pytest.mark.parametrize("count", [3, 100])
def test_rename_rotation_loses_and_doubles_nothing(source, tmp_path, count):
    stream = follow(source, tmp_path)
    path, first, second = source / "app.log", source / "app.log.1", source / "app.log.2"
    write(path, log_lines(0, count))
    stream.drain()
    write(path, log_lines(count, count + 2), "ab")  # not read before it is renamed
    path.rename(first)
    write(path, log_lines(count + 2, count + 5))
    stream.drain()
    write(path, log_lines(count + 5, count + 6), "ab")
    first.rename(second)
    path.rename(first)
    write(path, log_lines(count + 6, 2 * count + 9))
    stream.restart()
    stream.drain()
    assert sorted(stream.values()) == expected_lines(2 * count + 9)
    second.unlink()
    write(path, log_lines(2 * count + 9, 2 * count + 10), "ab")
    stream.drain()
    assert sorted(stream.values()) == expected_lines(2 * count + 10)
    assert stream.log.load().files[str(path)].generation == 2


def test_a_rename_without_new_bytes_is_remembered_with_the_next_window(source, tmp_path):
    stream = follow(source, tmp_path)
    write(source / "app.log", log_lines(0, 3))
    stream.drain()
    (source / "app.log").rename(source / "app.log.1")
    assert stream.drain() == 0
    stream.restart()
    assert stream.drain() == 0
    write(source / "app.log", log_lines(3, 5))
    stream.drain()
    assert stream.windows[-1].moves == ((str(source / "app.log"), str(source / "app.log.1")),)
    assert sorted(stream.values()) == expected_lines(5)
    stream.restart()
    assert stream.drain() == 0


def test_what_was_renamed_and_copied_in_one_step_goes_on_under_one_name_only(source, tmp_path):
    stream = follow(source, tmp_path)
    write(source / "app.log", log_lines(0, 100))
    stream.drain()
    (source / "app.log").rename(source / "b.log")
    shutil.copy(source / "b.log", source / "c.log")
    write(source / "b.log", log_lines(100, 102), "ab")
    write(source / "c.log", log_lines(200, 203), "ab")
    stream.drain()
    stream.restart()
    assert stream.drain() == 0
    of_the_copy = log_lines(200, 203).decode().splitlines()
    assert sorted(stream.values()) == sorted([*expected_lines(102), *expected_lines(100), *of_the_copy])


@pytest.mark.parametrize("regrown", [1, 200])
def test_copy_and_truncate(source, tmp_path, regrown):
    stream = follow(source, tmp_path)
    path = source / "app.log"
    write(path, log_lines(0, 100))
    stream.drain()
    shutil.copy(path, source / "app.log.1")
    touch(source / "app.log.1")
    write(path, log_lines(100, 100 + regrown))  # shorter than before, or longer already
    stream.drain()
    assert sorted(stream.values()) == expected_lines(100 + regrown)


def test_regrowth_behind_an_equal_head_is_noticed(source, tmp_path):
    stream = follow(source, tmp_path)
    head = b"# " + b"h" * 2000 + b"\n"
    write(source / "a", head + b"one\n" + b"1" * 100 + b"\n")
    stream.drain()
    write(source / "a", head + b"two\n" + b"2" * 200 + b"\n")
    stream.drain()
    assert [value[:3] for value in stream.values()] == ["# h", "one", "111", "# h", "two", "222"]


def test_a_file_in_place_of_another_is_new_even_with_its_inode(source, tmp_path):
    stream = follow(source, tmp_path)
    path = source / "a"
    write(path, b"one\n")
    stream.drain()
    for number in range(20):
        path.unlink()
        write(path, b"%03d\n" % number)
        stream.drain()
    assert stream.values() == ["one"] + [f"{number:03d}" for number in range(20)]


def test_two_files_that_begin_alike_are_two_files(source, tmp_path):
    stream = follow(source, tmp_path)
    write(source / "a", b"id,name\n1\n")
    write(source / "b", b"id,name\n1\n")
    stream.drain()
    write(source / "b", b"2\n", "ab")
    stream.drain()
    assert sorted(stream.values()) == ["1", "1", "2", "id,name", "id,name"]


def test_a_touched_file_has_not_changed(source, tmp_path):
    stream = follow(source, tmp_path, onModified="fail")
    write(source / "a", b"one\n")
    stream.drain()
    touch(source / "a")
    assert stream.drain() == 0
    os.utime(source / "a", (1, 1))
    write_time = (source / "a").stat().st_mtime
    assert stream.drain() == 0
    with (source / "a").open("ab") as out:
        out.write(b"two\n")
    os.utime(source / "a", (write_time, write_time))  # the time stands still: the size tells
    stream.drain()
    assert stream.values() == ["one", "two"]


@pytest.mark.parametrize("policy", ["fail", "ignore", "reread"])
def test_replaced_content_by_policy(source, tmp_path, policy, caplog):
    stream = follow(source, tmp_path, onModified=policy)
    write(source / "a", b"one\n")
    stream.drain()
    write(source / "a", b"two\nthree\n")
    if policy == "fail":
        with pytest.raises(SourceChangedError, match=r"\[file-modified\]"):
            stream.plan()
        return
    assert [stream.drain(), stream.drain()] == [policy == "reread", 0]
    write(source / "a", b"four\nfive\nsix\n")
    stream.drain()
    reread = ["two", "three", "four", "five", "six"] if policy == "reread" else []
    assert stream.values() == ["one", *reread]
    assert [window.files[0].generation for window in stream.windows] == list(range(1 + 2 * (policy == "reread")))
    said = f"a replaced file is not read (onModified=ignore): {source / 'a'}"
    assert caplog.messages == [said] * (policy == "ignore")


def test_files_without_work_are_opened_once_for_each_version(source, tmp_path, opened_files):
    stream = follow(source, tmp_path)
    write(source / "a", b"one\nhalf")
    write(source / "b", b"half")
    stream.drain()
    stream.drain()
    before = len(opened_files)
    assert stream.drain() == 0
    assert [path for path in opened_files[before:] if Path(path).parent == source] == []
    write(source / "b", b" a line\n", "ab")
    stream.drain()
    assert stream.values() == ["one", "half a line"]


def test_a_pending_window_of_replaced_bytes_is_an_error(source, tmp_path):
    stream = follow(source, tmp_path)
    write(source / "a", b"one\ntwo\n")
    end = stream.plan()
    _, rows = stream.read(end)
    write(source / "a", b"other\ncontent\n")
    stream.restart()
    with pytest.raises(SourceChangedError, match=r"replaced, not appended to \[source-changed\]"):
        stream.read(end)
    write(source / "a", b"one\ntwo\nthree\n")
    assert stream.read(end)[1] == rows


def test_a_file_replaced_between_finding_and_planning_is_found_again(source, tmp_path, monkeypatch):
    stream = follow(source, tmp_path, blockSize=4, blocksThreshold=1)
    write(source / "a", b"one\ntwo\nthree\n")
    find = GrowingFiles.find

    def find_and_replace(*given):
        found = find(*given)
        write(source / "a", b"x\ny\nz\n")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(GrowingFiles, "find", find_and_replace)
        assert stream.plan() == stream.position
    stream.drain()
    assert stream.values() == ["x", "y", "z"]


def test_what_cannot_be_followed_is_refused(source, tmp_path):
    write(source / "a", b"\x1f\x8b\x08 and so on\n")
    stream = follow(source, tmp_path)
    with pytest.raises(SourceError, match=r"\[compressed-input\]"):
        stream.plan()


def test_a_record_without_end_stops_only_its_file(source, tmp_path):
    stream = follow(source, tmp_path, "csv", multiLine="true", maxRecordBytes=100, inferSchema="false")
    stream.schema = "a string"
    stream.restart()
    write(source / "a", b'"open' + b"x" * 5000)
    write(source / "b", b"b\n")
    stream.drain()
    assert [row["a"] for row in stream.rows] == ["b"]


def test_only_whole_file_formats_are_refused(source, tmp_path):
    from splitscan.options.stream import parse_stream_options

    class Whole:
        splittable = False

        def initialize(self, context):
            pass

        def next(self):
            return None

    options, _ = parse_stream_options({"fileMode": "append"})
    with pytest.raises(UsageError, match=r"fileMode=append needs a record format"):
        GrowingFiles(ScanPlanner.of(str(source), Whole), options)


def listed_now(folder):
    return ScanPlanner.of(str(folder), "text").files()


@pytest.mark.parametrize("successor", [b"", b"2\n"])
@pytest.mark.parametrize("listed", ["old and new", "another's"])
def test_a_rename_while_files_are_listed_loses_and_doubles_nothing(tmp_path, monkeypatch, successor, listed):
    """The listing still shows the old name: as it was, or as that of a file which is gone or grown since."""
    folder = tmp_path / "in"
    stream = Stream(folder, tmp_path / "state", fileMode="append")
    write(folder / "a.log", b"1\n")
    write(folder / "b.log", b"b\n")
    stream.drain()
    if listed == "old and new":
        stale = listed_now(folder)
        (folder / "a.log").rename(folder / "a.log.1")
    else:
        (folder / "a.log").rename(folder / "a.log.1")
        write(folder / "a.log", b"lost with its file\n")
        stale = listed_now(folder)
        (folder / "a.log").unlink()
    if successor:
        write(folder / "a.log", successor)
    write(folder / "b.log", b"b2\n", "ab")
    now = {file.path: file for file in listed_now(folder)}
    both = [
        *(file for file in stale if file.path.endswith("a.log")),
        *(now[str(folder / n)] for n in ("a.log.1", "b.log")),
    ]
    with monkeypatch.context() as patched:
        patched.setattr("splitscan.streaming.planner.list_files", lambda *_: both)
        stream.step()
    stream.drain()
    assert sorted(stream.values()) == sorted(["1", "b", "b2", *successor.decode().split()])
