"""Decoders of records that are one value, by the kernel."""

from __future__ import annotations

import pyarrow as pa

from splitscan.decoding.contract import Decoder, Fault
from splitscan.decoding.native import NativeDecoder, NativeFault
from splitscan.decoding.values import BinaryDecoder, TextDecoder, short_record
from splitscan.engine import kernel
from splitscan.framing.delimited import DelimitedFormat
from splitscan.framing.encodings import US_ASCII
from splitscan.framing.lines import LineFormat
from splitscan.framing.native import native_charset, native_lines


def text_with_kernel(decoder: TextDecoder, format: LineFormat | DelimitedFormat) -> Decoder:
    """A decoder of lines that reads by the kernel, or the given one where the kernel cannot."""
    module = kernel()
    delimiter = format.delimiter if isinstance(format, DelimitedFormat) else None
    lines = native_lines(delimiter, format.escape, format.encoding)
    if module is None or lines is None:
        return decoder
    charset = native_charset(format.encoding)
    schema = pa.schema([pa.field("value", pa.string())] if decoder.wanted else [])
    parser = module.LinesParser(lines.native, charset or module.Charset(), schema)
    return NativeDecoder(parser, decoder, format.encoding, _describe, reads_raw=charset is not None)


def fixed_with_kernel(decoder: BinaryDecoder, record_bytes: int, *, short_is_a_fault: bool) -> Decoder:
    """A decoder of records of a fixed length that reads by the kernel, or the given one without a kernel."""
    module = kernel()
    if module is None:
        return decoder
    schema = pa.schema([pa.field("value", pa.binary())] if decoder.wanted else [])
    parser = module.FixedParser(record_bytes, short_is_a_fault, schema)
    return NativeDecoder(parser, decoder, US_ASCII, _describe, reads_raw=True)


def _describe(fault: NativeFault) -> Fault:
    return short_record(fault.record)
