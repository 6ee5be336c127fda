"""Records that are one value, and records that a user's own code has read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from splitscan.errors import SchemaError, Where, quote_bytes
from splitscan.formats.decoding.contract import Decoded, Fault, Faults, FaultTemplate
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, records_of
from splitscan.sizes import count_of

SHORT_RECORD = "short-record"


SHORT_WORDING = FaultTemplate(SHORT_RECORD, "the file ends inside the record")
"""What is said of a last record that the file cuts off."""


@dataclass(frozen=True)
class ValueDecoder:
    """Records as one value each: bytes as they are, or text in an encoding. A broken one is delivered and reported.

    Guarantees: bytes that are not text in *encoding* become U+FFFD; nothing else is changed.

    Args:
        encoding: Of text; ``None`` for bytes.
        wanted: Whether the column is asked for at all.
        wording: Said of broken records of a known kind.
    """

    encoding: Encoding | None = None
    wanted: bool = True
    wording: FaultTemplate = SHORT_WORDING

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        known = self.wording
        faults = (
            known.fault(record) if code == known.code else Fault(record, code, code, True)
            for record, code in frames.malformed.items()
        )
        columns = []
        if self.wanted and self.encoding is None:
            columns = [pa.array(records_of(data, frames), pa.binary())]
        elif self.wanted and self.encoding is not None:
            columns = [pa.array(map(self.encoding.text, records_of(data, frames)), pa.string())]
        return Decoded(columns, len(frames), Faults(faults))


@dataclass(frozen=True)
class ObjectDecoder:
    """Tuples, dictionaries or plain values as columns.

    Args:
        fields: The columns. With one column, a value that is no tuple and no dictionary is the column's.
        wanted: Indices into *fields* of the columns to deliver, in order.
        where: The file and block, for messages.

    Example:
        >>> decoder = ObjectDecoder(pa.schema([("a", pa.int64()), ("b", pa.string())]), (1,), Where())
        >>> decoder.decode([(1, "x"), {"b": "y"}]).columns[0].to_pylist()
        ['x', 'y']
    """

    fields: pa.Schema
    wanted: tuple[int, ...]
    where: Where

    def decode(self, values: Sequence[Any]) -> Decoded:
        """Build the wanted columns.

        Raises:
            SchemaError: ``[context-value]`` if a value does not fit the columns; the message names column and value.
        """
        rows = [self._row(value) for value in values]
        return Decoded([self._column(index, [row[index] for row in rows]) for index in self.wanted], len(rows))

    def _row(self, value: Any) -> Sequence[Any]:
        if isinstance(value, Mapping):
            unknown = [name for name in value if name not in self.fields.names]
            if unknown:
                raise self._bad(value, f"a record has {unknown[0]!r}, which is no column of the schema")
            return [value.get(name) for name in self.fields.names]
        if isinstance(value, tuple):
            if len(value) != len(self.fields):
                raise self._bad(
                    value, f"a record has {count_of(len(value), 'value')} for {count_of(len(self.fields), 'column')}"
                )
            return value
        if len(self.fields) != 1:
            raise self._bad(value, f"a record is one value for {count_of(len(self.fields), 'column')}")
        return (value,)

    def _column(self, index: int, values: list[Any]) -> pa.Array:
        field = self.fields.field(index)
        try:
            return pa.array(values, field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            for value in values:
                try:
                    pa.array([value], field.type)
                except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                    message = f"a value of column {field.name!r} is no {field.type}"
                    raise self._bad(value, message, field.name) from error
            raise

    def _bad(self, value: Any, rule: str, column: str | None = None) -> SchemaError:
        return SchemaError(
            rule,
            Where(self.where.path, self.where.offset, self.where.block, column),
            seen=quote_bytes(repr(value).encode())[2:-1],
            fix="make schema and convert_to_record of the reader context agree",
            code="context-value",
        )
