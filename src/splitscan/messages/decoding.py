"""Values of messages to rows: put side by side they are framed and decoded at once, as the lines of a file are.

Where the frames do not agree with the messages, each is framed on its own: one with no record, or several, is broken,
and costs no other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.engine import kernel
from splitscan.errors import InvariantError
from splitscan.formats.decoding.contract import Decoded, Decoder, Fault, Faults
from splitscan.formats.framing.contract import Need, Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import Frames, Offsets
from splitscan.formats.registry import record_format
from splitscan.options import Mode
from splitscan.reading.block_documents import block_document, scan_document
from splitscan.reading.block_request import BlockRequest
from splitscan.reading.cursor import RAW_BYTES
from splitscan.reading.decoders import decoder, with_required
from splitscan.reading.framework.columns import prune_array
from splitscan.reading.framework.conform import rows_without_columns
from splitscan.reading.kernel_reader import rejects_of, rows_of
from splitscan.reading.rejects import RejectBatch, reason_array
from splitscan.reading.spec import ScanSpec
from splitscan.sizes import count_of

NOT_ONE_RECORD = "not-one-record"
_TOO_LONG = "record-too-long"


class ValueRows(NamedTuple):
    """The rows of some values.

    Attributes:
        batch: With the columns of the values: a row for each, but for those that are dropped; nulls for one that is
            null or broken.
        rejects: Those that break a rule, in order, each with its number as offset; ``None`` without any.
    """

    batch: pa.RecordBatch
    rejects: RejectBatch | None


ReadValues = Callable[[Sequence[bytes | None]], ValueRows]


def values_reader(spec: ScanSpec, path: str) -> ReadValues:
    """Reader of the values of messages."""
    own = spec.options.format
    encoding = None if own.text_encoding is None else resolve_encoding(own.text_encoding)
    codec = None if encoding is None else encoding.codec
    if not own.has_columns or encoding is None:
        return lambda values: _rows_of(spec, path, values, with_required(spec, _decode_whole(spec, values, codec)), "")
    file, separator = FileMetadata(path, 0, 0, "", path), encoding.encode(own.line_end)
    resolved = record_format(spec.options).preamble(b"", at_end=True)
    if isinstance(resolved, Need):
        raise InvariantError("the head of nothing says all there is to know")
    read = _kernel_reader(spec, file, resolved, separator)
    if read is not None:
        return read
    framed = _Framed(spec, file, resolved, separator)
    return lambda values: _rows_of(spec, path, values, framed.decode(values), encoding.codec)


def _kernel_reader(spec: ScanSpec, file: FileMetadata, resolved: Preamble, separator: bytes) -> ReadValues | None:
    """The kernel's reader; ``None`` where Python reads."""
    module, document = kernel(), scan_document(spec)
    if module is None or document is None:
        return None
    place = BlockMetadata(file, 0, 0, 0)
    block = block_document(BlockRequest(spec, place), place, document.head(resolved))
    reader = module.MessageReader(document.text, block, separator)

    def read(values: Sequence[bytes | None]) -> ValueRows:
        batch, rejects = reader.read(pa.array(values, pa.large_binary()))
        found = None if rejects is None else rejects_of(file.path, pa.record_batch(rejects))
        return ValueRows(rows_of(batch, spec), found)

    return read


def _rows_of(spec: ScanSpec, path: str, values: Sequence[bytes | None], decoded: Decoded, codec: str) -> ValueRows:
    """The rows of values that are decoded, without those that are dropped."""
    data = dict(zip((spec.fields.field(index).name for index in spec.validated), decoded.columns, strict=True))
    records = decoded.faults.records
    broken = [values[record] or b"" for record in records.tolist()]
    arrays = []
    for field in spec.schema:
        if field.name in data:
            arrays.append(prune_array(data[field.name], field.type))
        elif field.name == spec.corrupt_column:
            texts: list[str | None] = [None] * decoded.rows
            for record, value in zip(records.tolist(), broken, strict=True):
                texts[record] = value.decode(codec, "replace")
            arrays.append(pa.array(texts, pa.string()))
        elif field.name == spec.reason_column:
            arrays.append(reason_array(decoded.faults, decoded.rows))
        else:
            kept = decoded.rescued
            arrays.append(pa.nulls(decoded.rows, pa.string()) if kept is None else kept)
    batch = pa.RecordBatch.from_arrays(arrays, schema=spec.schema) if arrays else rows_without_columns(decoded.rows)
    if not len(records):
        return ValueRows(batch, None)
    drops = spec.options.reading.mode is Mode.DROPMALFORMED
    delivered = ~decoded.faults.structural if drops else np.ones(len(records), dtype=np.bool_)
    if not delivered.all():
        keep = np.ones(decoded.rows, dtype=np.bool_)
        keep[records] = delivered
        batch = batch.filter(pa.array(keep))
    lengths = np.array([len(value) for value in broken], dtype=np.int64)
    raw = pa.array([value[:RAW_BYTES] for value in broken], pa.binary())
    return ValueRows(batch, RejectBatch(path, records, lengths, decoded.faults.words, raw, delivered))


