"""Listing files: what Spark lists, in a stable order; links, filters, and what is refused."""

import logging
import os
import tracemalloc
from dataclasses import replace

import pytest
from tests.counting import steps_of

from splitscan.content.storage import opening
from splitscan.errors import SourceError, SourceMissingError, UsageError
from splitscan.options.files import FileOptions
from splitscan.scans.listing import check_inside, list_files

OPTIONS = FileOptions()
RECURSIVE = replace(OPTIONS, recursive_file_lookup=True)
LENIENT = replace(OPTIONS, ignore_missing_files=True)

# The same tree was read by Spark 4.3.0; where we differ on purpose, the case says so.
TREE = [
    "flat/a.txt", "flat/_h.txt", "flat/.d.txt", "flat/_metadata", "flat/_k=1.txt", "flat/x._COPYING_", "flat/sub/n.txt",
    "flat/_hid/i.txt", "part/k=1/p.txt", "part/root.txt", "part/k=1/deep/q.txt", "deep/x/k=1/p.txt", "deep/y/z.txt",
    "hp/_k=1/p.txt", "lit/a[1].txt", "lit/a1.txt", "lit/b{c}.txt", "g/_t/f.txt", "g/o/f.txt", "onlyh/_a.txt",
    "sp/a b.txt", "sp/a%20b.txt", "sp/ä.txt", "br/a/f.txt", "br/b/f.txt", "br/c/.f.txt",
]  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    _grow(root, TREE)
    (root / "empty").mkdir()
    return root


def _grow(root, names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def _names(root, paths, options=OPTIONS):
    listed = list(list_files(paths, options))
    assert [file.path for file in listed] == sorted({file.path for file in listed})
    return [file.path.removeprefix(f"{root}/") for file in listed]


@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        ("flat", {}, ["flat/_k=1.txt", "flat/a.txt"]),
        ("flat", {"recursive_file_lookup": True}, ["flat/_k=1.txt", "flat/a.txt", "flat/sub/n.txt"]),
        ("flat/_h.txt", {}, []),
        ("flat/_hid", {}, ["flat/_hid/i.txt"]),
        ("flat/x._COPYING_", {}, []),
        ("flat/x._COPYING_", {"ignored_path_segment_regex": ""}, []),
        (
            "flat",
            {"ignored_path_segment_regex": "^x"},
            ["flat/.d.txt", "flat/_h.txt", "flat/_k=1.txt", "flat/_metadata", "flat/a.txt"],  # Spark: no _metadata
        ),
        (
            "flat",
            {"ignored_path_segment_regex": ""},
            ["flat/.d.txt", "flat/_h.txt", "flat/_k=1.txt", "flat/_metadata", "flat/a.txt"],  # Spark: no _metadata
        ),
        ("flat", {"ignored_path_segment_regex": "h|met"}, ["flat/.d.txt", "flat/_k=1.txt", "flat/a.txt"]),
        ("flat/_h.txt", {"ignored_path_segment_regex": "^zzz"}, ["flat/_h.txt"]),
        ("part", {}, ["part/k=1/deep/q.txt", "part/k=1/p.txt", "part/root.txt"]),  # Spark drops root.txt
        ("part", {"recursive_file_lookup": True}, ["part/k=1/deep/q.txt", "part/k=1/p.txt", "part/root.txt"]),
        ("deep", {}, ["deep/x/k=1/p.txt"]),  # Spark fails: conflicting directory structures
        ("hp", {}, ["hp/_k=1/p.txt"]),
        ("hp", {"recursive_file_lookup": True}, ["hp/_k=1/p.txt"]),
        ("lit/a[1].txt", {}, ["lit/a[1].txt"]),  # Spark reads a1.txt
        ("lit/a\\[1\\].txt", {}, ["lit/a[1].txt"]),
        ("lit/b{c}.txt", {}, ["lit/b{c}.txt"]),  # Spark fails: path not found
        ("g/*", {}, ["g/o/f.txt"]),  # Spark reads _t/f.txt too
        ("g/*/f.txt", {}, ["g/o/f.txt"]),  # Spark reads _t/f.txt too
        ("g/_*/f.txt", {}, ["g/_t/f.txt"]),
        ("g/[_]t/f.txt", {"ignored_path_segment_regex": ""}, ["g/_t/f.txt"]),
        ("flat/*", {}, ["flat/_k=1.txt", "flat/a.txt", "flat/sub/n.txt"]),  # Spark reads _hid/i.txt too
        ("flat/**", {}, ["flat/_k=1.txt", "flat/a.txt", "flat/sub/n.txt"]),
        ("onlyh", {}, []),
        ("empty", {}, []),
        ("sp", {}, ["sp/a b.txt", "sp/a%20b.txt", "sp/ä.txt"]),
        ("sp/a%20b.txt", {}, ["sp/a%20b.txt"]),
        ("br/{a,b}", {}, ["br/a/f.txt", "br/b/f.txt"]),
        ("br/{a/f,b/f,nope/f}.txt", {}, ["br/a/f.txt", "br/b/f.txt"]),
        ("br/[^a]/f.txt", {}, ["br/b/f.txt"]),
        ("br/[!a]/f.txt", {}, ["br/b/f.txt"]),
        ("br/?", {}, ["br/a/f.txt", "br/b/f.txt"]),
        ("flat", {"path_glob_filter": "{a,_k}*"}, ["flat/_k=1.txt", "flat/a.txt"]),
        ("flat/a.txt", {"path_glob_filter": "z*"}, []),
        ("part", {"path_glob_filter": "q.*"}, ["part/k=1/deep/q.txt"]),
        ("part/k=1", {}, ["part/k=1/p.txt"]),
        ("flat/a.txt", {"recursive_file_lookup": True}, ["flat/a.txt"]),
    ],
)
def test_the_same_files_are_listed_as_by_spark(tree, path, options, expected):
    assert _names(tree, f"{tree}/{path}", replace(OPTIONS, **options)) == expected
    if not path.startswith("sp/"):
        assert _names(tree, f"file:{tree}/{path}", replace(OPTIONS, **options)) == expected


