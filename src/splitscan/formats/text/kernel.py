"""A decoder of lines, by the kernel."""

from __future__ import annotations

import pyarrow as pa

from splitscan.engine import kernel
from splitscan.formats.decoding.contract import Decoder, Fault
from splitscan.formats.decoding.native import NativeDecoder, NativeFault
from splitscan.formats.decoding.values import TextDecoder, short_record
from splitscan.formats.framing.native import native_charset, native_lines
from splitscan.formats.text.delimited import DelimitedFormat
from splitscan.formats.text.lines import LineFormat


def with_kernel(decoder: TextDecoder, format: LineFormat | DelimitedFormat) -> Decoder:
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


def _describe(fault: NativeFault) -> Fault:
    return short_record(fault.record)
