"""Decoders that formats share: of records that are one value, objects, or parts of a text; and what does not fit."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.errors import SchemaError, Where, quote_bytes
from splitscan.formats.decoding.contract import BAD_VALUE, Decoded, Fault, Faults, FaultTemplate, bad_value
from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.formats.framing.contract import BEFORE_FIRST_RECORD, SHORT_RECORD
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, records_of
from splitscan.sizes import count_of

# ---------------------------------------------------------------- data that does not fit its columns


FILE_PATH = "_file_path"
"""The member that names the file, after the rescued ones."""

_ODD = r'["\\\x00-\x1f]'  # what JSON escapes
_CONTROL = r"[\x00-\x1f]"


@dataclass(frozen=True, slots=True)
class Rescue:
    """That data which does not fit is kept, so that it is no fault.

    Attributes:
        path: The file, as the kept text names it.
        max_fields: Most fields in a record of CSV; one with more is broken all the same.
        wanted: Whether the text is asked for; if not, what does not fit is no fault either.
    """

    path: str
    max_fields: int = 0
    wanted: bool = True


def json_texts(values: pa.Array) -> pa.Array:
    """Strings as JSON writes them; null stays null."""
    if pc.any(pc.match_substring_regex(values, _ODD)).as_py():
        escaped = pc.replace_substring(pc.replace_substring(values, "\\", "\\\\"), '"', '\\"')
        controls = pc.fill_null(pc.match_substring_regex(values, _CONTROL), False)
        if pc.any(controls).as_py():  # rare in data, and of many kinds
            exact = [json.dumps(text, ensure_ascii=False)[1:-1] for text in values.filter(controls).to_pylist()]
            escaped = pc.replace_with_mask(escaped, controls, pa.array(exact, pa.string()))
        values = escaped
    quote = pa.scalar('"')
    return pc.binary_join_element_wise(quote, values, quote, "", null_handling="emit_null")


def rescued_column(members: Mapping[str, pa.Array], extras: Mapping[int, str], rows: int, path: str) -> pa.Array:
    """The rescued data of some records: one JSON object each, null where nothing is to be kept.

    Members are JSON texts by name, extras further members by record, as JSON has them: ``"name":value,"name":value``.

    Example:
        >>> rescued_column({"a": pa.array([None, '"x"'])}, {}, 2, "f.csv").to_pylist()
        [None, '{"a":"x","_file_path":"f.csv"}']
    """
    columns = [(json.dumps(name, ensure_ascii=False), values.to_pylist()) for name, values in members.items()]
    found = []
    for row in range(rows):
        parts = [f"{name}:{values[row]}" for name, values in columns if values[row] is not None]
        found.append(with_path([*parts, extras[row]] if row in extras else parts, path))
    return pa.array(found, pa.string())


def with_path(members: Sequence[str], path: str) -> str | None:
    """The rescued data of one record, from its members as JSON has them; ``None`` without any."""
    return "{" + ",".join(members) + tail_of(path) if members else None


def tail_of(path: str) -> str:
    """End of the kept text: the file, and the closing brace."""
    return f",{json.dumps(FILE_PATH)}:{json.dumps(path, ensure_ascii=False)}}}"


def extra_members(names: Sequence[str], values: Sequence[str | None]) -> str | None:
    """Members of one record, as JSON has them; ``None`` without any value."""
    pairs = zip(names, values, strict=True)
    return ",".join(f"{json.dumps(n, ensure_ascii=False)}:{json.dumps(v, ensure_ascii=False)}"
                    for n, v in pairs if v is not None) or None  # fmt: skip


# ---------------------------------------------------------------- records that are one value


SHORT_WORDING = FaultTemplate(SHORT_RECORD, "the file ends inside the record")
"""What is said of a last record that the file cuts off."""

NOT_BEGUN_WORDING = FaultTemplate(BEFORE_FIRST_RECORD, "nothing before it begins a record")
"""What is said of what is before the first record."""


@dataclass(frozen=True)
class ValueDecoder:
    """Records as one value each: bytes as they are, or text in an encoding. A broken one is delivered and reported.

    Guarantees: bytes that are not text in *encoding* become U+FFFD; nothing else is changed.

    Args:
        encoding: Of text; ``None`` for bytes as they are.
        kind: What text becomes: strings, or their bytes in UTF-8.
        wanted: Whether the column is asked for at all.
        wording: Said of broken records of a known kind.
    """

    encoding: Encoding | None = None
    wanted: bool = True
    wording: FaultTemplate = SHORT_WORDING
    kind: pa.DataType = field(default_factory=pa.string)

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
            columns = [pa.array(map(self.encoding.text, records_of(data, frames)), pa.string()).cast(self.kind)]
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


# ---------------------------------------------------------------- records whose columns are parts of their text


SPACE = bytes(range(0x21)).decode("ascii")
"""Blanks: this character and those below it."""


@dataclass(frozen=True, kw_only=True)
class PartsDecoder(ABC):
    """Decodes records whose columns are parts of their text.

    Args:
        encoding: Of the file.
        fields: Columns to deliver, in order.
        null_value: Text of a null, beside blank ones.
        rules: How times are written.
        own_rules: The same for columns that have a pattern of their own, by name.
        rescue: Where given, values that do not fit are kept, and are no faults.
    """

    encoding: Encoding
    fields: tuple[pa.Field, ...]
    null_value: str
    rules: Rules = field(default_factory=Rules)
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    rescue: Rescue | None = None

    @abstractmethod
    def parts(self, data: memoryview, frames: Frames) -> tuple[list[pa.Array], dict[int, Fault]]:
        """The text of each column, null where it is one; and the records that are broken in any case, by index."""

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        texts, faults = self.parts(data, frames)
        columns, unfit = [], {}
        for column, text in zip(self.fields, texts, strict=True):
            values, bad = (text, None) if text.type == column.type else convert(text, column.type, self._rules(column))
            columns.append(values)
            if bad is not None and self.rescue is not None:
                unfit[column.name] = json_texts(pc.if_else(pa.array(bad), text, None))
            elif bad is not None:
                self._report(text, bad, column, faults)
        rescued = None
        if self.rescue is not None and self.rescue.wanted:
            rescued = rescued_column(unfit, {}, len(frames), self.rescue.path)
        return Decoded(columns, len(frames), Faults(faults.values()), rescued)

    def written(self, column: pa.Field) -> str:
        """Notation of a column's values, for faults."""
        return self._rules(column).written(column.type, own=column.name in self.own_rules)

    def without_nulls(self, text: pa.Array, shown: pa.Array) -> pa.Array:
        """Shown texts of a column: null where its text is blank, or is that of a null."""
        blank = pc.equal(pc.utf8_trim(text, SPACE), "")
        return pc.if_else(pc.or_(blank, pc.equal(shown, self.null_value)), None, shown)

    def _rules(self, column: pa.Field) -> Rules:
        return self.own_rules.get(column.name, self.rules)

    def _report(self, text: pa.Array, bad: npt.NDArray[np.bool_], column: pa.Field, faults: dict[int, Fault]) -> None:
        written = self.written(column)
        for record in np.flatnonzero(bad).tolist():
            reason = bad_value(column.name, text[record].as_py(), column.type) + written
            faults.setdefault(record, Fault(record, BAD_VALUE, reason, False))
