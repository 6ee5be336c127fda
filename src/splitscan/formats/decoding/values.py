"""Records that are one value: lines of text, fixed-length records, slices."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from splitscan.formats.decoding.contract import Decoded, Fault
from splitscan.formats.decoding.utf8 import records_of
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames

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
