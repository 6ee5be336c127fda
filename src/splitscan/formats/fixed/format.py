"""Pieces of files as formats: records of a fixed length, and slices. Each is one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.formats.column_rules import block_fields
from splitscan.formats.contract import BlockSpelling, Format, FoundSchema, Heads, Projection, one_value
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.decoding.values import ValueDecoder
from splitscan.formats.fixed.framing import FixedFormat, SliceFormat
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.options import ReadOptions
from splitscan.options.read import RecordOptions
from splitscan.options.table import option, size, whole
from splitscan.sizes import MIB

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

    def infer(self, own: RecordOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        return one_value(pa.binary())


class Slices(Fixed):
    """Slices of any file; the last one may be shorter."""

    options_class = SlicesOptions
    format_class = SliceFormat


def _length(own: RecordOptions) -> int:
    return 0 if own.fixed_length is None else own.fixed_length[1]
