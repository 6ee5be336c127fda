"""Keys of tables as bytes whose order is the order of the keys, so that ranges of them can be cut and tracked."""

from __future__ import annotations

import datetime as dt
import enum

import pyarrow as pa

_INTEGER_BYTES = 8
_UUID_BYTES = 16
_SIGN = 1 << (8 * _INTEGER_BYTES - 1)
_FIRST_DAY = (dt.date(1, 1, 1) - dt.date(1970, 1, 1)).days
_LAST_DAY = (dt.date(9999, 12, 31) - dt.date(1970, 1, 1)).days
_DAY_US = 86_400_000_000


class KeyKind(enum.Enum):
    """What the keys of a table are, and so which bytes stand for them.

    Integers, dates (days since 1970) and timestamps (microseconds since 1970) are 8 bytes, the largest digit first and
    the sign turned over; a uuid is its 16 bytes, text its UTF-8, and bytes are themselves.
    """

    INTEGER = "integer"
    TEXT = "text"
    UUID = "uuid"
    BYTES = "bytes"
    DATE = "date"
    TIMESTAMP = "timestamp"

    def representable(self, key: bytes) -> bytes:
        r"""The key nearest to any bytes, at or before them as a rule, that the database can be told.

        Returns:
            It; empty where there is none. The same key comes back as it is.

        Example:
            >>> KeyKind.TEXT.representable("aé".encode()[:2]), KeyKind.UUID.representable(b"\x80")[:3]
            (b'a', b'\x80\x00\x00')
        """
        match self:
            case KeyKind.TEXT:
                return key.partition(b"\0")[0].decode("utf-8", "ignore").encode()
            case KeyKind.BYTES:
                return key
            case KeyKind.UUID:
                return _of_width(key, _UUID_BYTES)
            case KeyKind.INTEGER:
                return _of_width(key, _INTEGER_BYTES)
            case KeyKind.DATE:
                return from_integer(_clamped(to_integer(key), _FIRST_DAY, _LAST_DAY))
            case KeyKind.TIMESTAMP:
                return from_integer(_clamped(to_integer(key), _FIRST_DAY * _DAY_US, (_LAST_DAY + 1) * _DAY_US - 1))


def to_integer(key: bytes) -> int:
    """The integer that a key stands for; bytes after the eighth say nothing.

    Example:
        >>> to_integer(from_integer(-3)), from_integer(-1) < from_integer(0) < from_integer(1)
        (-3, True)
    """
    return int.from_bytes(_of_width(key, _INTEGER_BYTES), "big") - _SIGN


def from_integer(value: int) -> bytes:
    """The key of an integer of 64 bits."""
    return (value + _SIGN).to_bytes(_INTEGER_BYTES, "big")


def keys_of(column: pa.Array) -> list[bytes]:
    """The keys in a column as a driver delivers it, nulls left out. One Python object for each: not for whole tables.

    Example:
        >>> keys_of(pa.array(["b", None, "a"]))
        [b'b', b'a']
    """
    stored = column.storage if isinstance(column, pa.ExtensionArray) else column
    kind = stored.type
    if pa.types.is_date32(kind):
        stored = stored.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        stored = stored.cast(pa.int64())
    values = [value for value in stored.to_pylist() if value is not None]
    if pa.types.is_string(kind):
        return [value.encode() for value in values]
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return values
    return [from_integer(value) for value in values]


def _of_width(key: bytes, width: int) -> bytes:
    return key[:width].ljust(width, b"\0")


def _clamped(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
