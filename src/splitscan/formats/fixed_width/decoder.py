"""Records whose columns have fixed places, by the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.contract import Fault, FaultTemplate
from splitscan.formats.decoding.parts import SPACE, PartsDecoder
from splitscan.formats.decoding.values import SHORT_RECORD, SHORT_WORDING
from splitscan.formats.fixed_width.options import Field, FixedWidthOptions
from splitscan.formats.framing.frames import Frames, records_in_utf8, records_of


@dataclass(frozen=True, kw_only=True)
class FixedWidthDecoder(PartsDecoder):
    """Decodes records whose columns have fixed places: characters of lines, bytes of records of a fixed length."""

    places: tuple[Field, ...]
    own: FixedWidthOptions

    def parts(self, data: memoryview, frames: Frames) -> tuple[list[pa.Array], dict[int, Fault]]:
        if self.own.record_length is None:
            records = pa.array(records_in_utf8(data, frames, self.encoding), pa.string())
            lengths = pc.utf8_length(records)
        else:
            records = pa.array(records_of(data, frames), pa.binary())
            lengths = pc.binary_length(records)
        faults = self._short(lengths.to_numpy(zero_copy_only=False), frames)
        columns = zip(self.fields, self.places, strict=True)
        return [self._text(records, column, place) for column, place in columns], faults

    def _short(self, lengths: npt.NDArray[np.int64], frames: Frames) -> dict[int, Fault]:
        """Records that end before a column of the layout begins, whichever columns are asked for."""
        faults = {record: SHORT_WORDING.fault(record) for record in frames.malformed}
        last = self.own.last
        for record in np.flatnonzero(lengths < last.start).tolist():
            faults.setdefault(record, missing_places(last).fault(record, int(lengths[record])))
        return faults

    def _text(self, records: pa.Array, column: pa.Field, place: Field) -> pa.Array:
        """Text in the places of a column; null where that is blank."""
        if self.own.record_length is None:
            text = pc.utf8_slice_codeunits(records, place.start - 1, place.stop)
        else:
            text = pc.binary_slice(records, place.start - 1, place.stop)
            if pa.types.is_binary(column.type):
                return pc.if_else(pc.equal(text, b""), None, text)
            text = pa.array([self.encoding.text(each) for each in text.to_pylist()], pa.string())
        shown = pc.utf8_ltrim(text, SPACE) if self.own.ignore_leading_white_space else text
        shown = pc.utf8_rtrim(shown, SPACE) if self.own.ignore_trailing_white_space else shown
        return self.without_nulls(text, shown)


def missing_places(last: Field) -> FaultTemplate:
    """Fault of records that end before the last column begins."""
    return FaultTemplate(
        SHORT_RECORD, "the record ends at place ", f", and column {last.name!r} begins at {last.start}"
    )
