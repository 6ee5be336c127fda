"""The kernel reads every sequence of bytes as Python's codecs of several bytes for some characters do."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.engine import kernel
from splitscan.formats.framing.encodings import MULTI_BYTE_CODECS, resolve_encoding

pytestmark = pytest.mark.skipif(kernel() is None, reason="there is no kernel to compare")

LINES_OF_TEXT = 20_000  # or it would be no file of text
BYTES = [byte for byte in range(256) if byte not in b"\r\n"]


def check_texts(path: Path, codec: str, sequences: Iterable[bytes]) -> None:
    """Each of some bytes without line ends is the same text in the kernel and in Python."""
    encoding = resolve_encoding(codec)
    lines = [b"text"] * LINES_OF_TEXT + list(sequences)
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = ss.scan_text(path, encoding=codec, blockBytes="1g").to_arrow()["value"].to_pylist()
    after = b"\n" * encoding.longest_bytes
    expected = (after.join(lines) + after).decode(encoding.codec, "replace").split(after.decode())[:-1]
    assert found == expected
    assert expected[-1000:] == [encoding.text(line) for line in lines[-1000:]]


@pytest.mark.thin(3)
@pytest.mark.parametrize("codec", MULTI_BYTE_CODECS)
def test_all_pairs_and_many_random_bytes_are_read_as_by_python(tmp_path: Path, codec: str) -> None:
    draw = random.Random(codec)
    likely = [*range(0x30, 0x3A), *range(0x81, 0xFF), 0xA4, 0xD4]
    check_texts(
        tmp_path / "a.txt",
        codec,
        [
            *(bytes([byte]) for byte in BYTES),
            *(bytes(pair) for pair in itertools.product(range(0x80, 0x100), BYTES)),
            *(bytes(draw.choices(BYTES, k=draw.randint(1, 12))) for _ in range(20_000)),
            *(bytes(draw.choices(likely, k=draw.randint(1, 12))) for _ in range(20_000)),
        ],
    )


@pytest.mark.slow
def test_all_characters_of_four_bytes_are_read_as_by_python(tmp_path: Path) -> None:
    digits, beyond = range(0x30, 0x3A), range(0x81, 0xFF)
    check_texts(tmp_path / "a.txt", "gb18030", map(bytes, itertools.product(beyond, digits, beyond, digits)))


def test_all_syllables_that_are_written_by_their_parts_are_read_as_by_python(tmp_path: Path) -> None:
    parts = [*range(0xA0, 0xD8), 0x21]
    sequences = itertools.product(b"\xa4", b"\xd4", b"\xa4", parts, b"\xa4", parts, b"\xa4\xa5", parts)
    check_texts(tmp_path / "a.txt", "euc_kr", map(bytes, sequences))
