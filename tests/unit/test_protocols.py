"""Quick protocols answer as plain ones do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Protocol, runtime_checkable

import pytest

from splitscan.formats.fixed.framing import FixedFormat
from splitscan.formats.framing.contract import RecordFormat
from splitscan.protocols import QuickProtocol


@runtime_checkable
class Plain(Protocol):
    name: str

    @property
    def size(self) -> int: ...

    def read(self) -> bytes: ...


@runtime_checkable
class Quick(Protocol, metaclass=QuickProtocol):
    name: str

    @property
    def size(self) -> int: ...

    def read(self) -> bytes: ...


class Whole:
    name = "whole"
    size = 1

    def read(self) -> bytes:
        return b""


class NoName:
    size = 1

    def read(self) -> bytes:
        return b""


class Blocked(Whole):
    read = None  # type: ignore[assignment]


class Nameless(Whole):
    name = None  # type: ignore[assignment]


class Delegating:
    def __init__(self, inner: object) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _named() -> NoName:
    thing = NoName()
    thing.name = "its own"  # type: ignore[attr-defined]
    return thing


THINGS = [
    Whole(), NoName(), _named(), NoName(), Blocked(), Nameless(), Delegating(Whole()), Delegating(NoName()),
    Delegating(Blocked()), SimpleNamespace(name="", size=0, read=print), SimpleNamespace(name="", size=0, read=None),
    SimpleNamespace(name=None, size=0, read=print), SimpleNamespace(), None, 1, Whole, NoName,
]  # fmt: skip


@pytest.mark.parametrize("thing", THINGS, ids=range(len(THINGS)))
def test_an_object_fits_where_it_fits_the_plain_protocol(thing: object) -> None:
    assert isinstance(thing, Quick) is isinstance(thing, Plain)


def test_a_class_that_implements_a_protocol_is_a_class() -> None:
    class Own(Quick):
        name = "own"

        @property
        def size(self) -> int:
            return 0

        def read(self) -> bytes:
            return b""

    assert isinstance(Own(), Own)
    assert isinstance(Own(), Quick)
    assert not isinstance(Whole(), Own)


@runtime_checkable
class Longer(Quick, Protocol, metaclass=QuickProtocol):
    def close(self) -> None: ...


def test_a_protocol_has_the_members_of_those_it_extends() -> None:
    assert isinstance(FixedFormat(3), RecordFormat)
    assert not isinstance(Whole(), Longer)
    assert not isinstance(SimpleNamespace(close=print), Longer)
    assert isinstance(SimpleNamespace(name="", size=0, read=print, close=print), Longer)
