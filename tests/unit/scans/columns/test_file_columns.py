"""What the columns of a file show of a path that holds a secret."""

import pytest

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.storage.contract import locate
from splitscan.reading.partitions import METADATA_TYPES, file_value, metadata_value

SECRET = "hunter2"


@pytest.mark.parametrize(
    "path", [f"https://h/d/a.csv?sig=x/{SECRET}.{SECRET}", f"/d/a.csv?x=1&token={SECRET}", f"s3://k:{SECRET}@b/d/a.csv"]
)
def test_no_column_and_no_repr_shows_a_secret_of_a_path(path):
    file = FileMetadata(path, 7, 0, "f", path.partition("/d/")[2])
    block = BlockMetadata(file, 0, 7, 0)
    names = [name for name in METADATA_TYPES if not name.startswith("record_")]
    shown = [repr(file), repr(block), *(metadata_value(name, block) for name in names), file_value("dir0", file)]
    assert SECRET not in str(shown)
    assert "***" in file_value("file_path", file)
    assert file_value("filename", file).startswith("a.csv")


def test_a_location_shows_no_secret():
    assert repr(locate("https://h/a.csv?sig=hunter2")) == "Location(scheme='https', path='https://h/a.csv?sig=***')"