@pytest.mark.parametrize("options", [OPTIONS, LENIENT])
@pytest.mark.parametrize("path", ["nope", "flat/*.zip", "flat/a.txt/x", "nope/*", "flat/a.txt,flat", "onlyh/*"])
def test_a_path_that_names_nothing_is_an_error_as_in_spark(tree, path, options):
    with pytest.raises(SourceMissingError) as caught:
        list_files([f"{tree}/flat", f"{tree}/{path}"], options)
    assert f"Path does not exist: {tree}/{path} [path-not-found]" in str(caught.value)


def test_a_named_file_that_is_hidden_is_logged(tree, caplog):
    with caplog.at_level(logging.WARNING):
        assert _names(tree, [f"{tree}/flat/_h.txt", tree / "flat/a.txt"]) == ["flat/a.txt"]
    assert f"{tree}/flat/_h.txt" in caplog.text


def test_overlapping_paths_list_each_file_once_and_the_first_names_it(tree):
    flat = str(tree / "flat")
    listed = list(list_files([f"{flat}/a.txt", flat, f"{flat}/", f"{flat}/*", f"file:{flat}"], RECURSIVE))
    assert [file.relative_path for file in listed] == ["_k=1.txt", "a.txt", "sub/n.txt"]
    listed = list(list_files([f"{flat}/sub", flat], RECURSIVE))
    assert [file.relative_path for file in listed] == ["_k=1.txt", "a.txt", "n.txt"]
    listed = list(list_files([flat, f"{flat}/sub"], RECURSIVE))
    assert [file.relative_path for file in listed] == ["_k=1.txt", "a.txt", "sub/n.txt"]


def test_the_order_is_that_of_the_paths_whatever_was_named_first(tmp_path):
    names = ["a-b.txt", "a.txt", "a/x.txt", "a/y/z.txt", "a0.txt", "b/a.txt", "ä.txt"]
    _grow(tmp_path, names)
    assert _names(tmp_path, tmp_path, RECURSIVE) == sorted(names)
    named = [tmp_path / name for name in reversed(names)] + [tmp_path / "b", tmp_path, tmp_path / "a"]
    assert _names(tmp_path, named, RECURSIVE) == sorted(names)


@pytest.mark.parametrize(
    ("path", "relative"),
    [("part", ["k=1/deep/q.txt", "k=1/p.txt", "root.txt"]), ("part/root.txt", ["root.txt"]),
     ("part/*", ["k=1/p.txt", "root.txt"]), ("{part,br}/*/*.txt", ["br/a/f.txt", "br/b/f.txt", "part/k=1/p.txt"])],
)  # fmt: skip
def test_relative_paths_start_at_the_named_directory_or_the_glob_s_fixed_prefix(tree, path, relative):
    assert [file.relative_path for file in list_files(f"{tree}/{path}")] == relative


