"""Protocols whose ``isinstance`` costs little: what a class has is looked up once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from abc import ABCMeta as _ProtocolMeta
else:
    _ProtocolMeta = type(Protocol)

_CLASSES = 1024  # pairs of a class and a protocol that are remembered
_NOTHING = object()


class QuickProtocol(_ProtocolMeta):
    """Metaclass of protocols that are asked for again and again, as for every file.

    ``isinstance`` answers as :func:`typing.runtime_checkable` has it: an object fits if it has all members, and none of
    the methods is ``None``. Members that the class has are not looked for in each object, so that neither properties
    nor slots are looked into. Names that begin with an underscore are no members.

    Example:
        >>> import io, typing
        >>> @typing.runtime_checkable
        ... class Closing(Protocol, metaclass=QuickProtocol):
        ...     def close(self) -> None: ...
        >>> isinstance(io.BytesIO(), Closing), isinstance("text", Closing)
        (True, False)
    """

    def __instancecheck__(self, instance: object) -> bool:
        if Protocol not in self.__bases__:  # a class that implements one
            return bool(super().__instancecheck__(instance))
        kind: type = type(instance)
        protocol: type = self
        for name in _lacking(kind, protocol):
            value = getattr(instance, name, _NOTHING)
            if value is _NOTHING or (value is None and _is_method(protocol, name)):
                return False
        return True


@lru_cache(maxsize=_CLASSES)
def _lacking(kind: type, protocol: type) -> tuple[str, ...]:
    """Members of a protocol that objects of a class have only if each has them by itself."""
    lacking = set()
    for base in protocol.__mro__:
        if Protocol not in base.__bases__:
            continue
        for name in (*vars(base), *vars(base).get("__annotations__", ())):
            value = getattr(kind, name, _NOTHING)
            if not name.startswith("_") and (value is _NOTHING or (value is None and _is_method(protocol, name))):
                lacking.add(name)
    return tuple(sorted(lacking))


def _is_method(protocol: type, name: str) -> bool:
    return callable(getattr(protocol, name, None))
