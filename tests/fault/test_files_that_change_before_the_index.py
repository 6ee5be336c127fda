"""A file that changes between listing and index is the same clear error as one that changes before it is read."""

import pytest

import splitscan as ss
from splitscan.errors import SourceChangedError, SourceMissingError
from splitscan.reading.block_scan import open_reader
from splitscan.scans.index import fill_index, index_here
from splitscan.spark.indexing import index_in_turn

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
@pytest.mark.parametrize("when", ["before the summaries", "after the summaries"])
def test_a_file_that_changes_while_it_is_indexed_is_told(path, content, when):
    scan = listed(path)

    def indexer(tasks):
        if when == "before the summaries":
            path.write_text(content, encoding="latin-1")
        pieces = list(index_here(tasks))
        path.write_text(content, encoding="latin-1")
        return pieces

    with pytest.raises(SourceChangedError, match="source-changed"):
        list(fill_index(scan.blocks(), scan.framing, scan.options, indexer))


WHEN = ["before the summaries", "after the first", "after the summaries"]


def vanishing(path, when):
    """Runs index tasks; the file vanishes before, between or after them."""

    def indexer(tasks):
        gone = {"before the summaries": 0, "after the first": 1, "after the summaries": len(tasks)}[when]
        pieces = list(index_in_turn(tasks[:gone]))
        path.unlink()
        return pieces + list(index_in_turn(tasks[gone:]))

    return indexer


@pytest.mark.parametrize("when", WHEN)
def test_a_file_that_vanishes_while_it_is_indexed_is_missing_where_it_may_be(path, when):
    (path.parent / "b.csv").write_text(RECORD * 50)
    scan = listed(path.parent, ignoreMissingFiles=True)
    blocks = list(fill_index(scan.blocks(), scan.framing, scan.options, vanishing(path, when)))
    assert [block.first_record_start is None for block in blocks] == [True] * 7 + [False] * 4
    assert sum(batch.num_rows for block in blocks for batch in open_reader(scan.spec, block)) == 50


@pytest.mark.parametrize("when", WHEN)
def test_a_file_that_vanishes_while_it_is_counted_counts_nothing_where_it_may(path, when):
    (path.parent / "b.csv").write_text(RECORD * 50)
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        path.write_text(RECORD * 100)
        scan = listed(path.parent, ignoreMissingFiles=True, mode=mode)
        assert scan.count_with(8, vanishing(path, when)) == 50


@pytest.mark.parametrize("when", WHEN)
def test_a_file_that_vanishes_while_it_is_indexed_is_an_error_that_names_it(path, when):
    scan = listed(path)
    with pytest.raises(SourceMissingError, match=r"a\.csv"):
        list(fill_index(scan.blocks(), scan.framing, scan.options, vanishing(path, when)))


def test_with_onFileChange_ignore_what_is_there_now_is_indexed(path):  # noqa: N802 -- the option's name
    scan = listed(path, onFileChange="ignore")
    path.write_text(RECORD.replace("1", "2") * 100)
    assert [block.first_record_start for block in scan.plan()][:2] == [0, 210]
