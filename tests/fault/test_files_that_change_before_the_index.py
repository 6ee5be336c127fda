"""A file that changes between listing and index is the same clear error as one that changes before it is read."""

import pytest

import splitscan as ss
from splitscan.errors import SourceChangedError
from splitscan.scan.planning import fill_index, index_in_threads

pytestmark = pytest.mark.fault

RECORD = '1,"two\nlines"\n'


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(RECORD * 100)
    return path


def listed(path, **options):
    scan = ss.scan_csv(str(path), "id long, text string", multiLine=True, blockSize="200", **options)
    scan.files()
    return scan


SHAPES = {
    "longer": RECORD * 200,
    "shorter": RECORD * 3,
    "empty": "",
    "a quote more": RECORD * 50 + '"' + RECORD * 50,
    "compressed now": "\x1f\x8b",
}


@pytest.mark.parametrize("content", SHAPES.values(), ids=SHAPES)
def test_a_file_that_changed_between_listing_and_index_is_told(path, content):
    scan = listed(path)
    path.write_text(content, encoding="latin-1")
    with pytest.raises(SourceChangedError) as caught:
        scan.plan()
    assert caught.value.reason_code == "source-changed"
    assert "a.csv" in str(caught.value)


@pytest.mark.parametrize("content", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("when", ["before the summaries", "behind the summaries"])
def test_a_file_that_changes_while_it_is_indexed_is_told(path, content, when):
    scan = listed(path)

    def indexer(tasks):
        if when == "before the summaries":
            path.write_text(content, encoding="latin-1")
        pieces = list(index_in_threads(tasks))
        path.write_text(content, encoding="latin-1")
        return pieces

    with pytest.raises(SourceChangedError, match="source-changed"):
        list(fill_index(scan.blocks(), scan.framing, scan.options, indexer))


def test_with_onFileChange_ignore_what_is_there_now_is_indexed(path):  # noqa: N802 -- the option's name
    scan = listed(path, onFileChange="ignore")
    path.write_text(RECORD.replace("1", "2") * 100)
    assert [block.first_record_start for block in scan.plan()][:2] == [0, 210]
