from __future__ import annotations

import hashlib

import pytest

from splitscan.content.storage import ContentDigest, digest_of, is_content_digest
from splitscan.errors import UsageError
from splitscan.testing.faults import MemorySource

ABC = {
    "blake3:": "blake3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
    "sha256:": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
}
ENGINES = {"kernel": "blake3:", "reference": "sha256:"}


def test_the_engine_decides_the_algorithm_of_new_digests(engine):
    digest = ContentDigest()
    digest.update(b"xabcx", 1, 3)
    digest.update(memoryview(b"xxc")[2:])
    digest.update(b"xx", 1, 1)
    assert digest.text == digest.text == ABC[ENGINES[engine]]
    assert is_content_digest(digest.text)


def test_a_digest_is_compared_by_its_own_algorithm(engine):
    source = MemorySource(b"abc")
    for name, expected in ABC.items():
        if name == "blake3:" and engine == "reference":
            with pytest.raises(UsageError, match=r"needs-kernel"):
                digest_of(source, 0, 3, expected)
        else:
            assert digest_of(source, 0, 3, expected) == expected
            assert digest_of(source, 0, 2, expected) != expected


def test_long_contents_are_hashed_in_pieces(engine):
    data = bytes(range(256)) * 40_000
    whole = ContentDigest()
    whole.update(data)
    assert digest_of(MemorySource(data), 0, len(data)) == whole.text
    if engine == "reference":
        assert whole.text == f"sha256:{hashlib.sha256(data).hexdigest()}"
