"""Columns that a file does not have, and values that stand where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.contract import Decoded, Decoder, Parsed, Parser
from splitscan.formats.framing.frames import Frames


@dataclass(frozen=True, slots=True)
class Filling:
    """How a column is delivered.

    Attributes:
        kind: Its type.
        source: Which of the decoded columns it is; ``None`` if the file does not have it: then all of it is *default*.
        default: What stands where there is no value; ``None`` for null.
        fills_nulls: Whether *default* also takes the place of nulls that the file has.
    """

    kind: pa.DataType
    source: int | None
    default: pa.Scalar | None = None
    fills_nulls: bool = False

    def fill(self, columns: Sequence[pa.Array], rows: int) -> pa.Array:
        """The column as it is delivered, one value per record."""
        if self.source is None:
            return pa.nulls(rows, self.kind) if self.default is None else pa.repeat(self.default, rows)
        column = columns[self.source]
        return pc.fill_null(column, self.default) if self.fills_nulls and column.null_count else column


@dataclass(frozen=True, slots=True)
class FillingDecoder:
    """A decoder of a file that has other columns than are wanted.

    Args:
        decoder: Gives the columns that the file has.
        fillings: One for each column to deliver, in order.
    """

    decoder: Decoder
    fillings: tuple[Filling, ...]

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records, and fill in what they do not have."""
        return self._fill(self.decoder.decode(data, frames))

    def parse(self, data: memoryview, *, stop: int, at_end: bool, max_record_bytes: int) -> Parsed | None:
        """Find and decode records, where the decoder does both, and fill in what they do not have."""
        if not isinstance(self.decoder, Parser):
            return None
        parsed = self.decoder.parse(data, stop=stop, at_end=at_end, max_record_bytes=max_record_bytes)
        return None if parsed is None else parsed._replace(decoded=self._fill(parsed.decoded))

    def _fill(self, decoded: Decoded) -> Decoded:
        columns = [filling.fill(decoded.columns, decoded.rows) for filling in self.fillings]
        return replace(decoded, columns=columns)
