"""Encodings of several bytes for some characters, as tables of what Python's codec makes of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from splitscan.formats.framing.encodings import Encoding

_NOTHING, _REPLACEMENT = "\0", "\ufffd"
_LEADS, _TRAILS, _DIGITS = range(0x80, 0x100), range(0x21, 0x100), range(0x30, 0x3A)
_BEYOND = range(0x81, 0xFF)  # first and third of four bytes
_MOST_OF_FOUR = 39_420  # so many numbers of four bytes are of the first plane; later ones are counted from U+10000 on
_PARTS = range(0xA1, 0xD5)  # second bytes of the parts of a syllable


@lru_cache(maxsize=16)
def code_tables(encoding: Encoding) -> dict[str, Any]:
    """The characters of bytes beyond ASCII, by their number of bytes: JSON values, as the kernel is told them."""
    one = [text if text != _REPLACEMENT else _NOTHING for text in _texts(encoding, (bytes([lead]) for lead in _LEADS))]
    two, pairs = [], []
    for lead in (lead for lead, text in zip(_LEADS, one, strict=True) if text == _NOTHING):
        texts = list(_texts(encoding, (bytes([lead, trail]) for trail in _TRAILS)))
        known = [_NOTHING if text[0] == _REPLACEMENT else text for text in texts]
        pairs += [(lead, trail, text) for trail, text in zip(_TRAILS, known, strict=True) if len(text) > 1]
        if set(known) != {_NOTHING}:
            two.append((lead, "".join(text if len(text) == 1 else _NOTHING for text in known)))
    four = "".join(_single(text) for text in _texts(encoding, _four())) if encoding.longest_bytes == 4 else ""
    eight = list(_eight(encoding)) if encoding.longest_bytes == 8 else []
    return {"one": "".join(one), "two": two, "pairs": pairs, "four": four, "eight": eight}


def _four() -> Iterator[bytes]:
    """Sequences of four bytes by number, of the first plane."""
    for number in range(_MOST_OF_FOUR):
        rest, last = divmod(number, len(_DIGITS))
        rest, third = divmod(rest, len(_BEYOND))
        first, second = divmod(rest, len(_DIGITS))
        yield bytes([_BEYOND[first], _DIGITS[second], _BEYOND[third], _DIGITS[last]])


def _eight(encoding: Encoding) -> Iterator[tuple[list[int], int, str]]:
    """Syllables that are written by their parts: the bytes before the last one, its first value, characters."""
    for lead in _PARTS:
        for vowel in _PARTS:
            before = bytes([0xA4, 0xD4, 0xA4, lead, 0xA4, vowel, 0xA4])
            texts = _texts(encoding, (before + bytes([last]) for last in _PARTS))
            characters = "".join(_NOTHING if _REPLACEMENT in text else text for text in texts)
            if set(characters) != {_NOTHING}:
                yield list(before), _PARTS.start, characters


def _single(text: str) -> str:
    """The text, if it is one character; U+FFFD may be one."""
    return text if len(text) == 1 else _NOTHING


def _texts(encoding: Encoding, sequences: Iterable[bytes]) -> Iterator[str]:
    """The text of each of some bytes; what is no text in them takes nothing of what follows."""
    after = "\n" * encoding.longest_bytes
    data = b"".join(sequence + after.encode("ascii") for sequence in sequences)
    return iter(data.decode(encoding.codec, "replace").split(after)[:-1])
