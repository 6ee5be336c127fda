"""What a record format of a user's own says of itself decides how its files are opened."""

import gzip

import pytest

import splitscan as ss
from splitscan.formats.text.delimited import line_format


class _Lines:
    """A format that is none of splitscan's, and says nothing of its text."""

    def __init__(self):
        self._lines = line_format()

    def __getattr__(self, name):
        if name.startswith("_") or name == "encoding":
            raise AttributeError(name)
        return getattr(self._lines, name)


class _Text(_Lines):
    """The same format, which says that it is text."""

    @property
    def encoding(self):
        return self._lines.encoding


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress(b"a\nb\n"))
    return path


def test_files_of_text_are_decompressed_for_a_format_of_the_users_own(packed):
    assert ss.scan(packed, format=_Text()).to_arrow()["value"].to_pylist() == [b"a", b"b"]


def test_a_format_that_does_not_say_that_it_is_text_gets_the_bytes_of_the_file(packed):
    values = ss.scan(packed, format=_Lines()).to_arrow()["value"].to_pylist()
    assert b"".join(values).startswith(packed.read_bytes()[:3])
