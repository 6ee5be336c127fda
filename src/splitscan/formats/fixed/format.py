"""Pieces of files as formats: records of a fixed length, and slices. Each is one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.formats.column_rules import block_fields
from splitscan.formats.contract import BlockSpelling, Format, FoundSchema, Heads, Own_contra, Projection, one_value
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


def _spelled(wanted: Projection, record_bytes: int, *, short_is_a_fault: bool) -> BlockSpelling:
    format = {"record_length": record_bytes, "short_is_broken": short_is_a_fault}
    return BlockSpelling({"fixed": format}, block_fields(wanted))


class _Pieces(Format[Own_contra]):
    def infer(self, own: Own_contra, options: ReadOptions, heads: Heads) -> FoundSchema:
        return one_value(pa.binary())


class Fixed(_Pieces[FixedOptions]):
    """Records of a fixed length; a shorter rest at the end of a file is a broken record."""

    options_class = FixedOptions

    def framing(self, own: FixedOptions) -> RecordFormat:
        return FixedFormat(own.record_length)

    def decoder(self, own: FixedOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        return ValueDecoder(wanted=bool(wanted.validated))

    def block_spelling(self, own: FixedOptions, wanted: Projection) -> BlockSpelling:
        return _spelled(wanted, own.record_length, short_is_a_fault=True)


class Slices(_Pieces[SlicesOptions]):
    """Slices of any file; the last one may be shorter."""

    options_class = SlicesOptions

    def framing(self, own: SlicesOptions) -> RecordFormat:
        return SliceFormat(own.slice_bytes)

    def decoder(self, own: SlicesOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        return ValueDecoder(wanted=bool(wanted.validated))

    def block_spelling(self, own: SlicesOptions, wanted: Projection) -> BlockSpelling:
        return _spelled(wanted, own.slice_bytes, short_is_a_fault=False)
