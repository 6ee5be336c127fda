"""Columns that records have and a scan does not, noticed while they are read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.formats.contract import ShapedFormat
from splitscan.formats.decoding.contract import Decoded, Decoder, Parsed, Parser
from splitscan.formats.framing.contract import Preamble, TextFormat
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, records_in_utf8
from splitscan.formats.merge import has_more_members, join, struct_types
from splitscan.formats.registry import format_of
from splitscan.scan.spec import ScanSpec

_KEPT = "\0rescued"  # no column that a user names


class NoticingDecoder:
    """Decodes the records of one block as another decoder does, and notes what they have besides.

    Where a record has something that no column takes, a decoder that rescues such things says so. Only these records
    are looked at more closely, and only their portion is decoded a second time.

    Args:
        plain: Decodes the records.
        rescuing: The same, and keeps what does not fit.
        spec: Of the scan.
        format: Tells what a record holds.
        encoding: Of the file.

    Attributes:
        noticed: The columns, as members of a struct, each with the type of its values that were seen.
    """

    def __init__(
        self, plain: Decoder, rescuing: Decoder, spec: ScanSpec, format: ShapedFormat[Any], encoding: Encoding
    ) -> None:
        self._plain, self._rescuing, self._spec = plain, rescuing, spec
        self._format, self._encoding = format, encoding
        self._known = {column.name: column.type for column in spec.schema}
        self._left = spec.notices
        self.noticed = pa.struct([])

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records that were found before."""
        if not self._left:
            return self._plain.decode(data, frames)
        return self._looked_at(self._rescuing.decode(data, frames), data, frames)

    def parse(self, data: memoryview, *, stop: int, at_end: bool, max_record_bytes: int) -> Parsed | None:
        """Find and decode records in one go, where the decoders can."""
        decoder = self._rescuing if self._left else self._plain
        if not isinstance(decoder, Parser):
            return None
        parsed = decoder.parse(data, stop=stop, at_end=at_end, max_record_bytes=max_record_bytes)
        if parsed is None or not self._left:
            return parsed
        return parsed._replace(decoded=self._looked_at(parsed.decoded, data, parsed.frames))

    def _looked_at(self, decoded: Decoded, data: memoryview, frames: Frames) -> Decoded:
        rescued = decoded.rescued
        if rescued is None or rescued.null_count == len(rescued):
            return replace(decoded, rescued=None)
        where = np.flatnonzero(rescued.is_valid().to_numpy(zero_copy_only=False))[: self._left]
        self._left -= len(where)
        some = Frames(frames.starts[where], frames.stops[where], frames.next_start, {})
        for record in records_in_utf8(data, some, self._encoding):
            self._notice(self._format.shape(self._spec.options.format, self._spec.options, record))
        return self._plain.decode(data, frames)

    def _notice(self, shape: pa.DataType) -> None:
        known = self._known
        new = [each for each in shape if each.name not in known or has_more_members(each.type, known[each.name])]
        if new:
            self.noticed = join(self.noticed, pa.struct(new))


def noticing_decoder(spec: ScanSpec, file: FileMetadata, preamble: Preamble, plain: Decoder) -> NoticingDecoder | None:
    """A decoder for one block that notices columns, if its format can tell."""
    format, framing = format_of(spec.options), preamble.format
    if not isinstance(format, ShapedFormat) or not isinstance(framing, TextFormat):
        return None
    schema = replace(spec.options.schema, rescued_data_column=_KEPT)
    rescuing = replace(spec, options=replace(spec.options, schema=schema), columns=(*spec.columns, _KEPT))
    decoder = format_of(spec.options).decoder(spec.options.format, rescuing, file, preamble)
    return NoticingDecoder(plain, decoder, spec, format, framing.encoding)


def pack_noticed(noticed: pa.DataType) -> bytes:
    """Columns as bytes: a serialised Arrow schema; empty for none."""
    return pa.schema(list(noticed)).serialize().to_pybytes() if noticed.num_fields else b""


def unpack_noticed(packed: bytes) -> dict[str, pa.DataType]:
    """The columns again, by name."""
    return struct_types(pa.struct(list(pa.ipc.read_schema(pa.py_buffer(packed))))) if packed else {}
