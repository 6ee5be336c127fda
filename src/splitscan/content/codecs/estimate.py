"""How long the content of a compressed file probably is: good enough to share it out, never to be believed."""

from __future__ import annotations

from splitscan.content.codecs.contract import Codec, FileBytes
from splitscan.content.codecs.damaged import DamagedStream
from splitscan.sizes import MIB

_SAMPLE_BYTES = 4 * MIB  # of content
_TRAILER_BYTES = 4  # in which gzip ends: the length of the last member's content, modulo 2**32


def estimate_content_bytes(file: FileBytes, codec: Codec, max_ratio: int) -> int:
    """Estimate the length of the content: by the ratio of the first 4 MiB, corrected by what the last bytes say.

    Content ends where damage begins: whoever reads it decides what that means.

    Raises:
        SourceError: If the file cannot be read.
    """
    stream = DamagedStream(file, codec, max_ratio=max_ratio)
    while stream.content_offset < _SAMPLE_BYTES:
        if not stream.read():
            return stream.content_offset
    guess = stream.content_offset * file.size_bytes // max(stream.fed_bytes, 1)
    return _nearest(guess, _length_in_trailer(file)) if codec.name == "gzip" else guess


def _length_in_trailer(file: FileBytes) -> int:
    trailer = file.read_at(max(file.size_bytes - _TRAILER_BYTES, 0), _TRAILER_BYTES)
    return int.from_bytes(trailer, "little")


def _nearest(guess: int, modulo_length: int) -> int:
    """The number nearest to *guess* that is *modulo_length* modulo 2**32, if it is anywhere near."""
    cycle = 1 << 32
    nearest = modulo_length + max(round((guess - modulo_length) / cycle), 0) * cycle
    return nearest if guess // 2 <= nearest <= guess * 2 else guess
