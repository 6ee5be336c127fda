"""Spelling of what is kept on disks: paths as UTF-8 under every locale, frozen values as JSON.

Python decodes the names of files by the locale of the process, so that one file has as many texts as there are
locales. What is kept (ledgers, window logs, identities) names a file by the bytes of its path, spelled as UTF-8.
What is open in a process keeps the text of that process.

JSON objects are derived from the declarations of frozen values: the one spelling of ledgers, reports and kept plans. A
field that equals its default is left out. Texts with rules of their own are declared as ``Annotated[str, Spelling]``.
Reading checks every kind: nothing that was read is evaluated or believed.
"""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from splitscan.errors import IngestError
from splitscan.redaction import redact

_ENCODING = sys.getfilesystemencoding()
_ERRORS = sys.getfilesystemencodeerrors()
_IS_UTF8 = _ENCODING.lower().replace("-", "") == "utf8"


def portable_path(path: str, of: str = "") -> str:
    r"""Spell a path of this process as UTF-8, whatever the locale. Bytes that are no UTF-8 stay as surrogates.

    A URI stays as it is, for an object store has texts for names.

    Args:
        path: The path, or a part of one.
        of: The whole path that it is a part of, if it is.

    Example:
        >>> portable_path("/data/\udcc3\udca9.csv")  # what the locale C makes of the bytes of an é
        '/data/é.csv'
    """
    if path.isascii() or not (of or path).startswith("/"):
        return path
    try:
        data = path.encode(_ENCODING, _ERRORS)
    except UnicodeEncodeError:  # a member of an archive, whose name has an encoding of its own
        return _as_utf8(path)
    return data.decode("utf-8", "surrogateescape")


def native_path(path: str, of: str = "") -> str:
    """Spell a kept path as this process does: the inverse of :func:`portable_path`.

    Paths that an earlier version kept as the text of the locale C are understood, too.

    Example:
        >>> native_path("/data/a.csv"), native_path("s3://bucket/é.csv")
        ('/data/a.csv', 's3://bucket/é.csv')
    """
    if path.isascii() or not (of or path).startswith("/"):
        return path
    if _IS_UTF8:
        return _as_utf8(path)
    try:
        return path.encode("utf-8", "surrogateescape").decode(_ENCODING, _ERRORS)
    except UnicodeError:
        return path


def _as_utf8(path: str) -> str:
    try:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # surrogates that stand for no byte: no file has such a name
        return path


def as_text(name: str) -> str:
    """Text that Arrow can hold: names of files may be no valid UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


T = TypeVar("T")

Json: TypeAlias = Mapping[str, Any]

_Read: TypeAlias = Callable[[Any, str], Any]
_Write: TypeAlias = Callable[[Any], Any]


class Spelling(NamedTuple):
    """Rules for a text or a number beyond its kind. Other whole numbers are at least 0.

    *read* checks a value that was read and gives it back, or another one for it, or raises :func:`damaged`; *write*
    gives what stands for a value in JSON.
    """

    read: Callable[[Any], Any]
    write: _Write | None = None


class _Field(NamedTuple):
    name: str
    read: _Read
    write: _Write | None
    default: Any


def damaged(what: str) -> IngestError:
    """The error for a file that is not as it was written."""
    return IngestError(
        "a ledger is damaged", seen=what,
        fix="restore the file from a backup; without it, what was ingested cannot be told", code="ledger-damaged",
    )  # fmt: skip


def read_object(data: bytes | str) -> dict[str, Any]:
    """Parse a JSON object: ``[ledger-damaged]`` if it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise damaged("a line is not JSON") from None
    return cast("dict[str, Any]", _checked(value, "a line", dict))


def to_plain(value: Any) -> dict[str, Any]:
    """Spell a dataclass or named tuple as a JSON object; nothing of it is copied that JSON holds as it is.

    Example:
        >>> from splitscan.blocks import Damage
        >>> to_plain(Damage("truncated-container", 5, 80, 10))
        {'code': 'truncated-container', 'file_offset': 5, 'content_offset': 80, 'lost_bytes': 10}
    """
    plain = {}
    for name, _, write, default in _fields_of(type(value)):  # type: ignore[arg-type]  # a class has a hash
        own = getattr(value, name)
        if default is MISSING or own != default:
            plain[name] = own if write is None else write(own)
    return plain


