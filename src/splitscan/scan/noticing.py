"""Columns that records have and a scan does not, noticed while they are read: one rule for all who read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.blocks import FileMetadata
from splitscan.formats.contract import ShapedFormat
from splitscan.formats.decoding.contract import Decoded, Decoder, Parsed, Parser
from splitscan.formats.decoding.rescue import FILE_PATH
from splitscan.formats.framing.contract import Preamble, TextFormat
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, records_in_utf8
from splitscan.formats.merge import has_arrays, has_more_members
from splitscan.formats.registry import format_of
from splitscan.read.cursor import Framed
from splitscan.scan.new_columns import NewColumn, pack_columns
from splitscan.scan.spec import ScanSpec

_KEPT = "\0rescued"  # no column that a user names
_MOST_NAMES = 1000  # of a pattern
_TEXT = r'"(?:[^"\\]|\\.)*"'


class NoticingDecoder:
    """Decodes the records of one block as another decoder does, and notes what they have besides.

    Where a record has something that no column takes, a decoder that rescues such things says so. Only these records
    are looked at more closely, and only their portion is decoded a second time. Values alone that do not fit their
    column are not looked at.

    Args:
        plain: Decodes the records.
        rescuing: The same, and keeps what does not fit.
        spec: Of the scan.
        format: Tells what a record holds.
        encoding: Of the file.
    """

    def __init__(
        self, plain: Decoder, rescuing: Decoder, spec: ScanSpec, format: ShapedFormat[Any], encoding: Encoding
    ) -> None:
        self._plain, self._rescuing, self._spec = plain, rescuing, spec
        self._format, self._encoding = format, encoding
        self._known = {column.name: column.type for column in spec.schema}
        self._left = spec.notices
        self._only_values = _only_values(spec.schema.names)
        self._new: dict[str, NewColumn] = {}

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records that were found before; :meth:`settle` follows."""
        return self._decoder.decode(data, frames)

    def parse(self, data: memoryview, *, stop: int, at_end: bool, max_record_bytes: int) -> Parsed | None:
        """Find and decode records in one go, where the decoders can; :meth:`settle` follows."""
        decoder = self._decoder
        if not isinstance(decoder, Parser):
            return None
        return decoder.parse(data, stop=stop, at_end=at_end, max_record_bytes=max_record_bytes)

    def settle(self, step: Framed) -> Decoded:
        """The columns of the records of a step, as the plain decoder gives them, once all of them are looked at."""
        decoded = step.decoded or self.decode(step.data, step.frames)
        rescued = decoded.rescued
        if rescued is None:
            return decoded
        where = np.flatnonzero(rescued.is_valid().to_numpy(zero_copy_only=False))
        if not len(where):
            return replace(decoded, columns=decoded.columns[: len(self._spec.validated)], rescued=None)
        self._look_at(step, where[~self._have_only_values(rescued, where)])
        return self._plain.decode(step.data, step.frames)

    def packed(self) -> bytes:
        """What was noticed, as bytes: a serialised Arrow schema; empty for nothing."""
        return pack_columns(self._new)

    @property
    def _decoder(self) -> Decoder:
        return self._rescuing if self._left else self._plain

    def _have_only_values(self, rescued: pa.Array, where: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of some records have no more than values that do not fit a column of the scan."""
        texts = rescued.take(pa.array(where))
        found: npt.NDArray[np.bool_] = pc.match_substring_regex(texts, self._only_values).to_numpy(zero_copy_only=False)
        return found

    def _look_at(self, step: Framed, where: npt.NDArray[np.int64]) -> None:
        frames = step.frames
        some = Frames(frames.starts[where], frames.stops[where], frames.next_start, {})
        offsets = (some.starts + step.offset).tolist()
        for offset, record in zip(offsets, records_in_utf8(step.data, some, self._encoding), strict=True):
            if not self._left:
                return
            self._left -= self._notice(offset, record)

    def _notice(self, offset: int, record: bytes) -> bool:
        """Look at one record; whether it has a new column, or repeats what is one value elsewhere."""
        options, known = self._spec.options, self._known
        shape = self._format.shape(options.format, options, record)
        repeats = self._format.repeats_members
        new = [
            each
            for each in shape
            if each.name not in known
            or has_more_members(each.type, known[each.name])
            or (repeats and has_arrays(each.type, known[each.name]))
        ]
        for each in new:
            column = NewColumn(each.type, "", offset, 1)
            self._new[each.name] = self._new[each.name].and_of(column) if each.name in self._new else column
        return bool(new)


def _only_values(names: Sequence[str]) -> str:
    """The pattern of a kept text in which columns of these names have a text or a number, and nothing else is."""
    spelled = "|".join(re.escape(json.dumps(name, ensure_ascii=False)) for name in names[:_MOST_NAMES])
    return rf'^\{{(?:(?:{spelled}):(?:{_TEXT}|[^"\[\]{{}},]+),)+"{FILE_PATH}":{_TEXT}\}}$'


def noticing_decoder(spec: ScanSpec, file: FileMetadata, preamble: Preamble, plain: Decoder) -> NoticingDecoder | None:
    """A decoder for one block that notices columns, if its format can tell."""
    format, framing = format_of(spec.options), preamble.format
    if not isinstance(format, ShapedFormat) or not isinstance(framing, TextFormat):
        return None
    schema = replace(spec.options.schema, rescued_data_column=_KEPT)
    rescuing = replace(spec, options=replace(spec.options, schema=schema), columns=(*spec.columns, _KEPT))
    decoder = format_of(spec.options).decoder(spec.options.format, rescuing, file, preamble)
    return NoticingDecoder(plain, decoder, spec, format, framing.encoding)
