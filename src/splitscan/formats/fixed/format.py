"""Pieces of files as formats: records of a fixed length, slices, and columns at fixed places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.blocks import FileMetadata
from splitscan.errors import bad_option
from splitscan.formats.column_rules import (
    block_fields,
    check_placed,
    decoding_of,
    filled,
    spelled_rescue,
    written_of,
)
from splitscan.formats.contract import (
    NOTHING,
    BlockSpelling,
    Format,
    FoundSchema,
    Heads,
    Projection,
    check_one_value,
    one_value,
)
from splitscan.formats.decoding.contract import Decoder, Fault, FaultTemplate
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.formats.decoding.values import SHORT_WORDING, SPACE, PartsDecoder, ValueDecoder
from splitscan.formats.fixed.framing import FixedFormat, SliceFormat
from splitscan.formats.framing.contract import SHORT_RECORD, Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import Frames, records_in_utf8, records_of
from splitscan.formats.text.lines import line_format
from splitscan.options import ReadOptions
from splitscan.options.read import RecordOptions, TypedOptions, line_separator
from splitscan.options.table import ANY_TEXT, FLAG, OptionKind, ValueRefusedError, option, show_text, size, whole
from splitscan.sizes import MIB

# ---------------------------------------------------------------- records that are one value


_SLICE_BYTES = 1 * MIB


@dataclass(frozen=True, slots=True)
class FixedOptions(RecordOptions):
    """How a file of equally long records is cut."""

    record_length: int = option(whole(1), "Bytes in each record.")

    @property
    def fixed_length(self) -> tuple[str, int]:
        return "recordLength", self.record_length


@dataclass(frozen=True, slots=True)
class SlicesOptions(RecordOptions):
    """How a file is cut into slices of bytes that have no meaning as records."""

    in_messages: ClassVar[str] = "raw"

    slice_bytes: int = option(size(), "Bytes in each slice.", _SLICE_BYTES, "sliceBytes", name="sliceSize")

    @property
    def fixed_length(self) -> tuple[str, int]:
        return "sliceSize", self.slice_bytes

    @property
    def about_files(self) -> str | None:
        """A slice is cut out of a file; what comes as a value of its own is not cut."""
        return None if self.slice_bytes == _SLICE_BYTES else "sliceSize"


class Fixed(Format[RecordOptions]):
    """Records of a fixed length; a shorter rest at the end of a file is a broken record."""

    options_class: type[RecordOptions] = FixedOptions
    format_class = FixedFormat

    def framing(self, own: RecordOptions) -> RecordFormat:
        return self.format_class(_length(own))

    def decoder(self, own: RecordOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        return ValueDecoder(wanted=bool(wanted.validated))

    def block_spelling(self, own: RecordOptions, wanted: Projection) -> BlockSpelling:
        spelled = {"record_length": _length(own), "short_is_broken": self.format_class.rest_is_a_fault}
        return BlockSpelling({"fixed": spelled}, block_fields(wanted))

    def check_schema(self, own: RecordOptions, options: ReadOptions, fields: pa.Schema) -> None:
        check_one_value(fields, [pa.binary()])

    def infer(self, own: RecordOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        return one_value(pa.binary())


class Slices(Fixed):
    """Slices of any file; the last one may be shorter."""

    options_class = SlicesOptions
    format_class = SliceFormat


def _length(own: RecordOptions) -> int:
    return 0 if own.fixed_length is None else own.fixed_length[1]


# ---------------------------------------------------------------- columns of fixed width: the user says where each is


_FIX = "write name start length [type], ... such as 'id 1 5 int, name 6 20'; the first place of a record is 1"
_ENTRY = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<name>[^\s`,]+))\s+(?P<start>[0-9]{1,18})\s+(?P<length>[0-9]{1,18})"
    r"(?:\s+(?P<type>[A-Za-z_]\w*(?:\s*\([\s0-9,]*\))?))?\s*(?:,|\Z)"
)
_NUMBER = re.compile(r"[+-]?\.?\d[\d.,eE+-]*")
_LOOKED_AT, _LEAST_BELOW = 20, 3  # lines below the first


class Field(NamedTuple):
    """Places of a column.

    Attributes:
        start: Its first place; the first of a record is 1.
        type: Its type, as in DDL.
    """

    name: str
    start: int
    length: int
    type: str = "string"

    @property
    def stop(self) -> int:
        """The last place."""
        return self.start + self.length - 1


def _parse_layout(value: Any) -> tuple[Field, ...]:
    fields = tuple(_written(value) if isinstance(value, str) else _listed(value))
    names = [field.name.lower() for field in fields]
    if not fields or len(set(names)) < len(names) or any(field.start < 1 or field.length < 1 for field in fields):
        raise ValueRefusedError(_FIX)
    return fields


def _written(value: str) -> Iterator[Field]:
    position = 0
    while position < len(value.rstrip()):
        entry = _ENTRY.match(value, position)
        if entry is None:
            raise ValueRefusedError(_FIX)
        name = entry["name"] or entry["quoted"].replace("``", "`")
        yield Field(name, int(entry["start"]), int(entry["length"]), entry["type"] or "string")
        position = entry.end()


def _listed(value: Any) -> Iterator[Field]:
    if not isinstance(value, Sequence):
        raise ValueRefusedError(_FIX)
    for each in value:
        parts = tuple(each) if isinstance(each, Sequence) and not isinstance(each, str) else ()
        if not 3 <= len(parts) <= 4 or [type(part) for part in parts] != [str, int, int, str][: len(parts)]:
            raise ValueRefusedError(_FIX)
        yield Field(*parts)


def _show_layout(fields: tuple[Field, ...]) -> str:
    quoted = (f"`{each.name.replace('`', '``')}` {each.start} {each.length} {each.type}" for each in fields)
    return show_text(", ".join(quoted))


_LAYOUT = OptionKind(
    "layout",
    "name, start, length and type of each column, as in 'id 1 3 int, city 4 5'",
    _parse_layout,
    _show_layout,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWidthOptions(TypedOptions):
    """Options of the places of columns and their notation."""

    ignores_case: ClassVar[bool] = True
    says_columns: ClassVar[bool] = True

    layout: tuple[Field, ...] = option(
        _LAYOUT, "Columns as `name start length type, ...`; places count from 1, types are DDL's."
    )
    record_length: int | None = option(
        whole(1), "Bytes in each record, where records are no lines; places are bytes then.", None
    )
    line_sep: str | None = line_separator()
    null_value: str = option(ANY_TEXT, "Text of a null, beside blank ones.", "")
    ignore_leading_white_space: bool = option(FLAG, "Removes white space before values.", True)
    ignore_trailing_white_space: bool = option(FLAG, "Removes white space after values.", True)

    @property
    def last(self) -> Field:
        """The column that begins last, the first such: a record that ends before it is broken."""
        return max(self.layout, key=lambda each: each.start)

    @property
    def fixed_length(self) -> tuple[str, int] | None:
        return None if self.record_length is None else ("recordLength", self.record_length)

    def __post_init__(self) -> None:
        if self.record_length is None:
            return
        outside = next((each for each in self.layout if each.stop > self.record_length), None)
        if outside is not None or self.line_sep is not None:
            broken = "lineSep is for records that are lines" if outside is None else "a column ends after the record"
            seen = f"lineSep={self.line_sep!r}" if outside is None else f"{outside.name} ends at byte {outside.stop}"
            raise bad_option(
                f"options contradict each other: {broken}",
                f"{seen}, recordLength={self.record_length}",
                "correct layout or recordLength; leave out recordLength where records are lines",
            )


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


class FixedWidth(Format[FixedWidthOptions]):
    """Lines, or records of a fixed length, whose columns are at fixed places."""

    options_class = FixedWidthOptions

    def framing(self, own: FixedWidthOptions) -> RecordFormat:
        if own.record_length is not None:
            if any(pa.types.is_binary(kind) for kind in _columns_of(own).types):
                return FixedFormat(own.record_length)
            return FixedFormat(own.record_length, resolve_encoding(own.encoding))
        return line_format(own.line_sep, None, own.encoding)

    def decoder(self, own: FixedWidthOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        places = {each.name.lower(): each for each in own.layout}
        decoder = FixedWidthDecoder(
            places=tuple(places[column.name.lower()] for column in wanted.decoded),
            own=own,
            null_value=own.null_value,
            **decoding_of(wanted, file, preamble),
        )
        return filled(wanted, decoder)

    def block_spelling(self, own: FixedWidthOptions, wanted: Projection) -> BlockSpelling:
        places = {each.name.lower(): each for each in own.layout}
        fields = block_fields(wanted, written_of(wanted))
        spelled = {
            "line_sep": own.line_sep,
            "record_length": own.record_length,
            "places": [
                (place.start - 1, place.stop) for place in (places[each.name.lower()] for each in wanted.decoded)
            ],
            "last": (own.last.name, own.last.start),
            "null_value": own.null_value,
            "trim_leading": own.ignore_leading_white_space,
            "trim_trailing": own.ignore_trailing_white_space,
            "rescue": spelled_rescue(wanted),
        }
        return BlockSpelling({"fixed_width": spelled}, fields, resolve_encoding(own.encoding), (own.line_sep or "",))

    def check_schema(self, own: FixedWidthOptions, options: ReadOptions, fields: pa.Schema) -> None:
        check_placed(fields, [each.name for each in own.layout], "column of option layout", "layout of")

    def advice(self, own: FixedWidthOptions, text: str) -> str | None:
        """Warning of a first line with a text where the lines below it have numbers: names of columns."""
        lines = [line for line in text.split(own.line_sep or "\n")[: 1 + _LOOKED_AT] if line.strip()]
        if own.record_length is not None or len(lines) <= _LEAST_BELOW:
            return None
        columns = {each.name: [line[each.start - 1 : each.stop].strip() for line in lines] for each in own.layout}
        named = (
            name
            for name, (first, *below) in columns.items()
            if first[:1].isalpha() and all(map(_NUMBER.fullmatch, below[:-1]))
        )
        found = next(named, None)
        return found and (
            f"begins with a line that may be a header, as column {found} has numbers below it: it is read as a record. "
            "Read the lines below it, as tail -n +2 prints them"
        )

    def infer(self, own: FixedWidthOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        return FoundSchema(_columns_of(own), NOTHING)


def _columns_of(own: FixedWidthOptions) -> pa.Schema:
    return parse_ddl(", ".join(f"`{each.name.replace('`', '``')}` {each.type}" for each in own.layout))
