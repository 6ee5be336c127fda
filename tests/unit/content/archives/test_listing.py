"""What of an archive is listed, and what is refused: names that lead out of it, bombs, what cannot be read."""

import contextlib
import tarfile
import zipfile
from dataclasses import replace

import fsspec
import pytest

import splitscan as ss
from splitscan.content.archives.opening import open_source
from splitscan.errors import SourceError, SplitscanError, UsageError
from splitscan.options.files import FileOptions
from splitscan.scans.globs import compile_glob
from splitscan.scans.listing import check_inside, list_files

from .packed import PACK, tar_of, tar_of_entries, zip_of

ALL = FileOptions(archive_path_filter="*")
SAMPLE = {
    "a.csv": b"1\n",
    "_a..csv": b"x",
    "deep/er/b.csv": b"2\n",
    "_SUCCESS": b"",
    "__MACOSX/._a.csv": b"x",
    "c.txt": b"3\n",
}


def names(path, options=ALL):
    return [file.relative_path for file in list_files(path, options)]


def refused(path, options=ALL):
    with pytest.raises(SplitscanError) as caught:
        names(path, options)
    return caught.value.reason_code, str(caught.value)


@pytest.fixture
def put(tmp_path):
    def write(data, name="a.tar"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


@pytest.mark.parametrize("kind", PACK)
def test_members_are_listed_by_name_but_for_hidden_ones(tmp_path, kind):
    name, pack = PACK[kind]
    (tmp_path / name).write_bytes(pack(SAMPLE))
    assert names(tmp_path) == [f"{name}!/{member}" for member in ("a.csv", "c.txt", "deep/er/b.csv")]
    assert names(tmp_path, replace(ALL, ignored_path_segment_regex="")) == [
        f"{name}!/{each}" for each in sorted(SAMPLE)
    ]
    assert names(tmp_path, replace(ALL, archive_path_filter="*.csv")) == [f"{name}!/a.csv", f"{name}!/deep/er/b.csv"]
    assert names(tmp_path, replace(ALL, archive_path_filter="{c,a}.*")) == [f"{name}!/a.csv", f"{name}!/c.txt"]
    assert names(tmp_path, replace(ALL, path_glob_filter="*.csv")) == []
    assert names(tmp_path, FileOptions()) == [name]


def test_members_stand_in_the_place_of_their_archive_and_are_those_of_many(tmp_path):
    for number in range(70):
        (tmp_path / f"{number:02}.zip").write_bytes(zip_of({"b": b"1\n", "a": b"2\n"}))
    (tmp_path / "35.csv").write_bytes(b"3\n")
    expected = [f"{number:02}.zip!/{name}" for number in range(70) for name in "ab"]
    assert names(tmp_path) == [*expected[:70], "35.csv", *expected[70:]]


def test_a_member_has_the_version_and_the_time_of_its_archive(put):
    path = put(tar_of({"x": b"1\n"}))
    (file,) = list_files(path, ALL)
    (archive,) = list_files(path)
    assert (file.path, file.name, file.size_bytes) == (f"{path}!/x", "x", 2)
    assert (file.modified_us, file.fingerprint) == (archive.modified_us, f"{archive.fingerprint}!tar:512:2:2:00000000")
    source = open_source(file.path)
    assert (source.fingerprint, source.read_at(0, 9), source.read_at(1, 9), source.read_at(5, 9)) == (
        file.fingerprint, b"1\n", b"\n", b"",
    )  # fmt: skip
    with pytest.raises(UsageError):
        source.read_at(-1, 1)
    source.close()


def test_a_directory_named_like_an_archive_is_a_directory(tmp_path):
    (tmp_path / "a.zip!").mkdir()
    (tmp_path / "a.zip!" / "x.csv").write_bytes(b"1\n2\n")
    (tmp_path / "b.tar").mkdir()
    (tmp_path / "b.tar" / "y.csv").write_bytes(b"1\n2\n3\n")
    assert ss.scan_text(tmp_path, recursive_file_lookup=True, archive_path_filter="*").count() == 5


def test_partition_directories_count_outside_and_inside_of_archives(tmp_path):
    for year in (2024, 2025):
        (tmp_path / f"y={year}").mkdir()
        (tmp_path / f"y={year}" / f"v={year}.tar").write_bytes(tar_of({"m=7/x.csv": b"1\n"}))
    rows = ss.scan_csv(tmp_path, "a int", archive_path_filter="*").to_arrow().to_pylist()
    assert rows == [{"a": 1, "y": 2024, "m": 7}, {"a": 1, "y": 2025, "m": 7}]


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "..\\x", "\\x", "C:\\x", "c:/x", ".."])
@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_a_name_that_leads_out_of_its_archive_is_refused(put, name, pack):
    path = put(pack({"good.csv": b"1\n", name: b"2\n"}), "a.tar" if pack is tar_of else "a.zip")
    code, text = refused(path)
    assert code == "path-escapes"
    assert repr(name) in text
    assert names(path, replace(ALL, archive_path_filter="*.csv")) == [f"{path.name}!/good.csv"]


