"""Columns that records have and a scan does not: what is said of them, wherever files are read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from splitscan.errors import Advice, SchemaError, Where
from splitscan.formats.decoding.contract import type_name
from splitscan.formats.merge import join, settled
from splitscan.options import ReadOptions
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
        path: The first file that has it.
        offset: Where the first record that has it begins there.
        records: How many records were seen that have it.
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
    """Columns that were noticed while files were read, which no header and no sample had shown.

    Attributes:
        columns: By name, in the order in which they were met.
    """

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
            self, where.column, where.offset, where.path, Advice(_how_to_read_them(options)),
        )  # fmt: skip

    def error(self, options: ReadOptions) -> SchemaError:
        """The error of whoever writes all that there is."""
        return SchemaError(
            "records have columns that no sample has shown, and what is written would not have them",
            self.first,
            str(self),
            f"{_how_to_read_them(options)}; or choose the columns to write, and others are left out",
            "new-columns",
        )


OnNewColumns: TypeAlias = Callable[[NewColumns], None]
"""Given the columns that records have and the scan does not."""


def _how_to_read_them(options: ReadOptions) -> str:
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
