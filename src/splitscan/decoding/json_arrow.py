"""Arrow's JSON parser over record-aligned buffers: exact for what it accepts, and told apart from what it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

from splitscan.decoding.conversions import Rules, convert
from splitscan.decoding.csv_parsing import one_chunk
from splitscan.decoding.tiny_numbers import has_tiny_number
from splitscan.framing.frames import Offsets

_NOTHING = pa.field("\0", pa.string())  # asked for where no column is, so that rows are counted
_ARRAY_HEAD, _ARRAY_TAIL = b'{"":[', b"]}\n"  # around the elements of an array: one record, with one member
_BEHIND_ELEMENTS = b" \t\r\n,]"
_LONGEST_TAIL = 4096  # of what lies behind the last element, and does not fit into an array
_SPACE = 0x20
_BRACES = (ord("{"), ord("}"))
_IN_ROW = re.compile(r" in row ([0-9]+)$")  # where Arrow stopped to parse
_IS_ZULU = r"^[12][0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$"


class RefusedError(Exception):
    """Arrow does not read these records, or may read them differently.

    Attributes:
        record: The first record that is the reason, ``None`` where that is not known. Only a hint.
    """

    def __init__(self, record: int | None = None) -> None:
        super().__init__(record)
        self.record = record


@dataclass(frozen=True)
class ArrowReader:
    """Reads columns of many records at once.

    Args:
        rules: How times are written.
        own_rules: The same for columns that have a pattern of their own, by name.
        refuses_others: Whether records that have other members than the columns are refused.
    """

    rules: Rules
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    refuses_others: bool = False

    def read(self, data: memoryview, starts: Offsets, stops: Offsets, fields: Sequence[pa.Field]) -> list[pa.Array]:
        """The columns of the records at *starts*, of which there is at least one.

        Raises:
            RefusedError: If a record is not what Arrow and Spark read alike.
        """
        return self._read_lines(_side_by_side(data, starts, stops), len(starts), fields)

    def read_counted(
        self, data: memoryview, count: int, fields: Sequence[pa.Field], *, is_array: bool
    ) -> list[pa.Array]:
        """The columns of all records of *data*, as they lie there.

        Args:
            data: Whole records, and what divides them.
            count: How many there are, at least one.
            fields: What is wanted.
            is_array: Whether they are elements of an array, with commas between them.

        Raises:
            RefusedError: If a record, or what divides two, is not what Arrow and Spark read alike.
        """
        if not is_array:
            return self._read_lines(data, count, fields)
        table = self._parse(_as_array(data), [pa.field("", pa.list_(pa.struct(self._asked(fields))))])
        elements = one_chunk(table.column(0)).flatten()
        if table.num_rows != 1 or len(elements) != count or elements.null_count:
            raise RefusedError
        return self._finished(elements.flatten(), fields)

    def _read_lines(
        self, text: memoryview | npt.NDArray[np.uint8], count: int, fields: Sequence[pa.Field]
    ) -> list[pa.Array]:
        table = self._parse(pa.py_buffer(text), self._asked(fields))
        if table.num_rows != count:
            raise RefusedError
        return self._finished(map(one_chunk, table.columns), fields)

    def _asked(self, fields: Sequence[pa.Field]) -> list[pa.Field]:
        return [pa.field(f.name, _asked(f.type)) for f in fields] or [_NOTHING]

    def _parse(self, text: pa.Buffer, asked: list[pa.Field]) -> pa.Table:
        """The members of the records of *text*, as Arrow's parser has them.

        Raises:
            RefusedError: If Arrow refuses them, or would read a decimal wrongly.
        """
        if any(_has_decimals(f.type) for f in asked) and has_tiny_number(memoryview(text), is_json=True):
            raise RefusedError
        try:
            return json.read_json(
                pa.BufferReader(text),
                read_options=json.ReadOptions(use_threads=False, block_size=len(text) + 1),
                parse_options=json.ParseOptions(
                    explicit_schema=pa.schema(asked),
                    newlines_in_values=False,
                    unexpected_field_behavior="error" if self.refuses_others else "ignore",
                ),
            )
        except pa.ArrowInvalid as error:
            found = _IN_ROW.search(str(error))
            raise RefusedError(int(found[1]) if found else None) from error

    def _finished(self, columns: Iterable[pa.Array], fields: Sequence[pa.Field]) -> list[pa.Array]:
        """What was asked for, in the declared types."""
        try:
            return [
                self._finish(column, f.type, self.own_rules.get(f.name, self.rules), is_top=True)
                for column, f in zip(columns, fields, strict=False)  # the column of nothing is nobody's
            ]
        except pa.ArrowInvalid as error:
            raise RefusedError from error

    def _finish(self, column: pa.Array, kind: pa.DataType, rules: Rules, *, is_top: bool = False) -> pa.Array:
        """From what Arrow was asked for to the declared type."""
        if pa.types.is_struct(kind):
            children = [self._finish(column.field(i), kind.field(i).type, rules) for i in range(kind.num_fields)]
            fields = [kind.field(i) for i in range(kind.num_fields)]
            return pa.StructArray.from_arrays(children, fields=fields, mask=column.is_null())
        if pa.types.is_list(kind):
            values = self._finish(column.values, kind.value_type, rules)
            return pa.ListArray.from_arrays(column.offsets, values, type=kind, mask=column.is_null())
        if pa.types.is_decimal(kind):
            column.validate(full=True)
            return column
        if column.type == kind:
            return column
        finished, bad = self._convert(column, kind, rules)
        if bad is not None:
            raise RefusedError(int(np.argmax(bad)) if is_top else None)
        return finished

    @staticmethod
    def _convert(column: pa.Array, kind: pa.DataType, rules: Rules) -> tuple[pa.Array, npt.NDArray[np.bool_] | None]:
        """Texts as values, and which of them are none."""
        is_zoned = pa.types.is_timestamp(kind) and kind.tz is not None and rules.timestamp_format is None
        if is_zoned and pc.all(pc.match_substring_regex(column, _IS_ZULU), min_count=0).as_py():
            try:
                return column.cast(kind), None
            except pa.ArrowInvalid:
                pass
        return convert(column, kind, rules)


def is_for_arrow(kind: pa.DataType) -> bool:
    """Whether Arrow's parser has the type at all."""
    if pa.types.is_map(kind) or pa.types.is_binary(kind):
        return False
    return all(is_for_arrow(kind.field(i).type) for i in range(kind.num_fields))


def _has_decimals(kind: pa.DataType) -> bool:
    return pa.types.is_decimal(kind) or any(_has_decimals(kind.field(i).type) for i in range(kind.num_fields))


def _side_by_side(data: memoryview, starts: Offsets, stops: Offsets) -> npt.NDArray[np.uint8]:
    """The records with nothing but white space between them.

    Raises:
        RefusedError: If a record does not begin and end with a brace: then Arrow might take parts of two for one.
    """
    low, high = int(starts[0]), int(stops[-1])
    region = np.frombuffer(data, dtype=np.uint8)[low:high]
    first, last = starts - low, stops - low - 1
    for at, step, brace in ((first.copy(), 1, _BRACES[0]), (last.copy(), -1, _BRACES[1])):
        left = np.arange(len(at))
        while len(left):  # white space around the value
            left = left[
                (region[at[left]] <= _SPACE) & (first[left] <= at[left] + step) & (at[left] + step <= last[left])
            ]
            at[left] += step
        wrong = region[at] != brace
        if wrong.any():
            raise RefusedError(int(np.argmax(wrong)))
    text = np.empty(len(region) + 1, dtype=np.uint8)
    text[:-1] = region
    text[-1] = ord("\n")
    lengths = first[1:] - last[:-1] - 1
    total = int(lengths.sum())
    if total:
        gaps = np.arange(total) + np.repeat(last[:-1] + 1 - np.cumsum(lengths) + lengths, lengths)
        text[gaps] = ord(" ")
    return text


def _as_array(data: memoryview) -> pa.Buffer:
    """Elements of an array, and the commas between them, as one record that has them in its only member.

    Raises:
        RefusedError: If too much lies behind the last element.
    """
    tail = bytes(data[-_LONGEST_TAIL:])
    kept = len(tail.rstrip(_BEHIND_ELEMENTS))
    if not kept:
        raise RefusedError
    return pa.py_buffer(b"".join((_ARRAY_HEAD, data[: len(data) - len(tail) + kept], _ARRAY_TAIL)))


def _asked(kind: pa.DataType) -> pa.DataType:
    """The type that Arrow's parser is asked for: text where Spark's rules say what a value is."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(kind.field(i).name, _asked(kind.field(i).type)) for i in range(kind.num_fields)])
    if pa.types.is_list(kind):
        return pa.list_(_asked(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) else kind
