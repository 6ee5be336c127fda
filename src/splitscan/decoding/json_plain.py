"""Python's own JSON scanner, which is fast, for the records that it reads exactly as the exact parser does.

It says nothing about where a value stands in the text, and it is lenient in other places than Spark. So it answers only
where that makes no difference; every other record is one for :mod:`splitscan.decoding.json_text`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa

from splitscan.decoding.conversions import Rules
from splitscan.decoding.json_values import scalar_value

_WHOLE_ESCAPES = re.compile(r"\\(?:[^u]|u(?:[^dD]...|[dD][0-7]..|[dD][89abAB]..\\u[dD][c-fC-F]..))")

Read: TypeAlias = Callable[[Any], Any]


class DoubtfulError(Exception):
    """The record may mean something else, or has a value that does not convert."""


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _refuse_constant(_: str) -> NoReturn:
    raise DoubtfulError


_SCANNER = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_refuse_constant)


class PlainReader:
    """Reads single records.

    Args:
        fields: What to deliver.
        rules: How times are written.
        allow_non_numeric_numbers: Whether ``"NaN"`` and the like are numbers.
    """

    def __init__(self, fields: Sequence[pa.Field], rules: Rules, *, allow_non_numeric_numbers: bool) -> None:
        self._makers = _Readers(rules, allow_non_numeric_numbers)
        self._fields = [(field.name, self._makers.of(field.type)) for field in fields]

    def read(self, text: str) -> list[Any]:
        """The values of the fields.

        Raises:
            DoubtfulError: If only the exact parser can tell.
        """
        if ("\\ud" in text or "\\uD" in text) and "\\" in _WHOLE_ESCAPES.sub("", text):  # half a character
            raise DoubtfulError
        try:
            record = _SCANNER.decode(text)
        except (ValueError, RecursionError):
            raise DoubtfulError from None
        if type(record) is not dict:
            raise DoubtfulError
        get = record.get
        return [None if (value := get(name)) is None else read(value) for name, read in self._fields]


class _Readers:
    """Functions from a value that is not null to what Arrow takes."""

    def __init__(self, rules: Rules, allow_non_numeric_numbers: bool) -> None:
        self._rules = rules
        self._allow_non_numeric_numbers = allow_non_numeric_numbers

    def of(self, kind: pa.DataType) -> Read:
        """The function for a type."""
        if pa.types.is_string(kind):
            return _text
        if pa.types.is_boolean(kind):
            return _boolean
        if pa.types.is_float64(kind):
            return self._double
        if pa.types.is_struct(kind):
            return self._struct(kind)
        if pa.types.is_list(kind):
            return self._list(kind)
        return self._map(kind) if pa.types.is_map(kind) else self._scalar(kind)

    def _double(self, value: Any) -> float:
        if type(value) is _Number:
            return float(value)
        return float(self._scalar(pa.float64())(value))

    def _scalar(self, kind: pa.DataType) -> Read:
        def read(value: Any) -> Any:
            if not isinstance(value, str):
                raise DoubtfulError
            found = scalar_value(
                value, kind, self._rules, is_text=type(value) is str, allow_named=self._allow_non_numeric_numbers
            )
            if found is None:
                raise DoubtfulError
            return found

        return read

    def _struct(self, kind: pa.StructType) -> Read:
        fields = [(kind.field(index).name, self.of(kind.field(index).type)) for index in range(kind.num_fields)]

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise DoubtfulError
            return {name: None if (item := value.get(name)) is None else one(item) for name, one in fields}

        return read

    def _list(self, kind: pa.ListType) -> Read:
        one = self.of(kind.value_type)

        def read(value: Any) -> Any:
            if type(value) is not list:
                raise DoubtfulError
            return [None if item is None else one(item) for item in value]

        return read

    def _map(self, kind: pa.MapType) -> Read:
        one = self.of(kind.item_type)

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise DoubtfulError
            return [(name, None if item is None else one(item)) for name, item in value.items()]

        return read


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    raise DoubtfulError  # the text of an object or an array, as it was written


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise DoubtfulError
