"""Pieces of files as formats: records of a fixed length, and slices. Each is one value."""

from __future__ import annotations

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.formats.contract import Projection
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.decoding.values import BinaryDecoder
from splitscan.formats.fixed.framing import FixedFormat, SliceFormat
from splitscan.formats.fixed.kernel import with_kernel
from splitscan.formats.fixed.options import FixedOptions, SlicesOptions
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.sampling import FoundSchema, Heads, one_value
from splitscan.options import ReadOptions, RecordOptions


class _Pieces:
    def check_header(self, own: RecordOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> None:
        """A file of pieces says nothing of columns."""

    def check_schema(self, own: RecordOptions, options: ReadOptions, fields: pa.Schema) -> None:
        """A piece is bytes; whatever else is asked for, they are converted to it or refused by the framework."""

    def infer(self, own: RecordOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        """One column of bytes."""
        return one_value(pa.binary())


class Fixed(_Pieces):
    """Records of a fixed length; a shorter rest at the end of a file is a broken record."""

    options_class = FixedOptions

    def framing(self, own: FixedOptions) -> RecordFormat:
        """Starts are computed from the length."""
        return FixedFormat(own.record_length)

    def decoder(self, own: FixedOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """The bytes of the record."""
        decoder = BinaryDecoder(wanted=bool(wanted.validated))
        return with_kernel(decoder, own.record_length, short_is_a_fault=True)


class Slices(_Pieces):
    """Slices of any file; the last one may be shorter."""

    options_class = SlicesOptions

    def framing(self, own: SlicesOptions) -> RecordFormat:
        """Starts are computed from the length."""
        return SliceFormat(own.slice_bytes)

    def decoder(self, own: SlicesOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """The bytes of the slice."""
        decoder = BinaryDecoder(wanted=bool(wanted.validated))
        return with_kernel(decoder, own.slice_bytes, short_is_a_fault=False)
