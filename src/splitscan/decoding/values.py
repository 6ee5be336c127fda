"""Records that are one value: lines of text, fixed-length records, slices."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from splitscan.decoding.contract import Decoded, Fault
from splitscan.decoding.gather import gather
from splitscan.errors import InvariantError
from splitscan.framing.contract import Frames, RecordFormat
from splitscan.framing.encodings import Encoding

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
        if self.encoding.codec in {"utf-8", "ascii"}:
            column = gather(data, frames, pa.string())
            try:
                column.validate(full=True)
            except pa.ArrowInvalid:
                column = self._transcode(data, frames)
        else:
            column = self._transcode(data, frames)
        return Decoded([column], len(frames))

    def _transcode(self, data: memoryview, frames: Frames) -> pa.Array:
        text = bytes(data[int(frames.starts[0]) : frames.next_start]).decode(self.encoding.codec, "replace")
        utf8 = memoryview(text.encode("utf-8"))
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