def test_dots_and_empty_segments_are_no_part_of_a_name(put):
    assert names(put(tar_of({"./a": b"1\n", "b/./c//d": b"2\n"}))) == ["a.tar!/a", "a.tar!/b/c/d"]
    assert ss.scan_text(put(zip_of({"./a": b"1\n"}), "a.zip"), archive_path_filter="a").count() == 1


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_two_members_of_one_name_are_refused_if_they_are_wanted(put, pack):
    path = put(pack({"x": b"1\n", "./x": b"2\n", "y": b"3\n"}), "a.tar" if pack is tar_of else "a.zip")
    assert refused(path)[0] == "duplicate-member"
    with pytest.raises(SourceError, match=r"\[duplicate-member\]"):
        open_source(f"{path}!/x")
    assert names(path, replace(ALL, archive_path_filter="y")) == [f"{path.name}!/y"]


def entry(name, type, **values):
    info = tarfile.TarInfo(name)
    info.type = type
    for key, value in values.items():
        setattr(info, key, value)
    return info


def test_links_and_devices_are_left_out_with_a_note(put, caplog):
    path = put(tar_of_entries(
        entry("d", tarfile.DIRTYPE),
        entry("./link", tarfile.SYMTYPE, linkname="/etc/passwd"),
        entry("hard", tarfile.LNKTYPE, linkname="x"),
        entry("pipe", tarfile.FIFOTYPE),
        entry("device", tarfile.CHRTYPE),
        entry(".hidden", tarfile.FIFOTYPE),
        entry("x", tarfile.REGTYPE, size=4),
    ))  # fmt: skip
    assert names(path) == ["a.tar!/x"]
    assert [record.message.split("!/")[1] for record in caplog.records] == [
        "link is a link; it is left out", "hard is a link; it is left out",
        "pipe is no regular file; it is left out", "device is no regular file; it is left out",
    ]  # fmt: skip


def zip_entry(data, **values):
    """A zip file whose last member has other values in the directory."""
    places = {
        "made_on": (5, 1),
        "flags": (8, 2),
        "method": (10, 2),
        "crc": (16, 4),
        "content": (24, 4),
        "mode": (40, 2),
        "offset": (42, 4),
    }
    out = bytearray(data)
    at = data.rindex(b"PK\x01\x02")
    for name, value in values.items():
        offset, length = places[name]
        out[at + offset : at + offset + length] = value.to_bytes(length, "little")
    return bytes(out)


@pytest.mark.parametrize("directory", [{"d/": {}}, {"d": {"made_on": 3, "mode": 0o040755}}])
def test_directories_in_zip_files_are_no_members(put, caplog, directory):
    ((name, values),) = directory.items()
    assert names(put(zip_entry(zip_of({"x": b"1\n", name: b""}), **values), "a.zip")) == ["a.zip!/x"]
    assert caplog.records == []


def test_the_mode_of_a_member_counts_only_where_it_was_made_on_unix(put, caplog):
    path = put(zip_entry(zip_of({"x": b"1\n", "y": b"2\n"}), made_on=0, mode=0o120777), "a.zip")
    assert names(path) == ["a.zip!/x", "a.zip!/y"]
    assert caplog.records == []


