"""Records by the kernel: columns and faults as Python knows them, and what it leaves to the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.contract import Decoded, Decoder, Fault, LateFaults, Parsed
from splitscan.formats.decoding.values import records_in_utf8
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, as_bytes, frames_of, native_charset

_NO_LIMIT = (1 << 62) - 1


class NativeFault(NamedTuple):
    """A fault as the kernel reports it.

    Attributes:
        record: Index of the record.
        code: Number of the reason.
        column: Name of the column whose value it is, or empty.
        seen: What was seen.
        kind: Spark's name of the type that was expected, or empty.
    """

    record: int
    code: int
    column: str
    seen: str
    kind: str


Describe = Callable[[NativeFault], Fault]
Finish = Callable[[Sequence[pa.Array], Any], Sequence[pa.Array]]


@dataclass(frozen=True)
class NativeDecoder:
    """Decodes the records of one file by the kernel.

    Args:
        parser: The kernel's parser of the format, for these columns.
        reference: Decodes the records that the kernel leaves undecided, to the same columns.
        encoding: Of the file.
        describe: Says what is wrong with a record.
        malformed_code: Why records are malformed that are.
        rescues: Whether the last column is what does not fit.
        reads_raw: Whether the parser finds records in the encoding of the file, and converts them itself.
        finish: What is still to be done to the columns, given the numbers of fields of odd records.

    Thread safety: immutable; calls run beside each other.
    """

    parser: Any
    reference: Decoder
    encoding: Encoding
    describe: Describe
    malformed_code: str = ""
    rescues: bool = False
    reads_raw: bool = False
    finish: Finish | None = None

    def parse(self, data: memoryview, *, stop: int, at_end: bool, max_record_bytes: int) -> Parsed | None:
        """Find and decode the records that start before *stop*, in one go.

        Returns:
            ``None`` if they must be found before they can be decoded: they have to be written in UTF-8 first.
        """
        if not (self.reads_raw or self.encoding.codec == "utf-8" or self._is_ascii(data)):
            return None
        whole, start, end = as_bytes(data)
        found = self.parser.parse(whole, start, end, start + stop, at_end, _NO_LIMIT, max_record_bytes)
        frames = frames_of(found.starts, found.stops, found.malformed, found.next_start, self.malformed_code)
        return Parsed(frames, self._decoded(found, data, frames), found.stopped == "long")

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records that were found before."""
        found = self.parser.parse_framed(*self._in_utf8(data, frames))
        return self._decoded(found, data, frames)

    def _in_utf8(self, data: memoryview, frames: Frames) -> tuple[bytes, bytes, bytes]:
        """The records in UTF-8: bytes, where each starts, and where each stops."""
        whole, offset, _ = as_bytes(data)
        spans = (frames.starts + offset).tobytes(), (frames.stops + offset).tobytes()
        if self.encoding.codec == "utf-8":
            return whole, *spans
        charset = native_charset(self.encoding)
        if charset is not None:
            in_utf8: tuple[bytes, bytes, bytes] = charset.transcode(whole, *spans)
            return in_utf8
        records = list(records_in_utf8(data, frames, self.encoding))
        lengths = np.array([len(record) for record in records], dtype=np.int64)
        stops = np.cumsum(lengths + 1) - 1
        return b"\n".join([*records, b""]), (stops - lengths).tobytes(), stops.tobytes()

    def _is_ascii(self, data: memoryview) -> bool:
        return self.encoding.unit_bytes == 1 and bytes(data).isascii()

    def _decoded(self, found: Any, data: memoryview, frames: Frames) -> Decoded:
        batch = pa.record_batch(found.batch)
        columns: list[pa.Array] = batch.columns
        if self.finish is not None:
            columns = list(self.finish(columns, found.counts))
        rescued = columns.pop() if self.rescues else None
        decoded = Decoded(
            columns, found.rows, LateFaults(found.faults, lambda raw: self.describe(NativeFault(*raw))), rescued
        )
        return self._decide(decoded, found.undecided, data, frames) if found.undecided else decoded

    def _decide(self, decoded: Decoded, undecided: list[int], data: memoryview, frames: Frames) -> Decoded:
        """Put in the records that only the reference can read."""
        where = np.array(undecided, dtype=np.int64)
        malformed = {
            number: frames.malformed[record] for number, record in enumerate(undecided) if record in frames.malformed
        }
        some = Frames(frames.starts[where], frames.stops[where], frames.next_start, malformed)
        read = self.reference.decode(data, some)
        faults = {fault.record: fault for fault in decoded.faults}
        faults |= {undecided[fault.record]: fault._replace(record=undecided[fault.record]) for fault in read.faults}
        order = np.arange(decoded.rows)
        order[where] = decoded.rows + np.arange(len(where))
        spliced = [_splice(one, other, order) for one, other in zip(decoded.columns, read.columns, strict=True)]
        rescued = decoded.rescued
        if rescued is not None and read.rescued is not None:
            rescued = _splice(rescued, read.rescued, order)
        return replace(decoded, columns=spliced, faults=[faults[i] for i in sorted(faults)], rescued=rescued)


def _splice(column: pa.Array, others: pa.Array, order: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
    return pc.take(pa.concat_arrays([column, others.cast(column.type)]), pa.array(order))
