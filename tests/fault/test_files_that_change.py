"""Files that change, shrink, grow, vanish or are replaced between planning, opening and reading."""

import os
import uuid

import fsspec
import pytest

from splitscan.content.storage import check_unchanged, open_source
from splitscan.errors import SourceChangedError, SourceMissingError
from splitscan.options.files import FileOptions
from splitscan.scans.cutting import split_file
from splitscan.scans.listing import list_files

pytestmark = pytest.mark.fault

BEFORE = b"0123456789" * 100


class _Place:
    """A file that the test can plan, overwrite and delete, on any storage."""

    def __init__(self, path, storage_options):
        self.path, self.storage_options = path, storage_options
        self._seconds = 1_000_000_000

    def write(self, data):
        if "://" in self.path:
            fsspec.filesystem(self.path.partition(":")[0], **self.storage_options).pipe_file(self.path, data)
        else:
            replacement = self.path + ".new"
            with open(replacement, "wb") as output:  # noqa: PTH123
                output.write(data)
            self._seconds += 1  # some kernels tell times that are less than a few milliseconds apart by no difference
            os.utime(replacement, (self._seconds, self._seconds))
            os.replace(replacement, self.path)  # noqa: PTH105

    def delete(self):
        if "://" in self.path:
            fsspec.filesystem(self.path.partition(":")[0], **self.storage_options).rm_file(self.path)
        else:
            os.unlink(self.path)  # noqa: PTH108

    def plan(self):
        (file,) = list_files(self.path, FileOptions(storage_options=self.storage_options))
        return file

    def open(self):
        return open_source(self.path, self.storage_options)


@pytest.fixture(params=["local", "memory", "s3"])
def place(request, tmp_path):
    if request.param == "local":
        found = _Place(str(tmp_path / "a.csv"), {})
    elif request.param == "memory":
        found = _Place(f"memory://{uuid.uuid4().hex}/a.csv", {})
    else:
        found = _Place(f"{request.getfixturevalue('s3_root')}/a.csv", request.getfixturevalue("s3_options"))
    found.write(BEFORE)
    return found


@pytest.mark.parametrize(
    "after", [BEFORE + b"more", BEFORE[:-1], b"", b"9876543210" * 100], ids=["grown", "cut", "emptied", "rewritten"]
)
def test_a_file_that_changed_since_it_was_planned_is_refused_on_opening(place, after):
    file = place.plan()
    place.write(after)
    source = place.open()
    with pytest.raises(SourceChangedError, match=r"\[source-changed\]") as caught:
        check_unchanged(file, source)
    assert place.path in str(caught.value)
    source.close()


def test_an_unchanged_file_passes_before_and_after_reading(place):
    file = place.plan()
    source = place.open()
    check_unchanged(file, source)
    assert b"".join(source.read_at(b.start, b.length_bytes) for b in split_file(file, 64)) == BEFORE
    source.close()
    again = place.open()
    check_unchanged(file, again)
    again.close()


def test_a_change_during_the_read_is_seen_by_opening_again(place):
    file = place.plan()
    source = place.open()
    check_unchanged(file, source)
    source.read_at(0, 10)
    place.write(BEFORE[::-1])
    source.close()
    again = place.open()
    with pytest.raises(SourceChangedError):
        check_unchanged(file, again)
    again.close()


def test_a_file_that_vanished_is_told_on_opening(place):
    file = place.plan()
    place.delete()
    with pytest.raises(SourceMissingError, match="ignoreMissingFiles") as caught:
        open_source(file.path, place.storage_options)
    assert place.path in str(caught.value)


def test_blocks_planned_before_a_change_have_other_identities_than_those_after(place):
    before = {block.block_id for block in split_file(place.plan(), 100)}
    place.write(BEFORE[::-1])
    assert before.isdisjoint(block.block_id for block in split_file(place.plan(), 100))


def test_a_local_file_replaced_while_open_is_read_as_it_was(tmp_path):
    place = _Place(str(tmp_path / "a.csv"), {})
    place.write(BEFORE)
    source = place.open()
    place.write(b"short")
    assert source.read_at(0, 2000) == BEFORE  # the descriptor still holds the old file
    place.delete()
    assert source.read_at(990, 100) == BEFORE[990:]
    source.close()


def test_an_object_cut_while_open_is_an_error_and_never_a_silent_end(place):
    if "://" not in place.path:
        source = place.open()
        os.truncate(place.path, 500)
    else:
        source = place.open()
        place.write(BEFORE[:500])
    with pytest.raises(SourceChangedError, match=r"byte 500"):
        source.read_at(400, 200)
    source.close()
