"""Columns of fixed width as a format: the user says where each is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.blocks import FileMetadata
from splitscan.errors import UsageError, Where
from splitscan.formats.column_rules import filled, own_rules_of, rescue_for, rules_of_format
from splitscan.formats.contract import NOTHING, FoundSchema, Heads, PlainFormat, Projection
from splitscan.formats.decoding.contract import BAD_VALUE, Decoded, Decoder, Fault, Faults, bad_value
from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.formats.decoding.rescue import Rescue, json_texts, rescued_column
from splitscan.formats.decoding.values import SHORT_RECORD, SHORT_WORDING
from splitscan.formats.fixed.framing import FixedFormat, FixedTextFormat
from splitscan.formats.fixed_width.options import Field, FixedWidthOptions
from splitscan.formats.framing.contract import Preamble, RecordFormat, TextFormat
from splitscan.formats.framing.encodings import Encoding, resolve_encoding
from splitscan.formats.framing.frames import Frames, records_in_utf8, records_of
from splitscan.formats.text.delimited import line_format
from splitscan.options import ReadOptions

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

    def _rules(self, column: pa.Field) -> Rules:
        return self.own_rules.get(column.name, self.rules)

    def _short(self, lengths: npt.NDArray[np.int64], frames: Frames) -> dict[int, Fault]:
        """Records that end before a column of the layout begins, whichever columns are asked for."""
        faults = {record: SHORT_WORDING.fault(record) for record in frames.malformed}
        last = max(self.own.layout, key=lambda each: each.start)
        for record in np.flatnonzero(lengths < last.start).tolist():
            reason = f"the record ends at place {lengths[record]}, and column {last.name!r} begins at {last.start}"
            faults.setdefault(record, Fault(record, SHORT_RECORD, reason, True))
        return faults

    def _text(self, records: pa.Array, column: pa.Field, place: Field) -> pa.Array:
        """What stands in the places of a column; null where that is blank."""
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
        written = self._rules(column).written(column.type, own=column.name in self.own_rules)
        for record in np.flatnonzero(bad).tolist():
            reason = bad_value(column.name, text[record].as_py(), column.type) + written
            faults.setdefault(record, Fault(record, BAD_VALUE, reason, False))


class FixedWidth(PlainFormat[FixedWidthOptions]):
    """Lines, or records of a fixed length, whose columns are at fixed places."""

    options_class = FixedWidthOptions

    def framing(self, own: FixedWidthOptions) -> RecordFormat:
        """Line ends, or the length alone; then the records are text where no column is binary."""
        if own.record_length is not None:
            if any(pa.types.is_binary(kind) for kind in _columns_of(own).types):
                return FixedFormat(own.record_length)
            return FixedTextFormat(own.record_length, resolve_encoding(own.encoding))
        return line_format(own.line_sep, None, own.encoding)

    def decoder(self, own: FixedWidthOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """The columns of the layout that are wanted, by name."""
        format = preamble.format
        places = {each.name.lower(): each for each in own.layout}
        decoder = FixedWidthDecoder(
            encoding=format.encoding if isinstance(format, TextFormat) else resolve_encoding(own.encoding),
            fields=tuple(column.remove_metadata() for column in wanted.decoded),
            places=tuple(places[column.name.lower()] for column in wanted.decoded),
            own=own,
            rules=rules_of_format(wanted.options),
            own_rules=own_rules_of(wanted),
            rescue=rescue_for(wanted, file),
        )
        return filled(wanted, decoder)

    def check_schema(self, own: FixedWidthOptions, options: ReadOptions, fields: pa.Schema) -> None:
        """Every column is in the layout, and is one value."""
        places = {each.name.lower() for each in own.layout}
        for column in fields:
            if column.name.lower() in places and not pa.types.is_nested(column.type):
                continue
            unknown = column.name.lower() not in places
            raise UsageError(
                f"column {column.name!r} is not in option layout" if unknown else "a fixed-width column is one value",
                Where(column=column.name),
                seen=f"layout of {', '.join(each.name for each in own.layout)}" if unknown else str(column.type),
                fix="correct the schema or the layout",
                code="bad-schema",
            )

    def infer(self, own: FixedWidthOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        """The columns of the layout, with their types."""
        return FoundSchema(_columns_of(own), NOTHING)


def _columns_of(own: FixedWidthOptions) -> pa.Schema:
    return parse_ddl(", ".join(f"`{each.name.replace('`', '``')}` {each.type}" for each in own.layout))