def from_plain(kind: type[T], raw: Any, what: str = "") -> T:
    """Build a value of *kind* from what :func:`to_plain` made of it: ``[ledger-damaged]`` if a field breaks a rule."""
    plain = _checked(raw, what or kind.__name__, dict)
    values = []
    for name, read, _, default in _fields_of(kind):  # type: ignore[arg-type]  # a class has a hash
        own = plain.get(name, default)
        if own is MISSING:
            raise damaged(f"{name} is missing")
        values.append(own if own is default else read(own, name))
    return kind(*values)


@cache
def _fields_of(kind: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        defaults = {
            each.name: each.default if each.default_factory is MISSING else each.default_factory()
            for each in fields(kind)
        }
    else:
        defaults = {name: kind._field_defaults.get(name, MISSING) for name in kind._fields}
    return tuple(_Field(name, *_codec_of(hints[name]), default) for name, default in defaults.items())


def _codec_of(kind: Any) -> tuple[_Read, _Write | None]:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        base, spelling = arguments[0], cast("Spelling", arguments[1])
        return lambda raw, name: spelling.read(_checked(raw, name, base)), spelling.write
    if origin in {Union, UnionType}:
        (inner,) = (each for each in arguments if each is not NoneType)
        read, write = _codec_of(inner)
        return (
            lambda raw, name: None if raw is None else read(raw, name),
            None if write is None else lambda value: None if value is None else write(value),
        )
    if origin is tuple and arguments[1:] == (...,):
        return _many(*_codec_of(arguments[0]))
    if origin is tuple:
        return _fixed([_codec_of(each) for each in arguments])
    if origin is not None:  # a mapping of plain JSON
        return lambda raw, name: _checked(raw, name, dict), None
    return _simple(kind)


def _simple(kind: Any) -> tuple[_Read, _Write | None]:
    if kind is bytes:
        return _read_hex, bytes.hex
    if kind is int:
        return _read_whole, None
    if kind is float:
        return lambda raw, name: float(raw if type(raw) is int else _checked(raw, name, float)), None
    if issubclass(kind, enum.Enum):
        by_value = {each.value: each for each in kind}
        return lambda raw, name: _looked_up(by_value, raw, name), lambda value: value.value
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return lambda raw, name: from_plain(kind, raw, name), to_plain
    return lambda raw, name: _checked(raw, name, kind), None


def _many(read: _Read, write: _Write | None) -> tuple[_Read, _Write]:
    return (
        lambda raw, name: tuple(read(each, name) for each in _checked(raw, name, list)),
        list if write is None else lambda value: list(map(write, value)),
    )


def _fixed(codecs: list[tuple[_Read, _Write | None]]) -> tuple[_Read, _Write]:
    def read(raw: Any, name: str) -> tuple[Any, ...]:
        if len(_checked(raw, name, list)) != len(codecs):
            raise damaged(f"{name} has not {len(codecs)} values")
        return tuple(own(each, name) for (own, _), each in zip(codecs, raw, strict=True))

    def write(value: tuple[Any, ...]) -> list[Any]:
        return [each if own is None else own(each) for (_, own), each in zip(codecs, value, strict=True)]

    return read, write


def _checked(raw: Any, name: str, kind: type) -> Any:
    if type(raw) is not kind:
        raise damaged(f"{name} is no {kind.__name__}")
    return raw


def _read_whole(raw: Any, name: str) -> int:
    if type(raw) is not int or raw < 0:
        raise damaged(f"{name} is no whole number of at least 0")
    return raw


def _read_hex(raw: Any, name: str) -> bytes:
    try:
        return bytes.fromhex(_checked(raw, name, str))
    except ValueError:
        raise damaged(f"{name} is not hexadecimal") from None


def _looked_up(by_value: Mapping[Any, Any], raw: Any, name: str) -> Any:
    if not isinstance(raw, str) or raw not in by_value:
        raise damaged(f"{name} is none")
    return by_value[raw]


def describe_value(value: Any) -> Any:
    """Spell any value, which nobody reads back, as JSON holds it: secrets are masked."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: describe_value(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, enum.Enum):
        return describe_value(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return redact(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return {str(name): describe_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [describe_value(item) for item in value]
        return sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items
    return repr(value)  # bytes, zones, patterns: their texts tell them apart
