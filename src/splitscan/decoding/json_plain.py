"""Python's own JSON scanner, which is fast, for the records that it reads exactly as the exact parser does.

It says nothing about where a value stands in the text, and it is lenient in other places than Spark. So it answers only
where that makes no difference; every other record is one for :mod:`splitscan.decoding.json_text`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa

from splitscan.decoding.conversions import Rules
from splitscan.decoding.json_values import MismatchError, mismatch, scalar_value

_WHOLE_ESCAPES = re.compile(r"\\(?:[^u]|u(?:[^dD]...|[dD][0-7]..|[dD][89abAB]..\\u[dD][c-fC-F]..))")
_DOUBLE = pa.float64()

Read: TypeAlias = Callable[[Any], Any]


class DoubtfulError(Exception):
    """Only the exact parser can tell what the record means, or how a value in it is written."""


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
        self._rules = rules
        self._allow_non_numeric_numbers = allow_non_numeric_numbers
        self._problems: list[str] = []
        self._fields = [(field.name, self._reader(field.type)) for field in fields]

    def read(self, text: str) -> tuple[list[Any], list[str]]:
        """The values of the fields, and what did not convert.

        Raises:
            DoubtfulError: If only the exact parser can tell.
        """
        return self._read(self._scan(text), text)

    def read_with_others(self, text: str, known: Set[str]) -> tuple[list[Any], list[str]]:
        """The values of the fields, and members that are not *known*, as JSON has them.

        Raises:
            DoubtfulError: If only the exact parser can tell: a value does not convert, or such a member is no scalar.
        """
        record = self._scan(text)
        row, problems = self._read(record, text)
        if problems:
            raise DoubtfulError
        return row, [
            f"{json.dumps(name, ensure_ascii=False)}:{_as_json(value)}"
            for name, value in record.items()
            if name not in known
        ]

    @staticmethod
    def _scan(text: str) -> dict[str, Any]:
        if ("\\ud" in text or "\\uD" in text) and "\\" in _WHOLE_ESCAPES.sub("", text):  # half a character
            raise DoubtfulError
        try:
            record = _SCANNER.decode(text)
        except (ValueError, RecursionError):
            raise DoubtfulError from None
        if type(record) is not dict:
            raise DoubtfulError
        return record

    def _read(self, record: dict[str, Any], text: str) -> tuple[list[Any], list[str]]:
        self._problems = []
        row = self._values(record, self._fields)
        if self._problems and "\\" in text:
            raise DoubtfulError  # strings may be written in more than one way
        return row, self._problems

    def _values(self, record: dict[str, Any], fields: list[tuple[str, Read]]) -> list[Any]:
        values = []
        for name, read in fields:
            value = record.get(name)
            if value is not None:
                try:
                    value = read(value)
                except MismatchError as error:
                    self._problems.append(f"column {name!r}: {error}")
                    value = None
            values.append(value)
        return values

    def _reader(self, kind: pa.DataType) -> Read:
        """The function from a value that is not null to what Arrow takes."""
        if pa.types.is_string(kind):
            return _text
        if pa.types.is_struct(kind):
            return self._struct(kind)
        if pa.types.is_list(kind):
            return self._list(kind)
        if pa.types.is_map(kind):
            return self._map(kind)
        return partial(_boolean, kind) if pa.types.is_boolean(kind) else partial(self._scalar, kind)

    def _scalar(self, kind: pa.DataType, value: Any) -> Any:
        found = None
        if isinstance(value, str):
            if kind == _DOUBLE and type(value) is _Number:
                return float(value)
            is_text, allow_named = type(value) is str, self._allow_non_numeric_numbers
            found = scalar_value(value, kind, self._rules, is_text=is_text, allow_named=allow_named)
        if found is None:
            raise _mismatch(value, kind)
        return found

    def _struct(self, kind: pa.StructType) -> Read:
        names = [kind.field(index).name for index in range(kind.num_fields)]
        fields = [(name, self._reader(kind.field(index).type)) for index, name in enumerate(names)]

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise _mismatch(value, kind)
            return dict(zip(names, self._values(value, fields), strict=True))

        return read

    def _list(self, kind: pa.ListType) -> Read:
        one = self._reader(kind.value_type)

        def read(value: Any) -> Any:
            if type(value) is not list:
                raise _mismatch(value, kind)
            return [None if item is None else one(item) for item in value]

        return read

    def _map(self, kind: pa.MapType) -> Read:
        one = self._reader(kind.item_type)

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise _mismatch(value, kind)
            return [(name, None if item is None else one(item)) for name, item in value.items()]

        return read


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return _written(value)
    raise DoubtfulError  # the text of an object or an array, as it was written


def _as_json(value: Any) -> str:
    """A scalar as JSON."""
    if isinstance(value, dict | list):
        raise DoubtfulError
    return str(value) if type(value) is _Number else json.dumps(value, ensure_ascii=False)


def _boolean(kind: pa.DataType, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _mismatch(value, kind)


def _mismatch(value: Any, kind: pa.DataType) -> MismatchError:
    return mismatch(_written(value), kind)


def _written(value: Any) -> str:
    """How a value is written in a record without backslashes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if type(value) is _Number else f'"{value}"'
    raise DoubtfulError
