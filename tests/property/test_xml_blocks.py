"""XML files, damaged ones too, give the same rows, rejects and ledger in blocks of any size."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import splitscan as ss
from splitscan.formats.framing.encodings import Encoding, resolve_encoding
from splitscan.formats.xml.framing import XmlFormat
from splitscan.testing import check_summary_law
from splitscan.testing.scan_laws import check_block_law

pytestmark = pytest.mark.usefixtures("short_looks")

WORDS = st.sampled_from(
    ["<r>", "</r>", "</r ", "<r a='1'", "/>", ">", "<r>1</r>", "<r>1</r>", "<!--", "-->", "--", "<![CDATA[", "]]>",
     "<?", "?>", "<", "'", '"', "<a ", "<!", "[", "x", " ", "\u2603"]
)  # fmt: skip
TEXTS = st.lists(WORDS, max_size=25).map("".join)
SHORT = st.lists(WORDS, max_size=10).map("".join)
ENCODINGS = st.sampled_from(["UTF-8", "UTF-16LE", "UTF-32BE"]).map(resolve_encoding)


@settings(max_examples=settings().max_examples // 3)
@given(
    text=TEXTS,
    encoding=st.sampled_from(["UTF-8", "UTF-8", "UTF-16"]),
    block_bytes=st.integers(1, 30),
    read_bytes=st.integers(1, 40),
    max_record_bytes=st.sampled_from([1, 5, 12, 30, 1000]),
)
def test_blocks_give_what_one_pass_gives(
    text: str, encoding: str, block_bytes: int, read_bytes: int, max_record_bytes: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.xml"
        path.write_text(text, encoding=encoding)
        scan = ss.scan_xml(
            str(path),
            "r",
            "_VALUE int, _corrupt_record string",
            encoding=encoding,
            read_bytes=read_bytes,
            max_record_bytes=max_record_bytes,
            metadata_columns=["record_offset", "record_length"],
        )
        check_block_law(scan, [block_bytes])


@given(first=TEXTS, second=TEXTS, encoding=ENCODINGS)
def test_summaries_compose_and_agree_with_reading(first: str, second: str, encoding: Encoding) -> None:
    format = XmlFormat("r", encoding)
    check_summary_law(format, encoding.encode(first), encoding.encode(second))


@pytest.mark.slow
@given(comments=st.lists(SHORT, max_size=3), rows=st.integers(0, 2), limit=st.sampled_from([24, 60]))
def test_what_lies_between_records_may_be_of_any_length(comments: list[str], rows: int, limit: int) -> None:
    gaps = "".join(
        f"<!--{text.replace('-->', '')}--> <![CDATA[{text.replace(']]>', '')}]]> <?p {text.replace('?>', '')}?>"
        for text in comments
    )
    data = gaps.join(f"<r>{number}</r>" for number in range(rows + 1)) + gaps
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.xml"
        path.write_text(data, encoding="utf-8")
        rejects: list[ss.Reject] = []
        scan = ss.scan_xml(str(path), "r", "_VALUE int", max_record_bytes=limit, read_bytes=7)
        found = [row["_VALUE"] for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
        assert (found, rejects) == (list(range(rows + 1)), [])
        check_block_law(scan, [3, 50])
