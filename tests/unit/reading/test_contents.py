"""What is kept of a compressed file once its content was read to the end."""

import gzip
import os
from contextlib import closing
from dataclasses import replace

import pytest

from splitscan.blocks import BlockMetadata, Compression
from splitscan.content.kept import SeekStore
from splitscan.content.storage import open_source
from splitscan.formats.text.lines import LineFormat
from splitscan.options import FileOptions
from splitscan.reading.contents import open_content
from splitscan.scans.listing import list_files

MEMBERS = [b"a\nb\n", b"c\n", b"d\ne"]
CONTENT = b"".join(MEMBERS)


@pytest.mark.parametrize(
    ("planned", "is_kept"),
    [
        (Compression("gzip"), True),  # every task decompresses it: the next scan need not
        (Compression("gzip", len(CONTENT)), False),  # its members were known
        (None, False),  # short enough to be read as a whole
    ],
)
def test_the_members_of_a_divided_file_are_kept_for_the_next_scan(tmp_path, monkeypatch, planned, is_kept):
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "a.gz"
    path.write_bytes(b"".join(map(gzip.compress, MEMBERS)))
    os.utime(path, (10**9, 10**9))  # so old that its fingerprint is believed
    (file,) = list_files(str(path), FileOptions())
    block = BlockMetadata(replace(file, compression=planned), 0, file.size_bytes, 0)
    with closing(open_content(block, FileOptions(), LineFormat())) as content:
        assert content.read_at(0, 100) == CONTENT
    with closing(open_source(file.path, {})) as source:
        kept = SeekStore().load(source, file, "gzip")
    assert ([] if kept is None else [point.content_offset for point in kept.points]) == [0, 4, 6] * is_kept
