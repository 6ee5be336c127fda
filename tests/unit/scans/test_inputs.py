"""An input of which no file is read is an error that names the options that find some; 0 is said of files only."""

import logging
import zipfile

import pytest

import splitscan as ss
from splitscan.errors import SourceMissingError

SCHEMAS = {"without a schema": None, "with a schema": "a string, b string"}
DOORS = {
    "count": lambda scan: scan.count(),
    "limited count": lambda scan: scan.limit(5).count(),
    "to_arrow": lambda scan: scan.to_arrow(),
    "head": lambda scan: scan.head(1),
    "plan": lambda scan: scan.plan(),
    "files": lambda scan: scan.files(),
    "blocks": lambda scan: list(scan.blocks()),
    "explain": lambda scan: scan.explain(),
    "no columns": lambda scan: scan.select().to_arrow(),
}


@pytest.fixture
def folder(tmp_path):
    """Makes files of one record below a folder, and gives the folder."""

    def make(*names):
        for name in names:
            path = tmp_path / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("1,2\n")
        (tmp_path / "in").mkdir(exist_ok=True)
        return tmp_path / "in"

    return make


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("door", DOORS)
def test_no_door_takes_nested_directories_for_no_records(folder, door, schema):
    scan = ss.scan_csv(folder("2024/01/a.csv", "2024/02/a.csv"), SCHEMAS[schema])
    with pytest.raises(SourceMissingError) as caught:
        DOORS[door](scan)
    error = caught.value
    assert (error.reason_code, error.where.path) == ("no-files", str(scan.paths[0]))
    assert error.seen == f"only files in directories below: 2 files, such as {scan.paths[0]}/2024/01/a.csv"
    assert error.fix == "set recursiveFileLookup=true (on the command line -o recursiveFileLookup=true)"


