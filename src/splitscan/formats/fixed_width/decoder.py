"""Records whose columns have fixed places, by the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.contract import BAD_VALUE, Decoded, Fault, Faults, FaultTemplate, bad_value
from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.formats.decoding.rescue import Rescue, json_texts, rescued_column
from splitscan.formats.decoding.values import SHORT_RECORD, SHORT_WORDING
from splitscan.formats.fixed_width.options import Field, FixedWidthOptions
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, records_in_utf8, records_of

_SPACE = bytes(range(0x21)).decode("ascii")


@dataclass(frozen=True)
class FixedWidthDecoder:
    """Decodes records whose columns have fixed places: characters of lines, bytes of records of a fixed length.

    Args:
        encoding: Of the file.
        fields: Columns to deliver, in order.
        places: Where each of them is.
        own: How texts are written, and which are null.
        rules: How times are written.
        own_rules: The same for columns that have a pattern of their own, by name.
        rescue: Where given, values that do not fit are kept, and are no faults.
    """

    encoding: Encoding
    fields: tuple[pa.Field, ...]
    places: tuple[Field, ...]
    own: FixedWidthOptions
    rules: Rules = field(default_factory=Rules)
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    rescue: Rescue | None = None

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a value that does not convert is null and reported, and so is a record that is too short."""
        if self.own.record_length is None:
            records = pa.array(records_in_utf8(data, frames, self.encoding), pa.string())
            lengths = pc.utf8_length(records)
        else:
            records = pa.array(records_of(data, frames), pa.binary())
            lengths = pc.binary_length(records)
        faults = self._short(lengths.to_numpy(zero_copy_only=False), frames)
        columns, unfit = [], {}
        for column, place in zip(self.fields, self.places, strict=True):
            text = self._text(records, column, place)
            values, bad = (text, None) if text.type == column.type else convert(text, column.type, self._rules(column))
            columns.append(values)
            if bad is not None and self.rescue is not None:
                unfit[column.name] = json_texts(pc.if_else(pa.array(bad), text, None))
            elif bad is not None:
                self._report(text, bad, column, faults)
        rescued = None
        if self.rescue is not None and self.rescue.wanted:
            rescued = rescued_column(unfit, {}, len(frames), self.rescue.path)
        return Decoded(columns, len(frames), Faults.of(faults.values()), rescued)

    def written(self, column: pa.Field) -> str:
        """Notation of a column's values, for faults."""
        return self._rules(column).written(column.type, own=column.name in self.own_rules)

    def _rules(self, column: pa.Field) -> Rules:
        return self.own_rules.get(column.name, self.rules)

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
        blank = pc.equal(pc.utf8_trim(text, _SPACE), "")
        if self.own.ignore_leading_white_space:
            text = pc.utf8_ltrim(text, _SPACE)
        if self.own.ignore_trailing_white_space:
            text = pc.utf8_rtrim(text, _SPACE)
        return pc.if_else(pc.or_(blank, pc.equal(text, self.own.null_value)), None, text)

    def _report(self, text: pa.Array, bad: npt.NDArray[np.bool_], column: pa.Field, faults: dict[int, Fault]) -> None:
        written = self.written(column)
        for record in np.flatnonzero(bad).tolist():
            reason = bad_value(column.name, text[record].as_py(), column.type) + written
            faults.setdefault(record, Fault(record, BAD_VALUE, reason, False))


def missing_places(last: Field) -> FaultTemplate:
    """Fault of records that end before the last column begins."""
    return FaultTemplate(
        SHORT_RECORD, "the record ends at place ", f", and column {last.name!r} begins at {last.start}"
    )
