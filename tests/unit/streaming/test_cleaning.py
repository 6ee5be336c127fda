import pytest

from splitscan.errors import UsageError

from .following import Stream, write


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def source(tmp_path):
    for name in ("a", "b", "sub/c"):
        write(tmp_path / "in" / name, f"{name}\n{name}\n".encode())
    return tmp_path / "in"


def follow(source, tmp_path, **options):
    return Stream(source, tmp_path / "state", recursiveFileLookup=True, cleanSource="delete", **options)


def test_nothing_goes_before_it_is_committed_and_the_last_window_goes_too(source, tmp_path):
    stream = follow(source, tmp_path, maxFilesPerTrigger=1)
    end = stream.plan()
    stream.read(end)
    stream.restart()
    assert stream.plan() == end  # planned, perhaps read, but not committed
    assert names(source) == ["a", "b", "sub/c"]
    stream.rows = stream.read(end)[1]
    stream.position = end
    stream.plan()
    assert names(source) == ["b", "sub/c"]
    stream.drain()
    assert names(source) == []
    assert len(stream.values()) == 6


def test_what_a_killed_run_left_is_cleaned_by_the_next(source, tmp_path):
    stream = follow(source, tmp_path)
    end = stream.plan()
    stream.rows = stream.read(end)[1]
    stream.position = end
    stream.restart()
    assert stream.plan() == end
    assert names(source) == []


def test_a_file_of_which_only_a_part_is_planned_stays(source, tmp_path):
    stream = follow(source, tmp_path, blockSize=2, blocksThreshold=1)
    stream.step()
    stream.plan()
    assert [planned.finished for planned in stream.windows[0].files] == [False]
    assert names(source) == ["a", "b", "sub/c"]
    stream.drain()
    assert names(source) == []
    assert sorted(stream.values()) == ["a", "a", "b", "b", "sub/c", "sub/c"]


def test_an_archive_keeps_the_places(source, tmp_path):
    stream = Stream(source, tmp_path / "state", recursiveFileLookup=True, cleanSource="archive",
                    sourceArchiveDir=str(tmp_path / "old"))  # fmt: skip
    stream.drain()
    assert (names(source), names(tmp_path / "old")) == ([], ["a", "b", "sub/c"])


def test_a_file_that_changed_after_it_was_read_stays(source, tmp_path, caplog):
    stream = follow(source, tmp_path)
    end = stream.plan()
    stream.read(end)
    write(source / "b", b"new\n")
    stream.position = end
    stream.drain()
    assert f"a file changed after it was read, so it stays: {source / 'b'}" in caplog.messages
    assert stream.values() == ["new"]
    assert names(source) == []


def test_a_name_may_be_used_again(source, tmp_path):
    stream = follow(source, tmp_path)
    stream.drain()
    write(source / "a", b"new\n")
    stream.drain()
    assert stream.values()[-1] == "new"
    assert names(source) == []


def test_an_archive_is_not_followed(source, tmp_path):
    with pytest.raises(UsageError, match="option sourceArchiveDir names a directory"):
        Stream(source, tmp_path / "state", cleanSource="archive", sourceArchiveDir=str(source / "old"))


def test_an_object_store_is_cleaned(tmp_path, s3_root, s3_options):
    import json

    import s3fs

    files = s3fs.S3FileSystem(key="test", secret="test", endpoint_url=s3_options["endpoint_url"])
    bucket = s3_root.removeprefix("s3://")
    files.pipe(f"{bucket}/in/a", b"a\n")
    stream = Stream(f"{s3_root}/in", tmp_path / "state", storageOptions=json.dumps(s3_options), cleanSource="archive",
                    sourceArchiveDir=f"{s3_root}/old")  # fmt: skip
    stream.options["stateLocation"] = f"{s3_root}/state"
    stream.restart()
    stream.drain()
    files.invalidate_cache()
    assert stream.values() == ["a"]
    assert [name.removeprefix(f"{bucket}/") for name in files.find(bucket) if "/state/" not in name] == ["old/a"]
