"""Records that are one value: lines, fixed-length records, slices; records in UTF-8 whatever their encoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from splitscan.formats.decoding.contract import Decoded, Fault
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


SHORT_RECORD = "short-record"


@dataclass(frozen=True)
class TextDecoder:
    """Lines as strings.

    Args:
        encoding: Of the file.
        wanted: Whether the column is asked for at all.

    Guarantees: bytes that are not text in *encoding* become U+FFFD; nothing else is changed.
    """

    encoding: Encoding
    wanted: bool = True

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode lines."""
        if not self.wanted:
            return Decoded([], len(frames))
        texts = [self.encoding.text(record) for record in records_of(data, frames)]
        return Decoded([pa.array(texts, pa.string())], len(frames))


@dataclass(frozen=True)
class BinaryDecoder:
    """Records as they are."""

    wanted: bool = True

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a short last one is delivered and reported."""
        faults = [
            short_record(index) if code == SHORT_RECORD else Fault(index, code, code, True)
            for index, code in sorted(frames.malformed.items())
        ]
        columns = [pa.array(records_of(data, frames), pa.binary())] if self.wanted else []
        return Decoded(columns, len(frames), faults)


def short_record(record: int) -> Fault:
    """The fault of a last record that the file cuts off."""
    return Fault(record, SHORT_RECORD, "the file ends inside the record", True)