def test_links_in_zip_files_are_left_out_with_a_note(put, caplog):
    path = put(zip_entry(zip_of({"x": b"1\n", "link": b"/etc/passwd"}), made_on=3, mode=0o120777), "a.zip")
    assert names(path) == ["a.zip!/x"]
    assert "link is a link; it is left out" in caplog.text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"flags": 1}, "'x' is encrypted"),
        ({"method": 9}, "'x' is compressed by method 9 of zip (deflate64)"),
        ({"method": 98}, "method 98 of zip (ppmd)"),
    ],
)
def test_members_that_cannot_be_read_are_refused_if_they_are_wanted(put, values, text):
    path = put(zip_entry(zip_of({"y": b"2\n", "x": b"1\n"}), **values), "a.zip")
    code, seen = refused(path)
    assert code == "unsupported-member"
    assert text in seen
    with pytest.raises(SourceError, match=r"\[unsupported-member\]"):
        open_source(f"{path}!/x")
    assert ss.scan_text(path, archive_path_filter="y").count() == 1


def test_a_stored_member_of_two_lengths_is_refused(put):
    code, seen = refused(put(zip_entry(zip_of({"x": b"1\n"}), content=3), "a.zip"))
    assert (code, "'x' is stored in 2 bytes, and holds 3" in seen) == ("corrupt-container", True)


def test_sparse_members_are_refused(put):
    path = put(
        tar_of_entries(entry("x", tarfile.REGTYPE, pax_headers={"GNU.sparse.map": "0,1", "GNU.sparse.size": "9"}))
    )
    code, seen = refused(path)
    assert (code, "'x' is sparse" in seen) == ("unsupported-member", True)


def test_archives_of_other_kinds_are_refused(put):
    assert refused(put(b"whatever", "a.7Z"))[0] == "unsupported-archive"


def test_a_zip_bomb_is_refused(put):
    bomb = zip_entry(zip_of({"x": b"1\n"}, zipfile.ZIP_DEFLATED), content=0xF0000000)
    code, seen = refused(put(bomb, "a.zip"))
    assert code == "decompression-bomb"
    assert "maxDecompressionRatio=10000" in seen
    big = zip_of({"x": bytes(3000), "y": bytes(3000)}, zipfile.ZIP_DEFLATED)
    assert names(put(big, "a.zip"), replace(ALL, max_archive_bytes=6000)) == ["a.zip!/x", "a.zip!/y"]
    code, seen = refused(put(big, "a.zip"), replace(ALL, max_archive_bytes=5999))
    assert code == "archive-too-large"
    assert "maxArchiveSize=5999" in seen


def test_members_that_overlap_are_refused(put):
    assert refused(put(zip_entry(zip_of({"x": b"1\n" * 30, "y": b"2\n"}), offset=0), "a.zip"))[0] == "corrupt-container"
    assert (
        refused(put(zip_entry(zip_of({"x": b"1\n" * 30, "y": b"2\n"}), offset=31), "a.zip"))[0] == "corrupt-container"
    )


def test_a_directory_that_takes_too_much_memory_is_refused(put, monkeypatch):
    monkeypatch.setattr("splitscan.content.archives.directory.MOST_DIRECTORY_BYTES", 1000)
    assert refused(put(zip_of({f"{i}": b"" for i in range(100)}), "a.zip"))[0] == "archive-too-large"
    assert refused(put(tar_of({"x" * 2000: b""}, tarfile.GNU_FORMAT)))[0] == "archive-too-large"


@pytest.mark.parametrize("kind", ["tar", "tar of GNU", "tar of pax"])
def test_a_tar_that_breaks_off_is_noticed_wherever_it_does(put, kind):
    data = PACK[kind][1]({"x" * 120 if kind != "tar" else "x": b"1\n" * 300, "y": b"2\n"})
    end = len(data.rstrip(b"\0"))
    end += -end % 512
    for stop in [*range(513, end, 61), end - 1, end]:
        assert refused(put(data[:stop]))[0] == "truncated-container", stop
    assert len(names(put(data[: end + 512]))) == len(names(put(data[: end + 700]))) == 2