def _decode_whole(spec: ScanSpec, values: Sequence[bytes | None], codec: str | None) -> Decoded:
    """Values as they are, bytes or text; bytes that are no text become U+FFFD."""
    if not spec.validated:
        return Decoded([], len(values))
    column = pa.array(values, pa.binary())
    if codec is not None:
        try:
            column = column.cast(pa.string()) if codec == "utf-8" else _as_text(values, codec)
        except pa.ArrowInvalid:
            column = _as_text(values, codec)
    return Decoded([column], len(values))


def _as_text(values: Sequence[bytes | None], codec: str) -> pa.Array:
    return pa.array([None if value is None else value.decode(codec, "replace") for value in values], pa.string())


class _Framed:
    """Decodes values that a record format frames: each holds exactly one record, and perhaps blank lines around it.

    This is the reference, which reads where the kernel does not.
    """

    def __init__(self, spec: ScanSpec, file: FileMetadata, resolved: Preamble, separator: bytes) -> None:
        self._spec = spec
        self._format: RecordFormat = resolved.format
        self._decoder: Decoder = decoder(spec, file, resolved)
        self._separator = separator

    def decode(self, values: Sequence[bytes | None]) -> Decoded:
        limit = self._spec.options.reading.max_record_bytes
        faults: dict[int, Fault] = {}
        lengths = np.array([-1 if value is None else len(value) for value in values], dtype=np.int64)
        for index in np.flatnonzero(lengths > limit).tolist():
            faults[index] = Fault(index, _TOO_LONG, f"the record is longer than maxRecordBytes={limit}", True)
        present = np.flatnonzero((lengths >= 0) & (lengths <= limit))
        whole = present.tolist()
        joined = self._join([values[index] or b"" for index in whole])
        if joined is None:
            records = {index: self._one_record(index, values[index] or b"", faults) for index in whole}
            found = {index: record for index, record in records.items() if record is not None}
            present = np.array(list(found), dtype=np.int64)
            decoded = self._decode_each(list(found.values()))
        else:
            decoded = self._decode_frames(*joined)
        return with_required(self._spec, _spread(decoded, present, len(values), faults))

    def _decode_frames(self, data: memoryview, frames: Frames) -> Decoded:
        if len(frames):
            return self._decoder.decode(data, frames)
        rescues = self._spec.rescued_column in self._spec.columns
        nothing = [pa.array([], field.type) for field in self._spec.decoded]
        return Decoded(nothing, 0, rescued=pa.array([], pa.string()) if rescues else None)

    def _join(self, values: Sequence[bytes]) -> tuple[memoryview, Frames] | None:
        """Values side by side, with their frames; ``None`` if those are not one for each."""
        data = self._separator.join([*values, b""])
        starts = _starts(values, len(self._separator))
        frames = self._format.frame(data, at_end=True)
        agrees = not frames.malformed and len(frames) == len(values) and frames.next_start == len(data)
        return (memoryview(data), frames) if agrees and bool((frames.starts == starts).all()) else None

    def _one_record(self, index: int, value: bytes, faults: dict[int, Fault]) -> bytes | None:
        """The record of one value; a fault if it has none, several, or one that never ends."""
        frames = self._format.frame(value, at_end=True)
        ends = frames.next_start == len(value)
        if len(frames) == 1 and ends and not frames.malformed:
            return value[frames.first : int(frames.stops[0])]
        count = count_of(len(frames), "record") if ends else "a record that never ends"
        reason = f"the value of a message is one record, and this one has {count}"
        hint = (
            "" if getattr(self._spec.options.format, "multi_line", True) else "; with multiLine=true it may have lines"
        )
        faults[index] = Fault(index, NOT_ONE_RECORD, reason + hint, True)
        return None

    def _decode_each(self, records: Sequence[bytes]) -> Decoded:
        """Records that are known to be whole: together if they frame well, else one by one."""
        joined = self._join(records)
        if joined is not None:
            return self._decode_frames(*joined)
        parts = [self._decoder.decode(memoryview(record), _frame_of(record)) for record in records]
        columns = [pa.concat_arrays(column) for column in zip(*(part.columns for part in parts), strict=True)]
        faults = Faults.first_of(*(part.faults.moved(np.array([index])) for index, part in enumerate(parts)))
        rescued = [part.rescued for part in parts]
        kept = None if None in rescued or not rescued else pa.concat_arrays(rescued)
        return Decoded(columns, len(records), faults, kept)


def _frame_of(record: bytes) -> Frames:
    ends = np.array([len(record)], dtype=np.int64)
    return Frames(np.zeros(1, dtype=np.int64), ends, len(record))


def _starts(values: Sequence[bytes], gap: int) -> Offsets:
    lengths = np.array([len(value) + gap for value in values], dtype=np.int64)
    return np.cumsum(lengths) - lengths


def _spread(decoded: Decoded, present: Offsets, rows: int, faults: dict[int, Fault]) -> Decoded:
    """Decoded records at the places of their messages; nulls at all others."""
    if len(present) == rows:
        return decoded
    indices = np.zeros(rows, dtype=np.int64)
    absent = np.ones(rows, dtype=bool)
    indices[present], absent[present] = np.arange(len(present)), False
    order = pa.array(indices, mask=absent)
    rescued = None if decoded.rescued is None else decoded.rescued.take(order)
    found = Faults.first_of(faults.values(), decoded.faults.moved(present))
    return Decoded([column.take(order) for column in decoded.columns], rows, found, rescued)
