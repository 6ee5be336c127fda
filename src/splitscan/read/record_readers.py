"""The ways to find records, behind one door: a record format, or a reader context."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from splitscan.blocks import BlockMetadata
from splitscan.content.storage import ByteSource
from splitscan.errors import UsageError
from splitscan.formats.framing.contract import Preamble, RecordFormat, Splittability
from splitscan.read.block_reader import BlockReader
from splitscan.read.reader_context import ContextReader, ReaderContext

T = TypeVar("T")

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, repr=False)
class ContextReading:
    """Reading by a reader context: every block gets a new one, so that blocks never see each other's state.

    Args:
        make: Makes a context that was never initialised.

    Pickling: if *make* can be pickled. The ``repr`` is the same in every process for the same configuration: it tells
    whether an ingest is run again or is another one.
    """

    make: Callable[[], ReaderContext]

    @property
    def name(self) -> str:
        """Name of the context's class."""
        return type(self.make()).__name__

    @property
    def schema(self) -> Any | None:
        """What the context declares: DDL text, an Arrow schema, or ``None``."""
        return getattr(self.make(), "schema", None)

    @property
    def splittability(self) -> Splittability:
        """Local, unless the context says that only whole files can be read."""
        return Splittability.LOCAL if getattr(self.make(), "splittable", True) else Splittability.WHOLE

    def __repr__(self) -> str:
        return describe(self.make())


def describe(thing: object) -> str:
    """A configured object as text, the same in every process: its class and its state, without addresses."""
    kind = type(thing)
    if kind.__repr__ is not object.__repr__:
        text = repr(thing)
    else:
        state = {**getattr(thing, "__dict__", {})}
        text = ", ".join(f"{name}={value!r}" for name, value in sorted(state.items()))
    return f"{kind.__module__}.{kind.__qualname__}({_ADDRESS.sub('', text)})"


@dataclass(frozen=True)
class CopiesOf(Generic[T]):
    """Makes copies of a reader that is itself never used."""

    original: T

    def __call__(self) -> T:
        """A copy."""
        return copy.deepcopy(self.original)


Framing: TypeAlias = RecordFormat | ContextReading
"""How records are found."""

OwnFormat: TypeAlias = RecordFormat | ReaderContext | Callable[[], ReaderContext]
"""What a user may give as a format of their own: see :func:`as_framing`."""


def as_framing(given: Any) -> Framing:
    """Understand a format of the user's own.

    Args:
        given: A record format, a reader context (which is copied for every block), or something callable that makes
            one: its class, or a function without arguments.

    Raises:
        UsageError: ``[bad-format]`` if it is none of these; the message says what is missing.
    """
    if isinstance(given, ContextReading):
        return given
    if not isinstance(given, type):
        if isinstance(given, RecordFormat):
            return given
        if isinstance(given, ReaderContext):
            return ContextReading(CopiesOf(given))
    if not callable(given):
        raise _no_format(given)
    made = make_one(given)
    if isinstance(made, ReaderContext):
        return ContextReading(given)
    if isinstance(made, RecordFormat):
        return made
    raise _no_format(made)


def make_one(factory: Callable[[], object]) -> object:
    """One of what a user's class or function makes, to see what that is.

    Raises:
        UsageError: ``[bad-format]`` if it fails.
    """
    try:
        return factory()
    except Exception as error:
        name = getattr(factory, "__name__", type(factory).__name__)
        raise UsageError(
            f"a format that is a class or a function is called without arguments, and {name} fails",
            seen=f"{type(error).__name__}: {error}",
            fix=f"pass an object, as in format={name}(...), or a function without arguments that makes one",
            code="bad-format",
        ) from error


def _no_format(given: Any) -> UsageError:
    of_reader, of_context = ("open", "next", "close"), ("initialize", "next")
    names = of_reader if any(hasattr(given, name) for name in ("open", "close")) else of_context
    lacking = [name for name in names if not hasattr(given, name)]
    return UsageError(
        "a format is a name, a reader, a reader context, or a record format",
        seen=f"{type(given).__name__}, which has no {' and no '.join(lacking)}",
        fix="see docs/extending.md",
        code="bad-format",
    )


def open_reader(
    framing: Framing,
    source: ByteSource,
    block: BlockMetadata,
    *,
    max_record_bytes: int,
    read_bytes: int,
    with_digest: bool = False,
    preamble: Preamble | None = None,
) -> BlockReader | ContextReader:
    """A reader of one block.

    Args:
        framing: How records are found.
        source: The open file.
        block: What to read.
        max_record_bytes: Longest content of a record.
        read_bytes: Size of one read.
        with_digest: Whether to hash the bytes of the span (:class:`ContentDigest`).
        preamble: What the file's head says, where that is known; a reader context does not need it.
    """
    if isinstance(framing, ContextReading):
        return ContextReader(
            source,
            block,
            framing.make(),
            max_record_bytes=max_record_bytes,
            read_bytes=read_bytes,
            with_digest=with_digest,
        )
    return BlockReader(
        source,
        block,
        framing,
        max_record_bytes=max_record_bytes,
        read_bytes=read_bytes,
        preamble=preamble,
        with_digest=with_digest,
    )
