"""Rows that name files: what they pin, and what a file that has changed since does."""

import datetime as dt
import zipfile

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

import splitscan as ss
from splitscan.blocks import FileMetadata
from splitscan.errors import UsageError
from splitscan.formats.registry import parse_options
from splitscan.spark.block_rows import pin_columns, read_path_rows
from splitscan.spark.operators import split_path

OPTIONS = parse_options("slices", {"block_size": 4}, "split_files without a format")


def test_paths_alone_are_paths():
    batch = pa.record_batch({"path": ["a", None]})
    assert list(read_path_rows(batch, pinned=False)) == ["a", None]


def test_pins_make_files():
    moment = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    batch = pa.record_batch(
        {
            "path": ["/in/a", None],
            "file_size": [9, None],
            "fingerprint": ["f", None],
            "file_modification_time": [moment, None],
        }
    )
    assert list(read_path_rows(batch, pinned=True)) == [FileMetadata("/in/a", 9, 1_000_000, "f", "a"), None]
    (file, _) = read_path_rows(batch.select(["path", "file_size", "fingerprint"]), pinned=True)
    assert file.modified_us == 0


@pytest.mark.parametrize(("size", "fingerprint"), [(None, "f"), (-1, "f"), (3, None), (3, "")])
def test_half_a_pin_is_refused(size, fingerprint):
    batch = pa.record_batch(
        {
            "path": ["/in/a"],
            "file_size": pa.array([size], pa.int64()),
            "fingerprint": pa.array([fingerprint], pa.string()),
        }
    )
    with pytest.raises(UsageError, match=r"(?s)\[bad-path\].*/in/a"):
        list(read_path_rows(batch, pinned=True))


def test_columns_that_pin_must_be_there():
    assert pin_columns(["path", "fingerprint", "file_size"]) == ("file_size", "fingerprint")
    assert pin_columns(["file_modification_time", "fingerprint", "file_size"])[2] == "file_modification_time"
    with pytest.raises(UsageError, match="no fingerprint in path, file_size"):
        pin_columns(["path", "file_size"])


def test_a_pinned_file_gives_the_same_blocks_whatever_happens_to_it(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"a\nb\nc\nd\ne\n")
    (file,) = ss.scan_text(path).files()
    before = list(split_path(file, OPTIONS))
    assert [(block.start, block.stop) for block in before] == [(0, 4), (4, 8), (8, 10)]
    path.write_bytes(b"another content, and longer")
    assert list(split_path(file, OPTIONS)) == before
    path.unlink()
    assert list(split_path(file, OPTIONS)) == before


def test_a_pinned_file_lies_below_the_roots(tmp_path):
    file = FileMetadata(str(tmp_path / "a"), 3, 0, "f", "a")
    assert list(split_path(file, OPTIONS, roots=(str(tmp_path),)))
    with pytest.raises(UsageError, match="path-escapes"):
        list(split_path(file, OPTIONS, roots=(str(tmp_path / "in"),)))


@pytest.mark.parametrize(("method", "count"), [(zipfile.ZIP_STORED, 10), (zipfile.ZIP_DEFLATED, 1)])
def test_without_a_format_a_compressed_member_of_an_archive_is_one_block(tmp_path, method, count):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", b"0123456789" * 4, method)
    options = parse_options("slices", {"block_size": 4, "archive_path_filter": "*"}, "split_files without a format")
    assert len(list(split_path(str(tmp_path), options))) == count
