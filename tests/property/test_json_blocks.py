"""JSON files, damaged ones too, give the same rows, rejects and ledger in blocks of any size."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import splitscan as ss
from splitscan.testing.scan_laws import check_block_law

from .test_json_laws import TEXTS

pytestmark = pytest.mark.usefixtures("short_looks")

SCHEMA = "a int, `b{` string, _corrupt_record string"


@settings(max_examples=settings().max_examples // 3)
@given(
    text=TEXTS,
    head=st.sampled_from(["", "[", "[\n ", "\ufeff\n[\n", "{}\n"]),
    block_bytes=st.integers(1, 30),
    read_bytes=st.integers(1, 40),
    max_record_bytes=st.sampled_from([1, 5, 12, 30, 1000]),
)
def test_blocks_give_what_one_pass_gives(
    text: str, head: str, block_bytes: int, read_bytes: int, max_record_bytes: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_bytes((head + text).encode())
        scan = ss.scan_json(
            str(path),
            SCHEMA,
            multi_line=True,
            read_bytes=read_bytes,
            max_record_bytes=max_record_bytes,
            metadata_columns=["record_offset", "record_length"],
        )
        check_block_law(scan, [block_bytes])
