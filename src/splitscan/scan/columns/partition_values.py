"""Values that names of partition directories hold, and the types that they fit: as Spark finds them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Any
from urllib.parse import unquote_to_bytes

import pyarrow as pa

from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.formats.decoding.utf8 import as_text

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What Hive and Spark call the directory of the records whose value is null."""

_MOST_DIGITS = 38
_INTEGER = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9])?")
_MOMENT = pa.timestamp("us", "UTC")
_DIGITS_OF = {pa.int32(): 10, pa.int64(): 20}  # of the decimal that holds every value of the type


def unescape(text: str) -> str:
    """Resolve ``%XX``; bytes that are UTF-8 together are one character, others are one each, as in Spark.

    Example:
        >>> unescape("a%2Fb"), unescape("%C3%A9"), unescape("%E9"), unescape("100%")
        ('a/b', 'é', 'é', '100%')
    """
    if "%" not in text:
        return as_text(text)

    def decode(run: re.Match[str]) -> str:
        octets = unquote_to_bytes(run.group())
        try:
            return octets.decode("utf-8")
        except UnicodeDecodeError:
            return octets.decode("latin-1")

    return re.sub(r"(?:%[0-9A-Fa-f]{2})+", decode, as_text(text))


def infer_type(texts: Iterable[str | None]) -> pa.DataType:
    """The narrowest type that all values fit: int, bigint, decimal, double, date, timestamp, else string.

    Example:
        >>> str(infer_type(["1", None, "2147483648"])), str(infer_type(["1", "x"])), str(infer_type(["2024-01-31"]))
        ('int64', 'string', 'date32[day]')
    """
    kinds = dict.fromkeys(_kind_of(text) for text in dict.fromkeys(texts) if text is not None)
    return reduce(_wider, kinds) if kinds else pa.string()


def parse_value(text: str | None, kind: pa.DataType) -> pa.Scalar | None:
    """The value of a directory in a column's type; ``None`` if it has no such value.

    Example:
        >>> parse_value("007", pa.int32()), parse_value("x", pa.int32())
        (<pyarrow.Int32Scalar: 7>, None)
    """
    if text is None:
        return pa.scalar(None, kind)
    parsed = _own_forms(text, kind)
    if parsed is not None:
        return pa.scalar(parsed, kind)
    try:
        column, bad = convert(pa.array([text]), kind, Rules())
    except pa.ArrowException:
        return None
    return None if bad is not None else column[0]


def _kind_of(text: str) -> pa.DataType:
    if _INTEGER.fullmatch(text):
        number = int(text) if len(text) <= _MOST_DIGITS + 1 else None
        for kind, bits in ((pa.int32(), 31), (pa.int64(), 63)):
            if number is not None and -(1 << bits) <= number < (1 << bits):
                return kind
    digits = _whole_digits(text)
    if digits is not None:
        return pa.decimal128(digits, 0)
    if _DOUBLE.fullmatch(text.strip()):
        return pa.float64()
    for pattern, kind in ((_TIMESTAMP, _MOMENT), (_DATE, pa.date32())):
        if pattern.fullmatch(text) and _own_forms(text, kind) is not None:
            return kind
    return pa.string()


def _whole_digits(text: str) -> int | None:
    """Digits of a number that is written with a point or an exponent, or is too large, and is whole all the same."""
    if not _DOUBLE.fullmatch(text):
        return None
    try:
        _, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(exponent, int) or exponent < 0:
        return None
    count = len(digits) + exponent
    return count if count <= _MOST_DIGITS else None


def _own_forms(text: str, kind: pa.DataType) -> Any:
    """Values in the forms that directories have beside those of fields; ``None`` for all others."""
    try:
        if kind in _DIGITS_OF and _INTEGER.fullmatch(text):
            return pa.scalar(int(text), kind).as_py()
        if pa.types.is_float64(kind) and _DOUBLE.fullmatch(text.strip()):
            return float(text.strip().rstrip("fFdD") if text.strip()[-1:] in "fFdD" else text)
        if pa.types.is_date32(kind) and _DATE.fullmatch(text):
            return date.fromisoformat(text)
        if kind == _MOMENT and _TIMESTAMP.fullmatch(text):
            return datetime.fromisoformat(text.ljust(23, "0") if "." in text else text).replace(tzinfo=UTC)
    except (ValueError, pa.ArrowException):
        return None
    return None


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds the values of both; numbers that a double would round are text."""
    if one == other:
        return one
    both = {one, other}
    if both == {pa.int32(), pa.int64()}:
        return pa.int64()
    if both == {pa.int32(), pa.float64()}:
        return pa.float64()
    if both == {pa.date32(), _MOMENT}:
        return _MOMENT
    digits = [_DIGITS_OF.get(kind) or (kind.precision if pa.types.is_decimal(kind) else 0) for kind in (one, other)]
    if all(digits):
        return pa.decimal128(max(digits), 0)
    return pa.string()