def test_with_a_base_path_relative_paths_and_partitions_start_there(tree):
    based = replace(OPTIONS, base_path=f"{tree}/part")
    listed = list(list_files([f"{tree}/part/k=1", f"{tree}/part/root.txt"], based))
    assert [file.relative_path for file in listed] == ["k=1/deep/q.txt", "k=1/p.txt", "root.txt"]
    with pytest.raises(UsageError, match="wrong basePath"):
        list_files(f"{tree}/part/k=1", replace(OPTIONS, base_path=f"{tree}/flat"))


def test_metadata_is_what_the_file_system_says(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"12345")
    os.utime(tmp_path / "a.csv", ns=(0, 1_234_567_890_123))
    (file,) = list_files(tmp_path)
    assert (file.path, file.size_bytes, file.modified_us) == (str(tmp_path / "a.csv"), 5, 1_234_567_890)
    assert (file.fingerprint, file.name) == ("5-1234567890123", "a.csv")


def test_empty_files_are_listed(tmp_path):
    (tmp_path / "empty.csv").touch()
    assert [file.size_bytes for file in list_files(tmp_path)] == [0]


def test_times_filter_strictly(tmp_path):
    for number in (1, 2, 3):
        _grow(tmp_path, [f"{number}"])
        os.utime(tmp_path / f"{number}", (number, number))
    assert _names(tmp_path, tmp_path, replace(OPTIONS, modified_before_us=2_000_000)) == ["1"]
    assert _names(tmp_path, tmp_path, replace(OPTIONS, modified_after_us=2_000_000)) == ["3"]
    assert _names(tmp_path, tmp_path / "2", replace(OPTIONS, modified_after_us=2_000_000)) == []


def test_a_link_back_to_its_own_directory_ends_there(tmp_path):
    _grow(tmp_path, ["a/f.txt", "a/b/g.txt"])
    (tmp_path / "a/b/up").symlink_to(tmp_path / "a")
    (tmp_path / "a/self").symlink_to(".")
    assert _names(tmp_path, tmp_path, RECURSIVE) == ["a/b/g.txt", "a/f.txt"]


def test_directories_that_link_to_each_other_do_not_multiply(tmp_path):
    for name in "abcdefgh":
        _grow(tmp_path, [f"{name}/f.txt"])
        for other in "abcdefgh":
            (tmp_path / name / f"to_{other}").symlink_to(tmp_path / other)
    names = _names(tmp_path, tmp_path, RECURSIVE)
    assert {f"{name}/f.txt" for name in "abcdefgh"} <= set(names)
    assert len(names) <= 16


def test_a_link_to_files_elsewhere_is_followed_once(tmp_path):
    _grow(tmp_path, ["outside/d/f.txt", "root/own.txt"])
    (tmp_path / "root/link").symlink_to(tmp_path / "outside/d")
    (tmp_path / "root/link2").symlink_to(tmp_path / "outside/d")
    (tmp_path / "root/file.txt").symlink_to(tmp_path / "outside/d/f.txt")
    assert _names(tmp_path, tmp_path / "root", RECURSIVE) == ["root/file.txt", "root/link/f.txt", "root/own.txt"]


def test_a_link_that_leads_nowhere_is_an_error_or_skipped(tmp_path):
    _grow(tmp_path, ["a.txt"])
    (tmp_path / "b.txt").symlink_to("nowhere")
    (tmp_path / "_hidden").symlink_to("nowhere")
    with pytest.raises(SourceMissingError, match="a link that leads nowhere") as caught:
        list(list_files(tmp_path))
    assert f"where: {tmp_path}/b.txt" in str(caught.value)
    assert "ignoreMissingFiles=true" in str(caught.value)
    assert _names(tmp_path, tmp_path, LENIENT) == ["a.txt"]
    assert _names(tmp_path, f"{tmp_path}/*", LENIENT) == ["a.txt"]


def test_links_that_lead_to_each_other_lead_nowhere(tmp_path):
    _grow(tmp_path, ["a.txt"])
    (tmp_path / "b.txt").symlink_to("c.txt")
    (tmp_path / "c.txt").symlink_to("b.txt")
    with pytest.raises(SourceMissingError) as caught:
        list(list_files(tmp_path))
    assert f"where: {tmp_path}/b.txt" in str(caught.value)
    with pytest.raises(SourceMissingError, match="path-not-found"):
        list(list_files(tmp_path / "b.txt"))
    assert _names(tmp_path, tmp_path, LENIENT) == ["a.txt"]
    assert _names(tmp_path, f"{tmp_path}/*", LENIENT) == ["a.txt"]


