"""Columns that records have and a scan does not: what is said of them, wherever files are read."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.arrays import flags_of
from splitscan.blocks import FileMetadata
from splitscan.errors import Advice, SchemaError, Where
from splitscan.formats.contract import Format
from splitscan.formats.decoding.contract import Decoded, Decoder, type_name
from splitscan.formats.decoding.values import FILE_PATH
from splitscan.formats.framing.contract import Preamble, has
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, records_in_utf8
from splitscan.formats.merge import has_arrays, has_more_members, join, settled
from splitscan.formats.registry import format_of
from splitscan.options import ReadOptions
from splitscan.reading.cursor import RecordChunk
from splitscan.reading.spec import ScanSpec
from splitscan.redaction import redact
from splitscan.sizes import count_of, format_size

_LOG = logging.getLogger("splitscan")
_SHOWN = 5  # columns that a message names
_OFFSET, _RECORDS = b"splitscan.offset", b"splitscan.records"

SOME_RECORDS = 1000
"""Records of a block with new columns of which each is looked at: enough for a message."""

EVERY_RECORD = 1 << 62


class NewColumn(NamedTuple):
    """A column that records have and the scan does not.

    Attributes:
        type: Of its values that were seen; of a column of the scan that has more members, those too.
        offset: Where the first record that has it begins there.
    """

    type: pa.DataType
    path: str
    offset: int
    records: int

    def and_of(self, other: NewColumn) -> NewColumn:
        """Union of these columns and those of a later place."""
        return self._replace(type=join(self.type, other.type), records=self.records + other.records)


@dataclass(frozen=True)
class NewColumns:
    """Columns that were noticed while files were read, in the order in which they were met."""

    columns: Mapping[str, NewColumn]

    @classmethod
    def of(cls, noticed: Iterable[tuple[str, int, bytes]]) -> NewColumns:
        """From what blocks report: path of the file, start of the block, and packed columns."""
        found: dict[str, NewColumn] = {}
        for path, _, packed in sorted(noticed):
            for name, column in _unpack_columns(packed, path):
                found[name] = found[name].and_of(column) if name in found else column
        return cls(found)

    @property
    def first(self) -> Where:
        """The first of the places."""
        name, column = min(self.columns.items(), key=lambda each: (each[1].path, each[1].offset))
        return Where(redact(column.path), column.offset, column=name)

    def __str__(self) -> str:
        shown = [self._spell(name) for name in list(self.columns)[:_SHOWN]]
        more = len(self.columns) - len(shown)
        return ", ".join([*shown, *([f"and {count_of(more, 'more column')}"] if more else [])])

    def _spell(self, name: str) -> str:
        column = self.columns[name]
        seen = count_of(column.records, "record")
        more = " or more" if column.records >= SOME_RECORDS else ""
        return f"{name} {type_name(settled(column.type))} in {seen}{more}"

    def report(self, options: ReadOptions) -> None:
        """Log the warning that they are not read."""
        where = self.first
        _LOG.warning(
            "records have columns that no sample has shown, and they are not read: %s; the first, %s, is at byte %d of "
            "%s. To read them, %s",
            self, where.column, where.offset, where.path, Advice(how_to_read_them(options)),
        )  # fmt: skip

    def error(self, options: ReadOptions) -> SchemaError:
        """The error of whoever writes all that there is."""
        return SchemaError(
            "records have columns that no sample has shown, and what is written would not have them",
            self.first,
            str(self),
            f"{how_to_read_them(options)}; or choose the columns to write, and others are left out",
            "new-columns",
        )


OnNewColumns: TypeAlias = Callable[[NewColumns], None]
"""Given the columns that records have and the scan does not."""


def how_to_read_them(options: ReadOptions) -> str:
    """Options that samples could show such columns with."""
    bytes_, files = format_size(options.reading.sampling_bytes), options.schema.sample_files
    return f"raise sampleBytes (now {bytes_}) or sampleFiles (now {files}), or give a schema that has them"


def pack_columns(columns: Mapping[str, NewColumn]) -> bytes:
    """The columns of one block as bytes: a serialised Arrow schema; empty for none."""
    if not columns:
        return b""
    fields = [
        pa.field(name, each.type, metadata={_OFFSET: b"%d" % each.offset, _RECORDS: b"%d" % each.records})
        for name, each in columns.items()
    ]
    return bytes(pa.schema(fields).serialize().to_pybytes())


def _unpack_columns(packed: bytes, path: str) -> list[tuple[str, NewColumn]]:
    """The columns of one block again."""
    schema = pa.ipc.read_schema(pa.py_buffer(packed)) if packed else pa.schema([])
    return [
        (field.name, NewColumn(field.type, path, int(field.metadata[_OFFSET]), int(field.metadata[_RECORDS])))
        for field in schema
    ]


_KEPT = "\0rescued"  # no column that a user names
_MOST_NAMES = 1000  # of a pattern
_TEXT = r'"(?:[^"\\]|\\.)*"'


class Noticing:
    """Notes what the records of one block have, and the scan has not.

    Only records are looked at of which something is in no column. Values alone that do not fit their column are not.
    """

    def __init__(self, spec: ScanSpec, format: Format[Any]) -> None:
        self._spec, self._format = spec, format
        self._known = {column.name: column.type for column in spec.known}
        self._left = spec.notices
        self._only_values = _only_values(spec.schema.names)
        self._new: dict[str, NewColumn] = {}

    @property
    def is_over(self) -> bool:
        """True if enough records were seen that have something new."""
        return not self._left

    def packed(self) -> bytes:
        """Noticed columns as bytes: a serialised Arrow schema; empty for nothing."""
        return pack_columns(self._new)

    def worth_a_look(self, kept: pa.Array) -> npt.NDArray[np.bool_]:
        """Which records have more than values that do not fit a column of the scan."""
        found: npt.NDArray[np.bool_] = pc.match_substring_regex(kept, self._only_values).to_numpy(zero_copy_only=False)
        return ~found

    def look_at(self, records: Iterable[tuple[int, bytes]]) -> None:
        """Look at records, each with its offset and its content in UTF-8."""
        for offset, record in records:
            if self.is_over:
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


class NoticingDecoder:
    """Decodes the records of one block as another decoder does, and notes what they have besides.

    Where a record has something that no column takes, a decoder that rescues such things says so. Only the portion of
    such records is decoded a second time.

    Args:
        rescuing: The same, and keeps what does not fit.
        columns: Which of the columns that the rescuing one decodes the plain one does.
    """

    def __init__(
        self, plain: Decoder, rescuing: Decoder, noticing: Noticing, columns: Sequence[int], encoding: Encoding
    ) -> None:
        self._plain, self._rescuing = plain, rescuing
        self.noticing, self._columns, self._encoding = noticing, columns, encoding

    def settle(self, step: RecordChunk) -> Decoded:
        """The columns of the records of a step, as the plain decoder gives them, once all of them are looked at."""
        decoded = (self._plain if self.noticing.is_over else self._rescuing).decode(step.data, step.frames)
        rescued = decoded.rescued
        if rescued is None:
            return decoded
        where = np.flatnonzero(flags_of(rescued.is_valid()))
        if not len(where):
            return replace(decoded, columns=[decoded.columns[each] for each in self._columns], rescued=None)
        where, frames = where[self.noticing.worth_a_look(rescued.take(pa.array(where)))], step.frames
        some = Frames(frames.starts[where], frames.stops[where], frames.next_start, {})
        offsets = (some.starts + step.offset).tolist()
        self.noticing.look_at(zip(offsets, records_in_utf8(step.data, some, self._encoding), strict=True))
        return self._plain.decode(step.data, step.frames)


def _only_values(names: Sequence[str]) -> str:
    """The pattern of a kept text in which columns of these names have a text or a number, and nothing else is."""
    spelled = "|".join(re.escape(json.dumps(name, ensure_ascii=False)) for name in names[:_MOST_NAMES])
    return rf'^\{{(?:(?:{spelled}):(?:{_TEXT}|[^"\[\]{{}},]+),)+"{FILE_PATH}":{_TEXT}\}}$'


def noticing_decoder(spec: ScanSpec, file: FileMetadata, preamble: Preamble, plain: Decoder) -> NoticingDecoder | None:
    """A decoder for one block that notices columns, if its format can tell."""
    format, framing = format_of(spec.options), preamble.format
    if not format.shows_columns or not has(framing, "encoding"):
        return None
    schema = replace(spec.options.schema, rescued_data_column=_KEPT)
    rescuing = replace(spec, options=replace(spec.options, schema=schema), columns=(*spec.columns, _KEPT))
    decoder = format_of(spec.options).decoder(spec.options.format, rescuing, file, preamble)
    columns = [rescuing.validated.index(column) for column in spec.validated]
    return NoticingDecoder(plain, decoder, Noticing(spec, format), columns, framing.encoding)