@pytest.mark.parametrize(
    "behind", [b"\0" * 512 + b"x", b"\0" * 1024 + tar_of({"z": b""}), b"no header".ljust(512, b"\0")]
)
def test_what_stands_behind_the_end_of_a_tar_is_not_lost_silently(put, behind):
    data = tar_of({"x": b"1\n"})
    assert refused(put(data[:1024] + behind))[0] == "corrupt-container"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_file_that_breaks_off_is_noticed_wherever_it_does(put, method):
    data = zip_of({"x": b"1\n" * 50, "y": b"2\n"}, method)
    for stop in range(4, len(data), 7):
        assert refused(put(data[:stop], "a.zip"))[0] == "truncated-container", stop


@pytest.mark.slow
@pytest.mark.parametrize("kind", PACK)
def test_whatever_is_wrong_with_a_byte_of_an_archive_is_an_error_of_ours_or_harmless(put, kind):
    name, pack = PACK[kind]
    data = pack({"x": b"1\n2\n3\n", "deep/y": b"4\n"})
    for at in range(min(len(data), 560)):
        for flip in (0xFF, 0x01):
            broken = bytearray(data)
            broken[at] ^= flip
            path = put(bytes(broken), name)
            with contextlib.suppress(SplitscanError):
                ss.scan_text(path, archive_path_filter="*").count()


def test_a_zip_file_whose_headers_and_directory_disagree_is_refused(put):
    data = zip_of({"x": b"1\n"}).replace(b"x1\n", b"z1\n", 1)
    with pytest.raises(SourceError, match="no member begins where the directory of a zip file says"):
        ss.scan_text(put(data, "a.zip"), archive_path_filter="*").to_arrow()


def test_names_in_other_code_pages_and_with_blanks_are_read(put):
    members = {"ü x.csv": b"1\n", "日本.csv": b"2\n", "a!/b.csv": b"3\n", "q.zip!/c": b"4\n"}
    for name, pack in (("a.zip", zip_of), ("a.tar", tar_of)):
        assert ss.scan_text(put(pack(members), name), archive_path_filter="*").count() == 4
        table = ss.scan_text(
            put(pack(members), name), archive_path_filter="q*", metadata_columns=["file_path"]
        ).to_arrow()
        assert table["file_path"].to_pylist()[0].endswith(f"{name}!/q.zip!/c")


def test_a_member_lies_where_its_archive_does():
    check_inside("/data/a.zip!/x", ["/data/a.zip"])
    check_inside("/data/a.zip!/x", ["/data"])
    for path, root in (
        ("/data/b.zip!/x", "/data/a.zip"),
        ("/data/a.zip!/../x", "/data/a.zip"),
        ("/data/a!/x", "/data/a"),
    ):
        with pytest.raises(UsageError):
            check_inside(path, [root])


def test_wildcards_pass_over_folders_only_where_they_may():
    matches = compile_glob("[^a]*/?.csv", across_segments=True)
    assert [matches(name) for name in ("b/c/d.csv", "a/d.csv", "b//.csv", "b/dd.csv")] == [True, False, True, False]
    assert not compile_glob("*.csv")("b/c.csv")


def test_archives_are_read_from_other_storage():
    system = fsspec.filesystem("memory")
    system.pipe("/archived/a.zip", zip_of({"x": b"1\n2\n"}, zipfile.ZIP_DEFLATED))
    system.pipe("/archived/b.tar", tar_of({"x": b"3\n"}))
    scan = ss.scan_text("memory://archived", archive_path_filter="*", metadata_columns=["file_path"])
    assert [row["value"] for row in scan.to_arrow().to_pylist()] == ["1", "2", "3"]
    assert [file.path for file in scan.files()] == ["memory://archived/a.zip!/x", "memory://archived/b.tar!/x"]


def test_archives_are_read_from_an_object_store(s3_root, s3_options):
    import s3fs

    system = s3fs.S3FileSystem(**s3_options, use_listings_cache=False)
    system.pipe(f"{s3_root}/a.zip", zip_of({"x": b"1\n2\n", "y": b"3\n" * 100}, zipfile.ZIP_DEFLATED))
    system.pipe(f"{s3_root}/b.tar", tar_of({"z": b"4\n" * 100}))
    scan = ss.scan_text(s3_root, archive_path_filter="*", block_size=50, storage_options=s3_options)
    assert scan.count() == scan.to_arrow().num_rows == 202
