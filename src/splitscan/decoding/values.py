"""Records that are one value: lines of text, fixed-length records, slices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from splitscan.decoding.contract import Decoded, Fault
from splitscan.decoding.gather import gather
from splitscan.decoding.utf8 import is_utf8, transcode
from splitscan.errors import InvariantError
from splitscan.framing.contract import RecordFormat
from splitscan.framing.encodings import Encoding
from splitscan.framing.frames import Frames

_REASONS = {"short-record": "the file ends inside the record"}


@dataclass(frozen=True)
class TextDecoder:
    """Lines as strings.

    Args:
        encoding: Of the file.
        twin: The same format for the same text in UTF-8.
        wanted: Whether the column is asked for at all.

    Guarantees: bytes that are not text in *encoding* become U+FFFD; nothing else is changed.
    """

    encoding: Encoding
    twin: RecordFormat
    wanted: bool = True

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode lines."""
        if not self.wanted:
            return Decoded([], len(frames))
        is_utf8_already = is_utf8(data) if self.encoding.codec == "utf-8" else self._is_ascii(data)
        column = gather(data, frames, pa.string()) if is_utf8_already else self._transcode(data, frames)
        return Decoded([column], len(frames))

    def _is_ascii(self, data: memoryview) -> bool:
        return self.encoding.unit_bytes == 1 and bool((np.frombuffer(data, np.uint8) < 0x80).all())

    def _transcode(self, data: memoryview, frames: Frames) -> pa.Array:
        utf8 = transcode(data, frames, self.encoding)
        again = self.twin.frame(utf8, at_end=True)
        if len(again) != len(frames):
            raise InvariantError(
                "transcoding must not change the number of records",
                seen=f"{len(frames)} records in {self.encoding.name}, {len(again)} in UTF-8",
            )
        return gather(utf8, again, pa.string())


@dataclass(frozen=True)
class BinaryDecoder:
    """Records as they are."""

    wanted: bool = True

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a short last one is delivered and reported."""
        faults = [
            Fault(index, code, _REASONS.get(code, code), True) for index, code in sorted(frames.malformed.items())
        ]
        columns = [gather(data, frames, pa.binary())] if self.wanted else []
        return Decoded(columns, len(frames), faults)
