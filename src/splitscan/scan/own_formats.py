"""What the description of a scan asks of a format of the user's own: its options, and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from splitscan.errors import UsageError
from splitscan.formats.parsing import parse_options
from splitscan.formats.sampling import VALUE
from splitscan.options import ReadOptions
from splitscan.read.record_readers import ContextReading
from splitscan.scan.ddl import as_schema
from splitscan.scan.managed_reading import ManagedReading, Reading

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