def test_a_glob_does_not_look_at_what_cannot_lead_further(tmp_path):
    _grow(tmp_path, ["a/f.txt"])
    (tmp_path / "broken").symlink_to("nowhere")
    assert _names(tmp_path, f"{tmp_path}/*/f.txt") == ["a/f.txt"]


def test_what_vanishes_while_it_is_listed_is_an_error_or_skipped(tmp_path):
    def listing(options):
        _grow(tmp_path, ["a.txt", "b.txt", "c/d.txt", "e.txt"])
        files = list_files(tmp_path, options)
        first = next(files).name
        (tmp_path / "b.txt").unlink()
        (tmp_path / "c/d.txt").unlink()
        (tmp_path / "c").rmdir()
        return [first, *(file.name for file in files)]

    with pytest.raises(SourceMissingError, match="it vanished while the directory was listed"):
        listing(RECURSIVE)
    assert listing(replace(RECURSIVE, ignore_missing_files=True)) == ["a.txt", "e.txt"]


def test_a_directory_that_cannot_be_listed_is_named(tmp_path, monkeypatch):
    _grow(tmp_path, ["a/f.txt", "b/f.txt"])
    real = os.scandir

    def guarded(path):
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(opening.os, "scandir", guarded)
    for options in (RECURSIVE, replace(RECURSIVE, ignore_missing_files=True)):
        with pytest.raises(SourceError, match="cannot list directory: permission denied") as caught:
            list(list_files(tmp_path, options))
        assert f"where: {tmp_path}/b" in str(caught.value)


def test_a_pipe_is_refused_by_name(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match=r"\[not-a-file\]") as caught:
        list(list_files(tmp_path))
    assert f"{tmp_path}/pipe" in str(caught.value)


@pytest.mark.parametrize("paths", [[], "", [""]])
def test_no_path_is_refused(paths):
    with pytest.raises(UsageError, match=r"\[bad-path\]"):
        list_files(paths)


def test_malformed_filters_are_refused():
    with pytest.raises(UsageError, match="bad-glob"):
        list_files("/", replace(OPTIONS, path_glob_filter="[a"))
    with pytest.raises(UsageError, match="ignoredPathSegmentRegex"):
        list_files("/", replace(OPTIONS, ignored_path_segment_regex="("))


def test_a_deep_tree_is_listed(tmp_path):
    deep = tmp_path.joinpath(*["d"] * 600)
    deep.mkdir(parents=True)
    (deep / "f.txt").touch()
    assert [file.name for file in list_files(tmp_path, RECURSIVE)] == ["f.txt"]


@pytest.mark.slow
def test_ten_thousand_files_are_listed_in_a_few_steps_each_and_in_flat_memory(tmp_path):
    for folder in range(10):
        (tmp_path / f"{folder}").mkdir()
        for number in range(1000):
            os.link(_seed(tmp_path), tmp_path / f"{folder}" / f"part-{number:05}.csv")
    found = []
    assert steps_of(lambda: found.extend(list_files(tmp_path, RECURSIVE))) < 200 * 10_000
    assert len(found) == 10_000
    found.clear()
    tracemalloc.start()
    try:
        for _ in list_files(tmp_path, RECURSIVE):
            pass
        assert tracemalloc.get_traced_memory()[1] < 1_500_000  # the names of one directory, not of all
    finally:
        tracemalloc.stop()


def _seed(tmp_path):
    seed = tmp_path / "_seed"
    seed.touch()
    return seed


@pytest.mark.parametrize("path", ["/data/in/a.csv", "/data/in/x/..y", "file:///data/in/a", "s3a://b/in/k"])
def test_paths_from_data_below_a_named_root_are_fine(path):
    check_inside(path, ["s3://b/in", "/data/in"])


@pytest.mark.parametrize(
    "path", ["/data/inn/a", "/data", "/data/in/../x", "/data/in/../in/x", "s3://b/other", "s3://c/in/k", "s3://b/in/../k",
             "file:/etc/passwd", "memory://data/in"],
)  # fmt: skip
def test_paths_from_data_that_lead_elsewhere_are_refused(path):
    with pytest.raises(UsageError, match=r"\[path-escapes\]"):
        check_inside(path, ["s3://b/in", "/data/in"])
