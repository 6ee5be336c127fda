"""Formats of the user's own: record formats, reader contexts, readers; their options and their columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import RecordFormat, Splittability
from splitscan.formats.parsing import parse_options
from splitscan.formats.sampling import VALUE
from splitscan.options import ReadOptions
from splitscan.read.reader_context import ReaderContext
from splitscan.read.record_readers import ContextReading, CopiesOf, as_framing, describe, make_one
from splitscan.scan.ddl import as_schema
from splitscan.scan.framework import ManagedReader
from splitscan.scan.framework.contract import declared_schema, name_of


@dataclass(frozen=True, repr=False)
class ManagedReading:
    """Reading by a reader of the user's own: every file or block gets a new one.

    Args:
        make: Makes a reader that was never opened.

    Pickling: if *make* can be pickled. The ``repr`` is the same in every process for the same configuration: it tells
    whether an ingest is run again or is another one.
    """

    make: Callable[[], ManagedReader]

    @property
    def name(self) -> str:
        """What messages call the reader."""
        return name_of(self.make())

    @property
    def schema(self) -> pa.Schema | None:
        """What the reader says of its columns before it is opened, if anything."""
        return declared_schema(self.make())

    @property
    def splittability(self) -> Splittability:
        """Whole files, unless the reader says that it reads blocks."""
        return Splittability.LOCAL if getattr(self.make(), "splittable", False) else Splittability.WHOLE

    def __repr__(self) -> str:
        return describe(self.make())


Reading: TypeAlias = RecordFormat | ContextReading | ManagedReading
"""How the records of a file are found: framed, by a reader context, or by a reader that does it all."""

OwnFormat: TypeAlias = (
    RecordFormat | ReaderContext | ManagedReader | Callable[[], ReaderContext] | Callable[[], ManagedReader]
)
"""What a user may give as a format of their own: see :func:`as_reading`."""


def as_reading(given: Any) -> Reading:
    """Understand a format of the user's own.

    Args:
        given: A record format; a reader context or a reader, which is copied for every block or file; or something
            callable that makes one: its class, or a function without arguments.

    Raises:
        UsageError: ``[bad-format]`` if it is none of these; the message says what is missing.
    """
    if isinstance(given, ManagedReading):
        return given
    if not isinstance(given, type) and _is_reader(given):
        return ManagedReading(CopiesOf(given))
    if isinstance(given, type) and not _is_reader(given):
        return as_framing(given)
    if callable(given) and not isinstance(given, RecordFormat | ReaderContext | ContextReading):
        made = make_one(given)
        if _is_reader(made):
            return ManagedReading(given)
    return as_framing(given)


def _is_reader(given: object) -> bool:
    """Whether it has what a reader has; a reader context that can be opened and closed besides stays one."""
    return isinstance(given, ManagedReader) and not hasattr(given, "initialize")


_OPTIONS = "text"  # the options of every format, and none that forbids a size of records
_OF_LINES = (("lineSep", "line_sep", None), ("escape", "escape", None), ("encoding", "encoding", "UTF-8"))


def options_for(reading: Reading, given: Mapping[str, Any]) -> ReadOptions:
    """The options of a scan. Readers of the user's own take those about columns too, but for what a parser does.

    Raises:
        UsageError: As ``parse_options`` does; and ``[bad-option]`` for what only a parser can do, or the format itself.
    """
    options = parse_options(_OPTIONS, given, has_columns=isinstance(reading, ManagedReading))
    patterned = [name for name, said in options.schema.column_options if said.format is not None]
    convert = "convert in the reader, and report what does not fit with loader.reject()"
    construct = "give it to the format when you make it: it alone knows where its records end, and how they are written"
    for option, value, usual, fix in (
        ("rescuedDataColumn", options.schema.rescued_data_column, None, convert),
        ("columnOptions", f"a format of column {patterned[0]!r}" if patterned else None, None, convert),
        *((name, getattr(options.format, twin), usual, construct) for name, twin, usual in _OF_LINES),
    ):
        if value != usual:
            raise UsageError(f"option {option} is not for readers of your own", seen=value, fix=fix, code="bad-option")
    return options


def columns_of(reading: Reading) -> pa.Schema | None:
    """What a format says of its columns; ``None`` for a reader that has to be opened to know."""
    if isinstance(reading, ManagedReading):
        return reading.schema
    declared = reading.schema if isinstance(reading, ContextReading) else None
    return as_schema(declared) or pa.schema([(VALUE, pa.binary())])
