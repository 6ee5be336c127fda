"""A decoder of records of a fixed length, by the kernel."""

from __future__ import annotations

import pyarrow as pa

from splitscan.engine import kernel
from splitscan.formats.decoding.contract import Decoder, Fault
from splitscan.formats.decoding.native import NativeDecoder, NativeFault
from splitscan.formats.decoding.values import BinaryDecoder, short_record
from splitscan.formats.framing.encodings import US_ASCII


def with_kernel(decoder: BinaryDecoder, record_bytes: int, *, short_is_a_fault: bool) -> Decoder:
    """A decoder of records of a fixed length that reads by the kernel, or the given one without a kernel."""
    module = kernel()
    if module is None:
        return decoder
    schema = pa.schema([pa.field("value", pa.binary())] if decoder.wanted else [])
    parser = module.FixedParser(record_bytes, short_is_a_fault, schema)
    return NativeDecoder(parser, decoder, US_ASCII, _describe, reads_raw=True)


def _describe(fault: NativeFault) -> Fault:
    return short_record(fault.record)
