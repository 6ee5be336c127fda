"""How records are found, behind one door: by a record format, a reader context, or a reader; and users' own ones."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import pyarrow as pa

from splitscan.errors import UsageError, bad_option
from splitscan.formats.contract import VALUE
from splitscan.formats.decoding.ddl import as_schema
from splitscan.formats.framing.contract import RecordFormat, Splittability
from splitscan.formats.registry import parse_options
from splitscan.options import ReadOptions
from splitscan.options.table import plain_name
from splitscan.reading.framework import ManagedReader
from splitscan.reading.framework.contract import declared_schema, name_of
from splitscan.reading.reader_context import ReaderContext

T = TypeVar("T")

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def describe(thing: object) -> str:
    """A configured object as text, the same in every process: its class and its state, without addresses."""
    kind = type(thing)
    if kind.__repr__ is not object.__repr__:
        text = repr(thing)
    else:
        state = {**getattr(thing, "__dict__", {})}
        text = ", ".join(f"{name}={value!r}" for name, value in sorted(state.items()))
    return f"{kind.__module__}.{kind.__qualname__}({_ADDRESS.sub('', text)})"


def _make_one(factory: Callable[[], object]) -> object:
    """One of what a user's class or function makes, to see what that is."""
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


@dataclass(frozen=True, repr=False)
class _OwnReading(Generic[T]):
    """Reading in a user's own way: every block or file gets a new object, which sees no state of another.

    Pickling: if *make* can be pickled. The ``repr`` is the same in every process for the same configuration: it tells
    whether an ingest is run again or is another one.
    """

    make: Callable[[], T]
    _splits: ClassVar[bool]  # where it is not said

    @property
    def splittability(self) -> Splittability:
        """Local if blocks are read, and not only whole files."""
        return Splittability.LOCAL if getattr(self.make(), "splittable", self._splits) else Splittability.WHOLE

    @property
    def name(self) -> str:
        """Name in messages: the class of what is made."""
        return type(self.make()).__name__

    def __repr__(self) -> str:
        return describe(self.make())


class ContextReading(_OwnReading[ReaderContext]):
    """Reading by a reader context, of blocks unless it says that only whole files can be read."""

    _splits = True

    @property
    def schema(self) -> Any | None:
        """Columns that the context declares: DDL text, an Arrow schema, or ``None``."""
        return getattr(self.make(), "schema", None)


class ManagedReading(_OwnReading[ManagedReader]):
    """Reading by a reader that gets whole files, unless it says that it reads blocks."""

    _splits = False

    @property
    def name(self) -> str:
        return name_of(self.make())

    @property
    def schema(self) -> pa.Schema | None:
        """Columns that the reader declares before it is opened, if any."""
        return declared_schema(self.make())


Reading: TypeAlias = RecordFormat | ContextReading | ManagedReading
"""How the records of a file are found: framed, by a reader context, or by a reader that does it all."""


def record_format_of(reading: Reading) -> RecordFormat | None:
    """Record format of a file; ``None`` where a reader of the user's own does."""
    return None if isinstance(reading, _OwnReading) else reading


def name_of_own(reading: Reading) -> str:
    """Name of a user's own format where a scan is shown."""
    return reading.name if isinstance(reading, _OwnReading) else type(reading).__name__


OwnFormat: TypeAlias = (
    RecordFormat | ReaderContext | ManagedReader | Callable[[], ReaderContext] | Callable[[], ManagedReader]
)
"""What a user may give as a format of their own: see :func:`as_reading`."""


def as_reading(given: Any) -> Reading:
    """Understand a format of the user's own, or say ``[bad-format]`` and what is missing.

    It is a record format; a reader context or a reader, which is copied for every block or file; or something callable
    that makes one: its class, or a function without arguments.
    """
    if isinstance(given, ContextReading | ManagedReading):
        return given
    found = None if isinstance(given, type) else _reading_of(given, partial(copy.deepcopy, given))
    if found is not None:
        return found
    if not callable(given):
        raise _no_format(given)
    made = _make_one(given)
    found = _reading_of(made, given)
    if found is None:
        raise _no_format(made)
    return found


def _reading_of(one: object, make: Callable[[], Any]) -> Reading | None:
    """How *one* reads, of which *make* makes more; a context that can be opened and closed besides stays a context."""
    if isinstance(one, ManagedReader) and not hasattr(one, "initialize"):
        return ManagedReading(make)
    if isinstance(one, RecordFormat):
        return one
    return ContextReading(make) if isinstance(one, ReaderContext) else None


_OPTIONS = "text"  # the options of every format, and none that forbids a size of records
_OF_LINES = (("lineSep", "line_sep", None), ("escape", "escape", None), ("encoding", "encoding", "UTF-8"))


def options_for(reading: Reading, given: Mapping[str, Any]) -> ReadOptions:
    """The options of a scan; readers of the user's own take those about columns too, but for what parsers do."""
    has_columns = isinstance(reading, ManagedReading)
    others = {name: value for name, value in given.items() if plain_name(name) != "rejectreasoncolumn"}
    if not has_columns and len(others) < len(given):
        parse_options(_OPTIONS, others, has_columns=False)  # which refuses all others that are about columns
        has_columns = True
    options = parse_options(_OPTIONS, given, has_columns=has_columns)
    patterned = [name for name, said in options.schema.column_options if said.format is not None]
    convert = "convert in the reader, and report what does not fit with loader.reject()"
    construct = "give it to the format when you make it: it alone knows where its records end, and how they are written"
    for option, value, usual, fix in (
        ("rescuedDataColumn", options.schema.rescued_data_column, None, convert),
        ("columnOptions", f"a format of column {patterned[0]!r}" if patterned else None, None, convert),
        *((name, getattr(options.format, twin), usual, construct) for name, twin, usual in _OF_LINES),
    ):
        if value != usual:
            raise bad_option(f"option {option} is not for readers of your own", value, fix)
    return options


def columns_of(reading: Reading) -> pa.Schema | None:
    """Columns that a format declares; ``None`` for a reader that has to be opened to know."""
    if isinstance(reading, ManagedReading):
        return reading.schema
    declared = reading.schema if isinstance(reading, ContextReading) else None
    return as_schema(declared) or pa.schema([(VALUE, pa.binary())])