FOUND = {  # the names of files, the options that find none, those that the hint names, and what it says of the files
    "directories": (["x/a.csv"], {}, {"recursiveFileLookup": True}, "directories below: 1 file"),
    "deep directories": (["x/y/z/a.csv"], {}, {"recursiveFileLookup": True}, "directories below: 1 file"),
    "a filter": (["a.csv", "b.csv"], {"pathGlobFilter": "*.json"}, {"pathGlobFilter": None}, "leaves out: 2 files"),
    "a filter and directories": (
        ["x/a.csv"], {"pathGlobFilter": "*.json"}, {"pathGlobFilter": None, "recursiveFileLookup": True},
        "only files in directories below, and only files that pathGlobFilter leaves out: 1 file",
    ),
    "directories with other names": (
        ["x/a.csv", "x/b.json"], {"pathGlobFilter": "*.csv"}, {"recursiveFileLookup": True},
        "only files in directories below: 1 file",
    ),
    "a time to come": (["a.csv"], {"modifiedAfter": "2100-01-01T00:00:00"}, {"modifiedAfter": None}, "modifiedAfter"),
    "a time that was": (["a.csv"], {"modifiedBefore": "1971-01-01T00:00:00"}, {"modifiedBefore": None}, "modifiedBefo"),
    "hidden names": (["_a.csv"], {}, {"ignoredPathSegmentRegex": "(?!)"}, "=^[._] hides: 1 file"),
    "a pattern that hides": (
        ["a.csv"], {"ignoredPathSegmentRegex": "csv"}, {"ignoredPathSegmentRegex": "(?!)"}, "=csv hides: 1 file",
    ),
    "hidden directories": (
        [".x/a.csv"], {}, {"ignoredPathSegmentRegex": "(?!)", "recursiveFileLookup": True}, "1 file",
    ),
    "partitions with other names": (
        ["p=1/a.csv"], {"pathGlobFilter": "*.json"}, {"pathGlobFilter": None}, "leaves out: 1 file",
    ),
    "partitions with directories": (["p=1/x/a.csv", "q/b.csv"], {"pathGlobFilter": "b*"}, {"recursiveFileLookup": True},
        "1 file"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_the_hint_names_the_options_that_find_files_and_no_other(folder, case):
    names, options, found, said = FOUND[case]
    path = folder(*names)
    with pytest.raises(SourceMissingError) as caught:
        ss.scan_csv(path, **options).count()
    error = caught.value
    assert said in error.seen
    assert [name for name in ("recursiveFileLookup", "pathGlobFilter", "modifiedAfter", "modifiedBefore",
            "ignoredPathSegmentRegex") if name in error.fix] == [
        name for name in ("recursiveFileLookup", "pathGlobFilter", "modifiedAfter", "modifiedBefore",
            "ignoredPathSegmentRegex") if name in found]  # fmt: skip
    assert ss.scan_csv(path, **{**options, **found}).count() > 0


def test_an_archive_of_which_no_member_is_wanted_names_its_filter(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b.json", "{}")
    with pytest.raises(SourceMissingError, match="only files that archivePathFilter leaves out: 1 file"):
        ss.scan_csv(tmp_path / "a.zip", archivePathFilter="*.csv").count()


@pytest.mark.parametrize("names", [(), ("empty",)])
def test_where_nothing_would_be_found_the_hint_asks_for_another_path(tmp_path, names):
    for name in names:
        (tmp_path / name).mkdir()
    with pytest.raises(SourceMissingError, match="seen:  nothing in it\n  fix:   name a file, or a directory"):
        ss.scan_csv(tmp_path, "a string").count()
    with pytest.raises(SourceMissingError, match="seen:  nothing in 2 paths"):
        ss.scan_csv([tmp_path, tmp_path], "a string").count()


def test_many_files_are_not_all_counted(folder):
    path = folder(*(f"x/{number}.csv" for number in range(1002)))
    with pytest.raises(SourceMissingError, match="1,000 files or more, such as"):
        ss.scan_csv(path).count()


def test_empty_files_are_files(folder):
    path = folder("a.csv")
    (path / "a.csv").write_text("")
    assert ss.scan_csv(path).count() == 0


def test_no_secret_of_a_path_is_shown(folder):
    path = folder("x/a.csv?sig=hunter2")
    with pytest.raises(SourceMissingError) as caught:
        ss.scan_csv(path).count()
    assert "hunter2" not in str(caught.value)
    assert "sig=***" in str(caught.value)


@pytest.fixture
def warned(caplog):
    with caplog.at_level(logging.WARNING, logger="splitscan"):
        yield lambda: [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("paths", [("",), ("", "x"), ("x", "a.csv")])
def test_files_that_are_passed_over_beside_others_are_counted_once_in_a_warning(folder, warned, paths):
    root = folder("a.csv", "x/b.csv", "x/y/c.csv", "x/y/d.csv")
    scan = ss.scan_csv([root / path for path in paths], sep=",", header=False)
    scan.count(), scan.to_arrow(), scan.limit(1).to_arrow()
    (message,) = warned()
    assert message.startswith("not read: ")
    assert "such as" in message
    assert "set recursiveFileLookup=true" in message


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["a.csv", "p=1/b.csv"], {}),
        (["a.csv", "x/b.csv"], {"recursiveFileLookup": True}),
        (["a.csv", "x/b.json"], {"pathGlobFilter": "*.csv"}),
        (["a.csv", "_x/b.csv", "x/_b.csv"], {}),
    ],
)
def test_nobody_is_warned_of_what_is_read_or_was_ruled_out(folder, warned, names, options):
    assert ss.scan_csv(folder(*names), sep=",", header=False, **options).count() > 0
    assert warned() == []


def test_conditions_that_leave_no_file_say_so_and_give_no_rows(folder, warned):
    scan = ss.scan_csv(folder("p=1/a.csv", "p=2/a.csv"), "a int, b int").where_files("p = 3")
    assert (scan.count(), scan.to_arrow().num_rows) == (0, 0)
    assert warned() == ["no file is read: conditions (option where) leave none of 2 files"]


def test_links_to_files_below_are_no_files_of_their_own(folder):
    path = folder("x/a.csv")
    (path / "y").symlink_to(path / "x")
    with pytest.raises(SourceMissingError, match="no-files"):
        ss.scan_csv(path).count()


def test_columns_that_are_given_are_known_before_there_is_a_file(folder):
    scan = ss.scan_csv(folder(), "a int, b int")  # as a stream asks that waits for its first file
    assert scan.schema.names == ["a", "b"]
    assert ss.scan_text(folder()).schema.names == ["value"]


@pytest.mark.parametrize("format", ["csv", "json"])
def test_asking_for_columns_that_no_file_shows_is_no_question_of_a_schema(folder, format):
    scan = ss.scan(folder("x/a.csv"), format)
    for ask in (lambda: scan.schema, scan.explain_schema):
        with pytest.raises(SourceMissingError, match="set recursiveFileLookup=true"):
            ask()
