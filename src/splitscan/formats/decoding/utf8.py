"""Records in UTF-8, whatever the encoding of their file."""

from __future__ import annotations

from collections.abc import Iterator

from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames


def records_of(data: memoryview, frames: Frames) -> Iterator[bytes]:
    """The bytes of each record."""
    for start, stop in zip(frames.starts.tolist(), frames.stops.tolist(), strict=True):
        yield bytes(data[start:stop])


def records_in_utf8(data: memoryview, frames: Frames, encoding: Encoding) -> Iterator[bytes]:
    """Each record in valid UTF-8; bytes that are not text in *encoding* become U+FFFD."""
    for record in records_of(data, frames):
        yield encoding.text(record).encode("utf-8")


def as_text(name: str) -> str:
    """Text that Arrow can hold: names of files may be no valid UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
